//! Whether a rule can read the clock.
//!
//! Some languages say so when they compile a rule. For the others it is found in the text of the rule, and in doubt the
//! answer is yes: an object is then judged more often than necessary.

use kubewright_value::Value;

/// What the functions of time, chance and tokens have in their names or calls in the rule languages.
const CLOCK_WORDS: &[&str] = &["time_now", "time.now", "now(", "random(", "jwt."];

/// Returns whether the rule document `document` names a function of time or chance.
pub(crate) fn names_clock(document: &Value) -> bool {
    match document {
        Value::String(text) => CLOCK_WORDS.iter().any(|word| text.contains(word)),
        Value::Array(items) => items.iter().any(names_clock),
        Value::Object(map) => map.iter().any(|(_, value)| names_clock(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
