//! Loop variables that hide what expressions see by the same name.

use super::Linter;
use crate::compile::CONTEXT;
use crate::compile::program::Each;
use crate::diagnostics as code;
use kubewright_dialect_kit::fields::child_path;

impl Linter<'_> {
    pub(super) fn hides(&mut self, each: &Each, sees_resource: bool) {
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
