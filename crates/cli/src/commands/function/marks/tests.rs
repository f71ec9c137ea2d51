use kubewright_value::{json, yaml};

use super::*;

fn read(text: &str) -> Value {
    yaml::parse(text).unwrap()
}

const MARKED: &str = "{kind: A, metadata: {annotations: {config.kubernetes.io/path: a.yaml, team: web, \
                      internal.config.kubernetes.io/index: '1', config.k8s.io/id: '3'}, name: a}}";

#[test]
fn marks_are_taken_away_and_other_annotations_are_not() {
    let check = |item: &str, want: &str| assert_eq!(without_marks(&read(item)), read(want));
    check(MARKED, "{kind: A, metadata: {annotations: {team: web}, name: a}}");
    check("{metadata: {annotations: {config.kubernetes.io/path: a.yaml}, name: a}}", "{metadata: {name: a}}");
    check("{metadata: {annotations: {}}}", "{metadata: {annotations: {}}}");
    check("{metadata: {annotations: [1]}}", "{metadata: {annotations: [1]}}");
    check("{metadata: 1}", "{metadata: 1}");
    check("[1]", "[1]");
}

/// Puts the marks of `MARKED` on `object`, and compares with key order.
#[track_caller]
fn check_back(object: &str, want: &str) {
    let mut object = read(object);
    put_back(&mut object, &read(MARKED));
    assert_eq!(json::to_string(&object), json::to_string(&read(want)));
}

#[test]
fn marks_come_back_to_where_they_stood() {
    check_back("{kind: A, metadata: {annotations: {team: web}, name: a}}", MARKED);
    check_back(
        "{kind: A, metadata: {name: a}}",
        "{kind: A, metadata: {annotations: {config.kubernetes.io/path: a.yaml, \
         internal.config.kubernetes.io/index: '1', config.k8s.io/id: '3'}, name: a}}",
    );
    check_back("{kind: A, metadata: 1}", "{kind: A, metadata: 1}");
}

#[test]
fn a_mark_that_a_trait_has_written_gives_way() {
    let mut object = read("{metadata: {annotations: {config.kubernetes.io/path: b.yaml}}}");
    put_back(&mut object, &read(MARKED));
    assert_eq!(marked_file(&object), Some(("a.yaml", 1)));
}

#[test]
fn annotations_that_a_trait_has_made_stand_where_the_marks_stood() {
    let item = read("{metadata: {annotations: {config.kubernetes.io/path: a.yaml}, name: a}}");
    let mut object = without_marks(&item);
    let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata")).unwrap();
    metadata.as_object_mut().unwrap().insert("annotations".into(), read("{team: web}"));
    put_back(&mut object, &item);
    let want = "{metadata: {annotations: {config.kubernetes.io/path: a.yaml, team: web}, name: a}}";
    assert_eq!(json::to_string(&object), json::to_string(&read(want)));
}

#[test]
fn a_file_outside_is_forgotten_and_one_inside_is_kept() {
    let stays = |path: &str| {
        let text = format!("{{metadata: {{annotations: {{config.kubernetes.io/path: {path}}}}}}}");
        let mut object = read(&text);
        super::stay_inside(&mut object);
        super::marked_file(&object).is_some()
    };
    assert!(stays("a/b.yaml"));
    assert!(stays("./a..b.yaml"));
    assert!(!stays("../a.yaml"));
    assert!(!stays("a/../../b.yaml"));
    assert!(!stays("/etc/a.yaml"));
}
