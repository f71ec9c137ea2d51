//! Which changes a pattern implies.

use kubewright_value::yaml;

use super::*;

#[track_caller]
fn check_changes(pattern: &str, object: &str, want: &[&str]) {
    let (pattern, object) = (yaml::parse(pattern).unwrap(), yaml::parse(object).unwrap());
    let changes = pattern_changes(&pattern, PatternScope { value: &object, name: "web", pick: 0 });
    let found: Vec<String> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(found, want);
}

#[test]
fn constants_are_set_and_missing_fields_are_made() {
    check_changes("{a: {b: true}}", "{a: {}}", &["set a.b to true"]);
    check_changes("{a: {b: 'false'}}", "{a: {b: true}}", &["set a.b to false"]);
    check_changes("{a: 'x | y'}", "{}", &["set a to \"x\""]);
    check_changes("{size: '>=2'}", "{size: 1}", &["set size to 2"]);
    check_changes("{a: x}", "{a: x}", &[]);
    check_changes("{runAsUser: '>0'}", "{runAsUser: 0}", &["set runAsUser to 1000"]);
    check_changes("{annotations: {a: 'false'}}", "{}", &["set annotations.a to \"false\""]);
}

#[test]
fn anchors_decide_what_counts() {
    check_changes("{=(a): {=(b): false}}", "{}", &[]);
    check_changes("{=(a): {=(b): false}}", "{a: {b: true}}", &["set a.b to false"]);
    check_changes("{X(a): 'null'}", "{a: 1}", &["remove a"]);
    check_changes("{l: [{(id): 'x*', v: 1}]}", "{l: [{id: x1}, {id: z}]}", &["set l[0].v to 1"]);
    check_changes("{^(l): [{v: 1}]}", "{l: [{v: 2}]}", &["set l[1] to {\"v\":1}"]);
}

#[test]
fn values_that_only_a_person_knows_are_not_made_up() {
    check_changes("{a: '?*'}", "{}", &[]);
    check_changes("{image: '!*:latest'}", "{}", &[]);
    check_changes(
        "{metadata: {labels: {app.kubernetes.io/name: '?*'}}}",
        "{metadata: {}}",
        &["set metadata.labels[\"app.kubernetes.io/name\"] to \"web\""],
    );
}
