//! Since when findings are there: `for`, changed patterns, suppression.

use super::*;

/// A Service that selects nothing, with further fields of `spec`.
fn orphans(more: &str) -> Pattern {
    compiled(&format!(
        "version: kubepattern.it/v1
kind: Pattern
metadata: {{name: orphan, displayName: Orphan, patternType: STRUCTURAL, severity: WARNING, category: Reliability}}
spec:
  message: '{{{{service.name}}}} selects nothing'
  topology: SINGLE
  {more}
  resources:
    - {{resource: Service, id: service, leader: true}}
    - {{resource: Pod, id: pod}}
  actors: [service]
  relationships:
    - {{id: exposes, type: EXPOSES, resourceIds: [service, pod], required: true, shared: false}}
"
    ))
}

const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop, uid: u1}, spec: {selector: {app: web}}}";
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, spec: {containers: []}}";

fn insert(live: &mut LivePatterns, text: &str) {
    objects(text).iter().for_each(|object| live.insert(object));
}

fn remove(live: &mut LivePatterns, text: &str) {
    objects(text).iter().for_each(|object| live.remove(&ObjectName::of(object)));
}

/// Returns the changes as `+ name since`, `- name`, with the reason of a suppression.
fn shown(changes: Vec<FindingChange>) -> Vec<String> {
    let one = |change: FindingChange| {
        let name = change.leader().map(|leader| leader.name.clone()).unwrap_or_default();
        match change.finding {
            None => format!("- {name}"),
            Some(found) => match found.suppressed {
                None => format!("+ {name} {}", found.since),
                Some(reason) => format!("+ {name} {} suppressed {reason}", found.since),
            },
        }
    };
    changes.into_iter().map(one).collect()
}

#[test]
fn a_condition_counts_once_it_has_lasted() {
    let mut live = live(vec![orphans("for: 5m")]);
    insert(&mut live, SERVICE);
    assert_eq!(shown(live.refresh(100)), [""; 0]);
    assert_eq!(live.next_deadline(), Some(400));
    assert_eq!(shown(live.refresh(399)), [""; 0]);
    assert_eq!(shown(live.refresh(400)), ["+ web 100"]);
    assert_eq!(live.next_deadline(), None);
    assert_eq!(shown(live.refresh(1_000)), [""; 0]);
    insert(&mut live, POD);
    assert_eq!(shown(live.refresh(1_100)), ["- web"]);
}

#[test]
fn a_condition_that_ends_begins_again() {
    let mut live = live(vec![orphans("for: 5m")]);
    insert(&mut live, SERVICE);
    live.refresh(100);
    insert(&mut live, POD);
    assert_eq!(shown(live.refresh(200)), [""; 0]);
    assert_eq!(live.next_deadline(), None);
    remove(&mut live, POD);
    live.refresh(250);
    assert_eq!(shown(live.refresh(500)), [""; 0]);
    assert_eq!(shown(live.refresh(550)), ["+ web 250"]);
}

#[test]
fn a_condition_begins_again_when_the_clock_goes_back() {
    let mut live = live(vec![orphans("for: 5m")]);
    insert(&mut live, SERVICE);
    assert_eq!(shown(live.refresh(100_000)), [""; 0]);
    assert_eq!(shown(live.refresh(1_000)), [""; 0]);
    assert_eq!(live.next_deadline(), Some(1_300));
    assert_eq!(shown(live.refresh(1_300)), ["+ web 1000"]);
}

#[test]
fn a_finding_stays_when_the_clock_goes_back() {
    let mut live = live(vec![orphans("for: 5m")]);
    insert(&mut live, SERVICE);
    live.refresh(100);
    live.refresh(400);
    let renamed =
        SERVICE.replace("uid: u1", "uid: u1, annotations: {kubewright.dev/ignore-patterns: orphan}");
    insert(&mut live, &renamed);
    assert_eq!(shown(live.refresh(50)), ["+ web 50 suppressed "]);
}

#[test]
fn the_time_survives_a_reload_of_the_same_pattern_and_begins_again_with_another() {
    let load = |pattern: Pattern, previous: LivePatterns| {
        let mut next = live(vec![pattern]).with_findings_of(previous);
        insert(&mut next, SERVICE);
        next
    };
    let mut first = live(vec![orphans("for: 5m")]);
    insert(&mut first, SERVICE);
    first.refresh(100);
    let mut second = load(orphans("for: 5m"), first);
    assert_eq!(shown(second.refresh(300)), [""; 0]);
    assert_eq!(shown(second.refresh(400)), ["+ web 100"]);
    let mut third = load(orphans("for: 5m"), second);
    assert_eq!(shown(third.refresh(500)), [""; 0]);
    let mut fourth = load(orphans("for: 6m"), third);
    assert_eq!(shown(fourth.refresh(600)), ["- web"]);
    assert_eq!(shown(fourth.refresh(960)), ["+ web 600"]);
    let mut without = live(Vec::new()).with_findings_of(fourth);
    assert_eq!(shown(without.refresh(1_000)), ["- web"]);
}

#[test]
fn an_object_of_the_same_name_is_another_one() {
    let mut live = live(vec![orphans("")]);
    insert(&mut live, SERVICE);
    assert_eq!(shown(live.refresh(1)), ["+ web 1"]);
    insert(&mut live, &SERVICE.replace("u1", "u2"));
    let mut changes = shown(live.refresh(2));
    changes.sort();
    assert_eq!(changes, ["+ web 2", "- web"]);
}

#[test]
fn annotations_and_stored_findings_suppress() {
    let mut live = live(vec![orphans("")]);
    insert(&mut live, SERVICE);
    assert_eq!(shown(live.refresh(1)), ["+ web 1"]);
    live.suppress(HashSet::from([("orphan".into(), "u1".into()), ("other".into(), "u1".into())]));
    assert_eq!(shown(live.refresh(2)), ["+ web 1 suppressed "]);
    assert_eq!(shown(live.refresh(3)), [""; 0]);
    live.suppress(HashSet::new());
    assert_eq!(shown(live.refresh(4)), ["+ web 1"]);
    let annotations =
        "uid: u1, annotations: {kubewright.dev/ignore-patterns: 'or*', kubewright.dev/ignore-reason: old}";
    insert(&mut live, &SERVICE.replace("uid: u1", annotations));
    assert_eq!(shown(live.refresh(5)), ["+ web 1 suppressed old"]);
}

#[test]
fn for_is_a_duration() {
    let document = |text: &str| {
        let source = "apiVersion: kubepattern.dev/v1
kind: Pattern
metadata: {name: p}
spec: {displayName: P, category: c, severity: LOW, message: m, for: FOR, target: {kind: Pod, apiVersion: v1, plural: pods}, relationships: {}}";
        let source = source.replace("FOR", text);
        let reading = yaml::read(&Source::new("p.yaml", &source));
        let (pattern, diagnostics) = compile_pattern_document(&reading.documents[0]);
        let told: Vec<String> =
            diagnostics.iter().filter(|one| one.is_error()).map(ToString::to_string).collect();
        (pattern.map(|pattern| pattern.lasting_seconds), told)
    };
    assert_eq!(document("1h30m"), (Some(5_400), Vec::new()));
    assert_eq!(document("1500ms"), (Some(2), Vec::new()));
    let (pattern, told) = document("soon");
    assert_eq!(pattern, None);
    assert!(told.iter().any(|told| told.contains("`for` is `soon`, expected a duration")), "{told:?}");
    assert_eq!(document("-5m").0, None);
}
