//! The outcome table is in `tests/outcomes.rs`, paths and their errors in `tests/paths.rs`, provenance in
//! `tests/writers.rs`.

mod outcomes;
mod paths;
mod writers;

use kubewright_value::{Limits, json};

use super::*;

fn value(text: &str) -> Value {
    json::parse(text).unwrap()
}

/// Does `op path [value]` to `document`; asserts that what fails changes nothing.
fn run(document: &str, operation: &str) -> Result<(Value, PathChange), PathPatchError> {
    let (op, rest) = operation.split_once(' ').unwrap();
    let (path, new) = match op {
        "remove" => (rest, Value::Null),
        _ => rest.split_once(" <- ").map(|(path, new)| (path, value(new))).unwrap(),
    };
    let path = PatchPath::parse(path).unwrap_or_else(|error| panic!("`{path}` is no path: {error}"));
    let before = value(document);
    let mut after = before.clone();
    let op = PathOp::named(op).unwrap();
    let applied = path.apply(op, &new, &mut after, &mut Budget::default());
    assert_eq!(before.to_string(), value(document).to_string(), "a copy of the document must not change");
    assert!(applied.is_ok() || after == before, "an operation that fails must change nothing");
    applied.map(|applied| (after, applied))
}

#[track_caller]
fn check(document: &str, operation: &str, want: &str) {
    assert_eq!(run(document, operation).map(|(after, _)| after.to_string()), Ok(value(want).to_string()));
}

#[track_caller]
fn check_fails(document: &str, operation: &str, want: PathPatchErrorKind) {
    let failed = run(document, operation).map(|(after, _)| after.to_string());
    assert_eq!(failed.map_err(|error| error.kind), Err(want));
}

/// Checks the message, the help, and the part of the path that the error points at.
#[track_caller]
fn check_says(document: &str, operation: &str, want: &str) {
    let error = run(document, operation).unwrap_err();
    let path = operation.split(' ').nth(1).unwrap();
    let start = usize::try_from(error.position.column).unwrap() - 1;
    let pointed: String = path.chars().skip(start).take(error.length as usize).collect();
    assert_eq!(format!("{pointed}: {error} | {}", error.help.as_deref().unwrap_or_default()), want);
}

#[track_caller]
fn check_places(document: &str, operation: &str, want: &[&str]) {
    let places = run(document, operation).unwrap().1.places;
    let places: Vec<String> =
        places.iter().map(|place| crate::Pointer::from_steps(place).to_string()).collect();
    assert_eq!(places, want);
}

#[test]
fn what_is_removed_by_a_selector_is_what_it_chose() {
    let list = r#"{"l":[{"k":"x"},{"k":"x","n":1},{"k":"y"},{"k":"x","n":3}]}"#;
    check(list, "remove /l[?(@.k=='x')]", r#"{"l":[{"k":"y"}]}"#);
    check(list, "remove /l[*]", r#"{"l":[]}"#);
    check(r#"{"l":[[1,2],[3,4,5]]}"#, "remove /l[*][*]", r#"{"l":[[],[]]}"#);
    check(r#"{"l":[[1,2],[3,4,5]]}"#, "remove /l[*]/1", r#"{"l":[[1],[3,5]]}"#);
}

#[test]
fn what_is_inserted_stands_before_each_item_chosen() {
    check(r#"{"l":["a","b"]}"#, r#"add /l[*] <- "X""#, r#"{"l":["X","a","X","b"]}"#);
    check(
        r#"{"l":[{"k":"x"},{"k":"y"},{"k":"x"}]}"#,
        "add /l[?(@.k=='x')] <- 0",
        r#"{"l":[0,{"k":"x"},{"k":"y"},0,{"k":"x"}]}"#,
    );
}

#[test]
fn places_are_where_the_value_stands_afterwards() {
    check_places(r#"{"l":["a","b"]}"#, r#"add /l[*] <- "X""#, &["/l/0", "/l/2"]);
    check_places(r#"{"l":[{"k":"x"},{"k":"y"},{"k":"x"}]}"#, "add /l[?(@.k=='x')] <- 0", &["/l/0", "/l/3"]);
    check_places(r#"{"l":[{"e":[1]},{}]}"#, "add /l[*]/e/- <- 2", &["/l/0/e/1", "/l/1/e/0"]);
    check_places(r#"{"l":[1,2]}"#, "remove /l[*]", &["/l/0", "/l/1"]);
    check_places(r#"{"a":{"8080":1}}"#, "remove /a/8080", &["/a/8080"]);
    check_places("{}", "remove /a/b", &[]);
    assert!(run("{}", "add /l/- <- 1").unwrap().1.is_insertion);
    assert!(!run(r#"{"l":[1]}"#, "replace /l/0 <- 1").unwrap().1.is_insertion);
}

#[test]
fn places_share_the_value_but_not_their_later_edits() {
    let (mut after, _) = run(r#"{"l":[{},{}]}"#, r#"add /l[*]/m <- {"k":[]}"#).unwrap();
    let append = PatchPath::parse("/l/0/m/k/-").unwrap();
    append.apply(PathOp::Add, &Value::from(1_i64), &mut after, &mut Budget::default()).unwrap();
    assert_eq!(after, value(r#"{"l":[{"m":{"k":[1]}},{"m":{"k":[]}}]}"#));
}

#[test]
fn only_the_way_to_a_place_is_copied() {
    let before = value(r#"{"big":{"a":[1,2,3]},"l":[{"k":{"deep":[]}},{"k":{}}]}"#);
    let mut after = before.clone();
    let path = PatchPath::parse("/l/1/k/x").unwrap();
    path.apply(PathOp::Add, &Value::Null, &mut after, &mut Budget::default()).unwrap();
    assert!(after.get("big").unwrap().is_same(before.get("big").unwrap()));
    let first = |value: &Value| value.get("l").unwrap().item(0).unwrap().clone();
    assert!(first(&after).is_same(&first(&before)));
}

#[test]
fn merging_lays_keys_over_those_that_are_there() {
    check(
        r#"{"a":{"x":1,"y":{"z":1}}}"#,
        r#"mergeShallow /a <- {"y":{},"w":2}"#,
        r#"{"a":{"x":1,"y":{},"w":2}}"#,
    );
    check("{}", r#"mergeShallow /a/b <- {"c":1}"#, r#"{"a":{"b":{"c":1}}}"#);
    check(r#"{"a":5}"#, r#"mergeShallow /a <- {"c":1}"#, r#"{"a":{"c":1}}"#);
    check(r#"{"l":[{"k":"v"}]}"#, r#"mergeShallow /l[?(@.k=='v')] <- {"c":1}"#, r#"{"l":[{"k":"v","c":1}]}"#);
    check_fails(r#"{"a":{}}"#, "mergeShallow /a <- 1", PathPatchErrorKind::Unfit);
    check_fails(r#"{"a":[]}"#, "mergeShallow /a/- <- {}", PathPatchErrorKind::Unfit);
    check(r#"{"a":[]}"#, "mergeShallow /a[*] <- {}", r#"{"a":[]}"#);
    check(r#"{"a":[{"n":"x"}]}"#, "mergeShallow /a[?(@.n=='y')] <- {}", r#"{"a":[{"n":"x"}]}"#);
}

#[test]
fn operations_are_known_in_upper_and_lower_case() {
    for (name, want) in
        [("add", Some(PathOp::Add)), ("REMOVE", Some(PathOp::Remove)), ("move", None), ("", None)]
    {
        assert_eq!(PathOp::named(name), want, "{name}");
    }
}

#[test]
fn expansion_names_the_places_and_changes_nothing() {
    let document = value(r#"{"r":[{"b":[{"n":"x"},{"n":"y"}]},{"b":[{"n":"y"}]},{"b":[]}]}"#);
    let places = |path: &str, op| {
        let found = PatchPath::parse(path).unwrap().expand(&document, op, &mut Budget::default());
        found.map(|places| places.iter().map(|place| crate::Pointer::from_steps(place).to_string()).collect())
    };
    let want = |places: &[&str]| Ok(places.iter().map(|place| (*place).to_owned()).collect::<Vec<_>>());
    assert_eq!(places("/r/[*]/b/[?(@.n=='y')]/p", PathOp::Add), want(&["/r/0/b/1/p", "/r/1/b/0/p"]));
    assert_eq!(places("/r/[*]/b/-", PathOp::Add), want(&["/r/0/b/2", "/r/1/b/1", "/r/2/b/0"]));
    assert_eq!(places("/r/[*]/b/[?(@.n=='z')]", PathOp::Add), want(&[]));
    assert_eq!(places("/r/[*]/c/d", PathOp::Remove), want(&[]));
    assert_eq!(places("/r/0/c", PathOp::Replace).unwrap_err().kind, PathPatchErrorKind::Missing);
}

fn limited(document: &str, path: &str, limits: Limits) -> Result<PathChange, PathPatchError> {
    let new = value(r#"{"a":["a rather long text that takes some bytes"]}"#);
    PatchPath::parse(path).unwrap().apply(PathOp::Add, &new, &mut value(document), &mut Budget::new(limits))
}

#[test]
fn every_limit_stops_an_operation() {
    let list = r#"{"l":[[1],[1],[1],[1],[1],[1]]}"#;
    assert!(limited(list, "/l[*]/-", Limits::default()).is_ok());
    for limits in [
        Limits { steps: 5, ..Limits::default() },
        Limits { bytes: 300, ..Limits::default() },
        Limits { depth: 3, ..Limits::default() },
    ] {
        assert_eq!(
            limited(list, "/l[*]/-", limits).unwrap_err().kind,
            PathPatchErrorKind::Limit,
            "{limits:?}"
        );
    }
    let deep = "/a".repeat(300);
    assert_eq!(limited("{}", &deep, Limits::default()).unwrap_err().kind, PathPatchErrorKind::Limit);
}

#[test]
fn a_failure_gives_the_depth_back() {
    let mut budget = Budget::new(Limits { depth: 8, ..Limits::default() });
    let path = PatchPath::parse("/l[*][*][*]/x").unwrap();
    for _ in 0..20 {
        let failed = path.apply(PathOp::Add, &Value::Null, &mut value(r#"{"l":[[[1]]]}"#), &mut budget);
        assert_eq!(failed.unwrap_err().kind, PathPatchErrorKind::NotAnObject);
    }
}

#[test]
fn a_path_means_no_more_places_than_a_document_can_sensibly_have() {
    let item = Value::from(vec![Value::Null; 300]);
    let mut document = Value::from(vec![item; 300]);
    let limits = Limits { bytes: u64::MAX, ..Limits::default() };
    let failed = PatchPath::parse("[*][*]").unwrap().apply(
        PathOp::Replace,
        &Value::Null,
        &mut document,
        &mut Budget::new(limits),
    );
    assert_eq!(failed.unwrap_err().message, "the path means more than 65536 places");
}

#[test]
fn many_items_are_removed_and_inserted_in_one_pass() {
    let many = Value::from(vec![Value::Bool(true); 60_000]);
    for (op, want) in [(PathOp::Remove, 0), (PathOp::Add, 120_000)] {
        let mut document = many.clone();
        PatchPath::parse("[*]")
            .unwrap()
            .apply(op, &Value::Null, &mut document, &mut Budget::default())
            .unwrap();
        assert_eq!(document.as_array().unwrap().len(), want);
    }
}
