//! What a set of rules does to an object, so that two sets can be compared.

use std::collections::BTreeMap;

use kubewright_engine::{Decision, RuleStatus};
use kubewright_value::{Text, Value};

/// How a set of rules judges an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EffectLevel {
    /// Nothing is said against it.
    Allowed,
    /// A rule fails that refuses nothing, warns, or ends in an error.
    Warned,
    /// The object is refused.
    Refused,
}

impl EffectLevel {
    /// Returns the word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Warned => "warned",
            Self::Refused => "refused",
        }
    }
}

/// What a set of rules does to an object.
#[derive(Debug, Clone)]
pub(super) struct RuleSetEffect {
    /// The judgement.
    pub(super) level: EffectLevel,
    /// The rules that fail, warn or end in an error, with their messages.
    pub(super) failing: BTreeMap<String, Text>,
    /// The rules that change the object.
    pub(super) patching: Vec<String>,
    /// The object after all changes.
    object: Value,
    /// What else is written.
    written: Vec<Text>,
}

impl RuleSetEffect {
    /// Returns the effect of the rules that decided.
    pub(super) fn of(decision: &Decision) -> Self {
        let is_failing =
            |status: RuleStatus| matches!(status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error);
        let failing: BTreeMap<String, Text> = decision
            .outcomes
            .iter()
            .filter(|outcome| is_failing(outcome.status))
            .map(|outcome| (outcome.rule.to_string(), outcome.message.clone()))
            .collect();
        let patches = decision.outcomes.iter().filter(|outcome| !outcome.patch.is_empty());
        let level = match (decision.is_allowed, failing.is_empty()) {
            (false, _) => EffectLevel::Refused,
            (true, false) => EffectLevel::Warned,
            (true, true) => EffectLevel::Allowed,
        };
        Self {
            level,
            failing,
            patching: patches.map(|outcome| outcome.rule.to_string()).collect(),
            object: decision.object.clone(),
            written: decision.outcomes.iter().flat_map(|outcome| outcome.written.clone()).collect(),
        }
    }

    /// Returns whether both leave the same object and write the same.
    pub(super) fn writes_alike(&self, other: &Self) -> bool {
        self.object == other.object && self.written == other.written
    }

    /// Returns whether the same rules fail.
    pub(super) fn fails_alike(&self, other: &Self) -> bool {
        self.failing.keys().eq(other.failing.keys())
    }

    /// Returns the effect in words.
    pub(super) fn text(&self) -> String {
        let mut parts = vec![self.level.name().to_owned()];
        if !self.failing.is_empty() {
            let rules: Vec<&str> = self.failing.keys().map(String::as_str).collect();
            parts.push(format!("by {}", rules.join(", ")));
        }
        if !self.patching.is_empty() {
            parts.push(format!("changed by {}", self.patching.join(", ")));
        }
        if !self.written.is_empty() {
            let written: Vec<&str> = self.written.iter().map(Text::as_str).collect();
            parts.push(written.join(", "));
        }
        parts.join(", ").replacen(", by ", " by ", 1)
    }
}
