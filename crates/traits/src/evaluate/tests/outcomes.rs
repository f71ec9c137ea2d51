//! The contract's outcome table, row by row, and what lies beside it.

use super::{done, fails};

/// Checks `add` of 9, `replace` by 9 and `remove` at `path` of `s`: each gives another `s`, or why it cannot be done.
#[track_caller]
fn row(body: &str, path: &str, want: [Result<&str, &str>; 3]) {
    let operations = [format!("add {path} <- 9"), format!("replace {path} <- 9"), format!("remove {path}")];
    for (operation, want) in operations.iter().zip(want) {
        match want {
            Ok(after) => done(body, &[operation], after),
            Err(why) => {
                let written = operation.trim_end_matches(" <- 9");
                fails(body, &[operation], &format!("KW-R030 `{written}` cannot be done to A `a`: {why}"));
            }
        }
    }
}

/// Checks that all three fail for the same reason.
#[track_caller]
fn never(body: &str, path: &str, why: &str) {
    row(body, path, [Err(why), Err(why), Err(why)]);
}

const LIST: &str = "{l: [{k: x, v: 1}, {k: b, v: 2}, {k: x, v: 3}]}";

#[test]
fn a_filter_without_a_match_is_an_error() {
    never(LIST, "/s/l[?(@.k=='z')]/v", "`[?(@.k=='z')]` does not match any of the 3 items of `/s/l`");
    never(LIST, "/s/l[?(@.k=='z')]", "`[?(@.k=='z')]` does not match any of the 3 items of `/s/l`");
    never("{l: []}", "/s/l/[?(@.k=='z')]", "`[?(@.k=='z')]` chooses nothing: `/s/l` is an empty list");
}

#[test]
fn a_filter_where_there_is_no_list_is_an_error() {
    never("{l: {k: x}}", "/s/l[?(@.k=='x')]", "`[?(@.k=='x')]` needs a list, and `/s/l` is an object");
    row(
        "{}",
        "/s/l[?(@.k=='x')]/v",
        [
            Err("`[?(@.k=='x')]` needs a list, and `/s/l` is missing"),
            Err("`/s` has no key `l`"),
            Err("`[?(@.k=='x')]` needs a list, and `/s/l` is missing"),
        ],
    );
}

#[test]
fn a_filter_means_all_that_match() {
    let after = "{l: [{k: x, v: 9}, {k: b, v: 2}, {k: x, v: 9}]}";
    row(LIST, "/s/l[?(@.k=='x')]/v", [Ok(after), Ok(after), Ok("{l: [{k: x}, {k: b, v: 2}, {k: x}]}")]);
    row(
        LIST,
        "/s/l/[?(@.k=='x')]",
        [
            Ok("{l: [9, {k: x, v: 1}, {k: b, v: 2}, 9, {k: x, v: 3}]}"),
            Ok("{l: [9, {k: b, v: 2}, 9]}"),
            Ok("{l: [{k: b, v: 2}]}"),
        ],
    );
}

#[test]
fn a_wildcard_over_an_empty_list_or_no_list_is_an_error() {
    never("{l: []}", "/s/l/[*]/v", "`[*]` chooses nothing: `/s/l` is an empty list");
    never("{l: {k: x}}", "/s/l[*]/v", "`[*]` needs a list, and `/s/l` is an object");
    never("{l: text}", "/s/l/[*]", "`[*]` needs a list, and `/s/l` is a string");
    never("{l: null}", "/s/l/[*]", "`[*]` needs a list, and `/s/l` is null");
}

#[test]
fn a_wildcard_means_every_item() {
    row(
        "{l: [{v: 1}, {v: 2}]}",
        "/s/l/[*]/v",
        [Ok("{l: [{v: 9}, {v: 9}]}"), Ok("{l: [{v: 9}, {v: 9}]}"), Ok("{l: [{}, {}]}")],
    );
    row("{l: [1, 2]}", "/s/l[*]", [Ok("{l: [9, 1, 9, 2]}"), Ok("{l: [9, 9]}"), Ok("{l: []}")]);
}

#[test]
fn under_a_wildcard_one_match_is_enough() {
    let rules = "{r: [{b: [{k: x}]}, {b: [{k: b}]}, {b: []}]}";
    let after = "{r: [{b: [9]}, {b: [{k: b}]}, {b: []}]}";
    done(rules, &["replace /s/r/[*]/b/[?(@.k=='x')] <- 9"], after);
    done(rules, &["remove /s/r/[*]/b/[?(@.k=='x')]/k"], "{r: [{b: [{}]}, {b: [{k: b}]}, {b: []}]}");
}

#[test]
fn a_map_key_that_is_missing_is_set_or_needs_no_removing() {
    row("{}", "/s/k", [Ok("{k: 9}"), Err("`/s` has no key `k`"), Ok("{}")]);
    row("{}", "/s/a/b/k", [Ok("{a: {b: {k: 9}}}"), Err("`/s` has no key `a`"), Ok("{}")]);
    row("null", "/s/a/k", [Ok("{a: {k: 9}}"), Err("`/s` has no key `a`"), Ok("null")]);
}

#[test]
fn a_map_key_that_is_there_is_written_or_removed() {
    row("{k: 1, z: 2}", "/s/k", [Ok("{k: 9, z: 2}"), Ok("{k: 9, z: 2}"), Ok("{z: 2}")]);
    row("{k: null}", "/s/k", [Ok("{k: 9}"), Ok("{k: 9}"), Ok("{}")]);
}

#[test]
fn map_key_in_a_scalar_is_an_error() {
    never("{k: text}", "/s/k/x", "`/s/k` is a string, which has no key `x`");
    never("[]", "/s/k", "`/s` is a list, which has no key `k`");
}

#[test]
fn an_index_in_the_list_inserts_replaces_or_removes() {
    row("{l: [1, 2]}", "/s/l/1", [Ok("{l: [1, 9, 2]}"), Ok("{l: [1, 9]}"), Ok("{l: [1]}")]);
    row("{l: [1, 2]}", "/s/l[0]", [Ok("{l: [9, 1, 2]}"), Ok("{l: [9, 2]}"), Ok("{l: [2]}")]);
}

#[test]
fn an_index_beyond_the_list_is_an_error() {
    never("{l: [1, 2]}", "/s/l/2", "index `2` is out of range: `/s/l` has 2 items");
    never("{l: [1]}", "/s/l/7", "index `7` is out of range: `/s/l` has 1 item");
    never("{l: []}", "/s/l/0", "index `0` is out of range: `/s/l` has no items");
    never("{l: [1]}", "/s/l/-1", "index `-1` is out of range: `/s/l` has 1 item");
}

#[test]
fn an_index_makes_no_list() {
    row(
        "{}",
        "/s/l/0",
        [Err("`0` needs a list, and `/s/l` is missing"), Err("`/s` has no key `l`"), Ok("{}")],
    );
}

#[test]
fn a_dash_appends_and_makes_the_list() {
    done("{l: [1]}", &["add /s/l/- <- 9"], "{l: [1, 9]}");
    done("{}", &["add /s/a/l/- <- 9"], "{a: {l: [9]}}");
    done("{l: null}", &["add /s/l/- <- 9"], "{l: [9]}");
    fails(
        "{l: {}}",
        &["add /s/l/- <- 9"],
        "KW-R030 `add /s/l/-` cannot be done to A `a`: `-` needs a list, and `/s/l` is an object",
    );
}

#[test]
fn escapes_name_keys_with_slashes_and_tildes() {
    done("{}", &["add /s/example.com~1version <- v"], "{example.com/version: v}");
    done("{}", &["add /s/a~0b <- v", "add /s/c~01 <- w"], "{a~b: v, c~1: w}");
    done("{a/b: 1}", &["remove /s/a~1b"], "{}");
}

#[test]
fn numbers_name_keys_of_maps() {
    row("{'8080': 1}", "/s/8080", [Ok("{'8080': 9}"), Ok("{'8080': 9}"), Ok("{}")]);
}

#[test]
fn lists_in_lists_are_reached() {
    row(
        "{m: [[1, 2], [3, 4]]}",
        "/s/m/0/1",
        [Ok("{m: [[1, 9, 2], [3, 4]]}"), Ok("{m: [[1, 9], [3, 4]]}"), Ok("{m: [[1], [3, 4]]}")],
    );
}

#[test]
fn failing_operation_leaves_the_manifest_unchanged() {
    fails(
        "{l: [{p: [1]}, {p: []}]}",
        &["remove /s/l[*]/p/0"],
        "KW-R030 `remove /s/l[*]/p/0` cannot be done to A `a`: index `0` is out of range: `/s/l/1/p` has no items",
    );
}
