//! What commands print as JSON, compared with the published schemas.

use std::fs;

use kubewright_value::{Value, json};

use crate::{folder, kubewright};

/// The keywords that the checker knows; a schema with another one would not be checked whole.
const KEYWORDS: [&str; 13] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "const",
    "enum",
    "required",
    "properties",
    "additionalProperties",
    "items",
];
const COMBINATIONS: [&str; 2] = ["oneOf", "anyOf"];

fn schema() -> Value {
    published("trace")
}

fn published(name: &str) -> Value {
    let path = folder(&format!("../../../docs/{name}.schema.json"));
    json::parse(&fs::read_to_string(path).expect("the schema is there")).expect("the schema is JSON")
}

/// Runs `kubewright ARGUMENTS` and compares what it prints with the schema.
#[track_caller]
fn check_trace(arguments: &str) -> Value {
    let output = kubewright(arguments, "");
    let trace = json::parse(&String::from_utf8_lossy(&output.stdout)).expect("the trace is JSON");
    let schema = schema();
    assert!(matches_schema(&trace, &schema, &schema), "`kubewright {arguments}` does not match the schema");
    trace
}

/// Runs `kubewright ARGUMENTS` and compares what it prints with one of the outputs that are published.
#[track_caller]
fn check_output(kind: &str, arguments: &str) {
    let output = kubewright(arguments, "");
    let text = String::from_utf8_lossy(&output.stdout);
    let printed = json::parse(&text).map_err(|error| format!("{arguments}: {error}: {text}")).expect("JSON");
    let schema = published("outputs");
    let own = schema.at(&["$defs", kind]).expect("the kind of output");
    assert!(
        matches_schema(&printed, own, &schema),
        "`kubewright {arguments}` does not match `{kind}`: {text}"
    );
    assert!(matches_schema(&printed, &schema, &schema), "`{kind}` is not listed");
    let without = text.replacen("\"version\"", "\"versoin\"", 1);
    let without = json::parse(&without).expect("JSON");
    assert!(!matches_schema(&without, own, &schema), "`{kind}` does not need a version");
}

/// Returns whether `value` matches `schema`, for the keywords that our schema uses.
fn matches_schema(value: &Value, schema: &Value, root: &Value) -> bool {
    let list = |word: &str| schema.get(word).and_then(Value::as_array);
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.strip_prefix("#/$defs/").expect("a reference within the schema");
        return matches_schema(value, root.at(&["$defs", name]).expect("a definition"), root);
    }
    let is_of_type = |name: &str| match name {
        "integer" => value.as_i64().is_some(),
        name => name == value.kind().name(),
    };
    let text = |key: &Value| key.as_str().expect("a name").to_owned();
    schema.get("type").and_then(Value::as_str).is_none_or(is_of_type)
        && schema.get("const").is_none_or(|only| only == value)
        && list("enum").is_none_or(|words| words.contains(value))
        && list("required").is_none_or(|keys| keys.iter().all(|key| value.get(&text(key)).is_some()))
        && list("oneOf")
            .is_none_or(|all| all.iter().filter(|one| matches_schema(value, one, root)).count() == 1)
        && list("anyOf").is_none_or(|all| all.iter().any(|one| matches_schema(value, one, root)))
        && schema.get("items").is_none_or(|items| {
            value.as_array().is_none_or(|all| all.iter().all(|item| matches_schema(item, items, root)))
        })
        && has_known_fields(value, schema, root)
}

fn has_known_fields(value: &Value, schema: &Value, root: &Value) -> bool {
    let known = schema.get("properties").and_then(Value::as_object);
    value.as_object().is_none_or(|map| {
        map.iter().all(|(key, value)| match known.and_then(|known| known.get(key)) {
            Some(schema) => matches_schema(value, schema, root),
            None => schema.get("additionalProperties") != Some(&Value::Bool(false)),
        })
    })
}

/// Returns the keywords of `schema` and of all schemas in it.
fn keywords(schema: &Value, found: &mut Vec<String>) {
    let Some(map) = schema.as_object() else { return };
    for (key, value) in map.iter() {
        found.push(key.to_string());
        match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(all)) => {
                all.iter().for_each(|(_, schema)| keywords(schema, found));
            }
            ("oneOf" | "anyOf", Value::Array(all)) => {
                all.iter().for_each(|schema| keywords(schema, found));
            }
            ("items", schema) => keywords(schema, found),
            _ => {}
        }
    }
}

#[test]
fn trace_schema_uses_only_keywords_that_are_checked() {
    let mut found = Vec::new();
    keywords(&schema(), &mut found);
    keywords(&published("outputs"), &mut found);
    assert!(found.len() > 200);
    for word in found {
        assert!(KEYWORDS.contains(&word.as_str()) || COMBINATIONS.contains(&word.as_str()), "{word}");
    }
}

#[test]
fn trace_schema_matches_traces_of_rules() {
    check_trace("trace rules -r manifests -o json");
    let traces = check_trace("trace rules -r manifests/shop.yaml --operation DELETE -o json");
    assert!(traces.get("traces").and_then(Value::as_array).is_some_and(|all| !all.is_empty()));
    let labels = "trace kyverno/labels/policy.yaml -r kyverno/labels/resources.yaml";
    check_trace(&format!("{labels} -f kyverno/labels/values.yaml -o json"));
}

#[test]
fn trace_schema_matches_traces_of_patterns() {
    let trace = "trace patterns-trace/patterns.yaml -r patterns-trace/objects.yaml -o json";
    check_trace(trace);
    check_trace(&format!("{trace} --object Service/far --object Pod/shop/web-1"));
    check_trace("trace orphan-service -r patterns-trace/objects.yaml -o json");
}

#[test]
fn trace_schema_matches_traces_of_traits() {
    let base = "-r traits-trace/base.yaml";
    check_trace(&format!("trace traits-trace/traits/20-labels.yaml {base} -o json"));
    check_trace(&format!("trace traits-trace/fails.yaml {base} --name web -o json"));
    check_trace("trace render/traits render/platform -r render/platform -o json");
}

#[test]
fn trace_schema_refuses_an_unknown_verdict() {
    let trace = kubewright("trace rules -r manifests/shop.yaml -o json", "").stdout;
    let trace =
        String::from_utf8_lossy(&trace).replacen("\"verdict\": \"yes\"", "\"verdict\": \"perhaps\"", 1);
    let trace = json::parse(&trace).expect("the trace is JSON");
    let schema = schema();
    assert!(!matches_schema(&trace, &schema, &schema));
}

#[test]
fn outputs_of_commands_match_the_published_schema() {
    check_output("objects", "apply rules -r manifests -o json");
    check_output("objects", "apply kyverno/labels/policy.yaml -r kyverno/labels/resources.yaml -o json");
    check_output("lint", "lint rules -o json");
    check_output("tests", "test kyverno --coverage -o json");
    check_output("findings", "detect detect/patterns/lost-service.yaml -r graph/small.yaml -o json");
    check_output("patternList", "detect detect/patterns/lost-service.yaml --list -o json");
    check_output("impacts", "impact inputs/rules-b -r inputs/rendered.yaml -o json");
    check_output("differences", "diff inputs/rules-a inputs/rules-b -r inputs/rendered.yaml -o json");
    check_output("picture", "graph -r graph/small.yaml -o json");
}

#[cfg(feature = "serve")]
#[test]
fn output_of_migrate_matches_the_published_schema() {
    check_output("migration", "migrate migrate/policies -r migrate/objects.yaml -o json");
}
