//! One rule on one object: match, context, preconditions, exceptions, then the check itself.

pub(super) mod patterns;

use std::sync::Arc;

use kubewright_engine::{
    Answer, Applies, Branch, Effect, EvalError, EvalErrorKind, Evaluation, Memory, Operation,
    Query as WorldQuery, Request, RequestProgram, RuleId, Tracer, World,
};
use kubewright_value::{Document, Map, Step, Text, Value};

use super::conditions::Conditions;
use super::context::{Context, Entry, Sourced, Unresolved, overlaid};
use super::matching::{Matcher, Overrides};
use super::message::Message;
use super::notes::Notes;
use super::pod_security::{Exclusion, Profile};
use super::source::Action;
use super::template::Query;
use super::trace;
use patterns::{AnyPattern, OnePattern};

/// A compiled rule.
pub(super) struct Judge {
    pub(super) id: Arc<RuleId>,
    /// Where everything in it stands.
    pub(super) document: Arc<Document>,
    /// Of a namespaced policy.
    pub(super) home: Option<Text>,
    pub(super) matcher: Matcher,
    pub(super) body: Body,
    pub(super) message: Message,
    pub(super) exceptions: Vec<Exception>,
    pub(super) actions: Actions,
    pub(super) allows_existing_violations: bool,
    /// Whether a violation counts; otherwise it is a warning.
    pub(super) is_scored: bool,
}

/// What is loaded, asked and checked: of a rule, or of one loop of it.
pub(super) struct Body {
    pub(super) entries: Vec<Entry>,
    pub(super) preconditions: Option<Rooted<Conditions>>,
    pub(super) check: Check,
}

/// How a rule checks.
pub(super) enum Check {
    Pattern(OnePattern),
    AnyPattern(AnyPattern),
    Deny(Option<Rooted<Conditions>>),
    Foreach(Vec<Loop>),
    PodSecurity(Arc<Profile>),
    /// What cannot run, and why.
    Impossible(Text),
}

/// One loop.
pub(super) struct Loop {
    pub(super) path: Vec<Step>,
    pub(super) list: Query,
    /// The keys from the object to the list, where the list is a plain path.
    pub(super) keys: Option<Vec<Step>>,
    pub(super) element_scope: Option<bool>,
    pub(super) body: Body,
}

/// Something and where it stands in the document.
pub(super) struct Rooted<T> {
    pub(super) value: T,
    pub(super) path: Vec<Step>,
}

/// What a violation leads to, and where.
pub(super) struct Actions {
    /// Of the rule, then of the policy.
    pub(super) overrides: [Overrides; 2],
    pub(super) rule: Option<Action>,
    pub(super) policy: Action,
}

/// An exception from the rule.
pub(super) struct Exception {
    pub(super) key: Text,
    pub(super) matcher: Matcher,
    pub(super) conditions: Option<Conditions>,
    /// What it excludes from the Pod Security Standards; without any, it excuses the whole rule.
    pub(super) pod_security: Vec<Exclusion>,
}

/// What is checked: the whole object, or an element of a loop.
#[derive(Clone, Copy)]
struct Subject<'a> {
    object: &'a Value,
    is_element: bool,
    /// How many loops it is in.
    nesting: usize,
}

impl<'a> Subject<'a> {
    /// Returns whether it is `element` that is checked.
    fn is_same_element(&self, element: &Value) -> bool {
        std::ptr::eq(self.object, element)
    }

    fn whole(object: &'a Value) -> Self {
        Self { object, is_element: false, nesting: 0 }
    }
}

/// What came of a check.
#[derive(Debug)]
pub(super) enum Verdict {
    Pass(Text),
    Skip(Text),
    /// There is nothing to say.
    Nothing(Text),
    Fail(Failure),
    Error(EvalError),
}

/// A violation.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) message: String,
    /// In what was checked, as far as it is known.
    pub(super) path: Vec<Step>,
    pub(super) from: From,
    /// In the document of the rule; empty when it is the whole rule.
    pub(super) at: Vec<Step>,
}

/// Where the path of a failure starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// At the element of the loop, or at the object outside of loops.
    Element,
    /// At what the loop itself is about.
    Subject,
    /// At the object.
    Object,
}

impl Failure {
    fn new(message: String) -> Self {
        Self { message, path: Vec::new(), from: From::Element, at: Vec::new() }
    }
}

impl RequestProgram for Judge {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        let mut notes = notes(evaluation.tracer);
        let operation = evaluation.request.operation;
        let subject = self.subject(object, evaluation);
        let reason = self.matcher.matches(&subject, operation, evaluation, &mut notes)?;
        trace::tell(&mut notes, evaluation.tracer, &self.document);
        Ok(match reason {
            None => Applies::Yes,
            Some(reason) => Applies::Outside(reason),
        })
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let mut notes = notes(evaluation.tracer);
        let subject = self.subject(object, evaluation);
        let result = self.run(&subject, evaluation, &mut notes);
        trace::tell(&mut notes, evaluation.tracer, &self.document);
        match result {
            Ran::Excepted(effect) => Ok(effect),
            Ran::Checked(verdict) => self.effect(verdict, evaluation),
        }
    }

    fn branches(&self) -> Vec<Branch> {
        let mut found = Vec::new();
        self.body.branches(&mut found);
        let branch =
            |(what, path): (String, Vec<Step>)| Branch { what, location: self.document.locate(&path) };
        found.into_iter().map(branch).collect()
    }
}

enum Ran {
    Excepted(Effect),
    Checked(Verdict),
}

impl Judge {
    /// Returns the object that is judged: the one of the request, with what the caller puts into it.
    fn subject(&self, object: &Value, evaluation: &Evaluation<'_>) -> Value {
        let given = evaluation.world.given(&self.id, evaluation.request);
        if given.is_empty() {
            return object.clone();
        }
        let key = match evaluation.request.operation {
            Operation::Delete => "oldObject",
            _ => "object",
        };
        overlaid(object, key, given)
    }

    fn run(&self, object: &Value, evaluation: &mut Evaluation<'_>, notes: &mut Notes) -> Ran {
        let excepted = match self.excepted(object, evaluation, notes) {
            Ok(excepted) => excepted,
            Err(error) => return Ran::Checked(Verdict::Error(error)),
        };
        let mut context = Context::new(evaluation, object, &self.id, self.home.as_ref());
        context.declare(&self.body.entries);
        match self.body.precondition(&mut context, notes) {
            Ok(None) => {}
            Ok(Some(skip)) => return Ran::Checked(Verdict::Skip(skip)),
            Err(error) => return Ran::Checked(Verdict::Error(error)),
        }
        let exceptions = exceptions(&excepted, &mut context, notes);
        match self.unless_excepted(object, &exceptions, &mut context, notes) {
            Ran::Checked(verdict) => Ran::Checked(self.forgiven(verdict, evaluation)),
            excepted @ Ran::Excepted(_) => excepted,
        }
    }

    /// Checks `object`, as far as `exceptions` leave anything to check.
    fn unless_excepted<'a>(
        &'a self,
        object: &Value,
        exceptions: &[&Exception],
        context: &mut Context<'a>,
        notes: &mut Notes,
    ) -> Ran {
        let Check::PodSecurity(profile) = &self.body.check else {
            if exceptions.is_empty() {
                return Ran::Checked(self.check(&self.body.check, Subject::whole(object), context, notes));
            }
            return skipped("rule is skipped due to policy exceptions", exceptions);
        };
        if context.is_deletion() {
            return Ran::Checked(Verdict::Nothing("Pod Security is not checked on DELETE".into()));
        }
        if let Some(whole) = exceptions.iter().find(|exception| exception.pod_security.is_empty()) {
            return skipped("rule is skipped due to policy exception ", &[whole]);
        }
        let excused = exceptions.iter().flat_map(|exception| &exception.pod_security);
        match profile.check(object, &self.message, excused, context.budget(), notes) {
            Some(verdict) => Ran::Checked(verdict),
            None => skipped("rule is skipped due to policy exceptions ", exceptions),
        }
    }

    /// Checks what `subject` is about.
    fn check<'a>(
        &'a self,
        check: &'a Check,
        subject: Subject<'_>,
        context: &mut Context<'a>,
        notes: &mut Notes,
    ) -> Verdict {
        match check {
            Check::Pattern(_) | Check::AnyPattern(_) if context.is_deletion() && !subject.is_element => {
                Verdict::Nothing("patterns are not checked on DELETE".into())
            }
            Check::Pattern(pattern) => pattern.check(subject.object, &self.message, context, notes),
            Check::AnyPattern(patterns) => patterns.check(subject.object, &self.message, context, notes),
            Check::Deny(conditions) => self.deny(conditions.as_ref(), context, notes),
            Check::Foreach(loops) => self.loops(loops, subject, context, notes),
            // Stands only where exceptions are asked first.
            Check::PodSecurity(_) => Verdict::Nothing("Pod Security is checked on whole objects".into()),
            Check::Impossible(reason) => Verdict::Error(EvalError::new(reason.as_str())),
        }
    }

    fn deny(
        &self,
        conditions: Option<&Rooted<Conditions>>,
        context: &mut Context<'_>,
        notes: &mut Notes,
    ) -> Verdict {
        let Some(conditions) = conditions else {
            return Verdict::Fail(Failure::new(self.message.denied(None, context)));
        };
        let (mark, path) = (notes.mark(), &conditions.path);
        notes.open();
        let result = conditions.value.evaluate(context, notes);
        notes.close(|| trace::conditions("deny", &result));
        notes.rebase(mark, path);
        match result {
            Err(unresolved) => Verdict::Error(failed("failed to check deny conditions", unresolved)),
            Ok(verdict) if !verdict.holds => Verdict::Pass(self.message.passed.clone()),
            Ok(verdict) => {
                let message = self.message.denied(Some(&verdict), context);
                let at = [path.as_slice(), verdict.at()].concat();
                let looked_at = verdict.looked_at();
                let from = match &looked_at {
                    Some(found) if !found.is_element => From::Object,
                    _ => From::Element,
                };
                let path = looked_at.map(|found| found.path).unwrap_or_default();
                Verdict::Fail(Failure { message, path, from, at })
            }
        }
    }

    fn loops<'a>(
        &'a self,
        loops: &'a [Loop],
        subject: Subject<'_>,
        context: &mut Context<'a>,
        notes: &mut Notes,
    ) -> Verdict {
        let mut applied = 0;
        let mut list_error = None;
        for one in loops {
            let elements = match context.find(&one.list) {
                Ok(found) => found,
                Err(Unresolved::Missing(_)) => continue,
                Err(unresolved) => {
                    list_error = Some(failed("failed to evaluate list", unresolved));
                    continue;
                }
            };
            let items = elements.items().unwrap_or_else(|| vec![elements.clone()]);
            for (index, element) in items.iter().enumerate().filter(|(_, element)| !element.value.is_null()) {
                if let Some(error) = one.misfit(&element.value) {
                    return Verdict::Error(error);
                }
                context.checkpoint();
                notes.open();
                let verdict = self.element(one, (element, index), subject, context, notes);
                notes.close(|| trace::element(one, index, &element.value, &verdict));
                context.restore();
                match verdict {
                    Verdict::Pass(_) => applied += 1,
                    Verdict::Skip(_) | Verdict::Nothing(_) => {}
                    Verdict::Fail(mut failure) => {
                        failure.message = format!("validation failure: {}", failure.message);
                        if failure.from == From::Element {
                            let mut path =
                                one.path_of(index, &element.value, &elements.value, subject.object);
                            path.append(&mut failure.path);
                            failure.path = path;
                        }
                        if failure.from == From::Subject {
                            failure.from = From::Element;
                        }
                        if failure.at.is_empty() {
                            failure.at.clone_from(&one.path);
                        }
                        return Verdict::Fail(failure);
                    }
                    Verdict::Error(mut error) => {
                        error.message = format!("validation failure: {}", error.message);
                        return Verdict::Error(error);
                    }
                }
            }
        }
        match (applied, list_error) {
            (0, Some(error)) => Verdict::Error(error),
            (0, None) => Verdict::Nothing("no element was checked".into()),
            _ => Verdict::Pass("rule passed".into()),
        }
    }

    fn element<'a>(
        &'a self,
        one: &'a Loop,
        (sourced, index): (&Sourced, usize),
        subject: Subject<'_>,
        context: &mut Context<'a>,
        notes: &mut Notes,
    ) -> Verdict {
        let element = &sourced.value;
        context.enter_sourced(sourced, index, subject.nesting);
        context.declare(&one.body.entries);
        match one.body.precondition(context, notes) {
            Ok(None) => {}
            Ok(Some(skip)) => return Verdict::Skip(skip),
            // An element that cannot be asked about is left out, as its author's `||` would do.
            Err(error) if error.kind == EvalErrorKind::Evaluation => {
                return Verdict::Skip(error.message.into());
            }
            Err(error) => return Verdict::Error(error),
        }
        let inner = match one.is_scoped(element) {
            true => Subject { object: element, is_element: true, nesting: subject.nesting + 1 },
            false => Subject { nesting: subject.nesting + 1, ..subject },
        };
        let mut verdict = self.check(&one.body.check, inner, context, notes);
        if let (Verdict::Fail(failure), Check::Pattern(_) | Check::AnyPattern(_)) =
            (&mut verdict, &one.body.check)
            && !inner.is_same_element(element)
        {
            failure.from = From::Subject;
        }
        verdict
    }

    /// Returns the exceptions that are about `object`.
    fn excepted(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut Notes,
    ) -> Result<Vec<&Exception>, EvalError> {
        let operation = evaluation.request.operation;
        let mut found = Vec::new();
        for exception in &self.exceptions {
            notes.open();
            let is_about = exception.matcher.matches(object, operation, evaluation, notes)?.is_none();
            notes.close(|| trace::exception(&exception.key, is_about));
            if is_about {
                found.push(exception);
            }
        }
        Ok(found)
    }

    /// Returns `verdict`, or a skip when the object was as bad before an update and that is allowed.
    fn forgiven(&self, verdict: Verdict, evaluation: &mut Evaluation<'_>) -> Verdict {
        let is_enforced = self.actions.rule.unwrap_or(self.actions.policy) == Action::Enforce;
        let request = evaluation.request;
        let can_be = is_enforced && self.allows_existing_violations && request.operation == Operation::Update;
        if !can_be || !matches!(verdict, Verdict::Fail(_)) {
            return verdict;
        }
        match self.was_bad(request, evaluation) {
            Ok(true) => {
                Verdict::Skip("skipping the rule evaluation as pre-existing violations are allowed".into())
            }
            Ok(false) => verdict,
            Err(_) => Verdict::Skip("failed to validate old object".into()),
        }
    }

    /// Returns whether the rule is violated by the object as it was. Who asked for that object is not known.
    fn was_bad(&self, request: &Request, evaluation: &mut Evaluation<'_>) -> Result<bool, EvalError> {
        let before = Request {
            operation: Operation::Create,
            object: request.old_object.clone(),
            old_object: Value::Null,
            user: nobody(),
            roles: Vec::new(),
            cluster_roles: Vec::new(),
            ..request.clone()
        };
        let (mut tracer, memory, mut notes) = (Tracer::off(), Memory::default(), Notes::off());
        let world = Before { world: evaluation.world };
        let mut evaluation = Evaluation::new(&before, &world, evaluation.budget, &mut tracer, &memory);
        let object = &before.object;
        if self.matcher.matches(object, Operation::Create, &mut evaluation, &mut notes)?.is_some() {
            return Ok(false);
        }
        // Other rules were excused as a whole, so that nobody asks.
        let excepted = match self.body.check {
            Check::PodSecurity(_) => self.excepted(object, &mut evaluation, &mut notes)?,
            _ => Vec::new(),
        };
        let mut context = Context::new(&mut evaluation, object, &self.id, self.home.as_ref());
        context.declare(&self.body.entries);
        if self.body.precondition(&mut context, &mut notes)?.is_some() {
            return Ok(false);
        }
        let excepted = exceptions(&excepted, &mut context, &mut notes);
        let ran = self.unless_excepted(object, &excepted, &mut context, &mut notes);
        Ok(matches!(ran, Ran::Checked(Verdict::Fail(_))))
    }

    fn effect(&self, verdict: Verdict, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        Ok(match verdict {
            Verdict::Pass(message) => Effect::Pass(message),
            Verdict::Skip(message) => Effect::Skip { message, exceptions: Vec::new() },
            Verdict::Nothing(reason) => Effect::Nothing(reason),
            Verdict::Error(error) => return Err(error),
            Verdict::Fail(Failure { message, path, at, .. }) => {
                let is_refusal = self.actions.effective(evaluation)? == Action::Enforce;
                let location = (!at.is_empty()).then(|| self.document.locate(&at));
                match self.is_scored {
                    true => Effect::Fail { message, path, denial: None, is_refusal, location },
                    false => Effect::Warn { message, path, is_refusal, location },
                }
            }
        })
    }
}

impl Body {
    /// Returns nothing when the preconditions are met, otherwise why the rule is skipped.
    fn precondition(&self, context: &mut Context<'_>, notes: &mut Notes) -> Result<Option<Text>, EvalError> {
        let Some(conditions) = &self.preconditions else { return Ok(None) };
        let mark = notes.mark();
        notes.open();
        let result = conditions.value.evaluate(context, notes);
        notes.close(|| trace::conditions("preconditions", &result));
        notes.rebase(mark, &conditions.path);
        let verdict = result.map_err(|unresolved| failed("failed to evaluate preconditions", unresolved))?;
        Ok(match (verdict.holds, verdict.text().as_str()) {
            (true, _) => None,
            (false, "") => Some("preconditions not met".into()),
            (false, messages) => Some(format!("preconditions not met; {messages}").into()),
        })
    }

    fn branches(&self, into: &mut Vec<(String, Vec<Step>)>) {
        if let Some(conditions) = &self.preconditions {
            into.extend(conditions.branches());
        }
        match &self.check {
            Check::Pattern(pattern) => into.extend(pattern.branches()),
            Check::AnyPattern(patterns) => into.extend(patterns.branches()),
            Check::Deny(Some(conditions)) => into.extend(conditions.branches()),
            Check::Foreach(loops) => {
                for (i, one) in loops.iter().enumerate() {
                    into.push((format!("foreach[{i}]"), one.path.clone()));
                    one.body.branches(into);
                }
            }
            Check::PodSecurity(profile) => into.extend(profile.branches()),
            Check::Deny(None) | Check::Impossible(_) => {}
        }
    }
}

impl Rooted<Conditions> {
    fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let below = |path: Vec<Step>| self.path.iter().cloned().chain(path).collect();
        self.value.branches().into_iter().map(|(what, path)| (what, below(path))).collect()
    }
}

impl Loop {
    /// Returns whether patterns are about the element rather than the object.
    fn is_scoped(&self, element: &Value) -> bool {
        self.element_scope.unwrap_or(element.as_object().is_some())
    }

    /// Returns the error of an element that cannot be what patterns are about.
    fn misfit(&self, element: &Value) -> Option<EvalError> {
        if self.element_scope != Some(true) || element.as_object().is_some() {
            return None;
        }
        Some(EvalError::new(format!(
            "failed to process foreach: cannot use elementScope=true foreach rules for elements that are not maps, \
             expected type=map got type={}",
            go_type(element)
        )))
    }

    /// Returns where `element` stands in `object`: an object or array is found by being the same, anything else by the
    /// path of the list.
    fn path_of(&self, index: usize, element: &Value, list: &Value, object: &Value) -> Vec<Step> {
        let mut path = Vec::new();
        if find_same(object, element, &mut path) {
            return path;
        }
        let Some(keys) = &self.keys else { return Vec::new() };
        let index = list.as_array().map(|_| Step::Index(index));
        keys.iter().cloned().chain(index).collect()
    }
}

/// Finds the part of `value` that is the same allocation as `wanted`.
fn find_same(value: &Value, wanted: &Value, path: &mut Vec<Step>) -> bool {
    if value.is_same(wanted) {
        return true;
    }
    let mut try_one = |step: Step, part: &Value| {
        path.push(step);
        let is_found = find_same(part, wanted, path);
        if !is_found {
            path.pop();
        }
        is_found
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().any(|(index, item)| try_one(Step::Index(index), item))
        }
        Value::Object(map) => map.iter().any(|(key, item)| try_one(Step::Key(key.clone()), item)),
        _ => false,
    }
}

impl Actions {
    /// Returns what a violation of the request's object leads to.
    fn effective(&self, evaluation: &mut Evaluation<'_>) -> Result<Action, EvalError> {
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

/// The world as the object as it was sees it: what the caller gives in place of the request is about the other one.
struct Before<'w> {
    world: &'w dyn World,
}

impl World for Before<'_> {
    fn get(&self, query: &WorldQuery) -> Answer {
        self.world.get(query)
    }

    fn given(&self, rule: &RuleId, request: &Request) -> Vec<(Text, Value)> {
        let mut given = self.world.given(rule, request);
        given.retain(|(name, _)| !REQUESTED.iter().any(|requested| name.starts_with(requested)));
        given
    }
}

const REQUESTED: [&str; 3] = ["request.operation", "request.object", "request.oldObject"];

/// Returns the exceptions whose conditions hold. One that cannot be answered makes no exception.
fn exceptions<'e>(
    about: &[&'e Exception],
    context: &mut Context<'_>,
    notes: &mut Notes,
) -> Vec<&'e Exception> {
    let mut found = Vec::new();
    for exception in about {
        let is_met = match &exception.conditions {
            None => true,
            Some(conditions) => conditions.evaluate(context, notes).is_ok_and(|verdict| verdict.holds),
        };
        if is_met {
            found.push(*exception);
        }
    }
    found
}

/// Returns that `exceptions` are why the rule is skipped.
fn skipped(because: &str, exceptions: &[&Exception]) -> Ran {
    let exceptions: Vec<Text> = exceptions.iter().map(|exception| exception.key.clone()).collect();
    let message = format!("{because}{}", exceptions.join(", "));
    Ran::Excepted(Effect::Skip { message: message.into(), exceptions })
}

/// Returns the error of a step that could not be done because something is unresolved.
fn failed(step: &str, unresolved: Unresolved) -> EvalError {
    match unresolved {
        Unresolved::Missing(message) => EvalError::new(format!("{step}: {message}")),
        Unresolved::Error(error) => EvalError { message: format!("{step}: {}", error.message), ..error },
    }
}

/// Returns one who asks and is in no group that a rule could name.
fn nobody() -> Value {
    Map::from([
        ("username", Value::from("kyverno:kyverno-invalid-controller")),
        ("uid", "kyverno:invaliduid".into()),
        ("groups", vec!["kyverno:invalidgroup"].into()),
    ])
    .into()
}

fn notes(tracer: &Tracer) -> Notes {
    if tracer.is_on() { Notes::on() } else { Notes::off() }
}

/// Returns what Go calls the type of `value`.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
