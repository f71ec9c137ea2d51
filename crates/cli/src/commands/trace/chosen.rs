//! Which traces are shown: of which objects, with which status, and how many of each rule.

use kubewright_engine::{RuleStatus, TraceNode, TraceVerdict, nearest_word};
use kubewright_golib::glob;
use kubewright_report::OutcomeRow;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Budget, Document};

use crate::arguments::TraceChoice;
use crate::failure::CommandFailure;

/// The traces that a run shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChosenTraces {
    /// `Kind/namespace/name` or `Kind/name`, with `*` and `?`; all objects where there is none.
    pub(crate) objects: Vec<String>,
    /// All where there is none.
    pub(crate) statuses: Vec<RuleStatus>,
    /// Whether everything is shown, however much it is.
    pub(crate) is_all: bool,
}

impl ChosenTraces {
    /// Returns what `choice` and `objects` name.
    pub(crate) fn new(choice: &TraceChoice, objects: &[String]) -> Self {
        Self {
            objects: objects.to_vec(),
            statuses: choice.statuses.iter().map(|status| status.status()).collect(),
            is_all: choice.all,
        }
    }

    /// Returns whether `document` is one of the objects. `namespace` is that of objects that name none.
    pub(crate) fn has_document(&self, document: &Document, namespace: &str) -> bool {
        let at = |path: &[&str]| document.value.str_at(path).to_owned();
        let (kind, name) = (at(&["kind"]), at(&["metadata", "name"]));
        let own = match at(&["metadata", "namespace"]) {
            own if own.is_empty() => namespace.to_owned(),
            own => own,
        };
        self.objects.is_empty() || self.objects.iter().any(|wanted| is_called(wanted, [&kind, &own, &name]))
    }

    /// Returns whether an outcome has one of the statuses.
    pub(crate) fn has_status(&self, row: &OutcomeRow) -> bool {
        self.statuses.is_empty() || self.statuses.contains(&row.status)
    }

    /// Returns the error of objects that are not there; `seen` are those that are.
    pub(crate) fn not_there(&self, seen: &[String]) -> CommandFailure {
        let wanted = self.objects.join("`, `");
        let failure = CommandFailure::usage(format!("there is no object `{wanted}`"));
        let first = self.objects.first().map(String::as_str).unwrap_or_default();
        let is_near = |known: &&String| last_part(known) == last_part(first);
        let near = seen.iter().find(is_near).map(String::as_str);
        match near.or_else(|| nearest_word(first, seen.iter().map(String::as_str))) {
            Some(near) => failure.help(did_you_mean(near)),
            None if seen.is_empty() => failure.help("no object was read"),
            None => {
                let some: Vec<String> = seen.iter().take(5).map(|known| format!("`{known}`")).collect();
                let more = if seen.len() > 5 { ", …" } else { "" };
                failure.help(format!("there are {}{more}", some.join(", ")))
            }
        }
    }
}

/// Returns whether the rule failed, or matched in part: something of it is as wanted and something is not.
pub(crate) fn is_telling(row: &OutcomeRow) -> bool {
    match row.status {
        RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn => true,
        RuleStatus::Pass => false,
        RuleStatus::Skip => row.trace.as_ref().is_some_and(|trace| {
            let leaves =
                [TraceVerdict::Yes, TraceVerdict::No].map(|verdict| has_leaf(&trace.children, verdict));
            leaves == [true, true]
        }),
    }
}

fn has_leaf(nodes: &[TraceNode], verdict: TraceVerdict) -> bool {
    nodes.iter().any(|node| match node.children.is_empty() {
        true => node.verdict == verdict,
        false => has_leaf(&node.children, verdict),
    })
}

fn last_part(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or_default()
}

/// Returns whether `Kind/namespace/name` or `Kind/name` is the object; kinds are compared without regard to case.
pub(in crate::commands) fn is_called(wanted: &str, [kind, namespace, name]: [&str; 3]) -> bool {
    let parts: Vec<&str> = wanted.split('/').collect();
    let fits = |pattern: &str, text: &str| {
        glob::matches_wildcard(pattern, text, &mut Budget::default()).unwrap_or(false)
    };
    let is_kind = |wanted: &str| fits(&wanted.to_lowercase(), &kind.to_lowercase());
    match parts.as_slice() {
        [wanted_kind, wanted_name] => is_kind(wanted_kind) && fits(wanted_name, name),
        [wanted_kind, wanted_namespace, wanted_name] => {
            is_kind(wanted_kind) && fits(wanted_namespace, namespace) && fits(wanted_name, name)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_called;

    #[track_caller]
    fn check(wanted: &str, want: bool) {
        assert_eq!(is_called(wanted, ["Deployment", "shop", "web-1"]), want, "{wanted}");
    }

    #[test]
    fn objects_are_named_by_kind_namespace_and_name() {
        check("Deployment/shop/web-1", true);
        check("deployment/web-1", true);
        check("Deployment/*/web-?", true);
        check("*/web-*", true);
        check("Deployment/prod/web-1", false);
        check("Service/web-1", false);
        check("web-1", false);
    }
}
