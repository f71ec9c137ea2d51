//! The webhook that a policy asks for.

use kubewright_value::{Text, Value};

use kubewright_k8s::Operations;

/// The phase of admission in which a webhook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdmissionPhase {
    /// A MutatingWebhookConfiguration: the response may carry a patch.
    Mutating,
    /// A ValidatingWebhookConfiguration: after all changes.
    Validating,
}

/// What the API server does with a request when the webhook cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailurePolicy {
    /// Admit it.
    Ignore,
    /// Refuse it.
    Fail,
}

/// The webhook that a policy asks for in one admission phase. Policies with equal demands share one.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookPlan {
    /// The phase.
    pub phase: AdmissionPhase,
    /// `failurePolicy`.
    pub failure_policy: FailurePolicy,
    /// The name of a webhook for this policy alone, because it has match conditions or selectors.
    pub dedicated_name: Option<Text>,
    /// The name of the webhook that it shares with policies of the same name and failure policy, such as
    /// `vpol.validate.example.com`; nothing for the usual one.
    pub shared_name: Option<Text>,
    /// `timeoutSeconds`.
    pub timeout_seconds: u8,
    /// `matchConditions`, each a name and a CEL expression.
    pub match_conditions: Vec<(Text, Text)>,
    /// Whether the rules evaluate these conditions themselves, so that the webhook may also be called without them.
    pub repeats_conditions: bool,
    /// `reinvocationPolicy` of a webhook that changes objects: whether it is called again after a later change.
    pub is_reinvoked: bool,
    /// The only namespaces that it is called for, those of its policies; empty for all, and for objects outside of any.
    pub namespaces: Vec<Text>,
    /// `objectSelector`; null for any object.
    pub object_selector: Value,
    /// `rules`, before kinds are resolved to resources.
    pub rules: Vec<WebhookRule>,
}

impl WebhookPlan {
    /// The timeout of a webhook for which a policy sets none.
    pub const DEFAULT_TIMEOUT_SECONDS: u8 = 5;

    /// Returns a plan that can be shared by all policies with the same `failure_policy`.
    #[must_use]
    pub fn new(phase: AdmissionPhase, failure_policy: FailurePolicy, rules: Vec<WebhookRule>) -> Self {
        Self {
            phase,
            failure_policy,
            dedicated_name: None,
            shared_name: None,
            timeout_seconds: Self::DEFAULT_TIMEOUT_SECONDS,
            match_conditions: Vec::new(),
            repeats_conditions: false,
            is_reinvoked: true,
            namespaces: Vec::new(),
            object_selector: Value::Null,
            rules,
        }
    }
}

/// One of the `rules` of a webhook. `*` is any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookRule {
    /// The API group, with wildcards; empty for the core group.
    pub group: Text,
    /// The version, with wildcards.
    pub version: Text,
    /// The kind or the resource.
    pub name: KindOrResource,
    /// The subresource, such as `exec`; empty for the objects themselves, `*` for all subresources.
    pub subresource: Text,
    /// The operations.
    pub operations: Operations,
}

/// How a rule names objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KindOrResource {
    /// A kind, with wildcards, which discovery resolves to resources.
    Kind(Text),
    /// A resource: plural, lower case; no wildcards but `*`.
    Resource(Text),
}
