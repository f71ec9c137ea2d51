//! The command that shows the reason of an outcome.

use kubewright_value::text::shell_word;

use crate::{ObjectRow, OutcomeRow};

/// Returns the command that shows why `row` says what it says about `object`; nothing for an object that was not read
/// from a file.
#[must_use]
pub fn why_command(row: &OutcomeRow, object: &ObjectRow) -> Option<String> {
    let rules = &row.rule_location.as_ref()?.source.name;
    let is_file = !object.kind.is_empty()
        && object.location.position.line > 0
        && object.location.file != "-"
        && *rules != "-";
    is_file.then(|| {
        let rule = format!("{}/{}", row.rule.policy, row.rule.rule);
        format!(
            "kubewright why {} --rule {} {} -r {}",
            shell_word(&object.address()),
            shell_word(rule.trim_matches('/')),
            shell_word(rules),
            shell_word(&object.location.file)
        )
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
