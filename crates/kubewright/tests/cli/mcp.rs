//! `mcp`: the Model Context Protocol, one message a line.

use std::io::Write as _;
use std::process::{Command, Stdio};

use kubewright_value::{Map, Value, json};

use crate::folder;

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: a team is required
      pattern: {metadata: {labels: {team: \"?*\"}}}
";

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: []}}";

/// Sends messages to a server and returns its answers.
fn converse(arguments: &[&str], messages: &[String]) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .arg("mcp")
        .args(arguments)
        .current_dir(folder("fixtures"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server");
    let mut input = child.stdin.take().expect("standard input");
    for message in messages {
        writeln!(input, "{message}").expect("written");
    }
    drop(input);
    let output = child.wait_with_output().expect("the answers");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| json::parse(line).expect("a line is JSON")).collect()
}

fn request(id: i64, method: &str, params: Value) -> String {
    let message = Map::from([
        ("jsonrpc", Value::from("2.0")),
        ("id", id.into()),
        ("method", method.into()),
        ("params", params),
    ]);
    json::to_string(&message.into())
}

fn call(id: i64, tool: &str, arguments: &[(&str, &str)]) -> String {
    let arguments: Map = arguments.iter().map(|(name, text)| ((*name).into(), Value::from(*text))).collect();
    request(id, "tools/call", Map::from([("name", tool.into()), ("arguments", arguments.into())]).into())
}

/// Returns the text of a result, and whether it is an error.
#[track_caller]
fn result_text(answer: &Value) -> (String, bool) {
    let result = answer.get("result").ok_or_else(|| answer.to_string()).expect("a result");
    let content = result.get("content").and_then(Value::as_array).expect("content");
    assert!(content.iter().all(|one| one.str_at(&["type"]) == "text"));
    let texts: Vec<&str> = content.iter().map(|one| one.str_at(&["text"])).collect();
    (texts.join("\n"), result.get("isError").and_then(Value::as_bool).expect("isError"))
}

#[test]
fn a_session_begins_with_the_revision_of_the_client() {
    let initialize = |revision: &str| {
        let about = Map::from([("name", Value::from("test")), ("version", "1".into())]);
        let params = Map::from([
            ("protocolVersion", Value::from(revision)),
            ("capabilities", Map::new().into()),
            ("clientInfo", about.into()),
        ]);
        request(1, "initialize", params.into())
    };
    let initialized = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#.to_owned();
    let ping = request(2, "ping", Value::Null);
    let answers = converse(&[], &[initialize("2025-03-26"), initialized, ping]);
    assert_eq!(answers.len(), 2, "a notification has no answer: {answers:?}");
    let result = answers[0].get("result").expect("a result");
    assert_eq!(result.str_at(&["protocolVersion"]), "2025-03-26");
    assert!(result.at(&["capabilities", "tools"]).is_some());
    assert_eq!(result.str_at(&["serverInfo", "name"]), "kubewright");
    assert_eq!(answers[1].get("result"), Some(&Map::new().into()));
    let answers = converse(&[], &[initialize("1999-01-01")]);
    assert_eq!(answers[0].str_at(&["result", "protocolVersion"]), "2025-06-18");
}

#[test]
fn tools_are_listed_with_schemas_of_their_arguments() {
    let answers = converse(&[], &[request(1, "tools/list", Map::new().into())]);
    let tools = answers[0].at(&["result", "tools"]).and_then(Value::as_array).expect("tools");
    let names: Vec<&str> = tools.iter().map(|tool| tool.str_at(&["name"])).collect();
    assert_eq!(names, ["lint", "apply", "trace", "explain", "convert", "graph"]);
    for tool in tools {
        assert_eq!(tool.str_at(&["inputSchema", "type"]), "object");
        assert!(!tool.str_at(&["description"]).is_empty());
        let properties =
            tool.at(&["inputSchema", "properties"]).and_then(Value::as_object).expect("properties");
        let required = tool.at(&["inputSchema", "required"]).and_then(Value::as_array).unwrap_or_default();
        assert!(required.iter().all(|name| properties.contains_key(name.as_str().unwrap_or_default())));
        assert!(!properties.keys().any(|name| name.ends_with("Files")), "no files without a root");
        assert_eq!(tool.at(&["annotations", "readOnlyHint"]), Some(&true.into()));
    }
}

#[test]
fn every_tool_answers_with_the_output_of_its_command() {
    let answers = converse(
        &[],
        &[
            call(1, "lint", &[("rules", POLICY)]),
            call(2, "apply", &[("rules", POLICY), ("resources", POD)]),
            call(3, "trace", &[("rules", POLICY), ("resources", POD)]),
            call(4, "explain", &[("name", "KW-Y001")]),
            call(5, "convert", &[("rules", POLICY), ("to", "auto")]),
            call(6, "graph", &[("resources", POD), ("format", "json")]),
            call(7, "graph", &[("resources", POD)]),
        ],
    );
    let results: Vec<(String, bool)> = answers.iter().map(result_text).collect();
    assert!(results.iter().all(|(_, is_error)| !is_error), "{results:?}");
    for (at, wanted) in [
        (0, "\"diagnostics\": []"),
        (1, "\"status\":\"fail\""),
        (2, "\"traces\""),
        (3, "# KW-Y001"),
        (4, "kind: ValidatingPolicy"),
        (5, "\"nodes\""),
        (6, "Pod"),
    ] {
        assert!(results[at].0.contains(wanted), "{wanted}: {}", results[at].0);
    }
}

#[test]
fn bad_calls_are_errors_and_bad_rules_are_results() {
    let answers = converse(
        &[],
        &[
            call(1, "delete", &[]),
            call(2, "apply", &[("rules", POLICY)]),
            call(3, "apply", &[("rules", POLICY), ("resources", POD), ("operation", "--help")]),
            call(4, "apply", &[("rules", POLICY), ("resources", POD), ("output", "x")]),
            request(5, "resources/list", Map::new().into()),
            "not JSON".to_owned(),
            "[]".to_owned(),
            call(6, "lint", &[("rules", "a: [")]),
            call(7, "explain", &[("name", "KW-Y999")]),
        ],
    );
    let codes: Vec<String> = answers
        .iter()
        .map(|answer| answer.at(&["error", "code"]).map_or_else(|| "result".to_owned(), ToString::to_string))
        .collect();
    assert_eq!(
        codes,
        ["-32602", "-32602", "-32602", "-32602", "-32601", "-32700", "-32600", "result", "result"]
    );
    assert!(result_text(&answers[7]).0.contains("KW-Y001"));
    assert!(result_text(&answers[8]).1);
}

#[test]
fn files_are_read_below_the_root_folder_only() {
    let files = |id, path: &str| {
        let list = Value::array(vec![path.into()]);
        let arguments = Map::from([("ruleFiles", list)]);
        request(
            id,
            "tools/call",
            Map::from([("name", "lint".into()), ("arguments", arguments.into())]).into(),
        )
    };
    let answers =
        converse(&["--root", "rules"], &[files(1, "."), files(2, "../kyverno"), files(3, "/etc/hosts")]);
    assert!(!result_text(&answers[0]).1);
    assert!(answers[1].str_at(&["error", "message"]).contains("below the root folder"));
    assert!(answers[2].str_at(&["error", "message"]).contains("below the root folder"));
    let answers = converse(&[], &[files(1, ".")]);
    assert!(answers[0].str_at(&["error", "message"]).contains("takes no argument `ruleFiles`"));
}

#[test]
fn a_long_result_is_truncated_and_says_so() {
    let pods: Vec<String> =
        (0..400).map(|number| POD.replace("name: web", &format!("name: web-{number}"))).collect();
    let answers =
        converse(&[], &[call(1, "apply", &[("rules", POLICY), ("resources", &pods.join("\n---\n"))])]);
    let (text, is_error) = result_text(&answers[0]);
    assert!(!is_error && text.len() < 66_000, "{}", text.len());
    assert!(text.contains("truncated: the first 65536 of "));
}
