//! The decision: which rules run, in which order, and what their effects mean.
//!
//! Mutating rules run first, tier by tier: all rules of a tier are matched against the object as
//! it was when the tier began, then each changes what the one before it left. Validating rules then
//! see the object after all changes, and in the form in which the API server would store it (see
//! [`DecisionSettings::is_as_written`]). A rule that fails leaves the object unchanged and stops no other rule.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_value::{Budget, Deadline, FieldSet, Limits, Location, Text, Value, bounded};

use crate::read_fields::ReadFieldsByKind;
use crate::secrets::{SUBSTITUTES, SecretAccess, Substitute, conceal, is_about_secret};
use crate::{
    Applies, Decision, DecisionCache, Effect, EvalError, EvalErrorKind, Evaluation, EvaluationMode,
    ObjectWrite, Query, Rule, RuleAction, RuleAddress, RuleIndex, RuleOutcome, RuleProgram, RuleStatus,
    TraceNode, TraceVerdict, Tracer, World, WorldView, object_reference,
};
use kubewright_k8s::{AdmissionRequest, normalise};

/// How many times the budget of one rule all mutating rules may spend together.
const SHARED_BUDGET_FACTOR: u64 = 4;

/// How long the message of an outcome may be, all messages together, and each one in any case.
const MAX_MESSAGE_BYTES: usize = 64 << 10;
const MAX_MESSAGES_BYTES: usize = 8 << 20;
const MIN_MESSAGE_BYTES: usize = 1 << 10;

/// How many nodes the traces of all rules may have together, and each one in any case.
const MAX_TRACE_NODES: usize = 200_000;
const MIN_TRACE_NODES: usize = 100;

/// After how many steps of a rule the deadline is checked.
const CLOCK_CHECK_STEPS: u64 = 256;

/// Rules, ready to decide.
#[derive(Debug, Default)]
pub struct Engine {
    index: RuleIndex,
    read_fields: ReadFieldsByKind,
}

/// The settings of one decision.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecisionSettings {
    /// The budget of each rule. All mutating rules together may spend `SHARED_BUDGET_FACTOR` times as much, so that
    /// rules which enlarge each other's input come to an end too. The budget of a validating rule never depends on
    /// others: a refusal must not depend on what another rule spent.
    pub limits: Limits,
    /// Why objects are evaluated: rules that do not run in this mode are left out. Without it every rule runs.
    pub evaluation_mode: Option<EvaluationMode>,
    /// Whether to keep the trace of each rule.
    pub is_traced: bool,
    /// How many steps all rules together may take before the decision is given up as unfinished. A caller with little
    /// time sets this and decides again elsewhere; it never decides anything.
    pub total: Option<u64>,
    /// When the decision is given up as unfinished. It never decides anything: partial results are not used.
    pub deadline: Option<Deadline>,
    /// Whether the objects of the request are as a person wrote them, and not as the API server sent them. Validating
    /// rules then see empty maps in the place of null ones, as they would in a cluster. Mutating rules see what was
    /// written, because their changes are shown as a difference from it. Which rules see what depends on their phase
    /// alone, so that no rule answers differently because of other rules that are loaded.
    pub is_as_written: bool,
    /// Whether a rule that changes an identity field (apiVersion, kind, name, …) fails: see `IDENTITY_PATHS`.
    pub keeps_identity: bool,
    /// Whether an outcome keeps only the first operation of its patch, which shows that there is one. All changes are in
    /// [`Decision::object`]; the operations of many rules on a large object take far more memory than it.
    pub abridges_patches: bool,
    /// Whether failures have no [reason](RuleOutcome::reason) in plain words, because nothing shows it. Errors keep theirs.
    pub leaves_out_reasons: bool,
    /// Whether failures need not say where they are, in the object and in the rule, because nothing shows it.
    pub leaves_out_places: bool,
    /// Whether rules that do not apply are [counted](Decision::skipped) and have no outcome, because nothing shows it. Traced
    /// rules and those of decisions that read a Secret have theirs in any case.
    pub leaves_out_skips: bool,
    /// Whether validating rules that pass are [named](Decision::passed) and have no outcome, because nothing shows it. The
    /// same exceptions hold as for skips.
    pub leaves_out_passes: bool,
}

/// The fields that identify an object in a cluster, which no rule may change there.
const IDENTITY_PATHS: [&[&str]; 7] = [
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
        Self { index: RuleIndex::new(rules), read_fields: ReadFieldsByKind::default() }
    }

    /// Returns the fields of objects of `kind` that the rules may read; nothing where that may be all of them, or where no
    /// rule is about them. What else an object has makes no difference to a decision that is not traced.
    #[must_use]
    pub fn read_fields(&self, kind: &Text) -> Option<Arc<FieldSet>> {
        self.read_fields.get_or_add(kind, || self.index.about_kind(kind))
    }

    /// Returns the rules in the order in which they run.
    #[must_use]
    pub fn rules(&self) -> &[Arc<Rule>] {
        self.index.rules()
    }

    /// Decides `request`. The same request, rules and world give the same decision every time, and no text of it
    /// depends on what is in a Secret.
    #[must_use]
    pub fn decide(
        &self,
        request: &AdmissionRequest,
        world: &dyn World,
        settings: &DecisionSettings,
    ) -> Decision {
        let is_secret = is_about_secret(request);
        let was_read = AtomicBool::new(is_secret);
        let mut decision = self.run(request, &Worlds::new(world, None, &was_read), settings);
        if was_read.load(Ordering::Relaxed) && !decision.is_unfinished {
            // Outcomes of one rule are compared, so each must have one.
            let settings =
                &DecisionSettings { leaves_out_skips: false, leaves_out_passes: false, ..*settings };
            if decision.skipped > 0 || !decision.passed.is_empty() {
                decision = self.run(request, &Worlds::new(world, None, &was_read), settings);
            }
            let others = SUBSTITUTES.each_ref().map(|substitute| {
                let changed = is_secret.then(|| substitute.in_request(request));
                let was_read = AtomicBool::new(true);
                let worlds = Worlds::new(world, Some(substitute), &was_read);
                self.run(changed.as_ref().unwrap_or(request), &worlds, settings)
            });
            conceal(&mut decision, &others, request, &self.index.candidates(request));
        }
        decision
    }

    fn run(&self, request: &AdmissionRequest, worlds: &Worlds<'_>, settings: &DecisionSettings) -> Decision {
        let mut candidates = self.index.candidates(request);
        if let Some(mode) = settings.evaluation_mode {
            candidates.retain(|rule| rule.evaluation_modes.contains(mode));
        }
        let leaves_out_passes = settings.leaves_out_passes && !settings.is_traced;
        let (outcomes, passed) = match leaves_out_passes {
            true => (Vec::new(), Vec::with_capacity(candidates.len())),
            false => (Vec::with_capacity(candidates.len()), Vec::new()),
        };
        let cache = DecisionCache::default();
        // Looking through the whole object is worth it only if a rule will see it so.
        let is_normalised =
            settings.is_as_written && candidates.iter().any(|rule| rule.action != RuleAction::Mutate);
        let normalised = if is_normalised { request.with_maps_filled() } else { None };
        let mut run = DecisionRun {
            request,
            written: None,
            worlds,
            settings,
            cache: &cache,
            object: request.object.clone(),
            outcomes,
            leaves_out_passes,
            passed,
            queries: Vec::new(),
            steps: 0,
            bytes: 0,
            left: settings.total,
            is_unfinished: false,
            unreported: 0,
            skipped: 0,
            message_bytes: MAX_MESSAGES_BYTES,
            trace_nodes: MAX_TRACE_NODES,
        };
        let mut rest = candidates.as_slice();
        while let Some(first) = rest.first()
            && !run.is_unfinished
        {
            let together =
                rest.iter().take_while(|rule| (rule.action, rule.tier) == (first.action, first.tier)).count();
            let (tier, later) = rest.split_at(together);
            if first.action != RuleAction::Mutate && settings.is_as_written && run.written.is_none() {
                run.normalise(normalised.as_ref().unwrap_or(request));
            }
            run.run_tier(tier);
            rest = later;
        }
        let is_allowed = !run.outcomes.iter().any(|outcome| outcome.is_refusal);
        Decision {
            is_allowed,
            outcomes: run.outcomes,
            passed: run.passed,
            object: run.written.unwrap_or(run.object),
            unreported: run.unreported,
            lacks_namespace: cache.lacks_namespace(),
            skipped: run.skipped,
            queries: run.queries,
            is_unfinished: run.is_unfinished,
            shown_object: None,
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

/// A decision in progress.
struct DecisionRun<'a> {
    request: &'a AdmissionRequest,
    worlds: &'a Worlds<'a>,
    settings: &'a DecisionSettings,
    cache: &'a DecisionCache,
    object: Value,
    // The object after all changes, once `object` is in the form that judging rules see.
    written: Option<Value>,
    outcomes: Vec<RuleOutcome>,
    leaves_out_passes: bool,
    passed: Vec<RuleAddress>,
    queries: Vec<Query>,
    // What the mutating rules have spent so far.
    steps: u64,
    bytes: u64,
    // What all rules together may still spend.
    left: Option<u64>,
    is_unfinished: bool,
    unreported: usize,
    skipped: usize,
    // What messages may still take.
    message_bytes: usize,
    // How many nodes traces may still have.
    trace_nodes: usize,
}

impl<'a> DecisionRun<'a> {
    /// Continues with the object and the request in the form in which the API server would store them.
    fn normalise(&mut self, request: &'a AdmissionRequest) {
        self.request = request;
        self.written = Some(self.object.clone());
        normalise::fill_null_maps(&mut self.object);
    }

    /// Cuts the texts of `outcome` to what a decision keeps.
    fn shorten(&mut self, outcome: &mut RuleOutcome) {
        let most = MAX_MESSAGE_BYTES.min(self.message_bytes).max(MIN_MESSAGE_BYTES);
        if let Some(short) = bounded::shortened_text(&outcome.message, most) {
            outcome.message = short.into();
        }
        if let Some(short) = outcome.denial.as_ref().and_then(|denial| bounded::shortened_text(denial, most))
        {
            outcome.denial = Some(short);
        }
        // It repeats the message, so it takes nothing from the messages of other rules.
        if let Some(reason) = &mut outcome.reason {
            reason.shorten(most);
        }
        let kept = outcome.message.len() + outcome.denial.as_ref().map_or(0, String::len);
        self.message_bytes = self.message_bytes.saturating_sub(kept);
        if let Some(trace) = &mut outcome.trace {
            trace.shorten();
            self.trace_nodes = self.trace_nodes.saturating_sub(trace.size());
        }
    }

    /// Returns the budget of `rule`, which runs next.
    fn allowance(&self, rule: &Rule) -> Limits {
        let own = self.own_allowance(rule);
        Limits { steps: self.left.map_or(own.steps, |left| own.steps.min(left)), ..own }
    }

    /// Returns the budget of `rule`, whatever is left for all.
    fn own_allowance(&self, rule: &Rule) -> Limits {
        let limits = self.settings.limits;
        if rule.action != RuleAction::Mutate {
            return limits;
        }
        let left =
            |one: u64, spent: u64| one.saturating_mul(SHARED_BUDGET_FACTOR).saturating_sub(spent).min(one);
        Limits {
            steps: left(limits.steps, self.steps),
            bytes: left(limits.bytes, self.bytes),
            depth: limits.depth,
        }
    }

    fn spend(&mut self, rule: &Rule, attempt: &mut RuleAttempt) {
        // A step may take longer than expected, so the deadline is checked after many of them in any case.
        if attempt.budget.steps_used() >= CLOCK_CHECK_STEPS {
            let _ = attempt.budget.check_clock();
        }
        self.is_unfinished |= attempt.budget.is_interrupted();
        if let Some(left) = self.left {
            // The shared budget stopped it, not its own.
            self.is_unfinished |= attempt.budget.is_out_of_steps() && left < self.own_allowance(rule).steps;
            self.left = Some(left.saturating_sub(attempt.budget.steps_used()));
        }
        self.steps += attempt.budget.steps_used();
        self.bytes += attempt.budget.bytes_used();
    }

    /// Runs the rules of one action and tier.
    fn run_tier(&mut self, rules: &[&Rule]) {
        match rules.first().map(|rule| rule.action) {
            Some(RuleAction::Mutate) => self.mutate(rules),
            Some(RuleAction::Validate | RuleAction::Generate | RuleAction::Delete) => self.run_in_turn(rules),
            None => {}
        }
    }

    /// Runs mutating rules: neighbours that are matched as the tier began are all matched before any of them changes the
    /// object, the others are matched and run one after the other.
    fn mutate(&mut self, rules: &[&Rule]) {
        for neighbours in rules.chunk_by(|one, next| one.matches_current == next.matches_current) {
            match neighbours.first() {
                Some(rule) if rule.matches_current => self.run_in_turn(neighbours),
                _ => self.match_then_run(neighbours),
            }
        }
    }

    /// Matches `rules` before any of them runs. A rule that applies gets its outcome when it has run; the others have
    /// theirs already.
    fn match_then_run(&mut self, rules: &[&Rule]) {
        let mut pending = Vec::new();
        for rule in rules {
            if self.is_unfinished {
                return;
            }
            if let Some((program, attempt)) = self.match_rule(rule) {
                pending.push((self.outcomes.len(), *rule, program, attempt));
                self.outcomes.push(rule_outcome(rule, RuleStatus::Pass, Text::default()));
            }
        }
        for (place, rule, program, attempt) in pending {
            if self.is_unfinished {
                return;
            }
            let RuleResult { first, others } = self.run_rule(rule, program, attempt);
            if let (Some(slot), Some(outcome)) = (self.outcomes.get_mut(place), first) {
                *slot = outcome;
            }
            self.outcomes.extend(others);
        }
    }

    /// Matches and runs `rules` one after the other.
    fn run_in_turn(&mut self, rules: &[&Rule]) {
        let mut closed: Option<&Text> = None;
        for rule in rules {
            if self.is_unfinished {
                return;
            }
            if rule.is_exclusive && closed == Some(&rule.id.policy) {
                continue;
            }
            let Some((program, attempt)) = self.match_rule(rule) else { continue };
            let result = self.run_rule(rule, program, attempt);
            if rule.is_exclusive && result.outcomes().any(|outcome| outcome.status != RuleStatus::Skip) {
                closed = Some(&rule.id.policy);
            }
            self.outcomes.extend(result.first);
            self.outcomes.extend(result.others);
        }
    }

    /// Returns what to run where `rule` applies to the object; otherwise its outcome is recorded, if there is one.
    fn match_rule<'r>(&mut self, rule: &'r Rule) -> Option<(&'r dyn RuleProgram, RuleAttempt)> {
        let program = rule.program.as_ref();
        if self.skip_known_miss(rule) {
            return None;
        }
        let mut attempt =
            RuleAttempt::new(self.settings, self.allowance(rule), self.trace_nodes.max(MIN_TRACE_NODES));
        let applies = program.applies(&self.object, &mut attempt.evaluation(self, rule));
        self.spend(rule, &mut attempt);
        match applies {
            Ok(Applies::Yes) => return Some((program, attempt)),
            Ok(Applies::NotViolated) if self.leaves_out_pass(rule) => {
                self.passed.push(RuleAddress::of(&rule.id));
            }
            Ok(Applies::NotViolated) => self.record(rule, RuleStatus::Pass, Text::default(), attempt),
            Ok(Applies::No(_)) if self.leaves_out_skips() => self.skipped += 1,
            Ok(Applies::No(reason)) => self.record(rule, RuleStatus::Skip, reason, attempt),
            Ok(Applies::OutOfScope(reason)) if self.settings.is_traced => {
                let outcome =
                    RuleOutcome { is_trace_only: true, ..rule_outcome(rule, RuleStatus::Skip, reason) };
                self.record_outcome(rule, outcome, attempt);
            }
            Ok(Applies::OutOfScope(_)) => {}
            Err(error) => {
                let failed = self.error_outcome(rule, error);
                self.record_outcome(rule, failed, attempt);
            }
        }
        None
    }

    /// Skips `rule` where it is already known that it does not apply to the object, and nothing shows it; what finding it out
    /// would take is spent. Returns whether it was skipped.
    fn skip_known_miss(&mut self, rule: &Rule) -> bool {
        let known = match self.leaves_out_skips() {
            true => rule.program.known_miss(&self.object, self.cache),
            false => None,
        };
        let Some((steps, bytes)) = known.and_then(|cost| cost.within(self.allowance(rule))) else {
            return false;
        };
        self.steps += steps;
        self.bytes += bytes;
        self.left = self.left.map(|left| left.saturating_sub(steps));
        self.skipped += 1;
        true
    }

    /// Returns whether a rule that does not apply has no outcome.
    fn leaves_out_skips(&self) -> bool {
        self.settings.leaves_out_skips && !self.settings.is_traced
    }

    /// Returns whether a pass of `rule` has no outcome. Those of exclusive rules have one, because it keeps others from running.
    fn leaves_out_pass(&self, rule: &Rule) -> bool {
        self.leaves_out_passes && rule.action == RuleAction::Validate && !rule.is_exclusive
    }

    /// Returns the outcomes of a rule that applies to the object: one, unless it is about several objects or there is
    /// nothing to report. The trace is that of all of them, and is kept with the first.
    fn run_rule(&mut self, rule: &Rule, program: &dyn RuleProgram, mut attempt: RuleAttempt) -> RuleResult {
        attempt.budget = Budget::new(self.allowance(rule)).with_deadline(self.settings.deadline);
        let before =
            (self.settings.keeps_identity && rule.action == RuleAction::Mutate).then(|| self.object.clone());
        let (mut effect, annotations) = attempt.evaluate(self, rule, program);
        self.spend(rule, &mut attempt);
        if let Some(before) = before
            && let Some(field) = changed_identity(&before, &self.object)
        {
            self.object = before;
            effect =
                Err(EvalError::new(format!("a rule may not change `{field}` of an object in a cluster")));
        }
        let mut result = match effect {
            Ok(Effect::Pass(_)) if self.leaves_out_pass(rule) && annotations.properties.is_empty() => {
                self.passed.push(RuleAddress::of(&rule.id));
                return RuleResult::default();
            }
            Ok(Effect::ReportedLater) => return RuleResult::default(),
            Ok(Effect::NotReported(_)) if !self.settings.is_traced => {
                self.unreported += 1;
                return RuleResult::default();
            }
            Ok(Effect::Each(effects)) if effects.is_empty() && !self.settings.is_traced => {
                return RuleResult::default();
            }
            Ok(Effect::Each(effects)) if effects.is_empty() => {
                let effect = Ok(Effect::NotReported("there is no object to change".into()));
                RuleResult { first: Some(self.outcome_of(rule, effect)), others: Vec::new() }
            }
            Ok(Effect::Each(effects)) => {
                let mut outcomes = effects.into_iter().map(|effect| self.outcome_of(rule, effect));
                RuleResult { first: outcomes.next(), others: outcomes.collect() }
            }
            effect => RuleResult { first: Some(self.outcome_of(rule, effect)), others: Vec::new() },
        };
        for outcome in result.first.iter_mut().chain(&mut result.others) {
            annotations.annotate(outcome);
        }
        if let Some(first) = &mut result.first {
            attempt.trace_into(first, rule);
        }
        for outcome in result.first.iter_mut().chain(&mut result.others) {
            self.shorten(outcome);
        }
        result
    }

    /// Records the outcome of a rule that does not run.
    fn record(&mut self, rule: &Rule, status: RuleStatus, message: Text, attempt: RuleAttempt) {
        self.record_outcome(rule, rule_outcome(rule, status, message), attempt);
    }

    fn record_outcome(&mut self, rule: &Rule, mut outcome: RuleOutcome, attempt: RuleAttempt) {
        attempt.trace_into(&mut outcome, rule);
        self.shorten(&mut outcome);
        self.outcomes.push(outcome);
    }

    /// Returns the outcome of a rule that ran.
    fn outcome_of(&mut self, rule: &Rule, effect: Result<Effect, EvalError>) -> RuleOutcome {
        match effect {
            Ok(Effect::Patch { operations: mut patch, message }) if rule.action == RuleAction::Mutate => {
                if self.settings.abridges_patches {
                    patch.truncate(1);
                    patch.shrink_to_fit();
                }
                RuleOutcome { patch, ..rule_outcome(rule, RuleStatus::Pass, message) }
            }
            Ok(Effect::Patch { .. }) => {
                self.error_outcome(rule, EvalError::new("only a mutating rule can change the object"))
            }
            Ok(Effect::Each(_)) => {
                self.error_outcome(rule, EvalError::new("effects on several objects in one"))
            }
            Ok(Effect::Write { writes, message }) => {
                written_outcome(writes, rule_outcome(rule, RuleStatus::Pass, message))
            }
            Ok(Effect::WriteSome { writes, error }) => {
                written_outcome(writes, self.error_outcome(rule, error))
            }
            Ok(Effect::Pass(message)) => rule_outcome(rule, RuleStatus::Pass, message),
            Ok(Effect::Excused { message, exceptions }) => {
                RuleOutcome { exceptions, ..rule_outcome(rule, RuleStatus::Pass, message) }
            }
            Ok(Effect::NotReported(message)) => {
                RuleOutcome { is_trace_only: true, ..rule_outcome(rule, RuleStatus::Skip, message) }
            }
            Ok(Effect::ReportedLater) => rule_outcome(rule, RuleStatus::Skip, Text::default()),
            Ok(Effect::Settled { message, applied, reference }) => RuleOutcome {
                settled: Some(applied),
                references: reference.into_iter().collect(),
                ..rule_outcome(rule, RuleStatus::Skip, message)
            },
            Ok(Effect::Skip { message, exceptions }) => {
                RuleOutcome { exceptions, ..rule_outcome(rule, RuleStatus::Skip, message) }
            }
            Ok(Effect::Fail { message, template, path, denial, is_refusal, location }) => {
                let failed = rule_outcome(rule, RuleStatus::Fail, message.into());
                let location = location.or(failed.location.clone());
                RuleOutcome { template, path, denial, is_refusal, location, ..failed }
            }
            Ok(Effect::Warn { message, template, path, is_refusal, location }) => {
                let warned = rule_outcome(rule, RuleStatus::Warn, message.into());
                let location = location.or(warned.location.clone());
                RuleOutcome { template, path, is_refusal, location, ..warned }
            }
            Err(error) => self.error_outcome(rule, error),
        }
    }

    fn error_outcome(&mut self, rule: &Rule, error: EvalError) -> RuleOutcome {
        if let EvalErrorKind::Query(query) = &error.kind
            && !self.queries.contains(query)
        {
            self.queries.push(Query::clone(query));
        }
        let outcome = rule_outcome(rule, RuleStatus::Error, error.message.into());
        let location = error.location.or(outcome.location);
        let is_refusal = rule.refuses_on_error && !error.is_tolerated;
        let path = error.reason.as_ref().map(|reason| reason.path.clone()).unwrap_or_default();
        RuleOutcome { location, is_refusal, path, error: Some(error.kind), reason: error.reason, ..outcome }
    }
}

/// Returns the first part of the `IDENTITY_PATHS` in which the two differ.
fn changed_identity(before: &Value, after: &Value) -> Option<String> {
    let differs = |path: &&&[&str]| before.at(path) != after.at(path);
    if before.is_same(after) { None } else { IDENTITY_PATHS.iter().find(differs).map(|path| path.join(".")) }
}

/// Returns `outcome` with the writes that the rule asks for.
fn written_outcome(writes: Vec<ObjectWrite>, outcome: RuleOutcome) -> RuleOutcome {
    let written = writes.iter().map(ObjectWrite::title).collect();
    let references = writes.iter().map(|write| object_reference(&write.object)).collect();
    RuleOutcome { writes, written, references, ..outcome }
}

fn rule_outcome(rule: &Rule, status: RuleStatus, message: Text) -> RuleOutcome {
    RuleOutcome {
        rule: Arc::clone(&rule.id),
        status,
        error: None,
        reason: None,
        message,
        template: Text::default(),
        path: Vec::new(),
        location: Some(rule.location.clone()),
        patch: Vec::new(),
        writes: Vec::new(),
        written: Vec::new(),
        references: Vec::new(),
        settled: None,
        denial: None,
        is_judged: false,
        is_refusal: false,
        exceptions: Vec::new(),
        metadata: Arc::clone(&rule.metadata),
        properties: Vec::new(),
        trace: None,
        is_trace_only: false,
    }
}

/// The budget of one rule for one of its two steps, and its trace of both.
struct RuleAttempt {
    budget: Budget,
    tracer: Tracer,
}

/// The outcomes of a rule that ran.
#[derive(Default)]
struct RuleResult {
    first: Option<RuleOutcome>,
    others: Vec<RuleOutcome>,
}

impl RuleResult {
    fn outcomes(&self) -> impl Iterator<Item = &RuleOutcome> {
        self.first.iter().chain(&self.others)
    }
}

/// What a rule says beside its effect.
struct OutcomeAnnotations {
    properties: Vec<(Text, Text)>,
    reason: Option<Box<crate::OutcomeReason>>,
    location: Option<Location>,
}

impl OutcomeAnnotations {
    /// Adds what the rule says to an outcome of it.
    fn annotate(&self, outcome: &mut RuleOutcome) {
        outcome.is_judged = true;
        outcome.properties.clone_from(&self.properties);
        if outcome.reason.is_none() {
            outcome.reason.clone_from(&self.reason);
        }
        if let (Some(reason), RuleStatus::Pass) = (&self.reason, outcome.status) {
            outcome.path.clone_from(&reason.path);
            outcome.location.clone_from(&self.location);
        }
    }
}

impl RuleAttempt {
    fn new(settings: &DecisionSettings, allowance: Limits, trace_nodes: usize) -> Self {
        let tracer = if settings.is_traced { Tracer::within(trace_nodes) } else { Tracer::off() };
        Self { budget: Budget::new(allowance).with_deadline(settings.deadline), tracer }
    }

    fn evaluation<'a>(&'a mut self, run: &DecisionRun<'a>, rule: &'a Rule) -> Evaluation<'a> {
        let world = WorldView::new(run.worlds.of(rule), rule.home.as_ref());
        Evaluation {
            wants_reason: !run.settings.leaves_out_reasons,
            wants_places: !run.settings.leaves_out_places || run.settings.is_traced,
            wants_pass_message: !run.leaves_out_pass(rule),
            ..Evaluation::new(run.request, world, &mut self.budget, &mut self.tracer, run.cache)
        }
    }

    /// Evaluates a rule; one that does not mutate gets a copy, so that it cannot change the object. Returns what it says
    /// beside the effect too.
    fn evaluate(
        &mut self,
        run: &mut DecisionRun<'_>,
        rule: &Rule,
        program: &dyn RuleProgram,
    ) -> (Result<Effect, EvalError>, OutcomeAnnotations) {
        let mut evaluation = self.evaluation(run, rule);
        let effect = match rule.action {
            RuleAction::Mutate => program.evaluate(&mut run.object, &mut evaluation),
            RuleAction::Validate | RuleAction::Generate | RuleAction::Delete => {
                program.evaluate(&mut run.object.clone(), &mut evaluation)
            }
        };
        let Evaluation { properties, reason, location, .. } = evaluation;
        (effect, OutcomeAnnotations { properties, reason, location })
    }

    /// Adds the trace of the rule to `outcome`, if traces are kept.
    fn trace_into(self, outcome: &mut RuleOutcome, rule: &Rule) {
        if self.tracer.is_on() {
            outcome.trace = Some(Box::new(self.into_trace(rule, outcome.status, &outcome.message)));
        }
    }

    fn into_trace(mut self, rule: &Rule, status: RuleStatus, message: &str) -> TraceNode {
        let verdict = match status {
            RuleStatus::Pass => TraceVerdict::Yes,
            RuleStatus::Fail | RuleStatus::Warn => TraceVerdict::Done,
            RuleStatus::Error => TraceVerdict::Error,
            RuleStatus::Skip => TraceVerdict::No,
        };
        TraceNode {
            what: rule.id.to_string(),
            found: status.to_string(),
            wanted: message.to_owned(),
            verdict,
            location: Some(rule.location.clone()),
            children: self.tracer.take(),
            ..TraceNode::default()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
