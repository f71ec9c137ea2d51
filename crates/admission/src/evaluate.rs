//! One policy on one object: what it is about, exceptions, then what must hold.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_cel::Inputs;
use kubewright_engine::{
    Applies, Branch, DecisionCache, Effect, EvalError, EvalErrorKind, Evaluation, Program,
};
use kubewright_k8s::GroupVersionKind;
use kubewright_value::{Document, Step, Text, Value};

use super::matching::Matcher;
use super::source::Actions;
use super::vpol::exceptions::{Exception, Excused, Reported, excused};
use super::vpol::{Mode, extract};
use kubewright_cel_rules::{Checks, Finding, Form, Leniency, Params, Response, Spent, Subject, Violation};
use kubewright_dialect_kit::notes::Notes;
use kubewright_dialect_kit::trace;

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
    /// Bindings share them.
    pub(super) checks: Arc<Checks>,
    pub(super) params: Option<Params>,
    pub(super) exceptions: Vec<Exception>,
    pub(super) actions: Actions,
    /// Whether what cannot be asked at all is refused, whatever the actions are: the API server takes parameters that
    /// are missing and annotations that fail so, unless `failurePolicy` is `Ignore`.
    pub(super) refuses_unfit: bool,
    pub(super) surroundings: Surroundings,
    /// Whether what is judged are the Pods that an object describes somewhere.
    pub(super) looks_for_pods: bool,
    pub(super) inputs: Inputs,
    /// Whether a violation is a failure; otherwise it is a warning.
    pub(super) is_scored: bool,
    /// Why it cannot run.
    pub(super) broken: Option<Text>,
}

/// Who asks the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings {
    ApiServer,
    Policy(Mode),
}

impl Program for Judge {
    fn message(&self) -> &str {
        self.checks.message()
    }

    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        match self.surroundings {
            Surroundings::Policy(Mode::Json) => return Ok(Applies::Yes),
            Surroundings::Policy(Mode::Http) => {
                return Ok(about(is_request(object, &ENVOY_FIELDS), "requests over HTTP"));
            }
            Surroundings::Policy(Mode::Envoy) => {
                return Ok(about(is_request(object, &HTTP_FIELDS), "requests of Envoy"));
            }
            Surroundings::ApiServer if is_policy(&evaluation.request.kind) => {
                return Ok(Applies::OutOfScope("the API server asks no policy about policies".into()));
            }
            Surroundings::ApiServer | Surroundings::Policy(Mode::Kubernetes) => {}
        }
        let Some(matcher) = &self.matcher else {
            return Ok(Applies::OutOfScope("the policy does not say what it is about".into()));
        };
        for matcher in std::iter::once(matcher).chain(&self.binding) {
            if let Some(reason) = matcher.matches(object, evaluation)? {
                return Ok(Applies::OutOfScope(reason));
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
        let found = match self.looks_for_pods {
            true => self.pods(object, evaluation, notes)?,
            false => self.one(object, evaluation, notes)?,
        };
        Ok(match found {
            Found::Excused(reported) => exempt(reported),
            Found::Effect(Effect::Fail { message, template, path, is_refusal, location, .. })
                if !self.is_scored =>
            {
                Effect::Warn { message, template, path, is_refusal, location }
            }
            Found::Effect(effect) => effect,
        })
    }

    /// Judges the Pods that `object` describes. One that is not as it should be decides; one that is excused does not
    /// excuse the others.
    fn pods(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut Notes,
    ) -> Result<Found, EvalError> {
        let request = evaluation.request;
        let templates = extract::templates(object, evaluation.budget)?;
        let old = extract::templates(&request.old_object, evaluation.budget)?;
        if templates.is_empty() {
            let text = |key: &str| object.str_at(&[key]);
            let kind = format!("{}/{}", text("apiVersion"), text("kind"));
            return Err(EvalError::new(format!("extraction mode: no pod template found in {kind}")));
        }
        let (mut passed, mut excused) = (None, None::<Reported>);
        for template in &templates {
            let before = old.iter().find(|old| old.path == template.path);
            let request = template.request(request, before);
            let memory = DecisionCache::default();
            let Evaluation { world, budget, tracer, .. } = evaluation;
            let mut evaluation = Evaluation::new(&request, *world, budget, tracer, &memory);
            let found = self.one(&request.object, &mut evaluation, notes);
            match found.map_err(|error| error_at(error, &template.place()))? {
                Found::Excused(reported) => excused.get_or_insert_default().add(reported),
                Found::Effect(Effect::Fail {
                    message,
                    template: written,
                    path,
                    is_refusal,
                    location,
                    denial,
                }) => {
                    let message = format!("{message} (pod template at {})", template.place());
                    let path = template.path.iter().cloned().chain(path).collect();
                    let fail =
                        Effect::Fail { message, template: written, path, is_refusal, location, denial };
                    return Ok(Found::Effect(fail));
                }
                Found::Effect(effect @ Effect::Pass(_)) => passed = Some(Found::Effect(effect)),
                Found::Effect(_) => {}
            }
        }
        let excused = excused.map(Found::Excused);
        Ok(passed.or(excused).unwrap_or_else(|| Found::Effect(skip("skip"))))
    }

    fn one(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut Notes,
    ) -> Result<Found, EvalError> {
        let spent = Cell::new(Spent::within(evaluation.budget));
        let found = self.spending(object, &spent, evaluation, notes);
        spent.get().charge(evaluation.budget);
        found
    }

    fn spending(
        &self,
        object: &Value,
        spent: &Cell<Spent>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut Notes,
    ) -> Result<Found, EvalError> {
        let form = match self.surroundings {
            Surroundings::Policy(Mode::Http) => Form::Http,
            Surroundings::Policy(Mode::Envoy) => Form::Envoy,
            Surroundings::Policy(Mode::Json) => Form::Payload,
            Surroundings::Policy(Mode::Kubernetes) | Surroundings::ApiServer => Form::Plain,
        };
        let subject = Subject { form, ..Subject::of(object, LISTS, spent) };
        let is_lenient = self.checks.leniency != Leniency::None;
        let allowed = match excused(&self.exceptions, is_lenient, &subject, evaluation, notes)? {
            Excused::Wholly(reported) => return Ok(Found::Excused(reported)),
            Excused::Partly(allowed) => allowed,
        };
        let subject = Subject { exceptions: &allowed, inputs: self.inputs, ..subject };
        if matches!(form, Form::Http | Form::Envoy) {
            return self.answer(self.checks.respond(&subject, evaluation, notes)).map(Found::Effect);
        }
        let Some(params) = &self.params else {
            return self.effect(self.checks.judge(&subject, evaluation, notes)).map(Found::Effect);
        };
        let world = evaluation.world;
        let found = match params.find(evaluation.request, world, evaluation.budget) {
            Ok(found) => found,
            Err(error) => return self.unfit(error, &[]).map(Found::Effect),
        };
        let mut effect = None;
        for params in &found {
            let subject = Subject { params, ..subject };
            let next = self.effect(self.checks.judge(&subject, evaluation, notes))?;
            match (&effect, &next) {
                (_, Effect::Fail { .. }) => return Ok(Found::Effect(next)),
                // Parameters that are not about the object do not hide that it is as others want it.
                (Some(_), Effect::Skip { .. }) => {}
                _ => effect = Some(next),
            }
        }
        Ok(Found::Effect(effect.unwrap_or_else(|| Effect::Pass(Text::default()))))
    }

    fn answer(&self, response: Response) -> Result<Effect, EvalError> {
        Ok(match response {
            Response::None => skip("request does not match"),
            Response::Given(answer, _) if answer.is_allowed => Effect::Pass("request allowed".into()),
            Response::Given(answer, at) => Effect::Fail {
                is_refusal: self.actions.denies,
                location: Some(self.document.locate(&at)),
                message: match self.surroundings {
                    Surroundings::Policy(Mode::Envoy) => {
                        format!("request denied with status code {}", answer.status)
                    }
                    _ => format!("request denied, reason: {}", answer.reason),
                },
                template: Text::default(),
                path: Vec::new(),
                denial: None,
            },
            Response::Failed(message) => return Err(EvalError::new(message)),
            Response::Error(error) => return Err(error),
        })
    }

    fn effect(&self, finding: Finding) -> Result<Effect, EvalError> {
        let is_native = self.surroundings == Surroundings::ApiServer;
        Ok(match finding {
            Finding::Holds => Effect::Pass(if is_native { Text::default() } else { "success".into() }),
            Finding::NotAsked if is_native => skip("match conditions aren't met"),
            Finding::NotAsked => skip("skip"),
            Finding::Violated(Violation { message, template, path, at }) => Effect::Fail {
                template,
                is_refusal: self.actions.denies,
                location: (!at.is_empty()).then(|| self.document.locate(&at)),
                message,
                path,
                denial: None,
            },
            Finding::Failed(Violation { message, at, .. }) => {
                return Err(EvalError::new(message).at(self.document.locate(&at)));
            }
            Finding::Unsaid(Violation { message, at, .. }) => {
                return self.unfit(EvalError::new(message), &at);
            }
            Finding::Error(error) => return Err(error),
        })
    }

    /// Returns what comes of something that cannot be asked.
    fn unfit(&self, error: EvalError, at: &[Step]) -> Result<Effect, EvalError> {
        if !self.refuses_unfit || self.actions.denies || error.kind != EvalErrorKind::Evaluation {
            return Err(error);
        }
        Ok(Effect::Fail {
            is_refusal: true,
            location: (!at.is_empty()).then(|| self.document.locate(at)),
            message: error.message,
            template: Text::default(),
            path: Vec::new(),
            denial: None,
        })
    }
}

/// What the attributes of a request have that Envoy asks about, and of no other.
const ENVOY_FIELDS: [&str; 3] = ["request", "source", "destination"];

/// What the attributes of a request over HTTP have, and of no other.
const HTTP_FIELDS: [&str; 8] = ["method", "path", "host", "header", "query", "scheme", "protocol", "body"];

fn about(is_about: bool, what: &str) -> Applies {
    match is_about {
        true => Applies::Yes,
        false => Applies::OutOfScope(format!("the policy is about {what}").into()),
    }
}

/// Returns whether an object, which is of no kind, is a request that is not of the sort with the fields `others`.
fn is_request(object: &Value, others: &[&str]) -> bool {
    let attributes = object.get("attributes").and_then(Value::as_object);
    object.get("kind").is_none()
        && attributes.is_some_and(|found| !others.iter().any(|field| found.get(field).is_some()))
}

/// Nobody shall be locked out by a policy.
fn is_policy(kind: &GroupVersionKind) -> bool {
    let names = ["Validating", "Mutating"].map(|name| kind.kind.strip_prefix(name));
    kind.group == "admissionregistration.k8s.io"
        && names
            .into_iter()
            .flatten()
            .any(|name| ["AdmissionPolicy", "AdmissionPolicyBinding"].contains(&name))
}

/// What came of one object.
enum Found {
    Excused(Reported),
    Effect(Effect),
}

fn exempt(reported: Reported) -> Effect {
    let Reported { keys: exceptions, is_pass, .. } = reported;
    let keys = exceptions.join(", ");
    match is_pass {
        true => Effect::Pass(format!("rule is passed due to policy exception: {keys}").into()),
        false => Effect::Skip {
            message: format!("rule is skipped due to policy exception: {keys}").into(),
            exceptions,
        },
    }
}

fn error_at(mut error: EvalError, place: &str) -> EvalError {
    error.message.push_str(&format!(" (pod template at {place})"));
    error
}

fn skip(message: &str) -> Effect {
    Effect::Skip { message: message.into(), exceptions: Vec::new() }
}

#[cfg(test)]
mod tests;
