//! Whether a rule changes its own result again.
//!
//! Kubernetes sends an object through admission every time it changes, so a rule that appends each time
//! grows the object for ever. This is found by trying: an object is made up that meets the criteria,
//! as far as they can be met by setting fields, and the rule is applied to it twice.

use kubewright_engine::{
    Applies, ClosedWorld, DecisionCache, Diagnostic, Evaluation, KindScope, NamespaceScope, RuleProgram as _,
    Tracer, WorldView,
};
use kubewright_k8s::{AdmissionRequest, Operation, PodTemplatePath};
use kubewright_patch::{self as patch, PatchOptions, Pointer};
use kubewright_value::{Budget, Limits, Map, Step, Text, Value};

use super::compile::RuleHeader;
use super::criterion::{CompiledCriterion, CriterionTest};
use super::diagnostics::NOT_IDEMPOTENT;
use super::evaluate::{ModRuleAction, ModRuleProgram};

/// The limits of a trial run: small, because every rule is tried whenever rules are loaded.
const TRIAL_LIMITS: Limits = Limits { steps: 200_000, bytes: 2 << 20, depth: 256 };

/// Returns a warning when a second application changes the result of the first.
pub(super) fn check_idempotence(header: &RuleHeader, rule: &ModRuleProgram) -> Option<Diagnostic> {
    if !matches!(rule.action, ModRuleAction::Patch(_)) {
        return None;
    }
    let object = sample_object(header, rule)?;
    let operation =
        Operation::ALL.into_iter().find(|operation| header.scope.operations.contains(*operation))?;
    let mut request = AdmissionRequest::for_object(object, operation, "sample");
    if let NamespaceScope::Named(names) = &header.scope.namespaces {
        request.namespace = names.first().cloned().unwrap_or_default();
    }
    let mut budget = Budget::new(TRIAL_LIMITS);
    let once = apply_rule(rule, &request, &mut budget)?;
    let again = AdmissionRequest { object: once.clone(), ..request };
    let twice = apply_rule(rule, &again, &mut budget).unwrap_or_else(|| once.clone());
    let change = patch::diff_values(&once, &twice);
    let first = change.first()?;
    let message =
        format!("applied a second time, the rule changes its own result: {} {}", first.name(), first.path());
    Some(
        Diagnostic::new(&NOT_IDEMPOTENT, message, header.location.clone())
            .help("add a negated criterion that holds once the rule has run"),
    )
}

/// Returns the result of the rule for the object of `request`, if it matches.
fn apply_rule(rule: &ModRuleProgram, request: &AdmissionRequest, budget: &mut Budget) -> Option<Value> {
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
fn sample_object(header: &RuleHeader, rule: &ModRuleProgram) -> Option<Value> {
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
        set_at_path(&mut object, &steps, Value::array(vec![container.into()]));
    }
    if let ModRuleAction::Patch(operations) = &rule.action {
        let lists = operations.iter().filter_map(|operation| operation.removed_from());
        lists.for_each(|list| set_at_path(&mut object, &list, vec!["first", "second", "third"].into()));
    }
    for criterion in rule.criteria.iter().filter(|criterion| !criterion.is_negated) {
        for (path, value) in wanted_fields(criterion) {
            set_at_path(&mut object, &path, value);
        }
    }
    Some(object)
}

/// Returns the fields that meet the criterion, with their values.
fn wanted_fields(criterion: &CompiledCriterion) -> Vec<(Vec<Step>, Value)> {
    let mut wishes = criterion.select.pinned();
    if let Some(path) = criterion.select.plain_path() {
        let value = match criterion.tests.first() {
            None => Some(Text::new("sample")),
            Some(CriterionTest::Equals(texts)) => {
                texts.first().and_then(|text| text.spellings().next()).cloned()
            }
            Some(CriterionTest::Matches(regex)) => {
                let plain: String = regex.as_str().chars().filter(|c| !"^$\\()*+?".contains(*c)).collect();
                let is_met = regex.is_match(&plain, &mut Budget::default()).unwrap_or(false);
                is_met.then(|| plain.into())
            }
        };
        wishes.extend(value.map(|value| (path.to_vec(), value.into())));
    }
    wishes
}

fn set_at_path(object: &mut Value, path: &[Step], value: Value) {
    let operation = patch::JsonPatchOperation::Add { path: Pointer::from_steps(path), value };
    let options = PatchOptions { create_parents: true, ..PatchOptions::rfc6902() };
    // A field that cannot be set leaves the sample as it is; then the rule just does not apply to it.
    let _ = patch::apply_patch(object, &[operation], &options, &mut Budget::default());
}
