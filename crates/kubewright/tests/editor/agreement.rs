//! The server says about every rule file of a project what `kubewright lint` says: the same codes at the same places with
//! the same severities.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubewright_value::{Value, json};

use super::client::EditorClient;
use super::{EXCEPTION, POLICY, pulling};

const TRAIT: &str = "\
apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: storage}
spec:
  creates:
  - template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
";

const COMPONENT: &str = "\
apiVersion: openchoreo.dev/v1alpha1
kind: Component
metadata: {name: web}
spec:
  componentType: deployment/service
  traits:
  - {name: stroage, instanceName: a}
";

const BOUND: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations:
  - expression: object.spec.replicas <= 'five'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec: {policyName: replica, validationActions: [Deny]}
";

/// Returns a project with mistakes of every sort, in one file and between files.
fn broken_files() -> Vec<(String, String)> {
    let files = [
        ("rules/fields.yaml", POLICY.replace("validate:", "valdiate:").replace("any:", "anny:")),
        ("rules/values.yaml", POLICY.replace("Enforce", "Enfroce").replace("name: labels", "name: values")),
        ("rules/twice.yaml", format!("{POLICY}---\n# the same\n{POLICY}")),
        ("rules/open.yaml", format!("{}---\nkind: \"open\n", POLICY.replace("name: labels", "name: open"))),
        ("rules/trait.yaml", format!("{TRAIT}---\n{}", TRAIT.replace("v1, kind", "v2, kind"))),
        ("rules/component.yaml", COMPONENT.to_owned()),
        ("rules/bound.yaml", BOUND.to_owned()),
        ("rules/misnamed.yaml", POLICY.replace("ClusterPolicy", "ClusterPolcy")),
        ("rules/listed.yaml", listed(&POLICY.replace("name: labels", "name: listed").replace("Pod", "Pdo"))),
        ("rules/unused.yaml", EXCEPTION.replace("policyName: labels", "policyName: lables")),
        ("exceptions/used.yaml", EXCEPTION.replace("policyName: labels", "policyName: lables")),
    ];
    files.map(|(name, text)| (name.to_owned(), text)).to_vec()
}

/// Returns a list with a document.
fn listed(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    if let Some(first) = lines.first_mut() {
        first.replace_range(..1, "-");
    }
    format!("apiVersion: v1\nkind: List\nitems:\n{}\n", lines.join("\n"))
}

/// Returns the files of the examples, in the folder of rules.
fn example_files() -> Vec<(String, String)> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![examples.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_yaml = path.extension().is_some_and(|extension| extension == "yaml");
            if path.is_dir() {
                folders.push(path);
            } else if is_yaml {
                let name = path.strip_prefix(&examples).expect("an example").display();
                found.push((format!("rules/{name}"), fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    found
}

/// Returns what `lint` says about each file.
fn linted(root: &Path) -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(["lint", "-o", "json"])
        .current_dir(root)
        .output()
        .expect("the program");
    let report = json::parse(&String::from_utf8(output.stdout).expect("text")).expect("JSON");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in report.get("diagnostics").and_then(Value::as_array).expect("diagnostics") {
        let number = |key| one.get(key).and_then(Value::as_i64).expect("a number") - 1;
        let severity = match one.str_at(&["severity"]) {
            "error" => 1,
            "warning" => 2,
            _ => 4,
        };
        let shown = format!("{}:{} {severity} {}", number("line"), number("column"), one.str_at(&["code"]));
        found.entry(one.str_at(&["file"]).to_owned()).or_default().push(shown);
    }
    found
}

/// Compares what `lint` and the server say about every file.
fn check(name: &str, mut files: Vec<(String, String)>) -> usize {
    let has_exceptions = files.iter().any(|(name, _)| name.starts_with("exceptions/"));
    let exceptions = if has_exceptions { "exceptions: [exceptions]\n" } else { "" };
    files.push(("kubewright.yaml".to_owned(), format!("rules: [rules]\n{exceptions}")));
    let given: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut client = EditorClient::start(name, &given, pulling());
    let mut linted = linted(&client.root);
    let count = linted.values().map(Vec::len).sum();
    for (file, text) in files.iter().filter(|(file, _)| !is_own(file)) {
        client.open(file, text);
        let mut said: Vec<String> = client
            .pull(file)
            .iter()
            .map(|one| {
                // `line:column-column severity code message`
                let mut words = one.split(' ');
                let place = words.next().and_then(|place| place.split('-').next()).unwrap_or_default();
                format!("{place} {} {}", words.next().unwrap_or_default(), words.next().unwrap_or_default())
            })
            .collect();
        let mut wanted = linted.remove(file).unwrap_or_default();
        said.sort();
        wanted.sort();
        assert_eq!(said, wanted, "{file}:\n{text}");
    }
    assert!(linted.is_empty(), "{linted:#?}");
    client.stop();
    count
}

/// Returns whether a file is about tests or projects, which `lint` does not read.
fn is_own(file: &str) -> bool {
    ["kubewright-test.yaml", "kubewright.yaml", "kyverno-test.yaml"].iter().any(|own| file.ends_with(own))
}

#[test]
fn lint_and_the_server_agree_about_the_examples() {
    check("agreement", example_files());
}

#[test]
fn lint_and_the_server_agree_about_mistakes() {
    let count = check("agreement-broken", broken_files());
    assert!(count >= 10, "only {count} mistakes");
}

#[test]
fn severities_of_the_project_are_those_of_the_editor() {
    let project = "rules: [rules]\nresources: [manifests]\nseverities: {labels/*: low}\n";
    let audit = POLICY.replace("Enforce", "Audit");
    let files = [
        ("kubewright.yaml", project),
        ("rules/labels.yaml", audit.as_str()),
        ("manifests/pod.yaml", super::POD),
    ];
    let mut client = EditorClient::start("severities", &files, pulling());
    client.open("manifests/pod.yaml", super::POD);
    let found = client.pull("manifests/pod.yaml");
    assert!(found.first().is_some_and(|one| one.contains(" 3 kyverno/labels/team ")), "{found:#?}");
    client.stop();
}
