//! Why a rule did what it did, from the first line of `apply` to `why`.

use super::{check, kubewright};

#[test]
fn cel_blames_the_element_and_shows_the_values_of_the_parts() {
    check("why-cel", "trace why/cel.yaml -r why/deployment.yaml");
}

#[test]
fn the_cause_comes_first_with_its_remedy() {
    check("why-errors-apply", "apply why/errors.yaml -r why/deployment.yaml");
    check("why-errors-verbatim", "apply why/errors.yaml -r why/deployment.yaml --verbatim");
    check("why-errors-trace", "trace why/errors.yaml -r why/deployment.yaml");
}

#[test]
fn misspelt_kinds_and_versions_have_the_right_one() {
    check("why-typos-lint", "lint why/typos.yaml");
    check("why-typos-file", "lint why/polices.yaml why/nope.yaml");
    check("why-typos-trace", "trace why/typos.yaml -r why/deployment.yaml --rule misspelt");
}

#[test]
fn traces_of_many_objects_show_what_failed_and_count_the_rest() {
    check("why-many", "trace why/replicas.yaml -r why/many.yaml");
    check(
        "why-many-status",
        "trace why/replicas.yaml -r why/many.yaml --status skip --object Deployment/shop/*",
    );
    check("why-many-object", "trace why/replicas.yaml -r why/many.yaml --object service/app-*");
}

#[test]
fn why_shows_what_every_rule_says_about_one_object() {
    check("why-object", "why Deployment/prod/app-00 why/replicas.yaml -r why/many.yaml");
    check("why-object-rule", "why Deployment/app-01 why/replicas.yaml -r why/many.yaml --rule two");
    check("why-object-missing", "why Deployment/prod/app-0 why/replicas.yaml -r why/many.yaml");
    check("why-object-unnamed", "why why/replicas.yaml why/replicas.yaml -r why/many.yaml");
    check("why-object-no-slash", "why app-00 why/replicas.yaml -r why/many.yaml");
    check("why-no-rule", "apply why/replicas.yaml -r why/deployment.yaml --rule three-in-prod");
    check("why-json", "apply why/replicas.yaml -r why/many.yaml --rule two -o sarif");
}

/// Returns the first `kubewright why …` in an output, up to the quote or the end of the line behind it.
fn printed_command(output: &std::process::Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8(text).expect("a text");
    let (_, command) = text.split_once("kubewright why ").expect("a command");
    let end = command.find(['"', '`', '\n']).expect("an end");
    command.get(..end).expect("a part of it").to_owned()
}

#[test]
fn the_command_of_every_output_asks_for_the_same_request() {
    let request =
        "--operation DELETE --user 'alice smith' --group dev --world why/request-world.yaml -n shop";
    let given = format!("apply why/request.yaml -r why/deployment.yaml {request}");
    let [first, others @ ..] = ["json", "sarif", "policyreport"]
        .map(|format| printed_command(&kubewright(&format!("{given} -o {format}"), "")));
    assert!(others.iter().all(|other| *other == first), "{first} {others:?}");
    let shown = kubewright(&format!("why {first}"), "");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("alice smith may not delete what operations keeps"), "{first}: {shown}");
}

#[test]
fn the_command_of_an_object_of_a_chart_renders_the_chart() {
    let given = "apply inputs/rules-b -r inputs/shop --helm-set replicas=1 -o json";
    let command = printed_command(&kubewright(given, ""));
    assert!(command.contains("-r inputs/shop") && command.contains("--helm-set replicas=1"), "{command}");
    assert_eq!(kubewright(&format!("why {command}"), "").status.code(), Some(0), "{command}");
}

#[test]
fn the_command_names_few_paths() {
    let many = "why/deployment.yaml ".repeat(9);
    let command = printed_command(&kubewright(&format!("apply why/replicas.yaml -r {many} -o json"), ""));
    assert_eq!(command.matches("-r why/deployment.yaml").count(), 1, "{command}");
}

#[test]
fn an_exception_that_fits_has_a_place() {
    let exception = "why/replicas.yaml -r why/deployment.yaml -e why/exception-fits.yaml --rule two";
    check("why-exception-apply", &format!("apply {exception}"));
    check("why-exception-trace", &format!("trace {exception}"));
}

/// Mistakes of the usual kinds, each in a file of its own, which `why` must explain with both places.
const MISFIRES: [&str; 18] = [
    "selector-operator",
    "annotation-for-label",
    "name-wildcard",
    "deny-operator",
    "context-default",
    "cel-optional",
    "modrule-matches",
    "modrule-filter",
    "modrule-select",
    "operations",
    "bindings",
    "scopes",
    "message-variable",
    "autogen",
    "verify-images",
    "pod-security",
    "mutations",
    "empty-list",
];

#[test]
fn misfires_show_their_cause_and_both_places() {
    for name in MISFIRES {
        let given = format!("why/misfires/{name}.yaml -r why/misfires/web.yaml");
        check(&format!("misfire-{name}"), &format!("why Deployment/shop/web {given}"));
    }
    let exceptions = "-e why/misfires/exception-kind-exceptions.yaml";
    let given = format!("why/misfires/exception-kind.yaml -r why/misfires/web.yaml {exceptions}");
    check("misfire-exception-kind", &format!("why Deployment/shop/web {given}"));
    let exceptions = "-e why/misfires/exception-namespace-exceptions.yaml";
    let given = format!("why/misfires/exception-kind.yaml -r why/misfires/web.yaml {exceptions}");
    check("misfire-exception-namespace", &format!("why Deployment/shop/web {given}"));
    let exceptions = "-e why/misfires/cel-exception-exceptions.yaml";
    let given = format!("why/misfires/cel-exception.yaml -r why/misfires/web.yaml {exceptions}");
    check("misfire-cel-exception", &format!("why Deployment/shop/web {given}"));
    let given = "why/misfires/pattern-veto.yaml -r why/misfires/web.yaml";
    check("misfire-pattern-veto", &format!("why Deployment/shop/web {given}"));
    check("misfire-pattern-veto-trace", &format!("trace {given}"));
    check("misfire-trait-where", "trace why/misfires/trait-where.yaml -r why/misfires/web.yaml");
    check("misfire-claims", "trace split-sidecar -r why/misfires/claims.yaml");
}

#[test]
fn a_patch_that_selects_nothing_is_told() {
    let given = "why/misfires/modrule-select.yaml -r why/misfires/web.yaml";
    check("misfire-modrule-select-apply", &format!("apply {given}"));
    check("misfire-modrule-select-verbose", &format!("apply {given} -v"));
}

#[test]
fn a_message_with_an_unresolved_variable_is_kept_and_explained() {
    let given = "why/misfires/message-variable.yaml -r why/misfires/web.yaml";
    check("misfire-message-variable-apply", &format!("apply {given}"));
    check("misfire-message-variable-verbatim", &format!("apply {given} --verbatim"));
}

#[test]
fn the_source_of_a_pattern_is_printed() {
    check("explain-source-unknown", "explain orphan-servic --source");
    let printed = kubewright("explain orphan-service --source", "");
    assert_eq!(
        printed.stdout,
        kubewright_patterns::shipped::shipped_pattern("orphan-service")
            .expect("it ships")
            .source()
            .as_bytes()
    );
}

#[test]
fn errors_of_cel_blame_the_element_in_the_table() {
    check("misfire-cel-apply", "apply why/misfires/cel-optional.yaml -r why/misfires/web.yaml");
    check("misfire-bindings-apply", "apply why/misfires/bindings.yaml -r why/misfires/web.yaml");
}

#[test]
fn why_says_from_the_log_which_rule_refused_or_changed_an_object() {
    check("why-log", "why Deployment/shop/web --log why/webhook.log");
    check("why-log-json", "why Deployment/shop/web --log why/webhook.log -o json");
    check("why-log-missing", "why Deployment/shop/web --log why/no-such.log");
    check(
        "why-log-rules",
        "why Deployment/shop/web why/replicas.yaml -r why/deployment.yaml --log why/webhook.log",
    );
}

#[test]
fn lint_shows_problems_of_severe_rules_alone() {
    check("lint-severity", "lint why/typos.yaml why/misfires/severity.yaml --severity high");
}

#[test]
fn traces_go_to_a_file() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace-file");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("trace.json");
    let arguments = format!("trace why/replicas.yaml -r why/deployment.yaml -o json={}", file.display());
    let ran = super::kubewright(&arguments, "");
    assert!(ran.stdout.is_empty());
    let written = std::fs::read_to_string(&file).expect("the file is written");
    assert!(written.starts_with("{\"version\": 1, \"traces\": ["), "{written}");
}
