//! The writer.

use super::*;

/// Writes the JSON `value` and compares; then reads it back.
#[track_caller]
fn written(value: &str, want: &str) {
    let value = json::parse(value).expect("json");
    assert_eq!(write(&value), want);
    assert_eq!(parse(want), Ok(value));
}

#[test]
fn objects_look_as_kubectl_prints_them() {
    written(
        r#"{"kind":"Pod","spec":{"containers":[{"name":"a","args":["-x","y z"],"env":[]}],"volumes":{}},"ok":true,"no":null}"#,
        "kind: Pod\nspec:\n  containers:\n  - name: a\n    args:\n    - -x\n    - y z\n    env: []\n  volumes: {}\nok: true\n\"no\": null\n",
    );
    written("[[1,[2]],{\"a\":1}]", "- - 1\n  - - 2\n- a: 1\n");
}

#[test]
fn strings_are_quoted_only_when_they_must_be() {
    for text in [
        "a",
        "a b",
        "nginx:1.2",
        "1:80",
        "8080:80",
        "10.0.0.1:80",
        "2001-01",
        "2001-01-01a",
        "v2001-01-01",
        "a#b",
        "-x",
        "?x",
        ":x",
        "x: ",
        "é",
        "100m",
        "a'b",
        "http://x",
    ] {
        let plain = !text.ends_with(' ');
        let want = if plain { format!("{text}\n") } else { format!("'{text}'\n") };
        written(&json::quote(text), &want);
    }
    for text in [
        "",
        "yes",
        "1.0",
        "0777",
        "null",
        "~",
        "0x1F",
        ".inf",
        "1_000",
        "<<",
        "=",
        "1:30",
        "-12:30:45.5",
        "190:20:30",
        "2001-01-01",
        "2001-1-1 2:03:04 -5",
        "2001-01-01T02:03:04.5Z",
    ] {
        written(&json::quote(text), &format!("\"{text}\"\n"));
    }
    for text in [
        "*", "&a", "!x", "- a", "-", "? a", "a: b", "a:", "a #b", "#a", " a", "a ", "---", "...", "@", "`",
        "%", "[a", "{a", ",",
    ] {
        written(&json::quote(text), &format!("'{text}'\n"));
    }
    written(r#""'""#, "''''\n");
    written(r#""a\tb\u0001\u0085\u2028\ufeff""#, "\"a\\tb\\u0001\\u0085\\u2028\\ufeff\"\n");
    written("\"a\u{202e}b\u{2066}\"", "\"a\\u202eb\\u2066\"\n");
}

#[test]
fn several_lines_become_a_block() {
    written(
        r#"{"a":"x\ny\n","b":"x\ny","c":"x\n\n","d":" x\ny"}"#,
        "a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: \" x\\ny\"\n",
    );
    written(r#"["a\n  b\n\tc"]"#, "- |-\n  a\n    b\n  \tc\n");
}

#[test]
fn long_keys_are_read_back() {
    let key = "k".repeat(2000);
    written(
        &format!("{{\"{key}\":[1],\"a\":{{\"{key}\":\"x\\ny\"}}}}"),
        &format!("? {key}\n:\n- 1\na:\n  ? {key}\n  : |-\n    x\n    y\n"),
    );
}
