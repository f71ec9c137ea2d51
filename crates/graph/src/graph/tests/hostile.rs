//! Hostile objects: huge, deep, cyclic. Their cost must be linear in their size.

use std::fmt::Write;

use kubewright_value::{Source, Value, json, yaml};

use super::{all, objects};
use crate::{EdgeType, Graph, Id, References};

/// So many that something quadratic would take minutes.
const MANY: usize = 40_000;

fn parse(text: &str) -> Value {
    json::parse(text).expect("JSON")
}

fn build(objects: Vec<Value>) -> Graph {
    Graph::build(objects, &References::default())
}

/// Inserts and removes `object`, and checks that both give what building would.
#[track_caller]
fn check_update(object: &Value, edges: usize) {
    let bystander =
        parse(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"z","namespace":"z"}}"#);
    let mut graph = build(vec![bystander.clone()]);
    let before = all(&graph);
    let id = graph.insert(object.clone());
    assert_eq!(graph.edges().count(), edges);
    let built = build(vec![bystander, object.clone()]);
    assert!(
        graph
            .edges()
            .map(|edge| (edge.via, edge.strength))
            .eq(built.edges().map(|edge| (edge.via, edge.strength)))
    );
    assert!(
        graph
            .ids()
            .map(|id| &graph.node(id).unwrap().name)
            .eq(built.ids().map(|id| &built.node(id).unwrap().name))
    );
    graph.remove(id);
    assert_eq!(all(&graph), before);
}

#[test]
fn an_object_may_name_very_many_owners() {
    let owner =
        |at: usize| format!(r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r{at}","uid":"u{at}"}}"#);
    let owners: Vec<String> = (0..MANY).map(owner).collect();
    let object = parse(&format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","namespace":"a","ownerReferences":[{}]}}}}"#,
        owners.join(",")
    ));
    // Each owns it and manages it; and both namespaces have one object.
    check_update(&object, 2 * MANY + 2);
    let same = owner(0);
    let object = parse(&format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"p","namespace":"a","ownerReferences":[{}]}}}}"#,
        vec![same.as_str(); MANY].join(",")
    ));
    check_update(&object, MANY + 2);
}

#[test]
fn a_selector_may_have_very_many_conditions() {
    let mut conditions = String::from("{key: app, operator: In, values: [x]}");
    for at in 0..MANY {
        let _ = write!(conditions, ", {{key: k{at}, operator: DoesNotExist}}");
    }
    let text = format!(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: b, namespace: a}}\nspec: {{selector: {{matchExpressions: [{conditions}]}}}}\n"
    );
    let mut all = objects(&text);
    all.extend((0..50).map(|at| {
        parse(&format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{at}","namespace":"a","labels":{{"app":"x"}}}}}}"#
        ))
    }));
    let graph = build(all);
    assert_eq!(graph.out(graph.of_kind("PodDisruptionBudget")[0], EdgeType::PROTECTS).count(), 50);
}

#[test]
fn labels_may_be_very_long_and_very_many() {
    let long = "x".repeat(2_000_000);
    let many: Vec<String> = (0..MANY).map(|at| format!(r#""k{at}":"v""#)).collect();
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","namespace":"a","labels":{{"long":"{long}",{}}}}}}}"#,
        many.join(",")
    );
    let service = format!(
        r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"s","namespace":"a"}},"spec":{{"selector":{{"long":"{long}",{}}}}}}}"#,
        many.join(",")
    );
    let graph = build(vec![parse(&pod), parse(&service)]);
    assert_eq!(graph.out(graph.of_kind("Service")[0], EdgeType::EXPOSES).count(), 1);
}

#[test]
fn owners_may_stand_in_circles_and_in_very_long_chains() {
    let object = |at: usize, owner: usize| {
        parse(&format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c{at}","namespace":"a","uid":"{at}","ownerReferences":[{{"kind":"ConfigMap","name":"c{owner}","uid":"{owner}"}}]}}}}"#
        ))
    };
    let count = 5_000;
    let graph = build((0..count).map(|at| object(at, (at + 1) % count)).collect());
    assert_eq!(graph.edges().filter(|edge| edge.kind == EdgeType::OWNS).count(), count);
    let pod = parse(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a","ownerReferences":[{"kind":"ConfigMap","name":"c0","uid":"0"}]}}"#,
    );
    let graph = build((0..count).map(|at| object(at, at + 1)).chain([pod]).collect());
    let pod = graph.of_kind("Pod")[0];
    let managers: Vec<Id> = graph.incoming(pod, EdgeType::MANAGES).map(|edge| edge.from).collect();
    assert_eq!(managers.len(), 32);
    assert!(managers.iter().all(|id| graph.out(*id, EdgeType::MANAGES).any(|edge| edge.to == pod)));
    assert_eq!(graph.edges().filter(|edge| edge.kind == EdgeType::MANAGES).count(), 32);
}

#[test]
fn very_many_objects_may_have_one_name_or_one_uid() {
    let object = |at: usize, uid: &str| {
        parse(&format!(
            r#"{{"apiVersion":"g{at}.io/v1","kind":"Thing","metadata":{{"name":"t","namespace":"a","uid":"{uid}"}}}}"#
        ))
    };
    assert_eq!(build((0..MANY).map(|at| object(at, &at.to_string())).collect()).of_kind("Thing").len(), MANY);
    assert_eq!(build((0..MANY).map(|at| object(at, "")).collect()).of_kind("Thing").len(), MANY);
    assert_eq!(build((0..MANY).map(|at| object(at, "same")).collect()).of_kind("Thing").len(), 1);
    let owned = |at: usize| {
        parse(&format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c{at}","namespace":"a","uid":"same","ownerReferences":[{{"kind":"ConfigMap","name":"c0","uid":"same"}}]}}}}"#
        ))
    };
    let graph = build((0..MANY).map(owned).collect());
    let first = graph.find("", "ConfigMap", "a", "c0").unwrap();
    assert_eq!(graph.out(first, EdgeType::OWNS).count(), MANY);
}

#[test]
fn references_are_guessed_only_so_deep() {
    let deep = format!("{}{{x: 1}}{}", "{aRef: {kind: K, name: m1}, in: ".repeat(60), "}".repeat(60));
    let text =
        format!("apiVersion: example.com/v1\nkind: K\nmetadata: {{name: m1, namespace: a}}\nspec: {deep}\n");
    let objects = yaml::read(&Source::new("deep.yaml", &text)).documents;
    let graph = build(objects.into_iter().map(|document| document.value).collect());
    let guessed = graph.edges().filter(|edge| edge.kind == EdgeType::REFERS_TO).count();
    assert_eq!(guessed, 12);
}

/// Returns Pods, and policies that each select all of them by a condition of their own.
fn crowd(pods: usize, policies: usize) -> Vec<Value> {
    let pod = |at| {
        parse(&format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{at}","namespace":"a"}}}}"#))
    };
    let policy = |at| {
        parse(&format!(
            r#"{{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{{"name":"n{at}","namespace":"a"}},
            "spec":{{"podSelector":{{"matchExpressions":[{{"key":"k{at}","operator":"DoesNotExist"}}]}}}}}}"#
        ))
    };
    (0..pods).map(pod).chain((0..policies).map(policy)).collect()
}

#[test]
fn selectors_that_are_about_too_many_objects_are_left_out_whatever_was_read_first() {
    let few = parse(
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"},"spec":{"selector":{"app":"x"}}}"#,
    );
    let chosen = parse(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"a","labels":{"app":"x"}}}"#,
    );
    let mut objects = crowd(6_000, 6_000);
    objects.extend([few, chosen]);
    let graph = build(objects.clone());
    assert_eq!(graph.selectors_left_out(), 6_000);
    let service = graph.find("", "Service", "a", "s").unwrap();
    assert_eq!(graph.out(service, EdgeType::EXPOSES).count(), 1);
    let edges = graph.edges().count();
    objects.reverse();
    assert_eq!(build(objects).edges().count(), edges);
    assert_eq!(build(crowd(500, 500)).selectors_left_out(), 0);
}

#[test]
fn controllers_that_select_alike_are_asked_once() {
    let one = |kind: &str, at: usize| {
        parse(&format!(
            r#"{{"apiVersion":"apps/v1","kind":"{kind}","metadata":{{"name":"x{at}","namespace":"a","labels":{{"a":"b"}}}},
            "spec":{{"selector":{{"matchLabels":{{"a":"b"}}}}}}}}"#
        ))
    };
    let pod = |at| {
        parse(&format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{at}","namespace":"a","labels":{{"a":"b"}}}}}}"#
        ))
    };
    let objects = (0..5_000).map(|at| one("ReplicaSet", at)).chain((0..5_000).map(pod));
    let graph = build(objects.chain([one("Deployment", 0)]).collect());
    let deployment = graph.find("apps", "Deployment", "a", "x0").unwrap();
    let managed = graph.out(deployment, EdgeType::MANAGES);
    assert!(managed.work() > 10_000);
    assert_eq!(managed.count(), 5_000);
}
