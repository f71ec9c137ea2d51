//! A text with expressions in it.

use kubewright_value::{Position, Text, Value};

use super::error::{Problem, RenderError, moved};
use super::expression::Expression;
use super::find::{Found, expressions};
use super::output::{counted_text, value_of, write_text};
use super::{Rendered, is_omitted};
use kubewright_cel::{Bindings, Cost, Environment, EvalErrorKind, Program, Val};

/// A text in which the expressions are found and compiled.
#[derive(Debug, Clone)]
pub struct TextTemplate(Form);

#[derive(Debug, Clone)]
enum Form {
    Plain(Text),
    /// The text is one expression, which keeps its type.
    Whole(Expression),
    Mixed(Box<[Part]>),
    /// The text cannot be compiled. Whoever renders it all the same is told why.
    Broken(Box<Problem>),
}

#[derive(Debug, Clone)]
enum Part {
    Literal(Text),
    Expression(Expression),
}

/// A part of a rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'t> {
    /// As it is written in the template.
    Literal(&'t str),
    /// What an expression gave, which is data and never syntax.
    Given(Text),
}

impl TextTemplate {
    /// Finds and compiles the expressions of `text`. Problems have no path.
    #[must_use]
    pub fn compile(text: &str, environment: &Environment) -> (Self, Vec<Problem>) {
        let (form, problems) = match expressions(text) {
            Ok(found) => compile(text, &found, environment),
            Err(unfinished) => {
                let problem = Problem {
                    path: Vec::new(),
                    is_key: false,
                    message: unfinished.message,
                    position: unfinished.position,
                    length: unfinished.length,
                };
                (Form::Broken(Box::new(problem.clone())), vec![problem])
            }
        };
        (Self(form), problems)
    }

    /// Returns the text, if there is no expression in it.
    #[must_use]
    pub fn plain(&self) -> Option<&Text> {
        match &self.0 {
            Form::Plain(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the text is one expression and nothing else.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.0, Form::Whole(_))
    }

    /// Returns the compiled expressions, and where each starts in the text.
    pub fn programs(&self) -> impl Iterator<Item = (&Program, Position)> {
        let (whole, parts) = match &self.0 {
            Form::Whole(expression) => (Some(expression), &[][..]),
            Form::Mixed(parts) => (None, &parts[..]),
            _ => (None, &[][..]),
        };
        let parts = parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Literal(_) => None,
        });
        whole.into_iter().chain(parts).map(|expression| (&expression.program, expression.start()))
    }

    /// Renders the text; a text that is one expression gives what the expression gives.
    ///
    /// # Errors
    /// When an expression fails, what it gives has no form in JSON, or it is too much.
    pub fn render<'a>(&'a self, bindings: &Bindings<'a>, cost: &mut Cost) -> Result<Rendered, RenderError> {
        let value = self.value(bindings, 0, cost).map_err(|error| error.finished())?;
        Ok(value.map_or(Rendered::Omitted, Rendered::Value))
    }

    /// Renders the text part by part, for a language in which only the literal parts are syntax.
    ///
    /// # Errors
    /// As [`TextTemplate::render`], and when a text that is one expression gives no string.
    pub fn render_pieces<'a>(
        &'a self,
        bindings: &Bindings<'a>,
        cost: &mut Cost,
    ) -> Result<Vec<Piece<'a>>, RenderError> {
        self.pieces(bindings, cost).map_err(|error| error.finished())
    }

    /// Returns the value of the text, which will stand `depth` levels deep; nothing when it is left out.
    pub(super) fn value<'a>(
        &'a self,
        bindings: &Bindings<'a>,
        depth: usize,
        cost: &mut Cost,
    ) -> Result<Option<Value>, Box<RenderError>> {
        match &self.0 {
            Form::Plain(text) => Ok(Some(Value::String(text.clone()))),
            Form::Whole(expression) => {
                let found = expression.evaluate(bindings, cost)?;
                value_of(&found, depth, cost).map_err(|error| expression.named(error))
            }
            Form::Mixed(parts) => mixed(parts, bindings, cost).map(|text| Some(Value::String(text))),
            Form::Broken(problem) => Err(broken(problem)),
        }
    }

    /// Returns the text where only a text will do: for a key.
    pub(super) fn key<'a>(
        &'a self,
        bindings: &Bindings<'a>,
        cost: &mut Cost,
    ) -> Result<Text, Box<RenderError>> {
        match &self.0 {
            Form::Plain(text) => Ok(text.clone()),
            Form::Whole(expression) => string(expression, bindings, cost),
            Form::Mixed(parts) => mixed(parts, bindings, cost),
            Form::Broken(problem) => Err(broken(problem)),
        }
    }

    fn pieces<'a>(
        &'a self,
        bindings: &Bindings<'a>,
        cost: &mut Cost,
    ) -> Result<Vec<Piece<'a>>, Box<RenderError>> {
        match &self.0 {
            Form::Plain(text) => Ok(vec![Piece::Literal(text)]),
            Form::Whole(expression) => Ok(vec![Piece::Given(string(expression, bindings, cost)?)]),
            Form::Mixed(parts) => {
                let piece = |part: &'a Part| match part {
                    Part::Literal(text) => Ok(Piece::Literal(text)),
                    Part::Expression(expression) => {
                        let mut out = String::new();
                        spliced(&mut out, expression, bindings, cost)?;
                        Ok(Piece::Given(Text::from(out)))
                    }
                };
                parts.iter().map(piece).collect()
            }
            Form::Broken(problem) => Err(broken(problem)),
        }
    }
}

fn compile(text: &str, found: &[Found], environment: &Environment) -> (Form, Vec<Problem>) {
    if found.is_empty() {
        return (Form::Plain(Text::new(text)), Vec::new());
    }
    let mut parts = Vec::with_capacity(found.len().saturating_mul(2) + 1);
    let mut problems = Vec::new();
    let (mut from, mut position, mut counted) = (0, Position::START, 0);
    for one in found {
        literal(&mut parts, text, from..one.whole.start);
        from = one.whole.end;
        // Counted on from the expression before, so that many of them are not quadratic.
        let passed = text.get(counted..one.inner.start).unwrap_or_default();
        (position, counted) = (moved(position, Position::of(passed, passed.len())), one.inner.start);
        let inner = text.get(one.inner.clone()).unwrap_or_default();
        match Expression::compile(inner, position, environment) {
            Ok(expression) => parts.push(Part::Expression(expression)),
            Err(wrong) => problems.extend(wrong),
        }
    }
    literal(&mut parts, text, from..text.len());
    if let Some(first) = problems.first() {
        return (Form::Broken(Box::new(first.clone())), problems);
    }
    // White space around a single expression does not count, such as the line break of a block of YAML.
    let is_blank = |part: &Part| matches!(part, Part::Literal(text) if text.trim().is_empty());
    if found.len() == 1 && parts.iter().filter(|part| !is_blank(part)).count() == 1 {
        let whole = parts.into_iter().find_map(|part| match part {
            Part::Expression(expression) => Some(Form::Whole(expression)),
            Part::Literal(_) => None,
        });
        return (whole.unwrap_or_else(|| Form::Plain(Text::new(text))), problems);
    }
    (Form::Mixed(parts.into()), problems)
}

fn literal(parts: &mut Vec<Part>, text: &str, range: std::ops::Range<usize>) {
    if let Some(text) = text.get(range).filter(|text| !text.is_empty()) {
        parts.push(Part::Literal(Text::new(text)));
    }
}

fn mixed<'a>(parts: &'a [Part], bindings: &Bindings<'a>, cost: &mut Cost) -> Result<Text, Box<RenderError>> {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => {
                counted_text(text.len(), cost)?;
                out.push_str(text);
            }
            Part::Expression(expression) => spliced(&mut out, expression, bindings, cost)?,
        }
    }
    Ok(Text::from(out))
}

fn spliced<'a>(
    out: &mut String,
    expression: &'a Expression,
    bindings: &Bindings<'a>,
    cost: &mut Cost,
) -> Result<(), Box<RenderError>> {
    let found = expression.evaluate(bindings, cost)?;
    write_text(out, &found, cost).map_err(|error| expression.named(error))
}

/// Returns what a whole expression gives, which has to be a string.
fn string<'a>(
    expression: &'a Expression,
    bindings: &Bindings<'a>,
    cost: &mut Cost,
) -> Result<Text, Box<RenderError>> {
    match expression.evaluate(bindings, cost)? {
        Val::String(text) => Ok(text.into_owned()),
        other => {
            let found = if is_omitted(&other) { "nothing" } else { other.type_name() };
            let message = format!("expected a string, found {found}");
            Err(expression.named(Box::new(RenderError::new(EvalErrorKind::Type, message))))
        }
    }
}

fn broken(problem: &Problem) -> Box<RenderError> {
    let error = RenderError::new(EvalErrorKind::Value, problem.message.clone());
    Box::new(RenderError { position: problem.position, ..error })
}
