//! API server paths. A value that an expression computes must not change the path's structure.

use kubewright_value::Value;

/// Returns the path of an object: version, resource, namespace and name. A resource may have a part, such as
/// `pods/status`.
///
/// # Errors
/// When one of them cannot be a part of a path.
pub(super) fn api_object_path([version, resource, namespace, name]: [&str; 4]) -> Result<String, String> {
    if name.is_empty() {
        return Err("name is required".to_owned());
    }
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    let mut path = list_path([version, resource, namespace], &Value::Null)?;
    for segment in std::iter::once(name).chain(part.split('/').filter(|part| !part.is_empty())) {
        path.push('/');
        path.push_str(checked_segment("resource name", segment)?);
    }
    Ok(path)
}

/// Returns the path of the objects of a resource: version, resource and namespace, with labels or null.
///
/// # Errors
/// When one of them cannot be a part of a path.
pub(super) fn list_path([version, resource, namespace]: [&str; 3], labels: &Value) -> Result<String, String> {
    let (root, group, version) = match version.split_once('/') {
        None => ("api", "", version),
        Some((group, version)) if !version.contains('/') => ("apis", group, version),
        Some(_) => return Err(format!("unexpected GroupVersion string: {version}")),
    };
    let mut path = format!("/{root}");
    let home = if namespace.is_empty() { "" } else { "namespaces" };
    for (what, segment) in [
        ("group", group),
        ("version", version),
        ("namespace", home),
        ("namespace", namespace),
        ("resource", resource),
    ] {
        // Only a resource has parts.
        let parts = segment.split(|c| c == '/' && what == "resource");
        for segment in parts.filter(|segment| !segment.is_empty()) {
            path.push('/');
            path.push_str(checked_segment(what, segment)?);
        }
    }
    let mut separator = "?labelSelector=";
    for (key, value) in labels.as_object().into_iter().flat_map(|labels| labels.iter()) {
        path.push_str(&format!(
            "{separator}{}={}",
            checked_label(key)?,
            checked_label(value.as_str().unwrap_or_default())?
        ));
        separator = ",";
    }
    Ok(path)
}

fn checked_segment<'t>(what: &str, segment: &'t str) -> Result<&'t str, String> {
    let is_good = !["", ".", ".."].contains(&segment)
        && !segment.contains(|c: char| c.is_control() || c.is_whitespace() || "/%?#\\".contains(c));
    if is_good { Ok(segment) } else { Err(format!("invalid {what} `{segment}`")) }
}

fn checked_label(text: &str) -> Result<&str, String> {
    let is_good = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    if is_good { Ok(text) } else { Err(format!("`{text}` is no label")) }
}

#[cfg(test)]
mod tests;
