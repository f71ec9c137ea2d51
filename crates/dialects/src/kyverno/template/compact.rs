//! A value as text inside other text: a string as it is, anything else as Go writes JSON.
//!
//! Go sorts keys, and writes `<`, `>` and `&` so that a browser cannot take them for HTML.

use std::fmt::Write as _;

use kubewright_value::{Text, Value, json};

/// Returns `value` as it stands inside a text.
pub(in super::super) fn text_of(value: &Value) -> Text {
    match value {
        Value::String(text) => text.clone(),
        value => {
            let mut out = String::new();
            write(&mut out, value);
            out.into()
        }
    }
}

/// Appends `value` as JSON.
fn write(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, item)) in map.sorted().into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                string(out, key);
                out.push(':');
                write(out, item);
            }
            out.push('}');
        }
        Value::String(text) => string(out, text),
        scalar => json::write(out, scalar),
    }
}

fn string(out: &mut String, text: &str) {
    let plain = json::quote(text);
    if !plain.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        out.push_str(&plain);
        return;
    }
    for character in plain.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            character => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(value: &str, want: &str) {
        assert_eq!(text_of(&json::parse(value).expect("JSON")), want);
    }

    #[test]
    fn values_inside_a_text_are_written_as_go_writes_them() {
        shows(r#""a <b>""#, "a <b>");
        shows(r#"{"b": [1, 2.0, 1e30], "a": null}"#, r#"{"a":null,"b":[1,2,1e+30]}"#);
        shows(r#"["<&>\n\""]"#, r#"["\u003c\u0026\u003e\n\""]"#);
        shows("true", "true");
    }
}
