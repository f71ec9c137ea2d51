//! Files: what is written is not what is read, what others name stays in the project, and what kubectl would create is looked
//! at or told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::kubewright_in;

const RULE: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: labels}\nspec:\n  validationFailureAction: Enforce\n  rules:\n  - name: app\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: refused, pattern: {metadata: {labels: {app: '?*'}}}}\n";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n";

/// Makes an empty folder that is in no repository but that of the build, with a rule and a Pod in it.
fn project(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("files").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("rule.yaml"), RULE).expect("a file");
    fs::write(folder.join("pod.yaml"), POD).expect("a file");
    folder
}

fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// Runs the command and checks that it is refused, and that each of `files` is as it was.
#[track_caller]
fn refused(folder: &Path, arguments: &str, files: &[&str]) {
    let read = |file: &&str| fs::read(folder.join(file)).expect("a file");
    let before: Vec<Vec<u8>> = files.iter().map(read).collect();
    let output = kubewright_in(folder, arguments, "");
    assert_eq!(output.status.code(), Some(2), "{arguments}: {}", said(&output));
    assert!(said(&output).contains("would be written over"), "{arguments}: {}", said(&output));
    assert_eq!(files.iter().map(read).collect::<Vec<_>>(), before, "{arguments}");
}

#[test]
fn no_output_of_apply_takes_the_place_of_anything_that_is_read() {
    let folder = project("apply");
    fs::write(folder.join("exception.yaml"), "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e}\nspec:\n  exceptions: [{policyName: labels, ruleNames: [app]}]\n  match: {any: [{resources: {kinds: [Pod], names: [x]}}]}\n").expect("a file");
    fs::write(folder.join("world.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
        .expect("a file");
    fs::write(
        folder.join("user.yaml"),
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nmetadata: {name: u}\nuserInfo: {username: a}\n",
    )
    .expect("a file");
    fs::write(
        folder.join("values.yaml"),
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nmetadata: {name: v}\nglobalValues: {a: b}\n",
    )
    .expect("a file");
    fs::hard_link(folder.join("rule.yaml"), folder.join("hard.yaml")).expect("a hard link");
    #[cfg(unix)]
    std::os::unix::fs::symlink("rule.yaml", folder.join("soft.yaml")).expect("a link");
    let inputs = ["rule.yaml", "pod.yaml", "exception.yaml", "world.yaml", "user.yaml", "values.yaml"];
    let given = "rule.yaml -r pod.yaml --exceptions exception.yaml --world world.yaml --userinfo user.yaml --values-file values.yaml";
    for format in
        ["table", "json", "yaml", "junit", "sarif", "github", "markdown", "policyreport", "openreports"]
    {
        for input in inputs {
            refused(&folder, &format!("apply {given} -o {format}={input}"), &inputs);
        }
    }
    for link in ["hard.yaml", "soft.yaml", "./rule.yaml", "../apply/rule.yaml"] {
        refused(&folder, &format!("apply {given} -o json={link}"), &inputs);
    }
}

#[test]
fn objects_are_not_written_over_manifests_and_not_through_links() {
    let folder = project("objects");
    let out = folder.join("out");
    fs::create_dir_all(&out).expect("a folder");
    fs::hard_link(folder.join("pod.yaml"), out.join("pod-shop-web.yaml")).expect("a hard link");
    refused(&folder, "apply rule.yaml -r pod.yaml --output-objects out", &["pod.yaml", "rule.yaml"]);
    fs::remove_file(out.join("pod-shop-web.yaml")).expect("a file");
    #[cfg(unix)]
    {
        fs::write(folder.join("other.txt"), "mine").expect("a file");
        std::os::unix::fs::symlink("../other.txt", out.join("pod-shop-web.yaml")).expect("a link");
        refused(&folder, "apply rule.yaml -r pod.yaml --output-objects out", &["other.txt"]);
    }
}

#[test]
fn no_output_of_other_commands_takes_the_place_of_what_is_read() {
    let folder = project("others");
    let trait_file = "apiVersion: v1alpha1\nkind: Trait\nmetadata: {name: t}\nspec: {patches: [{target: {kind: Pod, group: '', version: v1}, operations: [{op: add, path: /metadata/labels/a, value: b}]}]}\n";
    fs::write(folder.join("trait.yaml"), trait_file).expect("a file");
    fs::hard_link(folder.join("pod.yaml"), folder.join("hard.yaml")).expect("a hard link");
    let inputs = ["rule.yaml", "pod.yaml", "trait.yaml"];
    for output in ["pod.yaml", "hard.yaml"] {
        for format in ["json", "sarif", "junit", "markdown"] {
            refused(&folder, &format!("detect naked-pod -r pod.yaml -o {format}={output}"), &inputs);
        }
        for format in ["svg", "html", "json", "dot", "mermaid"] {
            refused(&folder, &format!("graph -r pod.yaml -o {format}={output}"), &inputs);
        }
    }
    fs::create_dir_all(folder.join("in")).expect("a folder");
    fs::copy(folder.join("pod.yaml"), folder.join("in/pod-shop-web.yaml")).expect("a copy");
    refused(&folder, "render -f in --trait trait.yaml --output-dir in", &["in/pod-shop-web.yaml"]);
    refused(&folder, "serve --offline -p rule.yaml --write-ca rule.yaml", &inputs);
}

/// Writes a test file whose `rules` are `rules` and runs it in `folder`.
fn tested(folder: &Path, rules: &str, options: &str) -> Output {
    let text = format!(
        "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nmetadata: {{name: t}}\nrules: {rules}\nresources: pod.yaml\ncases: [{{resource: web, allowed: false}}]\n"
    );
    fs::write(folder.join("kubewright-test.yaml"), text).expect("a file");
    kubewright_in(folder, &format!("test . {options}"), "")
}

/// Makes a project in a folder that is in no repository.
fn lonely(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("kubewright-{}-{name}", std::process::id())).join("project");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("pod.yaml"), POD).expect("a file");
    fs::write(folder.join("rule.yaml"), RULE).expect("a file");
    folder
}

#[test]
fn files_that_a_test_names_stay_in_the_project() {
    let folder = lonely("named");
    let outside = folder.with_file_name("outside.yaml");
    fs::write(&outside, RULE).expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, folder.join("link.yaml")).expect("a link");
    for rules in ["../outside.yaml", "../*.yaml", "link.yaml", &outside.to_string_lossy()] {
        let output = tested(&folder, rules, "");
        assert!(said(&output).contains("KW-F004"), "{rules}: {}", said(&output));
        assert_eq!(output.status.code(), Some(2), "{rules}");
        let output = tested(&folder, rules, "--allow-outside");
        assert!(!said(&output).contains("KW-F004"), "{rules}: {}", said(&output));
    }
    let output = tested(&folder, "./rule.yaml", "");
    assert!(!said(&output).contains("KW-F004"), "{}", said(&output));
    // The repository is one project, wherever in it the test stands.
    let below = folder.join("tests");
    fs::create_dir_all(&below).expect("a folder");
    fs::create_dir_all(folder.join(".git")).expect("a folder");
    fs::copy(folder.join("pod.yaml"), below.join("pod.yaml")).expect("a copy");
    let output = tested(&below, "../rule.yaml", "");
    assert!(!said(&output).contains("KW-F004"), "{}", said(&output));
    let _ = fs::remove_dir_all(folder.parent().expect("a folder"));
}

#[test]
fn a_hidden_folder_with_tests_belongs_to_the_folder_that_it_is_in() {
    let folder = lonely("hidden");
    let tests = folder.join(".kyverno-test");
    fs::create_dir_all(&tests).expect("a folder");
    fs::write(tests.join("kyverno-test.yaml"), "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [../rule.yaml]\nresources: [../pod.yaml]\nresults: [{policy: labels, rule: app, resources: [web], kind: Pod, result: fail}]\n").expect("a file");
    let output = kubewright_in(&tests, "test .", "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let _ = fs::remove_dir_all(folder.parent().expect("a folder"));
}

#[test]
fn no_line_of_a_file_that_is_no_document_is_shown() {
    let folder = lonely("shown");
    let secret = "CI_TOKEN=topsecret: {[}\nanother: line\n";
    fs::write(folder.join("environ"), secret).expect("a file");
    fs::create_dir_all(folder.join("world")).expect("a folder");
    for (file, options) in
        [("environ", ""), ("/etc/passwd", "--allow-outside"), ("/proc/self/environ", "--allow-outside")]
    {
        for arguments in [
            format!("lint {file}"),
            format!("apply {file} -r pod.yaml"),
            format!("apply rule.yaml -r {file}"),
            format!("apply rule.yaml -r pod.yaml --world {file}"),
            format!("render -f {file} --trait rule.yaml"),
            format!("detect naked-pod -r {file}"),
        ] {
            let output = kubewright_in(&folder, &arguments, "");
            let said = said(&output);
            assert!(
                !["topsecret", "root:", "PATH="].iter().any(|text| said.contains(text)),
                "{arguments}: {said}"
            );
        }
        let said = said(&tested(&folder, file, options));
        assert!(!["topsecret", "root:", "PATH="].iter().any(|text| said.contains(text)), "{file}: {said}");
    }
    let _ = fs::remove_dir_all(folder.parent().expect("a folder"));
}

/// Checks that the Pod in `manifest` is refused, and that `told` is said.
#[track_caller]
fn judged(manifest: &str, told: &str) {
    let folder = project("judged");
    fs::write(folder.join("manifest.yaml"), manifest).expect("a file");
    let output = kubewright_in(&folder, "apply rule.yaml -r manifest.yaml", "");
    assert_eq!(output.status.code(), Some(1), "{manifest}: {}", said(&output));
    assert!(
        said(&output).contains("refused") && said(&output).contains(told),
        "{manifest}: {}",
        said(&output)
    );
}

#[test]
fn what_kubectl_takes_for_a_list_is_one() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}}";
    judged(&format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\nitems: [{pod}]\n"), "KW-F006");
    judged(&format!("apiVersion: example.com/v1\nkind: Widget\nitems: [{pod}]\n"), "KW-F006");
    judged("apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: web}}]\n", "");
    judged("apiVersion: v1\nkind: Pod\nitems: [{metadata: {name: web}}]\n", "KW-F006");
    judged("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nitems: text\n", "KW-F006");
    let nested = |depth: usize| {
        (0..depth)
            .fold(pod.to_owned(), |inner, _| format!("{{apiVersion: v1, kind: List, items: [{inner}]}}"))
    };
    judged(&nested(9), "");
    judged(&nested(40), "");
    let folder = project("deep");
    fs::write(folder.join("manifest.yaml"), nested(80)).expect("a file");
    let output = kubewright_in(&folder, "apply rule.yaml -r manifest.yaml", "");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("KW-F007"), "{}", said(&output));
}

#[test]
fn items_of_a_large_list_have_the_kind_of_the_list() {
    let items: String = (0..20_000).map(|at| format!("- metadata:\n    name: web-{at}\n    annotations: {{note: 'a long text that fills the file'}}\n")).collect();
    judged(&format!("apiVersion: v1\nitems:\n{items}kind: PodList\n"), "20,000 fail");
}

#[test]
fn manifests_that_are_left_out_of_a_folder_are_told() {
    for name in [".web.yaml", "kyverno-test.yaml", "kubewright-test.yaml"] {
        let folder = project("left-out");
        let manifests = folder.join("manifests");
        fs::create_dir_all(&manifests).expect("a folder");
        fs::write(manifests.join("other.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
            .expect("a file");
        fs::write(manifests.join(name), POD).expect("a file");
        let output = kubewright_in(&folder, "apply rule.yaml -r manifests", "");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("KW-F008") && stderr.contains(name), "{name}: {stderr}");
        fs::write(manifests.join(name), "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\n").expect("a file");
        let output = kubewright_in(&folder, "apply rule.yaml -r manifests", "");
        assert!(!said(&output).contains("KW-F008"), "{name}: {}", said(&output));
    }
}

#[test]
fn descriptions_of_packages_beside_policies_are_no_manifests() {
    let folder = project("packages");
    let policies = folder.join("policies/labels");
    fs::create_dir_all(&policies).expect("a folder");
    fs::write(policies.join("labels.yaml"), RULE).expect("a file");
    fs::write(policies.join("artifacthub-pkg.yml"), "name: labels\nversion: 1.0.0\n").expect("a file");
    for arguments in
        ["apply policies -r pod.yaml", "lint policies", "apply rule.yaml -r policies -r pod.yaml"]
    {
        let output = kubewright_in(&folder, arguments, "");
        assert!(!said(&output).contains("artifacthub"), "{arguments}: {}", said(&output));
    }
    let named = kubewright_in(&folder, "apply rule.yaml -r policies/labels/artifacthub-pkg.yml", "");
    assert!(said(&named).contains("KW-F003"), "{}", said(&named));
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_of_a_folder_is_followed_once() {
    use std::os::unix::fs::symlink;
    let folder = project("linked");
    let manifests = folder.join("manifests");
    fs::create_dir_all(&manifests).expect("a folder");
    fs::write(manifests.join("other.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
        .expect("a file");
    symlink("../pod.yaml", manifests.join("web.yaml")).expect("a link");
    symlink("../pod.yaml", manifests.join("web-again.yaml")).expect("a link");
    symlink("../manifests", manifests.join("circle")).expect("a link");
    symlink("..", manifests.join("up")).expect("a link");
    let output = kubewright_in(&folder, "apply rule.yaml -r manifests", "");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("2 objects, 1 outcome: 1 fail"), "{}", said(&output));
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_are_counted() {
    let folder = project("broken-links");
    let manifests = folder.join("manifests");
    fs::create_dir_all(&manifests).expect("a folder");
    fs::copy(folder.join("pod.yaml"), manifests.join("pod.yaml")).expect("a copy");
    for name in ["a.yaml", "b.yaml"] {
        std::os::unix::fs::symlink("nowhere.yaml", manifests.join(name)).expect("a link");
    }
    let output = kubewright_in(&folder, "apply rule.yaml -r manifests", "");
    assert!(said(&output).contains("KW-F009"), "{}", said(&output));
    assert!(said(&output).contains("`manifests/a.yaml` and 1 other link"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    // Named itself it is an error, and its own name is no suggestion.
    let output = kubewright_in(&folder, "apply rule.yaml -r manifests/a.yaml", "");
    assert!(said(&output).contains("it is a link to `nowhere.yaml`"), "{}", said(&output));
    assert!(!said(&output).contains("did you mean"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[cfg(unix)]
#[test]
fn files_that_a_project_has_written_stay_in_the_project() {
    let folder = lonely("outputs");
    let outside = folder.with_file_name("outside.json");
    fs::create_dir_all(folder.join(".git")).expect("a folder");
    fs::write(folder.join(".git/config"), "[core]\n").expect("a file");
    std::os::unix::fs::symlink(&outside, folder.join("link.json")).expect("a link");
    std::os::unix::fs::symlink("..", folder.join("up")).expect("a link");
    let absolute = outside.to_string_lossy().into_owned();
    for file in ["../outside.json", &absolute, "link.json", "up/outside.json", ".git/config", ".git/hooks/x"]
    {
        fs::write(folder.join("kubewright.yaml"), format!("outputs: ['json={file}']\n")).expect("a file");
        let output = kubewright_in(&folder, "apply rule.yaml -r pod.yaml", "");
        assert!(said(&output).contains("KW-F004"), "{file}: {}", said(&output));
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(!outside.exists(), "{file}");
    }
    assert_eq!(fs::read_to_string(folder.join(".git/config")).expect("a file"), "[core]\n");
    fs::write(folder.join("kubewright.yaml"), "outputs: ['json=out/report.json']\n").expect("a file");
    fs::create_dir_all(folder.join("out")).expect("a folder");
    let output = kubewright_in(&folder, "apply rule.yaml -r pod.yaml", "");
    assert!(folder.join("out/report.json").exists(), "{}", said(&output));
}

#[cfg(unix)]
#[test]
fn links_in_folders_that_a_test_names_stay_in_the_project() {
    let folder = lonely("linked-folder");
    fs::write(folder.with_file_name("outside.yaml"), RULE).expect("a file");
    fs::create_dir_all(folder.join("rules")).expect("a folder");
    fs::copy(folder.join("rule.yaml"), folder.join("rules/rule.yaml")).expect("a copy");
    std::os::unix::fs::symlink("../../outside.yaml", folder.join("rules/link.yaml")).expect("a link");
    std::os::unix::fs::symlink("../rules", folder.join("rules/circle")).expect("a link");
    let output = tested(&folder, "rules", "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn an_item_of_a_list_without_a_type_is_an_error() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  metadata: {name: a}\n- apiVersion: v1\n  metadata: {name: b}\n";
    let folder = project("untyped-items");
    fs::write(folder.join("list.yaml"), format!("{list}- {}", POD.replace('\n', "\n  "))).expect("a file");
    let output = kubewright_in(&folder, "apply rule.yaml -r list.yaml", "");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    for part in
        ["is a Pod, but has no apiVersion", "list.yaml:4:3", "has an apiVersion, but no kind", "1 fail"]
    {
        assert!(said(&output).contains(part), "{part}: {}", said(&output));
    }
}

#[test]
fn namespaces_of_standard_input_are_selected_by_their_labels() {
    let folder = project("namespaces");
    let rule =
        RULE.replace("kinds: [Pod]", "kinds: [Pod], namespaceSelector: {matchLabels: {env: production}}");
    fs::write(folder.join("rule.yaml"), rule).expect("a file");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {env: production}}\n";
    let output = kubewright_in(
        &folder,
        "apply rule.yaml -r - --stdin-name k8s/all.yaml -o github",
        &format!("{POD}---\n{namespace}"),
    );
    assert!(said(&output).contains("::error file=k8s/all.yaml,line=3"), "{}", said(&output));
}

#[cfg(unix)]
#[test]
fn half_of_a_link_loop_is_not_taken_for_a_misspelling_of_the_other() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("link-loop");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    for (target, link) in [("loop2", "loop1"), ("loop1", "loop2")] {
        std::os::unix::fs::symlink(target, folder.join(link)).expect("a link");
    }
    let output = kubewright_in(&folder, "detect -r loop2", "");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("cannot read `loop2`") && !told.contains("did you mean"), "{told}");
}
