//! The names that a certificate authority may give, and may not.

use der::Tag;
use kubewright_value::Value;

use super::extensions::{address, ascii, kind_of_name};
use super::reader::{CertificateReader, constructed_tag, malformed};
use super::{Extension, Fields, bytes, list};

const PERMITTED: [&str; 4] =
    ["PermittedDNSDomains", "PermittedIPRanges", "PermittedEmailAddresses", "PermittedURIDomains"];
const EXCLUDED: [&str; 4] =
    ["ExcludedDNSDomains", "ExcludedIPRanges", "ExcludedEmailAddresses", "ExcludedURIDomains"];
const WHAT: &str = "NameConstraints extension";

/// Returns whether all kinds of names are known.
pub(super) fn read(extension: &Extension<'_>, fields: &mut Fields) -> Result<bool, String> {
    let mut parts = CertificateReader(extension.value).inner(Tag::Sequence, WHAT)?;
    let permitted = parts.optional(constructed_tag(0), WHAT)?.unwrap_or_default();
    let excluded = parts.optional(constructed_tag(1), WHAT)?.unwrap_or_default();
    if !parts.is_empty() {
        return Err(malformed(WHAT));
    }
    if permitted.is_empty() && excluded.is_empty() {
        return Err("x509: empty name constraints extension".to_owned());
    }
    let knows_permitted = names(permitted, PERMITTED, fields)?;
    let knows_excluded = names(excluded, EXCLUDED, fields)?;
    fields.set("PermittedDNSDomainsCritical", extension.is_critical);
    Ok(knows_permitted && knows_excluded)
}

fn names(value: &[u8], fields_of: [&'static str; 4], fields: &mut Fields) -> Result<bool, String> {
    let (mut domains, mut ranges, mut emails, mut uris) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut is_known = true;
    let mut all = CertificateReader(value);
    while !all.is_empty() {
        let mut name = all.inner(Tag::Sequence, WHAT)?;
        let element = name.any().ok_or_else(|| malformed(WHAT))?;
        let value = element.content;
        let text = || ascii(value, "constraint value").map(Value::from);
        match kind_of_name(element.tag) {
            1 => emails.push(text()?),
            2 => domains.push(text()?),
            6 => uris.push(text()?),
            7 => ranges.push(range(value)?),
            _ => is_known = false,
        }
    }
    for (name, found) in fields_of.into_iter().zip([domains, ranges, emails, uris]) {
        fields.set(name, list(found));
    }
    Ok(is_known)
}

/// An address and a mask.
fn range(value: &[u8]) -> Result<Value, String> {
    let bad = || format!("x509: IP constraint contained value of length {}", value.len());
    let (ip, mask) = value.split_at_checked(value.len() / 2).ok_or_else(bad)?;
    let mut fields = Fields::default();
    fields.set("IP", Some(ip).filter(|_| mask.len() == ip.len()).and_then(address).ok_or_else(bad)?);
    fields.set("Mask", bytes(mask));
    Ok(fields.object())
}
