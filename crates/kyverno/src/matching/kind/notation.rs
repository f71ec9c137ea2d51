//! How the text of a kind is split into group, version, kind and subresource.
//!
//! Kyverno takes `/` and the last `.` for the same separator and decides by the number of parts, so that
//! `Deployment.apps` is a subresource `apps` and `*/*/Pod` a subresource `Pod`, which no cluster has. Its reading counts
//! wherever it could fit anything. Where it could not, the notation of kubectl (`Kind.group`, `Kind.version.group`) and
//! `group/Kind` are tried. All code splits kinds here, so that matching, webhooks, the rewriting for
//! controllers and conversion agree.

use kubewright_golib::glob;
use kubewright_value::Budget;

/// Whose notation a kind is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Kyverno reads it in the same way.
    Kyverno,
    /// Kyverno reads it as something that no object is.
    Extended,
    /// Nothing that a cluster has is called so.
    Unlikely,
}

/// The API groups without a `.` in their name. Kubernetes has no others, and takes none for custom resources.
const UNDOTTED_GROUPS: [&str; 5] = ["apps", "autoscaling", "batch", "extensions", "policy"];

/// The subresources of Kubernetes itself.
const SUBRESOURCES: [&str; 15] = [
    "approval",
    "attach",
    "binding",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "finalize",
    "log",
    "portforward",
    "proxy",
    "resize",
    "scale",
    "status",
    "token",
    "finalizers",
];

/// Group, version, kind and subresource.
type NotationParts<'t> = [&'t str; 4];

/// Returns group, version, kind and subresource of a kind as a policy writes it.
#[must_use]
pub fn kind_parts(text: &str) -> NotationParts<'_> {
    read_kind(text).map_or(["", "", "", ""], |(parts, _)| parts)
}

/// Returns the parts of a kind, and its notation; `None` when it cannot be read.
pub fn read_kind(text: &str) -> Option<(NotationParts<'_>, Notation)> {
    let kyverno = kyverno(text);
    if let Some(parts) = kyverno.filter(is_possible) {
        return Some((parts, Notation::Kyverno));
    }
    if let Some(parts) = extended(text).filter(is_possible) {
        return Some((parts, Notation::Extended));
    }
    // A custom resource may have a kind in lower case.
    let [_, _, kind, _] = kyverno?;
    kyverno.filter(|_| !kind.is_empty()).map(|parts| (parts, Notation::Unlikely))
}

/// Splits as Kyverno does.
fn kyverno(text: &str) -> Option<NotationParts<'_>> {
    let (front, last) = text.rsplit_once('/').map_or((None, text), |(front, last)| (Some(front), last));
    let parts: Vec<&str> =
        front.into_iter().flat_map(|front| front.split('/')).chain(last.split('.')).collect();
    Some(match parts.as_slice() {
        [kind] => ["*", "*", kind, ""],
        ["*", "*"] => ["*", "*", "*", "*"],
        ["*", subresource] if !subresource.contains(char::is_uppercase) => ["*", "*", "*", subresource],
        [version, kind] if is_version(version) => ["*", version, kind, ""],
        [kind, subresource] => ["*", "*", kind, subresource],
        [version, kind, subresource] if is_version(version) => ["*", version, kind, subresource],
        [group, version, kind] => [group, version, kind, ""],
        [group, version, kind, subresource] => [*group, *version, *kind, *subresource],
        _ => return None,
    })
}

/// Splits `Kind.group`, `Kind.version`, `Kind.version.group`, `group/Kind` and `group/version/Kind` with wildcards.
fn extended(text: &str) -> Option<NotationParts<'_>> {
    if text.contains('/') {
        return match text.split('/').collect::<Vec<_>>().as_slice() {
            [group, kind] => Some([*group, "*", *kind, ""]),
            [group, version, kind] => Some([*group, *version, *kind, ""]),
            _ => None,
        };
    }
    let (kind, rest) = text.split_once('.')?;
    Some(match rest.split_once('.') {
        // `Pod.v1.` is the core group, as for kubectl.
        Some((version, group)) if is_version(version) => [group, version, kind, ""],
        Some(_) => [rest, "*", kind, ""],
        None if is_version(rest) => ["*", rest, kind, ""],
        None => [rest, "*", kind, ""],
    })
}

/// Returns whether a cluster can have something of this kind: kinds begin with a capital letter, nothing else has any.
fn is_possible(&[group, version, kind, subresource]: &NotationParts<'_>) -> bool {
    let is_kind =
        !kind.contains('.') && kind.starts_with(|c: char| c.is_uppercase() || matches!(c, '*' | '?'));
    let has_capital = [group, version, subresource].iter().any(|part| part.contains(char::is_uppercase));
    let is_part = !subresource.contains('.') && !is_undotted_group(subresource);
    let is_any_part = subresource == "*" || !is_version(subresource);
    is_kind && !has_capital && is_part && is_any_part && !version.is_empty()
}

/// Returns whether `text` can only be a group where a subresource is possible too.
fn is_undotted_group(text: &str) -> bool {
    let fits = |name: &&str| glob::matches_wildcard(text, name, &mut Budget::default()).unwrap_or(false);
    UNDOTTED_GROUPS.iter().any(fits) && !SUBRESOURCES.iter().any(fits)
}

/// Returns whether `text` is `*` or a version such as `v1`, `v2beta1`, `v10`.
fn is_version(text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_numbered = |rest: &str| {
        let stage = rest.split_once("alpha").or_else(|| rest.split_once("beta"));
        stage.map_or(number(rest), |(major, minor)| number(major) && number(minor))
    };
    text == "*" || text.strip_prefix('v').is_some_and(is_numbered)
}

#[cfg(test)]
mod tests {
    use super::{Notation, read_kind};

    #[track_caller]
    fn check(text: &str, want: &str, notation: Notation) {
        let found = read_kind(text).map(|(parts, notation)| (parts.join("|"), notation));
        assert_eq!(found, Some((want.to_owned(), notation)), "{text}");
    }

    #[test]
    fn what_kyverno_can_match_is_read_as_kyverno_reads_it() {
        for (text, want) in [
            ("Pod", "*|*|Pod|"),
            ("*", "*|*|*|"),
            ("*/*", "*|*|*|*"),
            ("*/*/*", "*|*|*|*"),
            ("v1/Pod", "*|v1|Pod|"),
            ("*/Deployment", "*|*|Deployment|"),
            ("v1/*", "*|v1|*|"),
            ("apps/v1/Deployment", "apps|v1|Deployment|"),
            ("apps/*/Deployment", "apps|*|Deployment|"),
            ("app?/v*/D*", "app?|v*|D*|"),
            ("*.k8s.io/v1/Ingress", "*.k8s.io|v1|Ingress|"),
            ("/v1/Pod", "|v1|Pod|"),
            ("Pod/exec", "*|*|Pod|exec"),
            ("Pod.status", "*|*|Pod|status"),
            ("Pod/*", "*|*|Pod|*"),
            ("Pod.*", "*|*|Pod|*"),
            ("*/exec", "*|*|*|exec"),
            ("*/*/status", "*|*|*|status"),
            ("v1/Pod/exec", "*|v1|Pod|exec"),
            ("apps/v1/Deployment/scale", "apps|v1|Deployment|scale"),
            ("apps/v1/Deployment.scale", "apps|v1|Deployment|scale"),
            ("VirtualMachine.pause", "*|*|VirtualMachine|pause"),
            ("apps.v1.Deployment", "apps|v1|Deployment|"),
            ("v1.Pod", "*|v1|Pod|"),
        ] {
            check(text, want, Notation::Kyverno);
        }
    }

    #[test]
    fn what_kyverno_can_never_match_is_read_as_kubectl_writes_it() {
        for (text, want) in [
            ("Deployment.apps", "apps|*|Deployment|"),
            ("Deployment.v1.apps", "apps|v1|Deployment|"),
            ("Deployment.*.apps", "apps|*|Deployment|"),
            ("Deployment.v1.*", "*|v1|Deployment|"),
            ("Deployment.ap*s", "ap*s|*|Deployment|"),
            ("Deployment.v1", "*|v1|Deployment|"),
            ("Pod.v1.", "|v1|Pod|"),
            ("Ingress.networking.k8s.io", "networking.k8s.io|*|Ingress|"),
            ("Ingress.v1.networking.k8s.io", "networking.k8s.io|v1|Ingress|"),
            ("Certificate.cert-manager.io", "cert-manager.io|*|Certificate|"),
            ("*.apps", "apps|*|*|"),
            ("*.v1.apps", "apps|v1|*|"),
            ("*.*.apps", "apps|*|*|"),
            ("*.networking.k8s.io", "networking.k8s.io|*|*|"),
            ("*/*/Pod", "*|*|Pod|"),
            ("*/v1/*", "*|v1|*|"),
            ("*/v1/Pod", "*|v1|Pod|"),
            ("apps/Deployment", "apps|*|Deployment|"),
            ("apps/*", "apps|*|*|"),
            ("networking.k8s.io/Ingress", "networking.k8s.io|*|Ingress|"),
        ] {
            check(text, want, Notation::Extended);
        }
    }

    #[test]
    fn what_no_cluster_has_keeps_the_reading_of_kyverno() {
        for (text, want) in [
            ("pods", "*|*|pods|"),
            ("apps/v1/deployments", "apps|v1|deployments|"),
            ("Deployment/apps", "*|*|Deployment|apps"),
            ("Pod/Status", "*|*|Pod|Status"),
        ] {
            check(text, want, Notation::Unlikely);
        }
        for text in ["", "a/b/c/d/e", "/", "Pod//exec/a/b"] {
            assert_eq!(read_kind(text), None, "{text}");
        }
    }
}
