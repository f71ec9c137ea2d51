//! The names that a certificate authority may give, and may not.

use der::Tag;
use kubewright_value::Value;

use super::extensions::{format_ip_address, kind_of_name, read_ascii};
use super::reader::{CertificateReader, constructed_tag, malformed_der};
use super::{CertificateExtension, ObjectFields, bytes_to_base64, list_or_null};

const PERMITTED: [&str; 4] =
    ["PermittedDNSDomains", "PermittedIPRanges", "PermittedEmailAddresses", "PermittedURIDomains"];
const EXCLUDED: [&str; 4] =
    ["ExcludedDNSDomains", "ExcludedIPRanges", "ExcludedEmailAddresses", "ExcludedURIDomains"];
const WHAT: &str = "NameConstraints extension";

/// Returns whether all kinds of names are known.
pub(super) fn set_name_constraints(
    extension: &CertificateExtension<'_>,
    fields: &mut ObjectFields,
) -> Result<bool, String> {
    let mut parts = CertificateReader(extension.value).inner(Tag::Sequence, WHAT)?;
    let permitted = parts.optional(constructed_tag(0), WHAT)?.unwrap_or_default();
    let excluded = parts.optional(constructed_tag(1), WHAT)?.unwrap_or_default();
    if !parts.is_empty() {
        return Err(malformed_der(WHAT));
    }
    if permitted.is_empty() && excluded.is_empty() {
        return Err("x509: empty name constraints extension".to_owned());
    }
    let knows_permitted = set_subtrees(permitted, PERMITTED, fields)?;
    let knows_excluded = set_subtrees(excluded, EXCLUDED, fields)?;
    fields.set("PermittedDNSDomainsCritical", extension.is_critical);
    Ok(knows_permitted && knows_excluded)
}

fn set_subtrees(
    value: &[u8],
    fields_of: [&'static str; 4],
    fields: &mut ObjectFields,
) -> Result<bool, String> {
    let (mut domains, mut ranges, mut emails, mut uris) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut is_known = true;
    let mut all = CertificateReader(value);
    while !all.is_empty() {
        let mut name = all.inner(Tag::Sequence, WHAT)?;
        let element = name.any().ok_or_else(|| malformed_der(WHAT))?;
        let value = element.content;
        let text = || read_ascii(value, "constraint value").map(Value::from);
        match kind_of_name(element.tag) {
            1 => emails.push(text()?),
            2 => domains.push(text()?),
            6 => uris.push(text()?),
            7 => ranges.push(address_range(value)?),
            _ => is_known = false,
        }
    }
    for (name, found) in fields_of.into_iter().zip([domains, ranges, emails, uris]) {
        fields.set(name, list_or_null(found));
    }
    Ok(is_known)
}

/// An address and a mask.
fn address_range(value: &[u8]) -> Result<Value, String> {
    let bad = || format!("x509: IP constraint contained value of length {}", value.len());
    let (ip, mask) = value.split_at_checked(value.len() / 2).ok_or_else(bad)?;
    let mut fields = ObjectFields::default();
    fields
        .set("IP", Some(ip).filter(|_| mask.len() == ip.len()).and_then(format_ip_address).ok_or_else(bad)?);
    fields.set("Mask", bytes_to_base64(mask));
    Ok(fields.object())
}
