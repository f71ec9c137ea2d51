//! Keys and signatures.

use der::Tag;
use kubewright_value::{Number, Value};

use super::ObjectFields;
use super::reader::{CertificateReader, constructed_tag, malformed_der};

/// How many bits a key may have: turning it into a decimal takes the square of that.
const MAX_KEY_BITS: usize = 16_384;

/// The number that Go has for RSA.
pub(super) const RSA: i64 = 1;

/// Reads the whole of a subject's public key.
pub(super) fn public_key(whole: &[u8]) -> Result<Value, String> {
    let mut info = CertificateReader(whole).inner(Tag::Sequence, "spki")?;
    let mut algorithm = info.inner(Tag::Sequence, "public key algorithm identifier")?;
    if algorithm.object_identifier("OID")? != [1, 2, 840, 113_549, 1, 1, 1] {
        return Err("certificate should use rsa algorithm".to_owned());
    }
    algorithm.take(Tag::Null, "RSA parameters").map_err(|_| "x509: RSA key missing NULL parameters")?;
    let (key, _) = info.bits("subjectPublicKey")?;
    let mut parts = CertificateReader(key).inner(Tag::Sequence, "RSA public key")?;
    let modulus = parts.natural("RSA modulus")?;
    let exponent = parts.small("RSA public exponent")?;
    if modulus.is_empty() || exponent == 0 {
        return Err("x509: RSA modulus or public exponent is not a positive number".to_owned());
    }
    if modulus.len() * 8 > MAX_KEY_BITS {
        return Err(format!("an RSA key of more than {MAX_KEY_BITS} bits is not read"));
    }
    let mut fields = ObjectFields::default();
    fields.set("N", decimal_of_bytes(modulus));
    fields.set("E", exponent);
    Ok(fields.object())
}

/// Returns the number that Go has for the algorithm of a signature, 0 for one it does not know.
pub(super) fn signature_algorithm(mut identifier: CertificateReader<'_>) -> Result<i64, String> {
    let id = identifier.object_identifier("OID")?;
    Ok(match id.as_slice() {
        [1, 2, 840, 113_549, 1, 1, rsa] => match rsa {
            4 => 2,
            5 => 3,
            10 => probabilistic(identifier).unwrap_or(0),
            11 => 4,
            12 => 5,
            13 => 6,
            _ => 0,
        },
        [1, 3, 14, 3, 2, 29] => 3,
        [1, 2, 840, 10_040, 4, 3] => 7,
        [2, 16, 840, 1, 101, 3, 4, 3, 2] => 8,
        [1, 2, 840, 10_045, 4, 1] => 9,
        [1, 2, 840, 10_045, 4, 3, hash @ 2..=4] => i64::try_from(*hash).unwrap_or(0) + 8,
        [1, 3, 101, 112] => 16,
        _ => 0,
    })
}

/// RSA-PSS: the hash is a parameter, and the salt must be as long as it makes them.
fn probabilistic(mut identifier: CertificateReader<'_>) -> Option<i64> {
    let what = "PSS parameters";
    let mut parameters = identifier.inner(Tag::Sequence, what).ok()?;
    let mut hash = parameters.inner(constructed_tag(0), what).ok()?.inner(Tag::Sequence, what).ok()?;
    let id = hash.object_identifier(what).ok()?;
    parameters.inner(constructed_tag(1), what).ok()?;
    let salt = parameters.inner(constructed_tag(2), what).ok()?.small(what).ok()?;
    match (id.as_slice(), salt) {
        ([2, 16, 840, 1, 101, 3, 4, 2, 1], 32) => Some(13),
        ([2, 16, 840, 1, 101, 3, 4, 2, 2], 48) => Some(14),
        ([2, 16, 840, 1, 101, 3, 4, 2, 3], 64) => Some(15),
        _ => None,
    }
}

/// Reads a signature, aligned to whole bytes.
pub(super) fn read_signature(reader: &mut CertificateReader<'_>) -> Result<Vec<u8>, String> {
    let (bytes, unused) = reader.bits("signature")?;
    if unused == 0 {
        return Ok(bytes.to_vec());
    }
    let mut before = 0;
    Ok(bytes
        .iter()
        .map(|byte| {
            let aligned = byte >> unused | before << (8 - unused);
            before = *byte;
            aligned
        })
        .collect())
}

/// Returns a number of any size; a double when it is a large one.
pub(super) fn number_of_bytes(bytes: &[u8]) -> Result<Value, String> {
    if bytes.len() * 8 > MAX_KEY_BITS {
        return Err(malformed_der("serial number"));
    }
    let text = decimal_of_bytes(bytes);
    let number = text.parse().map(|int: u64| Number::from(int)).ok();
    let number =
        number.or_else(|| text.parse().ok().filter(|double: &f64| double.is_finite()).map(Number::Float));
    number.map(Value::from).ok_or_else(|| malformed_der("serial number"))
}

/// Returns the decimal digits of a number that is given by its bytes.
fn decimal_of_bytes(bytes: &[u8]) -> String {
    const GROUP: u64 = 1_000_000_000;
    let mut groups = vec![0_u64];
    for byte in bytes {
        let mut carry = u64::from(*byte);
        for group in &mut groups {
            let sum = *group * 256 + carry;
            *group = sum % GROUP;
            carry = sum / GROUP;
        }
        if carry > 0 {
            groups.push(carry);
        }
    }
    let digits: String = groups.iter().rev().map(|group| format!("{group:09}")).collect();
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    }
}
