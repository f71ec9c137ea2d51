//! The OpenAPI document, and real answers against it.

use std::collections::BTreeSet;

use kubewright_value::{Map, Value, json};

use super::{Page, body};

fn document() -> Value {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/page-api.openapi.json"));
    json::parse(&text.expect("the document")).expect("JSON")
}

/// Returns what is wrong with `value`, which `schema` describes.
fn mistakes(value: &Value, schema: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    let reference = schema.str_at(&["$ref"]);
    if let Some(name) = reference.strip_prefix("#/components/schemas/") {
        let named = root.at(&["components", "schemas", name]).unwrap_or_else(|| panic!("no schema {name}"));
        return mistakes(value, named, root, place, found);
    }
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        let fits = any.iter().any(|one| {
            let mut wrong = Vec::new();
            mistakes(value, one, root, place, &mut wrong);
            wrong.is_empty()
        });
        if !fits {
            found.push(format!("{place}: none of anyOf"));
        }
        return;
    }
    if !has_type(value, schema) {
        found.push(format!("{place}: {value:.80?} is not {:?}", schema.get("type")));
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        found.push(format!("{place}: {value:?} is not in enum"));
    }
    for name in
        schema.get("required").and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str)
    {
        if value.as_object().is_some_and(|map| map.get(name).is_none()) {
            found.push(format!("{place}: no {name}"));
        }
    }
    if let (Some(map), Some(properties)) =
        (value.as_object(), schema.get("properties").and_then(Value::as_object))
    {
        for (name, schema) in properties.iter() {
            if let Some(value) = map.get(name) {
                mistakes(value, schema, root, &format!("{place}.{name}"), found);
            }
        }
    }
    if let (Some(list), Some(items)) = (value.as_array(), schema.get("items")) {
        for (number, item) in list.iter().enumerate() {
            mistakes(item, items, root, &format!("{place}[{number}]"), found);
        }
    }
}

fn has_type(value: &Value, schema: &Value) -> bool {
    let names: Vec<&str> = match schema.get("type") {
        None => return true,
        Some(Value::String(name)) => vec![name.as_str()],
        Some(list) => list.as_array().unwrap_or_default().iter().filter_map(Value::as_str).collect(),
    };
    names.iter().any(|name| match *name {
        "null" => value.is_null(),
        "string" => value.as_str().is_some(),
        "boolean" => matches!(value, Value::Bool(_)),
        "integer" => json::to_string(value).parse::<i64>().is_ok(),
        "number" => json::to_string(value).parse::<f64>().is_ok(),
        "array" => value.as_array().is_some(),
        "object" => value.as_object().is_some(),
        other => panic!("unknown type {other}"),
    })
}

#[track_caller]
fn check(answer: &Value, method: &str, path: &str) {
    let document = document();
    let operation = document.at(&["paths", path, method]).unwrap_or_else(|| panic!("no {method} {path}"));
    let schema =
        operation.at(&["responses", "200", "content", "application/json", "schema"]).expect("a schema");
    let mut found = Vec::new();
    mistakes(answer, schema, &document, "", &mut found);
    assert!(found.is_empty(), "{method} {path}: {found:#?}");
}

#[test]
fn the_document_describes_every_route_and_nothing_else() {
    let page = Page::start(&[]);
    assert_eq!(page.get("/openapi.json"), document());
    let document = document();
    let paths = document.get("paths").and_then(Value::as_object).expect("paths");
    for (path, methods) in paths.iter() {
        let asked = path
            .replace("{language}", "cel")
            .replace("{name}", "x")
            .replace("{code}", "x")
            .replace("{kind}", "x");
        let methods = methods.as_object().expect("methods");
        if methods.iter().all(|(_, operation)| is_about_cluster(operation)) {
            continue;
        }
        for method in ["get", "post"] {
            let line = format!("{} /api/v1{asked}", method.to_uppercase());
            let (status, _) = page.ask(&line, "content-type: text/plain\r\n", "");
            // A route of another method is 405; a POST that is not JSON is 415 only where there is a route.
            let is_route = if method == "get" { status != 405 } else { status == 415 };
            let is_described = methods.get(method).is_some_and(|operation| !is_about_cluster(operation));
            assert_eq!(is_route, is_described, "{method} {path}: {status}");
        }
    }
    let sources = [
        include_str!("../../../cli/src/commands/ui/answers.rs"),
        include_str!("../../../cli/src/commands/ui/graph.rs"),
        include_str!("../../../cli/src/commands/ui/cluster.rs"),
        include_str!("../../../cli/src/commands/ui/cluster/reports.rs"),
        include_str!("../../../cli/src/commands/ui/cluster/scan_events.rs"),
    ];
    let calls = [
        "answers.get(\"",
        "answers.post(\"",
        "answers.download(\"",
        "answers.events(\"",
        "self.get(\"",
        "self.post(\"",
        "self.post_value(\"",
    ];
    let routes = sources.iter().flat_map(|source| calls.iter().flat_map(|call| source.split(call).skip(1)));
    let mut known = BTreeSet::new();
    for route in routes {
        let path = route.split('"').next().expect("a path");
        assert!(paths.get(path).is_some(), "{path} is not described");
        known.insert(path);
    }
    assert_eq!(known.len(), paths.len());
}

/// Returns whether an operation is there only where the page shows a cluster.
fn is_about_cluster(operation: &Value) -> bool {
    operation.str_at(&["summary"]).contains("; only with ")
}

#[test]
fn answers_are_what_the_document_says() {
    let page = Page::start(&[]);
    for path in ["/start", "/about", "/examples"] {
        check(&page.get(path), "get", path);
    }
    for id in [
        "kyverno/require-labels",
        "modrule/graceful-shutdown",
        "pattern/orphan-service",
        "trait/autoscaler",
        "admission/resource-limits",
    ] {
        let example = page.get(&format!("/examples/{id}"));
        check(&example, "get", "/examples/{language}/{name}");
        check(&page.post("/try", &example), "post", "/try");
        check(&page.post("/lint", &example), "post", "/lint");
        check(&page.post("/convert", &example), "post", "/convert");
        check(&page.post("/fix", &example), "post", "/fix");
    }
    let example = page.get("/examples/kyverno/require-labels");
    check(&page.post("/test-file", &example), "post", "/test-file");
    let expression = Map::from([("language", Value::from("cel")), ("expression", "1 +".into())]);
    check(&page.post("/eval", &expression.into()), "post", "/eval");
    check(&page.get("/explain/KW-Y001"), "get", "/explain/{code}");
    check(&page.get("/functions/jmespath"), "get", "/functions/{language}");
    let test =
        "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nrules: [r.yaml]\nresources: [o.yaml]\ncases: []\n";
    check(&page.post("/test", &body(&[("t.yaml", "test", test)])), "post", "/test");
    let (status, refusal) = page.post_status("/try", &Value::array(Vec::new()));
    assert_eq!(status, 400);
    let document = document();
    let mut found = Vec::new();
    let schema = document.at(&["components", "schemas", "Error"]).expect("a schema");
    mistakes(&json::parse(&refusal).expect("JSON"), schema, &document, "", &mut found);
    assert!(found.is_empty(), "{found:?}");
}
