//! The checks that compare an object with a pattern, or with one of several.

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_engine::EvalError;
use kubewright_value::{Exhausted, Step, Text, Value};

use super::{Failure, From, Verdict, failed};
use crate::context::Context;
use crate::message::{Message, Outcome};
use crate::mixed::Mixed;
use crate::pattern::{self, Mismatch, Pattern};
use crate::source::Workload;
use crate::template::Template;
use kubewright_dialect_kit::notes::{Note, Notes};

/// A pattern, and where it stands in the document.
pub(crate) struct OnePattern {
    pub(crate) source: Source,
    pub(crate) path: Vec<Step>,
}

/// Several patterns, one of which must fit.
pub(crate) struct AnyPattern {
    pub(crate) patterns: Vec<OnePattern>,
}

/// Where the pattern itself comes from.
pub(crate) enum Source {
    /// It is the same for every object.
    Constant(Pattern),
    /// It has variables in it, and is made for each object.
    Variable { template: Template, workload: Workload, is_entry: bool },
}

/// Compiles a pattern that stands alone, or is one of several.
pub(crate) fn compile_pattern(source: &Mixed, is_entry: bool) -> Pattern {
    if is_entry { Pattern::compile_entry(source) } else { Pattern::compile(source) }
}

impl OnePattern {
    pub(super) fn check(
        &self,
        object: &Value,
        message: &Message,
        context: &mut Context<'_>,
        notes: &mut Notes,
    ) -> Verdict {
        match self.compare(object, context, notes) {
            Err(error) => Verdict::Error(error),
            Ok(pattern::Verdict::Pass) => Verdict::Pass(message.passed.clone()),
            Ok(pattern::Verdict::Skip { message, .. }) => Verdict::Skip(message.into()),
            Ok(pattern::Verdict::Error { message: error, .. }) => {
                Verdict::Error(EvalError::new(message.violated(&Outcome::Execution(&error), context)))
            }
            Ok(pattern::Verdict::Fail(mismatch)) => {
                let outcome = Outcome::At { path: &mismatch.text_path, reason: &mismatch.message };
                let text = message.violated(&outcome, context);
                Verdict::Fail(self.failure(text, mismatch))
            }
        }
    }

    fn failure(&self, message: String, mismatch: Mismatch) -> Failure {
        Failure {
            message,
            template: Text::default(),
            path: mismatch.path,
            from: From::Element,
            at: [self.path.as_slice(), &mismatch.at].concat(),
        }
    }

    fn compare(
        &self,
        object: &Value,
        context: &mut Context<'_>,
        notes: &mut Notes,
    ) -> Result<pattern::Verdict, EvalError> {
        let mark = notes.mark();
        let pattern = match &self.source {
            Source::Constant(pattern) => Cow::Borrowed(pattern),
            Source::Variable { template, workload, is_entry } => {
                let resolved = template
                    .resolve(context)
                    .map_err(|unresolved| failed("variable substitution failed", unresolved))?;
                // It is dropped when the object has been compared with it.
                context.budget().transient(|budget| pattern::charge(&resolved, budget))?;
                Cow::Owned(Arc::new(compile_pattern(&resolved, *is_entry)).under(*workload))
            }
        };
        let verdict = pattern.check(object, context.budget(), notes);
        notes.rebase(mark, &self.path);
        verdict.map_err(|limit: Exhausted| limit.into())
    }

    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let Source::Constant(pattern) = &self.source else { return Vec::new() };
        let below = |path: Vec<Step>| [self.path.as_slice(), &path].concat();
        pattern.branches().into_iter().map(|(what, path)| (what, below(path))).collect()
    }
}

impl AnyPattern {
    pub(super) fn check(
        &self,
        object: &Value,
        message: &Message,
        context: &mut Context<'_>,
        notes: &mut Notes,
    ) -> Verdict {
        let rule = message.rule.as_str();
        let (mut failures, mut skips) = (Vec::new(), Vec::new());
        let mut first: Option<(usize, Mismatch)> = None;
        for (i, pattern) in self.patterns.iter().enumerate() {
            notes.open();
            let compared = pattern.compare(object, context, notes);
            notes.close(|| note(i, pattern, &compared));
            match compared {
                Err(error) => return Verdict::Error(error),
                Ok(pattern::Verdict::Pass) => {
                    return Verdict::Pass(format!("validation rule '{rule}' anyPattern[{i}] passed.").into());
                }
                Ok(pattern::Verdict::Skip { message, .. }) => {
                    skips.push(format!("rule {rule}[{i}] skipped: {message}"));
                }
                Ok(pattern::Verdict::Error { message, .. }) => {
                    failures.push(format!("rule {rule}[{i}] failed: {message}"));
                }
                Ok(pattern::Verdict::Fail(mismatch)) => {
                    failures.push(format!("rule {rule}[{i}] failed at path {}", mismatch.text_path));
                    first.get_or_insert((i, mismatch));
                }
            }
        }
        if failures.is_empty() {
            return match skips.is_empty() {
                true => Verdict::Pass(message.text().into()),
                false => Verdict::Skip(skips.join(" ").into()),
            };
        }
        let text = message.violated(&Outcome::Each(&failures), context);
        let failed = first.and_then(|(i, mismatch)| Some((self.patterns.get(i)?, mismatch)));
        Verdict::Fail(match failed {
            Some((pattern, mismatch)) => pattern.failure(text, mismatch),
            None => Failure::new(text),
        })
    }

    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let each = self.patterns.iter().enumerate();
        let entries = each.map(|(i, pattern)| (format!("anyPattern[{i}]"), pattern.path.clone()));
        entries.chain(self.patterns.iter().flat_map(OnePattern::branches)).collect()
    }
}

fn note(i: usize, pattern: &OnePattern, compared: &Result<pattern::Verdict, EvalError>) -> Note {
    use kubewright_engine::Verdict as Seen;
    let (found, verdict) = match compared {
        Ok(pattern::Verdict::Pass) => (String::new(), Seen::Yes),
        Ok(pattern::Verdict::Skip { message, .. }) => (message.clone(), Seen::No),
        Ok(pattern::Verdict::Fail(mismatch)) => (format!("fails at {}", mismatch.text_path), Seen::No),
        Ok(pattern::Verdict::Error { message, .. }) => (message.clone(), Seen::Error),
        Err(error) => (error.message.clone(), Seen::Error),
    };
    Note {
        what: format!("anyPattern[{i}]"),
        found,
        wanted: String::new(),
        verdict,
        at: pattern.path.clone(),
        children: Vec::new(),
    }
}
