//! `test` and `trace` with patterns.

use crate::check;

#[test]
fn cases_about_patterns_hold_or_tell_why_not() {
    check("pattern-cases", "test pattern-cases/failing --coverage");
    check("pattern-cases-json", "test pattern-cases/failing -o json");
}

#[test]
fn mistakes_in_cases_about_patterns_are_told_together() {
    check("pattern-cases-bad", "test pattern-cases/bad");
}

#[test]
fn a_trace_tells_what_became_of_every_leader_of_a_pattern() {
    check("trace-patterns", "trace patterns-trace/patterns.yaml -r patterns-trace/objects.yaml");
    let json = "--rule leads-nowhere -o json";
    check(
        "trace-patterns-json",
        &format!("trace patterns-trace/patterns.yaml -r patterns-trace/objects.yaml {json}"),
    );
}

#[test]
fn a_trace_tells_why_an_object_does_not_lead() {
    let objects = "--object Service/far --object Pod/shop/web-1";
    check(
        "trace-patterns-object",
        &format!("trace patterns-trace/patterns.yaml -r patterns-trace/objects.yaml {objects}"),
    );
    check(
        "trace-patterns-nobody",
        "trace patterns-trace/patterns.yaml -r patterns-trace/objects.yaml --object Service/fat",
    );
    check("trace-object-of-rules", "trace rules -r manifests/shop.yaml --object Pod/a");
}
