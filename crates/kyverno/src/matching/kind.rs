//! Kinds as a policy names them: `Pod`, `apps/v1/Deployment`, `Deployment.v1.apps`, `Pod/exec`, `*/*`.
//!
//! Every part may have wildcards. A missing part matches anything, except the subresource:
//! without one, only the object itself matches.

mod notation;

use std::fmt;

use kubewright_golib::glob::WildcardPattern;
use kubewright_k8s::{AdmissionRequest, GroupVersionKind};
use kubewright_value::{Budget, Exhausted, Text};

pub use notation::{Notation, kind_parts, read_kind};

/// A kind as a policy names it.
#[derive(Debug, Clone)]
pub(super) enum KindSelector {
    /// Only the name of a kind, without wildcards: the usual form.
    Named(Text),
    Parts(Box<KindParts>),
}

#[derive(Debug, Clone)]
pub(super) struct KindParts {
    group: WildcardPattern,
    version: WildcardPattern,
    kind: WildcardPattern,
    subresource: WildcardPattern,
}

/// Subresources that a rule for Pods covers too.
pub const PARTS_OF_PODS: [&str; 2] = ["ephemeralcontainers", "resize"];

/// Request kinds of subresources: subresource, kind in the request, and the kind it belongs to.
const OPTIONS: [(&str, &str, &str); 10] = [
    ("exec", "PodExecOptions", "Pod"),
    ("attach", "PodAttachOptions", "Pod"),
    ("portforward", "PodPortForwardOptions", "Pod"),
    ("proxy", "PodProxyOptions", "Pod"),
    ("log", "PodLogOptions", "Pod"),
    ("binding", "Binding", "Pod"),
    ("eviction", "Eviction", "Pod"),
    ("proxy", "NodeProxyOptions", "Node"),
    ("proxy", "ServiceProxyOptions", "Service"),
    ("token", "TokenRequest", "ServiceAccount"),
];

/// Returns how a policy names the connections that are sent as objects of `kind`, such as `Pod/exec` for
/// `PodExecOptions`.
#[must_use]
pub fn connect_subresource(kind: &str) -> Option<String> {
    let known = OPTIONS.iter().find(|(_, options, _)| *options == kind && kind.ends_with("Options"));
    known.map(|(part, _, whole)| format!("{whole}/{part}"))
}

impl KindSelector {
    /// Reads `text`.
    pub(super) fn parse(text: &str) -> Self {
        let [group, version, kind, subresource] = kind_parts(text);
        let parts = KindParts {
            group: WildcardPattern::parse(group),
            version: WildcardPattern::parse(version),
            kind: WildcardPattern::parse(kind),
            subresource: WildcardPattern::parse(subresource),
        };
        match parts.kind.as_exact() {
            Some(kind) if parts.group.is_any() && parts.version.is_any() && subresource.is_empty() => {
                Self::Named(kind.into())
            }
            _ => Self::Parts(Box::new(parts)),
        }
    }

    /// Returns whether the selector matches the kind of `request`.
    pub(super) fn matches(&self, request: &AdmissionRequest, budget: &mut Budget) -> Result<bool, Exhausted> {
        match self {
            Self::Named(kind) if request.subresource.is_empty() => Ok(request.kind.kind == *kind),
            Self::Named(kind) => {
                let subject = MatchedResource::of(request);
                Ok(subject.kind == kind && subject.is_part_of_pod())
            }
            Self::Parts(parts) => parts.match_subject(&MatchedResource::of(request), budget),
        }
    }

    /// Returns the one kind that requests can have for this selector to mean them, if there is only one.
    pub(super) fn only_kind(&self) -> Option<&str> {
        match self {
            Self::Named(kind) => Some(kind),
            Self::Parts(parts) if parts.subresource.as_exact() == Some("") => parts.kind.as_exact(),
            Self::Parts(_) => None,
        }
    }
}

impl KindParts {
    fn match_subject(&self, subject: &MatchedResource<'_>, budget: &mut Budget) -> Result<bool, Exhausted> {
        Ok(self.kind.matches(subject.kind, budget)?
            && self.version.matches(subject.version, budget)?
            && self.group.matches(subject.group, budget)?
            && (self.subresource.matches(subject.subresource, budget)? || subject.is_part_of_pod()))
    }
}

/// The kind of a request: an object, or a subresource of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchedResource<'r> {
    pub(super) group: &'r str,
    pub(super) version: &'r str,
    pub(super) kind: &'r str,
    pub(super) subresource: &'r str,
}

impl<'r> MatchedResource<'r> {
    /// Returns the kind of `request`. A subresource request may carry its own kind; then the parent's kind is used.
    pub(super) fn of(request: &'r AdmissionRequest) -> Self {
        let is_of_own_type = request.whole.kind.is_empty();
        let GroupVersionKind { group, version, kind } =
            if is_of_own_type { &request.kind } else { &request.whole };
        let subresource = request.subresource.as_str();
        let whole = (!subresource.is_empty())
            .then(|| OPTIONS.iter().find(|(part, options, _)| *part == subresource && *options == kind))
            .flatten();
        match whole {
            Some((_, _, kind)) => Self { group: "", version: "v1", kind, subresource },
            None => Self { group, version, kind, subresource },
        }
    }

    fn is_part_of_pod(&self) -> bool {
        !self.subresource.is_empty()
            && PARTS_OF_PODS.contains(&self.subresource)
            && (self.group, self.version, self.kind) == ("", "v1", "Pod")
    }
}

impl fmt::Display for MatchedResource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [self.group, self.version].into_iter().filter(|part| !part.is_empty()) {
            write!(f, "{part}/")?;
        }
        f.write_str(self.kind)?;
        match self.subresource {
            "" => Ok(()),
            subresource => write!(f, "/{subresource}"),
        }
    }
}
