//! What goes wrong: each has a clear status, and nothing is lost or half done.

use std::time::Instant;

use kubewright_value::yaml;

use crate::objects::{DataPolicy, QUIET, SOON, copying_policy};
use crate::stage::{Scan, Stage};

fn ready(stage: &Stage) -> Scan {
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    scan
}

/// Returns a policy that makes `ConfigMap UID`, labelled `app: NEXT`, for each ConfigMap labelled `app: NAME`.
fn link(name: &str, next: &str, options: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{rules: [{{name: make, {options}match: \
         {{any: [{{resources: {{kinds: [ConfigMap], selector: {{matchLabels: {{app: {name}}}}}}}}}]}}, generate: {{apiVersion: v1, \
         kind: ConfigMap, name: '{next}-{{{{request.object.metadata.uid}}}}', namespace: loops, synchronize: true, data: \
         {{metadata: {{labels: {{app: {next}}}}}}}}}}}]}}}}"
    )
}

#[test]
fn rules_that_trigger_each_other_without_end_are_stopped() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("loops", "{}");
    let scan = ready(&stage);
    // By default what rules write triggers no rule.
    stage.apply(&link("quiet-a", "quiet-b", ""));
    stage.apply(&link("quiet-b", "quiet-a", ""));
    // These ask for it.
    stage.apply(&link("loop-a", "loop-b", "skipBackgroundRequests: false, "));
    stage.apply(&link("loop-b", "loop-a", "skipBackgroundRequests: false, "));
    std::thread::sleep(QUIET);
    stage.put_config_map("loops", "quiet", "{app: quiet-a}", "{}");
    stage.put_config_map("loops", "loop", "{app: loop-a}", "{}");
    stage.within("a loop is told", 2 * SOON, || {
        let told = |policy: &str| stage.problem_of(policy).starts_with("False LoopDetected");
        told("loop-a") || told("loop-b")
    });
    let reasons = || [stage.event_reasons("loop-a"), stage.event_reasons("loop-b")].concat();
    stage.within("and an Event tells", SOON, || reasons().contains(&"LoopDetected".to_owned()));
    let count = |prefix: &str| {
        let all = stage.list("", "v1", "configmaps");
        all.iter().filter(|found| found.str_at(&["metadata", "name"]).starts_with(prefix)).count()
    };
    let made = count("loop-");
    std::thread::sleep(QUIET);
    assert_eq!(count("loop-"), made, "it has stopped");
    assert!((4..=12).contains(&made), "{made} objects of a loop");
    assert_eq!(count("quiet-"), 1, "only the first link of a chain that is skipped");
    scan.stop();
}

#[test]
fn missing_rights_are_named_and_objects_are_made_once_they_are_granted() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("rights", "{}");
    let mut policy =
        DataPolicy { name: "quota", downstream: "made", value: "one", options: "synchronize: true" }
            .manifest();
    policy = policy.replace(
        "apiVersion: v1, kind: ConfigMap, name: made",
        "apiVersion: v1, kind: LimitRange, name: made",
    );
    policy = policy.replace("data: {data: {value: 'one'}}", "data: {spec: {limits: []}}");
    stage.limited_account();
    let scan = stage.scan_as("one", "background");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.apply(&policy);
    stage.within("the missing right is named", 2 * SOON, || {
        let problem = stage.problem_of("quota");
        problem.starts_with("False MissingPermission") && problem.contains("resources: [limitranges]")
    });
    stage.put_config_map("rights", "trigger", "{app: quota}", "{}");
    std::thread::sleep(QUIET);
    stage.grant("limitranges");
    let made = || stage.get("", "v1", "limitranges", ("rights", "made")).is_some();
    stage.within("it is made once the right is granted", 3 * SOON, made);
    stage.within("and nothing is wrong any more", 3 * SOON, || stage.problem_of("quota").starts_with("True"));
    scan.stop();
}

#[test]
fn a_controller_that_is_killed_between_two_writes_leaves_nothing_half_done() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("killed-sources", "{}");
    for number in 0..20 {
        stage.put_config_map(
            "killed-sources",
            &format!("source-{number}"),
            "{share: killed}",
            "{value: one}",
        );
    }
    let scan = ready(&stage);
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: killed}, spec: {rules: [{name: copy, match: {any: \
         [{resources: {kinds: [Namespace], selector: {matchLabels: {app: killed}}}}]}, generate: {namespace: \
         '{{request.object.metadata.name}}', synchronize: true, cloneList: {namespace: killed-sources, kinds: [v1/ConfigMap], selector: \
         {matchLabels: {share: killed}}}}}]}}",
    );
    std::thread::sleep(QUIET);
    let copies = |namespace: &str| {
        let all = stage.list("", "v1", "configmaps");
        all.iter().filter(|found| found.str_at(&["metadata", "namespace"]) == namespace).count()
    };
    for number in 0..10 {
        stage.namespace(&format!("target-{number}"), "{app: killed}");
    }
    stage.within("some copies are made", SOON, || copies("target-0") > 0);
    scan.kill();
    let scan = stage.scan("two");
    stage.within("the rest is made by the next leader", 4 * SOON, || {
        (0..10).all(|number| copies(&format!("target-{number}")) == 20)
    });
    stage.delete("clusterpolicy", "", "killed");
    stage.within("some copies are gone", SOON, || {
        (0..10).any(|number| copies(&format!("target-{number}")) < 20)
    });
    scan.kill();
    let scan = stage.scan("three");
    stage.within("the rest goes with the next leader", 4 * SOON, || {
        (0..10).all(|number| copies(&format!("target-{number}")) == 0)
    });
    assert_eq!(copies("killed-sources"), 20, "the sources stay");
    scan.stop();
}

#[test]
fn another_program_that_writes_the_same_fields_does_not_make_us_write_for_ever() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("fights", "{}");
    let scan = ready(&stage);
    let policy =
        DataPolicy { name: "fought", downstream: "fought", value: "ours", options: "synchronize: true" };
    stage.apply(&policy.manifest());
    std::thread::sleep(QUIET);
    stage.put_config_map("fights", "trigger", "{app: fought}", "{}");
    stage.within("it is made", SOON, || stage.data("fights", "fought", "value") == "ours");
    stage.within("the fight is told", 6 * SOON, || {
        if stage.data("fights", "fought", "value") == "ours" {
            stage.take_over("fights", "fought", "theirs");
        }
        stage.problem_of("fought").starts_with("False LoopDetected")
    });
    let writes = || scan.metric("kubewright_background_writes_total{verb=\"update\"}");
    let before = writes();
    (0..5).for_each(|number| stage.take_over("fights", "fought", &format!("theirs-{number}")));
    std::thread::sleep(QUIET);
    assert_eq!(writes(), before, "it is left alone");
    assert!(before <= 60, "{before} writes");
    scan.stop();
}

#[test]
fn many_triggers_at_once_are_written_once_each() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("sources", "{}");
    stage.put_config_map("sources", "settings", "{}", "{value: one}");
    // `make bench-background` measures more.
    let is_long = std::env::var("KUBEWRIGHT_FAULTS").is_ok_and(|value| value == "long");
    let count = if is_long { 10_000 } else { 300 };
    let object = |text: String| yaml::parse(&text).expect("YAML");
    let namespace = |number: u64| {
        object(format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: many-{number}, labels: {{app: many}}}}}}"
        ))
    };
    stage.create_all("namespaces", (0..count).map(namespace).collect());
    let scan = ready(&stage);
    let begun = Instant::now();
    stage.apply(&copying_policy(
        "many",
        "ConfigMap",
        "settings",
        "synchronize: true, generateExisting: true",
    ));
    let created = || scan.metric("kubewright_background_writes_total{verb=\"create\"}");
    stage.within("all are made", if is_long { 60 * SOON } else { 6 * SOON }, || created() >= count);
    let took = begun.elapsed();
    std::thread::sleep(QUIET);
    let updated = scan.metric("kubewright_background_writes_total{verb=\"update\"}");
    assert_eq!((created(), updated), (count, 0), "one write each");
    let copies = stage.list("", "v1", "configmaps");
    let copies = copies.iter().filter(|found| found.str_at(&["metadata", "name"]) == "settings").count();
    assert_eq!(copies as u64, count + 1);
    scan.stop();
    // What the API server needs for as many writes.
    let copy = |number: u64| {
        object(format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: plain, namespace: many-{number}}}, data: {{value: one}}}}"
        ))
    };
    let plain = stage.create_all("configmaps", (0..count).map(copy).collect());
    println!("{count} copies in {took:?}; as many plain writes in {plain:?}");
    let is_quick = took.as_secs_f64() <= 1.5 * plain.as_secs_f64();
    assert!(!is_long || is_quick, "{took:?} for what takes {plain:?}");
}
