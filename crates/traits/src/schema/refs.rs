//! The resolver of `$ref`: every reference is replaced by its definition, overridden by the fields beside it.
//!
//! Only `#/$defs/Name` is supported. A definition is copied for every reference to it, so the size of the result is
//! limited, and cycles are reported.

use kubewright_engine::nearest_word;
use kubewright_value::{Map, Step, Text, Value};

use super::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, SchemaProblem};
use kubewright_dialect_kit::fields::{article, child_path};

/// A schema without references.
pub(super) struct ResolvedSchema {
    pub(super) value: Value,
    pub(super) problems: Vec<SchemaProblem>,
    origins: Vec<ReferenceOrigin>,
}

/// The place of a part of the result in the schema.
struct ReferenceOrigin {
    /// In the result.
    at: Vec<Step>,
    /// In the schema.
    from: Vec<Step>,
    /// The fields beside the reference that override the definition.
    own: Vec<Text>,
}

/// Fields that hold one schema or a list of them.
const SCHEMAS: [&str; 9] =
    ["items", "additionalProperties", "not", "if", "then", "else", "allOf", "oneOf", "anyOf"];
/// Fields that hold a schema under each key.
const SCHEMA_MAPS: [&str; 2] = ["properties", "patternProperties"];

/// Resolves every reference in `schema`. A wrong reference becomes a schema that accepts anything.
pub(super) fn resolve_schema_references(schema: &Value) -> ResolvedSchema {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut resolver = ReferenceResolver {
        definitions,
        trail: Vec::new(),
        problems: Vec::new(),
        origins: Vec::new(),
        nodes: 0,
        is_cut: false,
    };
    let mut value = resolver.node(schema, &[], &[], 0);
    if let Some(map) = value.as_object_mut() {
        map.remove("$defs");
    }
    ResolvedSchema { value, problems: resolver.problems, origins: resolver.origins }
}

impl ResolvedSchema {
    /// Returns a problem of the result with the place where it was written.
    pub(super) fn placed(&self, mut problem: SchemaProblem) -> SchemaProblem {
        let covers = |origin: &&ReferenceOrigin| {
            let next = match problem.path.get(origin.at.len()) {
                Some(Step::Key(key)) => Some(key),
                _ => None,
            };
            problem.path.starts_with(&origin.at) && !next.is_some_and(|key| origin.own.contains(key))
        };
        // Definitions inside definitions are written down later and reach deeper.
        if let Some(origin) = self.origins.iter().filter(covers).max_by_key(|origin| origin.at.len()) {
            let length = origin.at.len();
            problem.path.splice(0..length, origin.from.iter().cloned());
        }
        problem
    }
}

struct ReferenceResolver<'s> {
    definitions: Option<&'s Map>,
    /// The definitions that lead here.
    trail: Vec<Text>,
    problems: Vec<SchemaProblem>,
    origins: Vec<ReferenceOrigin>,
    nodes: usize,
    /// Something was left out because there is too much.
    is_cut: bool,
}

impl ReferenceResolver<'_> {
    /// Returns `value`, which moves from `from` to `at`, without references.
    fn node(&mut self, value: &Value, at: &[Step], from: &[Step], depth: usize) -> Value {
        self.nodes += 1;
        if depth > MAX_SCHEMA_DEPTH || self.nodes > MAX_SCHEMA_NODES {
            self.too_large(depth, from.to_vec());
            return Value::object(Map::new());
        }
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let resolved = items
                    .map(|(i, item)| self.node(item, &child_path(at, i), &child_path(from, i), depth + 1));
                Value::array(resolved.collect())
            }
            Value::Object(map) => match map.get("$ref") {
                Some(reference) => self.reference(reference, map, at, from, depth),
                None => self.fields(map, at, from, depth),
            },
            other => other.clone(),
        }
    }

    fn fields(&mut self, map: &Map, at: &[Step], from: &[Step], depth: usize) -> Value {
        let mut resolved = map.clone();
        for key in SCHEMAS {
            if let Some(value) = map.get(key) {
                let node = self.node(value, &child_path(at, key), &child_path(from, key), depth + 1);
                resolved.insert(key.into(), node);
            }
        }
        for key in SCHEMA_MAPS {
            let Some(entries) = map.get(key).and_then(Value::as_object) else { continue };
            let (at, from) = (child_path(at, key), child_path(from, key));
            let mut each = Map::with_capacity(entries.len());
            for (name, value) in entries.iter() {
                let node = self.node(
                    value,
                    &child_path(&at, name.as_str()),
                    &child_path(&from, name.as_str()),
                    depth + 1,
                );
                each.insert(name.clone(), node);
            }
            resolved.insert(key.into(), Value::object(each));
        }
        Value::object(resolved)
    }

    fn reference(
        &mut self,
        reference: &Value,
        beside: &Map,
        at: &[Step],
        from: &[Step],
        depth: usize,
    ) -> Value {
        let mut siblings = beside.clone();
        siblings.remove("$ref");
        let siblings = self.fields(&siblings, at, from, depth);
        let Some((name, definition)) = self.definition(reference, child_path(from, "$ref")) else {
            return siblings;
        };
        self.origins.push(ReferenceOrigin {
            at: at.to_vec(),
            from: vec![Step::from("$defs"), Step::Key(name.clone())],
            own: beside.keys().cloned().collect(),
        });
        self.trail.push(name.clone());
        let from = vec![Step::from("$defs"), Step::Key(name)];
        let mut resolved = self.node(&definition, at, &from, depth + 1);
        self.trail.pop();
        if let (Some(resolved), Some(siblings)) = (resolved.as_object_mut(), siblings.as_object()) {
            for (key, value) in siblings.iter() {
                resolved.insert(key.clone(), value.clone());
            }
        }
        resolved
    }

    /// Returns the definition of `reference`; mistakes are reported at `from`.
    fn definition(&mut self, reference: &Value, from: Vec<Step>) -> Option<(Text, Value)> {
        match self.find(reference) {
            Ok(found) => Some(found),
            Err((message, help)) => {
                self.problems.push(SchemaProblem::new(from, message).help(help));
                None
            }
        }
    }

    fn find(&self, reference: &Value) -> Result<(Text, Value), (String, String)> {
        const HELP: &str = "write `#/$defs/Name`, and the definition under `$defs` of this schema";
        let wrong = |message: String| (message, HELP.to_owned());
        let Some(text) = reference.as_str() else {
            return Err(wrong(format!("`$ref` is {}, $ref must be a string", article(reference.kind()))));
        };
        let Some(path) = text.strip_prefix("#/") else {
            return Err(wrong(format!("only local $ref supported, got `{text}`")));
        };
        let Some(name) = path.strip_prefix("$defs/").filter(|name| !name.contains('/')) else {
            return Err(wrong(format!("unsupported $ref path `{text}`")));
        };
        if name.is_empty() {
            return Err(wrong(format!("empty definition name in $ref `{text}`")));
        }
        if self.trail.iter().any(|known| known == name) {
            let mut around: Vec<&str> = self.trail.iter().map(Text::as_str).collect();
            around.push(name);
            let message = format!("circular $ref: {}", around.join(" → "));
            return Err((
                message,
                "a parameter cannot contain itself; end the chain in a plain type".to_owned(),
            ));
        }
        let Some(definitions) = self.definitions else {
            return Err(wrong(format!("$ref `{text}` not found: there is no `$defs`")));
        };
        match definitions.get(name) {
            Some(definition @ Value::Object(_)) => Ok((name.into(), definition.clone())),
            Some(other) => {
                Err(wrong(format!("$ref `{text}` names {}, expected an object", article(other.kind()))))
            }
            None => {
                let near = nearest_word(name, definitions.keys().map(Text::as_str));
                let help =
                    near.map_or_else(|| HELP.to_owned(), |near| format!("did you mean `#/$defs/{near}`?"));
                Err((format!("$ref `{text}` not found in `$defs`"), help))
            }
        }
    }

    fn too_large(&mut self, depth: usize, from: Vec<Step>) {
        let message = if depth > MAX_SCHEMA_DEPTH {
            format!("$ref resolution exceeded maximum depth of {MAX_SCHEMA_DEPTH}")
        } else {
            format!("the schema has more than {MAX_SCHEMA_NODES} parts when its references are written out")
        };
        if !self.is_cut {
            self.problems.push(SchemaProblem::new(from, message));
        }
        self.is_cut = true;
    }
}
