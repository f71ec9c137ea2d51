//! The shorthand: `field: "TYPE | constraint constraint …"`, objects as maps, named types beside them.
//!
//! Every field is required unless it has a default; an object gets one under `$default`. A wrong field
//! is reported and then accepts anything, so that one mistake does not cause others.

mod constraints;
mod tokens;
mod types;
mod values;

use std::collections::HashMap;

use kubewright_engine::{DiagnosticLevel, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Budget, Limits, Map, Position, Step, Text, Value};

use super::node::{AdditionalProperties, SchemaNode, SchemaType};
use super::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, SchemaProblem, ShorthandOptions, TextRange, check};
use kubewright_dialect_kit::fields::{article, child_path};
use tokens::TextPiece;
use types::TypeExpression;

/// The maximum number of reported mistakes per field.
const MAX_PROBLEMS_PER_FIELD: usize = 10;

/// A value and its path.
type PlacedValue<'v> = (&'v Value, &'v [Step]);

/// A mistake in the text of a field.
struct ShorthandMistake {
    offset: usize,
    length: usize,
    message: String,
    help: String,
    severity: DiagnosticLevel,
}

/// Reads `fields` with the named `types`; `$types` among the fields adds to them.
pub(super) fn read_shorthand(
    fields: PlacedValue<'_>,
    types: Option<PlacedValue<'_>>,
    options: ShorthandOptions,
) -> (SchemaNode, Vec<SchemaProblem>) {
    let mut reader = ShorthandReader {
        types: HashMap::new(),
        built: HashMap::new(),
        trail: Vec::new(),
        problems: Vec::new(),
        options,
        nodes: 0,
        is_cut: false,
    };
    let (value, path) = fields;
    if let Some((types, path)) = types {
        reader.declare(types, path);
    }
    if let Some(types) = value.get("$types") {
        reader.declare(types, &child_path(path, "$types"));
    }
    let root = match value {
        Value::Object(map) => reader.object(map, path, 0),
        Value::Null => SchemaNode::of(SchemaType::Object),
        other => {
            let message = format!("the fields are {}, expected an object", article(other.kind()));
            reader.problems.push(SchemaProblem::new(path.to_vec(), message));
            SchemaNode::of(SchemaType::Object)
        }
    };
    reader.rest_of_types();
    (root, reader.problems)
}

/// A named type.
struct NamedType {
    node: SchemaNode,
    nodes: usize,
    height: usize,
}

struct ShorthandReader<'v> {
    /// Where each named type is written.
    types: HashMap<&'v str, (&'v Value, Vec<Step>)>,
    /// The named types that are read; nothing for one that is wrong.
    built: HashMap<Text, Option<NamedType>>,
    /// The named types that lead here.
    trail: Vec<Text>,
    problems: Vec<SchemaProblem>,
    options: ShorthandOptions,
    nodes: usize,
    /// Something was left out because there is too much.
    is_cut: bool,
}

impl<'v> ShorthandReader<'v> {
    /// Takes up named types. One that is known already stays as it is.
    fn declare(&mut self, types: &'v Value, path: &[Step]) {
        match types {
            Value::Object(map) => {
                for (name, value) in map.iter() {
                    self.types.entry(name).or_insert_with(|| (value, child_path(path, name.as_str())));
                }
            }
            Value::Null => {}
            other => {
                let message = format!("the types are {}, expected an object", article(other.kind()));
                self.problems.push(SchemaProblem::new(path.to_vec(), message));
            }
        }
    }

    /// Reads the types that no field uses, for the mistakes in them.
    fn rest_of_types(&mut self) {
        let mut names: Vec<&'v str> = self.types.keys().copied().collect();
        names.sort_unstable();
        for name in names {
            if !self.built.contains_key(name) {
                self.build(name, 0);
            }
        }
    }

    fn object(&mut self, map: &Map, path: &[Step], depth: usize) -> SchemaNode {
        let mut node = SchemaNode::of(SchemaType::Object);
        if self.options.is_closed {
            node.additional = AdditionalProperties::Closed;
        }
        if !self.has_room(path, depth) {
            return node;
        }
        for (name, value) in map.iter() {
            let at = child_path(path, name.as_str());
            match name.as_str() {
                "$default" => {}
                "$types" if path.is_empty() || depth == 0 => {}
                _ if name.starts_with('$') => {
                    let problem = SchemaProblem::new(at, format!("unknown `{name}`"));
                    self.problems.push(problem.help("with `$` there are only `$default` and `$types`"));
                }
                _ => match self.field(value, &at, depth + 1) {
                    Some(field) => {
                        if field.default.is_none() {
                            node.required.push(name.clone());
                        }
                        node.properties.insert(name.clone(), field);
                    }
                    None => node.properties.insert(name.clone(), SchemaNode::default()),
                },
            }
        }
        node.required.sort();
        if let Some(default) = map.get("$default") {
            self.object_default(&mut node, default, child_path(path, "$default"));
        }
        node
    }

    /// Reads `$default`: an object, or its JSON as text.
    fn object_default(&mut self, node: &mut SchemaNode, default: &Value, path: Vec<Step>) {
        const HELP: &str = "write an object, such as `$default: {}`";
        let value = match default {
            Value::Object(_) => default.clone(),
            Value::String(text) => match kubewright_value::json::parse(text) {
                Ok(value @ Value::Object(_)) => value,
                Ok(other) => {
                    let message = format!(
                        "invalid $default: the text is {}, expected an object",
                        article(other.kind())
                    );
                    return self.problems.push(SchemaProblem::new(path, message).help(HELP));
                }
                Err(error) => {
                    let message = format!("invalid $default: value is not a valid object: {}", error.message);
                    return self.problems.push(SchemaProblem::new(path, message).help(HELP));
                }
            },
            other => {
                let message = format!(
                    "invalid $default: value must be an object or JSON text, got {}",
                    article(other.kind())
                );
                return self.problems.push(SchemaProblem::new(path, message).help(HELP));
            }
        };
        for said in self.refusals(node, &value) {
            self.problems.push(SchemaProblem::new(path.clone(), format!("invalid $default: {said}")));
        }
        node.default = Some(value);
    }

    fn field(&mut self, value: &Value, path: &[Step], depth: usize) -> Option<SchemaNode> {
        match value {
            Value::String(text) => self.text(text, path, depth),
            Value::Object(map) => Some(self.object(map, path, depth)),
            other => {
                let message = format!("unsupported field definition: {}", article(other.kind()));
                let help = "write a type, such as `\"integer | default=1\"`, or an object of fields";
                self.problems.push(SchemaProblem::new(path.to_vec(), message).help(help));
                None
            }
        }
    }

    /// Reads `TYPE | constraints`.
    fn text(&mut self, text: &str, path: &[Step], depth: usize) -> Option<SchemaNode> {
        let whole = TextPiece::whole(text).trimmed();
        if whole.text.is_empty() {
            let mistake = ShorthandMistake::new(whole, "empty schema expression")
                .help("write a type, such as `string`");
            self.mistake(text, path, mistake);
            return None;
        }
        let (kind, rest) = match whole.text.find('|') {
            Some(at) => (whole.until(at).trimmed(), Some(whole.from(at + 1))),
            None => (whole, None),
        };
        let built =
            types::parse_type_expression(kind).and_then(|expression| self.typed(&expression, path, depth));
        let mut node = match built {
            Ok(node) => node?,
            Err(mistake) => {
                self.mistake(text, path, mistake);
                return None;
            }
        };
        match rest {
            Some(rest) => self.constrain(&mut node, rest, text, path).then_some(node),
            None => Some(node),
        }
    }

    /// Adds constraints to `node`; returns whether all of them could be read.
    fn constrain(&mut self, node: &mut SchemaNode, rest: TextPiece<'_>, text: &str, path: &[Step]) -> bool {
        let before = self.problems.len();
        let mut default = None;
        match tokens::split_words(rest) {
            Ok(tokens) => {
                for token in tokens {
                    if token.text.starts_with("default=") {
                        default = Some(token);
                    }
                    for mistake in constraints::apply_constraint(node, token) {
                        self.mistake(text, path, mistake);
                    }
                    if self.problems.len() > before + MAX_PROBLEMS_PER_FIELD {
                        break;
                    }
                }
            }
            Err(mistake) => self.mistake(text, path, mistake),
        }
        if let (Some(token), Some(value)) = (default, node.default.clone()) {
            for said in self.refusals(node, &value) {
                self.mistake(text, path, ShorthandMistake::new(token, format!("invalid default: {said}")));
            }
        }
        !self.problems.iter().skip(before).any(|problem| problem.severity == DiagnosticLevel::Error)
    }

    /// Returns why `node` refuses its own default.
    fn refusals(&self, node: &SchemaNode, default: &Value) -> Vec<String> {
        if self.options.skips_defaults {
            return Vec::new();
        }
        let mut budget = Budget::new(Limits::default());
        match check::check_value(node, default, &mut budget) {
            Ok(wrongs) => {
                let errors = wrongs.into_iter().filter(|wrong| wrong.severity == DiagnosticLevel::Error);
                errors.map(|wrong| wrong.message).collect()
            }
            Err(exhausted) => vec![exhausted.to_string()],
        }
    }

    /// Returns the schema of a type; `None` for a wrong named type, which is reported at its definition.
    fn typed(
        &mut self,
        expression: &TypeExpression<'_>,
        path: &[Step],
        depth: usize,
    ) -> Result<Option<SchemaNode>, ShorthandMistake> {
        if !self.has_room(path, depth) {
            return Ok(None);
        }
        Ok(Some(match expression {
            TypeExpression::Plain(kind) => SchemaNode::of(*kind),
            TypeExpression::List(item) => match self.typed(item, path, depth + 1)? {
                Some(item) => SchemaNode { items: Some(Box::new(item)), ..SchemaNode::of(SchemaType::Array) },
                None => return Ok(None),
            },
            TypeExpression::Map(value) => match self.typed(value, path, depth + 1)? {
                Some(value) => SchemaNode {
                    additional: AdditionalProperties::Each(Box::new(value)),
                    ..SchemaNode::of(SchemaType::Object)
                },
                None => return Ok(None),
            },
            TypeExpression::Named(name) => return self.named(*name, path, depth),
        }))
    }

    fn named(
        &mut self,
        name: TextPiece<'_>,
        path: &[Step],
        depth: usize,
    ) -> Result<Option<SchemaNode>, ShorthandMistake> {
        if self.trail.iter().any(|known| known == name.text) {
            let mut around: Vec<&str> = self.trail.iter().map(Text::as_str).collect();
            around.push(name.text);
            let message = format!("cyclic type reference: {}", around.join(" → "));
            return Err(ShorthandMistake::new(name, message).help("a type cannot contain itself"));
        }
        if !self.types.contains_key(name.text) {
            return Err(self.unknown_type(name));
        }
        if !self.built.contains_key(name.text) {
            self.build(name.text, depth);
        }
        let Some(Some(built)) = self.built.get(name.text) else { return Ok(None) };
        self.nodes = self.nodes.saturating_add(built.nodes);
        let height = built.height;
        let has_room = self.has_room(path, depth + height);
        let node = self.built.get(name.text).and_then(Option::as_ref).map(|built| built.node.clone());
        Ok(node.filter(|_| has_room))
    }

    fn build(&mut self, name: &str, depth: usize) {
        let Some((value, path)) = self.types.get(name).cloned() else { return };
        self.trail.push(name.into());
        let before = self.problems.len();
        let node = self.field(value, &path, depth + 1);
        self.trail.pop();
        let is_sound =
            !self.problems.iter().skip(before).any(|problem| problem.severity == DiagnosticLevel::Error);
        let built = node.filter(|_| is_sound).map(|node| {
            let (nodes, height) = node.extent();
            NamedType { node, nodes, height }
        });
        self.built.insert(name.into(), built);
    }

    fn unknown_type(&self, name: TextPiece<'_>) -> ShorthandMistake {
        let mistake = ShorthandMistake::new(name, format!("unknown type `{}`", name.text));
        let plain = match name.text.to_ascii_lowercase().as_str() {
            "" => return mistake.help("write a type there, such as `string`"),
            "int" | "int32" | "int64" | "uint" => Some("integer"),
            "bool" => Some("boolean"),
            "float" | "double" | "float64" | "decimal" => Some("number"),
            "str" | "text" => Some("string"),
            _ => None,
        };
        let known = ["string", "integer", "number", "boolean"].into_iter().chain(self.types.keys().copied());
        mistake.help(match plain.or_else(|| nearest_word(name.text, known)) {
            Some(near) => did_you_mean(near),
            None => {
                "use `string`, `integer`, `number`, `boolean`, `[]T`, `map<T>`, or declare it under `types`"
                    .to_owned()
            }
        })
    }

    fn has_room(&mut self, path: &[Step], depth: usize) -> bool {
        self.nodes = self.nodes.saturating_add(1);
        let message = if depth > MAX_SCHEMA_DEPTH {
            format!("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")
        } else if self.nodes > MAX_SCHEMA_NODES {
            format!("the schema has more than {MAX_SCHEMA_NODES} parts when its types are written out")
        } else {
            return true;
        };
        if !self.is_cut {
            self.problems.push(SchemaProblem::new(path.to_vec(), message));
        }
        self.is_cut = true;
        false
    }

    fn mistake(&mut self, text: &str, path: &[Step], mistake: ShorthandMistake) {
        let end = mistake.offset.saturating_add(mistake.length);
        let covered = text.get(mistake.offset..end).unwrap_or_default().chars().count();
        let length = u32::try_from(covered).unwrap_or(u32::MAX).max(1);
        let span = TextRange { position: Position::of(text, mistake.offset), length };
        self.problems.push(SchemaProblem {
            path: path.to_vec(),
            span: Some(span),
            message: mistake.message,
            help: mistake.help,
            severity: mistake.severity,
        });
    }
}

impl ShorthandMistake {
    fn new(piece: TextPiece<'_>, message: impl Into<String>) -> Self {
        Self {
            offset: piece.offset,
            length: piece.text.len(),
            message: message.into(),
            help: String::new(),
            severity: DiagnosticLevel::Error,
        }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    fn warning(mut self) -> Self {
        self.severity = DiagnosticLevel::Warning;
        self
    }
}
