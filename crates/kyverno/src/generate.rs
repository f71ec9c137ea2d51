//! `generate` rules: the objects that are made because of another one, and those that go when it changes.
//!
//! A rule only says what is to be written; nothing is written here. An update that ends the match of a rule that
//! synchronises, or its preconditions, asks for the deletion of what the rule made for the object before.

mod make;
mod source_lookup;

use std::sync::Arc;

use kubewright_engine::{
    Applies, Effect, EvalError, Evaluation, ObjectWrite, RuleBranch, RuleId, RuleProgram, TraceVerdict,
    WriteVerb,
};
use kubewright_k8s::Operation;
use kubewright_value::{Document, Step, Text, Value};

use super::cel;
use super::conditions::ConditionSet;
use super::context::{CompiledContextEntry, VariableContext};
use super::evaluate::{
    CompiledException, Rooted, evaluate_preconditions, is_background_controller, is_guarded,
    matching_exceptions, request_subject,
};
use super::matching::MatchExclude;
use super::template::{VariableQuery, VariableTemplate};
use super::trace;
use kubewright_cel_rules::{DownstreamOrigin, DownstreamTrigger};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
pub(super) use make::BLOCK_KEY;

/// A compiled `generate` rule.
pub(super) struct GenerateRule {
    pub(super) id: Arc<RuleId>,
    /// The document of the policy, for locations.
    pub(super) document: Arc<Document>,
    pub(super) matcher: MatchExclude,
    pub(super) exceptions: Vec<CompiledException>,
    /// The webhook's match conditions, which apply in a cluster only.
    pub(super) gate: Arc<cel::CelPreconditions>,
    pub(super) skips_background_requests: bool,
    pub(super) entries: Vec<CompiledContextEntry>,
    pub(super) preconditions: Option<Rooted<ConditionSet>>,
    pub(super) downstreams: Vec<CompiledDownstream>,
    pub(super) synchronizes: bool,
    /// Whether a deletion is a trigger, because the rule lists that operation.
    pub(super) generates_on_delete: bool,
    pub(super) origin: DownstreamOrigin,
    /// Why it cannot run.
    pub(super) broken: Option<Text>,
}

/// What is made once, or for each element of a list.
pub(super) struct CompiledDownstream {
    pub(super) path: Vec<Step>,
    pub(super) each: Option<CompiledGenerateLoop>,
    /// The fields of the downstream below `generate`.
    pub(super) template: VariableTemplate,
}

/// A loop that makes objects.
pub(super) struct CompiledGenerateLoop {
    pub(super) list: VariableQuery,
    pub(super) entries: Vec<CompiledContextEntry>,
    pub(super) preconditions: Option<Rooted<ConditionSet>>,
}

/// What happens to the objects of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DownstreamFate {
    Made,
    Deleted,
}

impl RuleProgram for GenerateRule {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        if self.skips_background_requests && is_background_controller(&evaluation.request.user) {
            return Ok(Applies::OutOfScope("the background controller asks".into()));
        }
        let mut notes = TraceNotes::of(evaluation.tracer);
        let subject = request_subject(&self.id, object, evaluation);
        let reason = self.mismatch(&subject, evaluation, &mut notes);
        kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.document);
        let Some(reason) = reason? else { return Ok(Applies::Yes) };
        match self.before(evaluation) {
            Some(old) if self.mismatch(&old, evaluation, &mut TraceNotes::off())?.is_none() => {
                Ok(Applies::Yes)
            }
            _ => Ok(Applies::OutOfScope(reason)),
        }
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let mut notes = TraceNotes::of(evaluation.tracer);
        let subject = request_subject(&self.id, object, evaluation);
        let effect = self.run(&subject, evaluation, &mut notes);
        kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.document);
        effect
    }

    fn branches(&self) -> Vec<RuleBranch> {
        let branch =
            |(what, path): (String, Vec<Step>)| RuleBranch { what, location: self.document.locate(&path) };
        let conditions = self.preconditions.iter().flat_map(Rooted::branches);
        let loops = self.downstreams.iter().enumerate().filter(|(_, one)| one.each.is_some());
        let loops = loops.map(|(number, one)| (format!("foreach[{number}]"), one.path.clone()));
        conditions.chain(loops).map(branch).collect()
    }
}

impl GenerateRule {
    /// Returns why the rule is not about `object`; nothing where it is.
    fn mismatch(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Text>, EvalError> {
        let is_admission = evaluation.request.is_admission();
        if is_admission && !self.gate.is_empty() && !self.gate.are_met(object, evaluation, notes)? {
            return Ok(Some("the matchConditions of the webhook are not met".into()));
        }
        let operation = evaluation.request.operation;
        self.matcher.matches(object, operation, evaluation, notes)
    }

    /// Returns the object before an update, where it matters: only a rule that synchronises deletes anything.
    fn before(&self, evaluation: &Evaluation<'_>) -> Option<Value> {
        let request = evaluation.request;
        let is_known = request.operation == Operation::Update && !request.is_old_object_assumed;
        (self.synchronizes && is_known && !request.old_object.is_null()).then(|| request.old_object.clone())
    }

    fn run(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        if let Some(broken) = &self.broken {
            return Err(EvalError::new(broken.as_str()));
        }
        if self.mismatch(object, evaluation, &mut TraceNotes::off())?.is_some() {
            return self.end(evaluation, notes, "the object no longer matches the rule");
        }
        if let Some(skip) = self.excepted(object, evaluation, notes)? {
            return Ok(skip);
        }
        if evaluation.request.operation == Operation::Delete && !self.generates_on_delete {
            return match self.synchronizes {
                true => self.write(object, DownstreamFate::Deleted, evaluation, notes),
                false => Ok(Effect::NotReported("what was made stays when its trigger is deleted".into())),
            };
        }
        match self.unmet(object, evaluation, notes)? {
            None => self.write(object, DownstreamFate::Made, evaluation, notes),
            Some(reason) => match self.before(evaluation) {
                Some(old) if self.unmet(&old, evaluation, &mut TraceNotes::off())?.is_none() => {
                    self.end(evaluation, notes, "the preconditions are no longer met")
                }
                _ => Ok(Effect::Skip { message: reason, exceptions: Vec::new() }),
            },
        }
    }

    /// Returns the deletion of what was made for the object before the update.
    fn end(
        &self,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
        why: &'static str,
    ) -> Result<Effect, EvalError> {
        let Some(old) = self.before(evaluation) else { return Ok(Effect::NotReported(why.into())) };
        Ok(match self.write(&old, DownstreamFate::Deleted, evaluation, notes)? {
            Effect::Write { writes, .. } => Effect::Write { writes, message: why.into() },
            other => other,
        })
    }

    /// Returns why the preconditions are not met; nothing where they are.
    fn unmet(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Text>, EvalError> {
        let mut context = VariableContext::new(evaluation, object, &self.id);
        context.declare(&self.entries);
        evaluate_preconditions(self.preconditions.as_ref(), &mut context, notes)
    }

    /// Returns the skip of an object that exceptions excuse.
    fn excepted(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Effect>, EvalError> {
        let operation = evaluation.request.operation;
        let mut about = Vec::new();
        for exception in self.exceptions.iter().filter(|_| !is_guarded(evaluation.request)) {
            notes.open();
            let reason = exception.matcher.matches(object, operation, evaluation, notes);
            let is_about = matches!(reason, Ok(None));
            let is_whole = exception.conditions.is_none();
            notes.close(|| trace::exception_note(&exception.key, is_about, is_whole));
            reason?;
            if is_about {
                about.push(exception);
            }
        }
        let mut context = VariableContext::new(evaluation, object, &self.id);
        context.declare(&self.entries);
        let found = matching_exceptions(&about, &mut context, notes);
        let exceptions: Vec<Text> = found.iter().map(|exception| exception.key.clone()).collect();
        let message = format!("rule is skipped due to policy exception {}", exceptions.join(", "));
        Ok((!exceptions.is_empty()).then(|| Effect::Skip { message: message.into(), exceptions }))
    }

    /// Returns the writes of all downstreams of `object`. What fails in one loop does not stop the others.
    fn write(
        &self,
        object: &Value,
        fate: DownstreamFate,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let mut making = Making {
            rule: self,
            trigger: DownstreamTrigger::of(evaluation.request, object),
            world: evaluation.world,
            fate,
            writes: Vec::new(),
            errors: Vec::new(),
        };
        let mut context = VariableContext::new(evaluation, object, &self.id);
        context.declare(&self.entries);
        for one in &self.downstreams {
            making.add(one, &mut context, notes)?;
        }
        making.finish()
    }
}

/// Writes that are being made.
struct Making<'r, 'w> {
    rule: &'r GenerateRule,
    trigger: DownstreamTrigger,
    world: kubewright_engine::WorldView<'w>,
    fate: DownstreamFate,
    writes: Vec<ObjectWrite>,
    /// The errors of loops.
    errors: Vec<EvalError>,
}

impl<'r> Making<'r, '_> {
    /// Adds the objects of `one`.
    ///
    /// # Errors
    /// When it has no loop and cannot be made, or the rest cannot be either.
    fn add(
        &mut self,
        one: &'r CompiledDownstream,
        context: &mut VariableContext<'r>,
        notes: &mut TraceNotes,
    ) -> Result<(), EvalError> {
        let Some(each) = &one.each else {
            let made = self.objects(one, context)?;
            self.push(made, one, notes);
            return Ok(());
        };
        let elements = match context.find(&each.list) {
            Ok(found) => found,
            Err(unresolved) => {
                let within = format!("failed to evaluate list `{}`: ", each.list.text());
                return self.keep(unresolved.within(&within).into());
            }
        };
        let items = elements.items().unwrap_or_else(|| vec![elements.clone()]);
        context.budget().step(items.len() as u64)?;
        for (index, element) in items.iter().enumerate().filter(|(_, element)| !element.value.is_null()) {
            context.budget().step(STEPS_OF_AN_ELEMENT)?;
            context.checkpoint();
            notes.open();
            context.enter_sourced(element, index, 0);
            context.declare(&each.entries);
            let made = self.element(one, each, context, notes);
            context.restore();
            let verdict = element_verdict(&made);
            let result = match made {
                Ok(made) => {
                    self.push(made.unwrap_or_default(), one, notes);
                    Ok(())
                }
                Err(error) => self.keep(error),
            };
            notes.close(|| TraceNote {
                what: format!("element {index} of {}", each.list.text()),
                found: kubewright_engine::TraceNode::show(&element.value),
                verdict,
                at: one.path.clone(),
                ..TraceNote::default()
            });
            result?;
        }
        Ok(())
    }

    /// Returns the objects for an element; nothing where its preconditions are not met.
    fn element(
        &self,
        one: &'r CompiledDownstream,
        each: &'r CompiledGenerateLoop,
        context: &mut VariableContext<'r>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Vec<Value>>, EvalError> {
        match evaluate_preconditions(each.preconditions.as_ref(), context, notes)? {
            Some(_) => Ok(None),
            None => self.objects(one, context).map(Some),
        }
    }

    /// Remembers the error of a loop. One that may go away, or a limit, ends the rule.
    fn keep(&mut self, error: EvalError) -> Result<(), EvalError> {
        match error.kind.is_final() {
            true => {
                self.errors.push(error);
                Ok(())
            }
            false => Err(error),
        }
    }

    fn push(&mut self, made: Vec<Value>, one: &CompiledDownstream, notes: &mut TraceNotes) {
        let verb = match self.fate {
            DownstreamFate::Deleted => WriteVerb::Delete,
            DownstreamFate::Made if self.rule.synchronizes => WriteVerb::Apply,
            DownstreamFate::Made => WriteVerb::Create,
        };
        for object in made {
            let write = ObjectWrite::new(verb, object);
            notes.say(|| write_note(&write, &one.path));
            self.writes.push(write);
        }
    }

    fn finish(self) -> Result<Effect, EvalError> {
        let mut errors = self.errors.into_iter();
        let Some(mut error) = errors.next() else {
            return Ok(Effect::Write { writes: self.writes, message: Text::default() });
        };
        for other in errors {
            error.message.push_str("; ");
            error.message.push_str(&other.message);
        }
        Ok(Effect::WriteSome { writes: self.writes, error })
    }
}

/// The cost of entering and leaving an element, besides what it makes.
const STEPS_OF_AN_ELEMENT: u64 = 5;

fn element_verdict(made: &Result<Option<Vec<Value>>, EvalError>) -> TraceVerdict {
    match made {
        Ok(Some(_)) => TraceVerdict::Yes,
        Ok(None) => TraceVerdict::No,
        Err(_) => TraceVerdict::Error,
    }
}

/// Returns the trace text of a write. It shows no content, which may be a Secret's.
fn write_note(write: &ObjectWrite, path: &[Step]) -> TraceNote {
    TraceNote {
        what: write.title().to_string(),
        verdict: TraceVerdict::Done,
        at: path.to_vec(),
        ..TraceNote::default()
    }
}

#[cfg(test)]
mod tests;
