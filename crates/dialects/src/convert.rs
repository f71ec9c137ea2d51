//! From rules to policies in CEL that say exactly the same, or the reason why there are none.

pub(crate) mod expressions;

use kubewright_value::{Step, Text};

/// What a rule checks, in CEL alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expressions {
    /// Names for expressions, which the others read as `variables.NAME`.
    pub(crate) variables: Vec<(Text, String)>,
    /// What must hold before the rule says anything, by name.
    pub(crate) conditions: Vec<(Text, String)>,
    /// What must hold.
    pub(crate) validations: Vec<Validation>,
    /// Whether deletions are judged too; patterns say nothing about them.
    pub(crate) judges_deletions: bool,
    /// Whether the object was as bad before an update, which is then let through where the rule is enforced; nothing
    /// where the rule does not allow existing violations, or this cannot be said.
    pub(crate) was_violated: Option<String>,
}

/// An expression that must hold, and what is said when it does not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Validation {
    pub(crate) expression: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<String>,
}

/// Why a rule has no exact equivalent.
#[derive(Debug, Clone)]
pub(crate) struct Inexpressible {
    pub(crate) why: String,
    /// Where that stands in the document.
    pub(crate) path: Vec<Step>,
}
