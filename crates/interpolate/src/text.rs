//! A text with expressions in it.

use kubewright_value::{Position, Text, Value};

use super::error::{InterpolationProblem, RenderError, offset_position};
use super::expression::EmbeddedExpression;
use super::find::{ExpressionSpan, find_expressions};
use super::output::{charge_text_bytes, val_to_json, write_val_text};
use super::{RenderedValue, is_omitted};
use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelErrorKind, CelProgram, Val};

/// A text in which the expressions are found and compiled.
#[derive(Debug, Clone)]
pub struct TextTemplate(TextForm);

#[derive(Debug, Clone)]
enum TextForm {
    Plain(Text),
    /// The text is one expression, which keeps its type.
    Whole(EmbeddedExpression),
    Mixed(Box<[TextPart]>),
    /// The text cannot be compiled. Whoever renders it all the same is told why.
    Broken(Box<InterpolationProblem>),
}

#[derive(Debug, Clone)]
enum TextPart {
    Literal(Text),
    Expression(EmbeddedExpression),
}

/// A part of a rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderedPiece<'t> {
    /// As it is written in the template.
    Literal(&'t str),
    /// What an expression gave, which is data and never syntax.
    Given(Text),
}

impl TextTemplate {
    /// Finds and compiles the expressions of `text`. Problems have no path.
    #[must_use]
    pub fn compile(text: &str, environment: &CelEnvironment) -> (Self, Vec<InterpolationProblem>) {
        let (form, problems) = match find_expressions(text) {
            Ok(found) => compile_text(text, &found, environment),
            Err(unfinished) => {
                let problem = InterpolationProblem {
                    path: Vec::new(),
                    is_key: false,
                    message: unfinished.message,
                    position: unfinished.position,
                    length: unfinished.length,
                };
                (TextForm::Broken(Box::new(problem.clone())), vec![problem])
            }
        };
        (Self(form), problems)
    }

    /// Returns the text, if there is no expression in it.
    #[must_use]
    pub fn plain(&self) -> Option<&Text> {
        match &self.0 {
            TextForm::Plain(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the text is one expression and nothing else.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.0, TextForm::Whole(_))
    }

    /// Returns the compiled expressions, and where each starts in the text.
    pub fn programs(&self) -> impl Iterator<Item = (&CelProgram, Position)> {
        let (whole, parts) = match &self.0 {
            TextForm::Whole(expression) => (Some(expression), &[][..]),
            TextForm::Mixed(parts) => (None, &parts[..]),
            _ => (None, &[][..]),
        };
        let parts = parts.iter().filter_map(|part| match part {
            TextPart::Expression(expression) => Some(expression),
            TextPart::Literal(_) => None,
        });
        whole.into_iter().chain(parts).map(|expression| (&expression.program, expression.start()))
    }

    /// Renders the text; a text that is one expression gives what the expression gives.
    ///
    /// # Errors
    /// When an expression fails, what it gives has no form in JSON, or it is too much.
    pub fn render<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<RenderedValue, RenderError> {
        let value = self.value(bindings, 0, cost).map_err(|error| error.finished())?;
        Ok(value.map_or(RenderedValue::Omitted, RenderedValue::Value))
    }

    /// Renders the text part by part, for a language in which only the literal parts are syntax.
    ///
    /// # Errors
    /// As [`TextTemplate::render`], and when a text that is one expression gives no string.
    pub fn render_pieces<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<Vec<RenderedPiece<'a>>, RenderError> {
        self.pieces(bindings, cost).map_err(|error| error.finished())
    }

    /// Returns the value of the text, which will stand `depth` levels deep; nothing when it is left out.
    pub(super) fn value<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        depth: usize,
        cost: &mut CelCost,
    ) -> Result<Option<Value>, Box<RenderError>> {
        match &self.0 {
            TextForm::Plain(text) => Ok(Some(Value::String(text.clone()))),
            TextForm::Whole(expression) => {
                let found = expression.evaluate(bindings, cost)?;
                val_to_json(&found, depth, cost).map_err(|error| expression.named(error))
            }
            TextForm::Mixed(parts) => {
                render_mixed_text(parts, bindings, cost).map(|text| Some(Value::String(text)))
            }
            TextForm::Broken(problem) => Err(broken_template_error(problem)),
        }
    }

    /// Returns the text where only a text will do: for a key.
    pub(super) fn key<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<Text, Box<RenderError>> {
        match &self.0 {
            TextForm::Plain(text) => Ok(text.clone()),
            TextForm::Whole(expression) => evaluate_string(expression, bindings, cost),
            TextForm::Mixed(parts) => render_mixed_text(parts, bindings, cost),
            TextForm::Broken(problem) => Err(broken_template_error(problem)),
        }
    }

    fn pieces<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<Vec<RenderedPiece<'a>>, Box<RenderError>> {
        match &self.0 {
            TextForm::Plain(text) => Ok(vec![RenderedPiece::Literal(text)]),
            TextForm::Whole(expression) => {
                Ok(vec![RenderedPiece::Given(evaluate_string(expression, bindings, cost)?)])
            }
            TextForm::Mixed(parts) => {
                let piece = |part: &'a TextPart| match part {
                    TextPart::Literal(text) => Ok(RenderedPiece::Literal(text)),
                    TextPart::Expression(expression) => {
                        let mut out = String::new();
                        append_expression(&mut out, expression, bindings, cost)?;
                        Ok(RenderedPiece::Given(Text::from(out)))
                    }
                };
                parts.iter().map(piece).collect()
            }
            TextForm::Broken(problem) => Err(broken_template_error(problem)),
        }
    }
}

fn compile_text(
    text: &str,
    found: &[ExpressionSpan],
    environment: &CelEnvironment,
) -> (TextForm, Vec<InterpolationProblem>) {
    if found.is_empty() {
        return (TextForm::Plain(Text::new(text)), Vec::new());
    }
    let mut parts = Vec::with_capacity(found.len().saturating_mul(2) + 1);
    let mut problems = Vec::new();
    let (mut from, mut position, mut counted) = (0, Position::START, 0);
    for one in found {
        push_literal(&mut parts, text, from..one.whole.start);
        from = one.whole.end;
        // Counted on from the expression before, so that many of them are not quadratic.
        let passed = text.get(counted..one.inner.start).unwrap_or_default();
        (position, counted) =
            (offset_position(position, Position::of(passed, passed.len())), one.inner.start);
        let inner = text.get(one.inner.clone()).unwrap_or_default();
        match EmbeddedExpression::compile(inner, position, environment) {
            Ok(expression) => parts.push(TextPart::Expression(expression)),
            Err(wrong) => problems.extend(wrong),
        }
    }
    push_literal(&mut parts, text, from..text.len());
    if let Some(first) = problems.first() {
        return (TextForm::Broken(Box::new(first.clone())), problems);
    }
    // White space around a single expression does not count, such as the line break of a block of YAML.
    let is_blank = |part: &TextPart| matches!(part, TextPart::Literal(text) if text.trim().is_empty());
    if found.len() == 1 && parts.iter().filter(|part| !is_blank(part)).count() == 1 {
        let whole = parts.into_iter().find_map(|part| match part {
            TextPart::Expression(expression) => Some(TextForm::Whole(expression)),
            TextPart::Literal(_) => None,
        });
        return (whole.unwrap_or_else(|| TextForm::Plain(Text::new(text))), problems);
    }
    (TextForm::Mixed(parts.into()), problems)
}

fn push_literal(parts: &mut Vec<TextPart>, text: &str, range: std::ops::Range<usize>) {
    if let Some(text) = text.get(range).filter(|text| !text.is_empty()) {
        parts.push(TextPart::Literal(Text::new(text)));
    }
}

fn render_mixed_text<'a>(
    parts: &'a [TextPart],
    bindings: &CelBindings<'a>,
    cost: &mut CelCost,
) -> Result<Text, Box<RenderError>> {
    let mut out = String::new();
    for part in parts {
        match part {
            TextPart::Literal(text) => {
                charge_text_bytes(text.len(), cost)?;
                out.push_str(text);
            }
            TextPart::Expression(expression) => append_expression(&mut out, expression, bindings, cost)?,
        }
    }
    Ok(Text::from(out))
}

fn append_expression<'a>(
    out: &mut String,
    expression: &'a EmbeddedExpression,
    bindings: &CelBindings<'a>,
    cost: &mut CelCost,
) -> Result<(), Box<RenderError>> {
    let found = expression.evaluate(bindings, cost)?;
    write_val_text(out, &found, cost).map_err(|error| expression.named(error))
}

/// Returns what a whole expression gives, which has to be a string.
fn evaluate_string<'a>(
    expression: &'a EmbeddedExpression,
    bindings: &CelBindings<'a>,
    cost: &mut CelCost,
) -> Result<Text, Box<RenderError>> {
    match expression.evaluate(bindings, cost)? {
        Val::String(text) => Ok(text.into_owned()),
        other => {
            let found = if is_omitted(&other) { "nothing" } else { other.type_name() };
            let message = format!("expected a string, found {found}");
            Err(expression.named(Box::new(RenderError::new(CelErrorKind::Type, message))))
        }
    }
}

fn broken_template_error(problem: &InterpolationProblem) -> Box<RenderError> {
    let error = RenderError::new(CelErrorKind::Value, problem.message.clone());
    Box::new(RenderError { position: problem.position, ..error })
}
