//! Public keys: ECDSA over P-256 and P-384, RSA, and Ed25519.

use std::fmt;

use der::Tag;
use kubewright_golib::pem::{self, PemBlock};
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};

use crate::der_reader::DerReader;
use crate::encode_base64;
use crate::rsa::RsaVerifier;

/// How a message is hashed before it is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HashFunction {
    /// `sha224`
    Sha224,
    /// `sha256`
    #[default]
    Sha256,
    /// `sha384`
    Sha384,
    /// `sha512`
    Sha512,
}

/// A public key that verifies signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicVerifier {
    key: VerifierKey,
    /// The SubjectPublicKeyInfo in DER.
    info: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq)]
enum VerifierKey {
    P256(p256::ecdsa::VerifyingKey),
    P384(p384::ecdsa::VerifyingKey),
    Ed25519(ed25519_dalek::VerifyingKey),
    Rsa(RsaVerifier),
}

/// How ECDSA signatures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcdsaForm {
    /// DER, as certificates and cosign have them.
    Der,
    /// Two numbers of a fixed length, as JWS has them.
    Fixed,
}

const RSA_KEY: [u64; 7] = [1, 2, 840, 113_549, 1, 1, 1];
const CURVE_KEY: [u64; 6] = [1, 2, 840, 10_045, 2, 1];
const P256_CURVE: [u64; 7] = [1, 2, 840, 10_045, 3, 1, 7];
const P384_CURVE: [u64; 5] = [1, 3, 132, 0, 34];
const ED25519_KEY: [u64; 4] = [1, 3, 101, 112];

impl HashFunction {
    /// Returns the function called `name`, such as `sha256`; nothing for an unknown one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sha224" => Some(Self::Sha224),
            "" | "sha256" => Some(Self::Sha256),
            "sha384" => Some(Self::Sha384),
            "sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    /// Returns the hash of `message`.
    #[must_use]
    pub fn digest(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha224 => Sha224::digest(message).to_vec(),
            Self::Sha256 => Sha256::digest(message).to_vec(),
            Self::Sha384 => Sha384::digest(message).to_vec(),
            Self::Sha512 => Sha512::digest(message).to_vec(),
        }
    }

    /// Returns the DER in front of the hash in an RSA signature.
    pub(crate) fn digest_info(self) -> &'static [u8] {
        match self {
            Self::Sha224 => b"\x30\x2d\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x04\x05\x00\x04\x1c",
            Self::Sha256 => b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20",
            Self::Sha384 => b"\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x30",
            Self::Sha512 => b"\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40",
        }
    }
}

impl PublicVerifier {
    /// Reads every key of a PEM text.
    ///
    /// # Errors
    /// When there is none, or one that cannot be read.
    pub fn all_of_pem(text: &str) -> Result<Vec<Self>, String> {
        let blocks = pem::all_blocks(text)?;
        if blocks.is_empty() {
            return Err("there is no PEM block".to_owned());
        }
        blocks.iter().map(Self::of_block).collect()
    }

    /// Reads a `PUBLIC KEY` or `RSA PUBLIC KEY`.
    ///
    /// # Errors
    /// When it is another sort of key, or none.
    pub fn of_block(block: &PemBlock<'_>) -> Result<Self, String> {
        match block.label {
            "PUBLIC KEY" => Self::of_info(&block.bytes),
            "RSA PUBLIC KEY" => Self::of_rsa(&block.bytes, &block.bytes),
            label => Err(format!("`{label}` is not a public key")),
        }
    }

    /// Reads a SubjectPublicKeyInfo in DER.
    ///
    /// # Errors
    /// When it is another sort of key, or none.
    pub fn of_info(info: &[u8]) -> Result<Self, String> {
        let unreadable = || "no key that can be read".to_owned();
        let parts = || {
            let mut outer = DerReader(info);
            let mut parts = outer.inner(Tag::Sequence).filter(|_| outer.is_empty())?;
            let mut algorithm = parts.inner(Tag::Sequence)?;
            let id = algorithm.object_identifier()?;
            let key = parts.bits().filter(|_| parts.is_empty())?;
            Some((id, algorithm, key))
        };
        let (id, mut algorithm, point) = parts().ok_or_else(unreadable)?;
        let key = if id == RSA_KEY {
            return Self::of_rsa(point, info);
        } else if id == ED25519_KEY {
            let bytes: [u8; 32] = point.try_into().map_err(|_| unreadable())?;
            let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes).map_err(|_| unreadable())?;
            VerifierKey::Ed25519(key)
        } else if id == CURVE_KEY {
            let curve = algorithm.object_identifier().ok_or_else(unreadable)?;
            if curve == P256_CURVE {
                let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(point).map_err(|_| unreadable())?;
                VerifierKey::P256(key)
            } else if curve == P384_CURVE {
                let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(point).map_err(|_| unreadable())?;
                VerifierKey::P384(key)
            } else {
                return Err("a key of a curve that is not supported: use P-256 or P-384".to_owned());
            }
        } else {
            return Err("a kind of key that is not supported: use ECDSA, RSA or Ed25519".to_owned());
        };
        Ok(Self { key, info: info.to_vec() })
    }

    fn of_rsa(numbers: &[u8], info: &[u8]) -> Result<Self, String> {
        let parts = || {
            let mut parts = DerReader(numbers).inner(Tag::Sequence)?;
            Some((parts.natural()?, parts.natural()?))
        };
        let (modulus, exponent) = parts().ok_or("no RSA key that can be read")?;
        Ok(Self { key: VerifierKey::Rsa(RsaVerifier::new(modulus, exponent)?), info: info.to_vec() })
    }

    /// Returns the SubjectPublicKeyInfo in DER.
    #[must_use]
    pub fn info(&self) -> &[u8] {
        &self.info
    }

    /// Returns whether `signature` is one of `message` by this key.
    #[must_use]
    pub fn has_signed(&self, message: &[u8], signature: &[u8], hash: HashFunction) -> bool {
        self.has_signed_as(message, signature, hash, EcdsaForm::Der)
    }

    /// Returns whether `signature`, of which an ECDSA one is written as `form`, is one of `message` by this key.
    #[must_use]
    pub fn has_signed_as(
        &self,
        message: &[u8],
        signature: &[u8],
        hash: HashFunction,
        form: EcdsaForm,
    ) -> bool {
        match (&self.key, form) {
            (VerifierKey::P256(key), EcdsaForm::Der) => p256::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify_prehash(&hash.digest(message), &signature).is_ok()),
            (VerifierKey::P256(key), EcdsaForm::Fixed) => p256::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_prehash(&hash.digest(message), &signature).is_ok()),
            (VerifierKey::P384(key), EcdsaForm::Der) => p384::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify_prehash(&hash.digest(message), &signature).is_ok()),
            (VerifierKey::P384(key), EcdsaForm::Fixed) => p384::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_prehash(&hash.digest(message), &signature).is_ok()),
            (VerifierKey::Ed25519(key), _) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(message, &signature).is_ok()),
            (VerifierKey::Rsa(key), _) => key.has_signed(message, signature, hash),
        }
    }

    /// Returns whether `signature` is an RSA-PSS one of `message` by this key.
    #[must_use]
    pub fn has_signed_pss(&self, message: &[u8], signature: &[u8], hash: HashFunction) -> bool {
        matches!(&self.key, VerifierKey::Rsa(key) if key.has_signed_pss(message, signature, hash))
    }
}

impl fmt::Display for PublicVerifier {
    /// How its PEM ends, which people can compare.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = encode_base64(&self.info);
        write!(f, "…{}", written.get(written.len().saturating_sub(12)..).unwrap_or_default())
    }
}

impl fmt::Debug for PublicVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicVerifier({self})")
    }
}
