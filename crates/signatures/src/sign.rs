//! Making signatures of images, in the form that cosign and [`crate::payload`] read.

use std::fmt;

use kubewright_golib::pem::{all_blocks, write_block};
use kubewright_value::{Map, Text, Value, json};
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::DecodePrivateKey as _;

use crate::encode_base64;
use crate::envelope::{ENVELOPE_TYPE, STATEMENT_PAYLOAD_TYPE, signed_envelope_bytes};
use crate::material::SignatureLayer;
use crate::payload::{SIGNATURE_ANNOTATION, SIMPLE_SIGNING_TYPE};

/// What stands before the point in the SubjectPublicKeyInfo of a key.
const P256_INFO_PREFIX: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";

/// A private key of the curve P-256, which is never shown.
pub struct ImageSigningKey(SigningKey);

impl ImageSigningKey {
    /// Reads a key in PEM: `PRIVATE KEY` (PKCS#8) or `EC PRIVATE KEY` (SEC 1).
    ///
    /// # Errors
    /// When it is another sort of key. The message never has the key in it.
    pub fn from_pem(text: &str) -> Result<Self, String> {
        let blocks = all_blocks(text)?;
        let block = blocks.into_iter().find(|block| block.label != "EC PARAMETERS");
        let block = block.ok_or("there is no PEM block in it")?;
        let key = match block.label {
            "PRIVATE KEY" => SecretKey::from_pkcs8_der(&block.bytes).ok(),
            "EC PRIVATE KEY" => SecretKey::from_sec1_der(&block.bytes).ok(),
            label => return Err(format!("`{label}` is no private key that can be used")),
        };
        key.map(|key| Self(key.into())).ok_or_else(|| "images are signed with ECDSA P-256".to_owned())
    }

    /// Returns the public key in PEM.
    #[must_use]
    pub fn public_pem(&self) -> String {
        let point = self.0.verifying_key().to_sec1_point(false);
        write_block("PUBLIC KEY", &[P256_INFO_PREFIX, point.as_bytes()].concat())
    }

    /// Returns the signature of `message`, in DER. The same message always has the same one (RFC 6979).
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature: Signature = self.0.sign(message);
        signature.to_der().as_bytes().to_vec()
    }
}

impl fmt::Debug for ImageSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ImageSigningKey")
    }
}

/// Returns the layer that signs the image `repository` with `digest`.
#[must_use]
pub fn sign_image(
    key: &ImageSigningKey,
    repository: &str,
    digest: &str,
    annotations: &[(Text, Text)],
) -> SignatureLayer {
    let optional = match annotations {
        [] => Value::Null,
        some => some.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect::<Map>().into(),
    };
    let critical = Map::from([
        ("identity", Map::from([("docker-reference", Value::from(repository))]).into()),
        ("image", Map::from([("docker-manifest-digest", Value::from(digest))]).into()),
        ("type", Value::from("cosign container image signature")),
    ]);
    let payload = Value::from(Map::from([("critical", critical.into()), ("optional", optional)]));
    let content = json::to_string(&payload).into_bytes();
    let signature = encode_base64(&key.sign(&content));
    SignatureLayer {
        media_type: SIMPLE_SIGNING_TYPE.into(),
        annotations: Map::from([(SIGNATURE_ANNOTATION, Value::from(signature))]).into(),
        content,
    }
}

/// Returns the layer that states `predicate` about the image `repository` with `digest`.
#[must_use]
pub fn attest_image(
    key: &ImageSigningKey,
    (repository, digest): (&str, &str),
    predicate_type: &str,
    predicate: Value,
) -> SignatureLayer {
    let (algorithm, hex) = digest.split_once(':').unwrap_or(("sha256", digest));
    let digests: Map = [(Text::from(algorithm), Value::from(hex))].into_iter().collect();
    let subject = Map::from([("name", Value::from(repository)), ("digest", digests.into())]);
    let statement = Value::from(Map::from([
        ("_type", Value::from("https://in-toto.io/Statement/v0.1")),
        ("predicateType", predicate_type.into()),
        ("subject", Value::array(vec![subject.into()])),
        ("predicate", predicate),
    ]));
    let payload = json::to_string(&statement).into_bytes();
    let signature = encode_base64(&key.sign(&signed_envelope_bytes(STATEMENT_PAYLOAD_TYPE, &payload)));
    let signature = Map::from([("keyid", Value::from("")), ("sig", signature.into())]);
    let envelope = Value::from(Map::from([
        ("payloadType", Value::from(STATEMENT_PAYLOAD_TYPE)),
        ("payload", encode_base64(&payload).into()),
        ("signatures", Value::array(vec![signature.into()])),
    ]));
    SignatureLayer {
        media_type: ENVELOPE_TYPE.into(),
        annotations: Map::from([("predicateType", Value::from(predicate_type))]).into(),
        content: json::to_string(&envelope).into_bytes(),
    }
}
