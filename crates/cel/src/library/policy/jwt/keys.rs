//! Keys that verify tokens: a secret, an RSA key or a key of the curve P-256.
//!
//! The key decides which algorithms it verifies, never the token: otherwise a token could be signed with the public
//! key as an HMAC secret, or choose `none`.

use hmac::{Hmac, KeyInit as _, Mac as _};
use kubewright_value::Value;
use num_bigint::BigUint;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// The allowed length of an RSA modulus, in bytes.
const RSA_MODULUS_BYTES: std::ops::RangeInclusive<usize> = 128..=1024;

/// The longest exponent of an RSA key, in bytes.
const MAX_RSA_EXPONENT_BYTES: usize = 4;

/// The DER prefix of a SHA-256 digest in a PKCS #1 v1.5 signature.
const SHA256_PREFIX: &[u8] = &[
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    0x04, 0x20,
];
const SHA384_PREFIX: &[u8] = &[
    0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0x05, 0x00,
    0x04, 0x30,
];
const SHA512_PREFIX: &[u8] = &[
    0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03, 0x05, 0x00,
    0x04, 0x40,
];

/// A key that verifies tokens.
pub(super) enum VerificationKey {
    Secret(Vec<u8>),
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    Curve(VerifyingKey),
    /// A key that is restricted to one algorithm (`alg`).
    Bound(Box<Self>, String),
}

impl VerificationKey {
    /// Reads a JSON Web Key.
    ///
    /// # Errors
    /// When it is not a key, or its type is not supported.
    pub(super) fn read(key: &Value) -> Result<Self, String> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let field = |name: &str| {
            text(name)
                .and_then(super::decode_base64url)
                .ok_or_else(|| format!("the key has no `{name}` in base64"))
        };
        if text("use").is_some_and(|usage| usage != "sig") {
            return Err("the key is not for signatures".to_owned());
        }
        let read = match (text("kty").unwrap_or_default(), text("crv").unwrap_or_default()) {
            ("oct", _) => Self::Secret(field("k")?),
            ("RSA", _) => make_rsa_key(field("n")?, field("e")?)?,
            ("EC", "P-256") => Self::Curve(parse_p256_key(&field("x")?, &field("y")?)?),
            (kind, "") => return Err(format!("keys of type `{kind}` are not supported")),
            (kind, curve) => {
                return Err(format!("keys of type `{kind}` and curve `{curve}` are not supported"));
            }
        };
        Ok(match text("alg") {
            Some(algorithm) => Self::Bound(Box::new(read), algorithm.to_owned()),
            None => read,
        })
    }

    /// Checks a signature.
    ///
    /// # Errors
    /// When the signature is not valid, with the reason.
    pub(super) fn verify(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> Result<(), String> {
        let is_good = match (self, algorithm) {
            (Self::Bound(key, bound), _) if bound == algorithm => {
                return key.verify(algorithm, message, signature);
            }
            (Self::Secret(secret), "HS256") => Hmac::<Sha256>::new_from_slice(secret)
                .is_ok_and(|mac| mac.chain_update(message).verify_slice(signature).is_ok()),
            (Self::Secret(secret), "HS384") => Hmac::<Sha384>::new_from_slice(secret)
                .is_ok_and(|mac| mac.chain_update(message).verify_slice(signature).is_ok()),
            (Self::Secret(secret), "HS512") => Hmac::<Sha512>::new_from_slice(secret)
                .is_ok_and(|mac| mac.chain_update(message).verify_slice(signature).is_ok()),
            (Self::Rsa { modulus, exponent }, "RS256") => is_rsa_signature_valid(
                modulus,
                exponent,
                signature,
                &[SHA256_PREFIX, &Sha256::digest(message)].concat(),
            ),
            (Self::Rsa { modulus, exponent }, "RS384") => is_rsa_signature_valid(
                modulus,
                exponent,
                signature,
                &[SHA384_PREFIX, &Sha384::digest(message)].concat(),
            ),
            (Self::Rsa { modulus, exponent }, "RS512") => is_rsa_signature_valid(
                modulus,
                exponent,
                signature,
                &[SHA512_PREFIX, &Sha512::digest(message)].concat(),
            ),
            (Self::Curve(key), "ES256") => Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            _ => return Err(format!("the key does not verify the algorithm `{algorithm}`")),
        };
        if is_good { Ok(()) } else { Err("the signature does not match the key".to_owned()) }
    }
}

fn make_rsa_key(modulus: Vec<u8>, exponent: Vec<u8>) -> Result<VerificationKey, String> {
    let modulus: Vec<u8> = modulus.into_iter().skip_while(|byte| *byte == 0).collect();
    let is_odd = |number: &[u8]| number.last().is_some_and(|byte| byte % 2 == 1);
    let is_good = RSA_MODULUS_BYTES.contains(&modulus.len())
        && (1..=MAX_RSA_EXPONENT_BYTES).contains(&exponent.len())
        && is_odd(&modulus)
        && is_odd(&exponent);
    if is_good {
        Ok(VerificationKey::Rsa { modulus, exponent })
    } else {
        Err("the RSA key cannot be used".to_owned())
    }
}

fn parse_p256_key(x: &[u8], y: &[u8]) -> Result<VerifyingKey, String> {
    let point = [&[4], x, y].concat();
    VerifyingKey::from_sec1_bytes(&point).map_err(|_| "the key is not a point of the curve".to_owned())
}

/// Returns whether `signature` is a valid PKCS #1 v1.5 signature of `payload`.
fn is_rsa_signature_valid(modulus: &[u8], exponent: &[u8], signature: &[u8], payload: &[u8]) -> bool {
    let number = BigUint::from_bytes_be;
    let (modulus_number, signature_number) = (number(modulus), number(signature));
    let filling = modulus.len().checked_sub(payload.len() + 3).filter(|filling| *filling >= 8);
    let Some(filling) =
        filling.filter(|_| signature.len() == modulus.len() && signature_number < modulus_number)
    else {
        return false;
    };
    let expected = [&[0x00, 0x01][..], &vec![0xff; filling], &[0x00], payload].concat();
    signature_number.modpow(&number(exponent), &modulus_number) == number(&expected)
}
