//! Strings with expressions in them.

use kubewright_value::{Position, Text, Value};

use super::error::{InterpolationProblem, RenderError, offset_position};
use super::expression::EmbeddedExpression;
use super::output::{charge_text_bytes, val_to_json, write_val_text};
use super::segments::{ExpressionSpan, find_expressions};
use super::{RenderedValue, is_omitted};
use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelErrorKind, CelProgram, Val};

/// A string whose expressions are compiled.
#[derive(Debug, Clone)]
pub struct TextTemplate(TextForm);

#[derive(Debug, Clone)]
enum TextForm {
    Plain(Text),
    /// A single expression, which keeps its type.
    Whole(EmbeddedExpression),
    Mixed(Box<[TextPart]>),
    /// A string that does not compile. Rendering it fails with this problem.
    Broken(Box<InterpolationProblem>),
}

#[derive(Debug, Clone)]
enum TextPart {
    Literal(Text),
    Expression(EmbeddedExpression),
}

/// A piece of a rendered string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderedPiece<'t> {
    /// Text of the template.
    Literal(&'t str),
    /// The result of an expression, which is data and never syntax.
    Evaluated(Text),
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

    /// Returns whether the string is a single expression.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.0, TextForm::Whole(_))
    }

    /// Returns the compiled expressions, each with its position in the string.
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

    /// Renders the string. A single expression renders to its value.
    ///
    /// # Errors
    /// When an expression fails, its value has no JSON form, or a limit is reached.
    pub fn render<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<RenderedValue, RenderError> {
        let value = self.value(bindings, 0, cost).map_err(|error| error.finished())?;
        Ok(value.map_or(RenderedValue::Omitted, RenderedValue::Value))
    }

    /// Renders the string piece by piece, for a language in which only the literal pieces are syntax.
    ///
    /// # Errors
    /// As [`TextTemplate::render`], and when the value of a single expression is not a string.
    pub fn render_pieces<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<Vec<RenderedPiece<'a>>, RenderError> {
        self.pieces(bindings, cost).map_err(|error| error.finished())
    }

    /// Returns the value of the string at nesting level `depth`; nothing when it is omitted.
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

    /// Renders the string as a key, which must be a string.
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
                Ok(vec![RenderedPiece::Evaluated(evaluate_string(expression, bindings, cost)?)])
            }
            TextForm::Mixed(parts) => {
                let piece = |part: &'a TextPart| match part {
                    TextPart::Literal(text) => Ok(RenderedPiece::Literal(text)),
                    TextPart::Expression(expression) => {
                        let mut out = String::new();
                        append_expression(&mut out, expression, bindings, cost)?;
                        Ok(RenderedPiece::Evaluated(Text::from(out)))
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
        // The position is counted from the expression before, so that many expressions do not take quadratic time.
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
    // White space around a single expression is ignored, such as the final line break of a YAML block.
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

/// Evaluates a single expression, whose value must be a string.
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
