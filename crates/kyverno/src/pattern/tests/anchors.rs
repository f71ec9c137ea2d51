//! Keys in brackets, and keys with wildcards.

use super::check;

const NO_KEY: &str = "skip conditional anchor mismatch: conditional anchor key doesn't exist in the resource";

#[test]
fn a_condition_that_does_not_hold_skips_the_object_around_it() {
    check("{(a): x, b: w}", "{a: x, b: w}", "pass");
    check("{(a): x, b: w}", "{a: x, b: z}", "fail /b/");
    check("{(a): x, b: w}", "{b: z}", NO_KEY);
    check("{ ' (a) ': x, b: w}", "{a: x, b: z}", "fail /b/");
    let skip = "skip conditional anchor mismatch: resource value 'q' does not match 'x' at path /a/";
    check("{(a): x, b: w}", "{a: q, b: z}", skip);
    check("{(a): x, (b): x}", "{a: q}", &format!("{skip}; {}", &NO_KEY[5..]));
}

#[test]
fn an_optional_key_must_fit_if_it_is_there() {
    check("{=(a): x}", "{}", "pass");
    check("{=(a): x}", "{a: w}", "fail /a/");
    check("{=(a): x}", "{a: null}", "fail /a/");
    check("{=(a): {=(b): x}}", "{a: {b: w}}", "fail /a/b/");
}

#[test]
fn a_negated_key_must_not_be_there() {
    check("{X(a): whatever}", "{}", "pass");
    check("{X(a): whatever}", "{a: null}", "fail /a/");
    check("{(b): x, X(a): null}", "{b: x, a: 1}", "fail /a/");
}

#[test]
fn some_element_must_fit_each_object_of_an_existence_anchor() {
    check("{^(a): [{b: x}]}", "{a: [{b: w}, {b: x}]}", "pass");
    check("{^(a): [{b: x}]}", "{a: [{b: w}]}", "fail /a/");
    check("{^(a): [{b: x}, {b: z}]}", "{a: [{b: x}]}", "fail /a/");
    check("{^(a): [{b: x}]}", "{a: []}", "fail /a/");
    check("{^(a): [{b: x}]}", "{a: {b: x}}", "fail /a/");
    check("{^(a): [{b: x}]}", "{}", "pass");
    check("{^(a): [{(b): x, c: w}]}", "{a: [{b: q}]}", "fail /a/");
    check("{^(a): x}", "{a: []}", "fail /a/");
    check("{^(a): [x]}", "{a: []}", "fail /a/");
}

#[test]
fn a_global_condition_skips_the_rule_but_not_when_its_key_is_missing() {
    let skip = "skip global anchor mismatch: resource value 'q' does not match 'x' at path /a/";
    check("{<(a): x, b: w}", "{a: q, b: z}", skip);
    check("{<(a): x, b: w}", "{b: z}", "fail /b/");
    check("{<(a): x, b: w}", "{a: x, b: w}", "pass");
    let skip = "skip global anchor mismatch: resource value 'q' does not match 'x' at path /l/0/a/";
    check("{l: [{<(a): x, b: w}]}", "{l: [{a: q, b: z}]}", skip);
    check("{l: [{<(a): x, b: w}]}", "{l: [{a: q, b: z}, {a: x, b: w}]}", "pass");
}

#[test]
fn failures_beside_a_condition_that_does_not_hold_do_not_count() {
    let skip = "skip conditional anchor mismatch: resource value 'q' does not match 'x' at path /a/";
    check("{(a): x, =(b): w, X(c): null}", "{a: q, b: z, c: 1}", skip);
}

#[test]
fn a_skip_from_below_is_weaker_than_one_of_the_objects_own() {
    let skip = "skip conditional anchor mismatch: resource value 'q' does not match 'x' at path /a/k/";
    check("{=(a): {(k): x}, z: ok}", "{a: {k: q}, z: bad}", skip);
    check("{=(a): {(k): x}, =(b): q, z: ok}", "{a: {k: q}, z: bad}", "fail /z/");
    check("{=(a): {(k): x}, =(b): q}", "{a: {k: q}, b: bad}", "fail /b/");
    check("{m: {(k): x}, z: ok}", "{m: {k: q}, z: bad}", &skip.replace("/a/", "/m/"));
}

#[test]
fn skipped_elements_are_left_out_and_a_list_of_nothing_else_is_skipped() {
    let pattern = "{l: [{(a): x, b: w}]}";
    check(pattern, "{l: [{a: q}, {a: x, b: w}]}", "pass");
    check(pattern, "{l: [{a: q}, {a: x, b: z}]}", "fail /l/1/b/");
    check(
        pattern,
        "{l: [{a: q}, {a: r}]}",
        "skip conditional anchor mismatch: resource value 'q' does not match 'x' at path /l/0/a/; conditional anchor mismatch: resource value 'r' does not match 'x' at path /l/1/a/",
    );
}

#[test]
fn a_failure_is_an_error_when_the_key_of_a_condition_was_never_seen() {
    check(
        "{(m): {^(cs): [{a: 1}]}, z: ok}",
        "{m: {}, z: bad}",
        "error resource value 'bad' does not match 'ok' at path /z/",
    );
    check("{l: [{(a): x}], z: ok}", "{l: [{b: 1}, {a: x}], z: bad}", "fail /z/");
    check("{l: [{X(a): x}], z: ok}", "{l: [{b: 1}], z: bad}", "fail /z/");
}

#[test]
fn words_in_a_value_do_not_make_a_failure_a_skip() {
    check("{a: x}", "{a: conditional anchor mismatch}", "fail /a/");
    check("{a: x}", "{a: global anchor mismatch}", "fail /a/");
    check(
        "{(m): {^(cs): [{a: 1}]}, z: ok}",
        "{m: {}, z: negation anchor matched in resource}",
        "error resource value 'negation anchor matched in resource' does not match 'ok' at path /z/",
    );
}

#[test]
fn keys_that_only_look_like_anchors_stand_for_themselves() {
    check("{+(a): x}", "{+(a): x}", "pass");
    check("{+(a): x}", "{a: x}", "fail /+(a)/");
    check("{(): x}", "{(): x}", "pass");
    check("{x(a): x}", "{x(a): x}", "pass");
}

#[test]
fn keys_of_labels_and_annotations_may_have_wildcards() {
    check("{metadata: {labels: {a*: x}}}", "{metadata: {labels: {a1: x}}}", "pass");
    check("{metadata: {labels: {a*: x}}}", "{metadata: {labels: {a1: w}}}", "fail /metadata/labels/a1/");
    check("{metadata: {labels: {a*: x}}}", "{metadata: {labels: {b: x}}}", "fail /metadata/labels/a*/");
    check(
        "{metadata: {annotations: {X(a*): 'null'}}}",
        "{metadata: {annotations: {a1: w}}}",
        "fail /metadata/annotations/a1/",
    );
    check(
        "{=(metadata): {=(labels): {'(a?)': x, b: w}}}",
        "{metadata: {labels: {a1: x, b: z}}}",
        "fail /metadata/labels/b/",
    );
    check(
        "{spec: {metadata: {labels: {a*: '*'}}}}",
        "{spec: {metadata: {labels: {b: x}}}}",
        "fail /spec/metadata/labels/",
    );
    // Values that are not texts are left out there.
    check("{=(metadata): {labels: {a: 5, X(b): null, c: x}}}", "{metadata: {labels: {b: x, c: x}}}", "pass");
    check("{metadata: {a*: x}}", "{metadata: {a1: x}}", "fail /metadata/a*/");
    check("{labels: {a*: x}}", "{labels: {a1: x}}", "fail /labels/a*/");
}

#[test]
fn one_of_the_keys_that_fit_a_wildcard_is_enough() {
    let pattern = "{metadata: {labels: {a*: x}}}";
    check(pattern, "{metadata: {labels: {a1: zz, a2: x}}}", "pass");
    check(pattern, "{metadata: {labels: {a2: x, a1: zz}}}", "pass");
    check(pattern, "{metadata: {labels: {a2: w, a1: zz}}}", "fail /metadata/labels/a1/");
    check(
        "{metadata: {labels: {(a*): x, b: w}}}",
        "{metadata: {labels: {a1: zz, a2: x, b: z}}}",
        "fail /metadata/labels/b/",
    );
}
