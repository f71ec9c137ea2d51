//! X.509 certificates and requests as objects, with the names and shapes of Go's `crypto/x509`.
//!
//! They are read, not trusted: no signature is checked. Only RSA keys are known.

use base64::Engine as _;
use der::Tag;
use kubewright_value::{Map, Text, Value};

use self::reader::CertificateReader;
use crate::base64::BASE64;
use crate::pem;
use kubewright_value::CompactSort as _;

mod certificate;
mod extensions;
mod key;
mod name;
mod reader;
mod request;
mod subtrees;

/// What the text, its values and the lists they are in may take, for each byte of text.
pub const MAX_BYTES_PER_BYTE: usize = 64;

/// Returns what the first PEM block of `text` says.
///
/// The result takes up to [`MAX_BYTES_PER_BYTE`] bytes for each byte of text.
///
/// # Errors
/// When there is no certificate and no request in it, or one that cannot be read.
pub fn decode_pem(text: &str) -> Result<Value, String> {
    let block = pem::first_block(text).ok_or("failed to decode PEM block")?;
    match block.label {
        "CERTIFICATE" => certificate::decode_certificate(&block.bytes),
        "CERTIFICATE REQUEST" => request::decode_request(&block.bytes),
        _ => Err("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST".to_owned()),
    }
}

/// Fields of an object; what is not set is null.
#[derive(Default)]
struct ObjectFields(Vec<(&'static str, Value)>);

impl ObjectFields {
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
        self.0.compact_sort_by_key(|(name, _)| *name);
        let mut map = Map::with_capacity(self.0.len());
        for (name, value) in self.0 {
            map.insert(Text::new_static(name), value);
        }
        Value::object(map)
    }
}

fn bytes_to_base64(bytes: &[u8]) -> Value {
    Value::from(BASE64.encode(bytes))
}

/// Returns the list; null when it is empty, as a list that Go never made.
fn list_or_null(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::array(items) }
}

/// Reads an extension: its number, whether it is critical, what it says.
fn read_extension<'a>(reader: &mut CertificateReader<'a>) -> Result<CertificateExtension<'a>, String> {
    let mut parts = reader.inner(Tag::Sequence, "extension")?;
    let id = parts.object_identifier("extension OID field")?;
    let is_critical =
        if parts.is_next(Tag::Boolean) { parts.boolean("extension critical field")? } else { false };
    let value = parts.take(Tag::OctetString, "extension value field")?;
    Ok(CertificateExtension { id, is_critical, value })
}

struct CertificateExtension<'a> {
    id: Vec<u64>,
    is_critical: bool,
    value: &'a [u8],
}

impl CertificateExtension<'_> {
    fn object(&self) -> Value {
        let mut fields = ObjectFields::default();
        fields.set("Id", number_values(&self.id));
        fields.set("Critical", self.is_critical);
        fields.set("Value", bytes_to_base64(self.value));
        fields.object()
    }
}

fn number_values(id: &[u64]) -> Value {
    Value::array(id.iter().map(|part| Value::from(*part)).collect())
}

#[cfg(test)]
mod tests;
