//! Traits over manifests.

use std::fs;
use std::path::{Path, PathBuf};

use super::{check, check_with, folder, kubewright};

const BASE: &str = "render -f render/base.yaml";
const LOGGING: &str =
    "render -f render/base.yaml --trait render/traits/logging.yaml --params render/params.yaml";

#[track_caller]
fn base(name: &str, more: &str) {
    check(name, &format!("{BASE} {more}"));
}

#[track_caller]
fn logging(name: &str, more: &str) {
    check(name, &format!("{LOGGING} {more}"));
}

#[test]
fn the_manifests_come_out_in_their_order_and_what_is_created_after_them() {
    logging("render", "");
    logging("render-json", "-o json");
    logging("render-sort", "--sort --quiet");
    logging("render-diff", "--diff");
}

#[test]
fn values_are_laid_over_each_other() {
    logging("render-set", "--set parameters.image=vector:0.40,parameters.level=debug --diff -q");
    logging("render-env-configs", "--env-configs render/env.json --diff -q");
    logging("render-set-string", "--set-string environmentConfigs.memory=64 --diff -q");
    logging("render-set-typed", "--set environmentConfigs.memory=64 --diff -q");
}

#[test]
fn several_traits_have_their_values_under_their_names() {
    base("render-several", "--trait render/traits --params render/by-name.yaml");
    base("render-several-set", "--trait render/traits --set parameters.logging.level=debug --diff -q");
    base("render-several-unnamed", "--trait render/traits --params render/params.yaml");
    base("render-several-no-map", "--trait render/traits --set parameters.logging=debug");
}

#[test]
fn each_plane_can_be_had_alone() {
    let values = "--trait render/traits --params render/by-name.yaml";
    base("render-observability", &format!("{values} --plane observabilityplane -q"));
    base("render-removes-and-creates", &format!("{values} --diff"));
}

#[test]
fn helpers_read_what_is_given_and_give_empty_lists_otherwise() {
    let helpers = "--trait render/uses-helpers.yaml --diff -q";
    base("render-helpers-empty", helpers);
    base(
        "render-helpers",
        &format!(
            "{helpers} --set workload.endpoints.web.port=80 --set 'configurations.configs.envs[0]={{name: A, value: b}}'"
        ),
    );
}

#[test]
fn names_come_from_the_manifests_and_can_be_said() {
    let context = "--trait render/uses-context.yaml --context render/context.yaml --diff -q";
    base("render-context", context);
    base(
        "render-names",
        &format!(
            "{context} --name a --namespace b --component c --project-name d --environment e \
             --set metadata.labels.team=core"
        ),
    );
    // The former name of the flag.
    base("render-project", &format!("{context} --project d"));
    check(
        "render-two-workloads",
        "render -f render/two.yaml --trait render/traits/logging.yaml --params render/params.yaml",
    );
    check(
        "render-two-workloads-named",
        "render -f render/two.yaml --trait render/traits/logging.yaml --params render/params.yaml --name web --diff -q",
    );
}

#[test]
fn a_stack_applies_a_trait_more_than_once() {
    base("render-stack", "--stack render/stack/stack.yaml --diff");
    base(
        "render-stack-over",
        "--stack render/stack/stack.yaml --set parameters.second.level=trace --set metadata.name=web",
    );
    base("render-stack-wrong", "--stack render/stack/wrong.yaml");
    base("render-stack-unknown", "--stack render/stack/unknown.yaml");
    base("render-stack-no-stack", "--stack render/params.yaml");
    let schema = String::from_utf8(kubewright("render --schema", "").stdout).expect("text");
    assert!(schema.contains("kubewright trait stack"));
}

#[test]
fn manifests_come_from_pipes_lists_and_folders() {
    let text = fs::read_to_string(folder("fixtures").join("render/base.yaml")).expect("a fixture");
    let traits = "--trait render/traits/logging.yaml --params render/params.yaml";
    check_with("render-pipe", &format!("render {traits} -q"), &text);
    check_with("render-dash", &format!("render -f - {traits} --diff"), &text);
    check("render-list", &format!("render -f render/list.yaml {traits}"));
    // The files of traits and values are no manifests, wherever they stand.
    check(
        "render-folder",
        "render -f render/traits render/params.yaml render/base.yaml --trait render/traits --set parameters.logging.level=info --diff",
    );
}

#[test]
fn a_patch_that_hits_nothing_is_a_warning_and_an_error_where_that_is_wanted() {
    base("render-misses", "--trait render/doubtful/misses.yaml");
    base("render-misses-strict", "--trait render/doubtful/misses.yaml --strict");
    let quiet = kubewright(&format!("{BASE} --trait render/doubtful/misses.yaml -q"), "");
    assert!(quiet.stderr.is_empty() && !quiet.stdout.is_empty());
}

#[test]
fn nothing_is_written_where_a_trait_cannot_be_applied() {
    base("render-fails", "--trait render/doubtful/fails.yaml");
    base("render-refuses", "--trait render/doubtful/refuses.yaml");
    base("render-wrong-trait", "--trait render/doubtful/wrong.yaml");
}

#[test]
fn rendering_twice_shows_what_grows() {
    logging("render-idempotent", "--check-idempotent");
    base("render-is-idempotent", "--trait render/traits/alert.yaml --check-idempotent --diff");
    base("render-is-idempotent-strict", "--trait render/guarded.yaml --check-idempotent --strict --diff");
}

#[test]
fn a_list_that_grows_by_thousands_is_told_of_in_time() {
    let path = scratch("render-growth");
    let text = "apiVersion: v1alpha1\nkind: Trait\nmetadata: {name: growth}\nspec:\n  patches:\n  - target: {kind: A, group: '', version: v1}\n    forEach: ${lists.range(6000)}\n    var: one\n    operations: [{op: add, path: /list/-, value: '${one}'}]\n";
    fs::write(path.join("growth.yaml"), text).expect("a file");
    let output = kubewright(
        &format!("render --trait {} --check-idempotent", path.join("growth.yaml").display()),
        "{apiVersion: v1, kind: A, metadata: {name: a}}",
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // So many changes of one value are one change.
    assert!(said.contains("`list` of A `a` changes when the result is rendered again"), "{said}");
}

#[test]
fn components_among_the_files_are_rendered_for_each_environment() {
    let platform = "render -f render/platform --trait render/traits";
    check("render-full", platform);
    check("render-full-one", &format!("{platform} --component web --environment production -o json"));
    check(
        "render-full-set",
        &format!("{platform} --component default/web --set metadata.name=web --plane dataplane -q"),
    );
    check("render-full-component", &format!("{platform} --component wb"));
    check("render-full-unknown-environment", &format!("{platform} --environment qa"));
    // What is wrong with another component does not matter.
    let broken = "-f render/doubtful/component.yaml";
    check("render-full-other-is-wrong", &format!("{platform} {broken} --environment production"));
    check(
        "render-full-selected",
        &format!("{platform} {broken} --component web --environment production --sort"),
    );
    check("render-full-environment", &format!("{platform} --environment prodction"));
    let released = "render -f ../../../../examples/trait/component -f render/doubtful/idle.yaml";
    check("render-full-idle", &format!("{released} --environment idle"));
    check("render-full-without-trait", "render -f render/platform --trait render/traits/alert.yaml");
    check("render-full-params", &format!("{platform} --set parameters.replicas=3"));
    check("render-full-diff", &format!("{platform} --diff"));
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    base("render-missing-parameter", "--trait render/traits/logging.yaml");
    base(
        "render-wrong-parameter",
        "--trait render/traits/logging.yaml --set parameters.level=trace --set parameters.lvl=1 --set parameters.image=2",
    );
    base("render-missing-trait", "--trait render/traits/loging.yaml");
    base("render-no-trait", "--trait render/base.yaml");
    base("render-no-traits", "");
    base("render-missing-params", "--trait render/traits/logging.yaml --params nowhere.yaml");
    base(
        "render-params-no-map",
        "--trait render/traits/logging.yaml --params render/two.yaml --set parameters.level=info",
    );
    check("render-missing-base", "render -f nowhere.yaml --trait render/traits/alert.yaml");
    check("render-broken-base", "render -f broken render/base.yaml --trait render/traits/alert.yaml");
    check("render-empty", "render --trait render/traits/alert.yaml");
}

#[test]
fn usage_that_makes_no_sense_is_refused() {
    base("render-misspelt-set", "--trait render/traits --set paramters.level=info");
    base("render-misspelt-output", "--trait render/traits -o yml");
    base(
        "render-set-in-the-way",
        "--trait render/traits/logging.yaml --params render/params.yaml --set parameters.level.a=1",
    );
    base("render-diff-and-json", "--trait render/traits/alert.yaml --diff -o json");
    check("render-standard-input-twice", "render --trait render/traits --params -");
    check(
        "render-two-traits-of-one-name",
        "render -f render/base.yaml --trait render/traits/alert.yaml render/same",
    );
}

#[test]
fn the_examples_of_its_help_work_when_pasted() {
    let examples = "../../../../examples/trait";
    for more in [
        format!("-f {examples}/base.yaml --trait {examples}/monitoring-sidecar.yaml"),
        format!("-f {examples}/base.yaml --trait {examples}/monitoring-sidecar.yaml --diff"),
        format!("-f {examples}/base.yaml --stack {examples}/stack.yaml"),
        format!("-f {examples}/component --environment production"),
    ] {
        let output = kubewright(&format!("render {more}"), "");
        assert!(output.status.success(), "{more}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let help = String::from_utf8(kubewright("render --help", "").stdout).expect("text");
    assert!(help.contains("-f examples/trait/base.yaml --stack examples/trait/stack.yaml"));
}

/// Returns a new folder for what a test writes.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

/// Returns the names of all files below `path`.
fn files(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(path).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.path().is_dir() {
            true => names.extend(files(&entry.path()).iter().map(|inner| format!("{name}/{inner}"))),
            false => names.push(name),
        }
    }
    names.sort();
    names
}

#[test]
fn a_folder_gets_one_file_for_each_manifest() {
    let path = scratch("render-folder");
    let traits = "--trait render/traits --params render/by-name.yaml";
    let output = kubewright(&format!("{BASE} {traits} --output-dir {}", path.display()), "");
    assert!(output.status.success() && output.stdout.is_empty());
    let want = [
        "configmap-shop-web-logging.yaml",
        "deployment-shop-web.yaml",
        "observabilityplane/prometheusrule-shop-web-development-alert.yaml",
    ];
    assert_eq!(files(&path), want);
}

#[test]
fn components_have_folders_of_their_own() {
    let path = scratch("render-full");
    let output = kubewright(
        &format!(
            "render -f render/platform --trait render/traits --environment production --output-dir {}",
            path.display()
        ),
        "",
    );
    assert!(output.status.success() && output.stdout.is_empty());
    let files = files(&path);
    let folders: Vec<&str> = files.iter().filter_map(|file| Some(file.rsplit_once('/')?.0)).collect();
    let (store, web) = ("production/store", "production/web");
    assert_eq!(folders, [store, "production/store/observabilityplane", web, web, web]);
}

#[test]
fn no_name_of_a_component_leads_out_of_the_folder() {
    let path = scratch("render-dots");
    let text = "apiVersion: openchoreo.dev/v1alpha1\nkind: ComponentType\nmetadata: {name: plain}\nspec:\n  workloadType: deployment\n  resources: [{id: deployment, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}]\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: Component\nmetadata: {name: ..}\nspec: {owner: {projectName: shop}, componentType: {kind: ComponentType, name: deployment/plain}}\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: Workload\nmetadata: {name: web}\nspec: {owner: {projectName: shop, componentName: ..}, container: {image: web}}\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: Environment\nmetadata: {name: ..}\nspec: {}\n";
    fs::write(path.join("all.yaml"), text).expect("a file");
    let output = kubewright(&format!("render -f {0}/all.yaml --output-dir {0}/in/side", path.display()), "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(files(&path), ["all.yaml", "in/side/__/__/deployment-web.yaml"]);
}

#[test]
fn what_was_read_is_not_written_over() {
    let path = scratch("render-in-place");
    let manifest = path.join("deployment-shop-web.yaml");
    let base = fs::read_to_string(folder("fixtures").join("render/base.yaml")).expect("a fixture");
    fs::write(&manifest, &base).expect("a file");
    let at = path.display();
    let output =
        kubewright(&format!("render -f {at} --trait render/traits/alert.yaml --output-dir {at} -q"), "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is read, and would be written over"), "{said}");
    assert_eq!(files(&path), ["deployment-shop-web.yaml"]);
    assert_eq!(fs::read_to_string(&manifest).expect("the file"), base);
}
