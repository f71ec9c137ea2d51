use kubewright_value::{Document, Source, yaml};

use super::file::{self, KyvernoTestDocument, ResultRow};

fn document(text: &str) -> Document {
    yaml::read(&Source::new("t.yaml", text)).documents.remove(0)
}

fn read(text: &str) -> KyvernoTestDocument {
    file::read_kyverno_test(&document(text)).expect("a test file")
}

/// Reads a test file with one row of `fields`.
fn row(fields: &str) -> ResultRow {
    let text = format!("policies: [p]\nresources: [r]\nresults:\n- {{policy: p, {fields}}}\n");
    read(&text).rows.remove(0)
}

/// Reads a test file that is wrong; returns the problems as `code line:column message help`.
fn problems(text: &str) -> Vec<String> {
    let wrong = file::read_kyverno_test(&document(text)).expect_err("a problem");
    let show = |p: &kubewright_engine::Diagnostic| {
        format!("{} {} {} {}", p.code.id, p.location.position, p.message, p.help)
    };
    wrong.iter().map(show).collect()
}

#[test]
fn a_resource_has_a_namespace_where_it_is_said() {
    let wanted = |fields: &str| {
        let row = row(fields);
        row.resources.iter().map(|r| (r.namespace.clone(), r.name.clone())).collect::<Vec<_>>()
    };
    assert_eq!(wanted("result: pass, resources: [a]"), [(None, "a".to_owned())]);
    assert_eq!(wanted("result: pass, resources: [ns/a]"), [(Some("ns".to_owned()), "a".to_owned())]);
    assert_eq!(wanted("status: pass, resource: a, namespace: ns"), [(Some("ns".to_owned()), "a".to_owned())]);
    assert_eq!(
        wanted("result: pass, resourceSpecs: [{name: a, namespace: ns, group: apps, version: v1}]"),
        [(Some("ns".to_owned()), "a".to_owned())]
    );
}

#[test]
fn the_older_form_says_status_for_result() {
    assert_eq!(row("status: skip, resource: a").result, "skip");
}

#[test]
fn an_empty_rule_is_none() {
    assert_eq!(row("result: pass, rule: ''").rule, None);
}

#[test]
fn fields_are_known_whatever_the_case_of_their_letters() {
    assert_eq!(row("Result: pass, isMUtatingPolicy: true").result, "pass");
}

#[test]
fn every_mistake_is_told_with_its_place() {
    assert_eq!(
        problems(
            "policies: [p]\nresource: [r]\nresults:\n- policy: p\n  result: passed\n  operation: PATCH\n"
        ),
        [
            "KW-T001 2:1 unknown field `resource` did you mean `resources`?",
            "KW-T003 5:11 unknown result `passed` did you mean `pass`?",
            "KW-T003 6:14 unknown operation `PATCH` use one of CREATE, UPDATE, DELETE, CONNECT",
        ]
    );
}

#[test]
fn a_row_needs_a_policy_and_a_result() {
    assert_eq!(
        problems("policies: [p]\nresults:\n- rule: r\n"),
        ["KW-T002 3:3 a result needs `result` ", "KW-T002 3:3 a result needs `policy` "]
    );
}

#[test]
fn what_is_looked_up_is_read_strictly() {
    assert_eq!(
        problems("policies: [p]\napiCallResponses: [{url: u, response: {boddy: {}}}]\n"),
        ["KW-T002 2:39 a response needs `body` ", "KW-T001 2:40 unknown field `boddy` did you mean `body`?",]
    );
    assert_eq!(
        problems("policies: [p]\nglobalContextEntries: [{name: g}]\n"),
        ["KW-T002 2:31 an entry needs one of `data`, `resources` and `resourceFiles` "]
    );
}

#[test]
fn a_test_file_is_known_by_its_version_or_its_fields() {
    let check =
        |text: &str, want: bool| assert_eq!(file::has_kyverno_test_kind(&document(text)), want, "{text}");
    check("{apiVersion: cli.kyverno.io/v1alpha1, kind: Test}", true);
    check("{apiVersion: kyverno.io/v1, kind: Test, policies: [], results: []}", true);
    check("{name: old, policies: [], resources: [], results: []}", true);
    check("{apiVersion: kubewright.dev/v1alpha1, kind: Test, rules: []}", false);
}
