//! What parameters there are, what they default to, and what may be said in them.
//!
//! A schema is written in one of four shapes, two of them in a shorthand and two that only wrap another. All are read
//! to the same [`Schema`], so that defaults, checks and the JSON Schema for editors do not know which one it was.
//! What is wrong with a schema never stops its reading: the rest stays usable, and all mistakes are told at once.

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

/// How many levels of schemas may stand in each other.
const MAX_SCHEMA_DEPTH: usize = 64;
/// How many schemas a schema may hold when all references are written out.
const MAX_SCHEMA_NODES: usize = 20_000;

/// How many mistakes of a schema are told.
const MAX_SCHEMA_PROBLEMS: usize = 200;

/// A schema, compiled from any of its shapes.
#[derive(Debug, Clone)]
pub struct Schema {
    root: SchemaNode,
    /// The schema with its references written out, where it was written as JSON Schema.
    written: Option<Value>,
}

/// How the shorthand is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShorthandOptions {
    /// Objects refuse what is not declared.
    pub is_closed: bool,
    /// A default that its own field refuses is let through.
    pub skips_defaults: bool,
}

/// A mistake in a schema.
#[derive(Debug, Clone)]
pub struct SchemaProblem {
    /// Where, from the root that the reader was given.
    pub path: Vec<Step>,
    /// Where in the text that stands there.
    pub span: Option<TextRange>,
    /// What was found and what was expected.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// Whether the schema does without the part that is wrong.
    pub severity: DiagnosticLevel,
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// Where it starts.
    pub position: Position,
    /// How many characters it has.
    pub length: u32,
}

/// What is wrong with values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueViolation {
    /// Which value.
    pub path: Vec<Step>,
    /// Names the parameter, says what it is and what it should be.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// A parameter that the schema does not have is a warning, unless the schema forbids it.
    pub severity: DiagnosticLevel,
}

impl Schema {
    /// Returns the schema that `fields` declare in the shorthand, with the named `types`.
    ///
    /// `path` and the path beside `types` say where they stand, for the problems.
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

    /// Returns everything that is wrong with `value`; parameters that the schema does not know are warnings.
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
