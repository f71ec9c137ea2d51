//! X.509 certificates and requests as objects, with the names and shapes of Go's `crypto/x509`.
//!
//! They are read, not trusted: no signature is checked. Only RSA keys are known.

use base64::Engine as _;
use kubewright_value::{Budget, Map, Text, Value};

use self::der::{Reader, tag};
use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};
use super::encoding::BASE64;

mod certificate;
mod der;
mod extensions;
mod key;
mod name;
mod pem;
mod request;
mod subtrees;

pub(super) const TABLE: &[Builtin] = &[builtin(
    "x509_decode",
    &[Accepts::STRING],
    "object",
    "what a PEM certificate or certificate request with an RSA key says",
    x509_decode,
)];

/// What the text, its values and the lists they are in may take, for each byte of text.
pub(crate) const FACTOR: usize = 64;

fn x509_decode(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let text = arguments.first().map_or("", Argument::text);
    budget.step(text.len() as u64 * 4 + 100)?;
    budget.produce(text.len().saturating_mul(FACTOR))?;
    decode(text).map_err(|message| Failure::wrong_value(message).about(0))
}

/// Returns what the first PEM block of `text` says.
///
/// The result takes up to [`FACTOR`] bytes for each byte of text.
pub(crate) fn decode(text: &str) -> Result<Value, String> {
    let block = pem::first_block(text).ok_or("failed to decode PEM block")?;
    match block.kind {
        "CERTIFICATE" => certificate::decode(&block.bytes),
        "CERTIFICATE REQUEST" => request::decode(&block.bytes),
        _ => Err("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST".to_owned()),
    }
}

/// Fields of an object; what is not set is null.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    fn names(&mut self, names: &[&'static str]) {
        for name in names {
            self.set(name, Value::Null);
        }
    }

    /// Returns the object, its keys sorted.
    fn object(mut self) -> Value {
        self.0.sort_by_key(|(name, _)| *name);
        let mut map = Map::with_capacity(self.0.len());
        for (name, value) in self.0 {
            map.insert(Text::new_static(name), value);
        }
        Value::object(map)
    }
}

fn bytes(bytes: &[u8]) -> Value {
    Value::from(BASE64.encode(bytes))
}

/// Returns the list; null when it is empty, as a list that Go never made.
fn list(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::array(items) }
}

/// Reads an extension: its number, whether it is critical, what it says.
fn extension<'a>(reader: &mut Reader<'a>) -> Result<Extension<'a>, String> {
    let mut parts = reader.inner(tag::SEQUENCE, "extension")?;
    let id = parts.object_identifier("extension OID field")?;
    let is_critical =
        if parts.is_next(tag::BOOLEAN) { parts.boolean("extension critical field")? } else { false };
    let value = parts.take(tag::OCTET_STRING, "extension value field")?;
    Ok(Extension { id, is_critical, value })
}

struct Extension<'a> {
    id: Vec<u64>,
    is_critical: bool,
    value: &'a [u8],
}

impl Extension<'_> {
    fn object(&self) -> Value {
        let mut fields = Fields::default();
        fields.set("Id", numbers(&self.id));
        fields.set("Critical", self.is_critical);
        fields.set("Value", bytes(self.value));
        fields.object()
    }
}

fn numbers(id: &[u64]) -> Value {
    Value::array(id.iter().map(|part| Value::from(*part)).collect())
}

#[cfg(test)]
mod tests;
