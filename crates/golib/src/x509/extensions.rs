//! What the extensions of a certificate say.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use der::Tag;
use kubewright_value::Value;

use super::reader::{
    CertificateReader, constructed_tag, malformed_der, parse_object_identifier, primitive_tag,
};
use super::{CertificateExtension, ObjectFields, bytes_to_base64, list_or_null, number_values, subtrees};
use crate::url;
use crate::utf8::decode_utf8_lossy;

/// How many extensions a certificate may have.
pub(super) const MAX_EXTENSIONS: usize = 256;

/// What Go's numbers of usages stand for, in their order.
const USAGES: [&[u64]; 14] = [
    &[2, 5, 29, 37, 0],
    &[1, 3, 6, 1, 5, 5, 7, 3, 1],
    &[1, 3, 6, 1, 5, 5, 7, 3, 2],
    &[1, 3, 6, 1, 5, 5, 7, 3, 3],
    &[1, 3, 6, 1, 5, 5, 7, 3, 4],
    &[1, 3, 6, 1, 5, 5, 7, 3, 5],
    &[1, 3, 6, 1, 5, 5, 7, 3, 6],
    &[1, 3, 6, 1, 5, 5, 7, 3, 7],
    &[1, 3, 6, 1, 5, 5, 7, 3, 8],
    &[1, 3, 6, 1, 5, 5, 7, 3, 9],
    &[1, 3, 6, 1, 4, 1, 311, 10, 3, 3],
    &[2, 16, 840, 1, 113_730, 4, 1],
    &[1, 3, 6, 1, 4, 1, 311, 2, 1, 22],
    &[1, 3, 6, 1, 4, 1, 311, 61, 1, 1],
];

/// Sets the fields that `extensions` are about.
pub(super) fn set_extension_fields(
    extensions: &[CertificateExtension<'_>],
    fields: &mut ObjectFields,
) -> Result<(), String> {
    let mut unhandled = Vec::new();
    for extension in extensions {
        let is_known = set_extension_field(extension, fields)?;
        if extension.is_critical && !is_known {
            unhandled.push(number_values(&extension.id));
        }
    }
    fields.set("UnhandledCriticalExtensions", list_or_null(unhandled));
    Ok(())
}

/// Returns whether all of the extension was understood.
fn set_extension_field(
    extension: &CertificateExtension<'_>,
    fields: &mut ObjectFields,
) -> Result<bool, String> {
    let mut value = CertificateReader(extension.value);
    let not_critical = |what: &str| match extension.is_critical {
        true => Err(format!("x509: {what} incorrectly marked critical")),
        false => Ok(()),
    };
    match extension.id.as_slice() {
        [2, 5, 29, 14] => {
            not_critical("subject key identifier")?;
            fields.set(
                "SubjectKeyId",
                bytes_to_base64(value.take(Tag::OctetString, "subject key identifier")?),
            );
        }
        [2, 5, 29, 15] => fields.set("KeyUsage", key_usage(&mut value)?),
        [2, 5, 29, 17] => return alternative_names(extension.value, fields),
        [2, 5, 29, 19] => basic_constraints(&mut value, fields)?,
        [2, 5, 29, 30] => return subtrees::set_name_constraints(extension, fields),
        [2, 5, 29, 31] => fields.set("CRLDistributionPoints", list_or_null(distribution_points(&mut value)?)),
        [2, 5, 29, 32] => read_policies(&mut value, fields)?,
        [2, 5, 29, 33] => fields.set("PolicyMappings", list_or_null(policy_mappings(&mut value)?)),
        [2, 5, 29, 35] => {
            not_critical("authority key identifier")?;
            let mut parts = value.inner(Tag::Sequence, "authority key identifier")?;
            if let Some(id) = parts.optional(primitive_tag(0), "authority key identifier")? {
                fields.set("AuthorityKeyId", bytes_to_base64(id));
            }
        }
        [2, 5, 29, 36] => policy_constraints(&mut value, fields)?,
        [2, 5, 29, 37] => extended_usage(&mut value, fields)?,
        [2, 5, 29, 54] => {
            let skipped = value.small("inhibit any policy extension")?;
            fields.set("InhibitAnyPolicy", skipped);
            fields.set("InhibitAnyPolicyZero", skipped == 0);
        }
        [1, 3, 6, 1, 5, 5, 7, 1, 1] => {
            not_critical("authority info access")?;
            authority_access(&mut value, fields)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The first bit of the string is the lowest one of the number.
fn key_usage(value: &mut CertificateReader<'_>) -> Result<i64, String> {
    let (bits, _) = value.bits("key usage")?;
    let bit = |place: usize| bits.get(place / 8).is_some_and(|byte| byte & (0x80 >> (place % 8)) != 0);
    Ok((0..9).filter(|place| bit(*place)).map(|place| 1 << place).sum())
}

fn basic_constraints(value: &mut CertificateReader<'_>, fields: &mut ObjectFields) -> Result<(), String> {
    let what = "basic constraints";
    let mut parts = value.inner(Tag::Sequence, what)?;
    let is_authority = if parts.is_next(Tag::Boolean) { parts.boolean(what)? } else { false };
    let length = if parts.is_next(Tag::Integer) { parts.small(what)? } else { -1 };
    fields.set("BasicConstraintsValid", true);
    fields.set("IsCA", is_authority);
    fields.set("MaxPathLen", length);
    fields.set("MaxPathLenZero", length == 0);
    Ok(())
}

fn policy_constraints(value: &mut CertificateReader<'_>, fields: &mut ObjectFields) -> Result<(), String> {
    let what = "policy constraints extension";
    let mut parts = value.inner(Tag::Sequence, what)?;
    let names = [
        ("RequireExplicitPolicy", "RequireExplicitPolicyZero"),
        ("InhibitPolicyMapping", "InhibitPolicyMappingZero"),
    ];
    for (part, (name, name_of_zero)) in (0..).zip(names) {
        if let Some(number) = parts.optional(primitive_tag(part), what)? {
            let number = super::reader::small_integer(number).ok_or_else(|| malformed_der(what))?;
            fields.set(name, number);
            fields.set(name_of_zero, number == 0);
        }
    }
    Ok(())
}

fn extended_usage(value: &mut CertificateReader<'_>, fields: &mut ObjectFields) -> Result<(), String> {
    let mut parts = value.inner(Tag::Sequence, "extended key usages")?;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    while !parts.is_empty() {
        let usage = parts.object_identifier("extended key usages")?;
        match USAGES.iter().position(|known| **known == usage) {
            Some(number) => known.push(Value::from(number)),
            None => unknown.push(number_values(&usage)),
        }
    }
    fields.set("ExtKeyUsage", list_or_null(known));
    fields.set("UnknownExtKeyUsage", list_or_null(unknown));
    Ok(())
}

fn read_policies(value: &mut CertificateReader<'_>, fields: &mut ObjectFields) -> Result<(), String> {
    let what = "certificate policies";
    let mut all = value.inner(Tag::Sequence, what)?;
    let (mut texts, mut ids) = (Vec::new(), Vec::new());
    while !all.is_empty() {
        let id = all.inner(Tag::Sequence, what)?.object_identifier(what)?;
        texts.push(Value::from(format_object_identifier(&id)));
        ids.push(number_values(&id));
    }
    fields.set("Policies", list_or_null(texts));
    // This list is made even if there is nothing in it.
    fields.set("PolicyIdentifiers", Value::array(ids));
    Ok(())
}

fn policy_mappings(value: &mut CertificateReader<'_>) -> Result<Vec<Value>, String> {
    let what = "policy mappings extension";
    let mut all = value.inner(Tag::Sequence, what)?;
    let mut mappings = Vec::new();
    while !all.is_empty() {
        let mut pair = all.inner(Tag::Sequence, what)?;
        let mut id = || {
            let id = pair.take(Tag::ObjectIdentifier, what)?;
            parse_object_identifier(id)
                .map(|id| format_object_identifier(&id))
                .ok_or_else(|| malformed_der(what))
        };
        let mut fields = ObjectFields::default();
        fields.set("IssuerDomainPolicy", id()?);
        fields.set("SubjectDomainPolicy", id()?);
        mappings.push(fields.object());
    }
    Ok(mappings)
}

fn distribution_points(value: &mut CertificateReader<'_>) -> Result<Vec<Value>, String> {
    let what = "CRL distribution points";
    let mut all = value.inner(Tag::Sequence, what)?;
    let mut points = Vec::new();
    while !all.is_empty() {
        let mut point = all.inner(Tag::Sequence, what)?;
        let Some(name) = point.optional(constructed_tag(0), what)? else { continue };
        let Some(names) = CertificateReader(name).optional(constructed_tag(0), what)? else { continue };
        let mut names = CertificateReader(names);
        while !names.is_empty() {
            // What is no URI ends the list.
            let Some(uri) = names.optional(primitive_tag(6), what)? else { break };
            points.push(Value::from(decode_utf8_lossy(uri)));
        }
    }
    Ok(points)
}

fn authority_access(value: &mut CertificateReader<'_>, fields: &mut ObjectFields) -> Result<(), String> {
    let what = "authority info access";
    let mut all = value.inner(Tag::Sequence, what)?;
    let (mut servers, mut issuers) = (Vec::new(), Vec::new());
    while !all.is_empty() {
        let mut access = all.inner(Tag::Sequence, what)?;
        let method = access.object_identifier(what)?;
        let Some(uri) = access.optional(primitive_tag(6), what)? else { continue };
        let uri = Value::from(decode_utf8_lossy(uri));
        match method.as_slice() {
            [1, 3, 6, 1, 5, 5, 7, 48, 1] => servers.push(uri),
            [1, 3, 6, 1, 5, 5, 7, 48, 2] => issuers.push(uri),
            _ => {}
        }
    }
    fields.set("OCSPServer", list_or_null(servers));
    fields.set("IssuingCertificateURL", list_or_null(issuers));
    Ok(())
}

/// Returns whether there was a name of a kind that is known.
pub(super) fn alternative_names(value: &[u8], fields: &mut ObjectFields) -> Result<bool, String> {
    let mut all = CertificateReader(value).inner(Tag::Sequence, "subject alternative names")?;
    let (mut domains, mut emails, mut addresses, mut uris) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    while !all.is_empty() {
        let name = all.any().ok_or_else(|| malformed_der("subject alternative name"))?;
        let value = name.content;
        match kind_of_name(name.tag) {
            1 => emails.push(Value::from(read_ascii(value, "SAN rfc822Name")?)),
            2 => domains.push(Value::from(read_ascii(value, "SAN dNSName")?)),
            6 => uris.push(parse_uri(read_ascii(value, "SAN uniformResourceIdentifier")?)?),
            7 => addresses.push(Value::from(
                format_ip_address(value)
                    .ok_or_else(|| format!("x509: cannot parse IP address of length {}", value.len()))?,
            )),
            _ => {}
        }
    }
    let is_known = !(domains.is_empty() && emails.is_empty() && addresses.is_empty() && uris.is_empty());
    fields.set("DNSNames", list_or_null(domains));
    fields.set("EmailAddresses", list_or_null(emails));
    fields.set("IPAddresses", list_or_null(addresses));
    fields.set("URIs", list_or_null(uris));
    Ok(is_known)
}

/// Returns the number of a GeneralName's kind; -1 for what is none.
pub(super) fn kind_of_name(tag: Tag) -> i64 {
    match tag {
        Tag::ContextSpecific { constructed: false, number } => i64::from(number.value()),
        _ => -1,
    }
}

fn parse_uri(text: &str) -> Result<Value, String> {
    let url =
        url::parse_url(text).map_err(|reason| format!("x509: cannot parse URI \"{text}\": {reason}"))?;
    let mut fields = ObjectFields::default();
    // Go keeps the user to itself.
    fields.set("User", if url.user.is_some() { ObjectFields::default().object() } else { Value::Null });
    fields.set("ForceQuery", text.ends_with('?') && url.query.is_empty());
    fields.set("OmitHost", false);
    fields.set("Scheme", url.scheme);
    fields.set("Opaque", url.opaque);
    fields.set("Host", url.host);
    fields.set("Path", url.path);
    fields.set("RawPath", "");
    fields.set("RawQuery", url.query);
    fields.set("Fragment", url.fragment);
    fields.set("RawFragment", "");
    Ok(fields.object())
}

pub(super) fn read_ascii<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str, String> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
    text.ok_or_else(|| format!("x509: {what} is malformed"))
}

pub(super) fn format_ip_address(bytes: &[u8]) -> Option<String> {
    let address = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    Some(address.to_canonical().to_string())
}

fn format_object_identifier(id: &[u64]) -> String {
    id.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
}
