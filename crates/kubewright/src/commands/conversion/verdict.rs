//! What all rules of a policy together say about an object, and whether a converted policy says the same.

use kubewright_engine::{Decision, RuleStatus};
use kubewright_k8s::Operation;
use kubewright_value::Text;

/// The combined outcome of rules for an object.
#[derive(Debug, Clone)]
pub(in crate::commands) struct CombinedVerdict {
    /// The worst status.
    status: Option<RuleStatus>,
    is_refusal: bool,
    message: Text,
}

impl CombinedVerdict {
    /// Returns the outcome of all rules in `decision`.
    pub(in crate::commands) fn of(decision: &Decision) -> Self {
        let rank = |status: RuleStatus| match status {
            RuleStatus::Skip => 0,
            RuleStatus::Pass => 1,
            RuleStatus::Warn => 2,
            RuleStatus::Error => 3,
            RuleStatus::Fail => 4,
        };
        let worst = decision.outcomes.iter().max_by_key(|outcome| rank(outcome.status));
        Self {
            status: worst.map(|outcome| outcome.status),
            is_refusal: decision.outcomes.iter().any(|outcome| outcome.is_refusal),
            message: worst.map(|outcome| outcome.message.clone()).unwrap_or_default(),
        }
    }

    /// Returns whether the rule says something about the object.
    pub(in crate::commands) fn is_judgement(&self) -> bool {
        self.status.is_some_and(|status| status != RuleStatus::Skip)
    }

    /// Returns whether a converted policy that says `after` to a request of `operation` says the same.
    pub(in crate::commands) fn agrees(&self, after: &Self, operation: Operation) -> bool {
        // What was as bad before is skipped there and let through here.
        let is_forgiven = operation == Operation::Update
            && self.status == Some(RuleStatus::Skip)
            && after.status == Some(RuleStatus::Pass);
        is_forgiven || self.is_same(after)
    }

    fn is_same(&self, other: &Self) -> bool {
        // A violation that does not count is a warning.
        let plain = |status: Option<RuleStatus>| match status {
            None => RuleStatus::Skip,
            Some(RuleStatus::Warn) => RuleStatus::Fail,
            Some(status) => status,
        };
        match (plain(self.status), plain(other.status)) {
            // A variable that leads nowhere is an error there and a violation here.
            (RuleStatus::Fail | RuleStatus::Error, RuleStatus::Fail) => self.is_refusal == other.is_refusal,
            (one, other) => one == other,
        }
    }

    /// Returns how `after` differs, in words.
    pub(in crate::commands) fn difference(&self, after: &Self) -> String {
        format!("the source says {}, the converted one {}", self.text(), after.text())
    }

    fn text(&self) -> String {
        let status = self.status.map_or("nothing", RuleStatus::name);
        let refusal = if self.is_refusal { " and refuses it" } else { "" };
        match (self.status, self.message.as_str()) {
            (Some(RuleStatus::Error), message) if !message.is_empty() => format!("{status} ({message})"),
            _ => format!("{status}{refusal}"),
        }
    }
}
