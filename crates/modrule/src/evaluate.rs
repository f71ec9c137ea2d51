//! What a compiled ModRule does to a request.

use kubewright_engine::{Applies, Effect, EvalError, Evaluation, Program, TraceNode, Verdict};
use kubewright_golib::regex::Regex;
use kubewright_gotemplate::{GoTemplate, Inputs};
use kubewright_jsonpath::{JsonPathErrorKind, JsonPathSelector, SelectedValue};
use kubewright_k8s::AdmissionRequest;
use kubewright_patch::{self as patch, JsonPatchOperation, PatchErrorKind, PatchOptions};
use kubewright_value::{Budget, Exhausted, Limits, Location, Step, Text, Value};

use super::annotation;
use super::criterion::{Criterion, all_met};
use super::ignored;
use super::path::PathTemplate;
use super::references::{Sight, View, has_hidden_fields, references};
use super::source::Op;
use super::value::{PatchValue, Surroundings, message};

/// A compiled ModRule.
pub(super) struct Rule {
    pub(super) name: Text,
    pub(super) reach: Reach,
    /// The namespace in which cluster rules live.
    pub(super) cluster_namespace: Text,
    pub(super) criteria: Vec<Criterion>,
    pub(super) action: Action,
    pub(super) sight: Sight,
    pub(super) inputs: Inputs,
    /// Whether templates may throw dice or make keys.
    pub(super) is_random: bool,
    /// Whether templates see the object as rules before this one left it, as in KubeMod's program.
    pub(super) sees_changes: bool,
}

/// Which namespaces the rule is about.
pub(super) enum Reach {
    /// Its own.
    Own(Text),
    /// Every one, because the rule names none and none was chosen for it.
    Every,
    /// The rule is in the cluster namespace, and is about what its `targetNamespaceRegex` says.
    Cluster { namespace: Text, targets: ClusterTargets },
}

/// What a rule in the cluster namespace is about.
pub(super) enum ClusterTargets {
    /// No `targetNamespaceRegex`: objects without a namespace.
    ClusterScoped,
    /// `.*`: objects without a namespace, and objects in any namespace.
    Everything,
    /// Any other `targetNamespaceRegex`: objects in namespaces that it matches.
    Namespaces(Regex),
}

/// What the rule does.
pub(super) enum Action {
    Patch(Vec<PatchOperation>),
    Reject { message: Option<Box<GoTemplate>> },
}

/// One item of `patch`.
pub(super) struct PatchOperation {
    pub(super) op: Op,
    pub(super) select: Option<JsonPathSelector>,
    pub(super) path: PathTemplate,
    /// The path as it is written in the rule.
    pub(super) written_path: Text,
    pub(super) value: PatchValue,
    pub(super) location: Location,
}

/// KubeMod's JSON Patch, which departs from the standard wherever it can.
pub const PATCH_OPTIONS: PatchOptions = PatchOptions::lenient();

/// What a message may cost. The object is refused with or without it, so it is not worth much.
const MESSAGE_LIMITS: Limits = Limits { steps: 200_000, bytes: 1 << 20, depth: 128 };

/// What a rule says that has no message.
const REJECTED: &str = "rejected";

impl Program for Rule {
    fn message(&self) -> &str {
        match &self.action {
            Action::Reject { message: Some(message) } => message.text(),
            Action::Reject { message: None } => REJECTED,
            Action::Patch(_) => "",
        }
    }

    fn denial(&self, message: &str, request: &AdmissionRequest) -> Option<String> {
        match &self.action {
            Action::Reject { message: Some(_) } => Some(self.said(message, request)),
            Action::Reject { message: None } => Some(self.key(request)),
            Action::Patch(_) => None,
        }
    }

    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        let is_included = self.reach.includes(&evaluation.request.namespace, evaluation.budget);
        if !is_included.map_err(|limit| EvalError::limit(limit.to_string()))? {
            return Ok(Applies::No(self.reach.refusal(&evaluation.request.namespace).into()));
        }
        if let Some(reason) = ignored::reason(&self.sight, &self.cluster_namespace, evaluation)? {
            return Ok(Applies::No(reason));
        }
        let made;
        let view = match self.references(object, evaluation)? {
            None if !has_hidden_fields(object) => object,
            references => {
                made = View::new(object.clone(), references);
                &made.value
            }
        };
        let mut looked = 0;
        let (budget, tracer) = (&mut *evaluation.budget, &mut *evaluation.tracer);
        let is_met = all_met(&self.criteria, view, budget, |criterion, finding| {
            looked += 1;
            tracer.say(|| criterion.describe(finding));
        })?;
        let rest = self.criteria.len() - looked;
        if rest > 0 {
            evaluation.tracer.say(|| not_looked_at(rest));
        }
        Ok(match (is_met, &self.action) {
            (true, _) => Applies::Yes,
            (false, Action::Reject { .. }) => Applies::NotViolated,
            (false, Action::Patch(_)) => {
                let unmet = self.criteria.get(looked.saturating_sub(1));
                Applies::No(unmet.map(|criterion| criterion.unmet.clone()).unwrap_or_default())
            }
        })
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let references = self.references(object, evaluation)?;
        match &self.action {
            Action::Patch(operations) => {
                let target = if self.sees_changes { &*object } else { &evaluation.request.object };
                let target = View::new(target.clone(), references.clone());
                // Taken out and put back, so that nobody else holds what is edited.
                let mut view = View::new(std::mem::take(object), references);
                let patched = self.patch(operations, &target.value, &mut view.value, evaluation);
                *object = view.into_object();
                Ok(self.patched(object, patched?, evaluation))
            }
            Action::Reject { message } => {
                Ok(self.reject(message.as_deref(), &View::new(object.clone(), references), evaluation))
            }
        }
    }
}

/// What a patch did to a view.
struct Patched {
    /// Everything that was done.
    rendered: Vec<JsonPatchOperation>,
    /// Which of it changed something.
    changes: Vec<usize>,
    /// The last-applied annotation before it.
    annotation: Option<Text>,
}

impl Rule {
    /// Returns the references that the rule can see.
    fn references(&self, object: &Value, evaluation: &Evaluation<'_>) -> Result<Option<Value>, EvalError> {
        let sees_references = self.sight.sees_references;
        sees_references.then(|| references(object, &self.sight, evaluation)).transpose()
    }

    /// Returns what templates take besides the object. What is random differs from request to request and from rule to rule;
    /// all templates of a rule see the same, so that one can write a key and the next its certificate.
    fn inputs(&self, request: &AdmissionRequest) -> Inputs {
        if !self.is_random {
            return self.inputs;
        }
        let AdmissionRequest { uid, kind, namespace, name, .. } = request;
        self.inputs.of_rendering(&[
            uid,
            &kind.group,
            &kind.kind,
            namespace,
            name,
            &self.reach.name(),
            &self.name,
        ])
    }

    /// Renders all operations against the object as it is before the rule, then applies them as one. Templates see
    /// `target`.
    fn patch(
        &self,
        operations: &[PatchOperation],
        target: &Value,
        view: &mut Value,
        evaluation: &mut Evaluation<'_>,
    ) -> Result<Patched, EvalError> {
        let mut rendered = Vec::with_capacity(operations.len());
        let mut origins: Vec<&PatchOperation> = Vec::with_capacity(operations.len());
        let inputs = self.inputs(evaluation.request);
        let around = Surroundings { target, namespace: &evaluation.request.namespace, inputs: &inputs };
        for operation in operations {
            let place = || operation.location.clone();
            operation
                .render(view, &around, evaluation.budget, &mut rendered)
                .map_err(|error| error.at(place()))?;
            if rendered.len() == origins.len() {
                evaluation.tracer.say(|| operation.found_nothing());
            }
            origins.resize(rendered.len(), operation);
        }
        let annotation = annotation::text(view);
        let mut changes = Vec::with_capacity(rendered.len());
        patch::apply_operations(view, &rendered, &PATCH_OPTIONS, evaluation.budget, |number| {
            changes.push(number);
        })
        .map_err(|error| {
            let failed = match error.kind {
                PatchErrorKind::Limit => EvalError::limit(error.to_string()),
                _ => EvalError::new(error.to_string()),
            };
            origins.get(error.operation).map_or(failed.clone(), |origin| failed.at(origin.location.clone()))
        })?;
        for (number, (operation, origin)) in rendered.iter().zip(&origins).enumerate() {
            evaluation.tracer.say(|| done(operation, origin, changes.binary_search(&number).is_ok()));
        }
        Ok(Patched { rendered, changes, annotation })
    }

    /// Patches the annotation along, and tells what really changed.
    fn patched(&self, object: &mut Value, patched: Patched, evaluation: &mut Evaluation<'_>) -> Effect {
        let Patched { rendered, changes, annotation } = patched;
        if let (Some(text), false) = (&annotation, changes.is_empty()) {
            annotation::patch_along(object, text, &rendered, &PATCH_OPTIONS, evaluation.budget);
        }
        if changes.len() == rendered.len() {
            return Effect::Patch(rendered);
        }
        // The changes are numbered in order.
        let is_change = |number: &usize| changes.binary_search(number).is_ok();
        let effective = rendered.into_iter().enumerate().filter(|(number, _)| is_change(number));
        Effect::Patch(effective.map(|(_, operation)| operation).collect())
    }

    /// Returns the rule as the requester knows it.
    fn key(&self, request: &AdmissionRequest) -> String {
        let home = match &self.reach {
            Reach::Own(home) | Reach::Cluster { namespace: home, .. } => home,
            Reach::Every => &request.namespace,
        };
        format!("{home}/{}", self.name)
    }

    fn said(&self, message: &str, request: &AdmissionRequest) -> String {
        format!("{}: \"{message}\"", self.key(request))
    }

    fn reject(&self, template: Option<&GoTemplate>, view: &View, evaluation: &mut Evaluation<'_>) -> Effect {
        let namespace = &evaluation.request.namespace;
        let inputs = self.inputs(evaluation.request);
        let around = Surroundings { target: &view.value, namespace, inputs: &inputs };
        // A message that cannot be made does not save the object.
        let text = template.map(|template| message(template, &around, &mut Budget::new(MESSAGE_LIMITS)));
        let (message, denial) = match text {
            Some(Ok(text)) => {
                let denial = self.said(&text, evaluation.request);
                (text, denial)
            }
            Some(Err(error)) => (
                format!("rejected; its message could not be made: {}", error.message),
                self.key(evaluation.request),
            ),
            None => (REJECTED.to_owned(), self.key(evaluation.request)),
        };
        let mut places = self
            .criteria
            .iter()
            .rev()
            .filter_map(|criterion| criterion.place(&view.value, evaluation.budget));
        let path = places.find(|path| path.len() > 1).unwrap_or_default();
        let template = template.map_or(REJECTED, GoTemplate::text).into();
        Effect::Fail { message, template, path, denial: Some(denial), is_refusal: true, location: None }
    }
}

impl PatchOperation {
    /// Returns the list that this operation removes a fixed place of, if that is what it does.
    pub(super) fn removed_from(&self) -> Option<Vec<Step>> {
        let path = self.path.fill(&[]).ok().filter(|_| self.op == Op::Remove && self.select.is_none())?;
        let (last, list) = path.tokens().split_last()?;
        last.parse::<usize>().ok()?;
        Some(list.iter().map(|token| Step::Key(token.clone())).collect())
    }

    fn found_nothing(&self) -> TraceNode {
        TraceNode {
            what: format!("{} {}", self.op.name(), self.written_path),
            found: "nothing".to_owned(),
            wanted: "the select found nothing to do this for".to_owned(),
            verdict: Verdict::NotLooked,
            location: Some(self.location.clone()),
            children: Vec::new(),
        }
    }

    /// Appends what this operation does to `view`: one operation, or one for each selected item.
    fn render(
        &self,
        view: &Value,
        around: &Surroundings<'_>,
        budget: &mut Budget,
        into: &mut Vec<JsonPatchOperation>,
    ) -> Result<(), EvalError> {
        let Some(select) = &self.select else {
            into.push(self.one(around, None, budget)?);
            return Ok(());
        };
        let mut items = select.evaluate(view, budget).map_err(|error| match error.kind {
            JsonPathErrorKind::Limit => EvalError::limit(error.message),
            _ => EvalError::new(error.message),
        })?;
        // From the back, so that removing or inserting one item does not move the next one.
        if self.op == Op::Remove || self.path.ends_in_placeholder() {
            items.reverse();
        }
        for item in &items {
            into.push(self.one(around, Some(item), budget)?);
        }
        Ok(())
    }

    fn one(
        &self,
        around: &Surroundings<'_>,
        item: Option<&SelectedValue>,
        budget: &mut Budget,
    ) -> Result<JsonPatchOperation, EvalError> {
        let keys = item.map(|item| item.keys.as_slice()).unwrap_or_default();
        let path = self.path.fill(keys).map_err(|number| {
            EvalError::new(format!(
                "placeholder `#{number}` stands for nothing: the select captured {} keys here",
                keys.len()
            ))
        })?;
        Ok(match self.op {
            Op::Remove => JsonPatchOperation::Remove { path },
            Op::Add => JsonPatchOperation::Add { path, value: self.value.make(around, item, budget)? },
            Op::Replace => {
                JsonPatchOperation::Replace { path, value: self.value.make(around, item, budget)? }
            }
        })
    }
}

impl Reach {
    fn includes(&self, namespace: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
        Ok(match self {
            Self::Own(own) => own == namespace,
            Self::Every => !namespace.is_empty(),
            Self::Cluster { targets, .. } => match targets {
                ClusterTargets::ClusterScoped => namespace.is_empty(),
                ClusterTargets::Everything => true,
                ClusterTargets::Namespaces(regex) => {
                    !namespace.is_empty() && regex.is_match(namespace, budget)?
                }
            },
        })
    }

    fn refusal(&self, namespace: &str) -> String {
        let object = if namespace.is_empty() {
            "without a namespace".to_owned()
        } else {
            format!("in namespace `{namespace}`")
        };
        match self {
            Self::Own(own) => format!("the rule is about namespace `{own}`, the object is {object}"),
            Self::Every => "the rule is about objects that have a namespace".to_owned(),
            Self::Cluster { targets: ClusterTargets::Namespaces(regex), .. } if namespace.is_empty() => {
                format!(
                    "targetNamespaceRegex /{}/ is about objects that have a namespace; only `.*` includes others",
                    regex.as_str()
                )
            }
            Self::Cluster { targets: ClusterTargets::Namespaces(regex), .. } => {
                format!("targetNamespaceRegex /{}/ does not match: the object is {object}", regex.as_str())
            }
            Self::Cluster { .. } => {
                format!("the rule is about objects without a namespace, this one is {object}")
            }
        }
    }
}

fn not_looked_at(count: usize) -> TraceNode {
    let what = if count == 1 {
        "1 more criterion was not looked at".to_owned()
    } else {
        format!("{count} more criteria were not looked at")
    };
    TraceNode {
        what,
        found: String::new(),
        wanted: String::new(),
        verdict: Verdict::NotLooked,
        location: None,
        children: Vec::new(),
    }
}

fn done(operation: &JsonPatchOperation, origin: &PatchOperation, is_change: bool) -> TraceNode {
    let value = match operation {
        JsonPatchOperation::Add { value, .. } | JsonPatchOperation::Replace { value, .. } => {
            TraceNode::show(value)
        }
        _ => String::new(),
    };
    TraceNode {
        what: format!("{} {}", operation.name(), operation.path()),
        found: value,
        wanted: if is_change { String::new() } else { "is so already".to_owned() },
        verdict: Verdict::Done,
        location: Some(origin.location.clone()),
        children: Vec::new(),
    }
}
