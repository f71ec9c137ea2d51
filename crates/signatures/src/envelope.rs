//! DSSE envelopes and the in-toto statements in them.

use kubewright_value::{Text, Value};

use crate::bundle;
use crate::log::LogEntry;
use crate::material::{SignatureArtifact, SignatureLayer};
use crate::payload::{LOG_ANNOTATION, annotated_certificates};
use crate::signer::SignedItem;
use crate::{decode_base64, read_json};

/// The media type of an envelope.
pub const ENVELOPE_TYPE: &str = "application/vnd.dsse.envelope.v1+json";

/// The type of the payload of an envelope with a statement.
pub const STATEMENT_PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// How many signatures of an envelope are looked at.
const MAX_ENVELOPE_SIGNATURES: usize = 16;

/// An in-toto statement.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statement {
    /// The digests of what it is about, as `sha256:…`.
    pub digests: Vec<Text>,
    /// What sort of statement it is.
    pub predicate_type: Text,
    /// What it says.
    pub predicate: Value,
    /// All of it.
    pub whole: Value,
}

/// A statement and its signatures, as far as they could be read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SignedStatement {
    /// The statement.
    pub statement: Statement,
    /// One item for each signature.
    pub items: Vec<SignedItem>,
}

/// Returns the statements among `artifacts`, and the problems of those that cannot be read.
#[must_use]
pub fn signed_statements(artifacts: &[SignatureArtifact]) -> (Vec<SignedStatement>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for layer in artifacts.iter().flat_map(|artifact| &artifact.layers) {
        let read = if layer.media_type == ENVELOPE_TYPE {
            read_envelope_layer(layer)
        } else if bundle::is_bundle(layer) {
            bundle::read_bundle_statement(layer)
        } else {
            continue;
        };
        match read {
            Ok(statement) => found.push(statement),
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}

fn read_envelope_layer(layer: &SignatureLayer) -> Result<SignedStatement, String> {
    let envelope = read_json(&layer.content).ok_or("an envelope is not JSON")?;
    let base = SignedItem {
        document: layer.content.clone(),
        certificates: annotated_certificates(layer),
        log: LogEntry::of_annotation(layer.annotation(LOG_ANNOTATION)),
        ..SignedItem::default()
    };
    read_envelope(&envelope, &base)
}

/// Reads an envelope; `base` has what is known about its signer.
pub(crate) fn read_envelope(envelope: &Value, base: &SignedItem) -> Result<SignedStatement, String> {
    let payload_type = envelope.str_at(&["payloadType"]);
    if payload_type != STATEMENT_PAYLOAD_TYPE {
        return Err(format!("an envelope has the payload type `{payload_type}`, which is not known"));
    }
    let payload =
        decode_base64(envelope.str_at(&["payload"])).ok_or("the payload of an envelope is not Base64")?;
    let signatures = envelope.get("signatures").and_then(Value::as_array).unwrap_or_default();
    if signatures.is_empty() || signatures.len() > MAX_ENVELOPE_SIGNATURES {
        return Err("an envelope has no signature, or too many".to_owned());
    }
    let message = signed_envelope_bytes(payload_type, &payload);
    let item = |signature: &Value| {
        let signature = decode_base64(signature.str_at(&["sig"])).ok_or("a signature is not Base64")?;
        Ok(SignedItem { message: message.clone(), payload: payload.clone(), signature, ..base.clone() })
    };
    let items = signatures.iter().map(item).collect::<Result<_, String>>()?;
    Ok(SignedStatement { statement: Statement::read(&payload)?, items })
}

/// Returns the bytes that the signatures of an envelope cover.
#[must_use]
pub fn signed_envelope_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl Statement {
    /// Reads a statement.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(payload: &[u8]) -> Result<Self, String> {
        let whole = read_json(payload).ok_or("a statement is not JSON")?;
        if !whole.str_at(&["_type"]).starts_with("https://in-toto.io/Statement/v") {
            return Err("the payload of an envelope is no in-toto statement".to_owned());
        }
        let subjects = whole.get("subject").and_then(Value::as_array).unwrap_or_default();
        let digests = subjects.iter().filter_map(|subject| subject.get("digest")?.as_object());
        let digests = digests
            .flat_map(|map| map.iter())
            .filter_map(|(algorithm, hex)| Some(Text::from(format!("{algorithm}:{}", hex.as_str()?))));
        Ok(Self {
            digests: digests.collect(),
            predicate_type: whole.str_at(&["predicateType"]).into(),
            predicate: whole.get("predicate").cloned().unwrap_or_default(),
            whole: whole.clone(),
        })
    }

    /// Returns whether it is about the image with `digest`.
    #[must_use]
    pub fn is_about(&self, digest: &str) -> bool {
        self.digests.iter().any(|own| own == digest)
    }
}
