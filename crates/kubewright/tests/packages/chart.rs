//! The Helm chart for OCI registries and Artifact Hub.

use std::fs;
use std::process::Command;

use kubewright_controlplane::{TestRegistry, announce_skipped, programs};
use kubewright_value::{Value, yaml};

use super::{VERSION, documents, empty_folder, items, read, read_yaml, repository, run};

/// The nested YAML of an annotation.
fn annotation(chart: &Value, name: &str) -> Value {
    let text = chart.str_at(&["annotations", &format!("artifacthub.io/{name}")]);
    yaml::parse(text).unwrap_or_else(|error| unreachable!("{name}: {error}"))
}

/// The definitions of the chart: kind, version and plural with group.
fn definitions() -> Vec<Value> {
    let folder = repository("charts/kubewright/files/crds");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("definitions").flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().flat_map(|path| documents(&fs::read_to_string(path).expect("a file"))).collect()
}

#[test]
fn artifact_hub_gets_every_definition() {
    let mut text = String::new();
    for definition in definitions() {
        let name = definition.str_at(&["metadata", "name"]);
        let kind = definition.str_at(&["spec", "names", "kind"]);
        let stored = items(&definition, &["spec", "versions"]).iter();
        let stored = stored.filter(|version| version.get("storage").and_then(Value::as_bool) == Some(true));
        for version in stored {
            let version = version.str_at(&["name"]);
            let group = definition.str_at(&["spec", "group"]);
            text += &format!(
                "    - kind: {kind}\n      version: {version}\n      name: {name}\n      displayName: {kind}\n      description: {kind} of {group}\n"
            );
        }
    }
    let path = repository("charts/kubewright/Chart.yaml");
    let chart = fs::read_to_string(&path).expect("the chart");
    let (head, rest) = chart.split_once("  artifacthub.io/crds: |\n").expect("the annotation");
    let tail = &rest[rest.find("  artifacthub.io/crdsExamples").expect("the next annotation")..];
    let mut outdated = Vec::new();
    super::check_generated(&path, &format!("{head}  artifacthub.io/crds: |\n{text}{tail}"), &mut outdated);
    assert!(outdated.is_empty(), "run `make packages`: {outdated:?}");
}

#[test]
fn the_chart_has_what_a_catalogue_shows() {
    let chart = read_yaml("charts/kubewright/Chart.yaml");
    for field in ["description", "home", "icon", "kubeVersion"] {
        assert!(!chart.str_at(&[field]).is_empty(), "no {field}");
    }
    assert!(!items(&chart, &["sources"]).is_empty());
    let image = annotation(&chart, "images");
    assert_eq!(
        image.item(0).map(|image| image.str_at(&["image"])),
        Some(format!("ghcr.io/OWNER/kubewright:{VERSION}").as_str())
    );
    for list in ["links", "changes", "crds", "crdsExamples"] {
        assert!(
            annotation(&chart, list).as_array().is_some_and(|items| !items.is_empty()),
            "{list} is no list"
        );
    }
    let kinds = ["added", "changed", "deprecated", "removed", "fixed", "security"];
    let changes = annotation(&chart, "changes");
    for change in changes.as_array().unwrap_or_default() {
        assert!(kinds.contains(&change.str_at(&["kind"])));
    }
    let icon = read("docs/pictures/icon.svg");
    assert!(chart.str_at(&["icon"]).ends_with("/docs/pictures/icon.svg") && icon.starts_with("<svg "));
}

#[test]
fn the_examples_of_the_chart_are_rules_without_mistakes() {
    let folder = empty_folder("chart-examples");
    let chart = read_yaml("charts/kubewright/Chart.yaml");
    let examples = annotation(&chart, "crdsExamples");
    for (number, example) in examples.as_array().unwrap_or_default().iter().enumerate() {
        fs::write(folder.join(format!("{number}.yaml")), yaml::write(example)).expect("a file");
    }
    let (code, text) = run(Command::new(super::BINARY).args(["lint", "--deny-warnings"]).arg(&folder));
    assert_eq!(code, 0, "{text}");
}

#[test]
fn helm_lints_packages_and_pushes_the_chart() {
    let folder = match programs(&["helm"]) {
        Ok(folder) => folder,
        Err(error) => return announce_skipped(&error.to_string()),
    };
    let Some(registry) = TestRegistry::start(None) else { return };
    let target = empty_folder("helm");
    let helm = |arguments: &[&str]| {
        let mut command = Command::new(folder.join("helm"));
        command.args(arguments).current_dir(&target).env("HOME", &target);
        let (code, text) = run(&mut command);
        assert_eq!(code, 0, "helm {arguments:?}: {text}");
        text
    };
    let chart = repository("charts/kubewright").display().to_string();
    let text = helm(&["lint", "--strict", &chart]);
    assert!(text.contains("0 chart(s) failed"), "{text}");
    helm(&["package", &chart]);
    let archive = format!("kubewright-{VERSION}.tgz");
    let address = format!("oci://{}/charts", registry.host());
    let text = helm(&["push", &archive, &address, "--plain-http"]);
    assert!(text.contains("Digest: sha256:"), "{text}");
    let text =
        helm(&["show", "chart", &format!("{address}/kubewright"), "--version", VERSION, "--plain-http"]);
    assert!(text.contains("artifacthub.io/crds: |"), "{text}");
    // A helm that is built from its module takes itself for one of Kubernetes 1.20, which the chart refuses.
    let pulled = format!("{address}/kubewright");
    let text = helm(&[
        "template",
        "kubewright",
        &pulled,
        "--version",
        VERSION,
        "--plain-http",
        "--kube-version",
        "1.36.0",
    ]);
    assert!(text.contains("kind: Deployment"), "{text}");
}
