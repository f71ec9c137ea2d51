//! What is wrong with a policy only where it is stored.

use kubewright_engine::Diagnostic;
use kubewright_value::Document;

use crate::diagnostics as code;
use crate::matching::kind;
use crate::source::{self, Match};

/// Returns the kinds of a policy with background scans that are subresources: nothing of them is stored, so a scan cannot
/// see them.
pub(super) fn background_subresources(document: &Document) -> Vec<Diagnostic> {
    let (Some(policy), _) = source::read_policy_document(document) else { return Vec::new() };
    if !policy.settings.is_background {
        return Vec::new();
    }
    let matches = policy.rules.iter().flat_map(|rule| std::iter::once(&rule.matching).chain(&rule.exclude));
    let filters = matches.flat_map(|one: &Match| one.flat.iter().chain(&one.any).chain(&one.all));
    let kinds = filters.flat_map(|filter| &filter.kinds);
    let is_part = |written: &str| {
        let [_, _, _, subresource] = kind::kind_parts(written);
        !subresource.is_empty()
    };
    kinds
        .filter(|written| is_part(&written.value))
        .map(|written| {
            let message = format!("a background scan sees no subresources, and `{}` is one", written.value);
            let location = document.locate(&written.path);
            Diagnostic::new(&code::NOT_HERE, message, location).help("set `background: false`")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Document, yaml};

    use super::background_subresources;

    #[track_caller]
    fn check(kind: &str, background: &str, count: usize) {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: {background}\n  \
             rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: ['{kind}']}}}}]}}\n    \
             validate: {{message: no, pattern: {{metadata: {{name: x}}}}}}\n"
        );
        let document = Document::written(yaml::parse(&text).expect("YAML"), "policy.yaml");
        assert_eq!(background_subresources(&document).len(), count, "{kind} {background}");
    }

    #[test]
    fn a_scan_sees_no_subresources() {
        check("Pod/exec", "true", 1);
        check("*/status", "true", 1);
        check("Pod/exec", "false", 0);
        check("Pod", "true", 0);
        check("apps/v1/Deployment", "true", 0);
    }
}
