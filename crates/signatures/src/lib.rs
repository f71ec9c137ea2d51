//! Signatures of container images: reading them and verifying them with what a rule trusts.
//!
//! Everything here is a function of bytes. The caller fetches what a registry holds for an image
//! ([`material`]), names who must have signed ([`signer`]), and gets either proof or the reason why there is none.
//! Whatever cannot be verified, because a part is missing or a format is not known, is never taken for valid.
//!
//! Formats: simple signing payloads and DSSE envelopes of cosign, Sigstore bundles, JWS envelopes of Notary, in-toto statements.

pub mod bundle;
pub mod certificate;
pub mod chain;
mod der_reader;
pub mod envelope;
pub mod identity;
pub mod key;
pub mod log;
pub mod material;
pub mod notation;
pub mod payload;
mod rsa;
pub mod sct;
pub mod sign;
pub mod signer;

pub use certificate::SignerCertificate;
pub use envelope::{SignedStatement, Statement};
pub use key::{HashFunction, PublicVerifier};
pub use material::{SignatureArtifact, SignatureLayer, read_material};
pub use signer::{ImageSigner, LogTrust, SignedItem};

/// The cost of verifying one signature, in steps of a budget; a budget allows a hundred of them.
pub const SIGNATURE_COST: u64 = 50_000;

/// How large a signed document may be, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 8 << 20;

/// Reads JSON of a registry, in which anything may be.
fn read_json(bytes: &[u8]) -> Option<kubewright_value::Value> {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return None;
    }
    kubewright_value::json::parse(std::str::from_utf8(bytes).ok()?).ok()
}

/// Decodes Base64 with or without padding, in either alphabet, as the formats mix them.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let plain: String = text
        .chars()
        .filter(|c| !c.is_ascii_whitespace() && *c != '=')
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    let missing = (4 - plain.len() % 4) % 4;
    kubewright_golib::base64::BASE64.decode(format!("{plain}{}", "=".repeat(missing))).ok()
}

fn encode_base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    kubewright_golib::base64::BASE64.encode(bytes)
}

#[cfg(test)]
mod tests;

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
