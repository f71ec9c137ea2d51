//! Names of subjects and issuers.

use der::Tag;
use kubewright_value::Value;

use super::reader::{CertificateReader, malformed_der};
use super::{ObjectFields, list_or_null, number_values};

/// The attributes that have fields of their own, below 2.5.4; of these two the last one counts.
const SINGLE: [(u64, &str); 2] = [(3, "CommonName"), (5, "SerialNumber")];
const SEVERAL: [(u64, &str); 7] = [
    (6, "Country"),
    (7, "Locality"),
    (8, "Province"),
    (9, "StreetAddress"),
    (10, "Organization"),
    (11, "OrganizationalUnit"),
    (17, "PostalCode"),
];

/// Reads a name.
pub(super) fn read_name(whole: &[u8]) -> Result<Value, String> {
    let mut sets = CertificateReader(whole).inner(Tag::Sequence, "RDNSequence")?;
    let mut found: Vec<(Vec<u64>, Value)> = Vec::new();
    while !sets.is_empty() {
        let mut set = sets.inner(Tag::Set, "RDNSequence")?;
        while !set.is_empty() {
            let mut attribute = set.inner(Tag::Sequence, "attribute of an RDNSequence")?;
            let kind = attribute.object_identifier("attribute type of an RDNSequence")?;
            let value = attribute.any().and_then(|element| read_der_string(element.tag, element.content));
            found.push((
                kind,
                value.map(Value::from).ok_or_else(|| malformed_der("attribute value of an RDNSequence"))?,
            ));
        }
    }
    let mut fields = ObjectFields::default();
    fields.set("ExtraNames", Value::Null);
    for (number, name) in SINGLE {
        let last = found.iter().rev().find(|(kind, _)| *kind == [2, 5, 4, number]);
        fields.set(name, last.map_or_else(|| Value::from(""), |(_, value)| value.clone()));
    }
    for (number, name) in SEVERAL {
        let values = found.iter().filter(|(kind, _)| *kind == [2, 5, 4, number]);
        fields.set(name, list_or_null(values.map(|(_, value)| value.clone()).collect()));
    }
    let names = found.iter().map(|(kind, value)| name_attribute(kind, value.clone())).collect();
    fields.set("Names", list_or_null(names));
    Ok(fields.object())
}

/// Returns a type and its value.
pub(super) fn name_attribute(kind: &[u64], value: Value) -> Value {
    let mut fields = ObjectFields::default();
    fields.set("Type", number_values(kind));
    fields.set("Value", value);
    fields.object()
}

/// Reads a text; nothing when it is none, or has characters that its type does not have.
pub(super) fn read_der_string(tag: Tag, bytes: &[u8]) -> Option<String> {
    let plain = |allowed: fn(u8) -> bool| {
        bytes.iter().all(|byte| allowed(*byte)).then(|| bytes.iter().map(|byte| char::from(*byte)).collect())
    };
    match tag {
        Tag::Utf8String => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Tag::PrintableString => plain(is_printable_string_byte),
        Tag::Ia5String => plain(|byte| byte.is_ascii()),
        Tag::NumericString => plain(|byte| byte.is_ascii_digit() || byte == b' '),
        // Nearly Latin-1, and taken for it.
        Tag::TeletexString => plain(|_| true),
        Tag::BmpString => {
            let (units, []) = bytes.as_chunks::<2>() else { return None };
            let units = units.strip_suffix(&[[0, 0]]).unwrap_or(units);
            units.iter().map(|unit| char::from_u32(u32::from(u16::from_be_bytes(*unit)))).collect()
        }
        _ => None,
    }
}

/// An asterisk and an ampersand are not allowed, and used.
fn is_printable_string_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(&byte)
}
