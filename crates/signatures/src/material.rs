//! What a registry holds for an image besides the image: signatures and statements.
//!
//! The caller fetches it and gives it as a value:
//!
//! ```yaml
//! artifacts:
//!   - artifactType: application/vnd.cncf.notary.signature   # may be absent
//!     layers:
//!       - mediaType: application/vnd.dev.cosign.simplesigning.v1+json
//!         annotations: {dev.cosignproject.cosign/signature: MEUC…}
//!         content: eyJjcml0aWNhbCI6…                           # Base64
//! ```

use kubewright_value::{Map, Text, Value};

use crate::{MAX_DOCUMENT_BYTES, decode_base64, encode_base64};

/// How many artifacts of an image are looked at.
const MAX_ARTIFACTS: usize = 100;

/// How many layers of an artifact are looked at.
const MAX_LAYERS: usize = 100;

/// A manifest that refers to the image, with its content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignatureArtifact {
    /// What it is; may be empty.
    pub artifact_type: Text,
    /// Its parts.
    pub layers: Vec<SignatureLayer>,
}

/// A part of an artifact.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignatureLayer {
    /// The type of the content.
    pub media_type: Text,
    /// What the manifest says about it.
    pub annotations: Value,
    /// The content.
    pub content: Vec<u8>,
}

/// Reads the answer of a registry.
///
/// # Errors
/// When it has another form, or more than is looked at: then some signature would be missing.
pub fn read_material(answer: &Value) -> Result<Vec<SignatureArtifact>, String> {
    let artifacts = answer.get("artifacts").and_then(Value::as_array).unwrap_or_default();
    if artifacts.len() > MAX_ARTIFACTS {
        return Err(format!("the image has more than {MAX_ARTIFACTS} signatures and attestations"));
    }
    artifacts.iter().map(read_artifact).collect()
}

fn read_artifact(artifact: &Value) -> Result<SignatureArtifact, String> {
    let layers = artifact.get("layers").and_then(Value::as_array).unwrap_or_default();
    if layers.len() > MAX_LAYERS {
        return Err(format!("an artifact of the image has more than {MAX_LAYERS} layers"));
    }
    let layers = layers.iter().map(read_layer).collect::<Result<_, _>>()?;
    Ok(SignatureArtifact { artifact_type: artifact.str_at(&["artifactType"]).into(), layers })
}

fn read_layer(layer: &Value) -> Result<SignatureLayer, String> {
    let content =
        decode_base64(layer.str_at(&["content"])).filter(|content| content.len() <= MAX_DOCUMENT_BYTES);
    Ok(SignatureLayer {
        media_type: layer.str_at(&["mediaType"]).into(),
        annotations: layer.get("annotations").cloned().unwrap_or_default(),
        content: content.ok_or("a layer of a signature cannot be read")?,
    })
}

impl SignatureArtifact {
    /// Returns it in the form that [`read_material`] reads.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let layer = |layer: &SignatureLayer| {
            Value::from(Map::from([
                ("mediaType", Value::from(layer.media_type.clone())),
                ("annotations", layer.annotations.clone()),
                ("content", encode_base64(&layer.content).into()),
            ]))
        };
        let layers = Value::array(self.layers.iter().map(layer).collect());
        Map::from([("artifactType", Value::from(self.artifact_type.clone())), ("layers", layers)]).into()
    }
}

impl SignatureLayer {
    /// Returns the annotation called `name`; empty when there is none.
    #[must_use]
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}
