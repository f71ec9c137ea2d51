//! The reader of JSON Schema as CustomResourceDefinitions use it, after its references are resolved.

use kubewright_engine::{DiagnosticLevel, nearest_word};
use kubewright_golib::regex;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Budget, Limits, Map, Number, Step, Text, Value, ValueKind};

use super::node::{AdditionalProperties, CountRange, SchemaNode, SchemaType};
use super::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, SchemaProblem, check};
use kubewright_dialect_kit::fields::{article, child_path};

/// The known keywords.
const KEYWORDS: [&str; 33] = [
    "type",
    "format",
    "title",
    "description",
    "default",
    "example",
    "enum",
    "nullable",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "minProperties",
    "maxProperties",
    "properties",
    "patternProperties",
    "required",
    "additionalProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "externalDocs",
    "$schema",
    "id",
];

/// Reads a schema without references.
pub(super) fn read_json_schema(schema: &Value) -> (SchemaNode, Vec<SchemaProblem>) {
    let mut reader = JsonSchemaReader { problems: Vec::new(), nodes: 0 };
    let node = reader.node(schema, &[], 0);
    (node, reader.problems)
}

struct JsonSchemaReader {
    problems: Vec<SchemaProblem>,
    nodes: usize,
}

impl JsonSchemaReader {
    fn node(&mut self, schema: &Value, path: &[Step], depth: usize) -> SchemaNode {
        self.nodes += 1;
        // References are resolved within the same limits, so this was already reported.
        if depth > MAX_SCHEMA_DEPTH || self.nodes > MAX_SCHEMA_NODES {
            return SchemaNode::default();
        }
        let Some(map) = schema.as_object() else {
            self.wrong(path, format!("the schema is {}, expected an object", article(schema.kind())));
            return SchemaNode::default();
        };
        let mut node = SchemaNode::default();
        for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let at = child_path(path, key.as_str());
            self.scalars(&mut node, key, value, &at);
            self.schemas(&mut node, key, value, &at, depth);
            self.unknown(key, &at);
        }
        node.required.sort();
        node.required.dedup();
        self.consistent(&node, map, path);
        self.own_default(&node, path);
        node
    }

    /// Reads the keywords about the value itself.
    fn scalars(&mut self, node: &mut SchemaNode, key: &Text, value: &Value, at: &[Step]) {
        match key.as_str() {
            "type" => node.kind = self.kind(value, at),
            "nullable" => node.is_nullable = self.boolean(value, at),
            "default" => node.default = Some(value.clone()),
            "enum" => node.choices = self.list(value, at),
            "minimum" => node.minimum = self.number(value, at),
            "maximum" => node.maximum = self.number(value, at),
            "exclusiveMinimum" => node.excludes_minimum = self.exclusive(value, at, "minimum"),
            "exclusiveMaximum" => node.excludes_maximum = self.exclusive(value, at, "maximum"),
            "multipleOf" => {
                node.multiple_of = self.number(value, at).filter(|number| self.is_step(*number, at));
            }
            "minLength" => node.length.least = self.count(value, at),
            "maxLength" => node.length.most = self.count(value, at),
            "minItems" => node.count.least = self.count(value, at),
            "maxItems" => node.count.most = self.count(value, at),
            "minProperties" => node.size.least = self.count(value, at),
            "maxProperties" => node.size.most = self.count(value, at),
            "uniqueItems" => node.is_unique = self.boolean(value, at),
            "pattern" => node.pattern = self.text(value, at).and_then(|text| self.pattern(&text, at)),
            "format" => node.format = self.text(value, at),
            "required" => node.required = self.names(value, at),
            "title" | "description" | "example" | "externalDocs" => {
                node.notes.push((key.clone(), value.clone()));
            }
            "x-kubernetes-int-or-string" => node.is_int_or_string = self.boolean(value, at),
            "x-kubernetes-preserve-unknown-fields" => node.keeps_unknown = self.boolean(value, at),
            _ if key.starts_with("x-kubernetes-") => node.notes.push((key.clone(), value.clone())),
            _ => {}
        }
    }

    /// Reads the schemas inside this one.
    fn schemas(&mut self, node: &mut SchemaNode, key: &str, value: &Value, at: &[Step], depth: usize) {
        match key {
            "items" => node.items = Some(Box::new(self.node(value, at, depth + 1))),
            "not" => node.not = Some(Box::new(self.node(value, at, depth + 1))),
            "allOf" => node.all_of = self.nodes(value, at, depth),
            "anyOf" => node.any_of = self.nodes(value, at, depth),
            "oneOf" => node.one_of = self.nodes(value, at, depth),
            "additionalProperties" => {
                node.additional = match value {
                    Value::Bool(true) => AdditionalProperties::Any,
                    Value::Bool(false) => AdditionalProperties::Closed,
                    schema => AdditionalProperties::Each(Box::new(self.node(schema, at, depth + 1))),
                }
            }
            "properties" => {
                for (name, schema) in self.map(value, at).iter() {
                    let inner = self.node(schema, &child_path(at, name.as_str()), depth + 1);
                    node.properties.insert(name.clone(), inner);
                }
            }
            "patternProperties" => {
                for (pattern, schema) in self.map(value, at).iter() {
                    let at = child_path(at, pattern.as_str());
                    let inner = self.node(schema, &at, depth + 1);
                    node.patterns.extend(self.pattern(pattern, &at).map(|pattern| (pattern, inner)));
                }
            }
            _ => {}
        }
    }

    fn nodes(&mut self, value: &Value, at: &[Step], depth: usize) -> Vec<SchemaNode> {
        let schemas = self.list(value, at);
        schemas
            .iter()
            .enumerate()
            .map(|(i, schema)| self.node(schema, &child_path(at, i), depth + 1))
            .collect()
    }

    /// Reports contradictions, and required fields that are not declared.
    fn consistent(&mut self, node: &SchemaNode, map: &Map, path: &[Step]) {
        if let (Some(least), Some(most)) = (node.minimum, node.maximum)
            && least > most
        {
            self.warn(path, format!("no number is at least {least} and at most {most}"));
        }
        for (range, what) in [(node.length, "text"), (node.count, "list"), (node.size, "object")] {
            if let CountRange { least: Some(least), most: Some(most) } = range
                && least > most
            {
                self.warn(path, format!("no {what} has at least {least} and at most {most}"));
            }
        }
        if matches!(node.additional, AdditionalProperties::Closed) && map.contains_key("properties") {
            for name in node.required.iter().filter(|name| node.properties.get(name).is_none()) {
                self.warn(
                    &child_path(path, "required"),
                    format!("`{name}` is required and is not in `properties`"),
                );
            }
        }
    }

    /// Reports a default that its own schema refuses.
    fn own_default(&mut self, node: &SchemaNode, path: &[Step]) {
        let Some(default) = &node.default else { return };
        let mut budget = Budget::new(Limits { steps: 10_000, ..Limits::default() });
        let wrongs = check::check_value(node, default, &mut budget).unwrap_or_default();
        if let Some(wrong) = wrongs.iter().find(|wrong| wrong.severity == DiagnosticLevel::Error) {
            self.warn(
                &child_path(path, "default"),
                format!("the default is refused by its own schema: {}", wrong.message),
            );
        }
    }

    fn unknown(&mut self, key: &str, at: &[Step]) {
        if KEYWORDS.contains(&key) || key.starts_with("x-") || key == "$defs" {
            return;
        }
        let help = match nearest_word(key, KEYWORDS) {
            Some(near) => did_you_mean(near),
            None => "it is not checked; parameters are declared under `properties`".to_owned(),
        };
        let message = format!("unknown field `{key}` in a schema");
        self.problems.push(SchemaProblem::new(at.to_vec(), message).help(help).warning());
    }

    fn kind(&mut self, value: &Value, at: &[Step]) -> Option<SchemaType> {
        let name = self.text(value, at)?;
        let kind = SchemaType::of(&name);
        if kind.is_none() {
            let help = match nearest_word(&name, SchemaType::ALL.map(|(name, _)| name)) {
                Some(near) => did_you_mean(near),
                None => "use one of `string`, `integer`, `number`, `boolean`, `array`, `object`".to_owned(),
            };
            self.problems.push(SchemaProblem::new(at.to_vec(), format!("unknown type `{name}`")).help(help));
        }
        kind
    }

    /// `exclusiveMinimum` was a boolean beside `minimum` and became a number later; the cluster wants the boolean.
    fn exclusive(&mut self, value: &Value, at: &[Step], bound: &str) -> bool {
        if let Value::Number(number) = value {
            let problem = SchemaProblem::new(at.to_vec(), "the bound is a number, expected true or false");
            self.problems.push(problem.help(format!("write `{bound}: {number}` beside it, and true here")));
            return false;
        }
        self.boolean(value, at)
    }

    fn is_step(&mut self, number: Number, at: &[Step]) -> bool {
        let is_step = number.as_f64() > 0.0;
        if !is_step {
            self.wrong(at, format!("`multipleOf` is {number}, expected more than 0"));
        }
        is_step
    }

    fn pattern(&mut self, text: &str, at: &[Step]) -> Option<regex::Regex> {
        match regex::compile_regex(text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                self.wrong(at, format!("bad pattern `{text}`: {error}"));
                None
            }
        }
    }

    fn names(&mut self, value: &Value, at: &[Step]) -> Vec<Text> {
        let items = self.list(value, at);
        items.iter().enumerate().filter_map(|(i, item)| self.text(item, &child_path(at, i))).collect()
    }

    fn text(&mut self, value: &Value, at: &[Step]) -> Option<Text> {
        if let Value::String(text) = value {
            return Some(text.clone());
        }
        self.mistyped(value, at, ValueKind::String);
        None
    }

    fn boolean(&mut self, value: &Value, at: &[Step]) -> bool {
        value.as_bool().unwrap_or_else(|| {
            self.mistyped(value, at, ValueKind::Bool);
            false
        })
    }

    fn number(&mut self, value: &Value, at: &[Step]) -> Option<Number> {
        if value.as_number().is_none() {
            self.mistyped(value, at, ValueKind::Number);
        }
        value.as_number()
    }

    fn count(&mut self, value: &Value, at: &[Step]) -> Option<i64> {
        let count = value.as_i64().filter(|count| *count >= 0);
        if count.is_none() {
            self.wrong(at, format!("the count is `{value}`, expected a whole number of at least 0"));
        }
        count
    }

    fn list(&mut self, value: &Value, at: &[Step]) -> Vec<Value> {
        if value.as_array().is_none() {
            self.mistyped(value, at, ValueKind::Array);
        }
        value.as_array().unwrap_or_default().to_vec()
    }

    fn map(&mut self, value: &Value, at: &[Step]) -> Map {
        if value.as_object().is_none() {
            self.mistyped(value, at, ValueKind::Object);
        }
        value.as_object().cloned().unwrap_or_default()
    }

    fn mistyped(&mut self, value: &Value, at: &[Step], expected: ValueKind) {
        let name = match at.last() {
            Some(Step::Key(key)) => key.to_string(),
            Some(Step::Index(index)) => format!("item {index}"),
            None => "the schema".to_owned(),
        };
        self.wrong(at, format!("`{name}` is {}, expected {}", article(value.kind()), article(expected)));
    }

    fn wrong(&mut self, path: &[Step], message: String) {
        self.problems.push(SchemaProblem::new(path.to_vec(), message));
    }

    fn warn(&mut self, path: &[Step], message: String) {
        self.problems.push(SchemaProblem::new(path.to_vec(), message).warning());
    }
}
