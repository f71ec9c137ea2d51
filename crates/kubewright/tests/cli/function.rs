//! Traits as a KRM function. The lists are as kustomize and kpt write them.

use std::fs;

use super::{check_with, folder, kubewright, kubewright_in};

fn fixture(name: &str) -> String {
    fs::read_to_string(folder("fixtures").join("function").join(name)).expect("a fixture")
}

/// Returns the list of items in `items` with the configuration `config`.
fn list(items: &str, config: &str) -> String {
    let config = indented(&fixture(&format!("config/{config}.yaml")));
    format!("{}functionConfig:\n{config}", fixture(&format!("{items}.yaml")))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[track_caller]
fn check(name: &str, items: &str, config: &str, arguments: &str) {
    check_with(&format!("fn-{name}"), format!("fn {arguments}").trim(), &list(items, config));
}

/// Returns what comes out, which has to be written where the exit code is `code`.
#[track_caller]
fn output(input: &str, arguments: &str, code: i32) -> String {
    let output = kubewright(&format!("fn {arguments}"), input);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the items of a list as text.
fn items(list: &str) -> &str {
    list.split_once("\nfunctionConfig:").expect("a configuration").0
}

#[test]
fn a_stack_is_applied_and_items_keep_their_marks() {
    check("stack", "kustomize", "stack", "");
    check("stack-quiet", "kustomize", "of-stack-file", "--quiet");
}

#[test]
fn a_trait_can_be_the_configuration() {
    check("trait", "kustomize", "trait", "");
}

#[test]
fn settings_apply_the_traits_among_the_items() {
    check("settings", "package", "settings", "");
    check("many-settings", "package", "many-settings", "");
}

#[test]
fn what_is_created_replaces_what_an_earlier_run_has_created() {
    let first = output(&list("package", "settings"), "", 0);
    assert_eq!(first.matches("\n  kind: PodDisruptionBudget\n").count(), 1, "{first}");
    assert_eq!(output(&first, "", 0), first);
    let other = first.replace("parameters.count: \"3\"", "parameters.count: \"9\"");
    let second = output(&other, "", 0);
    assert!(second.contains("minAvailable: 8") && !second.contains("minAvailable: 2"), "{second}");
}

#[test]
fn a_path_that_leads_away_is_no_folder_for_what_is_created() {
    let input = list("package", "settings").replace("path: app/net/", "path: ../net/");
    let output = output(&input, "", 0);
    assert!(output.contains("path: app/main/poddisruptionbudget-shop-web.yaml"), "{output}");
}

#[test]
fn what_is_created_only_because_of_an_item_does_not_replace_it() {
    let output = output(&list("kustomize", "copies"), "", 0);
    assert_eq!(output.matches("- apiVersion: apps/v1\n  kind: Deployment\n").count(), 2, "{output}");
    assert!(output.contains("image: web:1.0") && output.contains("code: KW-R038"), "{output}");
}

#[test]
fn manifests_of_another_plane_are_told_and_can_be_left_out() {
    check("planes", "package", "alert", "");
    let data = output(&list("package", "alert"), "--plane dataplane", 0);
    assert!(
        !data.contains("PrometheusRule\n  metadata:\n    name: web-") && !data.contains("results:"),
        "{data}"
    );
    let other = output(&list("package", "alert"), "--plane observabilityplane", 0);
    assert!(
        other.contains("kind: PrometheusRule") && !other.contains("kind: Deployment\n  metadata:"),
        "{other}"
    );
}

#[test]
fn warnings_are_results_and_the_traits_are_applied() {
    check("warnings", "package", "overlap", "");
    let quiet = output(&list("package", "overlap"), "--quiet", 0);
    assert!(!quiet.contains("results:"), "{quiet}");
}

#[test]
fn where_something_is_wrong_the_items_stay_as_they_were_given() {
    check("fails", "package", "fails", "");
    for config in ["fails", "wrong-parameter", "wrong-settings", "wrong-trait", "secret", "unmarked"] {
        let input = list("package", config);
        let output = output(&input, "", 1);
        assert_eq!(items(&output), items(&input), "{config}");
        assert!(output.contains("\nresults:\n- message: "), "{output}");
    }
    let strict = output(&list("package", "overlap"), "--strict", 1);
    assert_eq!(items(&strict), items(&list("package", "overlap")));
}

#[test]
fn what_is_wrong_with_the_configuration_is_said_with_its_field() {
    check("wrong-parameter", "package", "wrong-parameter", "");
    check("wrong-settings", "package", "wrong-settings", "");
    check("wrong-values", "package", "wrong-values", "");
    check("wrong-values-set", "package", "wrong-values-set", "");
    check("wrong-trait", "kustomize", "wrong-trait", "");
    check("wrong-kind", "kustomize", "secret", "");
    check("no-trait", "kustomize", "settings", "");
}

#[test]
fn a_trait_among_the_items_needs_its_annotation() {
    let unmarked = list("package", "unmarked").replace("local-config: \"true\"", "local-config: \"false\"");
    check_with("fn-unmarked", "fn", &unmarked.replace("name: replicas", "name: unmarked"));
}

#[test]
fn rendering_twice_shows_what_grows() {
    let grows = output(&list("kustomize", "stack"), "--check-idempotent", 1);
    assert!(grows.contains("code: KW-R067"), "{grows}");
    output(&list("package", "settings"), "--check-idempotent", 0);
}

#[test]
fn older_lists_and_json_are_read() {
    let input = list("package", "settings");
    let want = output(&input, "", 0);
    for version in ["v1alpha1", "v1beta1"] {
        let older = |text: &str| {
            text.replacen("config.kubernetes.io/v1", &format!("config.kubernetes.io/{version}"), 1)
        };
        assert_eq!(output(&older(&input), "", 0), older(&want));
    }
    let json = r#"{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{"a": 1}, null],
        "functionConfig": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"traits": "render/traits/alert.yaml"}},
        "results": [{"message": "of an earlier function"}]}"#;
    check_with("fn-json", "fn --quiet", json);
    check_with("fn-no-manifests", "fn", json);
}

#[test]
fn input_that_is_no_list_is_refused() {
    let check = |name: &str, input: &str| check_with(&format!("fn-{name}"), "fn", input);
    check("empty", "");
    check("only-comments", "# nothing\n---\n");
    check("no-list", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n");
    check("two-lists", &format!("{0}---\n{0}", list("package", "settings")));
    check("unknown-version", &list("package", "settings").replacen("/v1", "/v2", 1));
    check("no-config", &fixture("kustomize.yaml"));
    check("null-config", &format!("{}functionConfig: null\n", fixture("kustomize.yaml")));
    check("items-no-list", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: {a: 1}\n");
    check("broken", "apiVersion: config.kubernetes.io/v1\nkind: [ResourceList\n");
    check_with("fn-misspelt-flag", "fn --stict", "");
}

/// Runs in the folder of the example for kustomize, with the list that kustomize makes of it.
#[test]
fn the_example_for_kustomize_works() {
    let folder = folder("../../../examples/trait/kustomize");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("an example");
    let base = read("base/storefront.yaml");
    let items = base.split("---\n").map(|item| format!("-\n{}", indented(item)));
    let config = indented(&read("transformer.yaml"));
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{}functionConfig:\n{config}",
        items.collect::<String>()
    );
    let output = kubewright_in(&folder, "fn", &input);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("containerPort: 9102") && text.contains("\n- apiVersion: policy/v1\n"), "{text}");
}

#[test]
fn help_has_an_example() {
    check_with("fn-help", "fn --help", "");
}
