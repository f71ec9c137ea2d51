//! Sigstore bundles: a signature with its certificate and log entry in one JSON document.

use kubewright_value::Value;

use crate::envelope::{SignedStatement, read_envelope};
use crate::log::LogEntry;
use crate::material::SignatureLayer;
use crate::payload::ImageSignature;
use crate::signer::SignedItem;
use crate::{SignerCertificate, decode_base64, read_json};

/// How the media type of a bundle begins.
pub const BUNDLE_TYPE_PREFIX: &str = "application/vnd.dev.sigstore.bundle";

/// What a bundle says that signs an image and states nothing else about it.
pub const SIGN_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// How many certificates a bundle may have.
const MAX_CERTIFICATES: usize = 10;

pub(crate) fn is_bundle(layer: &SignatureLayer) -> bool {
    layer.media_type.starts_with(BUNDLE_TYPE_PREFIX)
}

/// Reads the signature of an image; nothing when the bundle states something else.
pub(crate) fn read_bundle_signature(layer: &SignatureLayer) -> Option<Result<ImageSignature, String>> {
    let SignedStatement { statement, items } = match read_bundle_statement(layer) {
        Ok(signed) => signed,
        Err(problem) => return Some(Err(problem)),
    };
    if statement.predicate_type != SIGN_PREDICATE {
        return None;
    }
    // Its annotations belong to what was signed.
    let subject = statement.whole.get("subject").and_then(|subjects| subjects.item(0));
    let annotations = subject.and_then(|subject| subject.get("annotations").cloned());
    let digest = statement.digests.first().cloned().unwrap_or_default();
    let item = items.into_iter().next()?;
    Some(Ok(ImageSignature { item, digest, annotations: annotations.unwrap_or_default() }))
}

/// Reads the statement in a bundle.
pub(crate) fn read_bundle_statement(layer: &SignatureLayer) -> Result<SignedStatement, String> {
    let bundle = read_json(&layer.content).ok_or("a bundle is not JSON")?;
    let envelope = bundle.get("dsseEnvelope").ok_or("a bundle has no envelope")?;
    let material = bundle.get("verificationMaterial").unwrap_or(&Value::Null);
    let entries = material.get("tlogEntries").and_then(Value::as_array).unwrap_or_default();
    let base = SignedItem {
        document: layer.content.clone(),
        certificates: bundle_certificates(material)?,
        log: entries.first().and_then(LogEntry::of_bundle),
        ..SignedItem::default()
    };
    read_envelope(envelope, &base)
}

fn bundle_certificates(material: &Value) -> Result<Vec<SignerCertificate>, String> {
    let chain = material.at(&["x509CertificateChain", "certificates"]).and_then(Value::as_array);
    let chain = chain.unwrap_or_default();
    if chain.len() > MAX_CERTIFICATES {
        return Err("a bundle has too many certificates".to_owned());
    }
    material
        .get("certificate")
        .into_iter()
        .chain(chain)
        .map(|one| {
            let der = decode_base64(one.str_at(&["rawBytes"])).ok_or("a certificate is not Base64")?;
            SignerCertificate::of_der(&der)
        })
        .collect()
}
