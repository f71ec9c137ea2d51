//! What a compiled ModRule does to a request.

use kubewright_engine::{Applies, Effect, EvalError, Evaluation, RequestProgram, TraceNode, Verdict};
use kubewright_lang::goregex::Regex;
use kubewright_lang::gotemplate::{Inputs, Template};
use kubewright_lang::jsonpath::{Select, Selected};
use kubewright_lang::patch::{self, Operation, Options};
use kubewright_value::{Budget, Location, Text, Value};

use super::annotation;
use super::criterion::{Criterion, all_met};
use super::path::PathTemplate;
use super::references::{View, is_ignored};
use super::source::Op;
use super::value::{PatchValue, Surroundings, message};

/// A compiled ModRule.
pub(super) struct Rule {
    pub(super) name: Text,
    pub(super) reach: Reach,
    pub(super) criteria: Vec<Criterion>,
    pub(super) action: Action,
    /// Whether anything in the rule can see `syntheticRefs`.
    pub(super) sees_references: bool,
    pub(super) inputs: Inputs,
}

/// Which namespaces the rule is about.
pub(super) enum Reach {
    /// Its own.
    Own(Text),
    /// Every one, because the rule names none and none was chosen for it.
    Every,
    /// Objects without a namespace, those in the cluster namespace, and those in namespaces that the regex finds.
    Cluster { namespace: Text, regex: Option<Regex> },
}

/// What the rule does.
pub(super) enum Action {
    Patch(Vec<PatchOperation>),
    Reject { message: Option<Template> },
}

/// One item of `patch`.
pub(super) struct PatchOperation {
    pub(super) op: Op,
    pub(super) select: Option<Select>,
    pub(super) path: PathTemplate,
    pub(super) value: PatchValue,
    pub(super) location: Location,
}

/// KubeMod's JSON Patch.
pub const PATCH_OPTIONS: Options = Options {
    create_parents: true,
    ignore_missing_removes: true,
    negative_indices: true,
    minus_one_appends: true,
    loose_indices: true,
    dash_creates_object: true,
    fixed_root: true,
    missing_tests_as_null: true,
};

impl RequestProgram for Rule {
    fn applies(&self, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        if !self.reach.includes(&evaluation.request.namespace) {
            return Ok(Applies::No(self.reach.refusal(&evaluation.request.namespace)));
        }
        if is_ignored(evaluation)? {
            return Ok(Applies::No("the namespace is labelled admission.kubemod.io/ignore".to_owned()));
        }
        let view = View::new(evaluation, self.sees_references)?;
        let mut looked = 0;
        let (budget, tracer) = (&mut *evaluation.budget, &mut *evaluation.tracer);
        let is_met = all_met(&self.criteria, &view.value, budget, |criterion, finding| {
            looked += 1;
            tracer.say(|| criterion.describe(finding));
        })?;
        let rest = self.criteria.len() - looked;
        if rest > 0 {
            evaluation.tracer.say(|| not_looked_at(rest));
        }
        Ok(match (is_met, &self.action) {
            (true, _) => Applies::Yes,
            (false, Action::Reject { .. }) => Applies::Clean,
            (false, Action::Patch(_)) => Applies::No(format!("criterion {looked} of {} is not met", self.criteria.len())),
        })
    }

    fn evaluate(&self, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let view = View::new(evaluation, self.sees_references)?;
        match &self.action {
            Action::Patch(operations) => self.patch(operations, view, evaluation),
            Action::Reject { message } => Ok(self.reject(message.as_ref(), &view, evaluation)),
        }
    }
}

impl Rule {
    /// Renders all operations against the object as it is before the rule, then applies them as one.
    fn patch(&self, operations: &[PatchOperation], mut view: View, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let around = Surroundings { target: &view.value, namespace: &evaluation.request.namespace, inputs: &self.inputs };
        let mut rendered = Vec::with_capacity(operations.len());
        let mut origins = Vec::with_capacity(operations.len());
        for operation in operations {
            operation.render(&around, evaluation.budget, &mut rendered).map_err(|error| error.at(operation.location.clone()))?;
            origins.resize(rendered.len(), operation);
        }
        patch::apply(&mut view.value, &rendered, &PATCH_OPTIONS, evaluation.budget).map_err(|error| {
            let failed = EvalError::new(error.to_string());
            origins.get(error.operation).map_or(failed.clone(), |origin| failed.at(origin.location.clone()))
        })?;
        for (operation, origin) in rendered.iter().zip(&origins) {
            evaluation.tracer.say(|| done(operation, origin));
        }
        let before = evaluation.object;
        let after = view.into_object(before);
        let after = annotation::patch_along(before, after, &rendered, &PATCH_OPTIONS, evaluation.budget);
        let operations = if &after == before { Vec::new() } else { rendered };
        Ok(Effect::Patch { object: after, operations })
    }

    fn reject(&self, template: Option<&Template>, view: &View, evaluation: &mut Evaluation<'_>) -> Effect {
        let namespace = &evaluation.request.namespace;
        let around = Surroundings { target: &view.value, namespace, inputs: &self.inputs };
        let home = match &self.reach {
            Reach::Own(home) | Reach::Cluster { namespace: home, .. } => home,
            Reach::Every => namespace,
        };
        // A message that cannot be made does not save the object.
        let text = template.map(|template| message(template, &around, evaluation.budget));
        let (message, denial) = match text {
            Some(Ok(text)) => (text.clone(), format!("{home}/{}: \"{text}\"", self.name)),
            Some(Err(error)) => (format!("rejected; its message could not be made: {}", error.message), format!("{home}/{}", self.name)),
            None => ("rejected".to_owned(), format!("{home}/{}", self.name)),
        };
        let mut places = self.criteria.iter().rev().filter_map(|criterion| criterion.place(&view.value, evaluation.budget));
        let path = places.find(|path| path.len() > 1).unwrap_or_default();
        Effect::Fail { message, path, denial: Some(denial) }
    }
}

impl PatchOperation {
    /// Appends what this operation does: one operation, or one for each selected item.
    fn render(&self, around: &Surroundings<'_>, budget: &mut Budget, into: &mut Vec<Operation>) -> Result<(), EvalError> {
        let Some(select) = &self.select else {
            into.push(self.one(around, None, budget)?);
            return Ok(());
        };
        let mut items = select.evaluate(around.target, budget).map_err(|error| EvalError::new(error.message))?;
        // From the back, so that removing or inserting one item does not move the next one.
        if self.op == Op::Remove || self.path.ends_in_placeholder() {
            items.reverse();
        }
        for item in &items {
            into.push(self.one(around, Some(item), budget)?);
        }
        Ok(())
    }

    fn one(&self, around: &Surroundings<'_>, item: Option<&Selected>, budget: &mut Budget) -> Result<Operation, EvalError> {
        let keys = item.map(|item| item.keys.as_slice()).unwrap_or_default();
        let path = self.path.fill(keys).map_err(|number| {
            EvalError::new(format!("placeholder `#{number}` stands for nothing: the select captured {} keys here", keys.len()))
        })?;
        Ok(match self.op {
            Op::Remove => Operation::Remove { path },
            Op::Add => Operation::Add { path, value: self.value.make(around, item, budget)? },
            Op::Replace => Operation::Replace { path, value: self.value.make(around, item, budget)? },
        })
    }
}

impl Reach {
    fn includes(&self, namespace: &str) -> bool {
        match self {
            Self::Own(own) => own == namespace,
            Self::Every => !namespace.is_empty(),
            Self::Cluster { namespace: own, regex: None } => namespace.is_empty() || own == namespace,
            Self::Cluster { namespace: own, regex: Some(regex) } => regex.is_match(namespace) || own == namespace,
        }
    }

    fn refusal(&self, namespace: &str) -> String {
        let object = if namespace.is_empty() { "without a namespace".to_owned() } else { format!("in namespace `{namespace}`") };
        match self {
            Self::Own(own) => format!("the rule is about namespace `{own}`, the object is {object}"),
            Self::Every => "the rule is about objects that have a namespace".to_owned(),
            Self::Cluster { regex: None, .. } => format!("the rule is about objects without a namespace, this one is {object}"),
            Self::Cluster { regex: Some(regex), .. } => format!("targetNamespaceRegex /{}/ does not match: the object is {object}", regex.as_str()),
        }
    }
}

fn not_looked_at(count: usize) -> TraceNode {
    let what = if count == 1 { "1 more criterion was not looked at".to_owned() } else { format!("{count} more criteria were not looked at") };
    TraceNode { what, found: String::new(), wanted: String::new(), verdict: Verdict::NotLooked, location: None, children: Vec::new() }
}

fn done(operation: &Operation, origin: &PatchOperation) -> TraceNode {
    let value = match operation {
        Operation::Add { value, .. } | Operation::Replace { value, .. } => TraceNode::show(value),
        _ => String::new(),
    };
    TraceNode {
        what: format!("{} {}", operation.name(), operation.path()),
        found: value,
        wanted: String::new(),
        verdict: Verdict::Done,
        location: Some(origin.location.clone()),
        children: Vec::new(),
    }
}

/// Returns what two applications of a rule that was already matched give, for the check that the second changes nothing.
pub(super) fn twice(rule: &Rule, evaluation: &mut Evaluation<'_>) -> Result<Option<(Value, Value)>, EvalError> {
    let once = match rule.applied(evaluation)? {
        Some(once) => once,
        None => return Ok(None),
    };
    let mut again = Evaluation {
        request: evaluation.request,
        object: &once,
        world: evaluation.world,
        budget: &mut *evaluation.budget,
        tracer: &mut *evaluation.tracer,
    };
    let twice = rule.applied(&mut again)?.unwrap_or_else(|| once.clone());
    Ok(Some((once, twice)))
}

impl Rule {
    fn applied(&self, evaluation: &mut Evaluation<'_>) -> Result<Option<Value>, EvalError> {
        if self.applies(evaluation)? != Applies::Yes {
            return Ok(None);
        }
        match self.evaluate(evaluation)? {
            Effect::Patch { object, .. } => Ok(Some(object)),
            _ => Ok(None),
        }
    }
}
