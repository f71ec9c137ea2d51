//! The outcome of every operation in every situation, row by row.

use super::PathPatchErrorKind::{Missing, NoMatch, NotAList, NotAnObject, OutOfRange, Unfit};
use super::{PathPatchErrorKind, check, check_fails};

/// Checks `add` of 9, `replace` by 9 and `remove` at `path`; each gives a document or fails.
#[track_caller]
fn row(document: &str, path: &str, want: [Result<&str, PathPatchErrorKind>; 3]) {
    let operations = [format!("add {path} <- 9"), format!("replace {path} <- 9"), format!("remove {path}")];
    for (operation, want) in operations.iter().zip(want) {
        match want {
            Ok(after) => check(document, operation, after),
            Err(kind) => check_fails(document, operation, kind),
        }
    }
}

/// Checks that all three fail because there is no list: `replace` already fails at the key that is missing.
#[track_caller]
fn fails_without_list(path: &str) {
    row("{}", path, [Err(NotAList), Err(Missing), Err(NotAList)]);
    fails(r#"{"l":null}"#, path, NotAList);
}

/// Checks that all three fail.
#[track_caller]
fn fails(document: &str, path: &str, kind: PathPatchErrorKind) {
    row(document, path, [Err(kind), Err(kind), Err(kind)]);
}

#[test]
fn a_filter_that_matches_nothing_fails() {
    fails(r#"{"l":[{"k":"v"}]}"#, "/l[?(@.k=='w')]", NoMatch);
    fails(r#"{"l":[{"k":"v"}]}"#, "/l[?(@.k=='w')]/x", NoMatch);
    fails(r#"{"l":[]}"#, "/l[?(@.k=='w')]/x", NoMatch);
    fails(r#"{"l":[1,null,[],{}]}"#, "/l[?(@.k=='')]", NoMatch);
}

#[test]
fn a_filter_where_there_is_no_list_fails() {
    for path in ["/l[?(@.k=='v')]", "/l/[?(@.k=='v')]/x"] {
        fails_without_list(path);
        fails(r#"{"l":{"k":"v"}}"#, path, NotAList);
        fails(r#"{"l":"v"}"#, path, NotAList);
    }
}

#[test]
fn a_wildcard_over_an_empty_list_or_no_list_fails() {
    fails(r#"{"l":[]}"#, "/l[*]", NoMatch);
    fails(r#"{"l":[]}"#, "/l/[*]/x", NoMatch);
    fails_without_list("/l/[*]/x");
    fails(r#"{"l":{"k":"v"}}"#, "/l/[*]/x", NotAList);
    fails(r#"{"l":1}"#, "/l/[*]/x", NotAList);
}

#[test]
fn one_parent_with_a_match_is_enough() {
    let document = r#"{"r":[{"l":[]},{"l":[{"k":"v","x":1}]}]}"#;
    let after = r#"{"r":[{"l":[]},{"l":[{"k":"v","x":9}]}]}"#;
    let removed = r#"{"r":[{"l":[]},{"l":[{"k":"v"}]}]}"#;
    row(document, "/r/[*]/l/[?(@.k=='v')]/x", [Ok(after), Ok(after), Ok(removed)]);
    row(document, "/r/[*]/l/[*]/x", [Ok(after), Ok(after), Ok(removed)]);
}

#[test]
fn one_parent_without_the_list_is_a_failure() {
    let document = r#"{"r":[{"l":[{"k":"v"}]},{}]}"#;
    row(document, "/r/[*]/l/[*]", [Err(NotAList), Err(Missing), Err(NotAList)]);
    fails(r#"{"r":[{"l":[{"k":"v"}]},{"l":{}}]}"#, "/r/[*]/l/[?(@.k=='v')]", NotAList);
}

#[test]
fn a_missing_key_is_set_or_nothing_to_remove() {
    row(r#"{"a":{}}"#, "/a/b", [Ok(r#"{"a":{"b":9}}"#), Err(Missing), Ok(r#"{"a":{}}"#)]);
}

#[test]
fn a_missing_parent_is_made_or_nothing_to_remove_from() {
    row("{}", "/a/b/c", [Ok(r#"{"a":{"b":{"c":9}}}"#), Err(Missing), Ok("{}")]);
    row(r#"{"l":[{}]}"#, "/l/0/b/c", [Ok(r#"{"l":[{"b":{"c":9}}]}"#), Err(Missing), Ok(r#"{"l":[{}]}"#)]);
}

#[test]
fn a_parent_that_is_null_counts_as_missing() {
    row(r#"{"a":null}"#, "/a/b/c", [Ok(r#"{"a":{"b":{"c":9}}}"#), Err(Missing), Ok(r#"{"a":null}"#)]);
    row(r#"{"l":[null]}"#, "/l/0/b", [Ok(r#"{"l":[{"b":9}]}"#), Err(Missing), Ok(r#"{"l":[null]}"#)]);
}

#[test]
fn a_parent_without_keys_is_a_failure() {
    for document in [r#"{"a":1}"#, r#"{"a":"x"}"#, r#"{"a":false}"#, r#"{"a":[]}"#, r#"{"a":[{"b":1}]}"#] {
        fails(document, "/a/b", NotAnObject);
        fails(document, "/a/b/c", NotAnObject);
    }
}

#[test]
fn an_index_inserts_replaces_and_removes() {
    let list = r#"{"l":[1,2,3]}"#;
    row(list, "/l/0", [Ok(r#"{"l":[9,1,2,3]}"#), Ok(r#"{"l":[9,2,3]}"#), Ok(r#"{"l":[2,3]}"#)]);
    row(list, "/l/2", [Ok(r#"{"l":[1,2,9,3]}"#), Ok(r#"{"l":[1,2,9]}"#), Ok(r#"{"l":[1,2]}"#)]);
    row(list, "/l[1]", [Ok(r#"{"l":[1,9,2,3]}"#), Ok(r#"{"l":[1,9,3]}"#), Ok(r#"{"l":[1,3]}"#)]);
}

#[test]
fn an_index_that_is_not_there_fails() {
    for path in ["/l/3", "/l[3]", "/l/4", "/l/-1", "/l/9999999", "/l/7/x"] {
        fails(r#"{"l":[1,2,3]}"#, path, OutOfRange);
    }
    fails(r#"{"l":[]}"#, "/l/0", OutOfRange);
}

#[test]
fn an_index_makes_no_list() {
    for path in ["/l/0", "/l/0/x", "/l[0]", "/l/-1"] {
        row("{}", path, [Err(NotAList), Err(Missing), Ok("{}")]);
        row(r#"{"l":null}"#, path, [Err(NotAList), Err(NotAList), Ok(r#"{"l":null}"#)]);
    }
    fails(r#"{"l":"text"}"#, "/l/0", NotAList);
    fails(r#"{"l":{"0":1}}"#, "/l[0]", NotAList);
}

#[test]
fn there_is_nothing_to_remove_below_a_list_or_parent_that_is_missing() {
    for path in ["/l/0", "/l/0/x", "/a/l/0/m/1", "/a/b/0", "/a/0/1/2"] {
        check("{}", &format!("remove {path}"), "{}");
    }
    let document = r#"{"r":[{"l":[1]},{},{"l":null}]}"#;
    check(document, "remove /r[*]/l/0", r#"{"r":[{"l":[]},{},{"l":null}]}"#);
    check_fails(document, "remove /r[*]/l/1", OutOfRange);
    check_fails("{}", "remove /a/l/0/m[*]", NotAList);
    check_fails("{}", "remove /a/l[?(@.k=='v')]", NotAList);
}

#[test]
fn a_dash_appends_and_makes_the_list() {
    row(r#"{"l":[1]}"#, "/l/-", [Ok(r#"{"l":[1,9]}"#), Err(Unfit), Err(Unfit)]);
    row(r#"{"l":[1]}"#, "/l[-]", [Ok(r#"{"l":[1,9]}"#), Err(Unfit), Err(Unfit)]);
    row("{}", "/a/l/-", [Ok(r#"{"a":{"l":[9]}}"#), Err(Unfit), Err(Unfit)]);
    row(r#"{"l":null}"#, "/l/-", [Ok(r#"{"l":[9]}"#), Err(Unfit), Err(Unfit)]);
    check_fails(r#"{"l":{"a":1}}"#, "add /l/- <- 9", NotAList);
    check_fails(r#"{"l":1}"#, "add /l/- <- 9", NotAList);
}

#[test]
fn a_key_that_is_there_is_overwritten_replaced_and_removed() {
    let document = r#"{"a":{"b":1,"c":2}}"#;
    let after = r#"{"a":{"b":9,"c":2}}"#;
    row(document, "/a/b", [Ok(after), Ok(after), Ok(r#"{"a":{"c":2}}"#)]);
    row(r#"{"a":{"b":null}}"#, "/a/b", [Ok(r#"{"a":{"b":9}}"#), Ok(r#"{"a":{"b":9}}"#), Ok(r#"{"a":{}}"#)]);
}

#[test]
fn a_number_is_a_key_where_it_stands_in_an_object() {
    row(
        r#"{"d":{"8080":1}}"#,
        "/d/8080",
        [Ok(r#"{"d":{"8080":9}}"#), Ok(r#"{"d":{"8080":9}}"#), Ok(r#"{"d":{}}"#)],
    );
    row(r#"{"d":{}}"#, "/d/007", [Ok(r#"{"d":{"007":9}}"#), Err(Missing), Ok(r#"{"d":{}}"#)]);
    row(r#"{"d":{}}"#, "/d/-1/x", [Ok(r#"{"d":{"-1":{"x":9}}}"#), Err(Missing), Ok(r#"{"d":{}}"#)]);
}

#[test]
fn lists_in_lists_are_edited() {
    let matrix = r#"{"m":[[1,2],[3,4]]}"#;
    row(
        matrix,
        "/m/1/0",
        [Ok(r#"{"m":[[1,2],[9,3,4]]}"#), Ok(r#"{"m":[[1,2],[9,4]]}"#), Ok(r#"{"m":[[1,2],[4]]}"#)],
    );
    row(
        matrix,
        "/m[*][0]",
        [Ok(r#"{"m":[[9,1,2],[9,3,4]]}"#), Ok(r#"{"m":[[9,2],[9,4]]}"#), Ok(r#"{"m":[[2],[4]]}"#)],
    );
    check(matrix, "add /m/[*]/- <- 9", r#"{"m":[[1,2,9],[3,4,9]]}"#);
}

#[test]
fn a_new_key_stands_last_and_a_known_one_keeps_its_place() {
    let (after, _) = super::run(r#"{"b":1,"a":2}"#, "add /b <- 9").unwrap();
    assert_eq!(after.to_string(), r#"{"b":9,"a":2}"#);
    let (after, _) = super::run(r#"{"b":1,"a":2}"#, "add /0 <- 9").unwrap();
    assert_eq!(after.to_string(), r#"{"b":1,"a":2,"0":9}"#);
}
