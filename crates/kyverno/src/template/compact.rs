//! A value as text inside other text: a string as it is, anything else as Go writes JSON.
//!
//! Go sorts keys, and writes `<`, `>` and `&` so that a browser cannot take them for HTML.

use kubewright_golib::json as gojson;
use kubewright_value::bounded::BoundedText;
use kubewright_value::{Budget, Exhausted, Text, Value};

/// Returns `value` as text to be inserted into a text. Only a value that is not a string is converted, and charged for.
///
/// # Errors
/// When the budget is used up.
pub(in super::super) fn compact_text(value: &Value, budget: &mut Budget) -> Result<Text, Exhausted> {
    match value {
        Value::String(text) => Ok(text.clone()),
        value => {
            let mut out = BoundedText::new(budget);
            gojson::write_go_json(&mut out, value)?;
            Ok(out.into_string().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    #[track_caller]
    fn shows(value: &str, want: &str) {
        let text = compact_text(&json::parse(value).expect("JSON"), &mut Budget::default());
        assert_eq!(text.as_deref(), Ok(want));
    }

    #[test]
    fn values_inside_a_text_are_written_as_go_writes_them() {
        shows(r#""a <b>""#, "a <b>");
        shows(r#"{"b": [1, 2.0, 1e30], "a": null}"#, r#"{"a":null,"b":[1,2,1e+30]}"#);
        shows(r#"["<&>\n\""]"#, r#"["\u003c\u0026\u003e\n\""]"#);
        shows("true", "true");
    }
}
