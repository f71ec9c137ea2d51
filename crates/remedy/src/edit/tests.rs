//! Edits of texts: what changes, and what stays.

use kubewright_value::{Source, Text, json};

use super::*;

/// Reads `spec.containers[0].image` as steps.
fn steps(path: &str) -> Vec<Step> {
    path.split(['.', '['])
        .map(|part| match part.strip_suffix(']') {
            Some(index) => Step::Index(index.parse().unwrap()),
            None => Step::Key(Text::new(part)),
        })
        .collect()
}

#[track_caller]
fn edited(text: &str, change: &FieldChange) -> Option<String> {
    let source = Source::new("a.yaml", text);
    let document = yaml::read(&source).documents.into_iter().next().unwrap();
    let place = ObjectPlace::of(&source, &document).unwrap();
    edit_text(&source, &place, change)
}

#[track_caller]
fn check_set(text: &str, path: &str, value: &str, want: &str) {
    let change = FieldChange::Set { path: steps(path), value: json::parse(value).unwrap() };
    assert_eq!(edited(text, &change).as_deref(), Some(want));
}

#[track_caller]
fn check_remove(text: &str, path: &str, want: &str) {
    assert_eq!(edited(text, &FieldChange::Remove { path: steps(path) }).as_deref(), Some(want));
}

#[test]
fn scalars_are_replaced_with_their_comment_kept() {
    check_set("a: 1 # one\nb: 2\n", "a", "3", "a: 3 # one\nb: 2\n");
    check_set("a: \"x # y\"  # why\n", "a", "true", "a: true  # why\n");
    check_set("a: {b: 1, c: 2}\n", "a.b", "\"x\"", "a: {b: x, c: 2}\n");
    check_set("l:\n- x: 1\n- x: 2 # two\n", "l[1].x", "3", "l:\n- x: 1\n- x: 3 # two\n");
}

#[test]
fn missing_fields_are_added_below_their_parent() {
    check_set(
        "s:\n  a: 1\n  # last\nt: 2\n",
        "s.b.c",
        "true",
        "s:\n  a: 1\n  b:\n    c: true\n  # last\nt: 2\n",
    );
    check_set("l:\n  - name: x\n    image: y\n", "l[0].z", "1", "l:\n  - name: x\n    image: y\n    z: 1\n");
    check_set("a: {b: 1}\n", "a.c", "[1]", "a: {b: 1, c: [1]}\n");
    check_set("a: {}\nb: 1\n", "a.c", "1", "a:\n  c: 1\nb: 1\n");
    check_set("a:\nb: 1\n", "a.c", "1", "a:\n  c: 1\nb: 1\n");
    check_set("a: 1", "b", "2", "a: 1\nb: 2\n");
    check_set("a:\n  t: |\n    x\n    y\nb: 1\n", "a.u", "1", "a:\n  t: |\n    x\n    y\n  u: 1\nb: 1\n");
}

#[test]
fn items_are_appended_in_the_style_of_the_list() {
    check_set("l: [a]\n", "l[1]", "\"b\"", "l: [a, b]\n");
    check_set("l:\n  - a # first\nm: 1\n", "l[1]", "\"b\"", "l:\n  - a # first\n  - b\nm: 1\n");
    check_set("l: []\nm: 1\n", "l[0]", "\"b\"", "l:\n- b\nm: 1\n");
}

#[test]
fn fields_are_removed_with_everything_below_them() {
    check_remove("a: 1\nb:\n  c: 1\n# kept\nd: 2\n", "b", "a: 1\n# kept\nd: 2\n");
    check_remove("l:\n- a: 1\n  b: 2\n", "l[0].a", "l:\n- b: 2\n");
    check_remove("a: {b: 1, c: 2}\n", "a.c", "a: {b: 1}\n");
    check_remove("a: {b: 1, c: 2}\n", "a.b", "a: {c: 2}\n");
    check_remove("a:\n  b: 1\nc: 1\n", "a.b", "a: {}\nc: 1\n");
    check_remove("l:\n- a\n- b\n", "l[0]", "l:\n- b\n");
}

#[test]
fn unusual_texts_have_no_edit() {
    let set = |path: &str| FieldChange::set(steps(path), 1_i64);
    assert_eq!(edited("a: &x\n  b: 1\nc: *x\n", &set("c.b")), None);
    assert_eq!(edited("a: !!str 5\n", &set("a")), None);
    assert_eq!(edited("a: |\n  text\n", &set("a")), None);
}

#[test]
fn objects_of_lists_and_later_documents_are_found() {
    let text = "a: 1\n---\nkind: List\nitems:\n- kind: Pod\n  a: 1\n- kind: Pod\n  a: 2\n";
    let source = Source::new("a.yaml", text);
    let list = yaml::read(&source).documents.into_iter().nth(1).unwrap();
    let item = list.items(&["items".into()]).nth(1).unwrap();
    let place = ObjectPlace::of(&source, &item).unwrap();
    let edited = edit_text(&source, &place, &FieldChange::set(["a".into()], 3_i64)).unwrap();
    assert_eq!(edited, text.replace("a: 2", "a: 3"));
}

#[test]
fn json_stays_json() {
    let source = Source::new("a.json", "{\"a\": {\"b\": 1}}\n");
    let document = yaml::read(&source).documents.into_iter().next().unwrap();
    let place = ObjectPlace::of(&source, &document).unwrap();
    let edited = edit_text(&source, &place, &FieldChange::set(steps("a.c"), "x")).unwrap();
    assert_eq!(edited, "{\"a\": {\"b\": 1, \"c\": \"x\"}}\n");
}
