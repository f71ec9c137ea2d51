//! X.509 certificates of signers.

use der::Tag;
use kubewright_golib::pem;

use crate::der_reader::{DerReader, context_tag, parse_identifier};
use crate::key::{HashFunction, PublicVerifier};

/// How large a certificate may be, in bytes.
const MAX_CERTIFICATE_BYTES: usize = 64 << 10;

/// How many extensions a certificate may have.
const MAX_EXTENSIONS: usize = 64;

/// A certificate, as far as trust depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignerCertificate {
    /// All of it, in DER.
    pub der: Vec<u8>,
    /// What its issuer signed.
    pub(crate) signed: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    pub(crate) algorithm: Option<CertificateAlgorithm>,
    pub(crate) issuer: Vec<u8>,
    pub(crate) subject: Vec<u8>,
    /// Seconds since 1970.
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
    /// Its key, or why it cannot be used.
    pub(crate) key: Result<PublicVerifier, String>,
    pub(crate) extensions: Vec<CertificatePart>,
}

/// An extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificatePart {
    pub(crate) id: Vec<u64>,
    pub(crate) is_critical: bool,
    pub(crate) value: Vec<u8>,
}

/// How a certificate is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CertificateAlgorithm {
    /// ECDSA or PKCS #1 v1.5.
    Plain(HashFunction),
    Pss(HashFunction),
    Ed25519,
}

pub(crate) const ALTERNATIVE_NAMES: [u64; 4] = [2, 5, 29, 17];
const BASIC_CONSTRAINTS: [u64; 4] = [2, 5, 29, 19];
const KEY_USAGE: [u64; 4] = [2, 5, 29, 15];
const EXTENDED_KEY_USAGE: [u64; 4] = [2, 5, 29, 37];
const CODE_SIGNING: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 3, 3];
const ANY_USAGE: [u64; 5] = [2, 5, 29, 37, 0];

/// The critical extensions that are understood.
const UNDERSTOOD: [[u64; 4]; 4] = [ALTERNATIVE_NAMES, BASIC_CONSTRAINTS, KEY_USAGE, EXTENDED_KEY_USAGE];

impl SignerCertificate {
    /// Reads every certificate of a PEM text.
    ///
    /// # Errors
    /// When there is none, or one that cannot be read.
    pub fn all_of_pem(text: &str) -> Result<Vec<Self>, String> {
        let blocks = pem::all_blocks(text)?;
        if blocks.is_empty() {
            return Err("there is no certificate".to_owned());
        }
        let read = |block: &pem::PemBlock<'_>| match block.label {
            "CERTIFICATE" => Self::of_der(&block.bytes),
            label => Err(format!("`{label}` is not a certificate")),
        };
        blocks.iter().map(read).collect()
    }

    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// When it is none, or one that cannot be read.
    pub fn of_der(der: &[u8]) -> Result<Self, String> {
        if der.len() > MAX_CERTIFICATE_BYTES {
            return Err("the certificate is too large".to_owned());
        }
        read_certificate(der).ok_or_else(|| "the certificate cannot be read".to_owned())
    }

    /// Returns its key.
    ///
    /// # Errors
    /// When it is of a sort that cannot be used.
    pub fn key(&self) -> Result<&PublicVerifier, String> {
        self.key.as_ref().map_err(|problem| format!("the key of the certificate cannot be used: {problem}"))
    }

    /// Returns whether it is valid at `time`, in seconds since 1970.
    #[must_use]
    pub fn is_valid_at(&self, time: i64) -> bool {
        (self.not_before..=self.not_after).contains(&time)
    }

    pub(crate) fn extension(&self, id: &[u64]) -> Option<&[u8]> {
        self.extensions.iter().find(|part| part.id == id).map(|part| part.value.as_slice())
    }

    /// Returns whether `issuer` signed it.
    pub(crate) fn is_signed_by(&self, issuer: &PublicVerifier) -> bool {
        match self.algorithm {
            Some(CertificateAlgorithm::Plain(hash)) => issuer.has_signed(&self.signed, &self.signature, hash),
            Some(CertificateAlgorithm::Pss(hash)) => {
                issuer.has_signed_pss(&self.signed, &self.signature, hash)
            }
            Some(CertificateAlgorithm::Ed25519) => {
                issuer.has_signed(&self.signed, &self.signature, HashFunction::Sha512)
            }
            None => false,
        }
    }

    /// Returns whether it is a certificate authority with at most `below` further ones under it, if it limits them.
    pub(crate) fn may_issue(&self, below: usize) -> bool {
        let Some(value) = self.extension(&BASIC_CONSTRAINTS) else { return false };
        let Some(mut parts) = DerReader(value).inner(Tag::Sequence) else { return false };
        let is_authority = parts.optional(Tag::Boolean).is_some_and(|value| value == [0xff]);
        let is_within = parts.is_empty()
            || parts.natural().is_some_and(|most| match most {
                [] => below == 0,
                [most] => below <= usize::from(*most),
                _ => true,
            });
        is_authority && is_within && self.has_usage(5)
    }

    /// Returns whether the use number `bit` is allowed; a certificate that says nothing allows all.
    pub(crate) fn has_usage(&self, bit: usize) -> bool {
        let Some(value) = self.extension(&KEY_USAGE) else { return true };
        let Some(content) = DerReader(value).take(Tag::BitString) else { return false };
        content.get(1 + bit / 8).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
    }

    /// Returns whether it may sign code; a certificate that says nothing may.
    pub(crate) fn may_sign_code(&self) -> bool {
        let Some(value) = self.extension(&EXTENDED_KEY_USAGE) else { return true };
        let Some(mut uses) = DerReader(value).inner(Tag::Sequence) else { return false };
        while let Some(usage) = uses.object_identifier() {
            if usage == CODE_SIGNING || usage == ANY_USAGE {
                return true;
            }
        }
        false
    }

    /// Returns whether there is a critical extension that is not understood.
    pub(crate) fn has_unknown_critical(&self) -> bool {
        let is_known = |part: &CertificatePart| UNDERSTOOD.iter().any(|known| part.id == known);
        self.extensions.iter().any(|part| part.is_critical && !is_known(part))
    }
}

fn read_certificate(der: &[u8]) -> Option<SignerCertificate> {
    let mut input = DerReader(der);
    let mut outer = input.inner(Tag::Sequence).filter(|_| input.is_empty())?;
    let signed = outer.whole(Tag::Sequence)?;
    let algorithm = outer.whole(Tag::Sequence)?;
    let signature = outer.bits().filter(|_| outer.is_empty())?;
    let mut parts = DerReader(signed).inner(Tag::Sequence)?;
    parts.optional(context_tag(0, true));
    parts.take(Tag::Integer)?;
    // Both copies of the algorithm must say the same.
    parts.whole(Tag::Sequence).filter(|inner| *inner == algorithm)?;
    let issuer = parts.whole(Tag::Sequence)?;
    let mut validity = parts.inner(Tag::Sequence)?;
    let (not_before, not_after) = (validity.time()?, validity.time()?);
    let subject = parts.whole(Tag::Sequence)?;
    let key = PublicVerifier::of_info(parts.whole(Tag::Sequence)?);
    parts.optional(context_tag(1, false));
    parts.optional(context_tag(2, false));
    let extensions = match parts.optional(context_tag(3, true)) {
        Some(list) => read_extensions(list)?,
        None => Vec::new(),
    };
    Some(SignerCertificate {
        der: der.to_vec(),
        signed: signed.to_vec(),
        signature: signature.to_vec(),
        algorithm: read_algorithm(algorithm),
        issuer: issuer.to_vec(),
        subject: subject.to_vec(),
        not_before,
        not_after,
        key,
        extensions,
    })
}

fn read_extensions(list: &[u8]) -> Option<Vec<CertificatePart>> {
    let mut list = DerReader(list).inner(Tag::Sequence)?;
    let mut found: Vec<CertificatePart> = Vec::new();
    while !list.is_empty() {
        let mut parts = list.inner(Tag::Sequence)?;
        let id = parts.object_identifier()?;
        let is_critical = parts.optional(Tag::Boolean).is_some_and(|value| value != [0]);
        let value = parts.take(Tag::OctetString)?.to_vec();
        // Of two with one name neither may hide the other.
        if found.len() == MAX_EXTENSIONS || found.iter().any(|part| part.id == id) {
            return None;
        }
        found.push(CertificatePart { id, is_critical, value });
    }
    Some(found)
}

fn read_algorithm(whole: &[u8]) -> Option<CertificateAlgorithm> {
    let mut parts = DerReader(whole).inner(Tag::Sequence)?;
    let id = parts.object_identifier()?;
    match id.as_slice() {
        [1, 2, 840, 10_045, 4, 3, hash] => curve_hash(*hash).map(CertificateAlgorithm::Plain),
        [1, 2, 840, 113_549, 1, 1, 10] => pss_hash(parts).map(CertificateAlgorithm::Pss),
        [1, 2, 840, 113_549, 1, 1, hash] => rsa_hash(*hash).map(CertificateAlgorithm::Plain),
        [1, 3, 101, 112] => Some(CertificateAlgorithm::Ed25519),
        _ => None,
    }
}

fn curve_hash(number: u64) -> Option<HashFunction> {
    [
        (1, HashFunction::Sha224),
        (2, HashFunction::Sha256),
        (3, HashFunction::Sha384),
        (4, HashFunction::Sha512),
    ]
    .into_iter()
    .find_map(|(known, hash)| (known == number).then_some(hash))
}

fn rsa_hash(number: u64) -> Option<HashFunction> {
    [(11, HashFunction::Sha256), (12, HashFunction::Sha384), (13, HashFunction::Sha512)]
        .into_iter()
        .find_map(|(known, hash)| (known == number).then_some(hash))
}

fn pss_hash(mut parts: DerReader<'_>) -> Option<HashFunction> {
    let parameters = parts.inner(Tag::Sequence)?.optional(context_tag(0, true))?;
    let mut algorithm = DerReader(parameters).inner(Tag::Sequence)?;
    let id = parse_identifier(algorithm.take(Tag::ObjectIdentifier)?)?;
    match id.as_slice() {
        [2, 16, 840, 1, 101, 3, 4, 2, 1] => Some(HashFunction::Sha256),
        [2, 16, 840, 1, 101, 3, 4, 2, 2] => Some(HashFunction::Sha384),
        [2, 16, 840, 1, 101, 3, 4, 2, 3] => Some(HashFunction::Sha512),
        _ => None,
    }
}
