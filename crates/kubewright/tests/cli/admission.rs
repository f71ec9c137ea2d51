//! Policies in CEL: ValidatingAdmissionPolicy and ValidatingPolicy.

use super::{check, check_with};

#[test]
fn test_files_are_run_whatever_they_call_the_rule_of_a_policy_that_is_one() {
    check("admission-test", "test admission/vpol admission/vap admission/json admission/proxy");
    check("admission-test-json", "test admission/vpol -f kyverno-test.yaml -o json");
    check("admission-coverage", "test admission/vpol admission/proxy --coverage");
}

#[test]
fn what_policies_look_up_comes_from_the_test_or_is_an_error() {
    check("admission-lookups", "test admission/lookups");
    check("admission-alone", "test admission/alone");
    check(
        "admission-world",
        "apply admission/lookups/policies.yaml -r admission/lookups/pod.yaml --world admission/lookups/world.yaml",
    );
    check("admission-world-missing", "apply admission/lookups/policies.yaml -r admission/lookups/pod.yaml");
}

#[test]
fn every_format_reads_well_for_policies_without_rules() {
    let apply = "apply admission/vpol/policies.yaml -r admission/vpol/resources.yaml";
    check("admission-apply", apply);
    check("admission-apply-exception", &format!("{apply} -e admission/vpol/exception.yaml"));
    for format in ["json", "sarif", "policyreport", "junit", "github", "markdown"] {
        check(&format!("admission-apply-{format}"), &format!("{apply} -o {format}"));
    }
}

#[test]
fn bindings_may_stand_in_other_files_and_be_missing() {
    let apply = "apply admission/vap/policy.yaml";
    let objects = "-r admission/vap/resources.yaml --world admission/vap/params.yaml";
    check("admission-bindings", &format!("{apply} admission/vap/bindings {objects}"));
    check("admission-unbound", &format!("{apply} {objects} --rule unbound"));
    check("admission-lint", "lint admission/vap admission/vpol");
}

#[test]
fn a_policy_about_json_judges_any_document_and_one_about_requests_only_requests() {
    check(
        "admission-payload",
        "apply admission/json/policy.yaml -r admission/json/good.json admission/json/bad.json",
    );
    check(
        "admission-payload-policyreport",
        "apply admission/json/policy.yaml -r admission/json/bad.json -o policyreport",
    );
    check_with("admission-payload-input", "apply admission/json/policy.yaml -r -", "{\"stages\": []}");
    check("admission-requests", "apply admission/proxy/policies.yaml -r 'admission/proxy/*.json'");
    // Documents that are not objects were not requested.
    check("admission-no-payload", "apply admission/vpol/policies.yaml -r admission/json/bad.json");
}

#[test]
fn trace_shows_expressions_and_takes_the_name_of_a_policy() {
    let trace = "trace admission/vpol/policies.yaml -r admission/vpol/resources.yaml --rule require-team";
    check("admission-trace", trace);
    check("admission-trace-misspelt", &format!("{trace}s"));
    check("admission-trace-request", "trace admission/proxy/policies.yaml -r admission/proxy/post.json");
}
