//! One object more or less gives the same graph as building it anew, whatever came before.

use std::collections::BTreeMap;

use kubewright_value::Value;

use super::random::{Random, object};
use super::{all, graph, label, objects};
use crate::{Graph, Id, References};

#[test]
fn inserting_replacing_and_removing_equal_a_rebuild() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let mut graph = Graph::new(&References::default());
        for step in 0..40 {
            let present: Vec<Id> =
                graph.ids().filter(|id| graph.node(*id).unwrap().object.is_some()).collect();
            if !present.is_empty() && random.below(3) == 0 {
                graph.remove(present[random.below(present.len())]);
            } else {
                graph.insert(object(&mut random));
            }
            if step % 4 == 3 || step < 6 {
                assert_rebuilt(&graph, seed, step);
            }
        }
        let ids: Vec<Id> = graph.ids().collect();
        ids.into_iter().for_each(|id| graph.remove(id));
        assert!(graph.is_empty(), "seed {seed}: {:?}", all(&graph));
    }
}

#[track_caller]
fn assert_rebuilt(graph: &Graph, seed: u64, step: usize) {
    let present: Vec<Value> = graph.ids().filter_map(|id| graph.node(id)?.object.clone()).collect();
    let rebuilt = Graph::build(present, &References::default());
    let (found, want) = (all(graph), all(&rebuilt));
    if found != want {
        let gone: Vec<&String> = want.iter().filter(|line| !found.contains(line)).collect();
        let new: Vec<&String> = found.iter().filter(|line| !want.contains(line)).collect();
        panic!("seed {seed} step {step}\nmissing {gone:#?}\ntoo much {new:#?}");
    }
}

#[test]
fn the_order_of_objects_never_shows() {
    for seed in 0..60 {
        let mut random = Random::new(seed + 1000);
        let mut made: Vec<Value> = (0..30).map(|_| object(&mut random)).collect();
        let first = all(&Graph::build(made.clone(), &References::default()));
        for _ in 0..3 {
            for at in (1..made.len()).rev() {
                made.swap(at, random.below(at + 1));
            }
            assert_eq!(all(&Graph::build(made.clone(), &References::default())), first, "seed {seed}");
        }
    }
}

#[test]
fn the_number_of_threads_never_shows() {
    for seed in 0..30 {
        let mut random = Random::new(seed + 3000);
        let made: Vec<Value> = (0..40).map(|_| object(&mut random)).collect();
        let on = |threads| all(&Graph::build_on(|_| threads, made.clone(), &References::default()));
        assert_eq!(on(3), on(1), "seed {seed}");
        assert_eq!(on(2), on(1), "seed {seed}");
    }
}

#[test]
fn one_object_read_at_two_versions_is_one_node() {
    let at = |version: &str, uid: &str| {
        format!("---\napiVersion: {version}\nkind: Ingress\nmetadata: {{name: i, namespace: a{uid}}}\n")
    };
    let one = |text: &str| graph(text).of_kind("Ingress").len();
    assert_eq!(one(&[at("networking.k8s.io/v1", ""), at("networking.k8s.io/v1beta1", "")].concat()), 1);
    assert_eq!(
        one(&[at("networking.k8s.io/v1", ", uid: u"), at("extensions/v1beta1", ", uid: u")].concat()),
        1
    );
    assert_eq!(one(&[at("networking.k8s.io/v1", ", uid: u"), at("example.com/v1", ", uid: w")].concat()), 2);
    let graph =
        graph(&[at("extensions/v1beta1", ", uid: u"), at("networking.k8s.io/v1", ", uid: u")].concat());
    let kept = graph.node(graph.of_kind("Ingress")[0]).unwrap();
    assert_eq!(kept.api_version, "networking.k8s.io/v1");
}

#[test]
fn a_removed_object_that_is_named_stays_as_an_absent_node() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec: {serviceAccountName: s}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s, namespace: a}\n";
    let mut graph = graph(text);
    let labels = |graph: &Graph| graph.ids().map(|id| label(graph, id)).collect::<Vec<_>>();
    let account = graph.find("", "ServiceAccount", "a", "s").unwrap();
    graph.remove(account);
    assert_eq!(labels(&graph), ["Namespace/a~", "a/Pod/p", "a/ServiceAccount/s?"]);
    assert_eq!(graph.insert(objects(text).remove(1)), account);
    assert_eq!(labels(&graph), ["Namespace/a~", "a/Pod/p", "a/ServiceAccount/s"]);
    graph.remove(graph.find("", "Pod", "a", "p").unwrap());
    graph.remove(account);
    assert_eq!(labels(&graph), [""; 0]);
}

#[test]
fn those_who_keep_away_from_each_other_are_no_pairs_in_memory() {
    let pod = |at: usize| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{at}, namespace: a, labels: {{app: x}}}}\nspec: {{affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{labelSelector: {{matchLabels: {{app: x}}}}}}]}}}}}}\n"
        )
    };
    let graph = graph(&(0..2000).map(pod).collect::<String>());
    let kinds: BTreeMap<&str, usize> = graph
        .of_kind("Pod")
        .iter()
        .take(1)
        .map(|id| ("HAS_ANTI_AFFINITY_TO", graph.out(*id, crate::EdgeType::HAS_ANTI_AFFINITY_TO).count()))
        .collect();
    assert_eq!(kinds["HAS_ANTI_AFFINITY_TO"], 1999);
}
