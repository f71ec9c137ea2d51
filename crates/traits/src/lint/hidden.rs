//! The check for loop variables that shadow another variable.

use super::Linter;
use crate::compile::CONTEXT;
use crate::compile::program::LoopProgram;
use crate::diagnostics as code;
use kubewright_dialect_kit::fields::child_path;

impl Linter<'_> {
    pub(super) fn report_hidden_variable(&mut self, each: &LoopProgram, sees_resource: bool) {
        let name = each.variable.as_str();
        let message = match name {
            "resource" if sees_resource => {
                "`resource` is the item in operations, and the manifest in `where`".to_owned()
            }
            "parameters" | "environmentConfigs" | "trait" => {
                format!("the loop variable hides the `{name}` of the trait")
            }
            name if CONTEXT.contains(&name) => {
                format!("the loop variable hides the `{name}` of the component")
            }
            _ => return,
        };
        let Some((_, beside)) = each.over.path.split_last() else { return };
        let location = self.document.locate(&child_path(beside, "var"));
        self.report(&code::HIDES, location, message, "call it something else, such as `item`");
    }
}
