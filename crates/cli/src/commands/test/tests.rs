use kubewright_value::{Document, Source, Value, json, yaml};

use super::{file, patterns, traits};

fn document(text: &str) -> Document {
    yaml::read(&Source::new("t.yaml", text)).documents.remove(0)
}

/// Reads a test file with `cases` as its cases; returns the problems as `code line:column message`.
fn problems(cases: &str) -> Vec<String> {
    let head = "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nrules: [r]\nresources: [o]\ncases:\n";
    match file::read_test_file(&document(&format!("{head}{cases}"))) {
        Ok(_) => Vec::new(),
        Err(problems) => problems
            .iter()
            .map(|p| format!("{} {} {} {}", p.code.id, p.location.position, p.message, p.help))
            .collect(),
    }
}

#[test]
fn a_case_that_says_all_it_can_is_understood() {
    let case = "- name: text\n  rule: r\n  resource: Pod/a/b\n  operation: UPDATE\n  outcome: patch\n  message: m\n  \
                messageContains: m\n  patched: {a: 1}\n  patch: []\n  allowed: false\n  rejection: no\n";
    assert_eq!(problems(&case.replace("rejection: no", "rejection: \"no\"")), Vec::<String>::new());
}

#[test]
fn a_case_about_traits_that_says_all_it_can_is_understood() {
    let given = "parameters: {a: 1}\n  environmentConfigs: {b: 2}";
    let one = format!("- name: case\n  trait: t\n  kind: Trait\n  instanceName: i\n  {given}\n");
    let compared = "  base: [f.yaml, {kind: K}]\n  metadata: {name: a}\n  context: {environment: {}}\n  strict: true\n  \
                    manifests: {kind: K}\n  ordered: true\n  warns: [KW-R034, text, {code: KW-R034, message: m}]\n  \
                    idempotent: true\n  expect:\n  - kind: K\n    name: web\n    namespace: s\n    apiVersion: v1\n    \
                    targetPlane: dataplane\n    fields: {/a/b: 1}\n    absent: /c\n    rule: [r, s]\n  - {kind: K, present: false}\n";
    let nothing = Vec::<String>::new();
    assert_eq!(problems(&format!("{one}{compared}")), nothing);
    assert_eq!(problems("- traits: [a, {trait: b, instanceName: c}]\n  fails: {code: KW-R030}\n"), nothing);
    assert_eq!(
        problems("- {stack: s.yaml, fails: false}\n- {component: c, environment: e, warns: true}\n"),
        nothing
    );
}

#[test]
fn a_case_about_a_pattern_that_says_all_it_can_is_understood() {
    let settings = "settings: {compat: registry, perLeader: 1, perPattern: 2, witnesses: 3}";
    let head = format!(
        "- name: case\n  pattern: p\n  objects: [f.yaml, {{kind: K}}]\n  namespace: ns\n  {settings}\n"
    );
    let evidence = "{entry: e, held: true, from: A/b, to: C/d/e, through: F/g, via: spec, points: 0.5}";
    let compared = format!(
        "  findings:\n  - Pod/a/b\n  - roles: {{a: Pod/b/c}}\n    points: 1\n    maximum: 1.5\n    confidence: HIGH\n    \
         severity: INFO\n    message: m\n    messageContains: m\n    witnesses: {{b: [Pod/a/b]}}\n    evidence: [{evidence}]\n  \
         truncated: false\n  discarded: {{Pod/a/b: veto}}\n  diagnostics: [KW-P030]\n"
    );
    assert_eq!(problems(&format!("{head}{compared}")), Vec::<String>::new());
    assert_eq!(problems("- {pattern: {kind: Pattern}, findings: 0}\n"), Vec::<String>::new());
}

#[test]
fn what_is_wrong_with_a_case_about_a_pattern_is_told_field_by_field() {
    let told = |case: &str| problems(&format!("- {{pattern: p, {case}}}\n")).join("; ");
    let check = |case: &str, want: &str| assert_eq!(told(case), want);
    check(
        "findings: [{roles: {a: web}}]",
        "KW-T003 6:39 `web` is not an object name: write `Kind/namespace/name`, or `Kind/name` for one without a namespace ",
    );
    check("findings: yes please", "KW-T003 6:26 `findings` is a list or a number, this is of type string ");
    check("findings: -1", "KW-T003 6:26 `findings` is a non-negative integer, this is of type number ");
    check("findings: [{points: 1}]", "KW-T002 6:27 an expected finding needs `roles` ");
    check("discarded: {Pod/a/b: vetoed}", "KW-T003 6:37 unknown phase `vetoed` did you mean `veto`?");
    check(
        "diagnostics: [KW-P999]",
        "KW-T003 6:29 there is no diagnostic `KW-P999`; did you mean `KW-P009`? ",
    );
    check(
        "settings: {perleader: 1}, findings: 0",
        "KW-T001 6:27 unknown field `perleader` did you mean `perLeader`?",
    );
    check(
        "objects: []",
        "KW-T002 6:3 this case has no expectation: it needs `findings`, `discarded`, `truncated` or `diagnostics` ",
    );
    check(
        "findings: [{roles: {}, evidence: [{held: true}]}]",
        "KW-T002 6:50 expected evidence needs `entry` ",
    );
}

#[test]
fn a_case_that_compares_nothing_is_an_error_also_with_empty_lists() {
    let told = "KW-T002 6:3 this case has no expectation: it needs `manifests`, `expect`, `fails`, `warns` or `idempotent` ";
    assert_eq!(problems("- {trait: t, idempotent: false, strict: true}\n"), [told]);
    assert_eq!(problems("- {trait: t, manifests: []}\n"), Vec::<String>::new());
}

#[test]
fn a_misspelt_field_is_an_error_with_the_right_one() {
    assert_eq!(
        problems("- resource: a\n  outcme: pass\n"),
        [
            "KW-T002 6:13 this case has no expectation ",
            "KW-T001 7:3 unknown field `outcme` did you mean `outcome`?"
        ]
    );
}

#[test]
fn a_wrong_word_is_an_error_with_the_right_one() {
    assert_eq!(
        problems("- resource: a\n  outcome: passed\n"),
        ["KW-T003 7:12 unknown outcome `passed` did you mean `pass`?"]
    );
}

/// Returns the fields that the schema allows at `path`.
fn allowed(schema: &Value, path: &[&str]) -> Vec<String> {
    let mut keys: Vec<String> =
        schema.at(path).unwrap().as_object().unwrap().keys().map(ToString::to_string).collect();
    keys.sort();
    keys
}

#[test]
fn the_schema_knows_exactly_the_fields_that_are_read() {
    let schema = json::parse(super::SCHEMA).unwrap();
    let sorted = |fields: &[&str]| {
        let mut fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
        fields.sort();
        fields
    };
    assert_eq!(allowed(&schema, &["properties"]), sorted(file::FIELDS));
    assert_eq!(allowed(&schema, &["properties", "user", "properties"]), sorted(file::USER_FIELDS));
    assert_eq!(allowed(&schema, &["$defs", "case", "properties"]), sorted(file::CASE_FIELDS));
    let defs = |name: &str| allowed(&schema, &["$defs", name, "properties"]);
    assert_eq!(defs("traitCase"), sorted(traits::file::CASE_FIELDS));
    assert_eq!(defs("expect"), sorted(traits::file::EXPECT_FIELDS));
    assert_eq!(defs("instance"), sorted(crate::commands::render::stack::INSTANCE_FIELDS));
    let findings = schema.at(&["$defs", "finding", "oneOf"]).and_then(Value::as_array).unwrap();
    assert_eq!(allowed(&findings[1], &["properties"]), sorted(traits::file::FINDING_FIELDS));
    assert_eq!(defs("patternCase"), sorted(patterns::file::CASE_FIELDS));
    let settings = &["$defs", "patternCase", "properties", "settings", "properties"];
    assert_eq!(allowed(&schema, settings), sorted(patterns::file::SETTING_FIELDS));
    let findings = schema.at(&["$defs", "patternFinding", "oneOf"]).and_then(Value::as_array).unwrap();
    assert_eq!(allowed(&findings[1], &["properties"]), sorted(patterns::file::FINDING_FIELDS));
    assert_eq!(defs("patternEvidence"), sorted(patterns::file::EVIDENCE_FIELDS));
    let outcomes = schema.at(&["$defs", "case", "properties", "outcome", "enum"]).unwrap();
    assert_eq!(*outcomes, Value::from(file::OUTCOMES.to_vec()));
}

/// Returns whether `value` fits `schema`, for the words that our schema uses.
fn fits(value: &Value, schema: &Value, root: &Value) -> bool {
    let list = |word: &str| schema.get(word).and_then(Value::as_array);
    let text = |word: &str| schema.get(word).and_then(Value::as_str);
    if let Some(name) = text("$ref") {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return fits(value, root.at(&["$defs", name]).unwrap(), root);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let has_known_fields = value.as_object().is_none_or(|map| {
        map.iter().all(|(key, value)| match properties.and_then(|known| known.get(key)) {
            Some(schema) => fits(value, schema, root),
            None => schema.get("additionalProperties") != Some(&Value::Bool(false)),
        })
    });
    let is_of = |name: &str| match name {
        "integer" => value.as_i64().is_some(),
        name => name == value.kind().name(),
    };
    text("type").is_none_or(is_of)
        && schema.get("const").is_none_or(|only| only == value)
        && list("enum").is_none_or(|words| words.contains(value))
        && list("required")
            .is_none_or(|keys| keys.iter().all(|key| value.get(key.as_str().unwrap()).is_some()))
        && list("oneOf").is_none_or(|all| all.iter().filter(|one| fits(value, one, root)).count() == 1)
        && list("anyOf").is_none_or(|all| all.iter().any(|one| fits(value, one, root)))
        && schema.get("items").is_none_or(|items| {
            value.as_array().is_none_or(|all| all.iter().all(|item| fits(item, items, root)))
        })
        && has_known_fields
}

#[test]
fn the_schema_accepts_the_test_files_of_the_project_and_refuses_mistakes() {
    let schema = json::parse(super::SCHEMA).unwrap();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixtures =
        ["cases", "trait-cases", "pattern-cases"].map(|name| format!("../kubewright/tests/fixtures/{name}"));
    let folders = ["../../tests".to_owned()].into_iter().chain(fixtures);
    let folders: Vec<_> = folders.map(|folder| here.join(folder)).collect();
    let paths: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let found = kubewright_files::find_tests(&paths, Some("kubewright-test.yaml"));
    assert!(found.inputs.len() > 3);
    for document in kubewright_files::read_documents(&found.inputs, &mut Vec::new()) {
        let is_bad = document.source.name.contains("cases/bad");
        assert_eq!(fits(&document.value, &schema, &schema), !is_bad, "{}", document.source.name);
    }
}

#[test]
fn paths_are_relative_to_the_folder_of_the_test_file() {
    let check = |folder: &str, path: &str, want: &str| {
        assert_eq!(kubewright_files::relative_path(std::path::Path::new(folder), path), want);
    };
    check("cases/a", "../../rules", "rules");
    check("cases/a", "./rule.yaml", "cases/a/rule.yaml");
    check("", "../x", "../x");
    check("a", "..", ".");
    check("a", "/abs/x", "/abs/x");
}
