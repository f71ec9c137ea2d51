//! The decision: which rules run, in which order, and what becomes of their answers.
//!
//! Patch rules run first, tier by tier: all rules of a tier are matched against the object as
//! it was when the tier began, then each changes what the one before it left. Judging rules then
//! see the object after all changes. A rule that fails leaves no trace in the object and stops nobody.

use kubewright_value::{Budget, Limits, Value};

use crate::{
    Applies, Decision, Effect, EvalError, EvalErrorKind, Evaluation, Outcome, Phase, Program, Query, Request,
    RequestProgram, Rule, RuleIndex, Status, TraceNode, Tracer, Verdict, World,
};

/// Rules, ready to decide.
#[derive(Debug, Default)]
pub struct Engine {
    index: RuleIndex,
}

/// What may differ from one decision to the next.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// What each rule may spend.
    pub limits: Limits,
    /// Whether to keep the tree of what was looked at.
    pub is_traced: bool,
}

impl Engine {
    /// Returns an engine that decides with `rules`.
    #[must_use]
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { index: RuleIndex::new(rules) }
    }

    /// Returns the rules in the order in which they run.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        self.index.rules()
    }

    /// Decides `request`. The same request, rules and world give the same decision every time.
    #[must_use]
    pub fn decide(&self, request: &Request, world: &dyn World, settings: &Settings) -> Decision {
        let candidates = self.index.candidates(request);
        let outcomes = Vec::with_capacity(candidates.len());
        let mut walk = Walk { request, world, settings, object: request.object.clone(), outcomes, queries: Vec::new() };
        let mut rest = candidates.as_slice();
        while let Some(first) = rest.first() {
            let together = rest.iter().take_while(|rule| (rule.phase, rule.tier) == (first.phase, first.tier)).count();
            let (tier, later) = rest.split_at(together);
            walk.tier(tier);
            rest = later;
        }
        let is_allowed = walk.outcomes.iter().all(|outcome| outcome.status != Status::Fail);
        Decision { is_allowed, outcomes: walk.outcomes, object: walk.object, queries: walk.queries }
    }
}

/// A decision under way.
struct Walk<'a> {
    request: &'a Request,
    world: &'a dyn World,
    settings: &'a Settings,
    object: Value,
    outcomes: Vec<Outcome>,
    queries: Vec<Query>,
}

impl Walk<'_> {
    /// Runs the rules of one phase and tier.
    fn tier(&mut self, rules: &[&Rule]) {
        // Matched all together, before any of them changes the object.
        let matched: Vec<_> = rules.iter().filter_map(|rule| self.matched(rule)).collect();
        for (rule, program, mut run, applies) in matched {
            match applies {
                Ok(Applies::Yes) => {
                    let effect = run.evaluate(self, rule, program);
                    self.take_effect(rule, effect, run);
                }
                Ok(Applies::Clean) => self.record(rule, Status::Pass, String::new(), run),
                Ok(Applies::No(reason)) => self.record(rule, Status::Skip, reason, run),
                Err(error) => self.fail(rule, error, run),
            }
        }
    }

    fn matched<'r>(
        &self,
        rule: &'r Rule,
    ) -> Option<(&'r Rule, &'r dyn RequestProgram, Run, Result<Applies, EvalError>)> {
        let Program::OnRequest(program) = &rule.program else { return None };
        let mut run = Run::new(self.settings);
        let mut evaluation = run.evaluation(self.request, self.world);
        let applies = program.applies(&self.object, &mut evaluation);
        Some((rule, program.as_ref(), run, applies))
    }

    fn take_effect(&mut self, rule: &Rule, effect: Result<Effect, EvalError>, run: Run) {
        match effect {
            Ok(Effect::Patch(operations)) if rule.phase == Phase::Patch => {
                self.record(rule, Status::Pass, String::new(), run);
                if let Some(outcome) = self.outcomes.last_mut() {
                    outcome.patch = operations;
                }
            }
            Ok(Effect::Patch(_)) => self.fail(rule, EvalError::new("a judging rule cannot change the object"), run),
            Ok(Effect::Pass) => self.record(rule, Status::Pass, String::new(), run),
            Ok(Effect::Fail { message, path, denial }) => {
                self.record(rule, Status::Fail, message, run);
                if let Some(outcome) = self.outcomes.last_mut() {
                    (outcome.path, outcome.denial) = (path, denial);
                }
            }
            Ok(Effect::Warn { message, path }) => {
                self.record(rule, Status::Warn, message, run);
                if let Some(outcome) = self.outcomes.last_mut() {
                    outcome.path = path;
                }
            }
            Err(error) => self.fail(rule, error, run),
        }
    }

    fn fail(&mut self, rule: &Rule, error: EvalError, run: Run) {
        if let EvalErrorKind::Query(query) = &error.kind
            && !self.queries.contains(query)
        {
            self.queries.push(query.clone());
        }
        self.record(rule, Status::Error, error.message, run);
        if let (Some(outcome), Some(location)) = (self.outcomes.last_mut(), error.location) {
            outcome.location = Some(location);
        }
    }

    fn record(&mut self, rule: &Rule, status: Status, message: String, run: Run) {
        let trace = run.tracer.is_on().then(|| run.into_trace(rule, status, &message));
        self.outcomes.push(Outcome {
            rule: rule.id.clone(),
            status,
            message,
            path: Vec::new(),
            location: Some(rule.location.clone()),
            patch: Vec::new(),
            denial: None,
            trace,
        });
    }
}

/// What one rule spends and says, over both of its steps.
struct Run {
    budget: Budget,
    tracer: Tracer,
}

impl Run {
    fn new(settings: &Settings) -> Self {
        let tracer = if settings.is_traced { Tracer::on() } else { Tracer::off() };
        Self { budget: Budget::new(settings.limits), tracer }
    }

    fn evaluation<'a>(&'a mut self, request: &'a Request, world: &'a dyn World) -> Evaluation<'a> {
        Evaluation { request, world, budget: &mut self.budget, tracer: &mut self.tracer }
    }

    /// Lets a rule do what it does; a judging rule gets a copy, so that it cannot change the object.
    fn evaluate(&mut self, walk: &mut Walk<'_>, rule: &Rule, program: &dyn RequestProgram) -> Result<Effect, EvalError> {
        let mut evaluation = self.evaluation(walk.request, walk.world);
        match rule.phase {
            Phase::Patch => program.evaluate(&mut walk.object, &mut evaluation),
            Phase::Judge => program.evaluate(&mut walk.object.clone(), &mut evaluation),
        }
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
