//! Comparing a text with several in CEL.

use kubewright_golib::glob::has_wildcard;

use super::expressions::{matches_pattern, string_literal};

/// Returns a test whether the text `subject` is one of `patterns`, which may have wildcards.
pub(super) fn is_one_of<'t>(subject: &str, patterns: impl IntoIterator<Item = &'t str>) -> String {
    let (wild, plain): (Vec<&str>, Vec<&str>) =
        patterns.into_iter().partition(|pattern| has_wildcard(pattern));
    let mut tests: Vec<String> = Vec::new();
    match plain.as_slice() {
        [] => {}
        [one] => tests.push(format!("{subject} == {}", string_literal(one))),
        many => {
            let list: Vec<String> = many.iter().map(|text| string_literal(text)).collect();
            tests.push(format!("{subject} in [{}]", list.join(", ")));
        }
    }
    tests.extend(wild.iter().map(|pattern| matches_pattern(subject, pattern)));
    any_test(&tests)
}

/// Returns the tests, one of which must hold.
pub(super) fn any_test(tests: &[String]) -> String {
    join_tests(tests, "||")
}

/// Returns the tests, all of which must hold.
pub(super) fn all_tests(tests: &[String]) -> String {
    join_tests(tests, "&&")
}

fn join_tests(tests: &[String], operator: &str) -> String {
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
