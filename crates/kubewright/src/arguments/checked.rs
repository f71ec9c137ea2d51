//! Checks of what is said about a cluster: names, resources, languages, addresses.

use kubewright_dialects::DialectOptions;
use kubewright_engine::nearest_word;

/// Returns the names of the rule languages that live in a cluster.
pub(crate) fn languages() -> Vec<&'static str> {
    let dialects = kubewright_dialects::all_dialects(&DialectOptions::default());
    dialects
        .iter()
        .filter(|dialect| dialect.cluster_support().is_some())
        .map(|dialect| dialect.name())
        .collect()
}

/// Checks the name of a rule language that lives in a cluster.
pub(super) fn language(name: &str) -> Result<String, String> {
    let known = languages();
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    let near = nearest_word(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
    Err(format!("{}there are {}", near.unwrap_or_default(), known.join(", ")))
}

/// Checks a name that becomes part of a host name.
pub(super) fn label(name: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    // The longest name that is made of it has ten characters more.
    let fits = (1..=53).contains(&name.len()) && name.chars().all(is_inner);
    if fits && name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with('-') {
        return Ok(name.to_owned());
    }
    Err("a name has at most 53 lower case letters, digits and `-`, and starts with a letter".to_owned())
}

/// Checks the name of a namespace that is there already.
pub(super) fn namespace(name: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=63).contains(&name.len()) && name.chars().all(is_inner);
    if fits && !name.starts_with('-') && !name.ends_with('-') {
        return Ok(name.to_owned());
    }
    Err("a namespace has at most 63 lower case letters, digits and `-`".to_owned())
}

/// Checks a namespace, or `*` for all of them.
pub(super) fn namespace_or_any(name: &str) -> Result<String, String> {
    if name == "*" { Ok(name.to_owned()) } else { namespace(name) }
}

/// Checks the namespace of a new installation, which is made, labelled, and deleted with it.
pub(super) fn own_namespace(name: &str) -> Result<String, String> {
    if name == "default" || name.starts_with("kube-") {
        return Err("the server has a namespace of its own, which goes with it".to_owned());
    }
    label(name)
}

pub(super) fn image(name: &str) -> Result<String, String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !name.is_empty() && name.chars().all(is_fine) {
        return Ok(name.to_owned());
    }
    Err("an image is written `registry/name:tag` or `registry/name@sha256:…`".to_owned())
}

/// Checks a resource such as `pods` or `deployments.apps`.
fn resource(name: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    if name.split('.').all(is_part) {
        return Ok(name.to_owned());
    }
    Err("a resource is written in plural and lower case, with its group: `pods`, `deployments.apps`"
        .to_owned())
}

/// Checks a resource with a sign before it, which may be left out.
pub(super) fn target(name: &str) -> Result<String, String> {
    resource(name.strip_prefix(['+', '-']).unwrap_or(name)).map(|_| name.to_owned())
}

pub(super) fn readable(name: &str) -> Result<String, String> {
    match name {
        "secrets" => Err("the server reads no Secret but its own".to_owned()),
        _ => resource(name),
    }
}

/// Checks a host of services, which may have `http://` before it and a port behind it.
pub(super) fn host(text: &str) -> Result<String, String> {
    let name = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let is_fine = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    if !name.is_empty() && name.chars().all(is_fine) {
        return Ok(text.to_owned());
    }
    Err("a host is written `host`, `host:port` or `http://host`, without a path and without `*`".to_owned())
}

/// Checks the address by which the API server calls: it takes no other than this.
#[cfg(feature = "serve")]
pub(super) fn webhook_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").unwrap_or_default().trim_end_matches('/');
    if !rest.is_empty() && !rest.contains(['/', '?', '#', '@', ' ']) {
        return Ok(text.to_owned());
    }
    Err("the address is written `https://HOST:PORT`, without a path".to_owned())
}

/// Checks the name of a Certificate with its namespace.
#[cfg(feature = "serve")]
pub(super) fn certificate(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("it is written `namespace/name`".to_owned()),
    }
}

#[cfg(test)]
mod tests;
