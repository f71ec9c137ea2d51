//! Signed certificate timestamps: the promise of a certificate log that a certificate is public (RFC 6962).

use der::Tag;
use sha2::{Digest as _, Sha256};

use crate::certificate::SignerCertificate;
use crate::der_reader::{DerReader, context_tag};
use crate::key::{HashFunction, PublicVerifier};

const TIMESTAMP_LIST: [u64; 10] = [1, 3, 6, 1, 4, 1, 11_129, 2, 4, 2];

/// Checks that one of `keys` promises that `certificate`, which `issuer` issued, is in its log.
///
/// # Errors
/// When it is not proven, with the reason.
pub fn verify_timestamps(
    certificate: &SignerCertificate,
    issuer: &SignerCertificate,
    keys: &[PublicVerifier],
) -> Result<(), String> {
    let value =
        certificate.extension(&TIMESTAMP_LIST).ok_or("certificate does not include required embedded SCT")?;
    let broken = || "the SCT of the certificate cannot be read".to_owned();
    let list = DerReader(value).take(Tag::OctetString).ok_or_else(broken)?;
    let signed = without_timestamps(&certificate.signed).ok_or_else(broken)?;
    let issuer_hash = Sha256::digest(issuer.key()?.info());
    let mut rest = TlsReader(list).vector16().map(TlsReader).ok_or_else(broken)?;
    while let Some(one) = rest.vector16() {
        let Some(stamp) = CertificateTimestamp::read(one) else { continue };
        let log = keys.iter().find(|key| Sha256::digest(key.info()).as_slice() == stamp.log_id);
        let Some(log) = log else { continue };
        let message = stamp.signed_bytes(&issuer_hash, &signed).ok_or_else(broken)?;
        if log.has_signed(&message, stamp.signature, HashFunction::Sha256) {
            return Ok(());
        }
    }
    Err("no SCT of the certificate is by a log whose key is given".to_owned())
}

struct CertificateTimestamp<'a> {
    log_id: &'a [u8],
    timestamp: &'a [u8],
    extensions: &'a [u8],
    signature: &'a [u8],
}

impl<'a> CertificateTimestamp<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = TlsReader(bytes);
        // Version 1.
        if reader.bytes(1)? != [0] {
            return None;
        }
        let (log_id, timestamp) = (reader.bytes(32)?, reader.bytes(8)?);
        let extensions = reader.vector16()?;
        // SHA-256.
        if reader.bytes(2)?.first() != Some(&4) {
            return None;
        }
        Some(Self { log_id, timestamp, extensions, signature: reader.vector16()? })
    }

    /// Returns what the log signs: the certificate as it was before it had timestamps.
    fn signed_bytes(&self, issuer_hash: &[u8], signed: &[u8]) -> Option<Vec<u8>> {
        let length = u32::try_from(signed.len()).ok()?.to_be_bytes();
        let extensions = u16::try_from(self.extensions.len()).ok()?.to_be_bytes();
        let parts: [&[u8]; 8] = [
            &[0, 0],
            self.timestamp,
            &[0, 1],
            issuer_hash,
            length.get(1..)?,
            signed,
            &extensions,
            self.extensions,
        ];
        Some(parts.concat())
    }
}

struct TlsReader<'a>(&'a [u8]);

impl<'a> TlsReader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn vector16(&mut self) -> Option<&'a [u8]> {
        let length: [u8; 2] = self.bytes(2)?.try_into().ok()?;
        self.bytes(usize::from(u16::from_be_bytes(length)))
    }
}

/// Returns the signed part of a certificate without its timestamps.
fn without_timestamps(signed: &[u8]) -> Option<Vec<u8>> {
    let mut parts = DerReader(signed).inner(Tag::Sequence)?;
    let mut kept = Vec::new();
    while !parts.is_empty() {
        let (tag, content, whole) = parts.any()?;
        if tag != context_tag(3, true) {
            kept.extend_from_slice(whole);
            continue;
        }
        let mut list = DerReader(content).inner(Tag::Sequence)?;
        let mut extensions = Vec::new();
        while !list.is_empty() {
            let (_, content, whole) = list.any()?;
            if DerReader(content).object_identifier()? != TIMESTAMP_LIST {
                extensions.extend_from_slice(whole);
            }
        }
        kept.extend(der_element(0xa3, &der_element(0x30, &extensions)));
    }
    Some(der_element(0x30, &kept))
}

/// Returns an element with its type and length.
pub(crate) fn der_element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 128 => element.push(short),
        _ => {
            let length = content.len().to_be_bytes();
            let zeros = length.iter().take_while(|byte| **byte == 0).count();
            let digits = length.get(zeros..).unwrap_or_default();
            element.push(0x80 | u8::try_from(digits.len()).unwrap_or_default());
            element.extend_from_slice(digits);
        }
    }
    element.extend_from_slice(content);
    element
}
