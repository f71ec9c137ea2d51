//! The differences that are known, each with the reason why it stays.

use kubewright_value::{Value, json};

use super::{ComparedAnswer, ComparedQuestion};

/// A difference that stays.
pub struct KnownDifference {
    /// The language.
    pub language: &'static str,
    /// What it is about.
    pub name: &'static str,
    /// Why our answer stays.
    pub reason: &'static str,
    /// Returns whether this is why our answer (the second) differs from that of the original program (the third).
    applies: fn(&ComparedQuestion, &ComparedAnswer, &ComparedAnswer) -> bool,
}

/// All known differences.
pub const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        language: "cel",
        name: "unknown functions",
        reason: "without types, a function is looked for when it is called; cel-go finds methods also as functions",
        applies: |_, ours, theirs| {
            is_error_with(theirs, "compile: no such overload")
                || (is_error_with(ours, "unknown function") && is_value(theirs))
        },
    },
    KnownDifference {
        language: "cel",
        name: "positions behind the end of a text",
        reason: "an error, as CEL's conformance suite wants it; cel-go 0.30 finds nothing there",
        applies: |_, ours, theirs| is_error_with(ours, "index out of range") && is_value(theirs),
    },
    KnownDifference {
        language: "cel_checked",
        name: "positions behind the end of a text",
        reason: "an error, as CEL's conformance suite wants it; cel-go 0.30 finds nothing there",
        applies: |_, ours, theirs| is_error_with(ours, "index out of range") && is_value(theirs),
    },
    KnownDifference {
        language: "gotemplate",
        name: "type of the context",
        reason: "`.` has the name that its type has in KubeMod, which the reference cannot give it",
        applies: |_, ours, _| is_text_with(ours, "template.Context"),
    },
    KnownDifference {
        language: "gotemplate",
        name: "dates that are none",
        reason: "Sprig takes the current time instead, and a rule must not depend on it",
        applies: |_, ours, _| is_error_with(ours, "the current time is not used instead"),
    },
    KnownDifference {
        language: "gotemplate",
        name: "dates under verbs of other types",
        reason: "Go shows the private fields of a date, one of them an address in memory",
        applies: |_, ours, _| is_text_with(ours, "(time.Time="),
    },
    KnownDifference {
        language: "gotemplate",
        name: "order of keys",
        reason: "the keys of a map have no order in Go, and that of the object here",
        applies: |question, _, _| ["keys", "values"].iter().any(|name| question.text.contains(name)),
    },
    KnownDifference {
        language: "jmespath",
        name: "panics",
        reason: "Kyverno panics; here the argument has the wrong type, or the path ends before it",
        applies: |_, _, theirs| is_error_with(theirs, "panic: "),
    },
    KnownDifference {
        language: "jmespath",
        name: "number of arguments",
        reason: "checked when the rule is read, and not only when the expression gets there",
        applies: |_, ours, theirs| is_error_with(ours, "` takes ") && is_value(theirs),
    },
    KnownDifference {
        language: "jmespath",
        name: "references as values",
        reason: "`&` is an argument of a function and nothing else, as the specification says",
        applies: |_, ours, theirs| is_error_with(ours, "`&` is only allowed") && is_value(theirs),
    },
    KnownDifference {
        language: "jmespath",
        name: "order of keys",
        reason: "the values of an object have no order in Go, and that of the object here",
        applies: |question, ours, theirs| is_value(ours) && is_value(theirs) && has_unordered(&question.text),
    },
    KnownDifference {
        language: "jsonpath",
        name: "truth",
        reason: "`&&`, `||` and `!` need booleans, as KubeMod documents it; gval converts",
        applies: |_, ours, theirs| is_error_with(ours, "expected boolean") && is_value(theirs),
    },
    KnownDifference {
        language: "jsonpath",
        name: "what only the reader sees",
        reason: "commas, comments, functions and arguments are checked when the rule is read",
        applies: |_, ours, theirs| {
            ["expected", "comment is not closed", "unknown function"]
                .iter()
                .any(|part| is_error_with(ours, part))
                && is_value(theirs)
        },
    },
    KnownDifference {
        language: "jsonpath",
        name: "constants and the current element",
        reason: "constants are computed when they are reached, and `@` outside of a filter is undefined",
        applies: |_, _, theirs| {
            is_error_with(theirs, "invalid operation")
                || is_error_with(theirs, "unsupported value type <nil>")
        },
    },
    KnownDifference {
        language: "jsonpath",
        name: "order of keys",
        reason: "the values of an object have no order in Go, and that of the object here",
        applies: |question, ours, theirs| is_value(ours) && is_value(theirs) && has_unordered(&question.text),
    },
    KnownDifference {
        language: "cel_checked",
        name: "types of elements",
        reason: "our checker knows that a value is a list or a map, and learns the types of its elements when it runs",
        applies: |_, ours, theirs| is_value(ours) && is_error_with(theirs, "compile: "),
    },
    KnownDifference {
        language: "jmespath",
        name: "missing commas",
        reason: "arguments and fields need a comma between them, as the specification says; go-jmespath does without",
        applies: |_, ours, theirs| is_error_with(ours, "expected `,`") && is_value(theirs),
    },
    KnownDifference {
        language: "jmespath",
        name: "unknown functions",
        reason: "a misspelt function is an error when the rule is read, and not only when the expression gets there",
        applies: |_, ours, theirs| is_error_with(ours, "unknown function") && is_value(theirs),
    },
    KnownDifference {
        language: "jmespath",
        name: "time and chance",
        reason: "the answer depends on the clock or on a random number",
        applies: |question, _, _| {
            ["time_now", "time_since", "random("].iter().any(|name| question.text.contains(name))
        },
    },
    KnownDifference {
        language: "jsonpath",
        name: "missing keys",
        reason: "a missing key is undefined, as KubeMod documents it; gval alone fails",
        applies: |_, _, theirs| is_error_with(theirs, "unknown key"),
    },
    KnownDifference {
        language: "jsonpath",
        name: "dates",
        reason: "a date is compared as the text that KubeMod makes of it",
        applies: |question, _, _| question.text.contains("date("),
    },
    KnownDifference {
        language: "kyverno_pattern",
        name: "wildcards in keys",
        reason: "Kyverno compares one of several keys that fit, at random; here any of them may satisfy the pattern",
        applies: |question, _, _| has_wild_label(&question.text),
    },
];

fn is_value(answer: &ComparedAnswer) -> bool {
    matches!(answer, ComparedAnswer::Value(_))
}

fn is_error_with(answer: &ComparedAnswer, part: &str) -> bool {
    matches!(answer, ComparedAnswer::Error(message) if message.contains(part))
}

fn is_text_with(answer: &ComparedAnswer, part: &str) -> bool {
    matches!(answer, ComparedAnswer::Value(Value::String(text)) if text.contains(part))
}

/// Returns whether an expression reads all values of an object.
fn has_unordered(text: &str) -> bool {
    ["*", "..", "keys(", "values(", "items("].iter().any(|part| text.contains(part))
}

fn has_wild_label(pattern: &str) -> bool {
    let pattern = json::parse(pattern).unwrap_or_default();
    ["labels", "annotations"].iter().any(|field| {
        let labels = pattern.at(&["metadata", field]).and_then(Value::as_object);
        labels.is_some_and(|labels| labels.keys().any(|key| key.contains(['*', '?'])))
    })
}

pub(super) fn find_known(
    language: &str,
    question: &ComparedQuestion,
    ours: &ComparedAnswer,
    theirs: &ComparedAnswer,
) -> Option<&'static KnownDifference> {
    KNOWN_DIFFERENCES
        .iter()
        .find(|known| known.language == language && (known.applies)(question, ours, theirs))
}
