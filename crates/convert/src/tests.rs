//! Compares the matches of random policies before and after conversion, on random requests.

mod changes;
mod hostile;
mod successors;

use kubewright_admission::{ValidatingAdmissionPolicies, policy_dialects};
use kubewright_engine::{ClosedWorld, DecisionSettings, Dialect, Engine, Rule, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_kyverno::Kyverno;
use kubewright_value::{Document, Map, Source, Value, json};

use super::{ConversionTarget, convert_policy};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }

    fn is_one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.roll(of.len())]
    }

    fn some(&mut self, of: &[&str]) -> Value {
        let count = 1 + self.roll(2);
        let mut texts: Vec<&str> = (0..count).map(|_| self.one(of)).collect();
        texts.dedup();
        texts.into()
    }
}

const KINDS: [&str; 9] = [
    "Pod",
    "ConfigMap",
    "Namespace",
    "ClusterRole",
    "apps/v1/Deployment",
    "Deployment",
    "apps/*/StatefulSet",
    "Widget",
    "*",
];

fn entry(dice: &mut Dice, is_exclude: bool) -> Value {
    let mut resources = Map::new();
    if !(is_exclude && dice.is_one_in(3)) {
        let kind = dice.one(&KINDS);
        let kinds =
            if kind == "*" || dice.is_one_in(2) { vec![kind] } else { vec![kind, dice.one(&KINDS[..6])] };
        resources.insert("kinds".into(), kinds.into());
    }
    if dice.is_one_in(5) {
        resources.insert("names".into(), dice.some(&["a", "b", "a*", "?", "*-x", "a*x"]));
    }
    if dice.is_one_in(4) {
        resources.insert("namespaces".into(), dice.some(&["shop", "kube-*", "a", "b"]));
    }
    if dice.is_one_in(4) {
        resources.insert("operations".into(), dice.some(&["CREATE", "UPDATE", "DELETE"]));
    }
    if dice.is_one_in(6) {
        let selector = match dice.roll(3) {
            0 => r#"{"matchLabels": {"app": "web"}}"#,
            1 => r#"{"matchLabels": {"a*": "w?b"}}"#,
            _ => {
                r#"{"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}, {"key": "tier", "operator": "Exists"}]}"#
            }
        };
        resources.insert("selector".into(), read(selector));
    }
    if dice.is_one_in(8) {
        resources.insert("annotations".into(), Map::from([(dice.one(&["by", "b*"]), "r*".into())]).into());
    }
    if dice.is_one_in(8) {
        let selector = r#"{"matchLabels": {"team": "shop"}}"#;
        resources.insert("namespaceSelector".into(), read(selector));
    }
    let mut entry = Map::new();
    if dice.is_one_in(6) {
        let subjects = r#"[{"kind": "User", "name": "an*"}, {"kind": "Group", "name": "people"},
            {"kind": "ServiceAccount", "name": "robot", "namespace": "shop"}]"#;
        entry.insert("subjects".into(), read(subjects));
    }
    if resources.is_empty() {
        resources.insert("kinds".into(), vec!["Pod"].into());
    }
    entry.insert("resources".into(), resources.into());
    entry.into()
}

fn block(dice: &mut Dice, is_exclude: bool) -> Value {
    let count = 1 + if dice.is_one_in(3) { dice.roll(3) } else { 0 };
    let entries: Vec<Value> = (0..count).map(|_| entry(dice, is_exclude)).collect();
    match dice.roll(5) {
        0 => entries.into_iter().next().unwrap_or_default(),
        1 => Map::from([("all", Value::array(entries))]).into(),
        _ => Map::from([("any", Value::array(entries))]).into(),
    }
}

/// A policy that refuses every object it matches.
fn policy(dice: &mut Dice, check: &str) -> Document {
    let mut rule = Map::from([("name", Value::from("r")), ("match", block(dice, false))]);
    if dice.is_one_in(2) {
        rule.insert("exclude".into(), block(dice, true));
    }
    rule.insert("validate".into(), read(check));
    let spec = Map::from([
        ("background", Value::from(false)),
        ("validationFailureAction", dice.one(&["Enforce", "Audit"]).into()),
        ("rules", Value::array(vec![rule.into()])),
    ]);
    let metadata = Map::from([
        ("name", Value::from("p")),
        ("annotations", read(r#"{"pod-policies.kyverno.io/autogen-controllers": "none"}"#)),
    ]);
    document(&Value::from(Map::from([
        ("apiVersion", Value::from("kyverno.io/v1")),
        ("kind", "ClusterPolicy".into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ])))
}

fn request(dice: &mut Dice) -> AdmissionRequest {
    let (version, kind) = [
        ("v1", "Pod"),
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1beta1", "StatefulSet"),
        ("example.com/v1", "Widget"),
    ][dice.roll(8)];
    let mut metadata = Map::new();
    // No name that a rule spells out is the beginning of one that is made up.
    match dice.is_one_in(5) {
        true => metadata.insert("generateName".into(), dice.one(&["a-", "made-x"]).into()),
        false => metadata.insert("name".into(), dice.one(&["a", "b", "abx", "a-x", "kube-x"]).into()),
    };
    if dice.is_one_in(2) {
        metadata.insert("namespace".into(), dice.one(&["shop", "kube-system", "a"]).into());
    }
    if dice.is_one_in(2) {
        let labels = Map::from([("app", Value::from(dice.one(&["web", "db", "wab"]))), ("tier", "x".into())]);
        metadata.insert("labels".into(), labels.into());
    }
    if dice.is_one_in(3) {
        metadata.insert("annotations".into(), read(r#"{"by": "robot"}"#));
    }
    let object = Map::from([
        ("apiVersion", Value::from(version)),
        ("kind", kind.into()),
        ("metadata", metadata.into()),
        ("spec", Map::new().into()),
    ]);
    let operation = [Operation::Create, Operation::Update, Operation::Delete][dice.roll(3)];
    let mut request = AdmissionRequest::for_object(object.into(), operation, "default");
    if operation != Operation::Create {
        request.old_object = request.object.clone();
    }
    if dice.is_one_in(2) {
        let user = match dice.roll(3) {
            0 => r#"{"username": "anna"}"#,
            1 => r#"{"username": "bob", "groups": ["people"]}"#,
            _ => r#"{"username": "system:serviceaccount:shop:robot", "groups": ["robots"]}"#,
        };
        request.user = read(user);
    }
    request
}

fn read(text: &str) -> Value {
    document_of(text).value
}

fn document(value: &Value) -> Document {
    document_of(&json::to_pretty(value))
}

fn document_of(text: &str) -> Document {
    json::read(&Source::new("test.json", text)).unwrap()
}

/// Returns the rules of `documents`, in whichever of the dialects before and after a conversion they are written.
fn rules(documents: &[Document]) -> Vec<Rule> {
    let [validating, mutating, _, deleting, _] = policy_dialects(&[], Default::default(), false);
    let dialects: [Box<dyn Dialect>; 5] = [
        Box::new(Kyverno::new(&[], Default::default())),
        Box::new(ValidatingAdmissionPolicies::new()),
        Box::new(validating),
        Box::new(mutating),
        Box::new(deleting),
    ];
    let compiled = |document: &Document| {
        let dialect = dialects.iter().find(|dialect| dialect.claims(document))?;
        Some(dialect.compile(document, documents).rules)
    };
    documents.iter().filter_map(compiled).flatten().collect()
}

/// Compares the decisions before and after; returns how many policies could be converted, and how many decisions refused.
fn compare(target: ConversionTarget, check: &str, policies: u64) -> (usize, usize) {
    let namespaces = ["shop", "kube-system", "a", "default"].map(|name| {
        let team = if name == "shop" { "shop" } else { "none" };
        read(&format!(
            r#"{{"apiVersion": "v1", "kind": "Namespace", "metadata": {{"name": "{name}",
                "labels": {{"team": "{team}", "kubernetes.io/metadata.name": "{name}"}}}}}}"#
        ))
    });
    let world = ClosedWorld::new(namespaces);
    let (mut converted, mut refusals) = (0, 0);
    for seed in 0..policies {
        let mut dice = Dice(seed * 7919 + 1);
        let source = policy(&mut dice, check);
        let conversion = convert_policy(&source, target, &[], Default::default()).expect("a policy");
        let [written] = conversion.written.as_slice() else { continue };
        converted += 1;
        let documents: Vec<Document> = written.documents.iter().map(document).collect();
        let before = Engine::new(rules(std::slice::from_ref(&source)));
        let rules = rules(&documents);
        assert!(!rules.is_empty(), "seed {seed}");
        let after = Engine::new(rules);
        for _ in 0..40 {
            let request = request(&mut dice);
            let says = |engine: &Engine| {
                let outcomes = engine.decide(&request, &world, &DecisionSettings::default()).outcomes;
                outcomes.iter().any(|outcome| matches!(outcome.status, RuleStatus::Fail | RuleStatus::Error))
            };
            let (before, after) = (says(&before), says(&after));
            assert_eq!(
                before,
                after,
                "seed {seed}\n{}\n{}\n{request:#?}",
                json::to_pretty(&source.value),
                json::to_pretty(&written.documents.clone().into())
            );
            refusals += usize::from(before);
        }
    }
    (converted, refusals)
}

const DENY: &str = r#"{"message": "no", "allowExistingViolations": false, "deny": {}}"#;
const CEL: &str = r#"{"message": "no", "allowExistingViolations": false, "cel": {"expressions": [{"expression": "false"}]}}"#;

#[test]
fn a_validating_policy_is_about_the_same_requests() {
    let (converted, refusals) = compare(ConversionTarget::Successor(None), DENY, 250);
    assert!(converted > 100 && refusals > 300, "{converted} {refusals}");
}

#[test]
fn an_admission_policy_is_about_the_same_requests() {
    let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false };
    let (converted, refusals) = compare(target, DENY, 250);
    assert!(converted > 100 && refusals > 300, "{converted} {refusals}");
}

#[test]
fn an_admission_policy_in_lists_is_about_the_same_requests() {
    let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false };
    let (converted, refusals) = compare(target, CEL, 800);
    assert!(converted > 100 && refusals > 200, "{converted} {refusals}");
}

/// Converts a rule in CEL with `block` beside its check to a ValidatingAdmissionPolicy, and returns why that fails.
fn refusal(block: &str) -> String {
    let text = format!(
        r#"{{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {{"name": "p"}},
            "spec": {{"background": false, "rules": [{{"name": "r", {block}}}]}}}}"#
    );
    let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false };
    let conversion = convert_policy(&document_of(&text), target, &[], Default::default()).expect("a policy");
    conversion.refused.first().map(|refused| refused.why.clone()).unwrap_or_default()
}

#[track_caller]
fn check_match(matching: &str, why: &str) {
    assert_eq!(refusal(&format!(r#""match": {matching}, "validate": {CEL}"#)), why, "{matching}");
}

#[track_caller]
fn check_exclude(exclude: &str, why: &str) {
    let matching = r#"{"any": [{"resources": {"kinds": ["Pod"]}}]}"#;
    let block = format!(r#""match": {matching}, "exclude": {exclude}, "validate": {CEL}"#);
    assert_eq!(refusal(&block), why, "{exclude}");
}

#[test]
fn what_the_controller_in_the_cluster_refuses_is_refused_in_its_words() {
    check_match(r#"{"any": [{"resources": {"kinds": ["Pod"]}}]}"#, "");
    check_match(
        r#"{"any": [{"resources": {"kinds": ["Pod"], "names": ["a*"]}}]}"#,
        "wildcards in resource name is not applicable",
    );
    check_match(
        r#"{"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["a?"]}}]}"#,
        "wildcards in namespace name is not applicable",
    );
    check_match(
        r#"{"any": [{"resources": {"kinds": ["Pod"]}, "roles": ["a:b"]}]}"#,
        "Roles / ClusterRoles / Subjects in `any/all` is not applicable",
    );
    check_match(
        r#"{"all": [{"resources": {"kinds": ["Pod"]}}, {"resources": {"kinds": ["Pod"], "names": ["a"]}}]}"#,
        "multiple 'all' in the match block is not applicable",
    );
    check_match(
        r#"{"any": [{"resources": {"kinds": ["Pod"]}}, {"resources": {"kinds": ["Pod"], "selector": {"matchLabels": {"a": "b"}}}}]}"#,
        "NamespaceSelector / ObjectSelector across multiple resources in the match block are not applicable",
    );
    check_match(
        r#"{"any": [{"resources": {"kinds": ["HorizontalPodAutoscaler"]}}]}"#,
        "no unique match for kind HorizontalPodAutoscaler",
    );
    check_exclude(
        r#"{"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["a"]}}]}"#,
        "excluding a resource within a namespace is not applicable",
    );
    check_exclude(
        r#"{"any": [{"resources": {"kinds": ["Pod"], "annotations": {"a": "b"}}}]}"#,
        "Annotations in resource description is not applicable",
    );
}

#[test]
fn wildcards_become_the_shortest_question() {
    let fits = |pattern: &str| super::expressions::matches_pattern("x", pattern);
    assert_eq!(fits("a"), r#"x == "a""#);
    assert_eq!(fits("a*"), r#"x.startsWith("a")"#);
    assert_eq!(fits("*a"), r#"x.endsWith("a")"#);
    assert_eq!(fits("*a*"), r#"x.contains("a")"#);
    assert_eq!(fits("?*"), r#"x != """#);
    assert_eq!(fits("*"), "true");
    assert_eq!(fits("a.?"), r#"x.matches("(?s)^a\\..$")"#);
}

#[test]
fn a_message_of_an_admission_policy_is_one_line_and_long_expressions_have_one() {
    let written = |check: &str| {
        let text = format!(
            r#"{{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {{"name": "p"}}, "spec": {{"rules": [{{
                "name": "r", "match": {{"any": [{{"resources": {{"kinds": ["ConfigMap"]}}}}]}}, "validate": {check}}}]}}}}"#
        );
        let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false };
        let conversion =
            convert_policy(&document_of(&text), target, &[], Default::default()).expect("a policy");
        let policy = &conversion.written[0].documents[0];
        policy.at(&["spec", "validations"]).unwrap().as_array().unwrap()[0].get("message").cloned()
    };
    let message = |text: &str| Some(Value::from(text));
    let cel = |rest: &str| format!(r#"{{"cel": {{"expressions": [{{{rest}}}]}}}}"#);
    assert_eq!(written(&cel(r#""expression": "true", "message": "one\ntwo\n""#)), message("one two"));
    assert_eq!(written(&cel(r#""expression": "true &&\ntrue""#)), message("rule r is violated"));
    assert_eq!(written(&cel(r#""expression": "true""#)), None);
}

#[test]
fn the_message_about_a_controller_has_its_name() {
    let text = r#"{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}, "spec": {"rules": [{
        "name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "validate": {
            "message": "{{ request.object.metadata.name }} has no team", "pattern": {"metadata": {"labels": {"team": "?*"}}}}}]}}"#;
    let target = ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false };
    let conversion = convert_policy(&document_of(text), target, &[], Default::default()).expect("a policy");
    let message = |policy: &Value| {
        let validations = policy.at(&["spec", "validations"]).and_then(Value::as_array)?;
        Some(validations[0].get("messageExpression")?.as_str()?.to_owned())
    };
    let messages: Vec<String> = conversion.written[0].documents.iter().filter_map(message).collect();
    assert_eq!(messages, [r#"object.metadata.name + " has no team""#; 3]);
}
