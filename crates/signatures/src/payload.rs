//! Simple signing: a small JSON document that names the image, with its signature in an annotation.

use kubewright_value::{Text, Value};

use crate::bundle;
use crate::log::LogEntry;
use crate::material::{SignatureArtifact, SignatureLayer};
use crate::signer::SignedItem;
use crate::{decode_base64, read_json};

/// The media type of the document.
pub const SIMPLE_SIGNING_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The annotation with the signature.
pub const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";

pub(crate) const CERTIFICATE_ANNOTATION: &str = "dev.sigstore.cosign/certificate";
pub(crate) const CHAIN_ANNOTATION: &str = "dev.sigstore.cosign/chain";
pub(crate) const LOG_ANNOTATION: &str = "dev.sigstore.cosign/bundle";

/// A signature of an image, as far as it could be read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImageSignature {
    /// What was signed, and by whom.
    pub item: SignedItem,
    /// The digest of the image that was signed.
    pub digest: Text,
    /// What the signer said besides.
    pub annotations: Value,
}

/// Returns the signatures among `artifacts`, and the problems of those that cannot be read.
#[must_use]
pub fn image_signatures(artifacts: &[SignatureArtifact]) -> (Vec<ImageSignature>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for layer in artifacts.iter().flat_map(|artifact| &artifact.layers) {
        let read = if layer.media_type == SIMPLE_SIGNING_TYPE {
            Some(read_simple_signature(layer))
        } else if bundle::is_bundle(layer) {
            bundle::read_bundle_signature(layer)
        } else {
            None
        };
        match read {
            Some(Ok(signature)) => found.push(signature),
            Some(Err(problem)) => problems.push(problem),
            None => {}
        }
    }
    (found, problems)
}

fn read_simple_signature(layer: &SignatureLayer) -> Result<ImageSignature, String> {
    let signature = decode_base64(layer.annotation(SIGNATURE_ANNOTATION)).filter(|bytes| !bytes.is_empty());
    let signature = signature.ok_or("a signature is not Base64")?;
    let document = read_json(&layer.content).ok_or("a signed payload is not JSON")?;
    if document.str_at(&["critical", "type"]) != "cosign container image signature" {
        return Err("a signed payload is not about an image".to_owned());
    }
    let digest = document.str_at(&["critical", "image", "docker-manifest-digest"]);
    let annotations = document.get("optional").cloned().unwrap_or_default();
    Ok(ImageSignature {
        digest: digest.into(),
        annotations,
        item: SignedItem {
            message: layer.content.clone(),
            payload: layer.content.clone(),
            document: layer.content.clone(),
            signature,
            certificates: annotated_certificates(layer),
            log: LogEntry::of_annotation(layer.annotation(LOG_ANNOTATION)),
        },
    })
}

/// Returns the certificate in the annotations of a layer, and those of its issuers.
pub(crate) fn annotated_certificates(layer: &SignatureLayer) -> Vec<crate::SignerCertificate> {
    let read = |name: &str| crate::SignerCertificate::all_of_pem(layer.annotation(name)).unwrap_or_default();
    let own = read(CERTIFICATE_ANNOTATION);
    if own.is_empty() {
        return own;
    }
    own.into_iter().take(1).chain(read(CHAIN_ANNOTATION)).collect()
}
