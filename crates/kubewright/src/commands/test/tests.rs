use kubewright_value::{Document, Source, Value, json, yaml};

use super::file;

fn document(text: &str) -> Document {
    yaml::read(&Source::new("t.yaml", text)).documents.remove(0)
}

/// Reads a test file with `cases` as its cases; returns the problems as `code line:column message`.
fn problems(cases: &str) -> Vec<String> {
    let head = "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nrules: [r]\nresources: [o]\ncases:\n";
    match file::read(&document(&format!("{head}{cases}"))) {
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
fn a_misspelt_field_is_an_error_with_the_right_one() {
    assert_eq!(
        problems("- resource: a\n  outcme: pass\n"),
        [
            "KW-T002 6:13 this case compares nothing ",
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
    let outcomes = schema.at(&["$defs", "case", "properties", "outcome", "enum"]).unwrap();
    assert_eq!(*outcomes, Value::from(file::OUTCOMES.to_vec()));
}

#[test]
fn paths_are_relative_to_the_folder_of_the_test_file() {
    let check = |folder: &str, path: &str, want: &str| {
        assert_eq!(super::run::relative(std::path::Path::new(folder), path), want);
    };
    check("cases/a", "../../rules", "rules");
    check("cases/a", "./rule.yaml", "cases/a/rule.yaml");
    check("", "../x", "../x");
    check("a", "..", ".");
    check("a", "/abs/x", "/abs/x");
}
