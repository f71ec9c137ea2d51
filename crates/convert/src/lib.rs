//! Converts rules into CEL policies with exactly the same decisions, or says why there is no equivalent.
//!
//! `decision` has Kyverno's own conditions for a ValidatingAdmissionPolicy, and `listed` its way of writing match
//! constraints. Everything else is exact by its own rules: `matching` for `match` and `exclude`, `expressions` for
//! patterns and conditions. `policy` combines them with the `checks` of a rule; `vap` and `vpol` write documents.

mod admission_policy;
mod change_policy;
mod changes;
mod checks;
mod cleanup;
mod constraints;
mod decision;
mod expressions;
mod images;
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

/// The API group of the policies that are converted.
pub const SOURCE_GROUP: &str = "kyverno.io";

/// The API group of the policies that succeed them.
pub const SUCCESSOR_GROUP: &str = "policies.kyverno.io";

/// The beginnings of labels of objects that rules made: they say which rule did.
pub const ORIGIN_LABELS: [&str; 2] = ["generate.kyverno.io/", "app.kubernetes.io/managed-by"];

/// The beginning of annotations in which rules record the images that they verified.
pub const IMAGE_RECORDS: &str = "kyverno.io/verify-images";

/// The kind of policy that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversionTarget {
    /// `admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy, with its binding.
    ValidatingAdmissionPolicy {
        /// Whether rules in CEL are also written for the controllers that make Pods, which Kyverno does not do.
        has_autogen: bool,
    },
    /// The kinds of `policies.kyverno.io/v1` that succeed rules: the one for each rule, or one kind only.
    Successor(Option<SuccessorKind>),
}

/// A kind of `policies.kyverno.io/v1` that succeeds a kind of rule. A Policy becomes the namespaced kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuccessorKind {
    /// For `validate`.
    ValidatingPolicy,
    /// For `mutate`.
    MutatingPolicy,
    /// For `generate`.
    GeneratingPolicy,
    /// For CleanupPolicies.
    DeletingPolicy,
    /// For `verifyImages`.
    ImageValidatingPolicy,
}

impl SuccessorKind {
    /// Returns the name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ValidatingPolicy => "ValidatingPolicy",
            Self::MutatingPolicy => "MutatingPolicy",
            Self::GeneratingPolicy => "GeneratingPolicy",
            Self::DeletingPolicy => "DeletingPolicy",
            Self::ImageValidatingPolicy => "ImageValidatingPolicy",
        }
    }
}

impl ConversionTarget {
    /// Returns whether the target is a kind of `policies.kyverno.io/v1`.
    pub(crate) fn is_successor(self) -> bool {
        matches!(self, Self::Successor(_))
    }

    /// Returns whether policies of `kind` are written.
    pub(crate) fn writes(self, kind: SuccessorKind) -> bool {
        matches!(self, Self::Successor(only) if only.is_none_or(|only| only == kind))
    }
}

/// The result of converting a policy.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Conversion {
    /// `name` or `namespace/name`.
    pub policy: Text,
    /// How many rules the policy has.
    pub rules: usize,
    /// The converted policies, in the order of the rules.
    pub written: Vec<ConvertedPolicy>,
    /// The rules that were not.
    pub refused: Vec<UnconvertedRule>,
    /// Remarks on differences and guesses.
    pub notes: Vec<ConversionNote>,
}

/// The documents that replace some rules of a policy.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConvertedPolicy {
    /// Their names.
    pub rules: Vec<Text>,
    /// A policy, and its binding where it has one; for controllers there may be more.
    pub documents: Vec<Value>,
    /// Whether the controllers that make Pods are judged as the rules judge them.
    pub covers_controllers: bool,
}

/// A rule that has no equivalent.
#[derive(Debug, Clone)]
pub struct UnconvertedRule {
    /// Its name; may be empty.
    pub rule: Text,
    /// Why it has none.
    pub why: String,
    /// The location of the reason.
    pub location: Location,
}

/// A remark on a converted rule.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConversionNote {
    /// The rule.
    pub rule: Text,
    /// The remark, worded so that equal remarks of several rules can be grouped.
    pub what: String,
    /// The part of the rule it concerns; may be empty.
    pub about: String,
    /// The location of the reason.
    pub location: Location,
}

/// Returns whether `document` is of a kind that conversions write.
#[must_use]
pub fn is_conversion_output(document: &Document) -> bool {
    let version = document.value.str_at(&["apiVersion"]);
    matches!(version.split('/').next(), Some("policies.kyverno.io" | "admissionregistration.k8s.io"))
}

/// Converts the ClusterPolicy, Policy, CleanupPolicy or ClusterCleanupPolicy in `document`, with those of `exceptions` that are from it, for functions that
/// see `inputs`; nothing when it holds something else.
#[must_use]
pub fn convert_policy(
    document: &Document,
    target: ConversionTarget,
    exceptions: &[Document],
    inputs: Inputs,
) -> Option<Conversion> {
    policy::convert_document(document, target, exceptions, inputs)
}

/// The checks of a rule as CEL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RuleExpressions {
    /// Names for expressions, which the others read as `variables.NAME`.
    pub(crate) variables: Vec<(Text, String)>,
    /// The conditions of the rule, by name.
    pub(crate) conditions: Vec<(Text, String)>,
    /// The validations.
    pub(crate) validations: Vec<CelValidation>,
    /// Whether deletions are evaluated too; patterns ignore them.
    pub(crate) judges_deletions: bool,
    /// The expression for "the old object already violated the rule", which lets an update through; `None`
    /// where the rule does not allow existing violations, or there is no such expression.
    pub(crate) was_violated: Option<String>,
}

/// A CEL expression that must hold, and its message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CelValidation {
    pub(crate) expression: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<String>,
}

/// Why a rule has no exact equivalent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConversionRefusal {
    pub(crate) why: String,
    /// The path of the reason in the document.
    pub(crate) path: Vec<Step>,
}

/// The result of a conversion step, or why there is no equivalent.
pub(crate) type ConversionResult<T> = Result<T, ConversionRefusal>;

/// Refuses a conversion because of the field at `path` in the document.
pub(crate) fn refuse_conversion<T>(why: &str, path: &[Step]) -> ConversionResult<T> {
    Err(ConversionRefusal { why: why.to_owned(), path: path.to_vec() })
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
