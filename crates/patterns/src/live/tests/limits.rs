//! One pattern that takes too much work, finds too much or fails, and the others.

use super::super::super::detect::{DetectionFailure, contain_panic};
use super::*;

/// Three Pods that nothing connects: all with all others.
const CROWD: &str = "version: kubepattern.it/v1
kind: Pattern
metadata: {name: crowd, displayName: Crowd, patternType: STRUCTURAL, severity: INFO, category: Reliability}
spec:
  message: '{{a.name}} {{b.name}} {{c.name}}'
  topology: LEADER_FOLLOWER
  resources:
    - {resource: Pod, id: a, leader: true}
    - {resource: Pod, id: b}
    - {resource: Pod, id: c}
  actors: [a, b, c]
  minRelationshipPoints: 1
  relationships:
    - {id: rare, type: HAS_AFFINITY_TO, resourceIds: [a, c], required: false, shared: false, weight: 1}
    - {id: never, type: SCALES, resourceIds: [a, b], required: true, shared: false}
";

fn pods(count: usize) -> Vec<Value> {
    let pod = |at: usize| {
        let affinity = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}, topologyKey: host}]}}";
        let affinity = if count > 10 { affinity } else { "" };
        objects(&format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: pod-{at}, namespace: shop}}, spec: {{containers: [], {affinity}}}}}"
        ))
    };
    (0..count).flat_map(pod).collect()
}

#[test]
fn a_pattern_without_budget_keeps_its_findings_and_is_tried_again() {
    let mut live = live(vec![compiled(CROWD), compiled(shipped_patterns()[0].source())]);
    pods(3).iter().for_each(|pod| live.insert(pod));
    assert_eq!(live.refresh(0).len(), 6);
    pods(180).iter().for_each(|pod| live.insert(pod));
    assert_eq!(live.refresh(10).len(), 0);
    let incomplete = live.incomplete();
    assert_eq!(incomplete.len(), 1, "{incomplete:?}");
    assert_eq!(incomplete[0].pattern, "crowd");
    assert!(matches!(incomplete[0].reason, IncompleteReason::Exhausted(_)));
    assert_eq!(live.next_deadline(), Some(40));
    let counts = live.redetections();
    pods(1).iter().for_each(|pod| live.insert(pod));
    live.refresh(20);
    assert_eq!(live.redetections(), RedetectionCounts { unread_changes: 0, ..counts }, "not before the time");
    pods(180).iter().skip(3).for_each(|pod| live.remove(&ObjectName::of(pod)));
    pods(3).iter().for_each(|pod| live.insert(pod));
    assert_eq!(live.refresh(40).len(), 0, "what was found before is there again");
    assert_eq!((live.incomplete(), live.finding_count(), live.next_deadline()), (Vec::new(), 6, None));
}

#[test]
fn findings_above_the_limit_make_a_pattern_incomplete() {
    let settings = DetectionSettings { per_pattern: 4, ..DetectionSettings::default() };
    let mut live = LivePatterns::new(vec![compiled(CROWD)], &References::default(), settings);
    pods(3).iter().for_each(|pod| live.insert(pod));
    assert_eq!(live.refresh(0).len(), 4);
    assert_eq!(live.incomplete()[0].reason, IncompleteReason::Truncated);
    live.remove(&ObjectName::of(&pods(1)[0]));
    assert_eq!(live.refresh(1).iter().filter(|change| change.finding.is_none()).count(), 4);
    assert_eq!(live.incomplete(), []);
}

#[test]
fn a_panic_is_a_failed_search() {
    assert_eq!(contain_panic(|| Ok(1)), Ok(1));
    let failed = contain_panic::<()>(|| panic!("a defect"));
    assert_eq!(failed, Err(DetectionFailure::Panicked));
}
