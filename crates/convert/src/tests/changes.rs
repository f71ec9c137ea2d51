//! Rules that change objects, and random objects: the rule and the policy that replaces it leave the same object.

use kubewright_engine::{ClosedWorld, Decision, DecisionSettings, Engine, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Value, json};

use super::{Dice, document_of, rules};
use crate::{ConversionTarget, convert_policy};

/// Patches of every form that converts.
const PATCHES: [&str; 14] = [
    r#""patchStrategicMerge": {"metadata": {"labels": {"a": "1", "+(b)": "2"}}}"#,
    r#""patchStrategicMerge": {"metadata": {"annotations": {"+(x.io/a)": "on", "+(x.io/b)": "off"}}}"#,
    r#""patchStrategicMerge": {"spec": {"dnsPolicy": "Default", "+(enableServiceLinks)": false}}"#,
    r#""patchStrategicMerge": {"spec": {"securityContext": {"+(runAsNonRoot)": true, "runAsUser": 5}}}"#,
    r#""patchStrategicMerge": {"spec": {"+(securityContext)": {"runAsUser": 5}}}"#,
    r#""patchStrategicMerge": {"spec": {"nodeSelector": {"disk": "ssd", "+(arch)": "amd64"}}}"#,
    r#""patchStrategicMerge": {"spec": {"nodeSelector": {"disk": null}}}"#,
    r#""patchStrategicMerge": {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}"#,
    r#""patchStrategicMerge": {"spec": {"imagePullSecrets": [{"name": "one"}, {"name": "two"}]}}"#,
    r#""patchStrategicMerge": {"spec": {"containers": [{"(name)": "a*", "imagePullPolicy": "Always"}]}}"#,
    r#""patchStrategicMerge": {"spec": {"containers": [{"(image)": "*:latest", "resources": {"requests": {"+(cpu)": "1"}}}]}}"#,
    r#""patchStrategicMerge": {"metadata": {"labels": {"n": "{{ request.object.metadata.name }}-x"}}, "spec": {"containers": [{"<(image)": "nginx*"}]}}"#,
    r#""patchStrategicMerge": {"metadata": {"(name)": "p*", "labels": {"a": "named"}}}"#,
    r#""foreach": [{"list": "request.object.spec.containers", "patchStrategicMerge": {"spec": {"containers": [{"(name)": "{{element.name}}", "securityContext": {"+(privileged)": false}}]}}}]"#,
];

const JSON_PATCHES: [&str; 5] = [
    r#"- {op: add, path: /metadata/labels/a, value: "1"}"#,
    r#"- {op: add, path: /spec/volumes/-, value: {name: x, emptyDir: {medium: Memory}}}"#,
    r#"- {op: remove, path: /metadata/labels/a}"#,
    r#"- {op: replace, path: /spec/dnsPolicy, value: Default}"#,
    r#"- {op: add, path: /metadata/annotations/x.io~1a, value: "1"}"#,
];

#[test]
fn a_mutating_policy_leaves_the_same_object() {
    let (mut changed, mut failed) = (0, 0);
    let json = JSON_PATCHES.map(|patch| format!(r#""patchesJson6902": {}"#, json::to_string(&patch.into())));
    for (number, mutate) in PATCHES.iter().map(|patch| (*patch).to_owned()).chain(json).enumerate() {
        let (source, converted) = engines(&mutate);
        let mut dice = Dice(number as u64 + 1);
        for _ in 0..60 {
            let request = AdmissionRequest::for_object(random_object(&mut dice), Operation::Create, "shop");
            let world = ClosedWorld::default();
            let decide = |engine: &Engine| engine.decide(&request, &world, &DecisionSettings::default());
            let (before, after) = (decide(&source), decide(&converted));
            assert_eq!(has_failed(&before), has_failed(&after), "{mutate}\n{before:#?}\n{after:#?}");
            assert_eq!(
                json::to_pretty(&sorted(&before.object)),
                json::to_pretty(&sorted(&after.object)),
                "{mutate}\n{}",
                json::to_pretty(&request.object)
            );
            changed += usize::from(sorted(&before.object) != sorted(&request.object));
            failed += usize::from(has_failed(&before));
        }
    }
    assert!(changed > 400 && failed > 10, "{changed} {failed}");
}

/// Returns the rule, and the policies that replace it.
fn engines(mutate: &str) -> (Engine, Engine) {
    let text = format!(
        r#"{{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {{"name": "p"}}, "spec": {{"rules": [{{
            "name": "r", "match": {{"any": [{{"resources": {{"kinds": ["Pod"]}}}}]}}, "mutate": {{{mutate}}}}}]}}}}"#
    );
    let source = document_of(&text);
    let conversion = convert_policy(&source, ConversionTarget::Successor(None), &[], Default::default())
        .expect("a policy");
    assert!(conversion.refused.is_empty(), "{mutate}: {:?}", conversion.refused);
    let documents = conversion.written.iter().flat_map(|written| &written.documents);
    let documents: Vec<_> = documents.map(|document| document_of(&json::to_string(document))).collect();
    (Engine::new(rules(std::slice::from_ref(&source))), Engine::new(rules(&documents)))
}

fn has_failed(decision: &Decision) -> bool {
    decision.outcomes.iter().any(|outcome| outcome.status == RuleStatus::Error)
}

/// Returns a Pod, or a Deployment with one in it.
fn random_object(dice: &mut Dice) -> Value {
    let mut parts = vec![format!(r#""containers": [{}]"#, containers(dice))];
    for (percent, part) in [
        (40, r#""dnsPolicy": "None""#),
        (40, r#""enableServiceLinks": true"#),
        (40, r#""securityContext": {"runAsUser": 1, "fsGroup": 3}"#),
        (30, r#""nodeSelector": {"disk": "hdd"}"#),
        (30, r#""tolerations": [{"key": "b"}]"#),
        (40, r#""imagePullSecrets": [{"name": "zero"}, {"name": "two"}]"#),
        (40, r#""volumes": [{"name": "v", "emptyDir": {}}]"#),
    ] {
        if dice.roll(100) < percent {
            parts.push(part.to_owned());
        }
    }
    let name = dice.one(&["pod", "q"]);
    let labels = dice.one(&["", r#", "labels": {"a": "0"}"#, r#", "labels": {"b": "0", "c": "1"}"#]);
    let annotations = dice.one(&["", r#", "annotations": {"x.io/a": "old"}"#]);
    let metadata = format!(r#"{{"name": "{name}", "namespace": "shop"{labels}{annotations}}}"#);
    let pod = format!(r#""metadata": {metadata}, "spec": {{{}}}"#, parts.join(", "));
    let text = match dice.roll(100) < 70 {
        true => format!(r#"{{"apiVersion": "v1", "kind": "Pod", {pod}}}"#),
        false => format!(
            r#"{{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {metadata}, "spec": {{"template": {{{pod}}}}}}}"#
        ),
    };
    json::parse(&text).expect("JSON")
}

fn containers(dice: &mut Dice) -> String {
    let names = ["a", "ab", "c"];
    let count = 1 + dice.roll(names.len());
    let one = |name: &&str, dice: &mut Dice| {
        let image = dice.one(&["nginx:latest", "redis:7"]);
        let more = dice.one(&[
            "",
            r#", "resources": {"requests": {"cpu": "2"}}"#,
            r#", "resources": {}, "securityContext": {"privileged": true}"#,
        ]);
        format!(r#"{{"name": "{name}", "image": "{image}"{more}}}"#)
    };
    names.iter().take(count).map(|name| one(name, dice)).collect::<Vec<_>>().join(", ")
}

/// Returns a value with its keys sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            entries.into_iter().collect::<kubewright_value::Map>().into()
        }
        Value::Array(items) => Value::array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
