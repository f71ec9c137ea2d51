//! Compilation of expressions and paths, with the diagnostics about them.

use std::collections::HashSet;

use kubewright_cel::{CelKind, CelProgram};
use kubewright_engine::Diagnostic;
use kubewright_interpolate::{InterpolationProblem, TextTemplate, ValueTemplate as Structure};
use kubewright_patch::path::{PatchPath, PathError, PathPiece};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Position, Step, Text, Value};

use super::scope::TypeScope;
use super::{PlacedExpression, PlacedStructure};
use crate::diagnostics as code;
use crate::source::OperationDefinition;
use kubewright_dialect_kit::fields::{Located, locate_within};

/// The type that an expression must have.
#[derive(Clone, Copy)]
pub(super) enum ExpectedType {
    Truth,
    Items,
    Text,
}

/// Compiles the expressions of a document and collects the diagnostics.
pub(super) struct ExpressionChecker<'d> {
    document: &'d Document,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The undeclared parameters already reported, each with the place that reads it.
    undeclared: HashSet<(String, Position)>,
}

impl<'d> ExpressionChecker<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, diagnostics: Vec::new(), undeclared: HashSet::new() }
    }

    /// Compiles a text with expressions.
    pub(super) fn text(
        &mut self,
        scope: &TypeScope<'_>,
        found: &Located<Text>,
        wanted: ExpectedType,
    ) -> PlacedExpression {
        let (template, problems) = TextTemplate::compile(&found.value, scope.environment());
        for (program, start) in template.programs() {
            self.reads(scope, &found.path, program, start);
            if template.is_whole() {
                self.result(&found.path, program, start, wanted);
            }
        }
        problems.iter().for_each(|problem| self.problem(&found.path, problem));
        Located { value: template, path: found.path.clone() }
    }

    /// Compiles a structure with expressions.
    pub(super) fn structure(&mut self, scope: &TypeScope<'_>, found: &Located<Value>) -> PlacedStructure {
        let (template, problems) = Structure::compile(&found.value, scope.environment());
        template.visit(|inside, _, program, start| {
            let path: Vec<Step> = found.path.iter().chain(inside).cloned().collect();
            self.reads(scope, &path, program, start);
        });
        problems.iter().for_each(|problem| self.problem(&found.path, problem));
        Located { value: template, path: found.path.clone() }
    }

    /// Parses the path of an operation, in which the expressions are not known yet.
    pub(super) fn path(
        &mut self,
        operation: &OperationDefinition,
        pieces: &[PathPiece<'_>],
    ) -> Result<PatchPath, PathError> {
        let parsed = PatchPath::from_pieces(pieces);
        let (message, help, (position, length)) = match &parsed {
            Err(error) => {
                let help = error.help.clone().unwrap_or_default();
                (error.message.clone(), help, (error.position, error.length))
            }
            Ok(path) => match path.check(operation.op) {
                Err(error) => (error.message, String::new(), path.position(error.segment)),
                Ok(()) => return parsed,
            },
        };
        let location = locate_within(self.document, &operation.path.path, position, length);
        self.diagnostics.push(Diagnostic::new(&code::BAD_PATH, message, location).help(help));
        parsed
    }

    fn problem(&mut self, path: &[Step], problem: &InterpolationProblem) {
        let path: Vec<Step> = path.iter().chain(&problem.path).cloned().collect();
        let location = match problem.is_key {
            true => self.document.locate_key(&path),
            false => locate_within(self.document, &path, problem.position, problem.length),
        };
        self.diagnostics.push(Diagnostic::new(&code::BAD_EXPRESSION, problem.message.clone(), location));
    }

    fn result(&mut self, path: &[Step], program: &CelProgram, start: Position, wanted: ExpectedType) {
        let kind = program.result_type().kind;
        let (fits, expected) = match wanted {
            ExpectedType::Truth => (kind == CelKind::Bool, "a boolean"),
            ExpectedType::Items => (matches!(kind, CelKind::List | CelKind::Map), "a list or a map"),
            ExpectedType::Text => (kind == CelKind::String, "text"),
        };
        if fits || kind == CelKind::Any {
            return;
        }
        let message = format!("the expression gives {}, expected {expected}", program.result_type());
        let length = u32::try_from(program.source().chars().count()).unwrap_or(1);
        let location = locate_within(self.document, path, start, length);
        self.diagnostics.push(Diagnostic::new(&code::WRONG_RESULT, message, location));
    }

    /// Reports parameters that the schema does not declare.
    fn reads(&mut self, scope: &TypeScope<'_>, path: &[Step], program: &CelProgram, start: Position) {
        for unknown in scope.unknown_reads(program) {
            let position = position_in_text(start, unknown.position);
            let length = u32::try_from(unknown.name.chars().count()).unwrap_or(1);
            let location = locate_within(self.document, path, position, length);
            let message =
                format!("`{}` is not declared in the schema of `{}`", unknown.name, unknown.variable);
            let help = match unknown.nearest {
                Some(near) => did_you_mean(near),
                None => "declare it, with its type and a default".to_owned(),
            };
            let diagnostic = Diagnostic::new(&code::UNDECLARED_PARAMETER, message, location).help(help);
            if self.undeclared.insert((diagnostic.message.clone(), diagnostic.location.position)) {
                self.diagnostics.push(diagnostic);
            }
        }
    }
}

/// Returns `position` of an expression as a position of its text, in which the expression starts at `start`.
pub(crate) fn position_in_text(start: Position, position: Position) -> Position {
    match position.line {
        1 => Position { column: start.column + position.column - 1, ..start },
        line => Position { line: start.line + line - 1, column: position.column },
    }
}
