//! Requests for certificates.

use kubewright_value::Value;

use super::der::{DerReader, tag};
use super::{
    CertificateExtension, ObjectFields, bytes_to_base64, extensions, key, list_or_null, name, read_extension,
};

/// The attribute that holds the requested extensions.
const EXTENSION_REQUEST: [u64; 7] = [1, 2, 840, 113_549, 1, 9, 14];
const SUBJECT_NAMES: [u64; 4] = [2, 5, 29, 17];

/// Reads a request.
pub(super) fn decode_request(der: &[u8]) -> Result<Value, String> {
    let mut input = DerReader(der);
    let raw = input.whole(tag::SEQUENCE, "certificate request")?;
    if !input.is_empty() {
        return Err("asn1: syntax error: trailing data".to_owned());
    }
    let mut outer = DerReader(raw).inner(tag::SEQUENCE, "certificate request")?;
    let raw_signed = outer.whole(tag::SEQUENCE, "certificate request info")?;
    let mut signed = DerReader(raw_signed).inner(tag::SEQUENCE, "certificate request info")?;
    let mut fields = ObjectFields::default();
    fields.names(&["ExtraExtensions", "DNSNames", "EmailAddresses", "IPAddresses", "URIs"]);
    fields.set("Raw", bytes_to_base64(raw));
    fields.set("RawTBSCertificateRequest", bytes_to_base64(raw_signed));
    fields.set("Version", signed.small("version")?);
    let subject = signed.whole(tag::SEQUENCE, "subject")?;
    fields.set("RawSubject", bytes_to_base64(subject));
    fields.set("Subject", name::read_name(subject)?);
    let public_key = signed.whole(tag::SEQUENCE, "spki")?;
    fields.set("RawSubjectPublicKeyInfo", bytes_to_base64(public_key));
    fields.set("PublicKeyAlgorithm", key::RSA);
    fields.set("PublicKey", key::public_key(public_key)?);
    let attributes = DerReader(signed.take(tag::parts(0), "attributes")?);
    fields.set("Attributes", list_or_null(shown_attributes(attributes)?));
    let algorithm = outer.inner(tag::SEQUENCE, "algorithm identifier")?;
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
fn shown_attributes(mut attributes: DerReader<'_>) -> Result<Vec<Value>, String> {
    let mut shown = Vec::new();
    while !attributes.is_empty() {
        let mut attribute = attributes.inner(tag::SEQUENCE, "attribute")?;
        let Ok(kind) = attribute.object_identifier("attribute type") else { continue };
        let Ok(set) = attribute.inner(tag::SET, "attribute values") else { continue };
        if let Some(lists) = attribute_lists(set) {
            shown.push(name::name_attribute(&kind, Value::array(lists)));
        }
    }
    Ok(shown)
}

fn attribute_lists(mut set: DerReader<'_>) -> Option<Vec<Value>> {
    let mut lists = Vec::new();
    while !set.is_empty() {
        let mut entries = set.inner(tag::SEQUENCE, "list").ok()?;
        let mut list = Vec::new();
        while !entries.is_empty() {
            let mut entry = entries.inner(tag::SEQUENCE, "entry").ok()?;
            let kind = entry.object_identifier("type").ok()?;
            let (tag, value, _) = entry.any()?;
            list.push(name::name_attribute(&kind, attribute_value(tag, value)?));
        }
        lists.push(Value::array(list));
    }
    Some(lists)
}

/// Reads a value of any type; null for one that is not known.
fn attribute_value(tag: u8, value: &[u8]) -> Option<Value> {
    Some(match tag {
        tag::BOOLEAN => Value::Bool(value == [0xff]),
        tag::OCTET_STRING => bytes_to_base64(value),
        tag::INTEGER => super::der::read_small_integer(value).map_or(Value::Null, Value::from),
        tag::OBJECT_IDENTIFIER => super::number_values(&super::der::read_object_identifier(value)?),
        tag => name::read_der_string(tag, value).map_or(Value::Null, Value::from),
    })
}

fn requested_extensions(mut attributes: DerReader<'_>) -> Result<Vec<CertificateExtension<'_>>, String> {
    let mut found = Vec::new();
    while !attributes.is_empty() {
        let mut attribute = attributes.inner(tag::SEQUENCE, "attribute")?;
        if attribute.object_identifier("attribute type").ok().as_deref() != Some(&EXTENSION_REQUEST[..]) {
            continue;
        }
        let mut set = attribute.inner(tag::SET, "extension request")?;
        let mut all = set.inner(tag::SEQUENCE, "extension request")?;
        while !all.is_empty() {
            found.push(read_extension(&mut all)?);
        }
    }
    Ok(found)
}
