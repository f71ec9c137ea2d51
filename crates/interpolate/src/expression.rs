//! One compiled expression, which knows where in its text it stands.

use kubewright_value::{Position, Text};

use super::error::{Problem, RenderError, moved};
use kubewright_cel::{Bindings, Cost, Environment, Program, Val};

#[derive(Debug, Clone)]
pub(super) struct Expression {
    pub(super) program: Program,
    /// Where the text between the braces starts.
    start: Position,
}

impl Expression {
    /// Compiles what is between the braces, which starts at `start` of the text; problems have no path yet.
    pub(super) fn compile(
        inner: &str,
        start: Position,
        environment: &Environment,
    ) -> Result<Self, Vec<Problem>> {
        if inner.trim().is_empty() {
            let message = "there is no expression between the braces".to_owned();
            return Err(vec![Problem {
                path: Vec::new(),
                is_key: false,
                message,
                position: start,
                length: 1,
            }]);
        }
        Program::compile(inner, environment).map(|program| Self { program, start }).map_err(|errors| {
            let located = errors.into_iter().map(|error| Problem {
                path: Vec::new(),
                is_key: false,
                message: error.message,
                position: moved(start, error.position),
                length: error.length,
            });
            located.collect()
        })
    }

    /// Returns where the text between the braces starts.
    pub(super) fn start(&self) -> Position {
        self.start
    }

    pub(super) fn evaluate<'a>(
        &'a self,
        bindings: &Bindings<'a>,
        cost: &mut Cost,
    ) -> Result<Val<'a>, Box<RenderError>> {
        self.program.evaluate(bindings, cost).map_err(|error| {
            let position = moved(self.start, error.position);
            let missing_key = error.missing_key;
            let error = RenderError::new(error.kind, error.message);
            self.named(Box::new(RenderError { position, missing_key, ..error }))
        })
    }

    /// Says that an error is of this expression, at its start unless the error knows better.
    pub(super) fn named(&self, mut error: Box<RenderError>) -> Box<RenderError> {
        error.expression = Text::new(self.program.source());
        if error.position == Position::START {
            error.position = self.start;
        }
        error
    }
}
