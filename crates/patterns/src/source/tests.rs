//! Every mistake has its code and its place.

use kubewright_engine::Diagnostic;
use kubewright_value::{Source, yaml};

use super::super::compile_pattern_document;

const PATTERN: &str = "\
version: kubepattern.it/v1
kind: Pattern
metadata:
  name: p
  displayName: P
  patternType: CUSTOM
  severity: INFO
  category: Security
spec:
  message: m
  topology: LEADER_FOLLOWER
  resources:
  - resource: Service
    id: s
    leader: true
  - resource: Pod
    id: p
    filters:
      matchAll:
      - key: metadata.name
        operator: EQUALS
        values: [x]
  actors: [s, p]
  relationships:
  - id: e
    type: EXPOSES
    required: true
    shared: true
    resourceIds: [s, p]
";

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let reading = yaml::read(&Source::new("p.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    compile_pattern_document(&reading.documents[0]).1
}

/// Replaces `from` by `to` in a fine pattern; `want` are code and line of each diagnostic.
#[track_caller]
fn check(from: &str, to: &str, want: &[(&str, u32)]) {
    assert!(PATTERN.contains(from), "{from}");
    let found = diagnostics(&PATTERN.replacen(from, to, 1));
    let found: Vec<(&str, u32)> = found.iter().map(|one| (one.code.id, one.location.position.line)).collect();
    assert_eq!(found, want, "{from} → {to}");
}

#[test]
fn a_fine_pattern_has_no_diagnostics() {
    check("", "", &[]);
}

#[test]
fn versions_and_kinds() {
    check("version:", "apiVersion:", &[]);
    check("kubepattern.it/v1", "kubepattern.sigemi.it/v1", &[("KW-P007", 1)]);
    check("kubepattern.it/v1", "kubepattern.it/v9", &[("KW-P006", 1)]);
    check("version: kubepattern.it/v1\n", "", &[("KW-P003", 1)]);
    check("kind: Pattern", "kind: Pod", &[("KW-P004", 2)]);
}

#[test]
fn what_a_pattern_says_about_itself() {
    check("  name: p\n", "", &[("KW-P003", 3)]);
    check("name: p", "name: p_q", &[("KW-P008", 4)]);
    check("  displayName: P\n", "", &[("KW-P003", 3)]);
    check("patternType: CUSTOM", "patternType: ODD", &[("KW-P020", 6)]);
    check("severity: INFO", "severity: info", &[]);
    check("severity: INFO", "severity: LOUD", &[("KW-P004", 7)]);
    check("category: Security", "category: odd", &[("KW-P020", 8)]);
    check("category: Security", "category: Security\n  docUrl: ftp://x", &[("KW-P021", 9)]);
    check("category: Security", "category: Security\n  colour: red", &[("KW-P001", 9)]);
    check("name: p", "name: 5", &[("KW-P005", 4)]);
    check("name: p", "name: [5]", &[("KW-P002", 4)]);
}

#[test]
fn leaders_and_actors() {
    check("    leader: true\n", "", &[("KW-P022", 13)]);
    check("id: p\n", "id: p\n    leader: true\n", &[("KW-P009", 13)]);
    check("[s, p]\n  rel", "[s]\n  rel", &[("KW-P010", 23)]);
    check("[s, p]\n  rel", "[s, p, q]\n  rel", &[("KW-P012", 23)]);
    check("[s, p]\n  rel", "[s, p, p]\n  rel", &[("KW-P011", 23)]);
    check("  actors: [s, p]\n", "", &[("KW-P050", 9)]);
    check("topology: LEADER_FOLLOWER", "topology: RING", &[("KW-P004", 11)]);
    check("id: p\n", "id: s\n", &[("KW-P011", 17), ("KW-P012", 23), ("KW-P012", 29)]);
    check("id: p\n", "id: p.q\n", &[("KW-P008", 17), ("KW-P012", 23), ("KW-P012", 29)]);
}

#[test]
fn mistakes_of_every_sort_are_told_at_once() {
    let changed = |text: &str| {
        let text = text.replace("severity: INFO", "severity: LOUD");
        diagnostics(&text.replace("message: ", "message: \"{{nobody.name}}\" #"))
    };
    let codes: Vec<&str> = changed(PATTERN).iter().map(|one| one.code.id).collect();
    assert_eq!(codes, ["KW-P004", "KW-P017"]);
}

#[test]
fn lists_of_kinds() {
    check("resource: Pod", "resource: [Pod, apps/v1/Deployment]", &[]);
    check("resource: Pod", "resource: [Pod, Pod]", &[("KW-P011", 16)]);
    check("resource: Pod", "resource: []", &[("KW-P003", 16)]);
    check("resource: Pod", "resource: [Pod, '']", &[("KW-P003", 16)]);
    check("resource: Pod", "resource: [Pod, [Job]]", &[("KW-P002", 16)]);
    check("resource: Pod", "resource: [ConfigMap, Pod]", &[]);
    check("resource: Pod", "resource: [ConfigMap, Secret]", &[("KW-P031", 26)]);
}

#[test]
fn options_that_do_not_fit() {
    check("resource: Pod", "presence: ABSENT\n    resource: Pod", &[]);
    check("resource: Service", "presence: ABSENT\n    resource: Service", &[("KW-P045", 13)]);
    check("resource: Pod", "presence: GONE\n    resource: Pod", &[("KW-P004", 16)]);
    check("resource: Pod", "presence: ABSENT\n    ifListed: Pod\n    resource: Pod", &[]);
    check("resource: Pod", "ifListed: [Pod]\n    resource: Pod", &[("KW-P047", 16)]);
    let relationship = |more: &str, want: &[(&str, u32)]| {
        check("    shared: true\n", &format!("    shared: true\n    {more}\n"), want);
    };
    relationship("strength: REQUIRED", &[]);
    relationship("strength: [required, OPTIONAL]", &[]);
    relationship("strength: LOUD", &[("KW-P004", 29)]);
    relationship("via: 'spec.*'", &[]);
    relationship("via: {a: b}", &[("KW-P002", 29)]);
    relationship("direction: UP", &[("KW-P004", 29)]);
    relationship("matchByName: false", &[("KW-P047", 29)]);
    relationship("transitive: true", &[("KW-P047", 29)]);
    relationship("transitive: false", &[]);
    relationship("atLeast: 0", &[("KW-P046", 29)]);
    relationship("atLeast: 2", &[("KW-P046", 29)]);
    relationship("atLeast: 1", &[]);
    relationship("atLeast: many", &[("KW-P002", 29)]);
    relationship("criteria: [{path: metadata.name, otherPath: metadata.name, operator: EQUALS}]", &[]);
    relationship("criteria: [{path: metadata.name, operator: EQUALS}]", &[("KW-P003", 29)]);
    relationship("criteria: [{path: a..b, otherPath: metadata.name, operator: EQUALS}]", &[("KW-P013", 29)]);
    relationship(
        "criteria: [{path: metadata.name, otherPath: metadata.name, operator: EXISTS}]",
        &[("KW-P004", 29)],
    );
    relationship(
        "criteria: [{path: metadata.name, otherPath: spec.pods, operator: EQUALS}]",
        &[("KW-P035", 29)],
    );
    check("message: m", "message: m\n  dedupe: UNORDERED", &[]);
    check("message: m", "message: m\n  dedupe: NEVER", &[("KW-P004", 11)]);
}

#[test]
fn custom_relationships() {
    let custom = |more: &str, want: &[(&str, u32)]| {
        check("type: EXPOSES\n", &format!("type: CUSTOM\n    {more}\n"), want);
    };
    custom("criteria: [{path: metadata.name, otherPath: metadata.name, operator: EQUALS}]", &[]);
    custom("criteria: []", &[("KW-P016", 26)]);
    custom("criteria: [{value: 1, otherPath: spec.priority, otherDefault: 0, operator: EQUALS}]", &[]);
    custom("criteria: [{value: 1, otherValue: true, operator: EQUALS}]", &[("KW-P016", 27)]);
    custom(
        "criteria: [{value: [1], otherPath: spec.priority, operator: EQUALS}]",
        &[("KW-P002", 27), ("KW-P003", 27), ("KW-P016", 26)],
    );
    custom(
        "criteria: [{path: metadata.name, otherPath: metadata.name, operator: CONTAINS}]",
        &[("KW-P016", 26)],
    );
    custom(
        "criteria: [{path: metadata.name, otherPath: metadata.name, operator: EQUALS}]\n    via: x",
        &[("KW-P047", 28)],
    );
}

#[test]
fn types_of_relationships() {
    check("type: EXPOSES", "type: [EXPOSES, MANAGES]", &[]);
    check("type: EXPOSES", "type: [MOUNTS, EXPOSES]", &[]);
    check("type: EXPOSES", "type: [MOUNTS, USES_SA]", &[("KW-P031", 26)]);
    check("type: EXPOSES", "type: ANY", &[]);
    check("type: EXPOSES", "type: []", &[("KW-P003", 25)]);
    check("type: EXPOSES", "type: [EXPOSES, exposes]", &[("KW-P011", 26)]);
    check("type: EXPOSES", "type: [EXPOSES, EXPOSE]", &[("KW-P004", 26)]);
    check("type: EXPOSES", "type: [EXPOSES, ANY]", &[("KW-P004", 26)]);
    check("type: EXPOSES", "type: [OWNS, MANAGES]\n    transitive: true", &[("KW-P047", 27)]);
}

#[test]
fn quantifiers() {
    check("values: [x]", "values: [x]\n        quantifier: ALL", &[("KW-P048", 23)]);
    check("values: [x]", "values: [x]\n        quantifier: MOST", &[("KW-P004", 23)]);
    check("key: metadata.name", "quantifier: all\n        key: spec.containers[*].name", &[]);
}

#[test]
fn relationships() {
    check("    required: true\n", "", &[("KW-P003", 25)]);
    check("    shared: true\n", "", &[("KW-P003", 25)]);
    check("    shared: true\n", "    shared: 'true'\n", &[("KW-P002", 28)]);
    check("type: EXPOSES", "type: EXPOSE", &[("KW-P004", 26)]);
    check("type: EXPOSES", "type: exposes", &[]);
    check("resourceIds: [s, p]", "resourceIds: [s]", &[("KW-P010", 29)]);
    check("resourceIds: [s, p]", "resourceIds: [s, q]", &[("KW-P012", 29)]);
    check("resourceIds: [s, p]", "resourceIds: [s, s]", &[("KW-P011", 29)]);
    check("required: true", "required: false", &[("KW-P024", 25), ("KW-P032", 16)]);
    check("required: true", "required: true\n    weight: 1", &[("KW-P025", 28)]);
    for weight in ["-1", "x", "[1]"] {
        check("required: true", &format!("required: false\n    weight: {weight}"), &[("KW-P015", 28)]);
    }
}

#[test]
fn three_resources_of_one_relationship() {
    let text = PATTERN
        .replace("  actors:", "  - {resource: Pod, id: q}\n  actors:")
        .replace("Ids: [s, p]", "Ids: [s, p, q]");
    let codes: Vec<&str> = diagnostics(&text).iter().map(|one| one.code.id).collect();
    assert_eq!(codes, ["KW-P023", "KW-P031"]);
}

#[test]
fn conditions() {
    check("operator: EQUALS", "operator: equals", &[]);
    check("operator: EQUALS\n        values: [x]", "operator: NotExists", &[]);
    check("operator: EQUALS", "operator: MAGIC", &[("KW-P004", 21)]);
    check("        values: [x]\n", "", &[("KW-P014", 21)]);
    check("values: [x]", "values: []", &[("KW-P014", 22)]);
    check("values: [x]", "values: [{a: b}]", &[("KW-P014", 22), ("KW-P014", 22)]);
    check("operator: EQUALS", "operator: EXISTS", &[("KW-P026", 22)]);
    check(
        "operator: EQUALS\n        values: [x]",
        "operator: LESS_THAN\n        values: [1, 2]",
        &[("KW-P026", 22)],
    );
    check("operator: EQUALS", "operator: LESS_THAN", &[("KW-P027", 22)]);
    check(
        "operator: EQUALS\n        values: [x]",
        "operator: MATCHES\n        values: ['(']",
        &[("KW-P018", 22)],
    );
    check("key: metadata.name", "key: metadata..name", &[("KW-P013", 20)]);
    check("key: metadata.name", "key: metadata.labels.a/b", &[("KW-P028", 20)]);
    check("      - key: metadata.name\n        operator", "      - operator", &[("KW-P003", 20)]);
    check("matchAll:", "matchSome:", &[("KW-P001", 19)]);
}

#[test]
fn texts_thresholds_and_size() {
    check("message: m", "message: '{{q.name}}'", &[("KW-P017", 10)]);
    check("message: m", "message: ''", &[("KW-P003", 9)]);
    check("message: m", "message: m\n  minRelationshipPoints: -1", &[("KW-P015", 11)]);
    check("message: m", "message: m\n  minRelationshipPoints: 1", &[("KW-P030", 11)]);
    let resources: String = (0..70).map(|at| format!("  - {{resource: Pod, id: x{at}}}\n")).collect();
    check("  actors:", &format!("{resources}  actors:"), &[("KW-P019", 10)]);
}

#[test]
fn a_null_list_is_an_empty_one() {
    check("matchAll:\n", "matchAny: null\n      matchAll:\n", &[]);
}

#[test]
fn the_patterns_of_the_documentation_compile() {
    let page = include_str!("../../../../docs/dialects/pattern.md");
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let found = diagnostics(block);
        assert!(found.is_empty(), "{:#?}", found.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}

#[test]
fn filters_of_the_successor_have_no_negatives() {
    let pattern = |operator: &str, values: &str| {
        let target = format!(
            "{{kind: Pod, apiVersion: v1, filters: {{matchAll: [{{path: spec.x, operator: {operator}{values}}}]}}}}"
        );
        let about = "displayName: D, category: C, severity: LOW, message: m";
        let text = format!(
            "apiVersion: kubepattern.dev/v1\nkind: Pattern\nmetadata: {{name: p}}\nspec: {{{about}, target: {target}}}\n"
        );
        diagnostics(&text).iter().filter(|one| one.is_error()).map(|one| one.code.id).collect::<Vec<_>>()
    };
    for (operator, values) in
        [("EQUALS", ", values: [a]"), ("EXISTS", ""), ("ARRAY_SIZE_EQUALS", ", values: [1]")]
    {
        assert!(pattern(operator, values).is_empty(), "{operator}");
    }
    for (operator, values) in
        [("NOT_EXISTS", ""), ("NOT_EQUALS", ", values: [a]"), ("CONTAINS", ", values: [a]")]
    {
        assert_eq!(pattern(operator, values), ["KW-P047"], "{operator}");
    }
}

#[test]
fn json_is_read_as_well() {
    let value = yaml::parse(PATTERN).expect("YAML");
    let source = Source::new("p.json", kubewright_value::json::to_pretty(&value));
    let document = kubewright_value::json::read(&source).expect("JSON");
    let (pattern, diagnostics) = compile_pattern_document(&document);
    assert!(pattern.is_some() && diagnostics.is_empty());
}

#[test]
fn a_pattern_with_very_many_values_is_refused_at_once() {
    let values: Vec<String> = (0..200_000).map(|at| format!("v{at}")).collect();
    let text = PATTERN.replacen("metadata:", &format!("more: [{}]\nmetadata:", values.join(", ")), 1);
    let found: Vec<&str> = diagnostics(&text).iter().map(|one| one.code.id).collect();
    assert_eq!(found, ["KW-P019"]);
}
