//! The public keys for signatures: ECDSA over P-256 with SHA-256.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_golib::pem::PemBlock;
use kubewright_value::Text;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::pkcs8::DecodePublicKey as _;

/// A public key, read once.
#[derive(Clone)]
pub(crate) struct PublicKey {
    key: VerifyingKey,
    /// How its PEM ends, which people can compare.
    ending: Text,
}

/// Other types of keys, by their object identifiers.
const OTHERS: [(&[u8], &str); 6] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01], "an RSA key"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], "a key of the curve P-384"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], "a key of the curve P-521"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x0a], "a key of the curve secp256k1"),
    (&[0x2b, 0x65, 0x70], "an Ed25519 key"),
    (&[0x2b, 0x65, 0x71], "an Ed448 key"),
];

/// The length of the prefix that identifies the type of a key.
const HEADER: usize = 128;

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// When it is another sort of key, or none.
    pub(crate) fn read(block: &PemBlock<'_>) -> Result<Self, String> {
        if block.label != "PUBLIC KEY" {
            return Err(format!("`{}` is not a public key", block.label));
        }
        let key = VerifyingKey::from_public_key_der(&block.bytes).map_err(|_| {
            let what = other(&block.bytes).unwrap_or("no key that can be read");
            format!("this is {what}, and signatures of manifests are checked with ECDSA P-256")
        })?;
        let written = STANDARD.encode(&block.bytes);
        let ending = written.get(written.len().saturating_sub(12)..).unwrap_or_default().into();
        Ok(Self { key, ending })
    }

    /// Returns the public key of a pair.
    pub(crate) fn of(pair: &SigningKey) -> Self {
        Self { key: *pair.verifying_key(), ending: Text::default() }
    }

    /// Returns whether `signature`, in DER, is one of `message` by this key.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_der(signature).is_ok_and(|signature| self.key.verify(message, &signature).is_ok())
    }
}

/// Returns the type of the key `bytes` when it is not supported.
pub(crate) fn other(bytes: &[u8]) -> Option<&'static str> {
    let header = bytes.get(..HEADER).unwrap_or(bytes);
    let has = |identifier: &[u8]| header.windows(identifier.len()).any(|part| part == identifier);
    OTHERS.iter().find(|(identifier, _)| has(identifier)).map(|(_, name)| *name)
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "…{}", self.ending)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}
