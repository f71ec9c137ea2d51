//! Output for machines and for many objects.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use kubewright_value::{Value, json};

use super::{check, kubewright, kubewright_in};

/// Makes a folder with one rule and `count` Pods, of which every third has the label that the rule wants.
fn many_pods(name: &str, count: usize) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("kubewright-outputs-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut pods = String::new();
    for number in 0..count {
        let labels = if number % 3 == 0 { ", labels: {team: a}" } else { "" };
        let _ = writeln!(
            pods,
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: web-{number}, namespace: shop{labels}}}\nspec: {{}}"
        );
    }
    fs::write(folder.join("pods.yaml"), pods).expect("a file");
    let rule = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: team\n  annotations:\n    \
                policies.kyverno.io/title: Teams\n    policies.kyverno.io/severity: medium\n    \
                policies.kyverno.io/description: Every Pod belongs to a team.\nspec:\n  rules:\n    - name: label\n      \
                match: {any: [{resources: {kinds: [Pod]}}]}\n      validate:\n        failureAction: Enforce\n        \
                message: label it\n        pattern: {metadata: {labels: {team: '?*'}}}\n";
    fs::write(folder.join("rule.yaml"), rule).expect("a file");
    folder
}

/// Returns standard output of `kubewright ARGUMENTS` in a folder with `count` Pods.
fn on_pods(name: &str, count: usize, arguments: &str) -> String {
    let folder = many_pods(name, count);
    let output = kubewright_in(&folder, arguments, "");
    let _ = fs::remove_dir_all(folder);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn apply_shows_five_of_many_failures_and_counts_quiet_objects() {
    let table = on_pods("many", 60, "apply rule.yaml -r pods.yaml");
    assert_eq!(table.matches("✗ kyverno/team/label  label it").count(), 5, "{table}");
    assert!(table.contains("… and 35 more"), "{table}");
    assert!(table.contains("60 objects (20 without findings), 60 outcomes: 40 fail, 20 pass"), "{table}");
    assert!(!table.contains("Pod shop/web-0\n"), "{table}");
    let all = on_pods("all", 60, "apply rule.yaml -r pods.yaml -v");
    assert_eq!(all.matches("✗ kyverno/team/label").count(), 40, "{all}");
    assert_eq!(all.matches("✓ kyverno/team/label").count(), 20, "{all}");
}

#[test]
fn apply_summary_has_a_row_for_each_rule() {
    let table = on_pods("summary", 60, "apply rule.yaml -r pods.yaml --summary");
    let row: Vec<&str> = table.lines().nth(1).expect("a row").split_whitespace().take(3).collect();
    assert_eq!(row, ["kyverno/team/label", "40", "20"]);
    assert_eq!(table.lines().count(), 4, "{table}");
}

#[test]
fn one_verdict_has_one_level_in_all_formats() {
    let github = on_pods("github", 60, "apply rule.yaml -r pods.yaml -o github");
    assert_eq!(github.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert!(github.ends_with("::notice title=kubewright::30 more errors in the log\n"), "{github}");
    let sarif = on_pods("sarif", 3, "apply rule.yaml -r pods.yaml -o sarif");
    assert!(sarif.contains("\"level\":\"error\"") && !sarif.contains("\"level\":\"warning\""), "{sarif}");
    for part in [
        "\"shortDescription\":{\"text\":\"Teams: label\"}",
        "\"fullDescription\":{\"text\":\"Every Pod belongs to a team.\"}",
        "\"security-severity\":\"5.5\"",
        "\"problem.severity\":\"error\"",
        "\"informationUri\":",
        "\"primaryLocationLineHash\":",
    ] {
        assert!(sarif.contains(part), "{part} is not in {sarif}");
    }
    let gitlab = on_pods("gitlab", 3, "apply rule.yaml -r pods.yaml -o gitlab");
    let list = json::parse(&gitlab).expect("JSON");
    let entries = list.as_array().expect("a list");
    assert_eq!(entries.len(), 2);
    let severity = |entry: &Value| entry.get("severity").and_then(Value::as_str).map(str::to_owned);
    assert!(entries.iter().all(|entry| severity(entry).as_deref() == Some("major")), "{gitlab}");
}

#[test]
fn fingerprints_stay_when_lines_move() {
    let folder = many_pods("moved", 3);
    let run = || {
        let output = kubewright_in(&folder, "apply rule.yaml -r pods.yaml -o gitlab", "");
        let list = json::parse(&String::from_utf8_lossy(&output.stdout)).expect("JSON");
        let of = |entry: &Value| entry.str_at(&["fingerprint"]).to_owned();
        list.as_array().expect("a list").iter().map(of).collect::<Vec<String>>()
    };
    let before = run();
    let pods = fs::read_to_string(folder.join("pods.yaml")).expect("a file");
    fs::write(folder.join("pods.yaml"), format!("# a comment\n# and another\n{pods}")).expect("a file");
    assert_eq!(run(), before);
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn markdown_of_many_long_findings_is_below_the_limit_of_a_comment() {
    let folder = many_pods("long", 400);
    let rule = fs::read_to_string(folder.join("rule.yaml")).expect("a file");
    let long = rule.replace("label it", &"label it, or else ".repeat(200));
    fs::write(folder.join("rule.yaml"), long).expect("a file");
    let output = kubewright_in(&folder, "apply rule.yaml -r pods.yaml -o markdown", "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.chars().count() < 60_000 && text.contains("more rows not shown"), "{}", text.len());
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn name_of_a_file_implies_the_format() {
    let folder = many_pods("implied", 3);
    let output =
        kubewright_in(&folder, "apply rule.yaml -r pods.yaml -o out.sarif -o junit.xml -o report.md", "");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let starts = |file: &str, start: &str| {
        let text = fs::read_to_string(folder.join(file)).expect("a file");
        assert!(text.starts_with(start), "{file}: {text}");
    };
    starts("out.sarif", "{\"$schema\"");
    starts("junit.xml", "<?xml");
    starts("report.md", "### ❌");
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn junit_of_an_unreadable_test_file_has_an_error() {
    let folder = many_pods("unreadable", 1);
    fs::write(folder.join("kubewright-test.yaml"), "cases: [\n").expect("a file");
    let output = kubewright_in(&folder, "test -o junit", "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("<error message=") && text.contains("errors=\"1\""), "{text}");
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn manifests_and_rules_may_come_in_either_order() {
    let folder = many_pods("order", 3);
    let run = |arguments: &str| kubewright_in(&folder, arguments, "");
    let usual = run("apply rule.yaml -r pods.yaml -o json").stdout;
    assert_eq!(run("apply -r pods.yaml rule.yaml -o json").stdout, usual);
    let twice = run("apply rule.yaml -r pods.yaml pods.yaml -o json");
    assert_eq!(twice.status.code(), Some(1), "{}", String::from_utf8_lossy(&twice.stderr));
    for (arguments, want) in [
        ("apply rule.yaml pods.yaml", "did you mean `-r pods.yaml`?"),
        ("apply -r pods.yaml pods.yaml", "no rules are given"),
        ("graph pods.yaml", "did you mean `-r pods.yaml`?"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(want), "{arguments}: {said}");
    }
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn coverage_is_written_for_other_tools() {
    check("coverage-lcov", "test kyverno/labels -o lcov");
    check("coverage-cobertura", "test kyverno/labels -o cobertura");
    check("coverage-min", "test kyverno/labels --min 100 -q");
}

#[test]
fn test_json_has_the_places_of_failures() {
    let output = kubewright("test cases/failing -o json", "");
    let document = json::parse(&String::from_utf8_lossy(&output.stdout)).expect("JSON");
    let results = document.get("results").and_then(Value::as_array).expect("results");
    let has_place = |result: &&Value| result.get("placeFile").is_some() && result.get("placeLine").is_some();
    assert!(results.iter().any(|result| has_place(&result)));
    assert_eq!(document.get("version"), Some(&Value::from(1_u64)));
}

#[test]
fn manual_page_has_examples_that_can_be_pasted() {
    let output = kubewright("man", "");
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains(".SH \"EXAMPLES\"\n.nf\n") && !page.contains("EXTRA"), "{page}");
}

#[test]
fn shells_complete_values() {
    let output = kubewright("completions bash", "");
    let script = String::from_utf8_lossy(&output.stdout).into_owned();
    for word in ["sarif", "policyreport", "orphan-service", "KW-K042", "EXPOSES", "PersistentVolumeClaim"] {
        assert!(script.contains(word), "{word}");
    }
}

#[test]
fn unknown_commands_are_answered_with_the_one_that_does_it() {
    check("wish-validate", "validate rules");
    check("graph-tree", "graph -r graph/small.yaml -o tree");
}

#[test]
fn lint_of_a_folder_counts_files_with_rules_only() {
    let folder = many_pods("lint", 1);
    let output = kubewright_in(&folder, "lint .", "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("3 rules in 1 file: nothing wrong"), "{text}");
    let _ = fs::remove_dir_all(folder);
}
