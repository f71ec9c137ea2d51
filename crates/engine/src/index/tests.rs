use std::sync::Arc;

use super::*;
use crate::decide::tests::rule;

/// Loads `rules`, written as `name namespace Kind,Kind`, with `*` for any, and asks for `kind` in `namespace`.
#[track_caller]
fn check(rules: &[&'static str], (kind, namespace): (&str, &str), want: &[&str]) {
    let index = RuleIndex::new(rules.iter().map(|text| Arc::new(rule(text))).collect());
    let request = crate::decide::tests::request(kind, namespace);
    let found: Vec<_> = index.candidates(&request).iter().map(|rule| rule.id.rule.to_string()).collect();
    assert_eq!(found, want);
}

#[test]
fn rules_about_any_kind_run_in_order_with_those_that_name_one() {
    check(&["a * Pod", "b * *", "c * Service", "d * Pod"], ("Pod", "x"), &["a", "b", "d"]);
}

#[test]
fn rules_of_other_namespaces_are_left_out() {
    check(&["a x Pod", "b y Pod", "c * Pod,Pod", "d x *"], ("Pod", "x"), &["a", "c", "d"]);
}

#[test]
fn rules_run_in_name_order_whatever_the_load_order() {
    check(&["c * *", "a * *", "b * *"], ("Pod", ""), &["a", "b", "c"]);
}

#[test]
fn the_later_of_two_rules_with_one_id_stays() {
    check(&["a * Pod", "a * Service"], ("Pod", ""), &[]);
    check(&["a * Pod", "a * Service"], ("Service", ""), &["a"]);
}
