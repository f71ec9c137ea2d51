//! Cases about whole rules.

use kubewright_dialects::{DialectOptions, LoadedRules, all_dialects, load_documents};
use kubewright_engine::{ClosedWorld, Decision, DecisionSettings, Engine, RuleStatus};
use kubewright_k8s::{AdmissionRequest, GroupVersionKind, Operation};
use kubewright_modrule::{self as modrule, PodBinding};
use kubewright_patch::{self as patch, JsonPatchOperation};
use kubewright_value::{Budget, Document, Map, Source, Text, Value, json, yaml};

use super::super::{case_list, case_text, expect_equal};
use super::shared_or_own;

/// Patch rules against one object: the result must be the same.
pub(super) fn check_patch_rules(_: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    let loaded = load_rules(case, case_list(case, "rules"));
    if !case_list(expected, "putErrors").is_empty() {
        expect_errors(&loaded)?;
    }
    let input = case.get("input").cloned().unwrap_or_default();
    let wanted = apply_json_patch(&input, expected.get("patch"))?;
    match decide_case(case, loaded) {
        Some(decision) => expect_equal(&decision.object, &wanted),
        None => expect_equal(&input, &wanted),
    }
}

/// Reject rules: the same reasons in the same order, or a rule that cannot be loaded.
pub(super) fn check_rejections(_: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    let loaded = load_rules(case, case_list(case, "rules"));
    if expected.get("loadError").is_some() || expected.get("putErrors").is_some() {
        return expect_errors(&loaded);
    }
    let wanted =
        expected.get("rejections").or_else(|| expected.get("rejectMessages")).cloned().unwrap_or_default();
    let decision = decide_case(case, loaded).ok_or("no such operation")?;
    let reasons: Vec<Value> =
        decision.outcomes.iter().filter_map(|o| o.denial.as_deref()).map(Value::from).collect();
    expect_equal(&Value::array(reasons), &wanted)
}

/// Whole admission requests: allowed or not, with which words, and what changed.
pub(super) fn check_admission(_: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    let decision =
        decide_case(case, load_rules(case, case_list(case, "rules"))).ok_or("no such operation")?;
    let allowed = expected.get("allowed").and_then(Value::as_bool).unwrap_or(true);
    if decision.is_allowed != allowed {
        return Err(format!("expected allowed to be {allowed}"));
    }
    if !allowed {
        return expect_equal(&modrule::denial(&decision).into(), &case_text(expected, "reason").into());
    }
    let input = case.get("input").cloned().unwrap_or_default();
    let patch = expected.get("patches").or_else(|| expected.get("patch")).filter(|patch| !patch.is_null());
    expect_equal(&decision.object, &apply_json_patch(&input, patch)?)
}

/// One rule: whether each criterion and all of them are met.
pub(super) fn check_match_criteria(_: &Value, case: &Value) -> Result<(), String> {
    let expected = case.get("expected").ok_or("no expectation")?;
    let rule = case_list(case, "rules").first().and_then(Value::as_str).ok_or("no rule")?;
    let documents = yaml::read(&Source::new("rule", rule)).documents;
    let document = documents.first().ok_or("the rule is not YAML")?;
    let input = case.get("input").cloned().unwrap_or_default();
    let count = document.value.at(&["spec", "match"]).and_then(Value::as_array).map_or(0, <[_]>::len);
    let mut met = Vec::new();
    for i in 0..count {
        let part = document.part(&["spec".into(), "match".into(), i.into()]).ok_or("no criterion")?;
        met.push(Value::Bool(evaluate_criterion(&part, &input)?));
    }
    let all = met.iter().all(|met| met.as_bool() == Some(true));
    if let Some(wanted) = expected.get("perCriterion") {
        expect_equal(&Value::array(met), wanted)?;
    }
    expect_equal(&all.into(), expected.get("matched").unwrap_or(&Value::Null))
}

/// One criterion.
pub(super) fn check_criterion(suite: &Value, case: &Value) -> Result<(), String> {
    let criterion = case.get("criterion").cloned().unwrap_or_default();
    // An unknown `matchFor` cannot be loaded, and so does not match.
    let is_met = evaluate_criterion(
        &Document::made(criterion, Source::new("criterion", "")),
        shared_or_own(suite, case, "input"),
    )
    .unwrap_or(false);
    expect_equal(&is_met.into(), case.at(&["expected", "matched"]).unwrap_or(&Value::Null))
}

/// Rules with one name replace each other.
pub(super) fn check_store_selection(_: &Value, case: &Value) -> Result<(), String> {
    let number = |key: &str| case.get(key).and_then(Value::as_i64).unwrap_or(0);
    let criteria =
        case.at(&["rule", "match"]).map_or_else(|| r#"[{"select":"$.kind"}]"#.to_owned(), Value::to_string);
    let rules: Vec<Value> = (0..number("puts"))
        .map(|i| {
            let (namespace, name) = (i % number("namespaces").max(1), i % number("namesPerNamespace").max(1));
            format!(
                r#"{{"apiVersion":"api.kubemod.io/v1beta1","kind":"ModRule","metadata":{{"name":"n{name}","namespace":"ns{namespace}"}},
                "spec":{{"type":"Reject","match":{criteria}}}}}"#
            )
            .into()
        })
        .collect();
    let count = Engine::new(load_rules(case, &rules).rules).rules().len();
    let wanted = case.at(&["expected", "totalRules"]).or_else(|| case.at(&["expected", "namespaces"]));
    expect_equal(&count.into(), wanted.unwrap_or(&Value::Null))
}

/// Whether a rule is refused when it is written.
pub(super) fn check_rule_validation(_: &Value, case: &Value) -> Result<(), String> {
    let loaded = load_rules(case, case_list(case, "rules"));
    match case.at(&["expected", "error"]) {
        Some(_) => expect_errors(&loaded),
        None => match loaded_errors(&loaded).first() {
            None => Ok(()),
            Some(error) => Err(format!("expected a valid rule, got {error}")),
        },
    }
}

/// The change to a Pod when it is bound to a node.
pub(super) fn check_pod_binding(_: &Value, case: &Value) -> Result<(), String> {
    let input = case.get("input").cloned().unwrap_or_default();
    let pod = |binding: &PodBinding| {
        let key = format!("Pod/{}/{}", binding.pod.namespace, binding.pod.name);
        case.get("clusterObjects").and_then(|objects| objects.get(&key)).cloned()
    };
    let update = PodBinding::read(&input).and_then(|binding| {
        let pod = pod(&binding)?;
        let change = modrule::binding_annotations(&binding, &pod)?;
        Some(merge_fields(&pod, &change))
    });
    let updates = update.map_or(Value::Null, |pod| Value::array(vec![pod]));
    expect_equal(&updates, case.at(&["expected", "updates"]).unwrap_or(&Value::Null))
}

/// The dry-run request.
pub(super) fn check_dry_run(_: &Value, case: &Value) -> Result<(), String> {
    let request = case.get("request").cloned().unwrap_or_default();
    let status = case.at(&["expected", "status"]).and_then(Value::as_i64);
    let run = match (modrule::run_dry_run(&request), status) {
        (Ok(run), Some(200)) => run,
        (Err(_), Some(400)) => return Ok(()),
        (Ok(_), _) => return Err("expected an error".to_owned()),
        (Err(error), _) => return Err(format!("unexpected error: {error}")),
    };
    let body = case.at(&["expected", "body"]).ok_or("no body")?;
    let reasons: Vec<Value> = run.rejections.iter().map(|reason| reason.as_str().into()).collect();
    expect_equal(&Value::array(reasons), body.get("rejections").unwrap_or(&Value::Null))?;
    expect_equal(&run.after, &apply_json_patch(&run.before, body.get("patch"))?)?;
    let changed = |diff: &str| {
        let lines = diff.lines().filter(|line| line.starts_with(['+', '-'])).map(Value::from);
        Value::array(lines.collect())
    };
    expect_equal(&changed(&run.diff()), &changed(case_text(body, "diff")))
}

fn evaluate_criterion(criterion: &Document, object: &Value) -> Result<bool, String> {
    let criterion = modrule::compile_criterion(criterion)
        .map_err(|errors| errors.first().map_or_else(|| "unreadable".to_owned(), ToString::to_string))?;
    let finding = criterion.look(object, &mut Budget::default()).map_err(|error| error.to_string())?;
    Ok(finding.is_met)
}

fn load_rules(case: &Value, rules: &[Value]) -> LoadedRules {
    let named =
        |key: &str, default: &str| Text::new(case.get(key).and_then(Value::as_str).unwrap_or(default));
    let mut options = DialectOptions::default();
    options.modrule.cluster_rules_namespace = named("clusterModRulesNamespace", modrule::CLUSTER_NAMESPACE);
    options.modrule.default_namespace = Some(named("ruleNamespaceDefault", case_text(case, "namespace")));
    let documents: Vec<_> = rules
        .iter()
        .enumerate()
        .flat_map(|(i, rule)| {
            yaml::read(&Source::new(format!("rule {i}"), rule.as_str().unwrap_or_default())).documents
        })
        .collect();
    load_documents(&all_dialects(&options), &documents)
}

fn loaded_errors(loaded: &LoadedRules) -> Vec<String> {
    loaded.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).map(ToString::to_string).collect()
}

fn expect_errors(loaded: &LoadedRules) -> Result<(), String> {
    if loaded_errors(loaded).is_empty() {
        Err("expected a rule that cannot be loaded".to_owned())
    } else {
        Ok(())
    }
}

/// Decides the case's request; nothing when its operation does not exist, so that no rule can be about it.
fn decide_case(case: &Value, loaded: LoadedRules) -> Option<Decision> {
    let operation = Operation::named(case.get("operation").and_then(Value::as_str).unwrap_or("CREATE"))?;
    let mut request = AdmissionRequest::for_object(
        case.get("input").cloned().unwrap_or_default(),
        operation,
        case_text(case, "namespace"),
    );
    if let Some(kind) = case.get("kind") {
        let part = |key| Text::new(case_text(kind, key));
        request.kind =
            GroupVersionKind { group: part("group"), version: part("version"), kind: part("kind") };
    }
    if request.kind.kind != "Namespace" {
        request.namespace = case_text(case, "namespace").into();
    }
    let objects =
        case.get("clusterObjects").and_then(Value::as_object).into_iter().flat_map(Map::values).cloned();
    let decision =
        Engine::new(loaded.rules).decide(&request, &ClosedWorld::new(objects), &DecisionSettings::default());
    debug_assert!(decision.with_status(RuleStatus::Fail).count() == 0 || !decision.is_allowed);
    Some(decision)
}

/// Returns `input` after a standard JSON Patch.
fn apply_json_patch(input: &Value, patch: Option<&Value>) -> Result<Value, String> {
    let mut object = input.clone();
    let operations = JsonPatchOperation::list(patch.unwrap_or(&Value::array(Vec::new())))
        .map_err(|error| error.to_string())?;
    patch::apply_patch(&mut object, &operations, &patch::PatchOptions::rfc6902(), &mut Budget::default())
        .map_err(|error| format!("the expected patch does not apply: {error}"))?;
    Ok(object)
}

/// Returns `base` with the fields of `change` merged into it.
fn merge_fields(base: &Value, change: &Value) -> Value {
    let (Some(old), Some(new)) = (base.as_object(), change.as_object()) else { return change.clone() };
    let mut map = old.clone();
    for (key, value) in new.iter() {
        let value = old.get(key).map_or_else(|| value.clone(), |old| merge_fields(old, value));
        map.insert(key.clone(), value);
    }
    json::parse(&Value::from(map).to_string()).unwrap_or_default()
}
