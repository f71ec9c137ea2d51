//! What expressions give in paths and values.

use super::{a, check, done, fails};

/// Checks what `value` sets.
#[track_caller]
fn sets(value: &str, want: &str) {
    done("{}", &[&format!("add /s/v <- {value}")], &format!("{{v: {want}}}"));
}

#[test]
fn a_whole_value_keeps_its_type() {
    sets("'${parameters.size}'", "3");
    sets("'${parameters.isOn}'", "false");
    sets("'${parameters.names}'", "[c, a, b]");
    sets("'${parameters.labels}'", "{zone: west, app: web}");
    sets("'  ${parameters.size}  '", "3");
}

#[test]
fn text_around_an_expression_makes_text() {
    sets("'${metadata.name}-sidecar'", "web-dev-sidecar");
    sets("'n=${parameters.big}, ${parameters.isOn}'", "'n=12345678, false'");
    sets("'${parameters.names}!'", "'[\"c\",\"a\",\"b\"]!'");
}

#[test]
fn expressions_stand_anywhere_in_a_structure() {
    sets("{'${parameters.text}': ['${parameters.size + 1}', x]}", "{app: [4, x]}");
}

#[test]
fn whole_numbers_are_integers() {
    sets("'${parameters.size * 2 % 4}'", "2");
    sets("'${parameters.size / 2}'", "1");
    sets("'${string(parameters.big)}'", "'12345678'");
    sets("'${parameters.size * 0.5}'", "1.5");
}

#[test]
fn null_stays_null() {
    sets("'${parameters.none}'", "null");
    sets("'x ${parameters.none}'", "x null");
    sets("null", "null");
}

#[test]
fn a_value_that_is_left_out_as_a_whole_skips_its_operation() {
    done("{k: 1}", &["add /s/k <- '${oc_omit()}'", "replace /s/k <- '${oc_omit()}'"], "{k: 1}");
    done("{}", &["add /s/l/- <- '${parameters.isOn ? 1 : oc_omit()}'", "add /s/l/- <- 2"], "{l: [2]}");
    // Not even its path has to fit.
    done("{}", &["replace /s/missing/x <- '${oc_omit()}'"], "{}");
}

#[test]
fn parts_that_are_left_out_are_left_out() {
    sets("{a: '${oc_omit()}', b: [1, '${oc_omit()}']}", "{b: [1]}");
    sets("'${oc_merge({\"a\": oc_omit(), \"b\": 1}, {\"c\": [oc_omit()]})}'", "{b: 1, c: []}");
}

#[test]
fn text_that_is_put_into_a_path_adds_no_segments() {
    done("{}", &["add /s/${parameters.evil} <- 1"], "{\"a/b~1c')]/x\": 1}");
    done("{}", &["add /s/pre-${parameters.evil}/w <- 1"], "{\"pre-a/b~1c')]/x\": {w: 1}}");
    done("{'-': 0}", &["add /s/${'-'} <- 1"], "{'-': 1}");
}

#[test]
fn text_that_is_put_into_a_filter_stays_in_its_quotes() {
    done(
        "{l: [{k: \"a/b~1c')]/x\"}, {k: z}]}",
        &["add /s/l[?(@.k=='${parameters.evil}')]/v <- 1"],
        "{l: [{k: \"a/b~1c')]/x\", v: 1}, {k: z}]}",
    );
    fails(
        "{l: [{k: z, x: 1}]}",
        &["remove /s/l[?(@.k=='${\"z')]/x[?(@.k=='\"}')]"],
        "KW-R030 `remove /s/l[?(@.k=='z')]/x[?(@.k=='')]` cannot be done to A `a`: `[?(@.k=='z')]/x[?(@.k=='')]` does not match the only item of `/s/l`",
    );
}

#[test]
fn empty_text_is_no_segment() {
    fails("{}", &["add /s/${parameters.empty} <- 1"], "KW-R016 the text that is put in here is empty");
}

#[test]
fn a_path_that_is_one_expression_is_a_path() {
    done("{}", &["add ${'/s/a/b'} <- 1"], "{a: {b: 1}}");
    fails(
        "{}",
        &["add ${''} <- 1"],
        "KW-R016 `` is not a path: the path is empty, which is the whole document",
    );
}

#[test]
fn a_number_in_a_path_is_an_index_or_a_key() {
    done("{l: [a, b, c, d]}", &["replace /s/l/${parameters.size} <- x"], "{l: [a, b, c, x]}");
    done("{}", &["add /s/${parameters.size} <- x"], "{'3': x}");
    done("{l: [a]}", &["replace /s/l[${parameters.size - 3}] <- x"], "{l: [x]}");
}

#[test]
fn the_variable_of_a_loop_is_seen_in_paths_filters_and_values() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: A}\n  forEach: ${parameters.ports}\n  var: port\n  operations:\n  - op: add\n    path: \"/s[?(@.name=='${port.name}')]/number\"\n    value: ${port.number + 1}";
    check(
        &[&a("[{name: admin}, {name: http}]")],
        &[spec],
        &[&a("[{name: admin, number: 9091}, {name: http, number: 8081}]")],
    );
}

#[test]
fn filters_compare_numbers_and_booleans_as_they_are_written() {
    done("[{k: 10000000}]", &["add /s[?(@.k=='10000000')]/v <- 1"], "[{k: 10000000, v: 1}]");
    done("[{k: true}]", &["add /s[?(@.k=='true')]/v <- 1"], "[{k: true, v: 1}]");
    done("[{k: {m: x}}]", &["add /s[?(@.k.m=='x')]/v <- 1"], "[{k: {m: x}, v: 1}]");
    done("[{k: 1.5}]", &["add /s[?(@.k==\"1.5\")]/v <- 1"], "[{k: 1.5, v: 1}]");
}

#[test]
fn a_template_may_be_one_expression() {
    let spec =
        "creates:\n- template: \"${{'apiVersion': 'v1', 'kind': 'B', 'metadata': {'name': metadata.name}}}\"";
    check(&[], &[spec], &["{apiVersion: v1, kind: B, metadata: {name: web-dev}}"]);
}

#[test]
fn octal_numbers_are_read_as_kubernetes_reads_them() {
    sets("0644", "420");
}
