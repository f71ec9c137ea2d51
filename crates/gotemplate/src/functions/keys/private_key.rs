//! Private keys of the kinds that Sprig knows: made, read from PEM, written, and signing.

use ed25519_dalek::Signer as _;
use kubewright_golib::pem::{PemBlock, first_block, write_block};

use super::der;
use super::rsa::RsaKey;
use super::stream::ByteStream;

/// Object identifiers, in DER.
const RSA_ENCRYPTION: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const SHA256_WITH_RSA: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const EC_PUBLIC_KEY: [u8; 9] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const CURVE_P256: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const ECDSA_WITH_SHA256: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const ED25519: [u8; 5] = [0x06, 0x03, 0x2b, 0x65, 0x70];
const NULL: [u8; 2] = [0x05, 0x00];

/// A private key.
pub(super) enum PrivateKey {
    Rsa(Box<RsaKey>),
    Ecdsa(Box<p256::ecdsa::SigningKey>),
    Ed25519(Box<ed25519_dalek::SigningKey>),
}

impl PrivateKey {
    /// Makes a key on the curve P-256.
    pub(super) fn new_ecdsa(bytes: &mut ByteStream) -> Self {
        loop {
            // Almost all 32 bytes are a valid key.
            if let Ok(key) = p256::ecdsa::SigningKey::from_slice(&bytes.take(32)) {
                return Self::Ecdsa(Box::new(key));
            }
        }
    }

    /// Makes a key on the curve Ed25519.
    pub(super) fn new_ed25519(bytes: &mut ByteStream) -> Self {
        let secret: [u8; 32] = bytes.take(32).try_into().unwrap_or_default();
        Self::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&secret)))
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When it is not a key, in Sprig's words, or of a kind that is not supported.
    pub(super) fn from_pem(text: &str) -> Result<Self, String> {
        let PemBlock { label, bytes } = first_block(text).ok_or("no PEM data in input")?;
        match label {
            "PRIVATE KEY" => Self::from_pkcs8(&bytes)
                .ok_or_else(|| "decoding PEM as PKCS#8: not an RSA, P-256 or Ed25519 key".to_owned()),
            "RSA PRIVATE KEY" => {
                RsaKey::from_pkcs1(&bytes).map(|key| Self::Rsa(Box::new(key))).ok_or_else(|| {
                    "parsing RSA private key from PEM: not an RSA key of 512 to 8192 bits".to_owned()
                })
            }
            "EC PRIVATE KEY" => Self::from_sec1(&bytes)
                .ok_or_else(|| "parsing EC private key from PEM: not a key on the curve P-256".to_owned()),
            "DSA PRIVATE KEY" => Err(super::NO_DSA.to_owned()),
            other if other.ends_with(" PRIVATE KEY") => Err(format!("invalid private key type {other}")),
            other => Err(format!("no private key data in PEM block of type {other}")),
        }
    }

    fn from_pkcs8(bytes: &[u8]) -> Option<Self> {
        let elements = der::only_element(bytes)?.elements(der::SEQUENCE)?;
        let [_, algorithm, key, ..] = elements.as_slice() else { return None };
        let key = key.of(der::OCTET_STRING)?;
        let algorithm = algorithm.elements(der::SEQUENCE)?;
        match algorithm.first()?.whole {
            rsa if *rsa == RSA_ENCRYPTION => RsaKey::from_pkcs1(key).map(|key| Self::Rsa(Box::new(key))),
            ec if *ec == EC_PUBLIC_KEY => {
                (*algorithm.get(1)?.whole == CURVE_P256).then_some(())?;
                Self::from_sec1(key)
            }
            edwards if *edwards == ED25519 => {
                let secret: [u8; 32] = der::only_element(key)?.of(der::OCTET_STRING)?.try_into().ok()?;
                Some(Self::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&secret))))
            }
            _ => None,
        }
    }

    fn from_sec1(bytes: &[u8]) -> Option<Self> {
        let elements = der::only_element(bytes)?.elements(der::SEQUENCE)?;
        let secret = elements.get(1)?.of(der::OCTET_STRING)?;
        let curve = elements.iter().find(|element| element.tag == 0xa0);
        curve.is_none_or(|curve| *curve.content == CURVE_P256).then_some(())?;
        Some(Self::Ecdsa(Box::new(p256::ecdsa::SigningKey::from_slice(secret).ok()?)))
    }

    /// Returns the key as Sprig writes it.
    pub(super) fn to_pem(&self) -> String {
        match self {
            Self::Rsa(key) => write_block("RSA PRIVATE KEY", &key.to_pkcs1()),
            Self::Ecdsa(key) => {
                let public = key.verifying_key().to_sec1_point(false);
                let content = der::encode_sequence(&[
                    der::encode_integer(&[1]),
                    der::encode_element(der::OCTET_STRING, &key.to_bytes()),
                    der::encode_element(0xa0, &CURVE_P256),
                    der::encode_element(0xa1, &der::encode_bit_string(public.as_bytes())),
                ]);
                write_block("EC PRIVATE KEY", &content)
            }
            Self::Ed25519(key) => {
                let secret = der::encode_element(der::OCTET_STRING, key.as_bytes());
                let content = der::encode_sequence(&[
                    der::encode_integer(&[]),
                    der::encode_sequence(&[ED25519.to_vec()]),
                    der::encode_element(der::OCTET_STRING, &secret),
                ]);
                write_block("PRIVATE KEY", &content)
            }
        }
    }

    /// Returns the public key as written in a certificate, without its algorithm.
    pub(super) fn public_bits(&self) -> Vec<u8> {
        match self {
            Self::Rsa(key) => key.public(),
            Self::Ecdsa(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::Ed25519(key) => key.verifying_key().to_bytes().to_vec(),
        }
    }

    /// Returns the public key with its algorithm.
    pub(super) fn public_key_info(&self) -> Vec<u8> {
        let algorithm = match self {
            Self::Rsa(_) => vec![RSA_ENCRYPTION.to_vec(), NULL.to_vec()],
            Self::Ecdsa(_) => vec![EC_PUBLIC_KEY.to_vec(), CURVE_P256.to_vec()],
            Self::Ed25519(_) => vec![ED25519.to_vec()],
        };
        der::encode_sequence(&[der::encode_sequence(&algorithm), der::encode_bit_string(&self.public_bits())])
    }

    /// Returns the algorithm of its signatures.
    pub(super) fn signature_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) => der::encode_sequence(&[SHA256_WITH_RSA.to_vec(), NULL.to_vec()]),
            Self::Ecdsa(_) => der::encode_sequence(&[ECDSA_WITH_SHA256.to_vec()]),
            Self::Ed25519(_) => der::encode_sequence(&[ED25519.to_vec()]),
        }
    }

    /// Signs `message`; always with the same result.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Rsa(key) => key.sign(message),
            Self::Ecdsa(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
        }
    }
}
