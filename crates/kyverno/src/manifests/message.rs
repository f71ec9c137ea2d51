//! Reads the signed message from the annotations of an object.
//!
//! An object carries the signed text itself: `<domain>/message` is Base64 of gzip of YAML, or of gzip of a `.tar.gz`
//! with YAML files in it. Signatures, `<domain>/signature` and `_1`, `_2` and so on, are of the text after the
//! outer gzip. Every user can write annotations, so sizes are bounded before anything is unpacked.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use kubewright_engine::EvalError;
use kubewright_value::{Budget, Document, Exhausted, ParseProblemKind, Source, Text, Value, yaml};

use super::tar;
use crate::signing::DEFAULT_DOMAIN;

/// How long a message may be as it is written. All annotations of an object in a cluster may have 256 KiB.
const MAX_WRITTEN: usize = 1 << 20;

/// How long a message may be when it is unpacked.
const MAX_UNPACKED: usize = 4 << 20;

/// How many signatures are looked at.
const MAX_SIGNATURES: usize = 64;

/// The most characters of an encoded signature; those of P-256 have about a hundred.
const MAX_SIGNATURE: usize = 1024;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// The names of the annotations.
#[derive(Debug, Clone)]
pub(crate) struct SignatureAnnotations {
    pub(crate) message: Text,
    pub(super) signature: Text,
    /// Marks a message that is in an image.
    pub(super) bundle: Text,
    domain: Text,
}

impl SignatureAnnotations {
    /// Returns the names in `domain`, or in the usual one where it is empty.
    pub(crate) fn new(domain: &str) -> Self {
        let domain = if domain.is_empty() { DEFAULT_DOMAIN } else { domain };
        let name = |base: &str| Text::from(format!("{domain}/{base}"));
        Self {
            message: name("message"),
            signature: name("signature"),
            bundle: name("resourceBundleRef"),
            domain: domain.into(),
        }
    }

    /// Returns the annotation name of signature number `index`.
    pub(crate) fn signature(&self, index: usize) -> Text {
        match index {
            0 => self.signature.clone(),
            index => format!("{}_{index}", self.signature).into(),
        }
    }

    /// Returns whether an annotation belongs to the signature and not to the signed manifest.
    pub(crate) fn is_one(&self, annotation: &str) -> bool {
        let name = annotation.strip_prefix(self.domain.as_str()).and_then(|rest| rest.strip_prefix('/'));
        let bases = ["message", "signature", "certificate", "bundle", "resourceBundleRef"];
        name.is_some_and(|name| bases.iter().any(|base| name.starts_with(base)))
    }

    /// Returns the domain.
    pub(super) fn domain(&self) -> &str {
        &self.domain
    }
}

/// A signed text.
pub(crate) struct SignedMessage {
    /// The bytes that the signatures cover.
    pub(crate) signed: Vec<u8>,
    /// The objects in it.
    pub(crate) objects: Vec<Value>,
}

/// Why there is none.
pub(crate) enum NoMessage {
    /// The object has none.
    Absent,
    /// It has one that cannot be read.
    Broken(String),
    Limit(EvalError),
}

impl From<Exhausted> for NoMessage {
    fn from(exhausted: Exhausted) -> Self {
        Self::Limit(exhausted.into())
    }
}

impl SignedMessage {
    /// Reads the message of `object`.
    pub(crate) fn of(
        object: &Value,
        names: &SignatureAnnotations,
        budget: &mut Budget,
    ) -> Result<Self, NoMessage> {
        let annotations = object.at(&["metadata", "annotations"]);
        let written = annotations.and_then(|map| map.get(&names.message)).and_then(Value::as_str);
        Self::read(written.ok_or(NoMessage::Absent)?, budget)
    }

    fn read(written: &str, budget: &mut Budget) -> Result<Self, NoMessage> {
        if written.len() > MAX_WRITTEN {
            return Err(message_too_long(MAX_WRITTEN));
        }
        budget.produce(written.len())?;
        let packed = decode_base64_lines(written).ok_or_else(|| {
            NoMessage::Broken(
                "failed to decode base64 message in the annotation: illegal base64 data".to_owned(),
            )
        })?;
        let signed = unpack(packed, budget)?;
        let objects = signed_objects(&signed, budget)?;
        if objects.is_empty() {
            return Err(NoMessage::Broken(broken_message("there is no object in it")));
        }
        Ok(Self { signed, objects })
    }
}

/// Returns the signatures of `object`, as they are written. One that is missing ends them.
pub(crate) fn signatures<'o>(object: &'o Value, names: &SignatureAnnotations) -> Vec<&'o str> {
    let annotations = object.at(&["metadata", "annotations"]);
    let one = |index| annotations?.get(&names.signature(index))?.as_str();
    (0..MAX_SIGNATURES).map_while(one).collect()
}

/// Decodes a signature.
pub(crate) fn decode_signature(text: &str) -> Option<Vec<u8>> {
    (text.len() <= MAX_SIGNATURE).then(|| decode_base64_lines(text)).flatten()
}

/// Decodes Base64, which may have line breaks in it.
pub(crate) fn decode_base64_lines(text: &str) -> Option<Vec<u8>> {
    if !text.contains(['\r', '\n']) {
        return STANDARD.decode(text).ok();
    }
    STANDARD.decode(text.replace(['\r', '\n'], "")).ok()
}

/// Decompresses gzip `bytes`; other bytes are returned unchanged.
fn unpack(bytes: Vec<u8>, budget: &mut Budget) -> Result<Vec<u8>, NoMessage> {
    if !bytes.starts_with(GZIP) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    let limit = u64::try_from(MAX_UNPACKED).unwrap_or(u64::MAX);
    let reading = MultiGzDecoder::new(bytes.as_slice()).take(limit + 1).read_to_end(&mut unpacked);
    if unpacked.len() > MAX_UNPACKED {
        return Err(message_too_long(MAX_UNPACKED));
    }
    budget.produce(unpacked.len())?;
    match reading {
        Ok(_) => Ok(unpacked),
        Err(error) => Err(NoMessage::Broken(format!("failed to read YAMLs in the gzipped message: {error}"))),
    }
}

fn message_too_long(limit: usize) -> NoMessage {
    NoMessage::Limit(EvalError::limit(format!("the signed message has more than {limit} bytes")))
}

fn signed_objects(signed: &[u8], budget: &mut Budget) -> Result<Vec<Value>, NoMessage> {
    let mut objects = Vec::new();
    if !signed.starts_with(GZIP) {
        read_yaml(signed, &mut objects, budget)?;
        return Ok(objects);
    }
    let archive = unpack(signed.to_vec(), budget)?;
    for file in tar::tar_files(&archive) {
        budget.step(1)?;
        let file = file.map_err(|problem| NoMessage::Broken(broken_message(&problem)))?;
        match read_yaml(file, &mut objects, budget) {
            // An archive may have other files beside.
            Err(NoMessage::Broken(_)) => {}
            result => result?,
        }
    }
    Ok(objects)
}

fn read_yaml(bytes: &[u8], objects: &mut Vec<Value>, budget: &mut Budget) -> Result<(), NoMessage> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| NoMessage::Broken(broken_message("it is not UTF-8")))?;
    budget.step(u64::try_from(text.len() / 16).unwrap_or(u64::MAX))?;
    let reading = yaml::read(&Source::new("message", text));
    if let Some(problem) =
        reading.problems.iter().find(|problem| problem.kind != ParseProblemKind::DuplicateKey)
    {
        return Err(NoMessage::Broken(broken_message(&problem.message)));
    }
    let values = reading.documents.into_iter().map(|document: Document| document.value);
    objects.extend(values.filter(|value| value.as_object().is_some()));
    Ok(())
}

fn broken_message(problem: &str) -> String {
    format!("failed to read YAMLs in the gzipped message: {problem}")
}
