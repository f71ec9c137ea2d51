//! Schemas of parameters: declared fields, defaults and constraints.
//!
//! A schema is written in one of four shapes, two of them in a shorthand and two that only wrap another. All are read
//! to the same [`Schema`], so that defaults, checks and the JSON Schema for editors do not know which one it was.
//! A mistake does not stop the reader: the rest of the schema stays usable, and all mistakes are reported at once.

mod check;
mod defaults;
mod field;
mod formats;
mod node;
mod openapi;
mod refs;
mod shapes;
mod shorthand;
#[cfg(test)]
mod tests;
mod write;

pub use field::{FieldLookup, ParameterField};
pub use shapes::{Sections, read_sections};

use kubewright_engine::DiagnosticLevel;
use kubewright_value::{Budget, Exhausted, Position, Step, Value};

use node::SchemaNode;

/// The maximum nesting of schemas.
const MAX_SCHEMA_DEPTH: usize = 64;
/// The maximum number of nodes of a schema after its references are resolved.
const MAX_SCHEMA_NODES: usize = 20_000;

/// The maximum number of reported mistakes of a schema.
const MAX_SCHEMA_PROBLEMS: usize = 200;

/// A schema, compiled from any of its shapes.
#[derive(Debug, Clone)]
pub struct Schema {
    root: SchemaNode,
    /// The schema with its references written out, where it was written as JSON Schema.
    written: Option<Value>,
}

/// The options of the shorthand reader.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShorthandOptions {
    /// Whether objects refuse undeclared fields.
    pub is_closed: bool,
    /// Whether a default that violates its own field is accepted.
    pub skips_defaults: bool,
}

/// A mistake in a schema.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// The path, relative to the root passed to the reader.
    pub path: Vec<Step>,
    /// The range in the text at that path.
    pub span: Option<TextRange>,
    /// The message: what was found and what was expected.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// Whether the wrong part was ignored.
    pub severity: DiagnosticLevel,
}

/// A range of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextRange {
    /// The start.
    pub position: Position,
    /// The length in characters.
    pub length: u32,
}

/// A value that violates the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueViolation {
    /// The path of the value.
    pub path: Vec<Step>,
    /// The message: the parameter, what was found and what was expected.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// A parameter that the schema does not have is a warning, unless the schema forbids it.
    pub severity: DiagnosticLevel,
}

impl Schema {
    /// Returns the schema that `fields` declare in the shorthand, with the named `types`.
    ///
    /// `path` and the path in `types` are their places in the document, used in the problems.
    #[must_use]
    pub fn shorthand(
        fields: (&Value, &[Step]),
        types: Option<(&Value, &[Step])>,
        options: ShorthandOptions,
    ) -> (Self, Vec<SchemaProblem>) {
        let (root, problems) = shorthand::read_shorthand(fields, types, options);
        (Self { root, written: None }, problems)
    }

    /// Returns the schema that `value` writes as JSON Schema.
    #[must_use]
    pub fn open_api(value: &Value, path: &[Step]) -> (Self, Vec<SchemaProblem>) {
        let resolved = refs::resolve_schema_references(value);
        let mut problems = resolved.problems.clone();
        let (root, found) = openapi::read_json_schema(&resolved.value);
        problems.extend(found.into_iter().take(MAX_SCHEMA_PROBLEMS).map(|problem| resolved.placed(problem)));
        for problem in &mut problems {
            problem.path.splice(0..0, path.iter().cloned());
        }
        (Self { root, written: Some(resolved.value) }, problems)
    }

    /// Returns `given` with everything that it leaves out and the schema has a default for.
    ///
    /// As the API server does it: a nested object that is left out gets its own default or stays out,
    /// whatever defaults its fields have.
    ///
    /// # Errors
    /// When the result would be larger than `budget` allows.
    pub fn with_defaults(&self, given: &Value, budget: &mut Budget) -> Result<Value, Exhausted> {
        defaults::apply_defaults(&self.root, given, budget)
    }

    /// Returns all violations in `value`; an unknown parameter is a warning.
    ///
    /// # Errors
    /// When it takes longer than `budget` allows.
    pub fn check(&self, value: &Value, budget: &mut Budget) -> Result<Vec<ValueViolation>, Exhausted> {
        check::check_value(&self.root, value, budget)
    }

    /// Returns the schema as JSON Schema in the form of a CustomResourceDefinition, without references.
    #[must_use]
    pub fn to_json_schema(&self) -> Value {
        write::write_json_schema(&self.root)
    }

    /// Returns the same for display: what was written as JSON Schema keeps its `x-` fields.
    #[must_use]
    pub fn to_display_schema(&self) -> Value {
        self.written.clone().unwrap_or_else(|| self.to_json_schema())
    }

    /// Returns the parameters as one object, for following names into it.
    #[must_use]
    pub fn root(&self) -> ParameterField<'_> {
        ParameterField::new(&self.root)
    }
}

impl SchemaProblem {
    fn new(path: Vec<Step>, message: impl Into<String>) -> Self {
        Self {
            path,
            span: None,
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
