//! One value against one scalar.

use super::{Tainted, ValidatePattern, check, told, value};

/// Compares each value with the scalar, both as YAML; the values that it fits and those that it does not.
#[track_caller]
fn fits(scalar: &str, fitting: &[&str], others: &[&str]) {
    let cases = fitting.iter().map(|v| (v, "pass")).chain(others.iter().map(|v| (v, "fail /a/")));
    for (found, want) in cases {
        let object = if *found == "missing" { "{}".to_owned() } else { format!("{{a: {found}}}") };
        check(
            &format!("{{a: [{scalar}]}}"),
            &format!("{{a: [{found}]}}").replace("[missing]", "[null]"),
            want,
        );
        if scalar != "'*'" {
            check(&format!("{{a: {scalar}}}"), &object, want);
        }
    }
}

#[test]
fn null_fits_what_is_as_good_as_nothing() {
    fits("null", &["missing", "null", "0", "''", "false", "0.0"], &["{}", "1", "x", "true"]);
    check("{a: null}", "{a: []}", "pass");
    check("{a: null}", "{a: [null, 0]}", "pass");
}

#[test]
fn booleans_fit_only_themselves() {
    fits("true", &["true"], &["false", "'true'", "1", "missing"]);
    fits("false", &["false"], &["true", "missing", "0"]);
}

#[test]
fn numbers_fit_numbers_and_texts_of_them() {
    fits("5", &["5", "5.0", "'5'", "'05'", "'+5'"], &["6", "5.5", "'5.0'", "missing", "true"]);
    fits("1.5", &["1.5", "'1.5'", "'1.50'"], &["1", "'1'", "missing"]);
}

#[test]
fn in_any_pattern_all_numbers_are_doubles() {
    let entry = ValidatePattern::compile_entry(&Tainted::Trusted(value("{(a): 5, (b): 1000000}")));
    assert_eq!(told(&entry, &value("{a: '5.0', b: 1000000}")), "pass");
    let want = "skip conditional anchor mismatch: resource value 'x' does not match '1e+06' at path /b/";
    assert_eq!(told(&entry, &value("{a: 5, b: x}")), want);
}

#[test]
fn a_star_wants_a_key_that_is_there_and_blames_the_parent() {
    for found in ["x", "''", "0", "false", "{}", "[]"] {
        check("{a: '*'}", &format!("{{a: {found}}}"), "pass");
    }
    check("{a: '*'}", "{}", "fail /");
    check("{b: {a: '*'}}", "{b: {a: null}}", "fail /b/");
    fits("'*'", &["x", "''", "0", "false"], &["null", "{}"]);
    check("{=(a): '*'}", "{a: {}}", "fail /a/");
}

#[test]
fn some_text_number_or_boolean_is_more_than_nothing() {
    fits("'?*'", &["x", "0", "false", "'?*'"], &["''", "null", "missing", "{}"]);
    check("{a: '?*'}", "{a: []}", "pass");
}

#[test]
fn an_empty_text_fits_only_itself() {
    fits("''", &["''"], &["x", "null", "missing", "0"]);
}

#[test]
fn wildcards_are_compared_with_the_whole_text() {
    fits("'x*'", &["x", "xy"], &["yx", "null", "{}"]);
    fits("'?'", &["x", "é"], &["''", "xx", "5"]);
    fits("'*:*'", &["a:b", "'a:'"], &["a"]);
    // Numbers are doubles with an exponent when they become text.
    fits("'1*'", &["1", "100", "1.5"], &["'21'", "21"]);
    fits("'1E+02'", &["100", "'100'"], &["'x'"]);
}

#[test]
fn alternatives_are_tried_in_turn_and_all_of_one_must_fit() {
    fits("'a | b'", &["a", "b", "'a | b'"], &["c", "'a '"]);
    fits("'!a & !b'", &["c", "''"], &["a", "b", "null"]);
    fits("'>3 & <5 | 10'", &["4", "10"], &["3", "5", "missing"]);
    fits("'a|'", &["a", "''"], &["b"]);
}

#[test]
fn null_counts_as_zero_where_numbers_are_compared() {
    fits("'<5'", &["4", "missing", "null", "'4'", "4.9", "'4900m'"], &["5", "x", "true"]);
    fits("'>=0'", &["0", "missing"], &["-1"]);
    fits("'<=1h'", &["missing", "30m", "60m", "1h", "0s"], &["61m", "2h", "0", "5"]);
    fits("'1!-10'", &["0", "11", "missing"], &["1", "5", "10", "x"]);
    fits("'!5'", &["4", "x", "missing"], &["5", "5.0", "'5000m'"]);
    fits("'!foo'", &["bar", "''", "5"], &["foo", "missing", "{}"]);
}

#[test]
fn quantities_and_durations_are_compared_by_value() {
    fits("'5'", &["5", "5.0", "'5.0'", "'5000m'", "'05'"], &["6", "x"]);
    fits("'1Gi'", &["1024Mi", "1073741824", "'1Gi'"], &["1G", "1"]);
    fits("'512Mi-1Gi'", &["512Mi", "1G", "1Gi"], &["511Mi", "2Gi", "missing"]);
    fits("'1h'", &["60m", "3600s"], &["1", "61m"]);
    fits("'>1h'", &["61m"], &["60m", "x", "2"]);
    fits("'-5--1'", &["-3", "-5", "-1"], &["0", "-6"]);
    fits("'1.5-2.5'", &["2", "1.5"], &["1", "3"]);
}

#[test]
fn what_looks_like_a_range_but_is_none_is_text() {
    fits("'a-b'", &["a-b"], &["a", "b"]);
    fits("'5-'", &["'5-'"], &["5"]);
    fits("'>1.2.3'", &["'>1.2.3'"], &["1.2.3", "2.0.0", "missing"]);
    fits("'!'", &["'!'"], &["x"]);
    fits("'>'", &["'>'"], &["x"]);
}

#[test]
fn every_element_of_a_list_must_fit_a_scalar() {
    check("{a: x}", "{a: [x, x]}", "pass");
    check("{a: x}", "{a: [x, w]}", "fail /a/");
    check("{a: '!x'}", "{a: []}", "pass");
    check("{a: '>3'}", "{a: [4, [5]]}", "fail /a/");
}

#[test]
fn values_stand_in_messages_as_go_prints_them() {
    for (found, printed) in [
        ("null", "<nil>"),
        ("1000000", "1e+06"),
        ("1.5", "1.5"),
        ("[a, 1]", "[a 1]"),
        ("{b: 1, a: [x]}", "map[a:[x] b:1]"),
        ("true", "true"),
    ] {
        let want = format!(
            "skip conditional anchor mismatch: resource value '{printed}' does not match 'q' at path /a/"
        );
        check("{(a): q}", &format!("{{a: {found}}}"), &want);
    }
    check(
        "{(a): {}}",
        "{a: 5}",
        "skip conditional anchor mismatch: pattern and resource have different structures. Path: /a/. Expected map[string]interface {}, found float64",
    );
}
