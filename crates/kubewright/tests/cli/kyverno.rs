//! What users of Kyverno type.

use super::{check, check_with};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: piped, namespace: prod-eu}\nspec: {containers: [{name: c, image: c:1}]}\n";

#[test]
fn test_files_of_kyverno_are_run_as_they_are() {
    check("kyverno-test", "test kyverno/labels kyverno/older");
    check("kyverno-test-json", "test kyverno/labels -o json");
    check("kyverno-test-file-name", "test kyverno -f other-test.yaml");
}

#[test]
fn a_row_about_what_does_not_exist_fails_and_says_what_does() {
    check("kyverno-test-mistakes", "test kyverno/mistakes");
}

#[test]
fn a_field_that_means_nothing_is_an_error() {
    check("kyverno-test-unknown", "test kyverno/unknown");
}

#[test]
fn coverage_lists_rules_and_branches() {
    check("kyverno-coverage", "test kyverno/labels --coverage");
    check("kyverno-coverage-json", "test kyverno/labels --coverage -o json");
}

#[test]
fn apply_takes_what_kyverno_takes() {
    let apply = "apply kyverno/labels/policy.yaml -r kyverno/labels/resources.yaml";
    check("kyverno-apply", apply);
    check("kyverno-apply-values", &format!("{apply} --values kyverno/labels/values.yaml"));
    check("kyverno-apply-set", &format!("{apply} --set request.operation=DELETE"));
    check(
        "kyverno-apply-exceptions",
        &format!("{apply} -e kyverno/labels/exception.yaml -f kyverno/labels/values.yaml"),
    );
    for format in ["json", "sarif", "policyreport", "openreports", "junit", "github", "markdown"] {
        let values = "-f kyverno/labels/values.yaml -e kyverno/labels/exception.yaml";
        check(&format!("kyverno-apply-{format}"), &format!("{apply} {values} -o {format}"));
    }
}

#[test]
fn failures_that_refuse_nothing_can_be_warnings() {
    let pod = POD.replace("c:1", "c:latest");
    check_with("kyverno-audit", "apply kyverno/labels/policy.yaml -r - --rule check-team", POD);
    let warn = "--audit-warn --warn-exit-code 3";
    check_with(
        "kyverno-audit-warn",
        &format!("apply kyverno/labels/policy.yaml -r - --rule check-team {warn}"),
        POD,
    );
    check_with("kyverno-audit-enforce", &format!("apply kyverno/labels/policy.yaml -r - {warn}"), &pod);
}

#[test]
fn an_update_is_forgiven_what_was_wrong_before_it_only_where_that_is_known() {
    let update = "kyverno/updates/policy.yaml -r kyverno/updates/new.yaml --operation UPDATE";
    check("kyverno-update", &format!("apply {update}"));
    check(
        "kyverno-update-set",
        "apply kyverno/updates/policy.yaml -r kyverno/updates/new.yaml --set request.operation=UPDATE",
    );
    check("kyverno-update-old", &format!("apply {update} --old kyverno/updates/old.yaml"));
    check("kyverno-update-sound", &format!("apply {update} --old kyverno/updates/sound.yaml"));
    check("kyverno-update-trace", &format!("trace {update}"));
    let cel = "kyverno/updates/cel.yaml -r kyverno/updates/cel-new.yaml --operation UPDATE";
    check("kyverno-update-cel", &format!("apply {cel} --old kyverno/updates/cel-old.yaml"));
}

#[test]
fn what_rules_look_up_can_be_given() {
    check_with(
        "kyverno-world",
        "apply kyverno/lookups/policy.yaml -r - --world kyverno/lookups/world.yaml",
        POD,
    );
    check_with("kyverno-world-missing", "apply kyverno/lookups/policy.yaml -r -", POD);
    check("kyverno-world-manifests", "apply kyverno/lookups/names.yaml -r kyverno/labels/resources.yaml");
    check_with("kyverno-world-set", "apply kyverno/lookups/policy.yaml -r - --set limit=9,count=1", POD);
}

#[test]
fn exceptions_are_checked_too() {
    check("kyverno-lint-exceptions", "lint kyverno/lookups -e kyverno/labels/exception.yaml");
    check("kyverno-no-exceptions", "lint kyverno/lookups -e kyverno/labels/values.yaml");
}

#[test]
fn lint_finds_what_users_lose_time_on() {
    check("kyverno-lint", "lint kyverno/doubtful");
}

#[test]
fn trace_shows_what_a_rule_looked_at() {
    let trace =
        "trace kyverno/labels/policy.yaml -r kyverno/labels/resources.yaml -f kyverno/labels/values.yaml";
    check("kyverno-trace", trace);
    check("kyverno-trace-json", &format!("{trace} --rule check-team -o json"));
}

#[test]
fn trace_says_why_a_rule_did_not_apply_and_what_to_do() {
    let trace = "trace why/policies.yaml -r why/deployment.yaml";
    check("why-kyverno", trace);
    check("why-kyverno-namespace", &format!("{trace} -r why/namespace.yaml --rule of-labelled-namespaces"));
    check("why-kyverno-exception", &format!("{trace} -e why/exception.yaml --rule only-audited"));
    check("why-modrule", "trace why/modrules.yaml -r why/deployment.yaml");
}

#[test]
fn connect_requests_are_evaluated_offline() {
    let connect = "-r kyverno-cli/connect.yaml --operation CONNECT";
    check("kyverno-cli-connect", &format!("apply kyverno-cli/no-exec.yaml {connect}"));
    check("kyverno-cli-connect-trace", &format!("trace kyverno-cli/no-exec.yaml {connect} --rule no-shell"));
    check("kyverno-cli-no-connect", "apply kyverno-cli/no-exec.yaml -r kyverno-cli/connect.yaml");
}

#[test]
fn kinds_in_other_notations_are_said_in_that_of_kyverno() {
    check("kyverno-cli-kinds", "lint kyverno-cli/kinds.yaml");
}

#[test]
fn fields_in_the_wrong_place_are_told_where_they_belong() {
    check("kyverno-cli-misplaced", "lint kyverno-cli/misplaced.yaml");
}

#[test]
fn exceptions_are_found_where_the_flags_say() {
    let apply = "apply kyverno-cli/exceptions-policy.yaml -r kyverno-cli/exceptions-objects.yaml";
    check("kyverno-cli-exceptions-resources", &format!("{apply} --exceptions-with-resources"));
    check("kyverno-cli-exceptions-policies", &format!("{apply} --exceptions-within-policies"));
}

#[test]
fn payloads_are_named_by_flags_of_their_own() {
    check("kyverno-cli-json", "apply kyverno-cli/json-policy.yaml --json kyverno-cli/payload.json");
    check("kyverno-cli-no-input", "apply kyverno-cli/json-policy.yaml");
}

#[test]
fn parameters_are_a_part_of_the_world() {
    let params = "--parameter-resource kyverno-cli/params.yaml";
    let apply = "apply kyverno-cli/params-policy.yaml -r kyverno-cli/params-objects.yaml";
    check("kyverno-cli-params", &format!("{apply} {params}"));
}

#[test]
fn cases_are_chosen_by_policy_rule_and_resource() {
    check("kyverno-cli-selector", "test kyverno/labels -t 'policy=*,resource=web*' -o markdown");
    check("kyverno-cli-selector-none", "test kyverno/labels -t policy=other");
    check("kyverno-cli-severity", "test kyverno/labels --severity info");
    check("kyverno-cli-severity-none", "test kyverno/labels --severity critical");
    check("kyverno-cli-category-none", "test kyverno/labels --category 'Pod *'");
    check("kyverno-cli-selector-wrong", "test kyverno/labels -t kind=Pod");
    check("kyverno-cli-test-yaml", "test kyverno/labels --output-format yaml");
}

#[test]
fn nothing_that_passes_can_be_a_warning() {
    let warn = "--warn-no-pass --warn-exit-code 4";
    check(
        "kyverno-cli-no-pass",
        &format!("apply kyverno-cli/no-exec.yaml -r kyverno-cli/connect.yaml {warn}"),
    );
}
