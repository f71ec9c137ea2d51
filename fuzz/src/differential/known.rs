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
