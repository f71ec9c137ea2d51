//! The command that shows the reason of an outcome.

use kubewright_value::text::shell_word;

use crate::{ObjectRow, OutcomeRow};

/// What the command names besides the object and the rule: the same for all outcomes of a run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct WhyInputs {
    /// The rules, as the run was given them; otherwise the file of each rule is named.
    pub rules: Option<String>,
    /// The manifests with their flags, as the run was given them; otherwise the file of each object is named.
    pub resources: Option<String>,
    /// The flags for everything else, such as the operation and the user of the request.
    pub options: String,
}

/// Returns the command that shows why `row` says what it says about `object`; nothing for an object that was not read
/// from a file.
#[must_use]
pub fn why_command(row: &OutcomeRow, object: &ObjectRow) -> Option<String> {
    let rules = &row.rule_location.as_ref()?.source.name;
    let is_file = !object.kind.is_empty()
        && object.location.position.line > 0
        && object.location.file != "-"
        && *rules != "-";
    let inputs = object.why_inputs.as_deref().cloned().unwrap_or_default();
    // The file of a rendered object is a template, which is not read by itself.
    let is_readable = row.rendered.is_none() || inputs.resources.is_some();
    (is_file && is_readable).then(|| {
        let rule = format!("{}/{}", row.rule.policy, row.rule.rule);
        let words = [
            "kubewright why".to_owned(),
            shell_word(&object.address()),
            format!("--rule {}", shell_word(rule.trim_matches('/'))),
            inputs.rules.unwrap_or_else(|| shell_word(rules)),
            inputs.resources.unwrap_or_else(|| format!("-r {}", shell_word(&object.location.file))),
            inputs.options,
        ];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    })
}

impl ObjectRow {
    /// Returns `Kind/namespace/name`, as commands take it.
    #[must_use]
    pub fn address(&self) -> String {
        match self.namespace.as_str() {
            "" => format!("{}/{}", self.kind, self.name),
            namespace => format!("{}/{namespace}/{}", self.kind, self.name),
        }
    }
}
