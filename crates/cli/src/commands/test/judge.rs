//! Compares the expectations of a case with the decision.

use std::path::Path;

use kubewright_engine::{Decision, RuleId, RuleOutcome, RuleStatus};
use kubewright_files::{self as files, Input};
use kubewright_patch::{self as patch, JsonPatchOperation, PatchOptions};
use kubewright_value::{Budget, Value, yaml};

use super::difference::object_difference_lines;
use super::file::RuleCase;

/// A case and its decision.
pub(super) struct JudgedRuleCase<'a> {
    pub(super) case: &'a RuleCase,
    /// The rule that the case names.
    pub(super) rule: Option<&'a RuleId>,
    pub(super) original: &'a Value,
    /// Of all rules together.
    pub(super) decision: &'a Decision,
    /// The object after the named rule alone, or after all rules.
    pub(super) after: &'a Value,
    pub(super) folder: &'a Path,
}

/// Whether a case holds.
pub(super) struct CaseVerdict {
    /// In one word where there is one.
    pub(super) expected: String,
    pub(super) actual: String,
    /// The differences; empty if the case holds.
    pub(super) problems: Vec<String>,
}

impl JudgedRuleCase<'_> {
    /// Compares every expectation of the case.
    pub(super) fn verdict(&self) -> CaseVerdict {
        let actual = self.actual();
        let mut problems = Vec::new();
        if let Some(expected) = &self.case.outcome {
            // A change is a pass too; `patch` says more than `pass`.
            let is_met = *expected == actual || (expected == "pass" && actual == "patch");
            if !is_met {
                problems.push(format!("expected {expected}, got {actual}{}", self.said()));
            }
        }
        problems.extend(self.messages());
        problems.extend(self.objects());
        problems.extend(self.admission());
        CaseVerdict {
            expected: expected_outcome(self.case),
            actual: match (&self.case.outcome, self.case.allowed) {
                (None, Some(_)) => allowed_word(self.decision.is_allowed),
                _ => actual,
            },
            problems,
        }
    }

    /// Returns the outcomes that the case is about. A rule whose scope excludes the object has none.
    fn outcomes(&self) -> impl Iterator<Item = &RuleOutcome> {
        self.decision.outcomes.iter().filter(|outcome| self.rule.is_none_or(|rule| *outcome.rule == *rule))
    }

    /// Returns the worst outcome in one word.
    fn actual(&self) -> String {
        let is = |status| self.outcomes().any(|outcome| outcome.status == status);
        let is_patched =
            self.outcomes().any(|outcome| outcome.status == RuleStatus::Pass && !outcome.patch.is_empty());
        if let Some(status) =
            [RuleStatus::Error, RuleStatus::Fail, RuleStatus::Warn].into_iter().find(|status| is(*status))
        {
            return status.to_string();
        }
        let word = if is_patched {
            "patch"
        } else if is(RuleStatus::Pass) {
            "pass"
        } else {
            "skip"
        };
        word.to_owned()
    }

    /// Returns the messages of the rules, to follow the outcome.
    fn said(&self) -> String {
        let messages: Vec<&str> = self.messages_said().collect();
        if messages.is_empty() { String::new() } else { format!(": {}", messages.join("; ")) }
    }

    fn messages_said(&self) -> impl Iterator<Item = &str> {
        let is_told = |outcome: &&RuleOutcome| self.rule.is_some() || outcome.status != RuleStatus::Skip;
        self.outcomes()
            .filter(is_told)
            .map(|outcome| outcome.message.as_str())
            .filter(|message| !message.is_empty())
    }

    fn messages(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(expected) = &self.case.message
            && !self.messages_said().any(|message| message == expected)
            && !(expected.is_empty() && self.messages_said().next().is_none())
        {
            problems.push(format!("expected the message `{expected}`, got{}", self.found_messages()));
        }
        if let Some(part) = &self.case.message_contains
            && !self.messages_said().any(|message| message.contains(part.as_str()))
        {
            problems.push(format!("expected a message that contains `{part}`, got{}", self.found_messages()));
        }
        problems
    }

    fn found_messages(&self) -> String {
        let messages: Vec<String> = self.messages_said().map(|message| format!(" `{message}`")).collect();
        if messages.is_empty() { " none".to_owned() } else { messages.join(",") }
    }

    fn objects(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(patched) = &self.case.patched {
            match self.expected_object(patched) {
                Ok(expected) if expected == *self.after => {}
                Ok(expected) => {
                    problems.push(object_difference_lines(
                        "the object differs from the expected one",
                        &expected,
                        self.after,
                    ));
                }
                Err(problem) => problems.push(problem),
            }
        }
        if let Some(expected) = &self.case.patch {
            match self.expected_effect(expected) {
                Ok(expected) if expected == *self.after => {}
                Ok(expected) => problems.push(object_difference_lines(
                    "the patch has another effect",
                    &expected,
                    self.after,
                )),
                Err(problem) => problems.push(problem),
            }
        }
        problems
    }

    /// Returns the expected object, which `patched` contains or refers to.
    fn expected_object(&self, patched: &Value) -> Result<Value, String> {
        let Some(file) = patched.as_str() else { return Ok(patched.clone()) };
        let path = files::resolve_path(self.folder, file).map_err(|problem| problem.message)?;
        let source = files::read_source(&Input::File((&path).into())).map_err(|problem| problem.message)?;
        // Whatever the file is, no line of it is shown.
        let expected = yaml::parse(&source.text).map_err(|_| format!("`{path}` is not YAML"))?;
        // Whatever else the file is, it is not shown.
        if expected.as_object().is_none() {
            return Err(format!("`{path}` contains no object"));
        }
        Ok(expected)
    }

    /// Returns the object after the expected patch.
    fn expected_effect(&self, expected: &Value) -> Result<Value, String> {
        let options = PatchOptions {
            create_parents: true,
            ignore_missing_removes: true,
            negative_indices: true,
            ..PatchOptions::rfc6902()
        };
        let operations =
            JsonPatchOperation::list(expected).map_err(|error| format!("the expected patch: {error}"))?;
        let mut object = self.original.clone();
        patch::apply_patch(&mut object, &operations, &options, &mut Budget::default())
            .map_err(|error| format!("the expected patch cannot be applied: {error}"))?;
        Ok(object)
    }

    fn admission(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let is_allowed = self.decision.is_allowed;
        if let Some(expected) = self.case.allowed
            && expected != is_allowed
        {
            problems.push(format!("expected {}, got {}", allowed_word(expected), allowed_word(is_allowed)));
        }
        if let Some(part) = &self.case.rejection {
            let told = self.rejection();
            let is_met = told.contains(part.as_str())
                || self
                    .decision
                    .with_status(RuleStatus::Fail)
                    .any(|outcome| outcome.message.contains(part.as_str()));
            if !is_met {
                let told = if told.is_empty() { "none".to_owned() } else { format!("`{told}`") };
                problems.push(format!("expected a rejection that contains `{part}`, got {told}"));
            }
        }
        problems
    }

    /// Returns the denial message: those of all denying rules, joined as in an AdmissionResponse.
    fn rejection(&self) -> String {
        let words = self.decision.with_status(RuleStatus::Fail);
        let words: Vec<&str> = words.map(|fail| fail.denial.as_deref().unwrap_or(&fail.message)).collect();
        words.join(",")
    }
}

/// Returns what the case expects, in one word where there is one.
pub(super) fn expected_outcome(case: &RuleCase) -> String {
    if let Some(word) = case.outcome.clone().or_else(|| case.allowed.map(allowed_word)) {
        return word;
    }
    let fields = [
        ("message", case.message.is_some()),
        ("messageContains", case.message_contains.is_some()),
        ("patched", case.patched.is_some()),
        ("patch", case.patch.is_some()),
        ("rejection", case.rejection.is_some()),
    ];
    fields.iter().filter(|(_, is_given)| *is_given).map(|(field, _)| *field).collect::<Vec<_>>().join(", ")
}

fn allowed_word(is_allowed: bool) -> String {
    if is_allowed { "allowed" } else { "refused" }.to_owned()
}
