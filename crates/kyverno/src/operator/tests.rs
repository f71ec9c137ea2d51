use kubewright_value::{Value, yaml};

use super::*;
use crate::tainted::{Tainted, TaintedPart};

/// Reads YAML in which a text behind `~` is not the author's.
fn mixed(text: &str) -> Tainted {
    let (text, wrap): (_, fn(Value) -> Tainted) = match text.strip_prefix('~') {
        Some(text) => (text, Tainted::Untrusted),
        None => (text, Tainted::Trusted),
    };
    wrap(yaml::parse(text).expect("YAML"))
}

/// Evaluates `operator` on the two values, read once and read as they come, which must not differ.
fn outcome(key: &str, operator: &str, value: &str) -> bool {
    let (key, value) = (mixed(key), mixed(value));
    let operator = ConditionOperator::named(operator).expect("an operator");
    let mut budget = Budget::default();
    let compiled =
        operator.holds(&ComparedOperand::compile(&key), &ComparedOperand::compile(&value), &mut budget);
    let once = operator.holds(&ComparedOperand::of(key), &ComparedOperand::of(value), &mut budget);
    assert_eq!(compiled, once);
    compiled.expect("a budget")
}

/// Each line is `key | operator | value`, with `!` in front when it is false.
#[track_caller]
fn check(cases: &[&str]) {
    for case in cases {
        let (want, rest) = case.strip_prefix('!').map_or((true, *case), |rest| (false, rest));
        let parts: Vec<&str> = rest.split(" | ").map(str::trim).collect();
        let [key, operator, value] = parts.as_slice() else { panic!("not three parts: {case}") };
        assert_eq!(outcome(key, operator, value), want, "{case}");
    }
}

#[test]
fn equals_compares_by_the_type_of_the_key() {
    check(&[
        "true | Equals | true",
        "!true | Equals | 'true'",
        "!'true' | Equals | true",
        "1 | Equals | 1.0",
        "1 | Equals | '1'",
        "5 | Equals | '5.0'",
        "!'1' | Equals | 1",
        "!3600 | Equals | 1h",
        "1h | Equals | 3600",
        "1h | Equals | 60m",
        "!1h | Equals | abc",
        "'1' | Equals | '1.0'",
        "1Gi | Equals | 1024Mi",
        "!1Gi | Equals | abc",
        "!'5' | Equals | '*'",
        "x | Equals | '*'",
        "!x* | Equals | xy",
        "[1, 2] | Equals | [1, 2]",
        "![1, 2] | Equals | [2, 1]",
        "{a: 1, b: 2} | Equals | {b: 2, a: 1}",
        "!null | Equals | null",
        "!'' | Equals | null",
        "'' | Equals | ''",
    ]);
}

#[test]
fn not_equals_is_the_opposite_but_for_null() {
    check(&[
        "!null | NotEquals | x",
        "x | NotEquals | null",
        "1Gi | NotEquals | abc",
        "1 | NotEquals | x",
        "!a | NotEqual | a",
        "[1] | NotEquals | a",
    ]);
}

#[test]
fn scalars_are_looked_for_as_texts() {
    check(&[
        "a | AnyIn | [a, b]",
        "1000000 | AnyIn | [1000000]",
        "1000000 | AnyIn | ['1000000']",
        "1234567.5 | AnyIn | ['1234567.5']",
        "a1 | AnyIn | [a*]",
        "a* | AnyIn | [a1]",
        "!a | AnyNotIn | [a*]",
        "!5 | AnyIn | 5",
        "!x | AnyNotIn | 5",
        "!x | AnyIn | {a: 1}",
        "a | AllIn | a",
        "ab | AllIn | a*",
        "!a* | AllIn | ab",
        "5 | AnyIn | 1-10",
        "!11 | AnyIn | 1-10",
        "x | AnyNotIn | 1-10",
        "90m | AnyIn | 1h-2h",
        "1.5Gi | AnyIn | 1Gi-2Gi",
        "-3 | AnyIn | -5--1",
        "a | AnyIn | '[\"a\",\"b\"]'",
        "c | AnyNotIn | '[\"a\",\"b\"]'",
        "!x | AnyNotIn | '{\"b\":1}'",
        "!x | AnyIn | '{\"b\":1}'",
        "true | AnyIn | [true]",
        "!null | AnyNotIn | [a]",
        "!{a: 1} | AnyNotIn | [a]",
    ]);
}

#[test]
fn lists_are_looked_for_item_by_item() {
    check(&[
        "[a, b] | AnyIn | [b, c]",
        "![a, b] | AllIn | [b, c]",
        "[a, b] | AnyNotIn | [b, c]",
        "![a, b] | AllNotIn | [b, c]",
        "[a1, a2] | AllIn | [a*]",
        "[5] | AnyIn | 5",
        "![5] | AllIn | 5",
        "![5] | AllNotIn | 6",
        "[5] | AnyNotIn | 6",
        "[] | AllIn | [a]",
        "[] | AllNotIn | [a]",
        "![] | AnyIn | [a]",
        "![] | AnyNotIn | [a]",
        "[1, 20] | AnyIn | 1-10",
        "[1, 20] | AnyNotIn | 1-10",
        "![1, 20] | AllIn | 1-10",
        "![1, 20] | AllNotIn | 1-10",
        "![x] | AnyNotIn | 1-10",
        "[x] | AllNotIn | 1-10",
        "[-20] | AnyNotIn | -10--8",
        "[kube-system] | AllIn | kube-*",
        "[a] | AllIn | '[\"a\"]'",
        "[a] | AnyIn | [a, b, c, d, e, f, g, h, i, j, k]",
        "[j*] | AnyIn | [a, b, c, d, e, f, g, h, i, jj, k]",
        "[{a: 1}] | AnyIn | [{a: 1}]",
    ]);
}

#[test]
fn the_older_in_is_exact_for_lists() {
    check(&[
        "a | In | [a, b]",
        "a | In | [a*]",
        "!5 | In | 1-10",
        "!a | NotIn | b",
        "[1, 2] | In | [1, 2]",
        "![1, 3] | In | [1, 2]",
        "[1, 3] | NotIn | [1, 2]",
        "[a] | In | [a, b]",
        "![a1] | In | [a*]",
        "![a] | In | [1]",
        "![a] | NotIn | [1]",
        "[a] | In | a",
    ]);
}

#[test]
fn comparison_takes_what_both_sides_are() {
    check(&[
        "5 | GreaterThan | 3",
        "'5' | GreaterThan | 3",
        "5 | GreaterThan | '3'",
        "!1Gi | GreaterThan | 1000",
        "1Gi | GreaterThan | 1000Mi",
        "100m | LessThan | '1'",
        "1m | GreaterThan | '0'",
        "1.5.0 | GreaterThan | 1.4.9",
        "!v1.5.0 | GreaterThan | 1.4.9",
        "1.5.0-rc1 | LessThan | 1.5.0",
        "120 | GreaterThan | 1m",
        "2h | GreaterThanOrEquals | 7200",
        "'5' | LessThan | 10s",
        "!5s | LessThan | '10'",
        "!abc | GreaterThan | abb",
        "!null | GreaterThan | -1",
        "![1] | GreaterThan | 0",
        "'0' | GreaterThan | '-1'",
        "9007199254740993 | GreaterThan | 9007199254740992",
    ]);
}

#[test]
fn the_older_comparison_of_durations_wants_units() {
    check(&[
        "1h | DurationGreaterThan | 30m",
        "!'60' | DurationGreaterThan | 30",
        "60 | DurationGreaterThan | 30s",
        "!1.9 | DurationGreaterThan | 1",
        "1.9 | DurationGreaterThanOrEquals | 1",
        "'0' | DurationLessThan | 1s",
    ]);
}

#[test]
fn wildcards_and_ranges_of_others_stand_for_themselves() {
    check(&[
        "!abc | Equals | ~a*",
        "a* | Equals | ~a*",
        "!abc | AnyIn | ~a*",
        "~abc | AnyIn | [a*]",
        "!5 | AnyIn | ~1-10",
        "a | AnyIn | ~'[\"a\"]'",
        "~a* | AnyNotIn | [abc]",
        "[abc] | AllNotIn | ~[a*]",
        "~a* | NotIn | [abc]",
    ]);
}

#[test]
fn an_object_that_says_everything_is_found_but_never_missed() {
    check(&[
        "~'*' | AnyIn | [create, delete]",
        "~['*'] | AnyIn | [create, delete]",
        "[abc] | AnyIn | ~[a*]",
        "[abc] | AnyIn | ~'[\"a*\"]'",
        "~'*' | AnyNotIn | [create, delete]",
        "~['*'] | AllNotIn | [create, delete]",
    ]);
}

#[test]
fn only_the_authors_part_of_a_text_has_wildcards() {
    let part = |text: &str, is_own| TaintedPart { text: text.into(), is_own };
    let holds = |key: &str, operator: ConditionOperator, parts: &[TaintedPart]| {
        let (key, value) = (mixed(key), Tainted::Text(parts.to_vec()));
        operator
            .holds(&ComparedOperand::of(key), &ComparedOperand::of(value), &mut Budget::default())
            .expect("a budget")
    };
    let glob = [part("*", false), part("-*", true)];
    assert!(holds("'*-x'", ConditionOperator::Equals, &glob));
    assert!(!holds("y-x", ConditionOperator::Equals, &glob));
    let range = [part("1-", true), part("10", false)];
    assert!(holds("5", ConditionOperator::AnyIn, &range));
    let injected = [part("1-10", false), part("", true)];
    assert!(!holds("5", ConditionOperator::AnyIn, &injected));
}

#[test]
fn names_are_known_and_deprecated_ones_have_replacements() {
    assert!(ConditionOperator::names().all(|name| ConditionOperator::named(&name.to_lowercase()).is_some()));
    assert_eq!(ConditionOperator::named("Matches"), None);
    assert_eq!(ConditionOperator::In.replacement(), Some(["AllIn", "AnyIn"].as_slice()));
}

#[test]
fn a_wildcard_of_an_object_is_never_to_its_advantage() {
    let object = || ComparedOperand::of(Tainted::Untrusted("*".into()));
    let list = || ComparedOperand::of(Tainted::Trusted(vec!["a", "b"].into()));
    let mut budget = Budget::default();
    for (operator, accuses, excuses) in [
        (ConditionOperator::AnyIn, true, false),
        (ConditionOperator::AllNotIn, true, false),
        (ConditionOperator::AnyNotIn, true, false),
    ] {
        assert_eq!(operator.holds(&object(), &list(), &mut budget), Ok(accuses), "{operator:?}");
        assert_eq!(operator.excuses(&object(), &list(), &mut budget), Ok(excuses), "{operator:?}");
    }
}
