//! The result of compiling and running a rule object, for its status.

use kubewright_value::{Map, Text, Value};

use super::AdmissionPolicyState;

/// The result of compiling and running a rule object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleReport {
    /// The observed `metadata.generation`.
    pub generation: i64,
    /// How many of its rules run.
    pub rules: usize,
    /// Whether all of its rules run.
    pub is_ready: bool,
    /// The `reason` of the condition `Ready`.
    pub reason: Text,
    /// The `message` of the condition: every mistake.
    pub message: String,
    /// The `lastTransitionTime`.
    pub since: Text,
    /// The last failed evaluation, if it is new.
    pub failure: Option<RuleFailure>,
    /// Fields of the status that follow from the document alone.
    pub fields: Value,
    /// Whether the API server enforces the rule itself; nothing where rule objects of this kind never ask for that.
    pub admission_policy: Option<AdmissionPolicyState>,
}

/// A failed evaluation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFailure {
    /// When, in RFC 3339.
    pub time: Text,
    /// The error message.
    pub message: String,
    /// The object of the request.
    pub object: String,
}

impl RuleReport {
    /// Returns the usual form: `observedGeneration`, `rules`, the condition `Ready`, `lastFailure`.
    #[must_use]
    pub fn status(&self) -> Value {
        let mut status = Map::from([
            ("observedGeneration", self.generation.into()),
            ("rules", i64::try_from(self.rules).unwrap_or(i64::MAX).into()),
            ("conditions", Value::array(vec![self.condition()])),
        ]);
        if let Some(failure) = &self.failure {
            status.insert("lastFailure".into(), failure.value());
        }
        status.into()
    }

    /// Returns the condition `Ready`.
    #[must_use]
    pub fn condition(&self) -> Value {
        let status = if self.is_ready { "True" } else { "False" };
        Map::from([
            ("type", "Ready".into()),
            ("status", status.into()),
            ("reason", self.reason.clone().into()),
            ("message", self.message.as_str().into()),
            ("observedGeneration", self.generation.into()),
            ("lastTransitionTime", self.since.clone().into()),
        ])
        .into()
    }
}

impl RuleFailure {
    /// Returns it with the fields `time`, `message` and `object`.
    #[must_use]
    pub fn value(&self) -> Value {
        Map::from([
            ("time", self.time.clone().into()),
            ("message", self.message.as_str().into()),
            ("object", self.object.as_str().into()),
        ])
        .into()
    }
}
