//! Names of subjects and issuers.

use kubewright_value::Value;

use super::der::{DerReader, malformed_der, tag};
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
    let mut sets = DerReader(whole).inner(tag::SEQUENCE, "RDNSequence")?;
    let mut found: Vec<(Vec<u64>, Value)> = Vec::new();
    while !sets.is_empty() {
        let mut set = sets.inner(tag::SET, "RDNSequence")?;
        while !set.is_empty() {
            let mut attribute = set.inner(tag::SEQUENCE, "attribute of an RDNSequence")?;
            let kind = attribute.object_identifier("attribute type of an RDNSequence")?;
            let value = attribute.any().and_then(|(tag, value, _)| read_der_string(tag, value));
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

/// Reads a string; `None` for other types or characters that its type does not have.
pub(super) fn read_der_string(tag: u8, bytes: &[u8]) -> Option<String> {
    let plain = |allowed: fn(u8) -> bool| {
        bytes.iter().all(|byte| allowed(*byte)).then(|| bytes.iter().map(|byte| char::from(*byte)).collect())
    };
    match tag {
        tag::UTF8_STRING => std::str::from_utf8(bytes).ok().map(str::to_owned),
        tag::PRINTABLE_STRING => plain(is_printable_string_byte),
        tag::IA5_STRING => plain(|byte| byte.is_ascii()),
        tag::NUMERIC_STRING => plain(|byte| byte.is_ascii_digit() || byte == b' '),
        // Nearly Latin-1, and taken for it.
        tag::T61_STRING => plain(|_| true),
        tag::BMP_STRING => {
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
