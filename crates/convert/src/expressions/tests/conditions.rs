//! Random conditions on random Pods: the engine and the expressions must agree.

use std::collections::BTreeMap;

use kubewright_engine::{Dialect as _, Engine};
use kubewright_jmespath::JmesPathFunctions;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Map, Source, Value, json, yaml};

use super::random::{Dice, VALUES, object_for};
use super::rules::{by_engine, by_expressions};
use crate::expressions::{shape, translate_rule};
use kubewright_kyverno::{Kyverno, source};

const KEYS: &[&str] = &[
    "request.object.metadata.name",
    "request.object.metadata.labels.app",
    "request.object.metadata.annotations.\"a/b\"",
    "request.object.spec.hostNetwork",
    "request.object.spec.priority",
    "request.object.spec.nodeSelector",
    "request.object.spec.containers",
    "request.object.spec.containers[].image",
    "request.object.spec.containers[].securityContext.capabilities.add[]",
    "request.object.spec.securityContext.supplementalGroups",
    "request.object.spec.securityContext.supplementalGroups[]",
    "request.object.spec.[containers, initContainers][].name",
    "request.object.spec.odd.thing",
    "request.object.spec.odd",
    "request.oldObject.metadata.labels.app",
    "request.operation",
    "request.namespace",
];
const OPERATORS: &[&str] = &[
    "Equals",
    "NotEquals",
    "AnyIn",
    "AllIn",
    "AnyNotIn",
    "AllNotIn",
    "GreaterThan",
    "GreaterThanOrEquals",
    "LessThan",
    "LessThanOrEquals",
];

fn key(dice: &mut Dice) -> String {
    if dice.is(15) {
        let path = *dice.one(&KEYS[..10]);
        let default = *dice.one(&["", " || 'x'", " || ''"]);
        return match dice.below(3) {
            0 => format!("{{{{ contains({path}, 'x') }}}}"),
            1 => format!("{{{{ regex_match('^x.*$', {path}) }}}}"),
            _ => format!("{{{{ regex_match('^[xy]+$', '{{{{ {path}{default} }}}}') }}}}"),
        };
    }
    let default = *dice.one(&["", "", " || ''", " || 'x'", " || `[]`", " || `5`", " || 'CREATE'"]);
    let length = if dice.is(10) { " | length(@)" } else { "" };
    format!("{{{{ {}{default}{length} }}}}", dice.one(KEYS))
}

fn constant(dice: &mut Dice) -> Value {
    let text = |dice: &mut Dice| {
        let texts: &[&str] = if dice.is(20) { &["CREATE", "x*", "*", "?*", "!x"] } else { VALUES };
        Value::from(*dice.one(texts))
    };
    match dice.below(10) {
        0 => Value::from(dice.is(50)),
        1 | 2 => Value::from(*dice.one(&[0_i64, 1, 5, 3600])),
        3 => Value::from(0.5),
        4..=6 => Value::array((0..dice.below(4)).map(|_| text(dice)).collect()),
        _ => text(dice),
    }
}

fn condition(dice: &mut Dice) -> Value {
    let (mut key, mut value) = (Value::from(key(dice).as_str()), constant(dice));
    if dice.is(10) {
        std::mem::swap(&mut key, &mut value);
    }
    if dice.is(8) {
        value = Value::from(self::key(dice).as_str());
    }
    Map::from([("key", key), ("operator", Value::from(*dice.one(OPERATORS))), ("value", value)]).into()
}

fn conditions(dice: &mut Dice) -> Value {
    let mut map = Map::new();
    let which = dice.below(3);
    for (at, name) in ["any", "all"].into_iter().enumerate() {
        if which == at || which == 2 {
            map.insert(name.into(), Value::array((0..=dice.below(2)).map(|_| condition(dice)).collect()));
        }
    }
    map.into()
}

#[test]
fn conditions_say_the_same_as_the_engine() {
    let rounds: usize = option_env!("ROUNDS").and_then(|n| n.parse().ok()).unwrap_or(150);
    let mut dice = Dice(option_env!("SEED").and_then(|n| n.parse().ok()).unwrap_or(7));
    let dialect = Kyverno::new(&[], Default::default());
    let guide = super::value(
        "{metadata: {name: x, namespace: y, labels: {app: x}, annotations: {a/b: x}}, spec: {hostNetwork: true, priority: 5, \
         nodeSelector: {app: x}, securityContext: {supplementalGroups: [5]}, initContainers: [{name: x}], \
         containers: [{name: x, image: y, securityContext: {capabilities: {add: [x]}}}]}}",
    );
    let mut counts = BTreeMap::<String, usize>::new();
    for _ in 0..rounds {
        let mut rule = Map::from([
            ("name", Value::from("r")),
            ("match", super::value("{any: [{resources: {kinds: [Pod]}}]}")),
        ]);
        if dice.is(30) {
            rule.insert("preconditions".into(), conditions(&mut dice));
        }
        let deny = Map::from([("conditions", conditions(&mut dice))]);
        rule.insert(
            "validate".into(),
            Map::from([("message", Value::from("m")), ("deny", deny.into())]).into(),
        );
        let policy = format!(
            "{{\"apiVersion\": \"kyverno.io/v1\", \"kind\": \"ClusterPolicy\", \"metadata\": {{\"name\": \"p\"}}, \
             \"spec\": {{\"background\": false, \"rules\": [{}]}}}}",
            json::to_string(&rule.into())
        );
        let document = yaml::read(&Source::new("p", policy.as_str())).documents.remove(0);
        let (Some(read), _) = source::read_policy_document(&document) else { panic!("{policy}") };
        let Some(written) = read.rules.first() else { continue };
        let made = match translate_rule(written, &JmesPathFunctions::kubernetes()) {
            Ok(made) => made,
            Err(bad) => {
                *counts.entry(bad.why.chars().take(30).collect()).or_default() += 1;
                continue;
            }
        };
        let compiled = dialect.compile(&document, &[]);
        if compiled.diagnostics.iter().any(kubewright_engine::Diagnostic::is_error) {
            continue;
        }
        let engine = Engine::new(compiled.rules);
        for _ in 0..10 {
            let mut object = object_for(&mut dice, shape::shape_of_kinds(["Pod"].into_iter()), &guide);
            if dice.is(50) {
                let odd = match dice.below(3) {
                    0 => Map::from([("thing", constant(&mut dice))]).into(),
                    1 => Value::from(Map::new()),
                    _ => constant(&mut dice),
                };
                object
                    .as_object_mut()
                    .unwrap()
                    .get_mut("spec")
                    .unwrap()
                    .as_object_mut()
                    .unwrap()
                    .insert("odd".into(), odd);
            }
            let map = object.as_object_mut().unwrap();
            map.insert("kind".into(), "Pod".into());
            map.insert("apiVersion".into(), "v1".into());
            let operation = *dice.one(&[Operation::Create, Operation::Update, Operation::Delete]);
            let mut request = AdmissionRequest::for_object(object.clone(), operation, "default");
            request.uid = "u".into();
            if operation != Operation::Create {
                request.old_object = object.clone();
            }
            let Some(want) = by_engine(&engine, "r", &request) else { continue };
            if operation == Operation::Delete && !made.judges_deletions {
                assert_eq!(want, "skip", "{policy}");
                continue;
            }
            *counts.entry(want.to_owned()).or_default() += 1;
            let got = by_expressions(&made, &request);
            assert_eq!(
                got.as_deref(),
                Ok(want),
                "\n{policy}\n{operation:?} {}\n{made:#?}",
                json::to_string(&object)
            );
        }
    }
    println!("{counts:#?}");
    assert!(counts["pass"] > rounds / 10 && counts["fail"] > rounds / 10 && counts["skip"] > rounds / 20);
}
