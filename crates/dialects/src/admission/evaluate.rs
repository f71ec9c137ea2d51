//! One policy on one object: what it is about, exceptions, then what must hold.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_engine::{Applies, Branch, Effect, EvalError, Evaluation, RequestProgram};
use kubewright_value::{Document, Step, Text, Value};

use super::exceptions::{Exception, Excused, excused};
use super::matching::Matcher;
use super::source::{Actions, Mode};
use crate::cel::{Checks, Finding, Params, Subject, Violation};
use crate::notes::Notes;
use crate::trace;

/// What traces call the two lists.
const LISTS: (&str, &str) = ("matchConditions", "validations");

/// A compiled policy, as one binding or one sort of objects has it.
pub(super) struct Judge {
    /// Where everything in it stands.
    pub(super) document: Arc<Document>,
    /// Nothing where the policy does not say what it is about.
    pub(super) matcher: Option<Matcher>,
    /// What the binding asks for besides.
    pub(super) binding: Option<Matcher>,
    pub(super) checks: Checks,
    pub(super) params: Option<Params>,
    pub(super) exceptions: Vec<Exception>,
    pub(super) actions: Actions,
    pub(super) surroundings: Surroundings,
    /// Why it cannot run.
    pub(super) broken: Option<Text>,
}

/// Who asks the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings {
    ApiServer,
    Policy(Mode),
}

impl RequestProgram for Judge {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        match self.surroundings {
            Surroundings::Policy(Mode::Json) => return Ok(Applies::Yes),
            Surroundings::Policy(Mode::Http | Mode::Envoy) if !evaluation.request.kind.kind.is_empty() => {
                return Ok(Applies::Outside("the policy is about requests over HTTP".into()));
            }
            Surroundings::Policy(Mode::Http | Mode::Envoy) => return Ok(Applies::Yes),
            Surroundings::ApiServer | Surroundings::Policy(Mode::Kubernetes) => {}
        }
        let Some(matcher) = &self.matcher else {
            return Ok(Applies::Outside("the policy does not say what it is about".into()));
        };
        for matcher in std::iter::once(matcher).chain(&self.binding) {
            if let Some(reason) = matcher.matches(object, evaluation)? {
                return Ok(Applies::Outside(reason));
            }
        }
        Ok(Applies::Yes)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if let Some(broken) = &self.broken {
            return Err(EvalError::new(broken.as_str()));
        }
        let mut notes = Notes::of(evaluation.tracer);
        let effect = self.judge(object, evaluation, &mut notes);
        trace::tell(&mut notes, evaluation.tracer, &self.document);
        effect
    }

    fn branches(&self) -> Vec<Branch> {
        let branch =
            |(what, path): (String, Vec<Step>)| Branch { what, location: self.document.locate(&path) };
        self.checks.branches(LISTS.0, LISTS.1).into_iter().map(branch).collect()
    }
}

impl Judge {
    fn judge(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut Notes,
    ) -> Result<Effect, EvalError> {
        let allowed = match excused(&self.exceptions, object, evaluation, notes)? {
            Excused::Wholly { is_pass, keys } => return Ok(exempt(is_pass, keys)),
            Excused::Partly(allowed) => allowed,
        };
        let spent = Cell::new(0);
        let subject = Subject { exceptions: &allowed, ..Subject::of(object, LISTS, &spent) };
        let Some(params) = &self.params else {
            return self.effect(self.checks.judge(&subject, evaluation, notes));
        };
        let world = evaluation.world;
        let found = params.find(&evaluation.request.namespace, world, evaluation.budget)?;
        let mut effect = Effect::Pass(Text::default());
        for params in &found {
            let subject = Subject { params, exceptions: &allowed, ..Subject::of(object, LISTS, &spent) };
            effect = self.effect(self.checks.judge(&subject, evaluation, notes))?;
            if let Effect::Fail { .. } = effect {
                break;
            }
        }
        Ok(effect)
    }

    fn effect(&self, finding: Finding) -> Result<Effect, EvalError> {
        let is_native = self.surroundings == Surroundings::ApiServer;
        Ok(match finding {
            Finding::Holds(_) => Effect::Pass(if is_native { Text::default() } else { "success".into() }),
            Finding::NotAsked if is_native => skip("match conditions aren't met"),
            Finding::NotAsked => skip("skip"),
            Finding::Violated(Violation { message, path, at, .. }) => Effect::Fail {
                is_refusal: self.actions.denies,
                location: (!at.is_empty()).then(|| self.document.locate(&at)),
                message,
                path,
                denial: None,
            },
            Finding::Failed(violation) => return Err(EvalError::new(violation.message)),
            Finding::Error(error) => return Err(error),
        })
    }
}

fn exempt(is_pass: bool, exceptions: Vec<Text>) -> Effect {
    let keys = exceptions.join(", ");
    match is_pass {
        true => Effect::Pass(format!("rule is passed due to policy exception: {keys}").into()),
        false => Effect::Skip {
            message: format!("rule is skipped due to policy exception: {keys}").into(),
            exceptions,
        },
    }
}

fn skip(message: &str) -> Effect {
    Effect::Skip { message: message.into(), exceptions: Vec::new() }
}
