//! What the older library makes of operations.

use kubewright_value::{Budget, Value, json};

use super::*;

fn parse(text: &str) -> Value {
    json::parse(text).expect("JSON")
}

/// Applies `operations`, each `op path`, `op path value` or `op from path`.
fn apply(document: &str, operations: &[&str]) -> Result<OlderPatchResult, String> {
    let read = |text: &&str| {
        let words: Vec<&str> = text.splitn(3, ' ').collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let mut operation = OlderOperation { op: word(0).into(), path: word(1).into(), ..Default::default() };
        match (word(0), word(2)) {
            ("move" | "copy", to) => (operation.from, operation.path) = (word(1).into(), to.into()),
            (_, "") => {}
            (_, value) => operation.value = parse(value),
        }
        operation
    };
    let operations: Vec<OlderOperation> = operations.iter().map(read).collect();
    apply_older_patch(&parse(document), &operations, &mut Budget::default())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn gives(operations: &[&str], expected: &str) {
    let found = apply(r#"{"a": {"b": 1}, "l": [1, 2]}"#, operations);
    assert_eq!(found, Ok(OlderPatchResult::Applied(parse(expected))));
}

#[track_caller]
fn fails(operations: &[&str], expected: &str) {
    assert_eq!(apply(r#"{"a": {"b": 1}, "l": [1, 2]}"#, operations), Err(expected.to_owned()));
}

#[test]
fn operations_change_what_they_name() {
    gives(&["add /a/c 2"], r#"{"a": {"b": 1, "c": 2}, "l": [1, 2]}"#);
    gives(&["add /l/- 3", "add /l/0 0", "remove /l/1"], r#"{"a": {"b": 1}, "l": [0, 2, 3]}"#);
    gives(&["add /l/-1 9"], r#"{"a": {"b": 1}, "l": [1, 2, 9]}"#);
    gives(&["remove /l/-1"], r#"{"a": {"b": 1}, "l": [1]}"#);
    gives(&["replace /a/zz 2"], r#"{"a": {"b": 1, "zz": 2}, "l": [1, 2]}"#);
    gives(&["replace /l/1 7"], r#"{"a": {"b": 1}, "l": [1, 7]}"#);
    gives(&["move /a/b /c"], r#"{"a": {}, "l": [1, 2], "c": 1}"#);
    gives(&["copy /l /a/m"], r#"{"a": {"b": 1, "m": [1, 2]}, "l": [1, 2]}"#);
    gives(&["copy /zz /a/b"], r#"{"a": {"b": null}, "l": [1, 2]}"#);
    gives(&["add /a/b"], r#"{"a": {"b": null}, "l": [1, 2]}"#);
    gives(&["add /a/x~1y~0z 1"], r#"{"a": {"b": 1, "x/y~z": 1}, "l": [1, 2]}"#);
    gives(&["add ignored/q 1"], r#"{"a": {"b": 1}, "l": [1, 2], "q": 1}"#);
    gives(&["replace  {}"], "{}");
}

#[test]
fn a_test_that_does_not_hold_drops_the_patch() {
    let document = r#"{"a": {"b": 1}}"#;
    assert_eq!(apply(document, &["add /x 1", "test /a/b 2"]), Ok(OlderPatchResult::Dropped(1)));
    assert_eq!(apply(document, &["test /a/zz 2"]), Ok(OlderPatchResult::Dropped(0)));
    assert_eq!(apply(document, &["test /a/b 1"]), Ok(OlderPatchResult::Applied(parse(document))));
}

#[test]
fn failures_have_the_words_of_the_library() {
    fails(&["add /x/y 1"], "add operation does not apply: doc is missing path: \"/x/y\": missing value");
    fails(
        &["add /l/9 1"],
        "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
    );
    fails(
        &["add /l/x 1"],
        "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
    );
    fails(
        &["remove /a/zz"],
        "error in remove for path: '/a/zz': Unable to remove nonexistent key: zz: missing value",
    );
    fails(
        &["remove /l/9"],
        "error in remove for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
    );
    fails(&["replace /l/9 1"], "replace operation does not apply: doc is missing key: /l/9: missing value");
    fails(&["replace /x/y 1"], "replace operation does not apply: doc is missing path: /x/y: missing value");
    fails(
        &["move /a/zz /c"],
        "error in move for path: 'zz': Unable to remove nonexistent key: zz: missing value",
    );
    fails(
        &["copy /a/b /x/y"],
        "copy operation does not apply: doc is missing destination path: /x/y: missing value",
    );
    fails(&["zap /a 1"], "Unexpected kind: zap");
}
