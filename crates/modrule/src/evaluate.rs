//! The evaluation of a compiled ModRule for a request.

use kubewright_engine::{
    Applies, DecisionCache, DerivationCost, Effect, EvalError, Evaluation, OutcomeReason, RuleProgram,
    TraceNode, TraceVerdict,
};
use kubewright_golib::regex::Regex;
use kubewright_gotemplate::{GoTemplate, Inputs};
use kubewright_jsonpath::{JsonPathErrorKind, JsonPathSelector, SelectedValue};
use kubewright_k8s::AdmissionRequest;
use kubewright_patch::{
    self as patch, JsonPatchOperation, KeyPositions, PatchErrorKind, PatchOptions, Pointer,
};
use kubewright_value::{Budget, Exhausted, Limits, Location, Step, Text, Value};

use super::annotation;
use super::criterion::{CompiledCriterion, all_met, first_unmet};
use super::hint;
use super::ignored;
use super::path::PathTemplate;
use super::references::{ObjectView, ReferenceSettings, has_hidden_fields, synthetic_references};
use super::shared::QuestionNumber;
use super::source::OperationType;
use super::value::{PatchValue, TemplateInputs, render_reject_message};

/// A compiled ModRule.
pub(super) struct ModRuleProgram {
    pub(super) name: Text,
    pub(super) reach: NamespaceReach,
    /// The number of the question whether a request is within `reach` and not ignored, which other rules ask too.
    pub(super) reach_number: Option<QuestionNumber>,
    /// Where the rule says which namespaces it is about.
    pub(super) namespaces_place: Option<Location>,
    /// The namespace in which cluster rules live.
    pub(super) cluster_namespace: Text,
    pub(super) criteria: Vec<CompiledCriterion>,
    /// Whether a criterion may look at `metadata`, a part of which rules do not see.
    pub(super) reads_metadata: bool,
    pub(super) action: ModRuleAction,
    /// Where the objects that the rule patched had the keys on the way.
    pub(super) key_positions: KeyPositions,
    pub(super) sight: ReferenceSettings,
    pub(super) inputs: Inputs,
    /// Whether templates may throw dice or make keys.
    pub(super) is_random: bool,
    /// Whether templates see the object as rules before this one left it, as in KubeMod's program.
    pub(super) sees_changes: bool,
}

/// The namespaces that the rule covers.
pub(super) enum NamespaceReach {
    /// Its own.
    Own(Text),
    /// Every one, because the rule names none and none was chosen for it.
    Every,
    /// The rule is in the cluster namespace and covers the namespaces of its `targetNamespaceRegex`.
    Cluster { namespace: Text, targets: ClusterTargets },
}

/// The targets of a rule in the cluster namespace.
pub(super) enum ClusterTargets {
    /// No `targetNamespaceRegex`: objects without a namespace.
    ClusterScoped,
    /// `.*`: objects without a namespace, and objects in any namespace.
    Everything,
    /// Any other `targetNamespaceRegex`: objects in namespaces that it matches.
    Namespaces(Regex),
}

/// The action of the rule.
pub(super) enum ModRuleAction {
    Patch(Vec<CompiledOperation>),
    Reject {
        message: Option<Box<GoTemplate>>,
        /// Where the message is written.
        location: Option<Location>,
    },
}

/// One item of `patch`.
pub(super) struct CompiledOperation {
    pub(super) op: OperationType,
    pub(super) select: Option<JsonPathSelector>,
    pub(super) path: PathTemplate,
    /// The path as it is written in the rule.
    pub(super) written_path: Text,
    pub(super) value: PatchValue,
    pub(super) location: Location,
}

/// KubeMod's JSON Patch, which departs from the standard wherever it can.
pub const PATCH_OPTIONS: PatchOptions = PatchOptions::lenient();

/// The limits of a message template. The object is refused with or without it, so they are small.
const MESSAGE_LIMITS: Limits = Limits { steps: 200_000, bytes: 1 << 20, depth: 128 };

/// The message of a rule that has none.
const REJECTED_MESSAGE: &str = "rejected";

impl RuleProgram for ModRuleProgram {
    fn message(&self) -> &str {
        match &self.action {
            ModRuleAction::Reject { message: Some(message), .. } => message.text(),
            ModRuleAction::Reject { message: None, .. } => REJECTED_MESSAGE,
            ModRuleAction::Patch(_) => "",
        }
    }

    fn denial(&self, message: &str, request: &AdmissionRequest) -> Option<String> {
        match &self.action {
            ModRuleAction::Reject { message: Some(_), .. } => Some(self.said(message, request)),
            ModRuleAction::Reject { message: None, .. } => Some(self.key(request)),
            ModRuleAction::Patch(_) => None,
        }
    }

    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        let number = self.reach_number.as_ref().map(|number| **number);
        if !number.is_some_and(|number| evaluation.has_passed(number)) {
            if let Some(reason) = self.out_of_reach(evaluation)? {
                return Ok(Applies::No(reason));
            }
            if let Some(number) = number {
                evaluation.keep_passed(number);
            }
        }
        let made;
        let is_traced = evaluation.tracer.is_on();
        let view = match self.references(object, evaluation)? {
            None if !(self.reads_metadata || is_traced) || !has_hidden_fields(object) => object,
            references => {
                made = ObjectView::new(object.clone(), references);
                &made.value
            }
        };
        if is_traced {
            return self.traced_match(view, evaluation);
        }
        // A view of its own is of no use to other rules.
        let selected = std::ptr::eq(view, object).then(|| evaluation.derived());
        let unmet = first_unmet(&self.criteria, (view, selected), evaluation.budget)?;
        Ok(self.applies_unless(unmet))
    }

    fn known_miss(&self, object: &Value, known: &DecisionCache) -> Option<DerivationCost> {
        let is_in_reach = self.reach_number.as_ref().is_some_and(|number| known.has_passed(**number));
        let sees_object = !(self.sight.sees_references || self.reads_metadata && has_hidden_fields(object));
        if !(is_in_reach && sees_object && matches!(self.action, ModRuleAction::Patch(_))) {
            return None;
        }
        let mut cost = DerivationCost::default();
        for criterion in &self.criteria {
            let (is_met, of_criterion) = criterion.known_answer(object, known.derived())?;
            cost = cost.and(of_criterion);
            if !is_met {
                return Some(cost);
            }
        }
        None
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        let references = self.references(object, evaluation)?;
        match &self.action {
            ModRuleAction::Patch(operations) => {
                let request = evaluation.request;
                let made = match self.sees_changes {
                    true => Some(ObjectView::new(object.clone(), references.clone()).value),
                    false if references.is_some() || has_hidden_fields(&request.object) => {
                        Some(ObjectView::new(request.object.clone(), references.clone()).value)
                    }
                    false => None,
                };
                let target = made.as_ref().unwrap_or(&request.object);
                // Taken out and put back, so that the edited value has one owner and is not copied.
                let mut view = ObjectView::new(std::mem::take(object), references);
                let patched = self.patch(operations, target, &mut view.value, evaluation);
                *object = view.into_object();
                Ok(self.patched(object, patched?, evaluation))
            }
            ModRuleAction::Reject { message, location } => {
                let view = ObjectView::new(object.clone(), references);
                Ok(self.reject((message.as_deref(), location.as_ref()), &view, evaluation))
            }
        }
    }
}

/// The result of a patch on a view.
struct PatchResult {
    /// Everything that was done.
    rendered: Vec<JsonPatchOperation>,
    /// Which of it changed something.
    changes: Vec<usize>,
    /// The last-applied annotation before it.
    annotation: Option<Text>,
}

impl ModRuleProgram {
    /// Returns why the rule is not about the namespace of the request.
    fn out_of_reach(&self, evaluation: &mut Evaluation<'_>) -> Result<Option<Text>, EvalError> {
        let is_included = self.reach.includes(&evaluation.request.namespace, evaluation.budget);
        if !is_included.map_err(|limit| EvalError::limit(limit.to_string()))? {
            self.tell_refusal(evaluation);
            return Ok(Some(self.reach.refusal(&evaluation.request.namespace).into()));
        }
        ignored::ignored_reason(&self.sight, &self.cluster_namespace, evaluation)
    }

    /// Looks at the criteria of a traced rule one by one. The trace shows what was selected as the path found it.
    fn traced_match(&self, view: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        let mut looked = 0;
        let (budget, tracer) = (&mut *evaluation.budget, &mut *evaluation.tracer);
        let is_met = all_met(&self.criteria, view, budget, |criterion, finding| {
            looked += 1;
            tracer.say(|| criterion.describe(finding, view));
        })?;
        let rest = self.criteria.len() - looked;
        if rest > 0 {
            evaluation.tracer.say(|| skipped_criteria_node(rest));
        }
        let unmet = self.criteria.get(looked.saturating_sub(1));
        Ok(self.applies_unless(unmet.filter(|_| !is_met)))
    }

    /// Returns whether the rule applies, if `unmet` is the first of its criteria that is not met.
    fn applies_unless(&self, unmet: Option<&CompiledCriterion>) -> Applies {
        match (unmet, &self.action) {
            (None, _) => Applies::Yes,
            (Some(_), ModRuleAction::Reject { .. }) => Applies::NotViolated,
            (Some(unmet), ModRuleAction::Patch(_)) => Applies::No(unmet.unmet.clone()),
        }
    }

    /// Adds to the trace that the regular expression of the rule does not match the namespace.
    fn tell_refusal(&self, evaluation: &mut Evaluation<'_>) {
        let NamespaceReach::Cluster { targets: ClusterTargets::Namespaces(regex), .. } = &self.reach else {
            return;
        };
        let namespace = evaluation.request.namespace.as_str();
        evaluation.tracer.say(|| TraceNode {
            what: format!("targetNamespaceRegex {}", regex.as_str()),
            found: if namespace.is_empty() { "no namespace".to_owned() } else { namespace.to_owned() },
            verdict: TraceVerdict::No,
            location: self.namespaces_place.clone(),
            subject: ["metadata", "namespace"].map(Step::from).to_vec(),
            ..TraceNode::default()
        });
    }

    /// Returns the references that the rule can see.
    fn references(&self, object: &Value, evaluation: &Evaluation<'_>) -> Result<Option<Value>, EvalError> {
        let sees_references = self.sight.sees_references;
        sees_references.then(|| synthetic_references(object, &self.sight, evaluation)).transpose()
    }

    /// Returns the inputs of templates besides the object. Random values differ between requests and between rules;
    /// all templates of a rule share them, so that one can write a key and the next its certificate.
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
        operations: &[CompiledOperation],
        target: &Value,
        view: &mut Value,
        evaluation: &mut Evaluation<'_>,
    ) -> Result<PatchResult, EvalError> {
        // A select may find several items.
        let capacity = operations.len().saturating_mul(2);
        let mut rendered = Vec::with_capacity(capacity);
        let mut origins: Vec<&CompiledOperation> = Vec::with_capacity(capacity);
        let inputs = self.inputs(evaluation.request);
        let around = TemplateInputs { target, namespace: &evaluation.request.namespace, inputs: &inputs };
        for operation in operations {
            let place = || operation.location.clone();
            operation
                .render(view, &around, evaluation.budget, &mut rendered)
                .map_err(|error| error.at(place()))?;
            if rendered.len() == origins.len() {
                evaluation.tracer.say(|| operation.found_nothing(view));
            }
            origins.resize(rendered.len(), operation);
        }
        if let ([], [first, ..]) = (rendered.as_slice(), operations)
            && evaluation.wants_reason
        {
            let TraceNode { found, help, subject, .. } = first.found_nothing(view);
            let reason = OutcomeReason { text: found, help, path: subject, ..OutcomeReason::default() };
            evaluation.reason = Some(Box::new(reason));
            evaluation.location = Some(first.location.clone());
        }
        if evaluation.wants_reason {
            let written = || {
                rendered.iter().zip(&origins).find(|(operation, origin)| origin.writes_no_value(operation))
            };
            if let Some((operation, origin)) = written() {
                let node = operation_node(operation, (origin, target), true);
                let reason =
                    OutcomeReason { help: node.help, path: node.subject, ..OutcomeReason::default() };
                evaluation.reason = Some(Box::new(reason));
                evaluation.location = Some(origin.location.clone());
            }
        }
        let annotation = annotation::last_applied_text(view);
        let mut changes = Vec::with_capacity(rendered.len());
        let options = (&PATCH_OPTIONS, &self.key_positions);
        patch::apply_operations(view, &rendered, options, evaluation.budget, |number| {
            changes.push(number);
        })
        .map_err(|error| {
            let failed = match error.kind {
                PatchErrorKind::Limit => EvalError::limit(error.to_string()),
                _ => EvalError::new(error.to_string()),
            };
            let path = rendered.get(error.operation).map(|operation| pointer_steps(operation.path()));
            let reason = OutcomeReason { path: path.unwrap_or_default(), ..OutcomeReason::default() };
            let failed = EvalError { reason: Some(Box::new(reason)), ..failed };
            match origins.get(error.operation) {
                Some(origin) => failed.at(origin.location.clone()),
                None => failed,
            }
        })?;
        for (number, (operation, origin)) in rendered.iter().zip(&origins).enumerate() {
            evaluation
                .tracer
                .say(|| operation_node(operation, (origin, target), changes.binary_search(&number).is_ok()));
        }
        Ok(PatchResult { rendered, changes, annotation })
    }

    /// Patches the annotation too, and reports the actual changes.
    fn patched(&self, object: &mut Value, patched: PatchResult, evaluation: &mut Evaluation<'_>) -> Effect {
        let PatchResult { rendered, changes, annotation } = patched;
        if let (Some(text), false) = (&annotation, changes.is_empty()) {
            annotation::patch_last_applied(object, text, &rendered, &PATCH_OPTIONS, evaluation.budget);
        }
        if changes.len() == rendered.len() {
            return Effect::Patch { operations: rendered, message: Text::default() };
        }
        // The changes are numbered in order.
        let is_change = |number: &usize| changes.binary_search(number).is_ok();
        let effective = rendered.into_iter().enumerate().filter(|(number, _)| is_change(number));
        let operations = effective.map(|(_, operation)| operation).collect();
        Effect::Patch { operations, message: Text::default() }
    }

    /// Returns the rule as the requester knows it.
    fn key(&self, request: &AdmissionRequest) -> String {
        let home = match &self.reach {
            NamespaceReach::Own(home) | NamespaceReach::Cluster { namespace: home, .. } => home,
            NamespaceReach::Every => &request.namespace,
        };
        format!("{home}/{}", self.name)
    }

    fn said(&self, message: &str, request: &AdmissionRequest) -> String {
        format!("{}: \"{message}\"", self.key(request))
    }

    fn reject(
        &self,
        (template, written): (Option<&GoTemplate>, Option<&Location>),
        view: &ObjectView,
        evaluation: &mut Evaluation<'_>,
    ) -> Effect {
        let namespace = &evaluation.request.namespace;
        let inputs = self.inputs(evaluation.request);
        let around = TemplateInputs { target: &view.value, namespace, inputs: &inputs };
        // A message that cannot be made does not save the object.
        let text = template
            .map(|template| render_reject_message(template, &around, &mut Budget::new(MESSAGE_LIMITS)));
        let has_no_value =
            text.as_ref().is_some_and(|text| text.as_ref().is_ok_and(|text| text.contains(NO_VALUE)));
        let (message, denial) = match text {
            Some(Ok(text)) => {
                let denial = self.said(&text, evaluation.request);
                (text, denial)
            }
            Some(Err(error)) => (
                format!("rejected; its message could not be made: {}", error.message),
                self.key(evaluation.request),
            ),
            None => (REJECTED_MESSAGE.to_owned(), self.key(evaluation.request)),
        };
        let mut places = self
            .criteria
            .iter()
            .rev()
            .filter_map(|criterion| criterion.place(&view.value, evaluation.budget));
        let path = places.find(|path| path.len() > 1).unwrap_or_default();
        let location = written.filter(|_| has_no_value).cloned();
        if has_no_value {
            let help = no_value_help(template, &view.value).0;
            evaluation.reason = Some(Box::new(OutcomeReason { help, ..OutcomeReason::default() }));
        }
        let template = template.map_or(REJECTED_MESSAGE, GoTemplate::text).into();
        Effect::Fail { message, template, path, denial: Some(denial), is_refusal: true, location }
    }
}

impl CompiledOperation {
    /// Returns the list from which this operation removes an item by a fixed index, if it does that.
    pub(super) fn removed_from(&self) -> Option<Vec<Step>> {
        let path =
            self.path.fill(&[]).ok().filter(|_| self.op == OperationType::Remove && self.select.is_none())?;
        let (last, list) = path.tokens().split_last()?;
        last.parse::<usize>().ok()?;
        Some(list.iter().map(|token| Step::Key(token.clone())).collect())
    }

    /// Returns whether the template of this operation wrote what Go writes for a key that is not there.
    fn writes_no_value(&self, operation: &JsonPatchOperation) -> bool {
        let (JsonPatchOperation::Add { value, .. } | JsonPatchOperation::Replace { value, .. }) = operation
        else {
            return false;
        };
        matches!(self.value, PatchValue::Template { .. }) && has_no_value(value)
    }

    /// Returns the line of a trace for an operation whose `select` finds nothing in `view`.
    fn found_nothing(&self, view: &Value) -> TraceNode {
        let select = self.select.as_ref().map_or("", JsonPathSelector::source);
        let reach = hint::follow_keys(select, view);
        let keys = reach.reached.iter().map_while(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        let keys: Vec<&str> = keys.collect();
        let names = view.at(&keys).map(hint::names_of_items).unwrap_or_default();
        TraceNode {
            what: format!("{} {}", self.op.name(), self.written_path),
            found: format!("`{select}` selects nothing, so nothing is done"),
            verdict: TraceVerdict::No,
            location: Some(self.location.clone()),
            subject: reach.reached,
            help: if reach.help.is_empty() { names } else { reach.help },
            ..TraceNode::default()
        }
    }

    /// Appends the operations on `view`: one, or one for each selected item.
    fn render(
        &self,
        view: &Value,
        around: &TemplateInputs<'_>,
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
        if self.op == OperationType::Remove || self.path.ends_in_placeholder() {
            items.reverse();
        }
        for item in &items {
            into.push(self.one(around, Some(item), budget)?);
        }
        Ok(())
    }

    fn one(
        &self,
        around: &TemplateInputs<'_>,
        item: Option<&SelectedValue>,
        budget: &mut Budget,
    ) -> Result<JsonPatchOperation, EvalError> {
        let keys = item.map(|item| item.keys.as_slice()).unwrap_or_default();
        let path = self.path.fill(keys).map_err(|number| {
            EvalError::new(format!(
                "placeholder `#{number}` has no key: the select captured {} keys here",
                keys.len()
            ))
        })?;
        Ok(match self.op {
            OperationType::Remove => JsonPatchOperation::Remove { path },
            OperationType::Add => {
                JsonPatchOperation::Add { path, value: self.value.make(around, item, budget)? }
            }
            OperationType::Replace => {
                JsonPatchOperation::Replace { path, value: self.value.make(around, item, budget)? }
            }
        })
    }
}

impl NamespaceReach {
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
            Self::Own(own) => format!("the rule matches namespace `{own}`, the object is {object}"),
            Self::Every => "the rule matches only objects that have a namespace".to_owned(),
            Self::Cluster { targets: ClusterTargets::Namespaces(regex), .. } if namespace.is_empty() => {
                format!(
                    "targetNamespaceRegex /{}/ matches only objects that have a namespace; `.*` includes others",
                    regex.as_str()
                )
            }
            Self::Cluster { targets: ClusterTargets::Namespaces(regex), .. } => {
                format!("targetNamespaceRegex /{}/ does not match: the object is {object}", regex.as_str())
            }
            Self::Cluster { .. } => {
                format!("the rule matches only objects without a namespace, this one is {object}")
            }
        }
    }
}

fn skipped_criteria_node(count: usize) -> TraceNode {
    let what = if count == 1 {
        "1 more criterion was not looked at".to_owned()
    } else {
        format!("{count} more criteria were not looked at")
    };
    TraceNode { what, ..TraceNode::default() }
}

/// What a template writes in the place of a key that is not there.
const NO_VALUE: &str = "<no value>";

/// What to do about a key that is not there.
const NO_VALUE_HELP: &str = "the template reads a key that is not there; `default` of Sprig gives it a value";

/// Returns which key a template reads that is not there, and how far the path of it leads in `target`.
fn no_value_help(template: Option<&GoTemplate>, target: &Value) -> (String, Vec<Step>) {
    match template.and_then(|template| hint::missing_template_field(template.text(), target)) {
        Some(missing) => (missing.help, missing.reached),
        None => (NO_VALUE_HELP.to_owned(), Vec::new()),
    }
}

/// Returns the steps of a pointer; a number is taken for an index.
fn pointer_steps(pointer: &Pointer) -> Vec<Step> {
    let step = |token: &Text| token.parse().map_or_else(|_| Step::Key(token.clone()), Step::Index);
    pointer.tokens().iter().map(step).collect()
}

fn has_no_value(value: &Value) -> bool {
    match value {
        // Most values have no such character, and it is found much faster.
        Value::String(text) => text.contains('<') && text.contains(NO_VALUE),
        Value::Array(items) => items.iter().any(has_no_value),
        Value::Object(map) => map.values().any(has_no_value),
        _ => false,
    }
}

fn operation_node(
    operation: &JsonPatchOperation,
    (origin, target): (&CompiledOperation, &Value),
    is_change: bool,
) -> TraceNode {
    let value = match operation {
        JsonPatchOperation::Add { value, .. } | JsonPatchOperation::Replace { value, .. } => {
            TraceNode::show(value)
        }
        _ => String::new(),
    };
    let (help, mut subject) = match &origin.value {
        PatchValue::Template { template, .. } if value.contains(NO_VALUE) => {
            no_value_help(Some(template), target)
        }
        _ => (String::new(), Vec::new()),
    };
    if !help.is_empty() && subject.is_empty() {
        subject = pointer_steps(operation.path());
    }
    TraceNode {
        help,
        subject,
        what: format!("{} {}", operation.name(), operation.path()),
        found: value,
        wanted: if is_change { String::new() } else { "is so already".to_owned() },
        verdict: TraceVerdict::Done,
        location: Some(origin.location.clone()),
        ..TraceNode::default()
    }
}
