use kubewright_value::yaml;

use super::*;

/// Returns what `path` gives of an object, as JSON.
#[track_caller]
fn values(path: &str, object: &str) -> Vec<String> {
    let object = yaml::parse(object).expect("YAML");
    let key = FieldKey::parse(path).expect("a path");
    let found = key.values(&object, &ElementFrame::default(), &mut Budget::default()).expect("enough budget");
    found.into_iter().map(ToString::to_string).collect()
}

#[test]
fn a_path_starts_at_the_root_however_it_is_written() {
    for path in
        ["metadata.name", ".metadata.name", "$.metadata.name", "$['metadata'].name", "['metadata'][\"name\"]"]
    {
        assert_eq!(values(path, "{metadata: {name: a}, spec: {metadata: {name: b}}}"), ["\"a\""], "{path}");
    }
}

#[test]
fn keys_with_dots_and_slashes_stand_in_quotes() {
    assert_eq!(
        values("labels['app.kubernetes.io/name']", "{labels: {app.kubernetes.io/name: x}}"),
        ["\"x\""]
    );
    assert_eq!(values("labels[\"a'b\"].c", "{labels: {\"a'b\": {c: 1}}}"), ["1"]);
}

#[test]
fn every_element_and_every_value() {
    let object = "{a: [{b: 1}, {c: 2}, null, {b: [3, 4]}, {b: null}], m: {x: 1, y: null, z: 2}}";
    assert_eq!(values("a[*].b", object), ["1", "[3,4]"]);
    assert_eq!(values("a[*].b[*]", object), ["3", "4"]);
    assert_eq!(values("a.*.b", object), ["1", "[3,4]"]);
    assert_eq!(values("m[*]", object), ["1", "2"]);
    assert_eq!(values("a", "{a: []}"), ["[]"]);
}

#[test]
fn elements_are_counted_from_either_end() {
    let object = "{a: [1, 2, 3]}";
    assert_eq!(values("a[0]", object), ["1"]);
    assert_eq!(values("a[-1]", object), ["3"]);
    assert_eq!(values("a[3]", object), Vec::<String>::new());
    assert_eq!(values("a[-4]", object), Vec::<String>::new());
}

#[test]
fn what_is_absent_or_null_gives_nothing() {
    for path in ["b", "a.b", "n", "n.x", "t.x", "l.x"] {
        assert_eq!(values(path, "{a: {}, n: null, t: text, l: [1]}"), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn one_element_is_meant_where_a_frame_says_which() {
    let object = yaml::parse("{a: [{b: 1}, {b: 2}]}").expect("YAML");
    let key = FieldKey::parse("a[@].b").expect("a path");
    let budget = &mut Budget::default();
    let mut anchors = Vec::new();
    collect_anchors(&key, &mut anchors);
    let frames = ElementFrame::all(&anchors, &object, budget).expect("enough budget");
    let found: Vec<String> = frames
        .iter()
        .map(|frame| key.values(&object, frame, budget).expect("enough")[0].to_string())
        .collect();
    assert_eq!(found, ["1", "2"]);
    assert!(key.values(&object, &ElementFrame::default(), budget).expect("enough").is_empty());
}

#[test]
fn what_is_no_path_is_refused() {
    for path in [
        "",
        "$",
        "$a",
        ".",
        "a..b",
        "..a",
        "a[",
        "a[x]",
        "a[1:2]",
        "a[?(@.b)]",
        "a['b",
        "a]",
        "a.",
        "a b]",
        "a[*].b[@]",
        "a[@].b[*].c[@]",
        "a'b'",
    ] {
        assert!(FieldKey::parse(path).is_err(), "{path}");
    }
    assert!(FieldKey::parse(&"a.".repeat(100)).is_err());
    assert!(FieldKey::parse(&format!("{}a", "a.".repeat(100))).is_err());
}

#[test]
fn a_slash_without_quotes_is_noticed() {
    assert!(FieldKey::parse("metadata.labels.app.kubernetes.io/name").expect("a path").has_unquoted_slash());
    assert!(
        !FieldKey::parse("metadata.labels['app.kubernetes.io/name']").expect("a path").has_unquoted_slash()
    );
}

#[test]
fn a_path_charges_the_budget() {
    let object = yaml::parse("{a: [[1, 2, 3], [4, 5, 6]]}").expect("YAML");
    let key = FieldKey::parse("a[*][*]").expect("a path");
    let mut budget =
        Budget::new(kubewright_value::Limits { steps: 5, ..kubewright_value::Limits::default() });
    assert!(key.values(&object, &ElementFrame::default(), &mut budget).is_err());
}
