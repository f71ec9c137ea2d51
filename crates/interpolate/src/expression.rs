//! A compiled expression with its position in the string.

use kubewright_value::{Position, Text};

use super::error::{InterpolationProblem, RenderError, offset_position};
use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, Val};

#[derive(Debug, Clone)]
pub(super) struct EmbeddedExpression {
    pub(super) program: CelProgram,
    /// The position of the text between the braces.
    start: Position,
}

impl EmbeddedExpression {
    /// Compiles the text between the braces, which starts at `start` of the string; problems have no path yet.
    pub(super) fn compile(
        inner: &str,
        start: Position,
        environment: &CelEnvironment,
    ) -> Result<Self, Vec<InterpolationProblem>> {
        if inner.trim().is_empty() {
            let message = "there is no expression between the braces".to_owned();
            return Err(vec![InterpolationProblem {
                path: Vec::new(),
                is_key: false,
                message,
                position: start,
                length: 1,
            }]);
        }
        CelProgram::compile(inner, environment).map(|program| Self { program, start }).map_err(|errors| {
            let located = errors.into_iter().map(|error| InterpolationProblem {
                path: Vec::new(),
                is_key: false,
                message: error.message,
                position: offset_position(start, error.position),
                length: error.length,
            });
            located.collect()
        })
    }

    /// Returns the position of the text between the braces.
    pub(super) fn start(&self) -> Position {
        self.start
    }

    pub(super) fn evaluate<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<Val<'a>, Box<RenderError>> {
        self.program.evaluate(bindings, cost).map_err(|error| {
            let position = offset_position(self.start, error.position);
            let missing_key = error.missing_key;
            let error = RenderError::new(error.kind, error.message);
            self.named(Box::new(RenderError { position, missing_key, ..error }))
        })
    }

    /// Adds the expression to an error, and its position unless the error has one.
    pub(super) fn named(&self, mut error: Box<RenderError>) -> Box<RenderError> {
        error.expression = Text::new(self.program.source());
        if error.position == Position::START {
            error.position = self.start;
        }
        error
    }
}
