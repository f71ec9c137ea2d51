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
        language: "cel",
        name: "time zones long ago",
        reason: "years before the rules of a zone are an error; Go takes the local mean time of its city",
        applies: |_, ours, theirs| is_error_with(ours, "the rules of time zone") && is_value(theirs),
    },
    KnownDifference {
        language: "cel",
        name: "regular expressions that are not needed",
        reason: "checked also where nothing is to be replaced",
        applies: |_, ours, theirs| is_error_with(ours, "invalid regex") && is_value(theirs),
    },
    KnownDifference {
        language: "cel_checked",
        name: "time zones long ago",
        reason: "years before the rules of a zone are an error; Go takes the local mean time of its city",
        applies: |_, ours, theirs| is_error_with(ours, "the rules of time zone") && is_value(theirs),
    },
    KnownDifference {
        language: "cel_checked",
        name: "regular expressions that are not needed",
        reason: "checked also where nothing is to be replaced",
        applies: |_, ours, theirs| is_error_with(ours, "invalid regex") && is_value(theirs),
    },
    KnownDifference {
        language: "gotemplate",
        name: "type of the context",
        reason: "`.` has the name that its type has in KubeMod, which the reference cannot give it",
        applies: |question, ours, _| is_text_with(ours, "template.Context") || question.text.contains("%#v"),
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
        name: "rare flags of verbs",
        reason: "`#` under a verb that does not fit, a precision of `%x` for doubles, and `%w` are not followed",
        applies: |question, ours, theirs| {
            let is_rare = ["%#", "%.", "%w"].iter().any(|flag| question.text.contains(flag));
            is_rare && question.text.contains("printf") && is_value(ours) && is_value(theirs)
        },
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
        name: "unknown operators of versions",
        reason: "an error; Kyverno's library drops what stands before a version where an x is in it",
        applies: |_, ours, theirs| is_error_with(ours, "in a range, expected") && is_value(theirs),
    },
    KnownDifference {
        language: "jmespath",
        name: "references as values",
        reason: "`&` is an argument of a function and nothing else, as the specification says",
        applies: |_, ours, theirs| {
            let is_reference = ["`&` is only allowed", "must be a value, not an expression"];
            is_reference.iter().any(|part| is_error_with(ours, part)) && is_value(theirs)
        },
    },
    KnownDifference {
        language: "jmespath",
        name: "backslashes in raw strings",
        reason: "two backslashes are two, as the suite of JMESPath wants it; for go-jmespath the second escapes the quote",
        applies: |question, ours, theirs| {
            is_value(ours) && is_error_with(theirs, "Unclosed delimiter") && question.text.contains(r"\\")
        },
    },
    KnownDifference {
        language: "jmespath",
        name: "order of keys",
        reason: "the values of an object have no order in Go, and that of the object here",
        applies: |question, ours, theirs| is_value(ours) && is_value(theirs) && has_unordered(&question.text),
    },
    KnownDifference {
        language: "jsonpath",
        name: "comparisons and integers",
        reason: "null is less than, greater than and equal to no number, text or boolean, and integers stay integers",
        applies: |question, ours, theirs| {
            let is_false = matches!(ours, ComparedAnswer::Value(Value::Bool(false)));
            let is_about_null = (is_false && question.text.contains("=="))
                || is_error_with(ours, "cannot be used on null")
                || question.text.contains("!=")
                || has_long_integer(&question.text);
            !matches!(ours, ComparedAnswer::Unknown) && is_value(theirs) && is_about_null
        },
    },
    KnownDifference {
        language: "jsonpath",
        name: "truth",
        reason: "`&&`, `||` and `!` need booleans, as KubeMod documents it; gval converts",
        applies: |question, ours, theirs| {
            // In a filter, an error leaves the element out.
            let is_in_filter =
                question.text.contains("[?") && ["&&", "||"].iter().any(|sign| question.text.contains(sign));
            let is_ours = is_error_with(ours, "expected boolean") || (is_in_filter && is_value(ours));
            is_ours && is_value(theirs)
        },
    },
    KnownDifference {
        language: "jsonpath",
        name: "what only the reader sees",
        reason: "commas, comments, functions and arguments are checked when the rule is read",
        applies: |_, ours, theirs| {
            ["expected", "comment is not closed", "unknown function", "needs parentheses"]
                .iter()
                .any(|part| is_error_with(ours, part))
                && is_value(theirs)
        },
    },
    KnownDifference {
        language: "jsonpath",
        name: "constants, `!==`, quotes and the current element",
        reason: "constants are computed when they are reached, `===` and `!==` are operators, texts may have single quotes, and `@` outside of a filter is undefined",
        applies: |_, _, theirs| {
            is_error_with(theirs, "parsing error") || is_error_with(theirs, "unsupported value type <nil>")
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
        name: "lenient reader",
        reason: "commas, slices and calls are written as the specification says; go-jmespath also reads less",
        applies: |_, ours, theirs| {
            let is_stricter =
                ["expected `,`", "expected an expression", "expected `]`", "only a name can be called"];
            is_stricter.iter().any(|part| is_error_with(ours, part)) && is_value(theirs)
        },
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

/// Returns whether a text has an integer that a double cannot hold.
fn has_long_integer(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 15)
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

#[cfg(test)]
mod tests {
    use super::KNOWN_DIFFERENCES;

    #[test]
    fn the_page_lists_the_known_differences() {
        const PAGE: &str = include_str!("../../../docs/conformance.md");
        let listed = PAGE
            .split_once("<!-- known differences -->")
            .and_then(|(_, rest)| rest.split_once("<!-- end of known differences -->"))
            .map_or("", |(table, _)| table);
        let escaped = |text: &str| text.replace('|', "\\|");
        let rows: String = KNOWN_DIFFERENCES
            .iter()
            .map(|known| {
                format!("| {} | {} | {} |\n", known.language, escaped(known.name), escaped(known.reason))
            })
            .collect();
        let expected = format!("| language | difference | why it stays |\n|---|---|---|\n{rows}");
        assert_eq!(listed.trim(), expected.trim());
    }
}
