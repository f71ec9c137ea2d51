//! The decision: which rules run, in which order, and what becomes of their answers.
//!
//! Patch rules run first, tier by tier: all rules of a tier are matched against the object as
//! it was when the tier began, then each changes what the one before it left. Judging rules then
//! see the object after all changes, and in the form in which the API server would store it (see
//! [`Settings::is_as_written`]). A rule that fails leaves no trace in the object and stops nobody.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kubewright_value::{Budget, Deadline, Limits, Text, Value, bounded};

use crate::secrets::{SUBSTITUTES, SecretAccess, Substitute, conceal, is_about_secret};
use crate::{
    Applies, Decision, Effect, EvalError, EvalErrorKind, Evaluation, Memory, Occasion, Outcome, Phase,
    Program, Query, Rule, RuleIndex, Status, TraceNode, Tracer, Verdict, World, WorldView,
};
use kubewright_k8s::{AdmissionRequest, normalise};

/// How many rules' worth all rules that change the object may spend.
const TOGETHER: u64 = 4;

/// How long the message of an outcome may be, and all of them together; each may have as much as the third.
const MAX_MESSAGE_BYTES: usize = 64 << 10;
const MAX_MESSAGES_BYTES: usize = 8 << 20;
const MIN_MESSAGE_BYTES: usize = 1 << 10;

/// How many nodes the traces of all rules may have together; each may have as many as the second.
const MAX_TRACE_NODES: usize = 200_000;
const MIN_TRACE_NODES: usize = 100;

/// After how many steps of a rule the clock is looked at, where there is a deadline.
const CLOCK_CHECK_STEPS: u64 = 256;

/// Rules, ready to decide.
#[derive(Debug, Default)]
pub struct Engine {
    index: RuleIndex,
}

/// What may differ from one decision to the next.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// What each rule may spend. All rules that change the object may together spend [`TOGETHER`] times as much, so
    /// that rules which make each other's work larger come to an end too. Judging rules change nothing, and none of
    /// them has less because of others: a refusal must not depend on what another rule spent.
    pub limits: Limits,
    /// Why objects are looked at: rules that are not for it are left out. Without it every rule runs.
    pub occasion: Option<Occasion>,
    /// Whether to keep the tree of what was looked at.
    pub is_traced: bool,
    /// How many steps all rules together may take before the decision is given up as unfinished. Who asks for little
    /// time sets this and asks again elsewhere; it never decides anything.
    pub total: Option<u64>,
    /// When the decision is given up as unfinished. It never decides anything: what was found out so far is not used.
    pub deadline: Option<Deadline>,
    /// Whether the objects of the request are as a person wrote them, and not as the API server sent them. Judging
    /// rules then see empty maps in the place of null ones, as they would in a cluster. Rules that change the object
    /// see what was written, because their changes are shown as a difference from it. Which rules see what depends
    /// on their phase alone, so that no rule answers differently because of other rules that are loaded.
    pub is_as_written: bool,
    /// Whether a rule fails that changes by what a cluster knows the object: see [`IDENTITY`].
    pub keeps_identity: bool,
    /// Whether an outcome keeps no more than the first operation of its patch: enough to see that there is one. All
    /// changes are in [`Decision::object`]; the operations of many rules on a large object take far more memory than it.
    pub abridges_patches: bool,
}

/// By what a cluster knows an object: nothing that a rule may change there.
const IDENTITY: [&[&str]; 7] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "managedFields"],
];

impl Engine {
    /// Returns an engine that decides with `rules`.
    #[must_use]
    pub fn new(rules: Vec<Rule>) -> Self {
        Self::sharing(rules.into_iter().map(Arc::new).collect())
    }

    /// Returns an engine that decides with `rules`, which other engines may have too.
    #[must_use]
    pub fn sharing(rules: Vec<Arc<Rule>>) -> Self {
        Self { index: RuleIndex::new(rules) }
    }

    /// Returns the rules in the order in which they run.
    #[must_use]
    pub fn rules(&self) -> &[Arc<Rule>] {
        self.index.rules()
    }

    /// Decides `request`. The same request, rules and world give the same decision every time, and no text of it
    /// depends on what is in a Secret.
    #[must_use]
    pub fn decide(&self, request: &AdmissionRequest, world: &dyn World, settings: &Settings) -> Decision {
        let is_secret = is_about_secret(request);
        let was_read = AtomicBool::new(is_secret);
        let mut decision = self.walk(request, &Worlds::new(world, None, &was_read), settings);
        if was_read.into_inner() && !decision.is_unfinished {
            let others = SUBSTITUTES.each_ref().map(|substitute| {
                let changed = is_secret.then(|| substitute.in_request(request));
                let was_read = AtomicBool::new(true);
                let worlds = Worlds::new(world, Some(substitute), &was_read);
                self.walk(changed.as_ref().unwrap_or(request), &worlds, settings)
            });
            conceal(&mut decision, &others, request, &self.index.candidates(request));
        }
        decision
    }

    fn walk(&self, request: &AdmissionRequest, worlds: &Worlds<'_>, settings: &Settings) -> Decision {
        let mut candidates = self.index.candidates(request);
        if let Some(occasion) = settings.occasion {
            candidates.retain(|rule| rule.occasions.contains(occasion));
        }
        let outcomes = Vec::with_capacity(candidates.len());
        let memory = Memory::default();
        let normalised = if settings.is_as_written { request.with_maps_filled() } else { None };
        let mut walk = Walk {
            request,
            written: None,
            worlds,
            settings,
            memory: &memory,
            object: request.object.clone(),
            outcomes,
            queries: Vec::new(),
            steps: 0,
            bytes: 0,
            left: settings.total,
            is_unfinished: false,
            message_bytes: MAX_MESSAGES_BYTES,
            trace_nodes: MAX_TRACE_NODES,
        };
        let mut rest = candidates.as_slice();
        while let Some(first) = rest.first()
            && !walk.is_unfinished
        {
            let together =
                rest.iter().take_while(|rule| (rule.phase, rule.tier) == (first.phase, first.tier)).count();
            let (tier, later) = rest.split_at(together);
            if first.phase == Phase::Judge && settings.is_as_written && walk.written.is_none() {
                walk.normalise(normalised.as_ref().unwrap_or(request));
            }
            walk.tier(tier);
            rest = later;
        }
        let is_allowed = !walk.outcomes.iter().any(|outcome| outcome.is_refusal);
        Decision {
            is_allowed,
            outcomes: walk.outcomes,
            object: walk.written.unwrap_or(walk.object),
            queries: walk.queries,
            is_unfinished: walk.is_unfinished,
        }
    }
}

/// The world as the rules of one decision see it.
struct Worlds<'w> {
    with_secrets: SecretAccess<'w>,
    without_secrets: SecretAccess<'w>,
}

impl<'w> Worlds<'w> {
    fn new(world: &'w dyn World, substitute: Option<&'static Substitute>, was_read: &'w AtomicBool) -> Self {
        let access = |is_named| SecretAccess::new(world, substitute, is_named, was_read);
        Self { with_secrets: access(true), without_secrets: access(false) }
    }

    fn of(&self, rule: &Rule) -> &dyn World {
        if rule.reads_secrets { &self.with_secrets } else { &self.without_secrets }
    }
}

/// A decision under way.
struct Walk<'a> {
    request: &'a AdmissionRequest,
    worlds: &'a Worlds<'a>,
    settings: &'a Settings,
    memory: &'a Memory,
    object: Value,
    // The object after all changes, once `object` is in the form that judging rules see.
    written: Option<Value>,
    outcomes: Vec<Outcome>,
    queries: Vec<Query>,
    // What the rules that change the object have spent so far.
    steps: u64,
    bytes: u64,
    // What all rules together may still spend.
    left: Option<u64>,
    is_unfinished: bool,
    // What messages may still take.
    message_bytes: usize,
    // How many nodes traces may still have.
    trace_nodes: usize,
}

impl<'a> Walk<'a> {
    /// Goes on with the object and the request in the form in which the API server would store them.
    fn normalise(&mut self, request: &'a AdmissionRequest) {
        self.request = request;
        self.written = Some(self.object.clone());
        normalise::fill_null_maps(&mut self.object);
    }

    /// Keeps the outcome of a rule, what it says cut to what a decision keeps.
    fn shortened(&mut self, mut outcome: Outcome) -> Outcome {
        let most = MAX_MESSAGE_BYTES.min(self.message_bytes).max(MIN_MESSAGE_BYTES);
        if let Some(short) = bounded::shortened_text(&outcome.message, most) {
            outcome.message = short.into();
        }
        if let Some(short) = outcome.denial.as_ref().and_then(|denial| bounded::shortened_text(denial, most))
        {
            outcome.denial = Some(short);
        }
        let kept = outcome.message.len() + outcome.denial.as_ref().map_or(0, String::len);
        self.message_bytes = self.message_bytes.saturating_sub(kept);
        if let Some(trace) = &mut outcome.trace {
            trace.shorten();
            self.trace_nodes = self.trace_nodes.saturating_sub(trace.size());
        }
        outcome
    }

    /// Returns what `rule` may spend, which is next.
    fn allowance(&self, rule: &Rule) -> Limits {
        let own = self.own_allowance(rule);
        Limits { steps: self.left.map_or(own.steps, |left| own.steps.min(left)), ..own }
    }

    /// Returns what `rule` may spend, whatever is left for all.
    fn own_allowance(&self, rule: &Rule) -> Limits {
        let limits = self.settings.limits;
        if rule.phase == Phase::Judge {
            return limits;
        }
        let left = |one: u64, spent: u64| one.saturating_mul(TOGETHER).saturating_sub(spent).min(one);
        Limits {
            steps: left(limits.steps, self.steps),
            bytes: left(limits.bytes, self.bytes),
            depth: limits.depth,
        }
    }

    fn spend(&mut self, rule: &Rule, run: &mut Run) {
        // Steps may take longer than they should, so after many of them the clock is asked in any case.
        if run.budget.steps_used() >= CLOCK_CHECK_STEPS {
            let _ = run.budget.check_clock();
        }
        self.is_unfinished |= run.budget.is_interrupted();
        if let Some(left) = self.left {
            // It stopped for want of what all have together, not of what it has itself.
            self.is_unfinished |= run.budget.is_out_of_steps() && left < self.own_allowance(rule).steps;
            self.left = Some(left.saturating_sub(run.budget.steps_used()));
        }
        self.steps += run.budget.steps_used();
        self.bytes += run.budget.bytes_used();
    }

    /// Runs the rules of one phase and tier.
    fn tier(&mut self, rules: &[&Rule]) {
        match rules.first().map(|rule| rule.phase) {
            Some(Phase::Patch) => self.patch(rules),
            Some(Phase::Judge) => self.judge(rules),
            None => {}
        }
    }

    /// Runs rules that change the object: all are matched before any of them changes it. A rule that applies gets its
    /// outcome when it has run; the others have theirs already.
    fn patch(&mut self, rules: &[&Rule]) {
        let mut pending = Vec::new();
        for rule in rules {
            if self.is_unfinished {
                return;
            }
            if let Some((program, run)) = self.matched(rule) {
                pending.push((self.outcomes.len(), *rule, program, run));
                self.outcomes.push(outcome(rule, Status::Pass, Text::default()));
            }
        }
        for (place, rule, program, run) in pending {
            if self.is_unfinished {
                return;
            }
            let outcome = self.ran(rule, program, run).map(|outcome| self.shortened(outcome));
            if let Some((slot, outcome)) = self.outcomes.get_mut(place).zip(outcome) {
                *slot = outcome;
            }
        }
    }

    /// Runs rules that judge the object, one after the other.
    fn judge(&mut self, rules: &[&Rule]) {
        let mut closed: Option<&Text> = None;
        for rule in rules {
            if self.is_unfinished {
                return;
            }
            if rule.is_exclusive && closed == Some(&rule.id.policy) {
                continue;
            }
            let Some((program, run)) = self.matched(rule) else { continue };
            let Some(outcome) = self.ran(rule, program, run) else { continue };
            if rule.is_exclusive && outcome.status != Status::Skip {
                closed = Some(&rule.id.policy);
            }
            let outcome = self.shortened(outcome);
            self.outcomes.push(outcome);
        }
    }

    /// Returns what to run where `rule` is about the object; otherwise it has its outcome, if there is any.
    fn matched<'r>(&mut self, rule: &'r Rule) -> Option<(&'r dyn Program, Run)> {
        let program = rule.program.as_ref();
        let mut run = Run::new(self.settings, self.allowance(rule), self.trace_nodes.max(MIN_TRACE_NODES));
        let applies = program.applies(&self.object, &mut run.evaluation(self, rule));
        self.spend(rule, &mut run);
        match applies {
            Ok(Applies::Yes) => return Some((program, run)),
            Ok(Applies::Clean) => self.close(rule, Status::Pass, Text::default(), run),
            Ok(Applies::No(reason)) => self.close(rule, Status::Skip, reason, run),
            Ok(Applies::Outside(reason)) if self.settings.is_traced => {
                self.close(rule, Status::Skip, reason, run);
            }
            Ok(Applies::Outside(_)) => {}
            Err(error) => {
                let failed = self.failed(rule, error);
                let outcome = self.shortened(run.traced(failed, rule));
                self.outcomes.push(outcome);
            }
        }
        None
    }

    /// Returns the outcome of a rule that is about the object, if there is anything to report.
    fn ran(&mut self, rule: &Rule, program: &dyn Program, mut run: Run) -> Option<Outcome> {
        run.budget = Budget::new(self.allowance(rule)).with_deadline(self.settings.deadline);
        let before =
            (self.settings.keeps_identity && rule.phase == Phase::Patch).then(|| self.object.clone());
        let mut effect = run.evaluate(self, rule, program);
        self.spend(rule, &mut run);
        if let Some(before) = before
            && let Some(field) = changed_identity(&before, &self.object)
        {
            self.object = before;
            effect =
                Err(EvalError::new(format!("a rule may not change `{field}` of an object in a cluster")));
        }
        if matches!(effect, Ok(Effect::Nothing(_))) && !self.settings.is_traced {
            return None;
        }
        let outcome = Outcome { is_judged: true, ..self.taken(rule, effect) };
        Some(run.traced(outcome, rule))
    }

    /// Records a rule that does not get to run.
    fn close(&mut self, rule: &Rule, status: Status, message: Text, run: Run) {
        let outcome = self.shortened(run.traced(outcome(rule, status, message), rule));
        self.outcomes.push(outcome);
    }

    /// Returns the outcome of a rule that ran.
    fn taken(&mut self, rule: &Rule, effect: Result<Effect, EvalError>) -> Outcome {
        match effect {
            Ok(Effect::Patch(mut patch)) if rule.phase == Phase::Patch => {
                if self.settings.abridges_patches {
                    patch.truncate(1);
                    patch.shrink_to_fit();
                }
                Outcome { patch, ..outcome(rule, Status::Pass, Text::default()) }
            }
            Ok(Effect::Patch(_)) => {
                self.failed(rule, EvalError::new("a judging rule cannot change the object"))
            }
            Ok(Effect::Pass(message)) => outcome(rule, Status::Pass, message),
            Ok(Effect::Nothing(message)) => outcome(rule, Status::Skip, message),
            Ok(Effect::Skip { message, exceptions }) => {
                Outcome { exceptions, ..outcome(rule, Status::Skip, message) }
            }
            Ok(Effect::Fail { message, template, path, denial, is_refusal, location }) => {
                let failed = outcome(rule, Status::Fail, message.into());
                let location = location.or(failed.location.clone());
                Outcome { template, path, denial, is_refusal, location, ..failed }
            }
            Ok(Effect::Warn { message, template, path, is_refusal, location }) => {
                let warned = outcome(rule, Status::Warn, message.into());
                let location = location.or(warned.location.clone());
                Outcome { template, path, is_refusal, location, ..warned }
            }
            Err(error) => self.failed(rule, error),
        }
    }

    fn failed(&mut self, rule: &Rule, error: EvalError) -> Outcome {
        if let EvalErrorKind::Query(query) = &error.kind
            && !self.queries.contains(query)
        {
            self.queries.push(Query::clone(query));
        }
        let outcome = outcome(rule, Status::Error, error.message.into());
        let location = error.location.or(outcome.location);
        Outcome { location, is_refusal: rule.refuses_on_error && !error.is_tolerated, ..outcome }
    }
}

/// Returns the first part of the [`IDENTITY`] in which the two differ.
fn changed_identity(before: &Value, after: &Value) -> Option<String> {
    let differs = |path: &&&[&str]| before.at(path) != after.at(path);
    if before.is_same(after) { None } else { IDENTITY.iter().find(differs).map(|path| path.join(".")) }
}

fn outcome(rule: &Rule, status: Status, message: Text) -> Outcome {
    Outcome {
        rule: Arc::clone(&rule.id),
        status,
        message,
        template: Text::default(),
        path: Vec::new(),
        location: Some(rule.location.clone()),
        patch: Vec::new(),
        denial: None,
        is_judged: false,
        is_refusal: false,
        exceptions: Vec::new(),
        about: Arc::clone(&rule.about),
        trace: None,
    }
}

/// What one rule spends in one of its two steps, and says in both.
struct Run {
    budget: Budget,
    tracer: Tracer,
}

impl Run {
    fn new(settings: &Settings, allowance: Limits, trace_nodes: usize) -> Self {
        let tracer = if settings.is_traced { Tracer::within(trace_nodes) } else { Tracer::off() };
        Self { budget: Budget::new(allowance).with_deadline(settings.deadline), tracer }
    }

    fn evaluation<'a>(&'a mut self, walk: &Walk<'a>, rule: &'a Rule) -> Evaluation<'a> {
        let world = WorldView::new(walk.worlds.of(rule), rule.home.as_ref());
        Evaluation::new(walk.request, world, &mut self.budget, &mut self.tracer, walk.memory)
    }

    /// Lets a rule do what it does; a judging rule gets a copy, so that it cannot change the object.
    fn evaluate(
        &mut self,
        walk: &mut Walk<'_>,
        rule: &Rule,
        program: &dyn Program,
    ) -> Result<Effect, EvalError> {
        let mut evaluation = self.evaluation(walk, rule);
        match rule.phase {
            Phase::Patch => program.evaluate(&mut walk.object, &mut evaluation),
            Phase::Judge => program.evaluate(&mut walk.object.clone(), &mut evaluation),
        }
    }

    /// Returns `outcome` with what the rule said, if somebody wanted to know.
    fn traced(self, mut outcome: Outcome, rule: &Rule) -> Outcome {
        if self.tracer.is_on() {
            outcome.trace = Some(Box::new(self.into_trace(rule, outcome.status, &outcome.message)));
        }
        outcome
    }

    fn into_trace(mut self, rule: &Rule, status: Status, message: &str) -> TraceNode {
        let verdict = match status {
            Status::Pass => Verdict::Yes,
            Status::Fail | Status::Warn => Verdict::Done,
            Status::Error => Verdict::Error,
            Status::Skip => Verdict::No,
        };
        TraceNode {
            what: rule.id.to_string(),
            found: status.to_string(),
            wanted: message.to_owned(),
            verdict,
            location: Some(rule.location.clone()),
            children: self.tracer.take(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
