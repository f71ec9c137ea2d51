//! Requests for certificates.

use der::Tag;
use kubewright_value::Value;

use super::reader::{CertificateReader, constructed_tag};
use super::{
    CertificateExtension, ObjectFields, bytes_to_base64, extensions, key, list_or_null, name, read_extension,
};

/// The attribute that holds the extensions that are asked for.
const EXTENSION_REQUEST: [u64; 7] = [1, 2, 840, 113_549, 1, 9, 14];
const SUBJECT_NAMES: [u64; 4] = [2, 5, 29, 17];

/// Reads a request.
pub(super) fn decode_request(der: &[u8]) -> Result<Value, String> {
    let mut input = CertificateReader(der);
    let raw = input.whole(Tag::Sequence, "certificate request")?;
    if !input.is_empty() {
        return Err("asn1: syntax error: trailing data".to_owned());
    }
    let mut outer = CertificateReader(raw).inner(Tag::Sequence, "certificate request")?;
    let raw_signed = outer.whole(Tag::Sequence, "certificate request info")?;
    let mut signed = CertificateReader(raw_signed).inner(Tag::Sequence, "certificate request info")?;
    let mut fields = ObjectFields::default();
    fields.names(&["ExtraExtensions", "DNSNames", "EmailAddresses", "IPAddresses", "URIs"]);
    fields.set("Raw", bytes_to_base64(raw));
    fields.set("RawTBSCertificateRequest", bytes_to_base64(raw_signed));
    fields.set("Version", signed.small("version")?);
    let subject = signed.whole(Tag::Sequence, "subject")?;
    fields.set("RawSubject", bytes_to_base64(subject));
    fields.set("Subject", name::read_name(subject)?);
    let public_key = signed.whole(Tag::Sequence, "spki")?;
    fields.set("RawSubjectPublicKeyInfo", bytes_to_base64(public_key));
    fields.set("PublicKeyAlgorithm", key::RSA);
    fields.set("PublicKey", key::public_key(public_key)?);
    let attributes = CertificateReader(signed.take(constructed_tag(0), "attributes")?);
    fields.set("Attributes", list_or_null(shown_attributes(attributes)?));
    let algorithm = outer.inner(Tag::Sequence, "algorithm identifier")?;
    fields.set("SignatureAlgorithm", key::signature_algorithm(algorithm)?);
    fields.set("Signature", bytes_to_base64(&key::read_signature(&mut outer)?));
    let requested = requested_extensions(attributes)?;
    for extension in requested.iter().filter(|extension| extension.id == SUBJECT_NAMES) {
        extensions::alternative_names(extension.value, &mut fields)?;
    }
    fields.set("Extensions", list_or_null(requested.iter().map(CertificateExtension::object).collect()));
    Ok(fields.object())
}

/// Attributes that are no sets of lists of types and values are left out.
fn shown_attributes(mut attributes: CertificateReader<'_>) -> Result<Vec<Value>, String> {
    let mut shown = Vec::new();
    while !attributes.is_empty() {
        let mut attribute = attributes.inner(Tag::Sequence, "attribute")?;
        let Ok(kind) = attribute.object_identifier("attribute type") else { continue };
        let Ok(set) = attribute.inner(Tag::Set, "attribute values") else { continue };
        if let Some(lists) = attribute_lists(set) {
            shown.push(name::name_attribute(&kind, Value::array(lists)));
        }
    }
    Ok(shown)
}

fn attribute_lists(mut set: CertificateReader<'_>) -> Option<Vec<Value>> {
    let mut lists = Vec::new();
    while !set.is_empty() {
        let mut entries = set.inner(Tag::Sequence, "list").ok()?;
        let mut list = Vec::new();
        while !entries.is_empty() {
            let mut entry = entries.inner(Tag::Sequence, "entry").ok()?;
            let kind = entry.object_identifier("type").ok()?;
            let value = entry.any()?;
            list.push(name::name_attribute(&kind, attribute_value(value.tag, value.content)?));
        }
        lists.push(Value::array(list));
    }
    Some(lists)
}

/// Reads a value of any type; null for one that is not known.
fn attribute_value(tag: Tag, value: &[u8]) -> Option<Value> {
    Some(match tag {
        Tag::Boolean => Value::Bool(value == [0xff]),
        Tag::OctetString => bytes_to_base64(value),
        Tag::Integer => super::reader::small_integer(value).map_or(Value::Null, Value::from),
        Tag::ObjectIdentifier => super::number_values(&super::reader::parse_object_identifier(value)?),
        tag => name::read_der_string(tag, value).map_or(Value::Null, Value::from),
    })
}

fn requested_extensions(
    mut attributes: CertificateReader<'_>,
) -> Result<Vec<CertificateExtension<'_>>, String> {
    let mut found = Vec::new();
    while !attributes.is_empty() {
        let mut attribute = attributes.inner(Tag::Sequence, "attribute")?;
        if attribute.object_identifier("attribute type").ok().as_deref() != Some(&EXTENSION_REQUEST[..]) {
            continue;
        }
        let mut set = attribute.inner(Tag::Set, "extension request")?;
        let mut all = set.inner(Tag::Sequence, "extension request")?;
        while !all.is_empty() {
            found.push(read_extension(&mut all)?);
        }
    }
    Ok(found)
}
