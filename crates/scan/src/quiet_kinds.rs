//! Kinds that are scanned only where a rule names them, and resources that two API groups serve.

/// Kinds that hold credentials.
const CREDENTIAL_KINDS: [(&str, &str); 1] = [("", "Secret")];

/// Kinds that change all the time.
const BUSY_KINDS: [(&str, &str); 6] = [
    ("", "Event"),
    ("events.k8s.io", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("", "Endpoints"),
    ("", "ComponentStatus"),
];

/// Groups whose objects are measurements or results of scans.
const RESULT_GROUPS: [&str; 5] = [
    "metrics.k8s.io",
    "custom.metrics.k8s.io",
    "external.metrics.k8s.io",
    "wgpolicyk8s.io",
    "openreports.io",
];

/// Resources that another group serves too, from the same stored objects: the resource, the group that is left out, and
/// the group that is read.
const SERVED_TWICE: [(&str, &str, &str); 2] =
    [("events", "events.k8s.io", ""), ("ingresses", "extensions", "networking.k8s.io")];

/// Returns whether objects of a kind hold credentials.
#[must_use]
pub fn is_credential_kind(group: &str, kind: &str) -> bool {
    CREDENTIAL_KINDS.contains(&(group, kind))
}

/// Returns whether a kind is scanned only where a rule names it: it holds credentials, changes all the time, or is made
/// of results.
#[must_use]
pub fn is_quiet_kind(group: &str, kind: &str) -> bool {
    // Other scanners store what they find in groups of such names.
    let is_result = group.starts_with("reports.") || RESULT_GROUPS.contains(&group);
    is_result || is_credential_kind(group, kind) || BUSY_KINDS.contains(&(group, kind))
}

/// Returns the other group that serves the stored objects of `resource` in `group` too, and is read in its place.
#[must_use]
pub fn preferred_group(group: &str, resource: &str) -> Option<&'static str> {
    let of = |(name, left_out, read): &(&str, &str, &'static str)| {
        (*name == resource && *left_out == group).then_some(*read)
    };
    SERVED_TWICE.iter().find_map(of)
}
