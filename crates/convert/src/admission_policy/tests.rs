use kubewright_engine::{AdmissionPolicy, Dialect as _};
use kubewright_kyverno::Kyverno;
use kubewright_value::{Source, yaml};

use super::*;

const CEL: &str = "validate: {failureAction: Enforce, cel: {generate: true, expressions: [{expression: 'has(object.spec)'}]}}";

fn document(text: &str) -> Document {
    yaml::read(&Source::new("p.yaml", text)).documents.remove(0)
}

fn policy(kind: &str, rules: &[String]) -> Document {
    document(&format!(
        "{{apiVersion: kyverno.io/v1, kind: {kind}, metadata: {{name: p, uid: '7'}}, spec: {{rules: [{}]}}}}",
        rules.join(", ")
    ))
}

fn rule(name: &str, resources: &str, validate: &str) -> String {
    format!("{{name: {name}, match: {{any: [{{resources: {{{resources}}}}}]}}, {validate}}}")
}

fn made(document: &Document, exceptions: &[&str]) -> Option<Result<AdmissionPolicy, String>> {
    let exceptions: Vec<Document> = exceptions.iter().map(|text| document_of(text)).collect();
    let native = dialect(&exceptions).compile(document, &[]).native;
    native.map(|native| native.map(|native| native.admission_policy))
}

fn dialect(exceptions: &[Document]) -> Kyverno {
    Kyverno::new(exceptions, Default::default()).with_admission_policies(write_admission_policy)
}

fn document_of(text: &str) -> Document {
    document(&format!(
        "{{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {{name: e, namespace: n}}, spec: {text}}}"
    ))
}

#[track_caller]
fn check_skipped(document: &Document, exceptions: &[&str], want: &str) {
    let found = made(document, exceptions).expect("a ClusterPolicy").expect_err("nothing is made");
    assert_eq!(found, want);
}

#[test]
fn a_rule_that_asks_becomes_a_policy_and_a_binding_of_its_owner() {
    let document = policy("ClusterPolicy", &[rule("r", "kinds: [Deployment]", CEL)]);
    let made = made(&document, &[]).expect("a ClusterPolicy").expect("one is made");
    assert_eq!(made.rule, "r");
    let owner = r#"[{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","name":"p","uid":"7"}]"#;
    let labels = r#"{"app.kubernetes.io/managed-by":"kyverno","kubewright.dev/generated":"true"}"#;
    for (object, name) in [(&made.policy, "cpol-p"), (&made.binding, "cpol-p-binding")] {
        assert_eq!(object.at(&["metadata", "name"]).and_then(Value::as_str), Some(name));
        assert_eq!(object.at(&["metadata", "ownerReferences"]).map(Value::to_string).as_deref(), Some(owner));
        assert_eq!(object.at(&["metadata", "labels"]).map(Value::to_string).as_deref(), Some(labels));
    }
    let actions = made.binding.at(&["spec", "validationActions"]).map(Value::to_string);
    assert_eq!(actions.as_deref(), Some(r#"["Deny"]"#));
}

#[test]
fn an_audited_rule_is_audited_and_warned_of() {
    let audited = CEL.replace("Enforce", "Audit");
    let document = policy("ClusterPolicy", &[rule("r", "kinds: [Deployment]", &audited)]);
    let made = made(&document, &[]).expect("a ClusterPolicy").expect("one is made");
    let actions = made.binding.at(&["spec", "validationActions"]).map(Value::to_string);
    assert_eq!(actions.as_deref(), Some(r#"["Audit","Warn"]"#));
}

#[test]
fn what_is_skipped_is_told_in_the_words_of_the_original() {
    let one = |resources: &str, validate: &str| policy("ClusterPolicy", &[rule("r", resources, validate)]);
    let skipped = |why: &str| format!("skip generating ValidatingAdmissionPolicy: {why}.");
    let pods = "kinds: [Pod]";
    check_skipped(&policy("ClusterPolicy", &[]), &[], &skipped("no rules found"));
    let two = [rule("a", pods, CEL), rule("b", pods, CEL)];
    check_skipped(&policy("ClusterPolicy", &two), &[], &skipped("multiple rules are not applicable"));
    let pattern = one(pods, "validate: {pattern: {spec: {a: b}}}");
    check_skipped(&pattern, &[], "skip generating ValidatingAdmissionPolicy for non CEL rules.");
    let unasked = one(pods, &CEL.replace("generate: true, ", ""));
    check_skipped(&unasked, &[], &skipped("validate.cel.generate is not set to true"));
    let wild = one("kinds: [Pod], names: ['a*']", CEL);
    check_skipped(&wild, &[], &skipped("wildcards in resource name is not applicable"));
    let widget = one("kinds: [example.com/v1/Widget]", CEL);
    check_skipped(&widget, &[], &skipped("the resource of kind `example.com/v1/Widget` is not known"));
}

#[test]
fn an_exception_is_written_into_the_policy_or_keeps_it_from_being_made() {
    let document = policy("ClusterPolicy", &[rule("r", "kinds: [Deployment]", CEL)]);
    let listed = "{exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Deployment], names: [a]}}]}}";
    let found = made(&document, &[listed]).expect("a ClusterPolicy").expect("one is made");
    let excluded = found.policy.at(&["spec", "matchConstraints", "excludeResourceRules"]);
    assert!(excluded.is_some(), "{}", found.policy);
    let selected = "{exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {a: b}}}}]}}";
    let why = "skip generating ValidatingAdmissionPolicy: NamespaceSelector / ObjectSelector in the exclude block is not applicable.";
    check_skipped(&document, &[selected], why);
    let other = "{exceptions: [{policyName: other, ruleNames: [r]}], match: {any: [{resources: {kinds: [Deployment]}}]}}";
    assert_eq!(made(&document, &[other]), made(&document, &[]));
}

#[test]
fn a_rule_is_reported_only_where_no_admission_policy_is_made_of_it() {
    let codes = |resources: &str| -> Vec<&str> {
        let document = policy("ClusterPolicy", &[rule("r", resources, CEL)]);
        let diagnostics = dialect(&[]).compile(&document, &[]).diagnostics;
        diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect()
    };
    assert_eq!(codes("kinds: [Pod]"), Vec::<&str>::new());
    assert_eq!(codes("kinds: [Deployment], names: ['prod-*']"), ["KW-K090"]);
}

#[test]
fn a_policy_in_a_namespace_is_never_asked() {
    let document = policy("Policy", &[rule("r", "kinds: [Deployment]", CEL)]);
    assert_eq!(made(&document, &[]), None);
}

#[test]
fn a_rule_that_is_enforced_elsewhere_leaves_the_webhook_and_its_controllers_stay() {
    let dialect = dialect(&[]);
    let kinds = |document: &Document, is_enforced: bool| -> Vec<String> {
        let compiled = dialect.compile(document, &[]);
        let webhooks = match is_enforced {
            true => compiled.native.expect("a ClusterPolicy").expect("one is made").remaining_webhooks,
            false => compiled.webhooks,
        };
        let rules = webhooks.iter().flat_map(|webhook| &webhook.rules);
        rules.map(|rule| format!("{:?}", rule.name)).collect()
    };
    let plain = policy("ClusterPolicy", &[rule("r", "kinds: [Deployment]", CEL)]);
    assert_eq!(kinds(&plain, false).len(), 1);
    assert_eq!(kinds(&plain, true), Vec::<String>::new());
    let pods = policy("ClusterPolicy", &[rule("r", "kinds: [Pod]", CEL)]);
    let left = kinds(&pods, true);
    assert!(left.iter().any(|kind| kind.contains("Deployment")), "{left:?}");
    assert!(!left.iter().any(|kind| kind.contains("\"Pod\"") || kind.contains("pods")), "{left:?}");
    assert!(dialect.claims(&pods));
}

#[test]
fn any_kind_in_some_namespaces_leaves_out_objects_without_one() {
    let rule = rule("r", "kinds: ['*'], namespaces: [shop]", CEL);
    let head = "apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p, uid: '7'}";
    let document = document(&format!("{{{head}, spec: {{background: false, rules: [{rule}]}}}}"));
    let found = made(&document, &[]).expect("a ClusterPolicy").expect("one is made").policy;
    let first = |path: &[&str]| {
        found.at(path).and_then(Value::as_array).and_then(|list| list.first()).cloned().unwrap_or_default()
    };
    let selected = first(&["spec", "matchConstraints", "namespaceSelector", "matchExpressions"]);
    assert_eq!(selected.get("values"), Some(&vec!["shop"].into()), "{found}");
    let condition = first(&["spec", "matchConditions"]);
    assert_eq!(
        condition.str_at(&["expression"]),
        r#"has(request.namespace) || request.kind.kind == "Namespace""#
    );
}
