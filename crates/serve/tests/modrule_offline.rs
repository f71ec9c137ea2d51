//! What the server says about ModRules without a cluster: rule objects that are about to be stored, and dry runs.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use kubewright_dialects::DialectOptions;
use kubewright_serve::validate::{self, ServedKinds};
use kubewright_serve::{Snapshot, dry_run};
use kubewright_value::{Map, Value, json, yaml};

const RULE: &str = "
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: colour, namespace: shop}
spec:
  type: Patch
  match: [{select: '$.kind', matchValue: Deployment}]
  patch: [{op: add, path: /metadata/labels/colour, value: blue}]
";

fn snapshot() -> Snapshot {
    Snapshot::of(&DialectOptions::default(), &[], &[], 1)
}

/// Reads [`RULE`] with each `(text, replacement)` of `changes` made.
fn rule(changes: &[(&str, &str)]) -> Value {
    let text = changes.iter().fold(RULE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from} is not in the rule");
        text.replace(from, to)
    });
    yaml::parse(&text).expect("a rule")
}

fn broken() -> Value {
    rule(&[("$.kind", "$."), ("op: add", "op: put")])
}

fn ask(operation: &str, object: Value, old: Value) -> Value {
    let request = Map::from([
        ("uid", "u-1".into()),
        ("operation", operation.into()),
        ("namespace", object.at(&["metadata", "namespace"]).cloned().unwrap_or_default()),
        ("object", object),
        ("oldObject", old),
    ]);
    let review = validate::validate_rule_object(&snapshot(), &ServedKinds::default(), &request.into())
        .to_review("u-1");
    json::parse(&review).expect("a review").get("response").cloned().unwrap_or_default()
}

#[track_caller]
fn check_allowed(response: &Value) {
    assert_eq!(response.get("allowed"), Some(&true.into()), "{response}");
    assert_eq!(response.get("uid").and_then(Value::as_str), Some("u-1"));
}

fn message(response: &Value) -> &str {
    response.str_at(&["status", "message"])
}

#[test]
fn a_good_rule_is_stored() {
    check_allowed(&ask("CREATE", rule(&[]), Value::Null));
}

#[test]
fn a_rule_that_gets_its_name_later_is_stored() {
    check_allowed(&ask("CREATE", rule(&[("name: colour", "generateName: colour-")]), Value::Null));
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_field() {
    let response = ask("CREATE", broken(), Value::Null);
    assert_eq!(response.get("allowed"), Some(&false.into()));
    let text = message(&response);
    assert!(text.starts_with("ModRule.api.kubemod.io \"colour\" is invalid: ["), "{text}");
    assert!(text.contains("spec.match[0].select: "), "{text}");
    assert!(text.contains("spec.patch[0].op: unknown operation `put`"), "{text}");
    assert_eq!(response.at(&["status", "code"]).and_then(Value::as_i64), Some(422));
    assert_eq!(response.at(&["status", "reason"]).and_then(Value::as_str), Some("Invalid"));
    let causes = response.at(&["status", "details", "causes"]).and_then(Value::as_array).expect("causes");
    let fields: Vec<_> = causes.iter().filter_map(|cause| cause.get("field")?.as_str()).collect();
    assert_eq!(fields, ["spec.match[0].select", "spec.patch[0].op"]);
}

#[test]
fn what_is_only_doubtful_is_a_warning() {
    let named = "select: '$.spec.template.spec.containers[? @.image]'";
    let doubtful = rule(&[("select: '$.kind', matchValue: Deployment", named)]);
    let response = ask("CREATE", doubtful, Value::Null);
    check_allowed(&response);
    let warnings = response.get("warnings").and_then(Value::as_array).expect("warnings");
    let warning = warnings.first().and_then(Value::as_str).unwrap_or_default();
    assert!(warning.starts_with("spec.match[0].select: "), "{warning}");
    assert!(warning.ends_with("(KW-M021)"), "{warning}");
}

#[test]
fn hint_is_not_a_warning_of_the_response() {
    let quoted = rule(&[("matchValue: Deployment", "matchValue: '\"Deployment\"'")]);
    let response = ask("CREATE", quoted, Value::Null);
    check_allowed(&response);
    assert_eq!(response.get("warnings"), None, "{response}");
}

#[test]
fn a_broken_rule_can_be_deleted_and_labelled_but_not_changed() {
    check_allowed(&ask("DELETE", Value::Null, broken()));
    check_allowed(&ask("UPDATE", broken_with("labels: {a: b}"), broken()));
    check_allowed(&ask("UPDATE", broken_with("finalizers: []"), broken()));
    check_allowed(&ask("UPDATE", broken_with("deletionTimestamp: '2026-01-01T00:00:00Z'"), rule(&[])));
    let other = rule(&[("$.kind", "$.."), ("op: add", "op: put")]);
    assert_eq!(ask("UPDATE", other, broken()).get("allowed"), Some(&false.into()));
    assert_eq!(ask("UPDATE", broken(), rule(&[])).get("allowed"), Some(&false.into()));
}

fn broken_with(metadata: &str) -> Value {
    let named = format!("namespace: shop, {metadata}");
    rule(&[("$.kind", "$."), ("op: add", "op: put"), ("namespace: shop", &named)])
}

#[test]
fn rules_of_other_languages_are_checked_in_the_same_way() {
    let policy = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [
        {name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, deny: {conditions: {any: [
            {key: a, operator: Resembles, value: b}]}}}}]}}";
    let response = ask("CREATE", yaml::parse(policy).expect("a policy"), Value::Null);
    assert_eq!(response.get("allowed"), Some(&false.into()), "{response}");
    let text = message(&response);
    let want = "ClusterPolicy.kyverno.io \"p\" is invalid: [spec.rules[0].validate.deny.conditions.any[0].operator: ";
    assert!(text.starts_with(want), "{text}");
}

#[test]
fn objects_that_are_not_rules_are_allowed() {
    check_allowed(&ask("CREATE", yaml::parse("{apiVersion: v1, kind: Pod}").expect("a pod"), Value::Null));
    check_allowed(&ask("CONNECT", broken(), Value::Null));
}

/// Sends a dry run, written as YAML, and returns the status and the answer.
fn try_out(request: &str) -> (u16, Value) {
    let request = yaml::parse(request).expect("a request");
    let (status, body) = dry_run::run_dry_run(&snapshot(), json::to_string(&request).as_bytes(), None);
    (status, json::parse(&body).expect("an answer"))
}

const POD_FROM_AROUND: &str = "
resourceManifest: {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {}}}
modRules:
- metadata: {name: around}
  spec:
    type: Patch
    admissionOperations: [UPDATE]
    match: [{select: '$.syntheticRefs.node.metadata.labels.zone'}]
    patch:
    - {op: add, path: /metadata/labels/zone, value: '{{ .Target.syntheticRefs.node.metadata.labels.zone }}'}
    - {op: add, path: /metadata/labels/team, value: '{{ .Target.syntheticRefs.namespace.metadata.labels.team }}'}
- metadata: {name: no-web}
  spec:
    type: Reject
    rejectMessage: 'not {{ .Target.metadata.name }}'
    match: [{select: '$.metadata.name', matchValue: web}]
";

#[test]
fn a_dry_run_tells_patch_diff_rejections_and_what_each_rule_looked_at() {
    let around = "
operation: UPDATE
namespaceManifest: {metadata: {name: shop, labels: {team: red}}}
nodeManifest: {metadata: {name: node-7, labels: {zone: north}}}";
    let (status, answer) = try_out(&format!("{POD_FROM_AROUND}{around}"));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer.get("patch").and_then(Value::as_array).map(<[_]>::len), Some(2), "{answer}");
    let diff = answer.str_at(&["diff"]);
    assert!(diff.contains("+    team: red\n+    zone: north\n"), "{diff}");
    let rejections = answer.get("rejections").and_then(Value::as_array).expect("rejections");
    assert_eq!(rejections, [Value::from("shop/no-web: \"not web\"")]);
    let rules = answer.get("rules").and_then(Value::as_array).expect("rules");
    let told: Vec<_> = rules
        .iter()
        .filter_map(|rule| Some((rule.get("rule")?.as_str()?, rule.get("status")?.as_str()?)))
        .collect();
    assert_eq!(told, [("shop/around", "pass"), ("shop/no-web", "fail")]);
    let has_trace = |rule: &Value| rule.get("trace").and_then(Value::as_array).is_some_and(|t| !t.is_empty());
    assert!(rules.iter().all(has_trace), "{answer}");
}

#[test]
fn a_rule_about_another_operation_is_listed_as_skipped() {
    let (status, answer) = try_out(POD_FROM_AROUND);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer.get("diff").and_then(Value::as_str), Some(""));
    let rules = answer.get("rules").and_then(Value::as_array).expect("rules");
    let skipped = rules.iter().find(|rule| rule.get("status").and_then(Value::as_str) == Some("skip"));
    let skipped = skipped.expect("a skipped rule");
    assert_eq!(skipped.get("rule").and_then(Value::as_str), Some("dryrun-namespace/around"));
    let message = skipped.get("message").and_then(Value::as_str);
    assert_eq!(message, Some("the rule is not about CREATE of Pod dryrun-namespace/web"));
}

#[test]
fn a_dry_run_that_makes_no_sense_is_told_why() {
    let check = |request: &str, want: &str| {
        let (status, answer) = try_out(request);
        let error = answer.str_at(&["error"]);
        assert_eq!(status, 400, "{answer}");
        assert!(error.contains(want), "{error}");
    };
    check("{}", "no rules and no object");
    check("resourceManifest: {}", "field `modRules` is missing");
    check("modRules: []", "field `resourceManifest` is missing");
    check("{resourceManifest: {}, modRules: [null]}", "is not a rule");
    check("{resourceManifest: {}, modRules: [], operation: LOOK}", "unknown operation `LOOK`");
    check("{resourceManifest: {}, modRules: [], nodeManifest: 7}", "field `nodeManifest` is not a manifest");
    let bad = "{resourceManifest: {}, modRules: [{metadata: {name: r}, spec: {type: Fix, match: []}}]}";
    check(bad, "ModRule.api.kubemod.io \"r\" is invalid: [spec.type: unknown type `Fix`");
    let (status, body) = dry_run::run_dry_run(&snapshot(), b"{", None);
    assert_eq!(status, 400, "{body}");
    assert!(body.starts_with(r#"{"error":"the request is not JSON"#), "{body}");
}
