//! Comparing a text with several in CEL.

use kubewright_golib::glob::has_wildcard;

use super::expressions::{fits, literal};

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
