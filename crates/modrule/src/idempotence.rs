//! Whether a rule changes its own result again.
//!
//! Kubernetes sends an object through admission every time it changes, so a rule that appends each time
//! grows the object for ever. This is found by trying: an object is made up that meets the criteria,
//! as far as they can be met by setting fields, and the rule is applied to it twice.

use kubewright_engine::{
    Applies, ClosedWorld, DecisionCache, Diagnostic, Evaluation, KindScope, NamespaceScope, Program as _,
    Tracer, WorldView,
};
use kubewright_k8s::{AdmissionRequest, Operation, PodTemplatePath};
use kubewright_patch::{self as patch, PatchOptions, Pointer};
use kubewright_value::{Budget, Limits, Map, Step, Text, Value};

use super::compile::Header;
use super::criterion::{Criterion, Test};
use super::diagnostics::NOT_IDEMPOTENT;
use super::evaluate::{Action, Rule};

/// What trying a rule may spend: little, because it is done for every rule whenever rules are loaded.
const LIMITS: Limits = Limits { steps: 200_000, bytes: 2 << 20, depth: 256 };

/// Returns a warning when a second application changes what the first one made.
pub(super) fn check(header: &Header, rule: &Rule) -> Option<Diagnostic> {
    if !matches!(rule.action, Action::Patch(_)) {
        return None;
    }
    let object = sample(header, rule)?;
    let operation =
        Operation::ALL.into_iter().find(|operation| header.scope.operations.contains(*operation))?;
    let mut request = AdmissionRequest::for_object(object, operation, "sample");
    if let NamespaceScope::Named(names) = &header.scope.namespaces {
        request.namespace = names.first().cloned().unwrap_or_default();
    }
    let mut budget = Budget::new(LIMITS);
    let once = applied(rule, &request, &mut budget)?;
    let again = AdmissionRequest { object: once.clone(), ..request };
    let twice = applied(rule, &again, &mut budget).unwrap_or_else(|| once.clone());
    let change = patch::diff_values(&once, &twice);
    let first = change.first()?;
    let message =
        format!("applied a second time, the rule changes its own result: {} {}", first.name(), first.path());
    Some(
        Diagnostic::new(&NOT_IDEMPOTENT, message, header.location.clone())
            .help("add a negated criterion that holds once the rule has run"),
    )
}

/// Returns what the rule makes of the object of `request`, if it is about it.
fn applied(rule: &Rule, request: &AdmissionRequest, budget: &mut Budget) -> Option<Value> {
    let (world, mut tracer, memory) = (ClosedWorld::default(), Tracer::off(), DecisionCache::default());
    let view = WorldView::new(&world, None);
    let mut evaluation = Evaluation::new(request, view, budget, &mut tracer, &memory);
    let mut object = request.object.clone();
    let applies = rule.applies(&object, &mut evaluation).ok()?;
    (applies == Applies::Yes).then_some(())?;
    rule.evaluate(&mut object, &mut evaluation).ok()?;
    Some(object)
}

/// Returns an object that should meet the criteria, and has something where the operations look for it.
fn sample(header: &Header, rule: &Rule) -> Option<Value> {
    let kind = match &header.scope.kinds {
        KindScope::Any => Text::new("Sample"),
        KindScope::Named(kinds) => kinds.first()?.clone(),
    };
    let metadata = Map::from([("name", "sample".into())]);
    let mut object = Value::object(Map::from([
        ("apiVersion", "v1".into()),
        ("kind", kind.into()),
        ("metadata", metadata.into()),
    ]));
    let kind = object.str_at(&["kind"]);
    if let Some(path) = PodTemplatePath::of_kind(kind).map(PodTemplatePath::spec_keys) {
        let steps: Vec<Step> = path.iter().copied().chain(["containers"]).map(Step::from).collect();
        let container = Map::from([("name", "sample".into()), ("image", "sample".into())]);
        set(&mut object, &steps, Value::array(vec![container.into()]));
    }
    if let Action::Patch(operations) = &rule.action {
        let lists = operations.iter().filter_map(|operation| operation.removed_from());
        lists.for_each(|list| set(&mut object, &list, vec!["first", "second", "third"].into()));
    }
    for criterion in rule.criteria.iter().filter(|criterion| !criterion.is_negated) {
        for (path, value) in wishes(criterion) {
            set(&mut object, &path, value);
        }
    }
    Some(object)
}

/// Returns what must stand where for the criterion to be met.
fn wishes(criterion: &Criterion) -> Vec<(Vec<Step>, Value)> {
    let mut wishes = criterion.select.pinned();
    if let Some(path) = criterion.select.plain_path() {
        let value = match criterion.tests.first() {
            None => Some(Text::new("sample")),
            Some(Test::Equals(texts)) => texts.first().and_then(|text| text.spellings().next()).cloned(),
            Some(Test::Matches(regex)) => {
                let plain: String = regex.as_str().chars().filter(|c| !"^$\\()*+?".contains(*c)).collect();
                let is_met = regex.is_match(&plain, &mut Budget::default()).unwrap_or(false);
                is_met.then(|| plain.into())
            }
        };
        wishes.extend(value.map(|value| (path.to_vec(), value.into())));
    }
    wishes
}

fn set(object: &mut Value, path: &[Step], value: Value) {
    let operation = patch::JsonPatchOperation::Add { path: Pointer::from_steps(path), value };
    let options = PatchOptions { create_parents: true, ..PatchOptions::rfc6902() };
    // A wish that cannot be granted leaves the sample as it is; then the rule just does not apply to it.
    let _ = patch::apply_patch(object, &[operation], &options, &mut Budget::default());
}
