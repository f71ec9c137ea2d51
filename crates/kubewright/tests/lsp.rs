//! The language server, driven over standard input and output as an editor does.

#![cfg(feature = "lsp")]
#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

#[path = "editor/agreement.rs"]
mod agreement;
#[path = "editor/client.rs"]
mod client;
#[path = "editor/edits.rs"]
mod edits;
#[path = "editor/neovim.rs"]
mod neovim;
#[path = "editor/speed.rs"]
mod speed;

use client::{ClientOptions, EditorClient};
use kubewright_value::Value;

const PROJECT: &str = "rules: [rules]\nresources: [manifests]\ntests: [rules]\n";

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: labels
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match:
      any:
      - resources:
          kinds: [Pod]
    validate:
      message: the label team is required for {{ request.object.metadata.name }}
      pattern:
        metadata:
          labels:
            team: \"?*\"
";

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
  - name: web
    image: nginx:1
";

const EXCEPTION: &str = "\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: legacy, namespace: shop}
spec:
  exceptions:
  - policyName: labels
    ruleNames:
    - team
  match:
    any:
    - resources: {kinds: [Pod], names: [legacy]}
";

const TEST: &str = "\
apiVersion: kubewright.dev/v1alpha1
kind: Test
rules: [labels.yaml]
resources: [../manifests/pod.yaml]
cases:
- name: a Pod without a team
  rule: labels/team
  resource: Pod/web
  outcome: fail
";

const FILES: &[(&str, &str)] = &[
    ("kubewright.yaml", PROJECT),
    ("rules/labels.yaml", POLICY),
    ("rules/exception.yaml", EXCEPTION),
    ("rules/kubewright-test.yaml", TEST),
    ("manifests/pod.yaml", POD),
];

fn pulling() -> ClientOptions {
    ClientOptions { is_pulling: true, ..ClientOptions::default() }
}

#[test]
fn mistakes_of_rules_are_diagnostics_with_code_page_and_correction() {
    let mut client = EditorClient::start("mistakes", FILES, ClientOptions::default());
    let broken = POLICY.replace("    validate:", "    valdiate:").replace("Enforce", "Enfroce");
    client.open("rules/labels.yaml", &broken);
    let found = client.wait_for("rules/labels.yaml", |found| found.len() >= 2);
    assert!(found.iter().any(|one| one.contains("unknown field `valdiate`")), "{found:#?}");
    let uri = client.uri("rules/labels.yaml");
    let one = client.published[&uri]
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one.str_at(&["message"]).contains("valdiate"));
    let one = one.expect("the diagnostic").clone();
    let code = one.str_at(&["code"]);
    assert_eq!(
        one.str_at(&["codeDescription", "href"]),
        format!("https://github.com/OWNER/kubewright/blob/main/docs/diagnostics/{code}.md")
    );
    assert_eq!(one.str_at(&["source"]), "kubewright");
    let actions = client.ask("textDocument/codeAction", "rules/labels.yaml", 12, 6);
    let titles = titles(&actions);
    assert!(titles.contains(&"replace `valdiate` by `validate`".to_owned()), "{titles:?}");
    client.stop();
}

#[test]
fn outcomes_are_shown_in_manifests_with_the_place_of_the_rule() {
    let mut client = EditorClient::start("outcomes", FILES, ClientOptions::default());
    client.open("manifests/pod.yaml", POD);
    let found = client.wait_for("manifests/pod.yaml", |found| !found.is_empty());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("4:2-") || found[0].starts_with("4:10-"), "{found:#?}");
    assert!(found[0].contains("1 kyverno/labels/team Pod"), "{found:#?}");
    let uri = client.uri("manifests/pod.yaml");
    let related =
        client.published[&uri].item(0).expect("one").at(&["relatedInformation"]).expect("related").clone();
    assert!(
        related.item(0).expect("one").str_at(&["location", "uri"]).ends_with("rules/labels.yaml"),
        "{related}"
    );
    // The rule is corrected in the editor, and the manifest follows.
    client.open("rules/labels.yaml", &POLICY.replace("team: \"?*\"", "app: \"?*\""));
    let found = client.wait_for("manifests/pod.yaml", <[String]>::is_empty);
    assert!(found.is_empty());
    client.stop();
}

#[test]
fn a_manifest_is_fixed_excepted_and_tested_by_actions() {
    let mut client = EditorClient::start("actions", FILES, pulling());
    client.open("rules/labels.yaml", &POLICY.replace("\"?*\"", "core"));
    client.open("manifests/pod.yaml", POD);
    let line = first_line(&client.pull("manifests/pod.yaml"));
    let actions = client.ask("textDocument/codeAction", "manifests/pod.yaml", line, 4);
    let titles = titles(&actions);
    for wanted in ["fix: ", "write a PolicyException", "ignore `labels/team`", "write a test"] {
        assert!(titles.iter().any(|title| title.starts_with(wanted)), "{wanted}: {titles:#?}");
    }
    let fix =
        actions.as_array().expect("a list").iter().find(|one| one.str_at(&["title"]).starts_with("fix: "));
    let uri = client.uri("manifests/pod.yaml");
    let edit = fix
        .and_then(|fix| fix.at(&["edit", "changes", &uri]))
        .and_then(|edits| edits.item(0))
        .expect("an edit");
    assert!(edit.str_at(&["newText"]).contains("team"), "{edit}");
    client.stop();
}

#[test]
fn hover_describes_fields_functions_and_values() {
    let mut client = EditorClient::start("hover", FILES, pulling());
    client.open("rules/labels.yaml", POLICY);
    let text = |result: &Value| result.str_at(&["contents", "value"]).to_owned();
    let field = text(&client.ask("textDocument/hover", "rules/labels.yaml", 8, 5));
    assert!(field.contains("**match**") && field.contains("any"), "{field}");
    let value = text(&client.ask("textDocument/hover", "rules/labels.yaml", 13, 60));
    assert!(value.contains("on `Pod web`") && value.contains("\"web\""), "{value}");
    assert!(client.ask("textDocument/hover", "rules/labels.yaml", 3, 9).is_null());
    client.stop();
}

#[test]
fn completion_knows_fields_values_kinds_and_functions() {
    let mut client = EditorClient::start("completion", FILES, pulling());
    let text = format!("{POLICY}    exc\n");
    client.open("rules/labels.yaml", &text);
    let labels = |result: &Value| -> Vec<String> {
        let items = result.as_array().expect("a list").iter();
        items.map(|one| one.str_at(&["label"]).to_owned()).collect()
    };
    let fields = labels(&client.ask("textDocument/completion", "rules/labels.yaml", 18, 7));
    assert!(fields.contains(&"exclude".to_owned()) && !fields.contains(&"validate".to_owned()), "{fields:?}");
    let values = labels(&client.ask("textDocument/completion", "rules/labels.yaml", 5, 30));
    assert_eq!(values, ["audit", "enforce", "Audit", "Enforce"]);
    let kinds = labels(&client.ask("textDocument/completion", "rules/labels.yaml", 11, 18));
    assert!(kinds.contains(&"Deployment".to_owned()));
    let inside = labels(&client.ask("textDocument/completion", "rules/labels.yaml", 13, 48));
    assert!(inside.contains(&"length".to_owned()) && inside.contains(&"request".to_owned()), "{inside:?}");
    let path = labels(&client.ask("textDocument/completion", "rules/labels.yaml", 13, 73));
    assert!(path.contains(&"name".to_owned()), "{path:?}");
    client.stop();
}

#[test]
fn a_rule_is_found_and_renamed_in_exceptions_and_tests() {
    let mut client = EditorClient::start("names", FILES, pulling());
    client.open("rules/labels.yaml", POLICY);
    client.open("rules/exception.yaml", EXCEPTION);
    let found = client.ask("textDocument/definition", "rules/exception.yaml", 7, 7);
    assert_eq!(places(&found), ["labels.yaml:7:10"]);
    let found = client.ask("textDocument/definition", "rules/exception.yaml", 5, 18);
    assert_eq!(places(&found), ["labels.yaml:3:8"]);
    let references = client.ask("textDocument/references", "rules/labels.yaml", 7, 12);
    assert_eq!(places(&references), ["exception.yaml:7:6", "kubewright-test.yaml:6:15", "labels.yaml:7:10"]);
    let renamed =
        client.ask_with("textDocument/rename", "rules/labels.yaml", [7, 12], r#", "newName": "owner""#);
    let changes = renamed.get("changes").and_then(Value::as_object).expect("changes");
    assert_eq!(changes.len(), 3, "{renamed}");
    let refused =
        client.ask_with("textDocument/rename", "rules/labels.yaml", [7, 12], r#", "newName": "a: b""#);
    assert!(refused.is_null());
    client.stop();
}

#[test]
fn symbols_folds_lenses_and_tokens_cover_a_policy() {
    let mut client = EditorClient::start("outline", FILES, pulling());
    client.open("rules/labels.yaml", POLICY);
    let symbols = client.ask("textDocument/documentSymbol", "rules/labels.yaml", 0, 0);
    assert_eq!(symbols.item(0).expect("one").str_at(&["name"]), "ClusterPolicy labels");
    let children = symbols.item(0).and_then(|one| one.get("children")).expect("children");
    assert_eq!(children.item(0).expect("one").str_at(&["name"]), "team");
    let folds = client.ask("textDocument/foldingRange", "rules/labels.yaml", 0, 0);
    assert!(folds.as_array().is_some_and(|folds| folds.len() >= 5), "{folds}");
    let tokens = client.ask("textDocument/semanticTokens/full", "rules/labels.yaml", 0, 0);
    let first: Vec<String> = tokens
        .get("data")
        .and_then(Value::as_array)
        .expect("data")
        .iter()
        .take(5)
        .map(ToString::to_string)
        .collect();
    assert_eq!(first, ["13", "49", "7", "1", "0"]);
    let params = r#"{"command": "kubewright.test", "arguments": ["labels/team"]}"#;
    let ran = client.request("workspace/executeCommand", params);
    assert!(ran.str_at(&["title"]).starts_with("tested"), "{ran}");
    let lenses = client.ask("textDocument/codeLens", "rules/labels.yaml", 0, 0);
    let lenses = lenses.as_array().expect("a list").iter();
    let titles: Vec<&str> = lenses.map(|lens| lens.str_at(&["command", "title"])).collect();
    assert_eq!(titles, ["tested · run tests", "judge manifests", "trace"]);
    client.stop();
}

#[test]
fn a_trace_names_the_lines_of_files() {
    let mut client = EditorClient::start("trace", FILES, pulling());
    let second = POLICY.replace("name: labels", "name: second");
    client.open("rules/labels.yaml", &format!("{POLICY}---\n{second}"));
    let params = r#"{"command": "kubewright.trace", "arguments": ["second/team"]}"#;
    let traced = client.request("workspace/executeCommand", params);
    assert_eq!(traced.str_at(&["file"]), "manifests/pod.yaml", "{traced}");
    let text = traced.str_at(&["text"]);
    assert!(text.starts_with("kyverno/second/team  on Pod"), "{text}");
    let line = format_args!("rules/labels.yaml:{}", POLICY.lines().count() + 1).to_string();
    let first_line = text.match_indices("rules/labels.yaml:").map(|(at, _)| &text[at..at + line.len()]).min();
    assert!(first_line >= Some(line.as_str()), "{text}");
    let params = r#"{"command": "kubewright.trace", "arguments": ["none/team"]}"#;
    let traced = client.request("workspace/executeCommand", params);
    assert!(traced.str_at(&["text"]).starts_with("no object"), "{traced}");
    client.stop();
}

#[test]
fn flow_collections_are_described_and_completed() {
    let mut client = EditorClient::start("flow", FILES, pulling());
    let text = POLICY.replace(
        "      any:\n      - resources:\n          kinds: [Pod]\n",
        "      any: [{resources: {kinds: [Pod, ], nam: x}}]\n",
    );
    client.open("rules/labels.yaml", &text);
    let column = |word: &str| {
        let line = text.lines().nth(9).expect("the line");
        u32::try_from(line.find(word).expect("the word")).expect("small")
    };
    let labels = |result: &Value| -> Vec<String> {
        let items = result.as_array().expect("a list").iter();
        items.map(|one| one.str_at(&["label"]).to_owned()).collect()
    };
    let field = client.ask("textDocument/hover", "rules/labels.yaml", 9, column("kinds") + 1);
    assert!(field.str_at(&["contents", "value"]).contains("**kinds**"), "{field}");
    let kinds = client.ask("textDocument/completion", "rules/labels.yaml", 9, column("], nam"));
    assert!(labels(&kinds).contains(&"Deployment".to_owned()), "{kinds}");
    let fields = labels(&client.ask("textDocument/completion", "rules/labels.yaml", 9, column("nam:") + 3));
    assert!(fields.contains(&"names".to_owned()) && !fields.contains(&"kinds".to_owned()), "{fields:?}");
    client.stop();
}

#[test]
fn documents_of_others_are_left_alone() {
    let mut client = EditorClient::start("others", FILES, pulling());
    client.open("values.yaml", "a: {\nb: [1,\n");
    assert!(client.pull("values.yaml").is_empty());
    assert!(client.ask("textDocument/hover", "values.yaml", 0, 0).is_null());
    assert!(client.ask("textDocument/completion", "values.yaml", 0, 0).is_null());
    client.stop();
}

#[test]
fn a_broken_document_keeps_the_rest_alive() {
    let mut client = EditorClient::start("broken", FILES, pulling());
    let text = format!(
        "{POLICY}---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: \"open\n---\n{}",
        POLICY.replace("name: labels", "name: others").replace("any:", "anny:")
    );
    client.open("rules/labels.yaml", &text);
    let found = client.pull("rules/labels.yaml");
    assert!(found.iter().any(|one| one.contains("KW-Y001")), "{found:#?}");
    assert!(found.iter().any(|one| one.contains("`anny`")), "{found:#?}");
    assert!(client.ask("textDocument/hover", "rules/labels.yaml", 8, 5).get("contents").is_some());
    client.open("manifests/pod.yaml", POD);
    let found = client.pull("manifests/pod.yaml");
    assert!(found.iter().any(|one| one.contains("kyverno/labels/team")), "{found:#?}");
    client.stop();
}

#[test]
fn columns_are_bytes_or_words_as_agreed() {
    let text = POLICY
        .replace("message: the", "message: \"\u{1f600}\u{e4}\" # the")
        .replace("    validate:\n", "    validate: {\"\u{1f600}\": 1, pattrn: 2}\n    unknwn:\n");
    let mut columns = Vec::new();
    for is_utf8 in [false, true] {
        let options = ClientOptions { is_utf8, is_pulling: true };
        let mut client = EditorClient::start(if is_utf8 { "bytes" } else { "words" }, FILES, options);
        let want = if is_utf8 { "utf-8" } else { "utf-16" };
        assert_eq!(client.capabilities.str_at(&["positionEncoding"]), want);
        client.open("rules/labels.yaml", &text);
        let found = client.pull("rules/labels.yaml");
        let one = found.iter().find(|one| one.contains("`pattrn`")).unwrap_or_else(|| panic!("{found:#?}"));
        columns.push(one.split(' ').next().expect("a place").to_owned());
        client.stop();
    }
    assert_eq!(columns, ["12:24-30", "12:26-32"]);
}

#[test]
fn a_waiting_request_is_cancelled_and_an_unknown_one_is_an_error() {
    let mut client = EditorClient::start("cancel", FILES, pulling());
    let many = POLICY.repeat(300).replace("apiVersion: kyverno.io", "---\napiVersion: kyverno.io");
    client.open("rules/labels.yaml", &many);
    let uri = client.uri("rules/labels.yaml");
    let params = format!(r#"{{"textDocument": {{"uri": "{uri}"}}}}"#);
    let first = client.send("textDocument/diagnostic", &params);
    let second = client.send("textDocument/foldingRange", &params);
    client.notify("$/cancelRequest", &format!(r#"{{"id": {second}}}"#));
    let third = client.send("textDocument/nothing", &params);
    assert!(client.answer_to(first).get("result").is_some());
    assert_eq!(client.answer_to(second).at(&["error", "code"]), Some(&Value::from(-32800_i64)));
    assert_eq!(client.answer_to(third).at(&["error", "code"]), Some(&Value::from(-32601_i64)));
    client.stop();
}

fn titles(actions: &Value) -> Vec<String> {
    actions.as_array().expect("a list").iter().map(|one| one.str_at(&["title"]).to_owned()).collect()
}

fn first_line(found: &[String]) -> u32 {
    found.first().and_then(|one| one.split(':').next()).and_then(|line| line.parse().ok()).expect("a line")
}

/// Writes locations as `file:line:column`, sorted.
fn places(locations: &Value) -> Vec<String> {
    let mut places: Vec<String> = locations
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            let file = one.str_at(&["uri"]).rsplit('/').next().unwrap_or_default().to_owned();
            let number = |key| one.at(&["range", "start", key]).map_or_else(String::new, ToString::to_string);
            format!("{file}:{}:{}", number("line"), number("character"))
        })
        .collect();
    places.sort();
    places
}
