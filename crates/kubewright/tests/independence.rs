//! Loading more rules changes no other rule's outcome, over the examples and contract tests of all dialects.
//!
//! A rule that changes an object changes what later rules see, which is meant. So an object that any rule changed is
//! not compared.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubewright_value::{Value, json};

/// Folders of examples and contract tests, each with one folder for each case.
const CASES: [&str; 6] = [
    "examples/admission",
    "examples/kyverno",
    "examples/modrule",
    "tests/admission",
    "tests/kyverno",
    "tests/modrule",
];

/// Files of rules and files of objects, by the names that cases give them.
const RULE_FILES: [&str; 2] = ["policy.yaml", "rule.yaml"];
const OBJECT_FILES: [&str; 2] = ["resources.yaml", "objects.yaml"];

const FIXTURES: &str = "crates/kubewright/tests/fixtures/independence";

/// The object and the rule of an outcome, with the file of the rule.
type Key = [String; 4];

/// The outcomes of objects that no rule changed.
type Outcomes = BTreeMap<Key, String>;

/// One file of rules, and the objects that were written for it.
struct IndependenceCase {
    rules: String,
    objects: Vec<String>,
}

#[test]
fn loading_more_rules_changes_no_other_outcome() {
    let cases = cases();
    let mut objects: Vec<String> = cases.iter().flat_map(|case| case.objects.iter().cloned()).collect();
    objects.sort();
    objects.dedup();
    let files = |is_meant: &dyn Fn(&str) -> bool| -> Vec<String> {
        cases.iter().map(|case| case.rules.clone()).filter(|file| is_meant(file)).collect()
    };
    let mut judging = files(&|file| !changes_objects(file));
    judging.push(format!("{FIXTURES}/idle-rule.yaml"));
    let among_judging = apply(&judging, &objects);
    let among_all = apply(&files(&|_| true), &objects);
    let (mut compared, mut different) = (0, Vec::new());
    for case in &cases {
        let alone = apply(std::slice::from_ref(&case.rules), &objects);
        for (key, alone) in &alone {
            // A rule of the same name in a later file replaces it, and then it is not loaded at all.
            for among in [&among_judging, &among_all].into_iter().filter_map(|among| among.get(key)) {
                compared += 1;
                if among != alone {
                    different.push(format!("{key:?}\n    alone: {alone}\n    among others: {among}"));
                }
            }
        }
    }
    assert!(different.is_empty(), "{} outcomes differ:\n{}", different.len(), different.join("\n"));
    assert!(compared > 5_000, "only {compared} outcomes were compared");
}

#[test]
fn loading_more_patterns_changes_no_other_finding() {
    let together = findings(None);
    assert!(together.len() > 10, "{} patterns have findings", together.len());
    for (pattern, found) in &together {
        assert_eq!(findings(Some(pattern)).get(pattern), Some(found), "{pattern}");
    }
}

#[test]
fn null_maps_are_filled_for_judging_rules_whatever_else_is_loaded() {
    let rules = format!("{FIXTURES}/null-labels.yaml");
    let objects = vec![format!("{FIXTURES}/null-maps.yaml")];
    let alone = apply(std::slice::from_ref(&rules), &objects);
    let failed = alone.values().filter(|outcome| !outcome.starts_with("pass"));
    assert_eq!(failed.cloned().collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(apply(&[rules, format!("{FIXTURES}/idle-rule.yaml")], &objects), alone);
}

/// Runs `kubewright detect` with one pattern, or with all that ship, and returns the findings of each pattern.
fn findings(pattern: Option<&String>) -> BTreeMap<String, Vec<String>> {
    let mut arguments = vec!["detect".to_owned()];
    arguments.extend(pattern.cloned());
    arguments.extend(["-r", "examples/pattern/shop.yaml"].map(str::to_owned));
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for finding in list(&report(&arguments), "findings") {
        found.entry(text(finding, "pattern")).or_default().push(json::to_string(finding));
    }
    found
}

/// Runs `kubewright apply` on objects and returns what its JSON says about those that no rule changed.
fn apply(rules: &[String], objects: &[String]) -> Outcomes {
    let mut arguments = vec!["apply".to_owned()];
    arguments.extend(rules.iter().cloned());
    arguments.extend(objects.iter().flat_map(|file| ["-r".to_owned(), file.clone()]));
    let report = report(&arguments);
    let is_unchanged = |object: &&Value| list(object, "patch").is_empty();
    list(&report, "objects").iter().filter(is_unchanged).flat_map(outcomes_of).collect()
}

/// Runs the binary in the workspace and returns what it prints as JSON.
fn report(arguments: &[String]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(arguments)
        .args(["-o", "json"])
        .current_dir(workspace())
        .output()
        .expect("the binary runs");
    json::parse(&String::from_utf8(output.stdout).expect("text")).expect("JSON")
}

fn outcomes_of(object: &Value) -> impl Iterator<Item = (Key, String)> {
    list(object, "outcomes").iter().map(|outcome| {
        let key =
            [text(object, "file"), text(object, "line"), text(outcome, "rule"), text(outcome, "ruleFile")];
        let said = ["status", "message", "path", "refuses"].map(|field| text(outcome, field));
        (key, said.join(" | "))
    })
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}

fn text(value: &Value, key: &str) -> String {
    match value.get(key) {
        Some(Value::String(text)) => text.to_string(),
        other => other.map(json::to_string).unwrap_or_default(),
    }
}

fn cases() -> Vec<IndependenceCase> {
    let mut found = Vec::new();
    for folder in CASES {
        collect_cases(Path::new(folder), &mut found);
    }
    assert!(found.len() > 100, "{} cases", found.len());
    found
}

fn collect_cases(folder: &Path, found: &mut Vec<IndependenceCase>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(workspace().join(folder))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    let file =
        |path: &PathBuf| folder.join(path.file_name().unwrap_or_default()).to_string_lossy().into_owned();
    let named = |names: &[&str]| -> Vec<String> {
        let is_named =
            |path: &&PathBuf| names.iter().any(|name| path.file_name().is_some_and(|file| file == *name));
        entries.iter().filter(is_named).map(file).collect()
    };
    let mut objects = named(&OBJECT_FILES);
    objects.push(format!("{FIXTURES}/null-maps.yaml"));
    found.extend(
        named(&RULE_FILES).into_iter().map(|rules| IndependenceCase { rules, objects: objects.clone() }),
    );
    for entry in entries.iter().filter(|entry| entry.is_dir()) {
        collect_cases(&folder.join(entry.file_name().unwrap_or_default()), found);
    }
}

/// Whether a file has a rule that changes objects.
fn changes_objects(file: &str) -> bool {
    let rules = fs::read_to_string(workspace().join(file)).expect("a file of rules");
    rules.contains("type: Patch")
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}
