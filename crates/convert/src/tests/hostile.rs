//! Policies whose translation would be far too large. Each ends quickly, with a message or a readable result.

use super::*;

/// Returns why the rule with this `validate` is not converted, or its conversion.
fn converted(rule: &str) -> Result<Value, String> {
    let text = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, {rule}}}]}}}}"
    );
    let document = kubewright_value::yaml::read(&Source::new("policy.yaml", text)).documents.remove(0);
    let mut conversion =
        convert_policy(&document, ConversionTarget::Successor(None), &[], Default::default()).unwrap();
    match conversion.refused.pop() {
        Some(refused) => Err(refused.why),
        None => Ok(conversion.written.remove(0).documents.remove(0)),
    }
}

const WIDGETS: &str = "match: {any: [{resources: {kinds: [Widget]}}]}";

#[track_caller]
fn is_refused(rule: &str, want: &str) {
    let why = converted(rule).unwrap_err();
    assert!(why.contains(want), "{}", &why[..why.len().min(200)]);
}

#[test]
fn what_would_be_too_long_is_refused() {
    let patterns: String =
        (0..10_000).map(|i| format!("{{metadata: {{labels: {{l{i}: '?*'}}}}}}, ")).collect();
    is_refused(
        &format!("{WIDGETS}, validate: {{anyPattern: [{patterns}]}}"),
        "an expression that is too long",
    );
    let keys = format!("{}'?*'{}", format!("{{{}: ", "k".repeat(1000)).repeat(50), "}".repeat(50));
    is_refused(&format!("{WIDGETS}, validate: {{pattern: {keys}}}"), "an expression that is too long");
    let kinds: String = (0..10_000).map(|i| format!("Kind{i}, ")).collect();
    let rule =
        format!("match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}, validate: {{pattern: {{a: b}}}}");
    is_refused(&rule, "too many kinds");
    let path = format!("request.object{}", ".a".repeat(20_000));
    let condition = format!("{{key: '{{{{ {path} }}}}', operator: Equals, value: x}}");
    let rule = format!("{WIDGETS}, validate: {{deny: {{conditions: {{any: [{condition}]}}}}}}");
    assert!(converted(&rule).is_err());
}

#[test]
fn conditions_of_one_name_get_names_of_their_own() {
    let same = "{name: same, expression: 'object.metadata.name != \"a\"'}, ".repeat(5_000);
    let rule = format!(
        "{WIDGETS}, celPreconditions: [{same}{{name: same-3, expression: 'has(object.spec)'}}], \
         validate: {{cel: {{expressions: [{{expression: 'has(object.status)'}}]}}}}"
    );
    let policy = converted(&rule).unwrap();
    let conditions = policy.at(&["spec", "matchConditions"]).and_then(Value::as_array).unwrap();
    let names: std::collections::HashSet<&str> =
        conditions.iter().filter_map(|one| one.get("name").and_then(Value::as_str)).collect();
    assert_eq!(names.len(), 5_001);
}
