//! What is reported about bad rules. Behaviour on objects is tested through the binary, by the test files in `tests/modrule`.

use kubewright_engine::Dialect as _;
use kubewright_value::{Document, Source, Value, yaml};

use super::*;

fn document(namespace: &str, spec: &str) -> Document {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {{name: r, namespace: {namespace}}}\nspec:\n{spec}"
    );
    let mut reading = yaml::read(&Source::new("rule.yaml", text.clone()));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    reading.documents.remove(0)
}

fn cases() -> Vec<Value> {
    let cases = yaml::parse(include_str!("tests/diagnostics.yaml")).expect("cases");
    cases.as_array().expect("a list").to_vec()
}

#[test]
fn every_mistake_is_reported_where_it_stands() {
    let dialect = ModRule::new(&crate::Options::default());
    let mut wrong = Vec::new();
    for case in cases() {
        let spec = case.get("spec").and_then(Value::as_str).expect("a spec");
        let document = document(case.get("namespace").and_then(Value::as_str).unwrap_or("shop"), spec);
        let compiled = dialect.compile(&document, &[]);
        let found: Vec<String> =
            compiled.diagnostics.iter().map(|d| format!("{} {}", d.code.id, d.location.position)).collect();
        let want: Vec<&str> = case
            .get("want")
            .and_then(Value::as_array)
            .expect("want")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if found != want {
            let messages: Vec<_> = compiled.diagnostics.iter().map(ToString::to_string).collect();
            wrong.push(format!("{spec}wanted {want:?}, got {messages:#?}"));
        }
        let has_error = compiled.diagnostics.iter().any(kubewright_engine::Diagnostic::is_error);
        assert_eq!(compiled.rules.is_empty(), has_error, "a rule with an error is left out: {spec}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_case_and_a_page_that_starts_with_it() {
    let text = include_str!("tests/diagnostics.yaml");
    for code in diagnostics::CODES {
        assert!(text.contains(code.id), "{} has no case", code.id);
        assert!(code.page.starts_with(&format!("# {}: ", code.id)), "{} has no page", code.id);
    }
}
