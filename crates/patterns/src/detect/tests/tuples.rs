//! Leaders and followers: which objects go together.

use super::*;

/// Asks for Services and Pods with the given lists.
fn pairs(lists: &str) -> String {
    format!(
        "message: m\ntopology: LEADER_FOLLOWER\nresources: [{LEADER}, {{resource: Pod, id: p}}]\nactors: [s, p]\n{lists}\n"
    )
}

const EXPOSES: &str =
    "relationships: [{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}]";

#[test]
fn a_follower_is_bound_to_its_own_leader() {
    let text = [service("s1", "a"), service("s2", "b"), pod("p1", "a", ""), pod("p2", "b", "")].concat();
    check(&pairs(EXPOSES), &text, &["n/s1 n/p1: 0", "n/s2 n/p2: 0"]);
}

#[test]
fn a_leader_with_three_followers_is_found_three_times() {
    let text = [service("s", "a"), pod("p1", "a", ""), pod("p2", "a", ""), pod("p3", "a", "")].concat();
    check(&pairs(EXPOSES), &text, &["n/s n/p1: 0", "n/s n/p2: 0", "n/s n/p3: 0"]);
}

#[test]
fn a_veto_of_the_leader_discards_all_its_pairs_and_a_common_one_only_its_pair() {
    let bad = "{resource: Pod, id: bad, filters: {matchAll: [{key: metadata.name, operator: EQUALS, values: [p2]}]}}";
    let spec = format!(
        "message: m\ntopology: LEADER_FOLLOWER\nresources: [{LEADER}, {{resource: Pod, id: p}}, {bad}]\nactors: [s, p]\nrelationships:\n- {{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}}\n- {{id: v, type: EXPOSES, required: true, shared: false, resourceIds: [s, bad]}}\n"
    );
    let text = [service("s", "a"), pod("p1", "a", ""), pod("p2", "a", "")].concat();
    check(&spec, &text, &[]);
    let spec = "message: m\ntopology: LEADER_FOLLOWER\nresources: [{resource: Pod, id: a, leader: true, filters: {matchAll: [{key: metadata.name, operator: EQUALS, values: [a]}]}}, {resource: Pod, id: b}]\nactors: [a, b]\ncommonRelationships: [{id: v, type: USES_CONFIG, required: true, shared: false, resourceIds: [a, b]}]\n";
    let text =
        [pod("a", "x", &config("c")), pod("b", "x", &config("c")), pod("d", "x", &config("d"))].concat();
    check(spec, &text, &["n/a n/d: 0"]);
}

const SHARING: &str = "message: m\ntopology: LEADER_FOLLOWER\nresources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}]\nactors: [a, b]\ncommonRelationships: [{id: c, type: USES_CONFIG, required: true, shared: true, resourceIds: [a, b]}]\n";

#[test]
fn an_object_is_never_paired_with_itself_and_pairs_have_an_order() {
    let text = [pod("a", "x", &config("c")), pod("b", "x", &config("c"))].concat();
    check(SHARING, &text, &["n/a n/b: 0", "n/b n/a: 0"]);
    check(SHARING, &pod("a", "x", &config("c")), &[]);
}

#[test]
fn what_is_directly_connected_has_not_therefore_something_in_common() {
    let lists =
        "commonRelationships: [{id: c, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}]";
    check(&pairs(lists), &(service("s", "a") + &pod("p", "a", "")), &[]);
}

#[test]
fn three_actors_in_a_chain_share_the_one_in_the_middle() {
    let spec = format!(
        "message: m\ntopology: LEADER_FOLLOWER\nresources: [{LEADER}, {{resource: Pod, id: p}}, {{resource: ConfigMap, id: c}}]\nactors: [s, p, c]\nrelationships:\n- {{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}}\n- {{id: u, type: USES_CONFIG, required: true, shared: true, resourceIds: [p, c]}}\n"
    );
    let map = |name: &str| {
        format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: 'n'}}}}\n")
    };
    let text = [
        service("s1", "a"),
        service("s2", "b"),
        pod("p1", "a", &config("c1")),
        pod("p2", "b", &config("c2")),
        map("c1"),
        map("c2"),
    ];
    check(&spec, &text.concat(), &["n/s1 n/p1 n/c1: 0", "n/s2 n/p2 n/c2: 0"]);
}

#[test]
fn an_object_in_between_that_is_no_actor_is_only_a_witness() {
    let spec = format!(
        "message: 'through {{{{p.name}}}}'\ntopology: LEADER_FOLLOWER\nresources: [{LEADER}, {{resource: Pod, id: p}}, {{resource: ConfigMap, id: c}}]\nactors: [s, c]\nrelationships:\n- {{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}}\n- {{id: u, type: USES_CONFIG, required: true, shared: true, resourceIds: [p, c]}}\n"
    );
    let map = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: 'n'}}\n";
    let text =
        [service("s", "a"), pod("p2", "a", &config("c")), pod("p1", "a", &config("c")), map.to_owned()]
            .concat();
    check(&spec, &text, &["n/s n/c: 0"]);
    let graph = graph(&text);
    assert_eq!(run(&pattern(&spec), &graph, &DetectionSettings::default()).findings[0].message, "through p1");
}

#[test]
fn entries_among_witnesses_hold_for_the_same_ones() {
    let spec = format!(
        "message: m\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p}}, {{resource: ConfigMap, id: c}}]\nactors: [s]\nrelationships:\n- {{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}}\n- {{id: u, type: USES_CONFIG, required: true, shared: true, resourceIds: [p, c]}}\n"
    );
    let map = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: 'n'}}\n";
    let with = |app: &str| {
        [service("s", "a"), pod("p", app, &config("c")), pod("q", "a", ""), map.to_owned()].concat()
    };
    check(&spec, &with("a"), &["n/s: 0"]);
    check(&spec, &with("other"), &[]);
}

#[test]
fn a_veto_between_witnesses_discards_only_those_for_which_it_holds() {
    let spec = format!(
        "message: '{{{{p.name}}}}'\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p}}, {{resource: ConfigMap, id: c}}]\nactors: [s]\nrelationships:\n- {{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}}\n- {{id: u, type: USES_CONFIG, required: true, shared: false, resourceIds: [p, c]}}\n"
    );
    let map = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: 'n'}}\n";
    let text = [service("s", "a"), pod("p", "a", &config("c")), map.to_owned()].concat();
    check(&spec, &text, &[]);
    let text = text + &pod("q", "a", "");
    let graph = graph(&text);
    assert_eq!(run(&pattern(&spec), &graph, &DetectionSettings::default()).findings[0].message, "q");
}

#[test]
fn a_score_among_witnesses_counts_once_for_the_leader() {
    let spec = format!(
        "message: m\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p}}, {{resource: ConfigMap, id: c}}]\nactors: [s]\nrelationships:\n- {{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}}\n- {{id: u, type: USES_CONFIG, required: false, shared: true, weight: 3, resourceIds: [p, c]}}\n"
    );
    let map = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: 'n'}}\n";
    let with = |app: &str| {
        [service("s", "a"), pod("p", "a", ""), pod("q", app, &config("c")), map.to_owned()].concat()
    };
    check(&spec, &with("a"), &["n/s: 3"]);
    check(&spec, &with("other"), &["n/s: 0"]);
}

#[test]
fn an_unconnected_follower_is_looked_for_in_the_leaders_namespace() {
    let lists = "relationships: []";
    let elsewhere = pod("q", "a", "").replace("namespace: 'n'", "namespace: m");
    check(&pairs(lists), &[service("s", "a"), pod("p", "b", ""), elsewhere].concat(), &["n/s n/p: 0"]);
}

#[test]
fn more_than_is_allowed_is_left_out_and_told() {
    let pods: String = (0..30).map(|at| pod(&format!("p{at:02}"), "x", &config("c"))).collect();
    let graph = graph(&pods);
    let found =
        run(&pattern(SHARING), &graph, &DetectionSettings { per_leader: 3, ..DetectionSettings::default() });
    assert!(found.truncated);
    assert_eq!(found.findings.len(), 90);
    assert_eq!(shown(&found, &graph)[..3], ["n/p00 n/p01: 0", "n/p00 n/p02: 0", "n/p00 n/p03: 0"]);
    let found =
        run(&pattern(SHARING), &graph, &DetectionSettings { per_pattern: 7, ..DetectionSettings::default() });
    assert!(found.truncated);
    assert_eq!(found.findings.len(), 7);
    let exact =
        run(&pattern(SHARING), &graph, &DetectionSettings { per_leader: 29, ..DetectionSettings::default() });
    assert!(!exact.truncated);
}

#[test]
fn many_that_share_one_thing_cost_no_more_than_what_is_told() {
    let pods: String = (0..2000).map(|at| pod(&format!("p{at:04}"), "x", &config("c"))).collect();
    let graph = graph(&pods);
    let budget = &mut Budget::new(Limits { steps: 1_000_000, ..Limits::default() });
    let found =
        detect(&pattern(SHARING), &graph, &DetectionSettings::default(), budget).expect("enough budget");
    assert_eq!(found.findings.len(), 10_000);
}

#[test]
fn a_direction_tells_two_of_one_kind_apart() {
    let affinity = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {matchLabels: {app: b}}}]}}";
    let text = pod("a", "a", affinity) + &pod("b", "b", "");
    let spec = |direction: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nresources: [{{resource: Pod, id: a, leader: true}}, {{resource: Pod, id: b}}]\nactors: [a, b]\nrelationships: [{{id: e, type: HAS_AFFINITY_TO, required: true, shared: true, direction: {direction}, resourceIds: [a, b]}}]\n"
        )
    };
    check(&spec("ANY"), &text, &["n/a n/b: 0", "n/b n/a: 0"]);
    check(&spec("FORWARD"), &text, &["n/a n/b: 0"]);
    check(&spec("BACKWARD"), &text, &["n/b n/a: 0"]);
}
