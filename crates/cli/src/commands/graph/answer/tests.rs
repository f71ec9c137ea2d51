use kubewright_files::parse_documents;
use kubewright_value::{Document, Value, json};

use super::{GraphFindings, GraphRequest, detect_answer, graph_answer};
use crate::pattern_inputs::PatternInputs;

/// A Service that selects nothing, beside `count` applications of a Deployment, a Service and a ConfigMap each.
fn shop(count: usize) -> Vec<Document> {
    let mut text = "apiVersion: v1\nkind: Service\nmetadata: {name: lost, namespace: shop}\n\
                    spec: {selector: {app: nothing}, ports: [{port: 80}]}\n"
        .to_owned();
    for number in 0..count {
        text.push_str(&format!(
            "---\napiVersion: apps/v1\nkind: Deployment\n\
             metadata: {{name: app-{number}, namespace: shop, labels: {{app: app-{number}}}}}\n\
             spec:\n  replicas: 2\n  selector: {{matchLabels: {{app: app-{number}}}}}\n  template:\n\
             \x20   metadata: {{labels: {{app: app-{number}}}}}\n    spec:\n      containers:\n\
             \x20     - name: main\n        image: registry.example/app:1\n        envFrom:\n\
             \x20       - configMapRef: {{name: settings-{number}}}\n\
             ---\napiVersion: v1\nkind: Service\n\
             metadata: {{name: app-{number}, namespace: shop, labels: {{app: app-{number}}}}}\n\
             spec: {{selector: {{app: app-{number}}}, ports: [{{port: 80}}]}}\n\
             ---\napiVersion: v1\nkind: ConfigMap\n\
             metadata: {{name: settings-{number}, namespace: shop, labels: {{app: app-{number}}}}}\n\
             data: {{colour: red}}\n"
        ));
    }
    parse_documents("objects.yaml", &text)
}

/// Answers a request with `options` about `objects`.
#[track_caller]
fn answer(objects: &[Document], options: &str) -> Value {
    let inputs = PatternInputs::of(Vec::new(), objects);
    let request = GraphRequest::read(&json::parse(options).expect("valid JSON"), "").expect("options");
    let found = request.has_findings.then(|| GraphFindings::find(&inputs));
    graph_answer(&inputs, found.as_ref(), &request).expect("a picture")
}

/// Returns the text `key` of each item of a list of `answer`.
fn column(answer: &Value, list: &str, key: &str) -> Vec<String> {
    let items = answer.get(list).and_then(Value::as_array).expect("a list");
    items.iter().map(|item| item.str_at(&[key]).to_owned()).collect()
}

#[test]
fn findings_name_the_boxes_that_they_touch() {
    let answer = answer(&shop(1), "{}");
    let ids = column(&answer, "nodes", "id");
    assert_eq!(ids.iter().filter(|id| *id == "Service/shop/lost").count(), 1, "{ids:?}");
    let findings = answer.get("findings").and_then(Value::as_array).expect("a list");
    let about = |finding: &&Value| {
        let nodes = finding.get("nodes").and_then(Value::as_array).unwrap_or_default();
        nodes.iter().any(|node| node.as_str() == Some("Service/shop/lost"))
    };
    let patterns: Vec<&str> =
        findings.iter().filter(about).map(|finding| finding.str_at(&["pattern"])).collect();
    assert!(patterns.iter().any(|name| name.contains("service")), "{patterns:?}");
    assert!(findings.iter().all(|finding| {
        let nodes = finding.get("nodes").and_then(Value::as_array).unwrap_or_default();
        nodes.iter().all(|node| ids.iter().any(|id| Some(id.as_str()) == node.as_str()))
    }));
}

#[test]
fn above_the_limit_applications_are_boxes_and_the_opened_one_is_drawn_in_full() {
    let objects = shop(60);
    let closed = answer(&objects, r#"{"findings": false}"#);
    assert_eq!(column(&closed, "nodes", "opens").iter().filter(|key| !key.is_empty()).count(), 60);
    let open = answer(&objects, r#"{"findings": false, "open": ["shop/app-7"]}"#);
    let keys = column(&open, "nodes", "application");
    assert_eq!(keys.iter().filter(|key| *key == "shop/app-7").count(), 3);
    assert_eq!(column(&open, "nodes", "opens").iter().filter(|key| !key.is_empty()).count(), 59);
    assert_eq!(open.at(&["counts", "boxes"]).and_then(Value::as_i64), Some(59 + 3 + 1));
}

#[test]
fn focus_and_depth_choose_what_is_drawn() {
    let options = r#"{"findings": false, "focus": "Service/shop/app-1", "depth": 1}"#;
    let near = answer(&shop(3), options);
    assert_eq!(column(&near, "nodes", "id"), ["Service/shop/app-1", "Deployment.apps/shop/app-1"]);
    assert_eq!(column(&near, "edges", "type"), ["EXPOSES"]);
    assert_eq!(column(&near, "nodes", "class"), ["focus", "plain"]);
    let again =
        r#"{"findings": false, "focus": "Deployment.apps/shop/app-1", "depth": 1, "direction": "out"}"#;
    assert_eq!(
        column(&answer(&shop(3), again), "nodes", "id"),
        ["Deployment.apps/shop/app-1", "ConfigMap/shop/settings-1"]
    );
}

#[test]
fn pattern_and_focus_answer_why_an_object_is_no_finding() {
    let options = r#"{"pattern": "orphan-service", "focus": "Service/shop/app-1"}"#;
    let answer = answer(&shop(2), options);
    let nodes = answer.get("whyNot").and_then(Value::as_array).expect("a trace");
    assert!(!nodes.is_empty() && nodes.iter().all(|node| !node.str_at(&["what"]).is_empty()));
}

#[test]
fn wrong_options_are_refused_by_name() {
    let read = |options: &str| {
        GraphRequest::read(&json::parse(options).expect("valid JSON"), "").expect_err("it is wrong")
    };
    assert_eq!(read(r#"{"depth": "deep"}"#), "`depth` is not a number from 0 on");
    assert_eq!(read(r#"{"open": "shop/web"}"#), "`open` is not a list of texts");
    assert_eq!(read(r#"{"direction": "up"}"#), "`direction` is `up`, use in, out or both");
    assert_eq!(read(r#"{"pattern": "../secret.yaml"}"#), "`pattern` is the name of a pattern");
    let query = [("depth", "x")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(
        GraphRequest::read_query(&query, "").expect_err("it is wrong"),
        "`depth` is `x`, use a number"
    );
}

#[test]
fn query_says_what_options_say() {
    let query = [("namespace", "shop"), ("namespace", "ops"), ("open", "shop/a"), ("findings", "false")];
    let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = GraphRequest::read_query(&query, "").expect("options");
    assert_eq!(request.selection.namespaces, ["shop", "ops"]);
    assert_eq!(request.selection.open, ["shop/a"]);
    assert!(!request.has_findings);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_one() {
    let inputs = PatternInputs::of(Vec::new(), &shop(1));
    let request =
        |options: &str| GraphRequest::read(&json::parse(options).expect("valid JSON"), "").expect("options");
    let refused = |options: &str| {
        graph_answer(&inputs, None, &request(options)).expect_err("it is unknown").to_string()
    };
    assert_eq!(refused(r#"{"focus": "Service/shop/ap-0"}"#), "there is no object `Service/shop/ap-0`");
    assert_eq!(refused(r#"{"pattern": "no-such-pattern"}"#), "there is no pattern `no-such-pattern`");
    let mut inputs = PatternInputs::of(Vec::new(), &shop(1));
    assert!(detect_answer(&mut inputs, &["no-such-pattern".to_owned()]).is_err());
}

#[test]
fn detected_rows_are_counted() {
    let mut inputs = PatternInputs::of(Vec::new(), &shop(1));
    let answer = detect_answer(&mut inputs, &[]).expect("findings");
    let rows = answer.get("findings").and_then(Value::as_array).map(<[Value]>::len);
    let found = answer.at(&["summary", "findings"]).and_then(Value::as_i64);
    assert_eq!(rows.map(|count| count as i64), found);
    assert!(found > Some(0), "{answer}");
}
