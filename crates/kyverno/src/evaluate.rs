//! One rule on one object: match, context, preconditions, exceptions, then the check itself.

mod before;
mod images;
mod lazy_body;
mod loops;
mod mutation;
pub(super) mod patterns;
mod read_fields;

pub(super) use images::ImageMutation;
pub(super) use lazy_body::LazyBody;
pub(super) use loops::ForeachLoop;

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_engine::{
    Applies, Effect, EvalError, Evaluation, OutcomeReason, RuleBranch, RuleId, RuleProgram,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Budget, Document, Exhausted, FieldSet, Location, PositionHint, Step, Text, Value};

use super::cel::{self, CelCheck};
use super::conditions::{ConditionSet, QuickInput};
use super::context::{CompiledContextEntry, Unresolved, VariableContext, overlaid};
use super::manifests::ManifestCheck;
use super::matching::{MatchExclude, Overrides};
use super::message::{RuleMessage, ViolationMessage};
use super::mutate::Mutation;
use super::pod_security::{CompiledExclusion, Profile};
use super::source::FailureAction;
use super::template::VariableTemplate;
use super::trace;
use super::verify_images::{ImageChecks, RecordKey};
use kubewright_dialect_kit::notes::TraceNotes;
use patterns::{AnyPattern, OnePattern};

/// A compiled rule.
pub(super) struct ValidateRule {
    pub(super) id: Arc<RuleId>,
    /// The document of the policy, for locations.
    pub(super) document: Arc<Document>,
    pub(super) matcher: MatchExclude,
    pub(super) body: LazyBody,
    pub(super) message: RuleMessage,
    pub(super) exceptions: Vec<CompiledException>,
    /// Only for traces.
    pub(super) near_exceptions: Vec<NearException>,
    pub(super) actions: FailureActions,
    pub(super) allows_existing_violations: bool,
    /// Whether a violation counts; otherwise it is a warning.
    pub(super) is_scored: bool,
    /// The webhook's match conditions, which apply in a cluster only.
    pub(super) gate: Arc<cel::CelPreconditions>,
    /// Whether requests of Kyverno's own background controller are skipped.
    pub(super) skips_background_requests: bool,
    /// The properties of rows in reports that have variables.
    pub(super) properties: Vec<(Text, VariableTemplate)>,
}

/// The context, preconditions and check of a rule or of one of its loops.
pub(super) struct RuleBody {
    pub(super) entries: Vec<CompiledContextEntry>,
    pub(super) preconditions: Option<Rooted<ConditionSet>>,
    pub(super) check: ValidateCheck,
}

/// How a rule checks.
pub(super) enum ValidateCheck {
    Pattern(OnePattern),
    AnyPattern(AnyPattern),
    Deny(Option<Rooted<ConditionSet>>),
    Foreach(Vec<ForeachLoop>),
    /// Of the whole object, and then of elements.
    Both(Box<[Self; 2]>),
    Cel(Box<CelCheck>),
    PodSecurity(Arc<Profile>),
    Manifests(Arc<ManifestCheck>),
    /// Nothing is checked; objects are changed.
    Mutate(Box<Mutation>),
    Images(Arc<ImageChecks>),
    /// A check that cannot run, and why.
    Impossible(Text),
}

/// A value and its path in the document.
#[derive(Clone)]
pub(super) struct Rooted<T> {
    pub(super) value: T,
    pub(super) path: Vec<Step>,
}

/// The failure action, with its overrides.
pub(super) struct FailureActions {
    /// Of the rule, then of the policy.
    pub(super) overrides: [Overrides; 2],
    pub(super) rule: Option<FailureAction>,
    pub(super) policy: FailureAction,
}

/// An exception from the rule.
pub(super) struct CompiledException {
    pub(super) key: Text,
    pub(super) location: Location,
    pub(super) document: Arc<Document>,
    pub(super) matcher: MatchExclude,
    pub(super) conditions: Option<Rooted<ConditionSet>>,
    /// The exclusions from the Pod Security Standards; without any, the whole rule is skipped.
    pub(super) pod_security: Vec<CompiledExclusion>,
}

/// An exception from other rules of the policy, for those who expect it to be from this one.
pub(super) struct NearException {
    pub(super) key: Text,
    /// The name of this rule.
    pub(super) rule: Text,
    /// The rules that it names.
    pub(super) named: Vec<Text>,
    pub(super) location: Location,
}

/// The checked value: the whole object, or an element of a loop.
#[derive(Clone, Copy)]
struct CheckedObject<'a> {
    object: &'a Value,
    is_element: bool,
    /// How many loops it is in.
    nesting: usize,
    /// Whether a look at its values, when the rule was matched, could not tell that it fits the pattern.
    may_not_fit: bool,
}

impl<'a> CheckedObject<'a> {
    /// Returns whether it is `element` that is checked.
    fn is_same_element(&self, element: &Value) -> bool {
        std::ptr::eq(self.object, element)
    }

    fn whole(object: &'a Value) -> Self {
        Self { object, is_element: false, nesting: 0, may_not_fit: false }
    }
}

/// The result of a check.
#[derive(Debug)]
pub(super) enum CheckVerdict {
    Pass(Text),
    Skip(Text),
    /// The check was skipped.
    Nothing(Text),
    Fail(RuleViolation),
    Error(EvalError),
}

/// A violation.
#[derive(Debug)]
pub(super) struct RuleViolation {
    pub(super) message: String,
    /// The message as its author wrote it, where it is not the rule's own.
    pub(super) template: Text,
    /// The path in the checked value, as far as it is known.
    pub(super) path: Vec<Step>,
    pub(super) from: PathOrigin,
    /// In the document of the rule; empty when it is the whole rule.
    pub(super) at: Vec<Step>,
    /// Properties of the row in reports.
    pub(super) properties: Vec<(Text, Text)>,
    /// The violation in plain words.
    pub(super) reason: Option<Box<OutcomeReason>>,
}

/// Where the path of a failure starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathOrigin {
    /// At the element of the loop, or at the object outside of loops.
    Element,
    /// The path of the loop's list.
    Subject,
    /// At the object.
    Object,
}

impl RuleViolation {
    pub(super) fn new(message: String) -> Self {
        Self {
            message,
            template: Text::default(),
            path: Vec::new(),
            from: PathOrigin::Element,
            at: Vec::new(),
            properties: Vec::new(),
            reason: None,
        }
    }
}

impl RuleProgram for ValidateRule {
    fn message(&self) -> &str {
        match (&self.body.check, self.message.text().as_str()) {
            (ValidateCheck::Cel(check), "") => check.message(),
            (_, message) => message,
        }
    }

    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        let applies = self.is_about(object, evaluation);
        applies.map_err(|error| self.tolerated(error, evaluation))
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let mut notes = TraceNotes::of(evaluation.tracer);
        let subject = self.subject(object, evaluation);
        if let ValidateCheck::Mutate(mutation) = &self.body.check {
            let effect = self.mutate(mutation, object, &subject, evaluation, &mut notes);
            kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.document);
            return effect;
        }
        let result = self.run(&subject, evaluation, &mut notes);
        self.add_properties(&subject, evaluation);
        if notes.is_on() {
            kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.document);
        }
        let effect = match result {
            ValidateRun::Excepted(effect) => Ok(effect),
            ValidateRun::Checked(verdict) => self.effect(verdict, evaluation),
        };
        effect.map_err(|error| self.tolerated(error, evaluation))
    }

    fn add_read_fields(&self, fields: &mut FieldSet) {
        self.add_fields(fields);
    }

    fn branches(&self) -> Vec<RuleBranch> {
        let mut found = Vec::new();
        self.body.branches(&mut found);
        let branch =
            |(what, path): (String, Vec<Step>)| RuleBranch { what, location: self.document.locate(&path) };
        found.into_iter().map(branch).collect()
    }
}

enum ValidateRun {
    Excepted(Effect),
    Checked(CheckVerdict),
}

impl ValidateRule {
    /// Adds the properties of the row in reports. One that cannot be resolved is left out: it decides nothing.
    fn add_properties(&self, object: &Value, evaluation: &mut Evaluation<'_>) {
        if self.properties.is_empty() {
            return;
        }
        let mut context = VariableContext::new(evaluation, object, &self.id);
        context.declare(&self.body.entries);
        let resolved = |(name, template): &(Text, VariableTemplate)| {
            Some((name.clone(), template.resolve_text(&mut context).ok()?))
        };
        let properties: Vec<(Text, Text)> = self.properties.iter().filter_map(resolved).collect();
        evaluation.properties.extend(properties);
    }

    /// Returns `error`, which lets the request pass where a violation would.
    fn tolerated(&self, error: EvalError, evaluation: &mut Evaluation<'_>) -> EvalError {
        let is_tolerated =
            error.is_tolerated || matches!(self.actions.effective(evaluation), Ok(FailureAction::Audit));
        EvalError { is_tolerated, ..error }
    }

    fn is_about(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        if self.skips_background_requests && is_background_controller(&evaluation.request.user) {
            return Ok(Applies::OutOfScope("the background controller asks".into()));
        }
        if evaluation.request.operation == Operation::Delete && self.ignores_deletions() {
            return Ok(Applies::OutOfScope("an object that is deleted is not changed".into()));
        }
        let mut notes = TraceNotes::of(evaluation.tracer);
        let operation = evaluation.request.operation;
        let subject = request_subject(&self.id, object, evaluation);
        let reason = match self.is_gated(&subject, evaluation, &mut notes)? {
            true => Some("the matchConditions of the webhook are not met".into()),
            false => self.matcher.matches(&subject, operation, evaluation, &mut notes)?,
        };
        if notes.is_on() {
            kubewright_dialect_kit::trace::emit_notes(&mut notes, evaluation.tracer, &self.document);
        }
        Ok(match reason {
            None if !notes.is_on() && self.surely_passes(&subject, evaluation) => Applies::NotViolated,
            None => Applies::Yes,
            Some(reason) => Applies::OutOfScope(reason),
        })
    }

    /// Returns whether `object`, which the rule is about, passes by a look at its values alone, and nothing shows more of it
    /// than that. Most objects of a cluster pass most rules.
    fn surely_passes(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> bool {
        let is_deletion = evaluation.request.operation == Operation::Delete;
        if !self.is_told_by_values(evaluation.wants_pass_message, is_deletion) {
            return false;
        }
        // What takes too long is evaluated, which says so.
        if self.is_pattern_alone() {
            return self.body.check.surely_fits(object, evaluation.budget).unwrap_or_default();
        }
        // Variables may be those of the caller.
        evaluation.world.overrides(&self.id, evaluation.request).is_empty() && {
            let input = QuickInput { object, element: None, derived: evaluation.derived() };
            self.body.surely_passes(input, evaluation.budget) == Some(true)
        }
    }

    /// Returns whether it is looked whether an object [surely passes](Self::surely_passes).
    fn is_told_by_values(&self, wants_pass_message: bool, is_deletion: bool) -> bool {
        !wants_pass_message
            && !is_deletion
            && self.body.entries.is_empty()
            && self.exceptions.is_empty()
            && self.properties.is_empty()
    }

    /// Returns whether all that the rule does is to compare with a pattern.
    #[inline]
    fn is_pattern_alone(&self) -> bool {
        self.body.preconditions.is_none() && self.body.check.is_pattern()
    }

    /// Returns whether the object was compared with the pattern when the rule was matched, and surely fitted it not.
    fn was_compared(&self, context: &VariableContext<'_>) -> bool {
        self.is_pattern_alone() && self.is_told_by_values(context.wants_pass_message, context.is_deletion())
    }

    /// Returns whether the rule changes objects and so has nothing to do when one is deleted.
    fn ignores_deletions(&self) -> bool {
        matches!(&self.body.check, ValidateCheck::Mutate(mutation) if !mutation.is_for_deletions)
    }

    /// Returns the evaluated object: that of the request, with the caller's values.
    fn subject(&self, object: &Value, evaluation: &Evaluation<'_>) -> Value {
        request_subject(&self.id, object, evaluation).into_owned()
    }

    /// Returns whether the webhook's match conditions exclude the request. Outside a cluster there is no webhook.
    fn is_gated(
        &self,
        object: &Value,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, EvalError> {
        let is_admission = evaluation.request.is_admission();
        Ok(is_admission && !self.gate.is_empty() && !self.gate.are_met(object, evaluation, notes)?)
    }

    fn run(&self, object: &Value, evaluation: &mut Evaluation<'_>, notes: &mut TraceNotes) -> ValidateRun {
        let excepted = match self.excepted(object, evaluation, notes) {
            Ok(excepted) => excepted,
            Err(error) => return ValidateRun::Checked(CheckVerdict::Error(error)),
        };
        let mut context = VariableContext::new(evaluation, object, &self.id);
        context.declare(&self.body.entries);
        match self.body.precondition(&mut context, notes) {
            Ok(None) => {}
            Ok(Some(skip)) => return ValidateRun::Checked(CheckVerdict::Skip(skip)),
            Err(error) => return ValidateRun::Checked(CheckVerdict::Error(error)),
        }
        let exceptions = matching_exceptions(&excepted, &mut context, notes);
        let ran = match &self.body.check {
            // It queries the world itself.
            ValidateCheck::Cel(cel) if exceptions.is_empty() => {
                ValidateRun::Checked(cel.check(&self.message.passed, object, evaluation, notes))
            }
            // A bad signature before the update is not excused, because the old object was not verified either.
            ValidateCheck::Manifests(manifests) if exceptions.is_empty() => {
                return ValidateRun::Checked(manifests.check(object, evaluation, notes));
            }
            // Images that were there before are left out by the check itself.
            ValidateCheck::Images(images) if exceptions.is_empty() => {
                let key = RecordKey { policy: &self.id.policy, rule: &self.id.rule };
                return ValidateRun::Checked(images.validate(object, key, &mut context, notes));
            }
            _ => self.unless_excepted(object, &exceptions, &mut context, notes),
        };
        match ran {
            ValidateRun::Checked(verdict) => ValidateRun::Checked(self.forgiven(verdict, evaluation, notes)),
            excepted @ ValidateRun::Excepted(_) => excepted,
        }
    }

    /// Checks `object`, as far as `exceptions` leave anything to check.
    fn unless_excepted<'a>(
        &'a self,
        object: &Value,
        exceptions: &[&CompiledException],
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> ValidateRun {
        let ValidateCheck::PodSecurity(profile) = &self.body.check else {
            if exceptions.is_empty() {
                return ValidateRun::Checked(self.check(
                    &self.body.check,
                    CheckedObject { may_not_fit: self.was_compared(context), ..CheckedObject::whole(object) },
                    context,
                    notes,
                ));
            }
            return skip_for_exceptions("rule is skipped due to policy exceptions", exceptions);
        };
        if context.is_deletion() {
            return ValidateRun::Checked(CheckVerdict::Nothing(
                "Pod Security is not checked on DELETE".into(),
            ));
        }
        if let Some(whole) = exceptions.iter().find(|exception| exception.pod_security.is_empty()) {
            return skip_for_exceptions("rule is skipped due to policy exception ", &[whole]);
        }
        let excused = exceptions.iter().flat_map(|exception| &exception.pod_security);
        match profile.check(object, &self.message, excused, context.budget(), notes) {
            Some(verdict) => ValidateRun::Checked(verdict),
            None => skip_for_exceptions("rule is skipped due to policy exceptions ", exceptions),
        }
    }

    /// Checks `subject`.
    fn check<'a>(
        &'a self,
        check: &'a ValidateCheck,
        subject: CheckedObject<'_>,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        match check {
            ValidateCheck::Pattern(_) | ValidateCheck::AnyPattern(_)
                if context.is_deletion() && !subject.is_element =>
            {
                CheckVerdict::Nothing("patterns are not checked on DELETE".into())
            }
            ValidateCheck::Pattern(pattern) => pattern.check(subject, &self.message, context, notes),
            ValidateCheck::AnyPattern(patterns) => patterns.check(subject, &self.message, context, notes),
            ValidateCheck::Deny(conditions) => self.deny(conditions.as_ref(), context, notes),
            ValidateCheck::Foreach(loops) => self.loops(loops, subject, context, notes),
            ValidateCheck::Both(both) => self.both(both, subject, context, notes),
            ValidateCheck::Cel(_) => CheckVerdict::Error(EvalError::new("CEL in a loop")),
            // Present only where exceptions are evaluated first.
            ValidateCheck::PodSecurity(_) => {
                CheckVerdict::Nothing("Pod Security is checked on whole objects".into())
            }
            ValidateCheck::Manifests(_) => CheckVerdict::Error(EvalError::new("manifests in a loop")),
            ValidateCheck::Mutate(_) => CheckVerdict::Error(EvalError::new("mutate in a loop")),
            ValidateCheck::Images(_) => CheckVerdict::Error(EvalError::new("images in a loop")),
            ValidateCheck::Impossible(reason) => CheckVerdict::Error(EvalError::new(reason.as_str())),
        }
    }

    /// Runs two checks; the second is left out where the first fails. A skipped check does not affect the other.
    fn both<'a>(
        &'a self,
        [whole, loops]: &'a [ValidateCheck; 2],
        subject: CheckedObject<'_>,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        let first = self.check(whole, subject, context, notes);
        if matches!(first, CheckVerdict::Fail(_) | CheckVerdict::Error(_)) {
            return first;
        }
        match (first, self.check(loops, subject, context, notes)) {
            (
                first @ (CheckVerdict::Pass(_) | CheckVerdict::Skip(_)),
                CheckVerdict::Skip(_) | CheckVerdict::Nothing(_),
            ) => first,
            (_, second) => second,
        }
    }

    fn deny(
        &self,
        conditions: Option<&Rooted<ConditionSet>>,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        let Some(conditions) = conditions else {
            let message = self.message.denied(None, context);
            let reason = context.wants_reason.then(|| denied_reason(&message));
            return CheckVerdict::Fail(RuleViolation { reason, ..RuleViolation::new(message.text) });
        };
        let (mark, path) = (notes.mark(), &conditions.path);
        notes.open();
        let result = conditions.value.evaluate(context, notes);
        notes.close(|| trace::deny_note(&result));
        notes.rebase(mark, path);
        match result {
            Err(unresolved) => {
                CheckVerdict::Error(step_error("failed to check deny conditions", unresolved.below(path)))
            }
            Ok(verdict) if !verdict.holds => {
                CheckVerdict::Pass(context.pass_message(|| self.message.passed.clone()))
            }
            Ok(verdict) => {
                let message = self.message.denied(Some(&verdict), context);
                let template = self.message.written_with(&verdict);
                let (at, looked_at) = match context.wants_places {
                    true => ([path.as_slice(), verdict.at()].concat(), verdict.looked_at()),
                    false => (Vec::new(), None),
                };
                let from = match &looked_at {
                    Some(found) if !found.is_element => PathOrigin::Object,
                    _ => PathOrigin::Element,
                };
                let path = looked_at.map(|found| found.path).unwrap_or_default();
                let reason = context.wants_reason.then(|| denied_reason(&message));
                CheckVerdict::Fail(RuleViolation {
                    template,
                    path,
                    from,
                    at,
                    reason,
                    ..RuleViolation::new(message.text)
                })
            }
        }
    }

    /// Returns the exceptions that match `object`.
    fn excepted(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vec<&CompiledException>, EvalError> {
        let operation = evaluation.request.operation;
        let mut found = Vec::new();
        if is_guarded(evaluation.request) {
            return Ok(found);
        }
        for near in &self.near_exceptions {
            notes.say(|| near.note());
        }
        for exception in &self.exceptions {
            let mark = notes.mark();
            notes.open();
            let reason = exception.matcher.matches(object, operation, evaluation, notes);
            let is_about = matches!(reason, Ok(None));
            let is_whole = exception.pod_security.is_empty() && exception.conditions.is_none();
            notes.close(|| trace::exception_note(&exception.key, is_about, is_whole));
            notes.place_elsewhere(mark, &exception.document, &exception.location);
            reason?;
            if is_about {
                found.push(exception);
            }
        }
        Ok(found)
    }

    /// Returns `error` with the location of its place in the document, where that is known.
    fn placed(&self, error: EvalError) -> EvalError {
        let at = error.reason.as_ref().map(|reason| reason.at.as_slice()).unwrap_or_default();
        let location = (!at.is_empty()).then(|| self.document.locate(at));
        match location {
            Some(location) => error.at(location),
            None => error,
        }
    }

    fn effect(&self, verdict: CheckVerdict, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        Ok(match verdict {
            CheckVerdict::Pass(message) => Effect::Pass(message),
            CheckVerdict::Skip(message) => Effect::Skip { message, exceptions: Vec::new() },
            CheckVerdict::Nothing(reason) => Effect::NotReported(reason),
            CheckVerdict::Error(error) => return Err(self.placed(error)),
            CheckVerdict::Fail(RuleViolation { message, template, path, at, properties, reason, .. }) => {
                evaluation.properties.extend(properties);
                evaluation.reason = reason;
                let template = if template.is_empty() { self.message.text().clone() } else { template };
                let is_refusal = self.actions.effective(evaluation)? == FailureAction::Enforce;
                let has_place = evaluation.wants_places && !at.is_empty();
                let location = has_place.then(|| self.document.locate(&at));
                match self.is_scored {
                    true => Effect::Fail { message, template, path, denial: None, is_refusal, location },
                    false => Effect::Warn { message, template, path, is_refusal, location },
                }
            }
        })
    }
}

impl RuleBody {
    /// Returns nothing when the preconditions are met, otherwise why the rule is skipped.
    fn precondition(
        &self,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Text>, EvalError> {
        evaluate_preconditions(self.preconditions.as_ref(), context, notes)
    }

    /// Returns whether what is in `input` surely passes, or that it is surely skipped; nothing where neither is sure.
    fn surely_passes(&self, input: QuickInput<'_>, budget: &mut Budget) -> Option<bool> {
        if !self.entries.is_empty() {
            return None;
        }
        if let Some(preconditions) = &self.preconditions
            && !preconditions.value.surely_hold(input, budget)?
        {
            return Some(false);
        }
        let passes = match &self.check {
            ValidateCheck::Pattern(_) | ValidateCheck::AnyPattern(_) if input.element.is_none() => {
                self.check.surely_fits(input.object, budget).ok()?
            }
            ValidateCheck::Deny(Some(conditions)) => !conditions.value.surely_hold(input, budget)?,
            ValidateCheck::Foreach(loops) if input.element.is_none() => {
                loops::surely_pass(loops, input, budget)?
            }
            _ => false,
        };
        passes.then_some(true)
    }

    fn branches(&self, into: &mut Vec<(String, Vec<Step>)>) {
        if let Some(conditions) = &self.preconditions {
            into.extend(conditions.branches());
        }
        self.check.branches(into);
    }
}

impl ValidateCheck {
    /// Returns whether it compares with one or several patterns.
    fn is_pattern(&self) -> bool {
        matches!(self, Self::Pattern(_) | Self::AnyPattern(_))
    }

    /// Returns whether `object` surely fits a pattern; otherwise it may or may not.
    fn surely_fits(&self, object: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        match self {
            ValidateCheck::Pattern(pattern) => pattern.surely_fits(object, budget),
            ValidateCheck::AnyPattern(patterns) => patterns.surely_fits(object, budget),
            _ => Ok(false),
        }
    }

    fn branches(&self, into: &mut Vec<(String, Vec<Step>)>) {
        match self {
            ValidateCheck::Both(both) => both.iter().for_each(|one| one.branches(into)),
            ValidateCheck::Pattern(pattern) => into.extend(pattern.branches()),
            ValidateCheck::AnyPattern(patterns) => into.extend(patterns.branches()),
            ValidateCheck::Deny(Some(conditions)) => into.extend(conditions.branches()),
            ValidateCheck::Foreach(loops) => {
                for (i, one) in loops.iter().enumerate() {
                    into.push((format!("foreach[{i}]"), one.path.clone()));
                    one.body.branches(into);
                }
            }
            ValidateCheck::Cel(cel) => into.extend(cel.branches()),
            ValidateCheck::PodSecurity(profile) => into.extend(profile.branches()),
            ValidateCheck::Manifests(manifests) => into.extend(manifests.branches()),
            ValidateCheck::Mutate(mutation) => mutation.branches(into),
            ValidateCheck::Images(images) => into.extend(images.branches()),
            ValidateCheck::Deny(None) | ValidateCheck::Impossible(_) => {}
        }
    }
}

impl Rooted<ConditionSet> {
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let below = |path: Vec<Step>| self.path.iter().cloned().chain(path).collect();
        self.value.branches().into_iter().map(|(what, path)| (what, below(path))).collect()
    }
}

impl FailureActions {
    /// Returns the failure action for the object of the request.
    fn effective(&self, evaluation: &mut Evaluation<'_>) -> Result<FailureAction, EvalError> {
        let [of_rule, of_policy] = &self.overrides;
        if let Some(action) = of_rule.action(evaluation)? {
            return Ok(action);
        }
        if let Some(action) = self.rule {
            return Ok(action);
        }
        Ok(of_policy.action(evaluation)?.unwrap_or(self.policy))
    }
}

/// Returns the evaluated object of `rule`: that of the request, with the caller's values.
pub(super) fn request_subject<'o>(
    rule: &RuleId,
    object: &'o Value,
    evaluation: &Evaluation<'_>,
) -> Cow<'o, Value> {
    let given = evaluation.world.overrides(rule, evaluation.request);
    if given.is_empty() {
        return Cow::Borrowed(object);
    }
    let key = match evaluation.request.operation {
        Operation::Delete => "oldObject",
        _ => "object",
    };
    Cow::Owned(overlaid(object, key, given))
}

/// Returns nothing when preconditions are met, otherwise why what they belong to is skipped.
pub(super) fn evaluate_preconditions(
    preconditions: Option<&Rooted<ConditionSet>>,
    context: &mut VariableContext<'_>,
    notes: &mut TraceNotes,
) -> Result<Option<Text>, EvalError> {
    let Some(conditions) = preconditions else { return Ok(None) };
    let mark = notes.mark();
    notes.open();
    let result = conditions.value.evaluate(context, notes);
    notes.close(|| trace::conditions_note("preconditions", &result));
    notes.rebase(mark, &conditions.path);
    let verdict = result.map_err(|unresolved| {
        step_error("failed to evaluate preconditions", unresolved.below(&conditions.path))
    })?;
    Ok(match (verdict.holds, verdict.text().as_str()) {
        (true, _) => None,
        (false, "") => Some("preconditions not met".into()),
        (false, messages) => Some(format!("preconditions not met; {messages}").into()),
    })
}

/// Returns the exceptions whose conditions hold. One that cannot be answered makes no exception.
pub(super) fn matching_exceptions<'e>(
    about: &[&'e CompiledException],
    context: &mut VariableContext<'_>,
    notes: &mut TraceNotes,
) -> Vec<&'e CompiledException> {
    let mut found = Vec::new();
    for exception in about {
        let is_met = match &exception.conditions {
            None => true,
            Some(conditions) => {
                let mark = notes.mark();
                let is_met = conditions.value.evaluate(context, notes).is_ok_and(|verdict| verdict.holds);
                notes.rebase(mark, &conditions.path);
                notes.place_elsewhere(mark, &exception.document, &exception.location);
                is_met
            }
        };
        if is_met {
            found.push(*exception);
        }
    }
    found
}

/// Returns a denial in plain words.
fn denied_reason(message: &ViolationMessage) -> Box<OutcomeReason> {
    let (text, help) = (message.text.clone(), message.help.clone());
    Box::new(OutcomeReason { text, help, ..OutcomeReason::default() })
}

/// Returns that `exceptions` are why the rule is skipped.
fn skip_for_exceptions(because: &str, exceptions: &[&CompiledException]) -> ValidateRun {
    ValidateRun::Excepted(exception_effect(because, exceptions))
}

fn exception_effect(because: &str, exceptions: &[&CompiledException]) -> Effect {
    let exceptions: Vec<Text> = exceptions.iter().map(|exception| exception.key.clone()).collect();
    let message = format!("{because}{}", exceptions.join(", "));
    Effect::Skip { message: message.into(), exceptions }
}

/// Returns the error of a step that could not be done because something is unresolved.
pub(super) fn step_error(step: &str, unresolved: Unresolved) -> EvalError {
    unresolved.into_error(step)
}

/// Returns whether a request changes exceptions, or objects that keep rules in force, such as webhook configurations
/// and RBAC: exceptions never apply to these.
pub(super) fn is_guarded(request: &AdmissionRequest) -> bool {
    const GROUPS: [&str; 4] =
        ["kyverno.io", "policies.kyverno.io", "admissionregistration.k8s.io", "rbac.authorization.k8s.io"];
    request.is_admission() && GROUPS.contains(&request.kind.group.as_str())
}

/// Returns whether the user is Kyverno's background controller, which applies other policies.
pub(super) fn is_background_controller(user: &Value) -> bool {
    // Every rule asks.
    static NAME_POSITION: PositionHint = PositionHint::new();
    let name = user.as_object().and_then(|user| NAME_POSITION.get(user, "username")?.as_str());
    name == Some("system:serviceaccount:kyverno:kyverno-background-controller")
}

#[cfg(test)]
mod tests;
