//! Many patterns at once.

use super::*;

/// A pattern that finds the Pods with a label, and asks something that others ask too.
fn labelled(app: &str) -> Pattern {
    pattern(&format!(
        "message: '{{{{p.name}}}}'\ntopology: SINGLE\nresources: [{{resource: Pod, id: p, leader: true, filters: {{matchAll: [{{key: metadata.labels.app, operator: EQUALS, values: [{app}]}}], matchNone: [{{key: metadata.ownerReferences, operator: EXISTS}}]}}}}]\n"
    ))
}

/// Five Pods that nothing connects, of which the last two should have an account in common.
const HOSTILE: &str = "message: m\ntopology: LEADER_FOLLOWER\nactors: [a, b, c, d, e]\nresources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}, {resource: Pod, id: c}, {resource: Pod, id: d}, {resource: Pod, id: e}]\ncommonRelationships: [{id: s, type: USES_SA, required: true, shared: true, resourceIds: [d, e]}]\n";

#[test]
fn the_findings_are_those_of_each_alone_in_the_order_of_the_patterns() {
    let text: String = (0..40).map(|at| pod(&format!("p{at}"), ["x", "z", "w"][at % 3], "")).collect();
    let graph = graph(&text);
    let patterns: Vec<Pattern> = ["x", "z", "none", "w", "x"].iter().map(|app| labelled(app)).collect();
    let alone: Vec<String> = patterns
        .iter()
        .map(|pattern| format!("{:?}", run(pattern, &graph, &DetectionSettings::default())))
        .collect();
    for threads in [0, 1, 2, 9] {
        let found = detect_all(&patterns, &graph, &DetectionSettings::default(), threads);
        let found: Vec<String> =
            found.into_iter().map(|found| format!("{:?}", found.expect("enough budget"))).collect();
        assert_eq!(found, alone, "{threads}");
    }
    assert!(detect_all(&[], &graph, &DetectionSettings::default(), 2).is_empty());
}

#[test]
fn a_pattern_that_needs_too_much_takes_nothing_from_the_others() {
    let text: String = (0..100).map(|at| pod(&format!("p{at}"), "x", "")).collect();
    let graph = graph(&text);
    let patterns = [labelled("x"), pattern(HOSTILE), labelled("x")];
    let found = detect_all(&patterns, &graph, &DetectionSettings::default(), 2);
    let [Ok(first), Err(error), Ok(last)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((first.findings.len(), last.findings.len()), (100, 100));
    let told = exhausted_diagnostic(&patterns[1], *error);
    assert_eq!((told.code.id, told.location.position.line), ("KW-P049", 3));
}
