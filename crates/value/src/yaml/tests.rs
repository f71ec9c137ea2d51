//! The expected values are what Go's reader gives for the same text.

use super::*;
use crate::source::position_count;
use crate::{Step, json};

mod hostile;
mod position;
mod writing;

/// Parses `text` and compares it with `want`, which is JSON or, for an error, `!`.
#[track_caller]
fn means(text: &str, want: &str) {
    let got = parse(text).map_or_else(|_| "!".to_owned(), |value| json::to_string(&value));
    assert_eq!(got, want, "for {text:?}");
    let full = parse_fully(text).map_or_else(|_| "!".to_owned(), |value| json::to_string(&value));
    assert_eq!(full, want, "for {text:?} by the full parser");
}

#[track_caller]
fn refused(text: &str, kind: ParseProblemKind, want: &str) {
    let error = parse(text).expect_err(text);
    assert_eq!((error.kind, error.to_string()), (kind, want.to_owned()), "for {text:?}");
}

#[test]
fn words_are_booleans_and_null_in_their_case_forms() {
    for text in ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"] {
        means(text, "true");
    }
    for text in ["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"] {
        means(text, "false");
    }
    for text in ["", "~", "null", "Null", "NULL", "# only a comment", "---", "--- # nothing\n"] {
        means(text, "null");
    }
    for text in ["yEs", "nULL", "tRUE", "oN", "nope", "yesterday"] {
        means(text, &format!("\"{text}\""));
    }
}

#[test]
fn numbers_are_read_as_go_reads_them() {
    for (text, want) in [
        ("0", "0"),
        ("00", "0"),
        ("-0", "0"),
        ("+5", "5"),
        ("-5", "-5"),
        ("8080", "8080"),
        ("0777", "511"),
        ("0o777", "511"),
        ("0O17", "15"),
        ("08", "8"),
        ("012345678", "12345678"),
        ("0x1F", "31"),
        ("0XfF", "255"),
        ("0b11", "3"),
        ("0b-11", "-3"),
        ("0b+11", "3"),
        ("-0x10", "-16"),
        ("1_000", "1000"),
        ("1__0_", "10"),
        ("0_7", "7"),
        ("1.0", "1"),
        ("5.", "5"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1.5e-3", "0.0015"),
        ("1.e2", "100"),
        ("0.1_0", "0.1"),
        (".5_0", "0.5"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("-0.0", "-0"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("12345678901234567890", "12345678901234567890"),
        ("18446744073709551616", "18446744073709552000"),
        ("9223372036854774784.0", "9223372036854775000"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("-9223372036854775809", "-9223372036854776000"),
    ] {
        means(text, want);
    }
}

#[test]
fn what_only_looks_like_a_number_stays_text() {
    for text in [
        "1:30",
        "190:20:30",
        "2001-01-01",
        "2020-01-01T00:00:00Z",
        "100m",
        "1,000",
        "0x",
        "0b",
        "0o8",
        "0xg",
        "1e400",
        "._5",
        "_1",
        "1.2.3",
        "+",
        "--",
        "1e",
        ".",
        "..",
        "+-5",
        "0b12",
    ] {
        means(text, &format!("\"{text}\""));
    }
    for text in [".inf", "-.inf", "+.Inf", ".nan", ".NaN"] {
        means(text, "!");
    }
}

#[test]
fn keys_become_text() {
    means("y: 1", r#"{"true":1}"#);
    means("off: 1", r#"{"false":1}"#);
    means("0x10: a", r#"{"16":"a"}"#);
    means("1.5: a\n1.0: b\n1e30: c\n1234567.0: d", r#"{"1.5":"a","1":"b","1e+30":"c","1.234567e+06":"d"}"#);
    means("1e-5: a\n0.0001: b\n123456789.5: c", r#"{"1e-05":"a","0.0001":"b","1.2345679e+08":"c"}"#);
    means(".inf: a", r#"{".inf":"a"}"#);
    means("\"1\": a\n2001-01-01: b", r#"{"1":"a","2001-01-01":"b"}"#);
    means("? a", r#"{"a":null}"#);
    for text in
        ["~: 1", "null: 1", ": 1", "? \n: 1", "18446744073709551615: 1", "? [a]\n: 1", "? {a: 1}\n: 2"]
    {
        means(text, "!");
    }
}

#[test]
fn tags_decide_and_unknown_ones_make_text() {
    means("!!str 5", "\"5\"");
    means("!!str", "\"\"");
    means("!!int \"5\"", "5");
    means("!!float 5", "5");
    means("!!bool yes", "true");
    means("!!null ''", "null");
    means("! 5", "\"5\"");
    means("!foo 1", "\"1\"");
    means("!<tag:yaml.org,2002:int> 5", "5");
    means("!!timestamp 2001-1-1", "\"2001-1-1\"");
    means("!!timestamp 2001-12-14t21:59:43.10-05:00", "\"2001-12-14t21:59:43.10-05:00\"");
    means("a: !!binary aGk=", r#"{"a":"hi"}"#);
    means("a: !!binary gIE=", "{\"a\":\"\u{fffd}\u{fffd}\"}");
    means("!!map {a: 1}", r#"{"a":1}"#);
    means("%TAG !e! tag:yaml.org,2002:\n--- !e!int 5", "5");
    for text in
        ["!!int x", "!!bool 1", "!!null x", "!!float x", "!!timestamp x", "!!binary @", "!e!x 1", "!!int 1.5"]
    {
        means(text, "!");
    }
}

#[test]
fn anchors_aliases_and_merges_are_followed() {
    means("a: &x 1\nb: *x", r#"{"a":1,"b":1}"#);
    means("a: &x {b: [1]}\nc: *x\nd: *x", r#"{"a":{"b":[1]},"c":{"b":[1]},"d":{"b":[1]}}"#);
    means("&k a: *k", r#"{"a":"a"}"#);
    means("a: &x b\n*x : 1", r#"{"a":"b","b":1}"#);
    means("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3", r#"{"a":{"p":1,"q":2},"b":{"p":1,"q":3}}"#);
    // As Go does it: a merge after a key replaces it.
    means("a: 1\n<<: {a: 2}", r#"{"a":2}"#);
    means("<<: [{a: 1}, {a: 2, b: 3}]", r#"{"a":1,"b":3}"#);
    means("'<<': {a: 1}", r#"{"<<":{"a":1}}"#);
    for text in ["*a", "a: *b\nb: &b 1", "&a [*a]", "<<: 5", "<<: [1]", "a: &x [{b: 1}]\n<<: *x"] {
        means(text, "!");
    }
}

#[test]
fn scalars_fold_and_chomp() {
    means(">\n  folded\n  text", "\"folded text\"");
    means("a: |\n  t\n", r#"{"a":"t\n"}"#);
    means("|-\n  x", "\"x\"");
    means("a: |+\n  x\n\n\nb: 1", r#"{"a":"x\n\n\n","b":1}"#);
    means("a: |1\n  x", r#"{"a":" x"}"#);
    means("a: >-\n   x\n\n\n   y\n    z\n   w\n", r#"{"a":"x\n\ny\n z\nw"}"#);
    means("a: >\n\n  x\n y\n", "!");
    means("a: 'x\n  y'", r#"{"a":"x y"}"#);
    means("x: \"a\\\n  b\"", r#"{"x":"ab"}"#);
    means("\"\\x41\\u00e9\\U0001f600\\n\\0\\_\"", "\"Aé😀\\n\\u0000\u{a0}\"");
    means("a b\n c\n\n d", r#""a b c\nd""#);
    means("'it''s'", r#""it's""#);
    means("a: \"x # y\" # z", r#"{"a":"x # y"}"#);
    for text in ["\"\\q\"", "\"\\xg0\"", "\"\\ud800\"", "'x", "\"x", "a: |0\n x", "a: |x\n  y", "a: |\n\tx"] {
        means(text, "!");
    }
}

#[test]
fn odd_texts_mean_what_go_makes_of_them() {
    means("a:\tb", r#"{"a":"b"}"#);
    means("{a:}", r#"{"a:":null}"#);
    means("[-]", r#"["-"]"#);
    means("- -\n-", "[[null],null]");
    means("[a: b, c]", r#"[{"a":"b"},"c"]"#);
    means("{a, b: c}", r#"{"a":null,"b":"c"}"#);
    means("a:\n- b\n- c", r#"{"a":["b","c"]}"#);
    means("nginx:1.2", "\"nginx:1.2\"");
    means("--- 5", "5");
    means("5\n--- 6", "5");
    means("a: 1\n...\nb: 2", r#"{"a":1}"#);
    means("\"a\" b", "\"a\"");
    means("[1] 2", "[1]");
    means("[]: x", "[]");
    means("%YAML 1.1\n---\na: 1", r#"{"a":1}"#);
    means("\u{feff}a: 1", r#"{"a":1}"#);
    means("a: 1\r\nb: |\r\n  x\r\n", r#"{"a":1,"b":"x\n"}"#);
    for text in [
        "{",
        "[1",
        "@x",
        "%x",
        "`x",
        "\ta: b",
        "a: b\n\tc",
        "a:\n\t- b",
        "a:\n  - b\n  -c",
        "a: b: c",
        "[a?b]",
        "[1] @",
        "a: - b",
        "a\u{2028}b: 1",
        "%YAML 1.2\n--- 5",
        "a: 1\n b: 2",
        "- a\nb: 1",
        "a: [1\nb: 2",
        "]",
        "}",
    ] {
        means(text, "!");
    }
}

#[test]
fn errors_say_what_was_found_and_where() {
    refused("{", ParseProblemKind::Syntax, "found the end, expected a key at 1:2");
    refused(
        "a: b: c",
        ParseProblemKind::Syntax,
        "`:` cannot stand here; a text with `: ` in it needs quotes at 1:5",
    );
    refused("a: 1\n@", ParseProblemKind::Syntax, "found `@`, which cannot start a value at 2:1");
    refused("*a", ParseProblemKind::Syntax, "unknown anchor `a` at 1:1");
    refused("~: 1", ParseProblemKind::Key, "null cannot be a key at 1:1");
    refused(".inf", ParseProblemKind::Number, "JSON has no number for `.inf` at 1:1");
    refused("!!int x", ParseProblemKind::Tag, "`x` does not fit the tag `!!int` at 1:7");
    refused("a: \u{1}", ParseProblemKind::ControlCharacter, "control character 0x01 at 1:4");
}
