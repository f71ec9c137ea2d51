//! Comparing texts in CEL: equality, wildcards, lists of them.

use kubewright_lang::glob::has_wildcard;

/// Returns `text` as a literal.
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other if other.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns whether the text that `subject` stands for is one of `patterns`, which may have wildcards in them.
pub(super) fn is_one_of<'t>(subject: &str, patterns: impl IntoIterator<Item = &'t str>) -> String {
    let (wild, plain): (Vec<&str>, Vec<&str>) =
        patterns.into_iter().partition(|pattern| has_wildcard(pattern));
    let mut tests: Vec<String> = Vec::new();
    match plain.as_slice() {
        [] => {}
        [one] => tests.push(format!("{subject} == {}", literal(one))),
        many => {
            let list: Vec<String> = many.iter().map(|text| literal(text)).collect();
            tests.push(format!("{subject} in [{}]", list.join(", ")));
        }
    }
    tests.extend(wild.iter().map(|pattern| fits(subject, pattern)));
    any(&tests)
}

/// Returns whether the text that `subject` stands for fits `pattern`.
pub(super) fn fits(subject: &str, pattern: &str) -> String {
    let without = |text: &str| !has_wildcard(text);
    let inner = pattern.trim_matches('*');
    let (before, after) = (pattern.starts_with('*'), pattern.ends_with('*'));
    match (inner, before, after) {
        _ if without(pattern) => format!("{subject} == {}", literal(pattern)),
        ("", ..) => "true".to_owned(),
        ("?", before, after) if before || after => format!("{subject} != \"\""),
        (inner, false, true) if without(inner) => format!("{subject}.startsWith({})", literal(inner)),
        (inner, true, false) if without(inner) => format!("{subject}.endsWith({})", literal(inner)),
        (inner, true, true) if without(inner) => format!("{subject}.contains({})", literal(inner)),
        _ => format!("{subject}.matches({})", literal(&expression(pattern))),
    }
}

/// Returns the tests, one of which must hold.
pub(super) fn any(tests: &[String]) -> String {
    joined(tests, "||")
}

/// Returns the tests, all of which must hold.
pub(super) fn all(tests: &[String]) -> String {
    joined(tests, "&&")
}

fn joined(tests: &[String], operator: &str) -> String {
    if let [one] = tests {
        return one.clone();
    }
    let other = if operator == "||" { "&&" } else { "||" };
    let bracketed = tests.iter().map(|test| match test.contains(other) || test.contains('?') {
        true => format!("({test})"),
        false => test.clone(),
    });
    bracketed.collect::<Vec<_>>().join(&format!(" {operator} "))
}

/// Returns wildcards as a regular expression.
fn expression(pattern: &str) -> String {
    let mut expression = String::from("(?s)^");
    for character in pattern.chars() {
        match character {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            special if special.is_ascii_punctuation() && !"-_/:@".contains(special) => {
                expression.push('\\');
                expression.push(special);
            }
            plain => expression.push(plain),
        }
    }
    expression.push('$');
    expression
}
