//! Tests of traces and lints of patterns.

use kubewright_engine::TraceVerdict as Seen;
use kubewright_value::{Budget, Step};

use super::{PatternVerdict, Tainted, TraceNotes, ValidatePattern, value};
use crate::pattern::lint::PatternLintKind::{
    self, EmptyList, IgnoredElements, IgnoredTag, LiteralKey, OpenImage, UnusableAnchor,
};
use kubewright_dialect_kit::notes::TraceNote;

fn path(steps: &[&str]) -> Vec<Step> {
    steps.iter().map(|step| step.parse().map_or_else(|_| Step::from(*step), Step::Index)).collect()
}

fn notes(pattern: &str, object: &str) -> Vec<TraceNote> {
    let mut notes = TraceNotes::on();
    let compiled = ValidatePattern::compile(&Tainted::Trusted(value(pattern)));
    compiled.check(&value(object), &mut Budget::default(), &mut notes).expect("a budget");
    notes.take()
}

#[test]
fn a_failure_says_what_was_wanted_and_found_and_where() {
    let pattern = ValidatePattern::compile(&Tainted::Trusted(value("{spec: {=(l): [{image: 'a | b'}]}}")));
    let object = value("{spec: {l: [{image: a}, {image: c}]}}");
    let verdict = pattern.check(&object, &mut Budget::default(), &mut TraceNotes::off()).expect("a budget");
    let PatternVerdict::Fail(mismatch) = verdict else { panic!("{verdict:?}") };
    assert_eq!(mismatch.text_path, "/spec/l/1/image/");
    assert_eq!(mismatch.path, path(&["spec", "l", "1", "image"]));
    assert_eq!(mismatch.at, path(&["spec", "=(l)", "0", "image"]));
    assert_eq!((mismatch.wanted.as_str(), mismatch.found.as_str()), ("\"a | b\"", "\"c\""));
}

#[test]
fn a_skip_says_which_condition_did_not_hold() {
    let pattern = ValidatePattern::compile(&Tainted::Trusted(value("{l: [{(a): {b: x}}]}")));
    let verdict = pattern.check(&value("{l: [{a: {b: w}}]}"), &mut Budget::default(), &mut TraceNotes::off());
    let Ok(PatternVerdict::Skip { at, .. }) = verdict else { panic!("{verdict:?}") };
    assert_eq!(at, path(&["l", "0", "(a)"]));
}

#[test]
fn notes_name_each_anchor_and_the_value_that_does_not_fit() {
    let notes = notes("{(a): x, =(b): {c: w}}", "{a: x, b: {c: z}}");
    let told: Vec<_> = notes.iter().map(|note| (note.what.as_str(), note.verdict, note.at.clone())).collect();
    assert_eq!(
        told,
        [("(a): \"x\"", Seen::Yes, path(&["(a)"])), ("=(b): {\"c\":\"w\"}", Seen::No, path(&["=(b)"])),]
    );
    let leaf = &notes[1].children[0];
    assert_eq!((leaf.found.as_str(), leaf.wanted.as_str()), ("\"z\"", "wanted \"w\""));
    assert_eq!(leaf.at, path(&["=(b)", "c"]));
    assert_eq!(leaf.what, "b.c");
}

#[test]
fn notes_name_what_is_missing_under_a_condition_too() {
    let notes = notes("{(a): {b: '*', c: {}}}", "{a: {c: x}}");
    let leaf = &notes[0].children[0];
    assert_eq!(
        (leaf.what.as_str(), leaf.found.as_str(), leaf.wanted.as_str()),
        ("/a/b/", "nothing", "wanted \"*\"")
    );
    assert_eq!(leaf.at, path(&["(a)", "b"]));
}

#[test]
fn every_branch_has_the_place_that_its_note_has() {
    let pattern = ValidatePattern::compile(&Tainted::Trusted(value(
        "{(a): {=(b): x}, l: [{^(c): [{X(d): null}]}, {(e): x}]}",
    )));
    let branches = pattern.branches();
    let places: Vec<_> = branches.iter().map(|(_, at)| at.clone()).collect();
    let want = [
        path(&["(a)"]),
        path(&["(a)", "=(b)"]),
        path(&["l", "0", "^(c)"]),
        path(&["l", "0", "^(c)", "0", "X(d)"]),
    ];
    assert_eq!(places, want);
    fn all(notes: &[TraceNote], into: &mut Vec<Vec<Step>>) {
        for note in notes {
            into.push(note.at.clone());
            all(&note.children, into);
        }
    }
    let mut seen = Vec::new();
    let object = value("{a: {b: x}, l: [{c: [{d: 1}, {}]}]}");
    let mut notes = TraceNotes::on();
    assert_eq!(pattern.check(&object, &mut Budget::default(), &mut notes), Ok(PatternVerdict::Pass));
    all(&notes.take(), &mut seen);
    assert!(places.iter().all(|place| seen.contains(place)), "{seen:?}");
}

#[track_caller]
fn lints(pattern: &str, want: &[(PatternLintKind, &[&str])]) {
    let found = super::super::lint_pattern(&value(pattern));
    let found: Vec<_> = found.iter().map(|lint| (lint.kind, lint.at.clone())).collect();
    let want: Vec<_> = want.iter().map(|(kind, at)| (*kind, path(at))).collect();
    assert_eq!(found, want, "{pattern}");
}

#[test]
fn a_pattern_that_does_something_else_than_it_seems_to_is_told() {
    lints("{a: [{b: x}], ^(c): [{b: x}, {b: w}], X(d): null}", &[]);
    lints("{a: [x, w]}", &[(IgnoredElements, &["a", "1"])]);
    lints("{a: [{b: x}, {(c): x}]}", &[(IgnoredElements, &["a", "1"]), (UnusableAnchor, &["a", "1", "(c)"])]);
    lints("{a: [[x], [w]]}", &[]);
    lints("{a: []}", &[(EmptyList, &["a"])]);
    lints("{^(a): x}", &[(UnusableAnchor, &["^(a)"])]);
    lints("{^(a): [x]}", &[(UnusableAnchor, &["^(a)"])]);
    lints("{+(a): x}", &[(UnusableAnchor, &["+(a)"])]);
    lints("{a*: x, metadata: {labels: {b*: x}}}", &[(LiteralKey, &["a*"])]);
    lints("{metadata: {labels: {X(b): null, c: '5'}}}", &[(IgnoredTag, &["metadata", "labels", "X(b)"])]);
    lints("{metadata: {'=(b?)': x}}", &[(LiteralKey, &["metadata", "=(b?)"])]);
}

#[test]
fn an_image_that_lets_other_registries_in_is_told() {
    let image: (PatternLintKind, &[&str]) = (OpenImage, &["c", "0", "image"]);
    for open in ["ghcr.io*", "docker.io/foo*", "a/* | ghcr.io*", "localhost:5000*"] {
        lints(&format!("{{c: [{{image: '{open}'}}]}}"), &[image]);
    }
    for closed in [
        "ghcr.io/*",
        "ghcr.io/foo/*",
        "docker.io/foo:*",
        "*:latest",
        "!*:latest",
        "!ghcr.io*",
        "nginx*",
        "*/x*",
    ] {
        lints(&format!("{{c: [{{image: '{closed}'}}]}}"), &[]);
    }
}
