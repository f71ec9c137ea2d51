use super::*;

/// Compares the output for `text` with that of Go's `yaml.v3`.
#[track_caller]
fn written(text: &str, want: &str) {
    let mut out = String::new();
    write_yaml_value(&mut out, text);
    assert_eq!(out, format!("{want}\n"), "{text:?}");
}

#[test]
fn a_message_is_written_as_the_original_does() {
    written(
        "validation error: no. rule r failed at path /spec/",
        "'validation error: no. rule r failed at path /spec/'",
    );
    written("plain words", "plain words");
    written("", "\"\"");
    written("a 'b': c", "'a ''b'': c'");
    for quoted in [
        "yes",
        "null",
        "~",
        "1",
        "1.5",
        "0x1f",
        "2024-01-01",
        "12:30:45",
        "true",
        "True",
        "on",
        "y",
        "false",
        "FALSE",
        "1e3",
    ] {
        written(quoted, &format!("\"{quoted}\""));
    }
    for quoted in ["0o17", "+.inf", ".nan", "1_000", "0b11"] {
        written(quoted, &format!("\"{quoted}\""));
    }
    for plain in
        ["é ü", "x#y", "-a", "?a", ":a", "=", "<<", "a\\b", "x  y", "_1", "a\u{a0}b", "falsehood", "no-null"]
    {
        written(plain, plain);
    }
    for single in [
        "x #y", "- a", "? a", "a:", "a: b", "{a}", "[a]", "@a", "%a", "`a", "|a", ">a", "!a", "&a", "*a",
        "#a", "---a", "...", "\"q\"", "  ",
    ] {
        written(single, &format!("'{single}'"));
    }
}

#[test]
fn a_message_of_several_lines_is_a_block() {
    written("a\nb", "|-\n    a\n    b");
    written("a\nb\n", "|\n    a\n    b");
    written("a\n\n", "|+\n    a\n");
    written(" a\nb", "|2-\n     a\n    b");
    written("\na", "|2-\n\n    a");
    written("a\tb\nc", "|-\n    a\tb\n    c");
    written("a\n  b", "|-\n    a\n      b");
    written("a \nb", "\"a \\nb\"");
    written("a\nb ", "\"a\\nb \"");
}

#[test]
fn what_cannot_be_seen_is_escaped() {
    written("a\tb", "\"a\\tb\"");
    written("tab\r", "\"tab\\r\"");
    written("😀", "\"\\U0001F600\"");
    written("\0", "\"\\0\"");
    written("a\\b: \u{7}", "\"a\\\\b: \\a\"");
    written("a\u{85}b", "\"a\\Nb\"");
}

#[test]
fn keys_are_sorted_as_the_original_sorts_them() {
    let mut keys = ["r2", "r10", "a", "R", "r-1", "r1", "p10", "p9", "a: b", "r01", "r1a", "r1-"];
    keys.sort_by(|one, other| compare_naturally(one, other));
    assert_eq!(keys, ["R", "a", "a: b", "p9", "p10", "r-1", "r1", "r1a", "r1-", "r01", "r2", "r10"]);
}
