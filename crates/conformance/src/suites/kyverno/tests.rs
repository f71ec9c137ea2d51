use kubewright_value::{Value, yaml};

use super::probes::{ProbeRow, compare_rows};
use super::rows::KyvernoTestFile;
use super::sorts::RuleSorts;

fn row(resource: &str, result: &str, message: &str) -> ProbeRow {
    let [resource, result, message] = [resource, result, message].map(str::to_owned);
    ProbeRow { resource, rule: "r".to_owned(), result, message }
}

fn file(results: &str) -> KyvernoTestFile {
    let test = yaml::parse(results).unwrap();
    KyvernoTestFile::new("f", &test, RuleSorts::default())
}

fn result(resource: &str, is_ok: bool) -> Value {
    let text = format!("{{file: f, policy: p, rule: r, resource: {resource}, ok: {is_ok}}}");
    yaml::parse(&text).unwrap()
}

#[test]
fn rows_agree_in_any_order() {
    let (a, b) = (|| row("a", "pass", "m"), || row("b", "fail", "n"));
    assert_eq!(compare_rows(&[a(), b()], &[b(), a()]), Ok(()));
}

#[test]
fn a_difference_in_messages_alone_says_so() {
    let differs = compare_rows(&[row("a", "fail", "m")], &[row("a", "fail", "n")]).unwrap_err();
    assert!(differs.starts_with("message only: "), "{differs}");
    let differs = compare_rows(&[row("a", "fail", "m")], &[row("a", "pass", "m")]).unwrap_err();
    assert!(!differs.starts_with("message only: "), "{differs}");
}

#[test]
fn a_row_too_many_is_a_difference() {
    assert!(compare_rows(&[row("a", "pass", "m")], &[row("a", "pass", "m"), row("a", "pass", "m")]).is_err());
}

#[test]
fn a_row_without_a_result_fails() {
    let file = file("results: [{policy: p, rule: r, resources: [ns/a, b]}]");
    let judged = file.judge(&[result("a", true)], "nothing");
    let failures: Vec<_> = judged.iter().map(|(row, failure)| (row.3.as_str(), failure.as_deref())).collect();
    assert_eq!(failures, [("a", None), ("b", Some("nothing"))]);
}

#[test]
fn a_row_that_names_no_resource_needs_one_result() {
    let file = file("results: [{policy: p, rule: r}]");
    assert_eq!(file.judge(&[result("a", true)], "nothing").len(), 1);
    assert_eq!(file.judge(&[], "nothing").len(), 1);
}

#[test]
fn rules_are_sorted_by_what_they_do() {
    let policy = "{kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: a, validate: {cel: {}}}, \
                  {name: b, validate: {pattern: {}}}, {name: c, mutate: {}}]}}";
    let sorts = RuleSorts::of_policies([yaml::parse(policy).unwrap()]);
    let found = ["a", "autogen-b", "autogen-cronjob-c"].map(|rule| sorts.of("ns/p", rule));
    assert_eq!(found, ["cel", "validate", "mutate"]);
    assert_eq!(sorts.of("q", "a"), "unknown");
}
