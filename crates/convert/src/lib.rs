//! From rules to policies in CEL that say exactly the same, or the reason why there are none.
//!
//! `decision` is what Kyverno itself makes a ValidatingAdmissionPolicy of, and `listed` how it writes what such a
//! policy is about. Everything else is exact by its own rules: `matching` for `match` and `exclude`, `expressions` for
//! patterns and conditions. `policy` puts a rule together of that and of its `checks`; `vap` and `vpol` write documents.

mod admission_policy;
mod checks;
mod constraints;
mod decision;
mod expressions;
mod listed;
mod matching;
mod policy;
mod rebase;
mod resources;
mod texts;
mod vap;
mod vpol;

pub use admission_policy::write_admission_policy;

use kubewright_jmespath::Inputs;
use kubewright_value::{Document, Location, Step, Text, Value};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy, with its binding.
    ValidatingAdmissionPolicy {
        /// Whether rules in CEL are also written for the controllers that make Pods, which Kyverno does not do.
        has_autogen: bool,
    },
    /// `policies.kyverno.io/v1` ValidatingPolicy and NamespacedValidatingPolicy.
    ValidatingPolicy,
}

/// What became of a policy.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// `name` or `namespace/name`.
    pub policy: Text,
    /// How many rules the policy has.
    pub rules: usize,
    /// What was written, in the order of the rules.
    pub written: Vec<Written>,
    /// The rules that were not.
    pub refused: Vec<Refused>,
    /// What is different afterwards, or was guessed.
    pub notes: Vec<Note>,
}

/// What stands for some rules of a policy.
#[derive(Debug, Clone)]
pub struct Written {
    /// Their names.
    pub rules: Vec<Text>,
    /// A policy, and its binding where it has one; for controllers there may be more.
    pub documents: Vec<Value>,
    /// Whether the controllers that make Pods are judged as the rules judge them.
    pub covers_controllers: bool,
}

/// A rule that has no equivalent.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Its name; may be empty.
    pub rule: Text,
    /// Why it has none.
    pub why: String,
    /// What it hangs on.
    pub location: Location,
}

/// What a person should know about a rule that was written.
#[derive(Debug, Clone)]
pub struct Note {
    /// The rule.
    pub rule: Text,
    /// What it is, in words that fit every rule with the same.
    pub what: String,
    /// What of the rule it is about; may be empty.
    pub about: String,
    /// What it hangs on.
    pub location: Location,
}

/// Returns whether `document` is of a kind that conversions write.
#[must_use]
pub fn is_written(document: &Document) -> bool {
    let version = document.value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    matches!(version.split('/').next(), Some("policies.kyverno.io" | "admissionregistration.k8s.io"))
}

/// Converts the ClusterPolicy or Policy in `document`, with those of `exceptions` that are from it, for functions that
/// see `inputs`; nothing when it holds something else.
#[must_use]
pub fn convert(
    document: &Document,
    target: Target,
    exceptions: &[Document],
    inputs: Inputs,
) -> Option<Conversion> {
    policy::convert(document, target, exceptions, inputs)
}

/// What a rule checks, in CEL alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Validation {
    pub(crate) expression: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<String>,
}

/// Why a rule has no exact equivalent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inexpressible {
    pub(crate) why: String,
    /// Where that stands in the document.
    pub(crate) path: Vec<Step>,
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
