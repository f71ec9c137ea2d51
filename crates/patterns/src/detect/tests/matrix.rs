//! Every cell of the matrix in both lists, and thresholds at, under and over.

use super::*;

/// Asks for Services with one relationship to Pods; `cell` is the rest of the entry.
fn direct(cell: &str, minimum: &str) -> String {
    format!(
        "message: m\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p}}]\nactors: [s]\nrelationships: [{{id: e, type: EXPOSES, {cell}, resourceIds: [s, p]}}]\nminRelationshipPoints: {minimum}\n"
    )
}

/// Asks for pairs of Pods `lead` and `follow` with one thing in common.
fn common(cell: &str, minimum: &str) -> String {
    let by = |id: &str, rest: &str| {
        format!(
            "{{resource: Pod, id: {id}{rest}, filters: {{matchAll: [{{key: metadata.labels.app, operator: EQUALS, values: [{id}]}}]}}}}"
        )
    };
    format!(
        "message: m\ntopology: LEADER_FOLLOWER\nresources: [{}, {}]\nactors: [lead, follow]\ncommonRelationships: [{{id: e, type: USES_CONFIG, {cell}, resourceIds: [lead, follow]}}]\nminRelationshipPoints: {minimum}\n",
        by("lead", ", leader: true"),
        by("follow", "")
    )
}

#[track_caller]
fn cell(cell: &str, minimum: &str, there: &[&str], absent: &[&str]) {
    check(&direct(cell, minimum), &(service("s", "x") + &pod("p", "x", "")), &of("n/s", there));
    check(&direct(cell, minimum), &(service("s", "x") + &pod("p", "y", "")), &of("n/s", absent));
    check(&direct(cell, minimum), &service("s", "x"), &of("n/s", absent));
    let pair = |one: &str, other: &str| pod("a", "lead", &config(one)) + &pod("b", "follow", &config(other));
    check(&common(cell, minimum), &pair("c", "c"), &of("n/a n/b", there));
    check(&common(cell, minimum), &pair("c", "d"), &of("n/a n/b", absent));
}

/// Returns what is found, with the objects before the points.
fn of(objects: &str, points: &[&str]) -> Vec<&'static str> {
    points.iter().map(|points| &*format!("{objects}: {points}").leak()).collect()
}

#[test]
fn what_is_required_and_shared_must_be_there() {
    cell("required: true, shared: true", "0", &["0"], &[]);
}

#[test]
fn what_is_required_and_not_shared_must_not_be_there() {
    cell("required: true, shared: false", "0", &[], &["0"]);
}

#[test]
fn what_is_shared_scores_where_it_is_there() {
    cell("required: false, shared: true, weight: 0.5", "0", &["0.5"], &["0"]);
}

#[test]
fn what_is_neither_scores_where_it_is_not_there() {
    cell("required: false, shared: false, weight: 0.5", "0", &["0"], &["0.5"]);
}

#[test]
fn a_score_at_the_threshold_passes_and_one_under_it_does_not() {
    cell("required: false, shared: true, weight: 0.5", "0.5", &["0.5"], &[]);
    cell("required: false, shared: true, weight: 0.5", "0.4", &["0.5"], &[]);
    cell("required: false, shared: true, weight: 0.5", "0.6", &[], &[]);
    cell("required: false, shared: false, weight: 1", "1", &[], &["1"]);
}

#[test]
fn a_score_without_a_weight_is_one_point() {
    cell("required: false, shared: true", "1", &["1"], &[]);
}

#[test]
fn a_threshold_that_nothing_can_reach_finds_nothing_unless_it_is_passed_over() {
    let spec = direct("required: true, shared: true", "1");
    let graph = graph(&(service("s", "x") + &pod("p", "x", "")));
    assert!(run(&pattern(&spec), &graph, &DetectionSettings::default()).findings.is_empty());
    let lenient = DetectionSettings { passes_unreachable: true, ..DetectionSettings::default() };
    assert_eq!(run(&pattern(&spec), &graph, &lenient).findings.len(), 1);
}

#[test]
fn a_candidate_that_the_filter_leaves_out_neither_holds_nor_vetoes() {
    let spec = |cell: &str| {
        format!(
            "message: m\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p, filters: {{matchAll: [{{key: metadata.name, operator: EQUALS, values: [other]}}]}}}}]\nactors: [s]\nrelationships: [{{id: e, type: EXPOSES, {cell}, resourceIds: [s, p]}}]\n"
        )
    };
    let text = service("s", "x") + &pod("p", "x", "");
    check(&spec("required: true, shared: true"), &text, &[]);
    check(&spec("required: true, shared: false"), &text, &["n/s: 0"]);
    check(&spec("required: false, shared: false, weight: 2"), &text, &["n/s: 2"]);
}

/// Asks for Services with the entries `scores`, each `(weight, shared, app)`.
fn scores(entries: &[(&str, bool, &str)], minimum: &str) -> String {
    let mut resources = format!("- {LEADER}\n");
    let mut list = String::new();
    for (at, (weight, shared, name)) in entries.iter().enumerate() {
        resources += &format!(
            "- {{resource: Pod, id: p{at}, filters: {{matchAll: [{{key: metadata.name, operator: EQUALS, values: [{name}]}}]}}}}\n"
        );
        list += &format!(
            "- {{id: e{at}, type: EXPOSES, required: false, shared: {shared}, weight: {weight}, resourceIds: [s, p{at}]}}\n"
        );
    }
    format!(
        "message: m\ntopology: SINGLE\nresources:\n{resources}actors: [s]\nrelationships:\n{list}minRelationshipPoints: {minimum}\n"
    )
}

#[test]
fn points_are_added_without_drift() {
    let text = service("s", "x") + &pod("p", "x", "");
    check(&scores(&[("0.6", true, "p"), ("0.4", true, "p")], "1"), &text, &["n/s: 1"]);
    check(&scores(&[("0.1", true, "p"); 10], "1"), &text, &["n/s: 1"]);
    check(&scores(&[("0.6", true, "p"), ("0.4", true, "q")], "1"), &text, &[]);
    check(&scores(&[("1", false, "a"), ("1", false, "b"), ("1", false, "p")], "3"), &text, &[]);
}

#[test]
fn confidence_is_the_share_of_the_points() {
    let graph = graph(&(service("s", "x") + &pod("p", "x", "")));
    for (other, want) in [("0.6", "LOW"), ("0.5", "MEDIUM"), ("0.1", "HIGH")] {
        let spec = scores(&[("0.4", true, "p"), (other, true, "q")], "0");
        let found = run(&pattern(&spec), &graph, &DetectionSettings::default());
        assert_eq!(found.findings[0].confidence_level().name(), want, "{other}");
    }
}

#[test]
fn both_lists_make_one_total_and_two_thresholds_two() {
    let spec = |more: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nresources: [{{resource: Pod, id: a, leader: true, filters: {{matchAll: [{{key: metadata.name, operator: EQUALS, values: [a]}}]}}}}, {{resource: Pod, id: b}}, {{resource: ConfigMap, id: c}}]\nactors: [a, b]\nrelationships: [{{id: r, type: USES_CONFIG, required: false, shared: true, weight: 0.5, resourceIds: [a, c]}}]\ncommonRelationships: [{{id: k, type: USES_CONFIG, required: false, shared: true, weight: 0.5, resourceIds: [a, b]}}]\n{more}\n"
        )
    };
    let pods = pod("a", "x", &config("c")) + &pod("b", "x", &config("c"));
    let map = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: 'n'}}\n";
    check(&spec("minRelationshipPoints: 1"), &(pods.clone() + map), &["n/a n/b: 1"]);
    check(&spec("minRelationshipPoints: 1"), &pods, &[]);
    check(&spec("minRelationshipPoints: 0\nminCommonRelationshipPoints: 0.5"), &pods, &["n/a n/b: 0.5"]);
    check(&spec("minRelationshipPoints: 0.5\nminCommonRelationshipPoints: 0"), &pods, &[]);
    check(&spec("minRelationshipPoints: 0.5\nminCommonRelationshipPoints: 0.6"), &(pods + map), &[]);
}
