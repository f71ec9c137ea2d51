//! Validation of arguments about a cluster: names, resources, languages, addresses.

use kubewright_dialects::DialectOptions;
use kubewright_engine::nearest_word;

/// Returns the names of the rule languages whose rules are stored in a cluster.
pub(crate) fn check_languages() -> Vec<&'static str> {
    let dialects = kubewright_dialects::all_dialects(&DialectOptions::default());
    dialects
        .iter()
        .filter(|dialect| dialect.cluster_support().is_some())
        .map(|dialect| dialect.name())
        .collect()
}

/// Checks the name of a rule language whose rules are stored in a cluster.
pub(super) fn check_language(name: &str) -> Result<String, String> {
    let known = check_languages();
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    let near = nearest_word(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
    Err(format!("{}there are {}", near.unwrap_or_default(), known.join(", ")))
}

/// Checks a name that becomes part of a host name.
pub(super) fn check_dns_label(name: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    // The longest name derived from it has ten characters more.
    let fits = (1..=53).contains(&name.len()) && name.chars().all(is_inner);
    if fits && name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with('-') {
        return Ok(name.to_owned());
    }
    Err("a name has at most 53 lowercase letters, digits and `-`, and starts with a letter".to_owned())
}

/// Checks the name of an existing namespace.
pub(super) fn check_namespace(name: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=63).contains(&name.len()) && name.chars().all(is_inner);
    if fits && !name.starts_with('-') && !name.ends_with('-') {
        return Ok(name.to_owned());
    }
    Err("a namespace has at most 63 lowercase letters, digits and `-`".to_owned())
}

/// Checks a namespace, or `*` for all of them.
pub(super) fn check_namespace_or_any(name: &str) -> Result<String, String> {
    if name == "*" { Ok(name.to_owned()) } else { check_namespace(name) }
}

/// Checks the namespace of a new installation, which is created, labelled and deleted with it.
pub(super) fn check_own_namespace(name: &str) -> Result<String, String> {
    if name == "default" || name.starts_with("kube-") {
        return Err("the server needs a namespace of its own, because uninstalling deletes it".to_owned());
    }
    check_dns_label(name)
}

pub(super) fn check_image(name: &str) -> Result<String, String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !name.is_empty() && name.chars().all(is_fine) {
        return Ok(name.to_owned());
    }
    Err("an image is written `registry/name:tag` or `registry/name@sha256:…`".to_owned())
}

/// Checks a resource such as `pods` or `deployments.apps`.
fn check_resource(name: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    if name.split('.').all(is_part) {
        return Ok(name.to_owned());
    }
    Err("a resource is a lowercase plural with its group: `pods`, `deployments.apps`".to_owned())
}

/// Checks a resource with a sign before it, which may be left out.
pub(super) fn check_target(name: &str) -> Result<String, String> {
    check_resource(name.strip_prefix(['+', '-']).unwrap_or(name)).map(|_| name.to_owned())
}

pub(super) fn check_readable_resource(name: &str) -> Result<String, String> {
    match name {
        "secrets" => Err("the server cannot be given access to Secrets other than its own".to_owned()),
        _ => check_resource(name),
    }
}

/// Checks the host of a service, with an optional `http://` and port.
pub(super) fn check_host(text: &str) -> Result<String, String> {
    let name = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let is_fine = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    if !name.is_empty() && name.chars().all(is_fine) {
        return Ok(text.to_owned());
    }
    Err("a host is written `host`, `host:port` or `http://host`, without a path and without `*`".to_owned())
}

/// Checks the URL at which the API server calls the webhook: it accepts no other form.
#[cfg(feature = "serve")]
pub(super) fn check_webhook_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").unwrap_or_default().trim_end_matches('/');
    if !rest.is_empty() && !rest.contains(['/', '?', '#', '@', ' ']) {
        return Ok(text.to_owned());
    }
    Err("the address is written `https://HOST:PORT`, without a path".to_owned())
}

/// Checks the name of a ServiceAccount with its namespace.
pub(super) fn check_account_name(text: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    match text.split_once('/') {
        Some((namespace, name)) if !name.is_empty() && name.chars().all(is_inner) => {
            check_namespace(namespace).map(|_| text.to_owned())
        }
        _ => Err("expected `namespace/name` of a ServiceAccount".to_owned()),
    }
}

/// Checks the name of a Certificate with its namespace.
#[cfg(feature = "serve")]
pub(super) fn check_certificate_name(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("expected `namespace/name`".to_owned()),
    }
}

#[cfg(test)]
mod tests;
