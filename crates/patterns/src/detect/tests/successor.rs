//! Patterns with a target and dependencies.

use super::*;

#[track_caller]
fn check(spec: &str, text: &str, want: &[&str]) {
    let spec = spec.trim_end().lines().map(|line| format!("  {line}\n")).collect::<String>();
    let head = "apiVersion: kubepattern.dev/v1\nkind: Pattern\nmetadata: {name: p}\nspec:\n  displayName: P\n  category: C\n  severity: LOW\n  message: '{{target.metadata.name}}'\n";
    let pattern = compiled(&format!("{head}{spec}"));
    let graph = graph(text);
    let found = run(&pattern, &graph, &DetectionSettings::default());
    let messages: Vec<&str> = found.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, want);
    assert_same_when_trimmed(&pattern, text);
}

fn thing(kind: &str, name: &str, rest: &str) -> String {
    format!("---\n{{apiVersion: x.io/v1, kind: {kind}, metadata: {{name: {name}, namespace: 'n'}}{rest}}}\n")
}

const TARGET: &str = "target: {kind: T, apiVersion: x.io/v1}\n";
const DEPENDENCIES: &str =
    "dependencies: [{id: d, kind: D, apiVersion: x.io/v1}, {id: f, kind: F, apiVersion: x.io/v1}]\n";

fn by_name(group: &str, ids: &[&str]) -> String {
    let one = |id: &&str| {
        format!(
            "{{with: {id}, type: custom, criteria: [{{targetPath: metadata.name, dependencyPath: spec.ref, operator: EQUALS}}]}}"
        )
    };
    let all: Vec<String> = ids.iter().map(one).collect();
    format!("{TARGET}{DEPENDENCIES}relationships: {{{group}: [{}]}}\n", all.join(", "))
}

#[test]
fn all_any_and_none_of_the_dependencies() {
    let text = [
        thing("T", "both", ""),
        thing("T", "neither", ""),
        thing("T", "one", ""),
        thing("D", "d1", ", spec: {ref: both}"),
        thing("F", "f1", ", spec: {ref: both}"),
        thing("D", "d2", ", spec: {ref: one}"),
    ]
    .concat();
    check(&by_name("matchAll", &["d", "f"]), &text, &["both"]);
    check(&by_name("matchAny", &["d", "f"]), &text, &["both", "one"]);
    check(&by_name("matchNone", &["d", "f"]), &text, &["neither"]);
}

#[test]
fn each_relationship_finds_its_own_dependency() {
    let spec = format!(
        "{TARGET}{DEPENDENCIES}relationships: {{matchAll: [{{with: d, type: custom, criteria: [{{targetPath: metadata.name, dependencyPath: spec.ref, operator: EQUALS}}]}}, {{with: d, type: custom, criteria: [{{targetPath: metadata.namespace, dependencyPath: spec.place, operator: EQUALS}}]}}]}}\n"
    );
    let text =
        [thing("T", "t", ""), thing("D", "a", ", spec: {ref: t}"), thing("D", "b", ", spec: {place: 'n'}")];
    check(&spec, &text.concat(), &["t"]);
}

#[test]
fn numbers_and_texts_agree_by_value() {
    let spec = format!(
        "{TARGET}{DEPENDENCIES}relationships: {{matchAll: [{{with: d, type: custom, criteria: [{{targetPath: spec.port, dependencyPath: spec.port, operator: EQUALS}}]}}]}}\n"
    );
    let text = [
        thing("T", "t", ", spec: {port: 80}"),
        thing("T", "u", ", spec: {port: 81}"),
        thing("D", "d", ", spec: {port: '80'}"),
    ];
    check(&spec, &text.concat(), &["t"]);
}

#[test]
fn owners_are_followed_through_others() {
    let owned = |kind: &str, name: &str, owner: &str| {
        format!(
            "---\n{{apiVersion: x.io/v1, kind: {kind}, metadata: {{name: {name}, namespace: 'n', uid: u-{name}, ownerReferences: [{{apiVersion: x.io/v1, kind: K, name: {owner}, uid: u-{owner}}}]}}}}\n"
        )
    };
    let root = "---\n{apiVersion: x.io/v1, kind: D, metadata: {name: d, namespace: 'n', uid: u-d}}\n";
    let text =
        [root.to_owned(), owned("M", "m", "d"), owned("T", "t", "m"), owned("T", "lost", "gone")].concat();
    let spec = |group: &str| {
        format!("{TARGET}{DEPENDENCIES}relationships: {{{group}: [{{with: d, type: ownedBy}}]}}\n")
    };
    check(&spec("matchAll"), &text, &["t"]);
    check(&spec("matchNone"), &text, &["lost"]);
    let spec = "target: {kind: D, apiVersion: x.io/v1}\ndependencies: [{id: t, kind: T, apiVersion: x.io/v1}]\nrelationships: {matchAll: [{with: t, type: owns}]}\n";
    check(spec, &text, &["d"]);
}

#[test]
fn an_empty_selector_selects_everything_only_under_a_name_that_says_selector() {
    let spec = |path: &str| {
        format!(
            "{TARGET}{DEPENDENCIES}relationships: {{matchAll: [{{with: d, type: selects, selectorPath: {path}}}]}}\n"
        )
    };
    let text = thing("T", "t", ", spec: {selector: {}, podSelector: {}}") + &thing("D", "d", "");
    check(&spec("spec.selector"), &text, &[]);
    check(&spec("spec.podSelector"), &text, &["t"]);
    check(&spec("spec.other"), &text, &[]);
}

#[test]
fn a_kind_without_objects_may_be_a_finding() {
    let spec = "target: {kind: T, apiVersion: x.io/v1, emitOnEmpty: true}\n";
    check(spec, &thing("D", "d", ""), &[""]);
    check(spec, &thing("T", "t", ""), &["t"]);
}

#[test]
fn the_version_of_the_target_counts() {
    check("target: {kind: T, apiVersion: x.io/v2}\n", &thing("T", "t", ""), &[]);
    check(
        "target: {kind: '*', apiVersion: x.io/v1}\n",
        &(thing("T", "t", "") + &thing("D", "d", "")),
        &["d", "t"],
    );
}
