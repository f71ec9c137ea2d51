//! Patterns against objects; the expected results are those of Kyverno 1.19.1.

mod anchors;
mod foreign;
mod scalars;
mod traces;

use std::sync::Arc;

use kubewright_value::{Budget, Limits, Value, yaml};

use super::super::tainted::Tainted;
use super::{PatternVerdict, ValidatePattern};
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_k8s::PodTemplatePath;

fn value(text: &str) -> Value {
    yaml::parse(text).expect(text)
}

/// Returns `pass`, `fail PATH`, `skip MESSAGE` or `error MESSAGE`; the same with and without notes.
fn told(pattern: &ValidatePattern, object: &Value) -> String {
    let verdict = pattern.check(object, &mut Budget::default(), &mut TraceNotes::off()).expect("a budget");
    let noted = pattern.check(object, &mut Budget::default(), &mut TraceNotes::on()).expect("a budget");
    assert_eq!(verdict, noted);
    match verdict {
        PatternVerdict::Pass => "pass".to_owned(),
        PatternVerdict::Skip { message, .. } => format!("skip {message}"),
        PatternVerdict::Error { message, .. } => format!("error {message}"),
        PatternVerdict::Fail(mismatch) => format!("fail {}", mismatch.text_path),
    }
}

/// Compares `object` with `pattern`, both YAML.
#[track_caller]
fn check(pattern: &str, object: &str, want: &str) {
    let compiled = ValidatePattern::compile(&Tainted::Trusted(value(pattern)));
    assert_eq!(told(&compiled, &value(object)), want, "{pattern} against {object}");
}

#[test]
fn a_map_wants_a_map_and_is_a_subset() {
    check("{a: x}", "{a: x, b: w}", "pass");
    check("{a: {}}", "{a: {b: 1}}", "pass");
    check("{a: {}}", "{}", "fail /a/");
    check("{a: {}}", "{a: x}", "fail /a/");
    check("{a: {b: {c: x}}}", "{a: {b: [{c: x}]}}", "fail /a/b/");
    check("{a: {b: x}}", "{a: {b: w}}", "fail /a/b/");
}

#[test]
fn the_first_failing_key_is_reported_and_keys_with_anchors_come_first_from_the_back() {
    check("{b: x, a: x}", "{}", "fail /a/");
    check("{a: x, w: {=(k): x}, z: {=(k): x}}", "{w: {k: q}, z: {k: q}}", "fail /z/k/");
    check(
        "{a: x, m: {(k): x}}",
        "{m: {k: q}}",
        "skip conditional anchor mismatch: resource value 'q' does not match 'x' at path /m/k/",
    );
    check("{a: x, m: [w, {(k): x}]}", "{}", "fail /m/");
}

#[test]
fn of_a_list_only_the_first_element_counts_for_all() {
    check("{a: [{b: x}, {b: w}]}", "{a: [{b: x}, {b: w}]}", "fail /a/1/b/");
    check("{a: [{b: x}]}", "{a: []}", "pass");
    check("{a: [{b: x}]}", "{a: x}", "fail /a/");
    check("{a: [{b: x}]}", "{a: [x]}", "fail /a/0/");
    check("{a: [x, w]}", "{a: [x, x]}", "pass");
    check("{a: [x, w]}", "{a: [x, w]}", "fail /a/");
    check("{a: [x]}", "{a: x}", "fail /a/");
    check("{a: []}", "{a: []}", "fail /a/");
    check("{a: []}", "{}", "fail /a/");
}

#[test]
fn lists_of_lists_are_compared_in_order() {
    check("{a: [[x], [w]]}", "{a: [[x], [w], [z]]}", "pass");
    check("{a: [[x], [w]]}", "{a: [[x], [z]]}", "fail /a/1/");
    check(
        "{a: [[x], [w]]}",
        "{a: [[x]]}",
        "error validate Array failed, array length mismatch, resource Array len is 1 and pattern Array len is 2",
    );
}

#[test]
fn a_pattern_for_pods_is_used_for_what_makes_them() {
    let pattern = Arc::new(ValidatePattern::compile(&Tainted::Trusted(value(
        "{metadata: {labels: {a*: x}}, spec: {(b): '*', c: x}}",
    ))));
    let template = Arc::clone(&pattern).under(PodTemplatePath::Template);
    let object = "{spec: {template: {metadata: {labels: {a1: x}}, spec: {b: 1, c: w}}}}";
    assert_eq!(told(&template, &value(object)), "fail /spec/template/spec/c/");
    assert_eq!(told(&template, &value("{spec: {}}")), "fail /spec/template/");
    assert_eq!(told(&template, &value("{}")), "fail /spec/");
    let cron = Arc::clone(&pattern).under(PodTemplatePath::JobTemplate);
    let object =
        "{spec: {jobTemplate: {spec: {template: {metadata: {labels: {a1: x}}, spec: {b: 1, c: x}}}}}}";
    assert_eq!(told(&cron, &value(object)), "pass");
    assert_eq!(cron.branches(), pattern.branches());
    let Ok(PatternVerdict::Fail(mismatch)) = template.check(
        &value("{spec: {template: {metadata: {labels: {a1: w}}, spec: {b: 1, c: x}}}}"),
        &mut Budget::default(),
        &mut TraceNotes::off(),
    ) else {
        panic!("does not fail");
    };
    assert_eq!(mismatch.at, ["metadata".into(), "labels".into(), "a*".into()]);
    assert_eq!(mismatch.path, ["spec", "template", "metadata", "labels", "a1"].map(Into::into));
}

#[test]
fn a_pattern_that_takes_too_long_is_stopped() {
    let pattern = ValidatePattern::compile(&Tainted::Trusted(value("{a: [{b: 'x*y*z'}]}")));
    let object = value(&format!("{{a: [{}]}}", vec!["{b: xyz}"; 500].join(",")));
    let mut budget = Budget::new(Limits { steps: 100, ..Limits::default() });
    assert!(pattern.check(&object, &mut budget, &mut TraceNotes::off()).is_err());
}

#[test]
fn a_pattern_that_is_too_deep_is_an_error_and_not_a_crash() {
    let deep = (0..2000).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    let pattern = ValidatePattern::compile(&Tainted::Trusted(deep.clone()));
    assert!(pattern.check(&deep, &mut Budget::default(), &mut TraceNotes::off()).is_err());
}
