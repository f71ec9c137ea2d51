//! The example policies as Kyverno packages of Artifact Hub: `artifacthub-pkg.yml` beside each, made from its metadata.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubewright_value::{Value, yaml};

use super::{VERSION, check_generated, documents, empty_folder, items, read, repository, run, texts};

/// The kinds that Kyverno itself reads; a ValidatingAdmissionPolicy is no policy of Kyverno.
const KINDS: [&str; 4] = ["ClusterPolicy", "Policy", "ClusterCleanupPolicy", "CleanupPolicy"];

/// Every `policy.yaml` of the examples whose first document is a policy of Kyverno.
fn policies() -> Vec<PathBuf> {
    let mut folders = vec![repository("examples/kyverno"), repository("examples/admission")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.file_name().is_some_and(|name| name == "policy.yaml") {
                found.push(entry);
            }
        }
    }
    found.retain(|path| policy(path).is_some());
    found.sort();
    found
}

/// The policy of a file: its text and the first document.
fn policy(path: &Path) -> Option<(String, Value)> {
    let text = fs::read_to_string(path).expect("a policy");
    let document = documents(&text).into_iter().find(|document| {
        let kind = document.str_at(&["kind"]);
        KINDS.contains(&kind) || document.str_at(&["apiVersion"]).starts_with("policies.kyverno.io/")
    })?;
    Some((text, document))
}

/// The first comment of a file, in one line.
fn comment(text: &str) -> String {
    let lines =
        text.lines().take_while(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    lines.collect::<Vec<_>>().join(" ")
}

/// `team-label` as a title.
fn title(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What the policy is about: its annotation, else the resources or kinds that it names first.
fn subject(policy: &Value) -> String {
    let resources = items(policy, &["spec", "matchConstraints", "resourceRules"]).iter();
    let mut named: Vec<String> = resources.flat_map(|rule| texts(rule, &["resources"])).collect();
    if named.is_empty() {
        let rules = items(policy, &["spec", "rules"]).iter();
        let any = rules.flat_map(|rule| items(rule, &["match", "any"]).to_vec());
        named = any.flat_map(|entry| texts(&entry, &["resources", "kinds"])).collect();
    }
    named.dedup();
    if named.is_empty() { "any".to_owned() } else { named.join(", ") }
}

/// The day on which this version was released, from the changelog.
fn created() -> String {
    let changelog = read("CHANGELOG.md");
    let line =
        changelog.lines().find(|line| line.starts_with(&format!("## {VERSION} ("))).expect("this version");
    let day = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(day, _)| day);
    format!("{day}T00:00:00Z")
}

/// A text on one line, in quotes.
fn quoted(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The text of `artifacthub-pkg.yml` for the policy at `path`.
fn package(path: &Path) -> String {
    let (text, policy) = policy(path).expect("a policy");
    // Some rules are there twice, as a pattern and in CEL.
    let suffix = if KINDS.contains(&policy.str_at(&["kind"])) { "" } else { "-cel" };
    let name = format!("{}{suffix}", policy.str_at(&["metadata", "name"]));
    let annotated = |key: &str| {
        let value = policy.str_at(&["metadata", "annotations", &format!("policies.kyverno.io/{key}")]);
        (!value.is_empty()).then(|| value.to_owned())
    };
    let folder = path.parent().expect("a folder").strip_prefix(repository("")).expect("in the repository");
    let folder = folder.display();
    let description = annotated("description").unwrap_or_else(|| comment(&text));
    let tools =
        if path.with_file_name("kyverno-test.yaml").is_file() { ", or with the Kyverno CLI" } else { "" };
    let group = if KINDS.contains(&policy.str_at(&["kind"])) { "1.13.0" } else { "1.17.0" };
    let mut package = String::from("# Made from policy.yaml by `make packages`.\n");
    let _ = write!(
        package,
        "name: {name}\nversion: {VERSION}\ndisplayName: {}\ndescription: {}\ncreatedAt: {}\nlicense: Apache-2.0\n\
         homeURL: https://github.com/OWNER/kubewright/tree/main/{folder}\n",
        quoted(&annotated("title").unwrap_or_else(|| title(policy.str_at(&["metadata", "name"])))),
        quoted(&description),
        quoted(&created()),
    );
    let _ = write!(
        package,
        "install: |\n  kubectl apply -f https://raw.githubusercontent.com/OWNER/kubewright/main/{folder}/policy.yaml\n\
         readme: |\n  {}\n\n  Its tests run without a cluster: `kubewright test {folder}`{tools}.\n\
         keywords: [kyverno, kubewright]\n",
        description.split_whitespace().collect::<Vec<_>>().join(" "),
    );
    let _ = write!(
        package,
        "annotations:\n  kyverno/category: {}\n  kyverno/subject: {}\n  kyverno/kubernetesVersion: \"1.28-1.36\"\n  kyverno/version: {group}\n",
        quoted(&annotated("category").unwrap_or_else(|| "other".to_owned())),
        quoted(&annotated("subject").unwrap_or_else(|| subject(&policy))),
    );
    package
}

#[test]
fn every_example_policy_has_a_package() {
    let policies = policies();
    assert!(policies.len() > 70, "{}", policies.len());
    let mut outdated = Vec::new();
    for path in &policies {
        check_generated(&path.with_file_name("artifacthub-pkg.yml"), &package(path), &mut outdated);
    }
    assert!(outdated.is_empty(), "run `make packages`: {outdated:?}");
}

#[test]
fn a_package_has_the_fields_that_artifact_hub_requires() {
    let mut names = Vec::new();
    for path in policies() {
        let package = yaml::parse(&package(&path)).expect("YAML");
        for field in [
            "name",
            "version",
            "displayName",
            "createdAt",
            "description",
            "license",
            "homeURL",
            "install",
            "readme",
        ] {
            assert!(!package.str_at(&[field]).is_empty(), "{}: no {field}", path.display());
        }
        for field in ["category", "subject", "version", "kubernetesVersion"] {
            let key = format!("kyverno/{field}");
            assert!(
                package.at(&["annotations", &key]).and_then(Value::as_str).is_some(),
                "{}: no {key}",
                path.display()
            );
        }
        names.push(package.str_at(&["name"]).to_owned());
    }
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "two packages have one name");
}

#[test]
fn the_published_tree_has_policies_under_their_names() {
    let folder = empty_folder("artifacthub");
    let (code, text) = run(Command::new(repository("packaging/artifacthub")).arg(&folder));
    assert_eq!(code, 0, "{text}");
    let package = folder.join("fixed-image-tags").join(VERSION);
    assert!(package.join("artifacthub-pkg.yml").is_file() && package.join("fixed-image-tags.yaml").is_file());
    assert!(folder.join("artifacthub-repo.yml").is_file());
    assert_eq!(fs::read_dir(&folder).expect("packages").count(), policies().len() + 1);
}
