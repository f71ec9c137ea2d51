//! The checks that compare an object with a pattern, or with one of several.

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_engine::{EvalError, OutcomeReason};
use kubewright_value::{Budget, Exhausted, Step, Value};

use super::{CheckVerdict, CheckedObject, RuleViolation, step_error};
use crate::context::VariableContext;
use crate::message::{PatternOutcome, RuleMessage, ViolationMessage};
use crate::pattern::{self, Mismatch, PatternCheck, ValidatePattern};
use crate::tainted::Tainted;
use crate::template::VariableTemplate;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use kubewright_k8s::PodTemplatePath;

/// A pattern, and its path in the document.
pub(crate) struct OnePattern {
    pub(crate) source: PatternSource,
    pub(crate) path: Vec<Step>,
}

/// Several patterns, one of which must fit.
pub(crate) struct AnyPattern {
    pub(crate) patterns: Vec<OnePattern>,
}

/// Where the pattern itself comes from.
pub(crate) enum PatternSource {
    /// It is the same for every object.
    Constant(ValidatePattern),
    /// It has variables in it, and is made for each object.
    Variable { template: VariableTemplate, workload: PodTemplatePath, is_entry: bool },
}

/// What is said of an object that differs from a pattern without a message.
const NO_MATCH: &str = "the object does not match the pattern";

/// Compiles a pattern, alone or as one of several.
pub(crate) fn compile_pattern(source: &Tainted, is_entry: bool) -> ValidatePattern {
    if is_entry { ValidatePattern::compile_entry(source) } else { ValidatePattern::compile(source) }
}

impl OnePattern {
    pub(super) fn check(
        &self,
        subject: CheckedObject<'_>,
        message: &RuleMessage,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        // The reason is shown only where a variable of the message has no value.
        match self.compare(subject, !message.is_constant(), context, notes) {
            Err(error) => CheckVerdict::Error(error),
            Ok(pattern::PatternVerdict::Pass) => {
                CheckVerdict::Pass(context.pass_message(|| message.passed.clone()))
            }
            Ok(pattern::PatternVerdict::Skip { message, .. }) => CheckVerdict::Skip(message.into()),
            Ok(pattern::PatternVerdict::Error { message: error, .. }) => CheckVerdict::Error(EvalError::new(
                message.violated(&PatternOutcome::Execution(&error), context).text,
            )),
            Ok(pattern::PatternVerdict::Fail(mismatch)) => {
                let outcome = PatternOutcome::At { path: &mismatch.text_path, reason: &mismatch.message };
                let text = message.violated(&outcome, context);
                CheckVerdict::Fail(self.failure(text, mismatch, context))
            }
        }
    }

    /// Returns the violation with a message, and with one without the words that Kyverno adds where it is wanted.
    fn failure(
        &self,
        message: ViolationMessage,
        mismatch: Mismatch,
        context: &VariableContext<'_>,
    ) -> RuleViolation {
        let wanted = mismatch.wanted;
        let at = match context.wants_places {
            true => [self.path.as_slice(), &mismatch.at].concat(),
            false => Vec::new(),
        };
        let reason = context.wants_reason.then(|| {
            let text = if message.plain.is_empty() { NO_MATCH.to_owned() } else { message.plain.to_string() };
            Box::new(OutcomeReason { text, wanted, help: message.help, ..OutcomeReason::default() })
        });
        RuleViolation { reason, path: mismatch.path, at, ..RuleViolation::new(message.text) }
    }

    fn compare(
        &self,
        subject: CheckedObject<'_>,
        wants_message: bool,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<pattern::PatternVerdict, EvalError> {
        let mark = notes.mark();
        let pattern = match &self.source {
            PatternSource::Constant(pattern) => Cow::Borrowed(pattern),
            PatternSource::Variable { template, workload, is_entry } => {
                let resolved = template
                    .resolve(context)
                    .map_err(|unresolved| step_error("variable substitution failed", unresolved))?;
                // It is dropped when the object has been compared with it.
                context.budget().transient(|budget| pattern::charge_pattern(&resolved, budget))?;
                Cow::Owned(Arc::new(compile_pattern(&resolved, *is_entry)).under(*workload))
            }
        };
        let told = PatternCheck {
            wants_places: context.wants_places,
            wants_message,
            may_not_fit: subject.may_not_fit,
        };
        let verdict = pattern.check_told(subject.object, told, context.budget(), notes);
        notes.rebase(mark, &self.path);
        verdict.map_err(|limit: Exhausted| limit.into())
    }

    /// Returns whether `object` surely fits; otherwise it may or may not.
    pub(super) fn surely_fits(&self, object: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        match &self.source {
            PatternSource::Constant(pattern) => pattern.surely_fits(object, budget),
            PatternSource::Variable { .. } => Ok(false),
        }
    }

    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let PatternSource::Constant(pattern) = &self.source else { return Vec::new() };
        let below = |path: Vec<Step>| [self.path.as_slice(), &path].concat();
        pattern.branches().into_iter().map(|(what, path)| (what, below(path))).collect()
    }
}

impl AnyPattern {
    pub(super) fn check(
        &self,
        subject: CheckedObject<'_>,
        message: &RuleMessage,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        let rule = message.rule.as_str();
        let (mut failures, mut skips) = (Vec::new(), Vec::new());
        let mut first: Option<(usize, Mismatch)> = None;
        for (i, pattern) in self.patterns.iter().enumerate() {
            notes.open();
            let compared = pattern.compare(subject, true, context, notes);
            notes.close(|| any_pattern_note(i, pattern, &compared));
            match compared {
                Err(error) => return CheckVerdict::Error(error),
                Ok(pattern::PatternVerdict::Pass) => {
                    let passed = || format!("validation rule '{rule}' anyPattern[{i}] passed.").into();
                    return CheckVerdict::Pass(context.pass_message(passed));
                }
                Ok(pattern::PatternVerdict::Skip { message, .. }) => {
                    skips.push(format!("rule {rule}[{i}] skipped: {message}"));
                }
                Ok(pattern::PatternVerdict::Error { message, .. }) => {
                    failures.push(format!("rule {rule}[{i}] failed: {message}"));
                }
                Ok(pattern::PatternVerdict::Fail(mismatch)) => {
                    failures.push(format!("rule {rule}[{i}] failed at path {}", mismatch.text_path));
                    first.get_or_insert((i, mismatch));
                }
            }
        }
        if failures.is_empty() {
            return match skips.is_empty() {
                true => CheckVerdict::Pass(message.text().clone()),
                false => CheckVerdict::Skip(skips.join(" ").into()),
            };
        }
        let text = message.violated(&PatternOutcome::Each(&failures), context);
        let failed = first.and_then(|(i, mismatch)| Some((self.patterns.get(i)?, mismatch)));
        CheckVerdict::Fail(match failed {
            Some((pattern, mismatch)) => pattern.failure(text, mismatch, context),
            None => RuleViolation::new(text.text),
        })
    }

    /// Returns whether `object` surely fits one of the patterns; otherwise it may or may not. Making a pattern of variables
    /// may fail, which counts before the patterns behind it do.
    pub(super) fn surely_fits(&self, object: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        let is_constant = |pattern: &&OnePattern| matches!(pattern.source, PatternSource::Constant(_));
        for pattern in self.patterns.iter().take_while(is_constant) {
            if pattern.surely_fits(object, budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let each = self.patterns.iter().enumerate();
        let entries = each.map(|(i, pattern)| (format!("anyPattern[{i}]"), pattern.path.clone()));
        entries.chain(self.patterns.iter().flat_map(OnePattern::branches)).collect()
    }
}

fn any_pattern_note(
    i: usize,
    pattern: &OnePattern,
    compared: &Result<pattern::PatternVerdict, EvalError>,
) -> TraceNote {
    use kubewright_engine::TraceVerdict as Seen;
    let (found, verdict) = match compared {
        Ok(pattern::PatternVerdict::Pass) => (String::new(), Seen::Yes),
        Ok(pattern::PatternVerdict::Skip { message, .. }) => (message.clone(), Seen::No),
        Ok(pattern::PatternVerdict::Fail(mismatch)) => {
            (format!("differs at {}", mismatch.text_path), Seen::No)
        }
        Ok(pattern::PatternVerdict::Error { message, .. }) => (message.clone(), Seen::Error),
        Err(error) => (error.message.clone(), Seen::Error),
    };
    TraceNote {
        what: format!("anyPattern[{i}]"),
        found,
        verdict,
        at: pattern.path.clone(),
        ..TraceNote::default()
    }
}
