//! Notices: what rules did in a review, for Events and the statuses of rules.

use std::sync::Arc;

use kubewright_engine::RuleId;
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
}

/// What a rule did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// It refused the request.
    Refused,
    /// It found a violation and let it pass.
    Reported,
    /// It could not answer.
    Failed,
    /// It left the object alone because of an exception.
    Excepted,
}
