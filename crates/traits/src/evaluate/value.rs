//! The evaluation of expressions, with the diagnostics for those that fail.

use std::borrow::Cow;

use kubewright_cel::{CelBindings, CelCost, CelErrorKind};
use kubewright_engine::{Code, Diagnostic};
use kubewright_interpolate::{RenderError, RenderedValue, TextTemplate, ValueTemplate};
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Exhausted, Map, Position, Step, Text, Value, bounded};

use super::{Evaluator, StepResult};
use crate::compile::program::LoopProgram;
use crate::diagnostics as code;
use crate::variables::VariableScope;
use kubewright_dialect_kit::fields::{Located, locate_within};
use kubewright_value::CompactSort as _;

/// The maximum length of an expression in a message.
const MAX_EXPRESSION_CHARS: usize = 80;

/// The items of a loop.
pub(super) enum LoopItems {
    /// No loop.
    Once,
    /// The items of a list.
    List(Value),
    /// The entries of a map, sorted by key.
    Entries(Vec<Value>),
}

impl LoopItems {
    /// Returns the items; a single `None` without a loop.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&Value>> {
        let (once, items) = match self {
            Self::Once => (Some(None), &[][..]),
            Self::List(list) => (None, list.as_array().unwrap_or_default()),
            Self::Entries(entries) => (None, entries.as_slice()),
        };
        once.into_iter().chain(items.iter().map(Some))
    }

    pub(super) fn is_loop(&self) -> bool {
        !matches!(self, Self::Once)
    }
}

impl<'r> Evaluator<'r> {
    /// Returns the items of `each`.
    pub(super) fn items(&mut self, each: Option<&LoopProgram>) -> StepResult<LoopItems> {
        let Some(each) = each else { return Ok(LoopItems::Once) };
        let names = VariableScope::of(self.context);
        let found = self.text_value(&each.over, &names)?;
        match found {
            RenderedValue::Value(list @ Value::Array(_)) => Ok(LoopItems::List(list)),
            RenderedValue::Value(Value::Object(map)) => {
                let mut entries: Vec<(&Text, &Value)> = map.iter().collect();
                entries.compact_sort_by(|one, other| one.0.cmp(other.0));
                self.spend(entries.len() as u64, &each.over.path)?;
                let entry = |(key, value): (&Text, &Value)| {
                    Value::object(Map::from([("key", Value::String(key.clone())), ("value", value.clone())]))
                };
                Ok(LoopItems::Entries(entries.into_iter().map(entry).collect()))
            }
            other => Err(self.wrong_result(&each.over.path, "`forEach`", &other, "a list or a map")),
        }
    }

    /// Returns whether `condition` holds.
    pub(super) fn evaluate_condition(
        &mut self,
        condition: &Located<TextTemplate>,
        what: &str,
        names: &VariableScope<'_>,
    ) -> StepResult<bool> {
        match self.text_value(condition, names)? {
            RenderedValue::Value(Value::Bool(holds)) => Ok(holds),
            other => Err(self.wrong_result(&condition.path, what, &other, "a boolean")),
        }
    }

    /// Returns the text of `template`.
    pub(super) fn text(
        &mut self,
        template: &Located<TextTemplate>,
        what: &str,
        names: &VariableScope<'_>,
    ) -> StepResult<Text> {
        match self.text_value(template, names)? {
            RenderedValue::Value(Value::String(text)) => Ok(text),
            other => Err(self.wrong_result(&template.path, what, &other, "text")),
        }
    }

    /// Returns the value of a structure.
    pub(super) fn content(
        &mut self,
        content: &Located<ValueTemplate>,
        names: &VariableScope<'_>,
    ) -> StepResult<RenderedValue> {
        if let Some(constant) = content.value.constant() {
            return Ok(RenderedValue::Value(constant.clone()));
        }
        let mut cost = CelCost::default();
        let rendered = content.value.render(&CelBindings::new().with_variables(names), &mut cost);
        self.spend_cost(&cost, &content.path)?;
        rendered.map_err(|error| self.expression_failure(&content.path, &error))
    }

    pub(super) fn text_value(
        &mut self,
        template: &Located<TextTemplate>,
        names: &VariableScope<'_>,
    ) -> StepResult<RenderedValue> {
        let mut cost = CelCost::default();
        let rendered = template.value.render(&CelBindings::new().with_variables(names), &mut cost);
        self.spend_cost(&cost, &template.path)?;
        rendered.map_err(|error| self.expression_failure(&template.path, &error))
    }

    /// Charges `steps` to the budget, on behalf of `path`.
    pub(super) fn spend(&mut self, steps: u64, path: &[Step]) -> StepResult<()> {
        self.budget.step(steps).map_err(|exhausted| {
            self.is_spent = true;
            self.exhausted(path, exhausted)
        })
    }

    /// Charges the cost of the expressions at `path` to the budget.
    pub(super) fn spend_cost(&mut self, cost: &CelCost, path: &[Step]) -> StepResult<()> {
        let work = CelCost::default().work_left().saturating_sub(cost.work_left());
        self.spend(work.max(1), path)?;
        let bytes = CelCost::default().bytes_left().saturating_sub(cost.bytes_left());
        self.budget.produce(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(|exhausted| {
            self.is_spent = true;
            self.exhausted(path, exhausted)
        })
    }

    pub(super) fn exhausted(&self, path: &[Step], exhausted: Exhausted) -> Box<Diagnostic> {
        self.diagnostic_at(&code::LIMIT, path, exhausted.to_string())
    }

    /// Returns the diagnostic for an expression that fails.
    pub(super) fn expression_failure(&self, path: &[Step], error: &RenderError) -> Box<Diagnostic> {
        let path: Vec<Step> = path.iter().chain(&error.path).cloned().collect();
        let location = match error.is_key {
            true => self.document.locate_key(&path),
            false => {
                let length = u32::try_from(error.expression.chars().count()).unwrap_or(1);
                locate_within(
                    self.document,
                    &path,
                    error.position,
                    if error.position == Position::START { length } else { 1 },
                )
            }
        };
        let code = if error.kind == CelErrorKind::Limit { &code::LIMIT } else { &code::EXPRESSION_FAILS };
        let message = match error.expression.as_str() {
            "" => error.message.clone(),
            expression => format!("`{}` fails: {}", shorten_expression(expression), error.message),
        };
        let diagnostic = Diagnostic::new(code, message, location).help(missing_value_help(error));
        Box::new(Diagnostic { missing_key: error.missing_key.clone().map(Box::new), ..diagnostic })
    }

    /// Returns the diagnostic for an expression with a result of the wrong type.
    fn wrong_result(
        &self,
        path: &[Step],
        what: &str,
        found: &RenderedValue,
        wanted: &str,
    ) -> Box<Diagnostic> {
        let found = match found {
            RenderedValue::Omitted => "nothing".to_owned(),
            RenderedValue::Value(value) => {
                format!("{} {}", value.kind(), bounded::shortened_json(value, 120))
            }
        };
        self.diagnostic_at(&code::WRONG_RESULT, path, format!("{what} gives {found}, expected {wanted}"))
    }

    pub(super) fn diagnostic_at(
        &self,
        code: &'static Code,
        path: &[Step],
        message: String,
    ) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(code, message, self.document.locate(path)))
    }
}

/// Returns an expression on one line, truncated.
fn shorten_expression(expression: &str) -> String {
    let line = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    cut_text(&line, MAX_EXPRESSION_CHARS).into_owned()
}

/// Returns the first `most` characters of `text`, with `…` if there are more.
pub(super) fn cut_text(text: &str, most: usize) -> Cow<'_, str> {
    shorten_text(text, TextLimit::Chars(most))
}

/// Returns the help for a missing value.
fn missing_value_help(error: &RenderError) -> &'static str {
    match error.kind {
        CelErrorKind::Missing => "check it with `has(…)` first, or write `.?name.orValue(…)`",
        _ => "",
    }
}
