//! Outcomes that were taken out of the count, by a baseline or by an ignore in the manifest.

use kubewright_engine::RuleStatus;
use kubewright_value::{Map, Text, Value};

use super::{ObjectRow, OutcomeRow};

/// Why an outcome does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeSuppression {
    /// What says so.
    pub origin: SuppressionOrigin,
    /// The status that the outcome had.
    pub status: RuleStatus,
    /// Why; may be empty.
    pub reason: Text,
    /// The last day on which it counts.
    pub until: Option<Text>,
}

/// What takes an outcome out of the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuppressionOrigin {
    /// An entry of a baseline.
    Baseline,
    /// A comment in the manifest.
    Comment,
    /// An annotation of the object.
    Annotation,
}

impl SuppressionOrigin {
    /// Returns the word for it in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Comment => "comment",
            Self::Annotation => "annotation",
        }
    }
}

impl OutcomeSuppression {
    /// Returns this as JSON.
    pub(crate) fn to_value(&self) -> Value {
        let mut value = Map::from([
            ("origin", Value::from(self.origin.name())),
            ("status", self.status.name().into()),
            ("reason", self.reason.clone().into()),
        ]);
        if let Some(until) = &self.until {
            value.insert("until".into(), until.clone().into());
        }
        value.into()
    }

    /// Returns this as SARIF has it.
    pub(crate) fn sarif_value(&self) -> Value {
        let kind = if self.origin == SuppressionOrigin::Baseline { "external" } else { "inSource" };
        let mut value = Map::from([("kind", Value::from(kind))]);
        if !self.reason.is_empty() {
            value.insert("justification".into(), self.reason.clone().into());
        }
        value.into()
    }
}

impl ObjectRow {
    /// Makes a skip of every failure, warning and error for which `reason` returns why it does not count.
    pub fn suppress(&mut self, reason: impl Fn(&OutcomeRow) -> Option<OutcomeSuppression>) {
        for outcome in &mut self.outcomes {
            if matches!(outcome.status, RuleStatus::Pass | RuleStatus::Skip) {
                continue;
            }
            let Some(suppression) = reason(outcome) else { continue };
            *self.counts.of_mut(outcome.status) -= 1;
            self.counts.skip += 1;
            match suppression.origin {
                SuppressionOrigin::Baseline => self.counts.baselined += 1,
                SuppressionOrigin::Comment | SuppressionOrigin::Annotation => self.counts.ignored += 1,
            }
            outcome.status = RuleStatus::Skip;
            outcome.suppression = Some(Box::new(suppression));
        }
    }
}
