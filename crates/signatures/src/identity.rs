//! Who a certificate says its owner is: the identities that a certificate authority checked, and who vouches for them.

use der::Tag;
use kubewright_golib::{glob, regex};
use kubewright_value::{Budget, Exhausted, Text};

use crate::certificate::{ALTERNATIVE_NAMES, SignerCertificate};
use crate::der_reader::{DerReader, context_tag};

/// What a certificate must say.
#[derive(Debug, Clone, Default)]
pub struct WantedIdentity {
    /// Exactly; empty for any.
    pub issuer: Text,
    /// A regular expression; empty for any.
    pub issuer_pattern: Text,
    /// With wildcards if `is_glob`; empty for any.
    pub subject: Text,
    /// A regular expression; empty for any.
    pub subject_pattern: Text,
    /// Whether `subject` may have wildcards.
    pub is_glob: bool,
}

/// How large a compiled pattern may be, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The first part of the extensions of Sigstore's certificate authority.
const SIGSTORE: [u64; 8] = [1, 3, 6, 1, 4, 1, 57_264, 1];

/// The names of the older extensions, by number.
const EXTENSION_NAMES: [(&str, u64); 6] = [
    ("oidcIssuer", 1),
    ("githubWorkflowTrigger", 2),
    ("githubWorkflowSha", 3),
    ("githubWorkflowName", 4),
    ("githubWorkflowRepository", 5),
    ("githubWorkflowRef", 6),
];

/// Returns why `certificate` does not have the identity `wanted`; nothing when it has.
///
/// # Errors
/// When the budget is used up.
pub fn identity_mismatch(
    certificate: &SignerCertificate,
    wanted: &WantedIdentity,
    budget: &mut Budget,
) -> Result<Option<String>, Exhausted> {
    let issuer = issuer_of(certificate);
    let subjects = subjects_of(certificate);
    if !wanted.issuer.is_empty() && issuer.as_deref() != Some(wanted.issuer.as_str()) {
        let found = issuer.unwrap_or_default();
        return Ok(Some(format!("issuer mismatch: expected {}, received {found}", wanted.issuer)));
    }
    if !wanted.issuer_pattern.is_empty() {
        let found = issuer.unwrap_or_default();
        if !matches_pattern(&wanted.issuer_pattern, &found, budget)? {
            return Ok(Some(format!(
                "issuer mismatch: expected {}, received {found}",
                wanted.issuer_pattern
            )));
        }
    }
    let shown = subjects.join(", ");
    for (text, is_pattern) in [(&wanted.subject, false), (&wanted.subject_pattern, true)] {
        let mut is_met = text.is_empty();
        for subject in &subjects {
            is_met |= match (is_pattern, wanted.is_glob) {
                (true, _) => matches_pattern(text, subject, budget)?,
                (false, true) => glob::matches_wildcard(text, subject, budget)?,
                (false, false) => text == subject,
            };
        }
        if !is_met {
            return Ok(Some(format!("subject mismatch: expected {text}, received {shown}")));
        }
    }
    Ok(None)
}

/// Returns why `certificate` does not have the extensions `wanted`, by name or number; values may have wildcards.
///
/// # Errors
/// When the budget is used up.
pub fn extension_mismatch(
    certificate: &SignerCertificate,
    wanted: &[(Text, Text)],
    budget: &mut Budget,
) -> Result<Option<String>, Exhausted> {
    for (name, value) in wanted {
        let found = extension_text(certificate, name);
        let is_met = match &found {
            Some(found) => glob::matches_wildcard(value, found, budget)?,
            None => false,
        };
        if !is_met {
            let found = found.unwrap_or_default();
            return Ok(Some(format!(
                "extension mismatch: expected {value} for key {name}, received {found}"
            )));
        }
    }
    Ok(None)
}

/// Returns who vouches for the identity.
#[must_use]
pub fn issuer_of(certificate: &SignerCertificate) -> Option<String> {
    let id = |number: u64| [&SIGSTORE[..], &[number]].concat();
    let newer = certificate.extension(&id(8)).and_then(utf8_element);
    newer.or_else(|| certificate.extension(&id(1)).and_then(plain_text))
}

/// Returns the identities: mail addresses, URIs, host names and names of other kinds.
#[must_use]
pub fn subjects_of(certificate: &SignerCertificate) -> Vec<String> {
    let Some(value) = certificate.extension(&ALTERNATIVE_NAMES) else { return Vec::new() };
    let Some(mut names) = DerReader(value).inner(Tag::Sequence) else { return Vec::new() };
    let mut found = Vec::new();
    while let Some((tag, content, _)) = names.any() {
        let text = [1, 2, 6].iter().any(|number| tag == context_tag(*number, false));
        if text {
            found.extend(plain_text(content));
        } else if tag == context_tag(0, true) {
            found.extend(other_name(content));
        }
    }
    found
}

/// Reads a name of another kind: its kind, and a text.
fn other_name(content: &[u8]) -> Option<String> {
    let mut parts = DerReader(content);
    let id = parts.object_identifier()?;
    let is_sigstore = id == [&SIGSTORE[..], &[7]].concat();
    let value = parts.optional(context_tag(0, true)).filter(|_| is_sigstore)?;
    utf8_element(value)
}

fn extension_text(certificate: &SignerCertificate, name: &str) -> Option<String> {
    let known = EXTENSION_NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let id = match known {
        Some(number) => [&SIGSTORE[..], &[number]].concat(),
        None => name.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?,
    };
    let value = certificate.extension(&id)?;
    utf8_element(value).or_else(|| plain_text(value))
}

fn utf8_element(value: &[u8]) -> Option<String> {
    let mut reader = DerReader(value);
    let text = reader.take(Tag::Utf8String).filter(|_| reader.is_empty())?;
    plain_text(text)
}

fn plain_text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// A pattern that cannot be read matches nothing.
fn matches_pattern(pattern: &str, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    match regex::compile_regex_within(pattern, MAX_PATTERN_BYTES) {
        Ok(pattern) => {
            budget.step(pattern.compiling_cost())?;
            pattern.is_match(text, budget)
        }
        Err(_) => Ok(false),
    }
}
