//! Signing objects in the form that `manifests` rules check.
//!
//! The object without signature annotations is written as YAML and signed; the text and the signature are put into
//! annotations. A further signature covers the same text.

use std::fmt;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use kubewright_golib::pem;
use kubewright_value::{Budget, Limits, Map, Text, Value, yaml};
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::DecodePrivateKey as _;

use super::manifests::message::{
    NoMessage, SignatureAnnotations, SignedMessage, decode_signature, signatures,
};
use super::manifests::{PublicKey, other_key};

/// The default prefix of signature annotations.
pub const DEFAULT_DOMAIN: &str = "cosign.sigstore.dev";

/// A private key, which is never shown.
pub struct ManifestSigningKey {
    key: SigningKey,
}

/// Why nothing was signed, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSigned {
    /// The error.
    pub message: String,
    /// A suggestion; may be empty.
    pub help: &'static str,
}

/// The result for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It has a first signature.
    First,
    /// It has one more.
    Added,
    /// It had this signature already.
    Already,
}

/// The handling of existing signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// They stay, if they are still of this object.
    Keep,
    /// They go.
    Replace,
}

const MAKE_ONE: &str = "make a key with `openssl ecparam -name prime256v1 -genkey -noout -out key.pem`";

impl ManifestSigningKey {
    /// Reads an ECDSA P-256 key in PEM: `PRIVATE KEY` (PKCS#8) or `EC PRIVATE KEY` (SEC 1).
    ///
    /// # Errors
    /// When it is another sort of key, or encrypted. The message never has the key in it.
    pub fn from_pem(text: &str) -> Result<Self, NotSigned> {
        let wrong = |message: String| NotSigned { message, help: MAKE_ONE };
        let blocks = pem::all_blocks(text).map_err(wrong)?;
        let block = blocks.into_iter().find(|block| block.label != "EC PARAMETERS");
        let block = block.ok_or_else(|| wrong("there is no PEM block in it".to_owned()))?;
        let key = match block.label {
            "PRIVATE KEY" => SecretKey::from_pkcs8_der(&block.bytes).ok(),
            "EC PRIVATE KEY" => SecretKey::from_sec1_der(&block.bytes).ok(),
            "ENCRYPTED PRIVATE KEY" => {
                let message = "the key is encrypted, which is not supported".to_owned();
                return Err(NotSigned { message, help: "`openssl pkey -in KEY -out plain.pem` decrypts it" });
            }
            label if label.starts_with("ENCRYPTED") => {
                return Err(wrong(format!("`{label}` is encrypted, which is not supported")));
            }
            "PUBLIC KEY" => {
                let message = "this is a public key, which cannot sign".to_owned();
                return Err(NotSigned {
                    message,
                    help: "name the private key; the public one goes into the policy",
                });
            }
            label => return Err(wrong(format!("`{label}` is no private key"))),
        };
        let key = key.ok_or_else(|| {
            let what = other_key(&block.bytes).unwrap_or("no key that can be read");
            wrong(format!("this is {what}, and manifests are signed with ECDSA P-256"))
        })?;
        Ok(Self { key: key.into() })
    }

    pub(super) fn sign(&self, message: &[u8]) -> String {
        let signature: Signature = self.key.sign(message);
        STANDARD.encode(signature.to_der().as_bytes())
    }

    fn public(&self) -> PublicKey {
        PublicKey::of(&self.key)
    }
}

impl fmt::Debug for ManifestSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey")
    }
}

/// Puts a signature by `key` into the annotations of `object` that start with `domain`.
///
/// The same object and key always give the same signature (RFC 6979).
///
/// # Errors
/// When it is not a Kubernetes object, or has a signature that no longer matches it.
pub fn sign_manifest(
    object: &mut Value,
    key: &ManifestSigningKey,
    domain: &str,
    earlier: Earlier,
) -> Result<Signed, NotSigned> {
    if !takes_annotations(object) {
        return Err(NotSigned {
            message: "it is not a Kubernetes object".to_owned(),
            help: "an object has `apiVersion`, `kind` and `metadata`",
        });
    }
    let names = SignatureAnnotations::new(domain);
    let bare = without_signatures(object, &names);
    let kept = match earlier {
        Earlier::Keep => earlier_message(object, &bare, &names)?,
        Earlier::Replace => None,
    };
    let Some(message) = kept else {
        let text = yaml::write(&sort_keys(&bare));
        *object = bare;
        add_annotation(object, names.message.clone(), gzip_base64(text.as_bytes()));
        add_annotation(object, names.signature(0), key.sign(text.as_bytes()));
        return Ok(Signed::First);
    };
    let present = signatures(object, &names);
    let public = key.public();
    let is_by_key = |written: &&str| {
        decode_signature(written).is_some_and(|der| public.has_signed(&message.signed, &der))
    };
    if present.iter().any(is_by_key) {
        return Ok(Signed::Already);
    }
    let name = names.signature(present.len());
    add_annotation(object, name, key.sign(&message.signed));
    Ok(Signed::Added)
}

/// Returns whether annotations can be put into `object`.
fn takes_annotations(object: &Value) -> bool {
    let is_map =
        |path: &[&str]| object.at(path).is_none_or(|part| part.is_null() || part.as_object().is_some());
    ["apiVersion", "kind"].iter().all(|key| object.get(key).and_then(Value::as_str).is_some())
        && is_map(&["metadata"])
        && is_map(&["metadata", "annotations"])
}

/// Returns the message that `object` has already.
fn earlier_message(
    object: &Value,
    bare: &Value,
    names: &SignatureAnnotations,
) -> Result<Option<SignedMessage>, NotSigned> {
    const HELP: &str = "`--replace` takes the old signatures away";
    let mut budget = Budget::new(Limits::default());
    let wrong = |message: String| NotSigned { message, help: HELP };
    match SignedMessage::of(object, names, &mut budget) {
        Err(NoMessage::Absent) => Ok(None),
        Err(NoMessage::Broken(problem)) => Err(wrong(problem)),
        Err(NoMessage::Limit(error)) => Err(wrong(error.message)),
        Ok(message) if message.objects.contains(bare) => Ok(Some(message)),
        Ok(_) => Err(wrong("it was changed since it was signed".to_owned())),
    }
}

/// Returns `value` with its keys in order. So the text is the one that other tools make of the object, and they can
/// add a signature.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sort_keys).collect()),
        Value::Object(map) => {
            let entries = map.sorted().into_iter();
            entries.map(|(key, value)| (key.clone(), sort_keys(value))).collect::<Map>().into()
        }
        scalar => scalar.clone(),
    }
}

fn without_signatures(object: &Value, names: &SignatureAnnotations) -> Value {
    let mut bare = object.clone();
    let metadata =
        bare.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut);
    if let Some(metadata) = metadata
        && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
    {
        let own: Vec<Text> = annotations.keys().filter(|name| names.is_one(name)).cloned().collect();
        for name in &own {
            annotations.remove(name);
        }
        if annotations.is_empty() && !own.is_empty() {
            metadata.remove("annotations");
        }
    }
    bare
}

fn add_annotation(object: &mut Value, name: Text, text: String) {
    let Some(map) = object.as_object_mut() else { return };
    let metadata = child_map_mut(map, "metadata");
    let annotations = metadata.and_then(|metadata| child_map_mut(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations.insert(name, text.into());
    }
}

/// Returns the object under `key`, which is made where there is none.
fn child_map_mut<'m>(map: &'m mut Map, key: &str) -> Option<&'m mut Map> {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.into(), Map::new().into());
    }
    map.get_mut(key).and_then(Value::as_object_mut)
}

/// Returns Base64 of gzip, without a time in it.
fn gzip_base64(text: &[u8]) -> String {
    let mut encoder: GzEncoder<Vec<u8>> = GzBuilder::new().write(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let _ = encoder.write_all(text);
    STANDARD.encode(encoder.finish().unwrap_or_default())
}

#[cfg(test)]
mod tests;
