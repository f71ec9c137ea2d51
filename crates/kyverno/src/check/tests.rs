//! Tests of diagnostics, by the cases in `kyverno/tests/diagnostics.yaml`.

use kubewright_engine::{ClusterExtensions as _, Dialect as _, MissingAccess, ResourceAccess};
use kubewright_value::{Source, yaml};

use super::super::Kyverno;
use super::super::source::{read_exception, read_policy_document};
use super::*;

fn document(text: &str) -> Document {
    let mut reading = yaml::read(&Source::new("policy.yaml", text));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    reading.documents.remove(0)
}

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{:by$}{line}\n", "")).collect()
}

const HEAD: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n";
const RULE: &str = "  rules:\n    - name: r\n      match: {any: [{resources: {kinds: [Pod]}}]}\n";

/// Returns the text of a case: all of it, a spec, or a rule.
fn text(case: &Value) -> String {
    let part = |key: &str| case.get(key).and_then(Value::as_str);
    match (part("document"), part("spec"), part("rule")) {
        (Some(text), _, _) => text.to_owned(),
        (_, Some(spec), _) => format!("{HEAD}{}", indented(spec, 2)),
        (_, _, rule) => format!("{HEAD}{RULE}{}", indented(rule.expect("a rule"), 6)),
    }
}

/// Returns the policy as `check` leaves it.
fn checked(text: &str) -> (Document, PolicySource) {
    let document = document(text);
    let mut policy = read_policy_document(&document).0.expect("a policy");
    check_policy(&document, &mut policy, true);
    (document, policy)
}

#[test]
fn every_mistake_is_reported_where_it_stands() {
    let dialect = Kyverno::new(&[], Default::default());
    let cases = yaml::parse(include_str!("../tests/diagnostics.yaml")).expect("cases");
    let mut wrong = Vec::new();
    for case in cases.as_array().expect("a list") {
        let text = text(case);
        let mut diagnostics = dialect.compile(&document(&text), &[]).diagnostics;
        // A rule that is updated.
        if let Some(before) = case.get("before").and_then(Value::as_str) {
            let old = format!("{HEAD}{RULE}{}", indented(before, 6));
            diagnostics.extend(dialect.update_problems(&document(&old), &document(&text)));
        }
        // What a cluster says about the kinds of the case: whether they are in namespaces.
        if let Some(scopes) = case.get("namespaced") {
            let scopes = |_: &str, kind: &str| scopes.get(kind).and_then(Value::as_bool);
            diagnostics.extend(dialect.scope_problems(&document(&text), &scopes));
        }
        // What the controller may not do with ConfigMaps.
        if let Some(verb) = case.get("lacks").and_then(Value::as_str) {
            let programs = dialect.compile(&document(&text), &[]).background;
            let verbs = vec![if verb == "create" { "create" } else { "delete" }];
            let missing = [ResourceAccess { kind: "ConfigMap".into(), verbs, ..ResourceAccess::default() }];
            let program = programs.first().expect("a rule in the background");
            let lacks = MissingAccess { account: "system:serviceaccount:a:b", program, missing: &missing };
            diagnostics.extend(dialect.access_problem(&document(&text), &lacks));
        }
        let found: Vec<String> = diagnostics
            .iter()
            .map(|found| format!("{} {}", found.code.id, found.location.position))
            .collect();
        let want = case.get("want").and_then(Value::as_array).expect("want");
        let want: Vec<&str> = want.iter().filter_map(Value::as_str).collect();
        if found != want {
            let messages: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
            wrong.push(format!("{text}wanted {want:?}, got {messages:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_case_and_a_page_that_starts_with_it() {
    // Those of exceptions have a test below.
    let elsewhere = ["KW-K052"];
    let text = include_str!("../tests/diagnostics.yaml");
    for code in code::CODES {
        assert!(text.contains(code.id) || elsewhere.contains(&code.id), "{} has no case", code.id);
        assert!(
            code.page().starts_with(&format!("# {}: {}\n", code.id, code.title)),
            "{} has no page",
            code.id
        );
        assert!(code.page().lines().count() > 2, "the page of {} is empty", code.id);
    }
}

/// Checks a variable of a rule that declares `settings`.
#[track_caller]
fn check_variable(text: &str, roots: &[&str], is_in_foreach: bool, want: &[&str]) {
    check_use(text, roots, is_in_foreach, false, want);
}

#[track_caller]
fn check_use(text: &str, roots: &[&str], is_in_foreach: bool, is_bare: bool, want: &[&str]) {
    let rule = "context: [{name: settings, variable: {value: 1}}]\nvalidate: {message: '{{ settings }}', deny: {}}\n";
    let (document, policy) = checked(&format!("{HEAD}{RULE}{}", indented(rule, 6)));
    let roots: Vec<Text> = roots.iter().map(Text::new).collect();
    let path = policy.rules[0].path.clone();
    let one = VariableUse { text, roots: &roots, path: &path, is_in_foreach, is_bare };
    let found = check_variables(&document, true, &policy.rules[0], &[one]);
    let found: Vec<&str> = found.iter().map(|found| found.code.id).collect();
    assert_eq!(found, want, "{text}");
}

#[test]
fn variables_may_ask_for_what_is_given_and_what_is_declared() {
    check_variable("request.object.spec", &["request"], false, &[]);
    check_variable("settings.a", &["settings"], false, &[]);
    check_variable("images.containers.*.registry", &["images"], false, &[]);
    check_variable("nobody.a", &["nobody"], false, &["KW-K026"]);
    check_variable("settings || nobody", &["settings", "nobody"], false, &["KW-K057"]);
    check_variable("length(nobody)", &["nobody"], false, &["KW-K057"]);
    check_variable("time_now_utc()", &[], false, &[]);
}

#[test]
fn an_expression_in_a_field_of_its_own_may_find_nothing() {
    check_use("nobody.a", &["nobody"], false, true, &["KW-K057"]);
    check_use("request.userInfo.username", &["request"], false, true, &[]);
    check_use("element.image", &["element"], false, true, &[]);
}

#[test]
fn elements_are_only_there_in_a_loop() {
    check_variable("element.image", &["element"], true, &[]);
    check_variable("elementIndex0", &["elementIndex0"], true, &[]);
    check_variable("element.image", &["element"], false, &["KW-K025"]);
    check_variable("elements", &["elements"], true, &["KW-K057"]);
}

#[test]
fn a_background_scan_has_no_user() {
    check_variable("request.userInfo.username", &["request"], false, &["KW-K024"]);
    check_variable("serviceAccountName", &["serviceAccountName"], false, &["KW-K024"]);
    check_variable("request.object.spec.serviceAccountName", &["request"], false, &[]);
    check_variable("request.object.request.roles", &["request"], false, &[]);
}

#[test]
fn an_exception_must_name_rules_that_are_there() {
    let document = document(
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\nspec:\n  \
         exceptions: [{policyName: p, ruleNames: [r*, gone]}, {policyName: q, ruleNames: [r]}]\n  \
         match: {any: [{resources: {kinds: [Pod]}}]}\n",
    );
    let (exception, diagnostics) = read_exception(&document);
    let exception = exception.unwrap_or_else(|| panic!("{diagnostics:?}"));
    assert_eq!(exception.key, "shop/e");
    assert!(check_exception(&document, &exception).1);
    let known = [(Text::new("p"), vec![Text::new("r1"), Text::new("autogen-r1")])];
    let found = unfitting(&document, &exception, &known);
    let found: Vec<String> =
        found.iter().map(|one| format!("{} {}", one.code.id, one.location.position)).collect();
    assert_eq!(found, ["KW-K052 5:48", "KW-K052 5:69"]);
}

#[test]
fn one_bad_rule_leaves_its_neighbours_alone() {
    let good = "    - {name: good, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {deny: {}}}\n";
    let bad = "    - {name: bad, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {denied: {}}}\n";
    let worse = "    - {name: worse, match: {any: [{resources: {names: [a]}}]}, validate: {deny: {}}}\n";
    let (_, policy) = checked(&format!("{HEAD}  rules:\n{bad}{good}{worse}"));
    assert_eq!(policy.rules.iter().map(|rule| rule.name.value.as_str()).collect::<Vec<_>>(), ["good"]);
    let broken: Vec<&str> = policy.broken.iter().map(|broken| broken.name.as_str()).collect();
    assert_eq!(broken, ["bad", "worse"]);
    assert_eq!(policy.broken[1].message, "the entry names no `kinds`");
    let is_about: Vec<bool> = policy.broken.iter().map(|broken| broken.matching.is_some()).collect();
    assert_eq!(is_about, [true, false], "a rule with a mistake that names no kind is about nothing");
}

/// Calls `visit` with `value` after each part of it was replaced by `other`.
fn each_replaced(value: &Value, other: &Value, visit: &mut dyn FnMut(Value)) {
    visit(other.clone());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_replaced(item, other, &mut |replaced| {
                    let mut items = items.to_vec();
                    items[index] = replaced;
                    visit(Value::array(items));
                });
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter() {
                each_replaced(item, other, &mut |replaced| {
                    let mut map = (**map).clone();
                    map.insert(key.clone(), replaced);
                    visit(Value::object(map));
                });
            }
        }
        _ => {}
    }
}

#[test]
fn mistakes_in_any_field_are_reported_without_panic() {
    let dialect = Kyverno::new(&[], Default::default());
    let cases = yaml::parse(include_str!("../tests/diagnostics.yaml")).expect("cases");
    let others =
        ["null", "1", "x", "[]", "{}", "[null, 1, x, [], {}]", "{'': null, '(': 1, ')': [x], '{{': {}}"];
    for case in cases.as_array().expect("a list") {
        let whole = document(&text(case));
        for other in others {
            let other = yaml::parse(other).expect("a value");
            each_replaced(&whole.value, &other, &mut |value| {
                let document = Document::made(value, Source::new("policy.yaml", ""));
                dialect.compile(&document, &[]);
                if let (Some(exception), _) = read_exception(&document) {
                    check_exception(&document, &exception);
                }
            });
        }
    }
}
