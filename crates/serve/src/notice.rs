//! Notices: what rules did in a review, for Events and the statuses of rules.

use std::sync::Arc;

pub use kubewright_engine::NoticeKind;
use kubewright_engine::{EventWords, RuleId};
use kubewright_k8s::ObjectName;

/// Something that a rule did, for Events and the rule's status. Never of a dry run.
#[derive(Debug, Clone)]
pub struct Notice {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The rule object that it was read from.
    pub document: ObjectName,
    /// The object that was reviewed.
    pub subject: ObjectName,
    /// What it did.
    pub kind: NoticeKind,
    /// Why, without a value of a Secret.
    pub message: String,
    /// The words of the rule's language for an Event; nothing for ours.
    pub words: Option<EventWords>,
}
