//! X.509 certificates as Sprig makes them: one common name, names and addresses beside it, for servers and clients.

use std::net::IpAddr;

use kubewright_golib::pem::{first_block, write_block};
use sha1::{Digest as _, Sha1};

use kubewright_golib::time::GoTime;

use super::der;
use super::private_key::PrivateKey;

const SECONDS_OF_DAY: i64 = 86_400;

/// The first moment that X.509 writes with a four-digit year: 2050.
const FOUR_DIGIT_YEARS: i64 = 2_524_608_000;

/// The last moment that can be written: the end of the year 9999.
const LAST_MOMENT: i64 = 253_402_300_799;

/// Object identifiers, in DER.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
const KEY_USAGE: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x0f];
const EXTENDED_KEY_USAGE: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x25];
const BASIC_CONSTRAINTS: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x13];
const SUBJECT_KEY_ID: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x0e];
const AUTHORITY_KEY_ID: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x23];
const ALTERNATIVE_NAMES: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];
const SERVER_AUTH: [u8; 10] = [0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const CLIENT_AUTH: [u8; 10] = [0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];

const TRUE: [u8; 3] = [0x01, 0x01, 0xff];

/// The content of a certificate.
pub(super) struct CertificateSubject {
    pub(super) common_name: String,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) names: Vec<String>,
    pub(super) is_authority: bool,
    pub(super) serial: Vec<u8>,
    /// From when on, in seconds since 1970, and for how many days.
    pub(super) valid_from: i64,
    pub(super) days: i64,
}

/// The signer.
pub(super) struct Issuer {
    /// Its name, in DER.
    name: Vec<u8>,
    /// By what its key is known.
    key_id: Option<Vec<u8>>,
}

impl Issuer {
    /// Reads the certificate of an authority.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let block = first_block(text).ok_or("unable to decode certificate")?;
        Self::of_der(&block.bytes)
            .ok_or_else(|| "error parsing certificate: not an X.509 certificate".to_owned())
    }

    fn of_der(bytes: &[u8]) -> Option<Self> {
        let certificate = der::only_element(bytes)?.elements(der::SEQUENCE)?;
        let [body, _, _] = certificate.as_slice() else { return None };
        let fields = body.elements(der::SEQUENCE)?;
        // A version may come first; then serial, algorithm, issuer, validity, subject, key.
        let skipped = usize::from(fields.first()?.tag == 0xa0);
        let name = fields.get(skipped + 4)?;
        fields.get(skipped + 5)?.elements(der::SEQUENCE)?;
        name.elements(der::SEQUENCE)?;
        let extensions = fields.iter().find(|field| field.tag == 0xa3);
        let key_id = extensions.and_then(|extensions| subject_key_id(extensions.content));
        Some(Self { name: name.whole.to_vec(), key_id })
    }
}

fn subject_key_id(extensions: &[u8]) -> Option<Vec<u8>> {
    let all = der::only_element(extensions)?.elements(der::SEQUENCE)?;
    all.into_iter().find_map(|extension| {
        let parts = extension.elements(der::SEQUENCE)?;
        (*parts.first()?.whole == SUBJECT_KEY_ID).then_some(())?;
        let inner = der::only_element(parts.last()?.of(der::OCTET_STRING)?)?;
        inner.of(der::OCTET_STRING).map(<[u8]>::to_vec)
    })
}

/// Returns a certificate for `key`, signed by `signer`: that of `issuer`, or of the subject itself.
///
/// # Errors
/// When it would be valid beyond the year 9999.
pub(super) fn issue(
    subject: &CertificateSubject,
    key: &PrivateKey,
    issuer: Option<&Issuer>,
    signer: &PrivateKey,
) -> Result<String, String> {
    let name = encode_common_name(&subject.common_name);
    let until =
        subject.days.checked_mul(SECONDS_OF_DAY).and_then(|life| subject.valid_from.checked_add(life));
    let until = until.filter(|until| (0..=LAST_MOMENT).contains(until));
    let until = until
        .ok_or_else(|| format!("{} days are no time for which a certificate can be valid", subject.days))?;
    let authority = issuer.filter(|issuer| issuer.name != name).and_then(|issuer| issuer.key_id.as_deref());
    let body = der::encode_sequence(&[
        der::encode_element(0xa0, &der::encode_integer(&[2])),
        der::encode_integer(&subject.serial),
        signer.signature_algorithm(),
        issuer.map_or_else(|| name.clone(), |issuer| issuer.name.clone()),
        der::encode_sequence(&[encode_time(subject.valid_from), encode_time(until)]),
        name,
        key.public_key_info(),
        der::encode_element(0xa3, &der::encode_sequence(&encode_extensions(subject, key, authority))),
    ]);
    let signature = der::encode_bit_string(&signer.sign(&body));
    let certificate = der::encode_sequence(&[body, signer.signature_algorithm(), signature]);
    Ok(write_block("CERTIFICATE", &certificate))
}

fn encode_extensions(
    subject: &CertificateSubject,
    key: &PrivateKey,
    authority: Option<&[u8]>,
) -> Vec<Vec<u8>> {
    // Signing, encrypting keys and, for an authority, signing certificates: bits 0, 2 and 5.
    let usage: &[u8] = if subject.is_authority { &[0x02, 0xa4] } else { &[0x05, 0xa0] };
    let constraints = if subject.is_authority { TRUE.to_vec() } else { Vec::new() };
    let mut extensions = vec![
        encode_extension(&KEY_USAGE, true, &der::encode_element(der::BIT_STRING, usage)),
        encode_extension(
            &EXTENDED_KEY_USAGE,
            false,
            &der::encode_sequence(&[SERVER_AUTH.to_vec(), CLIENT_AUTH.to_vec()]),
        ),
        encode_extension(&BASIC_CONSTRAINTS, true, &der::encode_sequence(&[constraints])),
    ];
    if subject.is_authority {
        let id = der::encode_element(der::OCTET_STRING, &Sha1::digest(key.public_bits()));
        extensions.push(encode_extension(&SUBJECT_KEY_ID, false, &id));
    }
    if let Some(id) = authority {
        let id = der::encode_sequence(&[der::encode_element(0x80, id)]);
        extensions.push(encode_extension(&AUTHORITY_KEY_ID, false, &id));
    }
    let names = subject.names.iter().map(|name| der::encode_element(0x82, name.as_bytes()));
    let addresses = subject.addresses.iter().map(|address| match address {
        IpAddr::V4(address) => der::encode_element(0x87, &address.octets()),
        IpAddr::V6(address) => der::encode_element(0x87, &address.octets()),
    });
    let alternatives: Vec<Vec<u8>> = names.chain(addresses).collect();
    if !alternatives.is_empty() {
        extensions.push(encode_extension(&ALTERNATIVE_NAMES, false, &der::encode_sequence(&alternatives)));
    }
    extensions
}

fn encode_extension(id: &[u8], is_critical: bool, content: &[u8]) -> Vec<u8> {
    let critical = if is_critical { TRUE.to_vec() } else { Vec::new() };
    der::encode_sequence(&[id.to_vec(), critical, der::encode_element(der::OCTET_STRING, content)])
}

/// Returns a name that is one common name.
fn encode_common_name(common_name: &str) -> Vec<u8> {
    const PRINTABLE_STRING: u8 = 0x13;
    const UTF8_STRING: u8 = 0x0c;
    const SET: u8 = 0x31;
    if common_name.is_empty() {
        return der::encode_sequence(&[]);
    }
    let is_printable =
        common_name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte));
    let tag = if is_printable { PRINTABLE_STRING } else { UTF8_STRING };
    let attribute =
        der::encode_sequence(&[COMMON_NAME.to_vec(), der::encode_element(tag, common_name.as_bytes())]);
    der::encode_sequence(&[der::encode_element(SET, &attribute)])
}

fn encode_time(seconds: i64) -> Vec<u8> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    let (tag, layout) = if seconds < FOUR_DIGIT_YEARS {
        (UTC_TIME, "060102150405Z")
    } else {
        (GENERALIZED_TIME, "20060102150405Z")
    };
    der::encode_element(tag, GoTime::from_unix(seconds).format(layout).as_bytes())
}
