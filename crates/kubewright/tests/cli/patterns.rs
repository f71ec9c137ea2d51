//! `test` and `trace` with patterns.

use std::fs;
use std::path::Path;

use crate::{check, kubewright_in};

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

#[test]
fn the_example_of_the_page_about_tests_holds() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/testing.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, section) = page.split_once("### Cases about patterns\n").expect("the section");
    let blocks: Vec<&str> =
        section.split("```yaml\n").skip(1).filter_map(|text| text.split("```").next()).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-about-tests");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("pattern.yaml"), blocks.first().expect("a pattern")).expect("a file");
    fs::write(folder.join("kubewright-test.yaml"), blocks.get(1).expect("a test")).expect("a file");
    let output = kubewright_in(&folder, "test . --coverage", "");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("2 passed, 0 failed"), "{told}");
}
