//! What the expressions of a trait give, and what is said when they do not.

use std::borrow::Cow;

use kubewright_cel::{CelBindings, CelCost, CelErrorKind};
use kubewright_engine::{Code, Diagnostic};
use kubewright_interpolate::{RenderError, RenderedValue, TextTemplate, ValueTemplate};
use kubewright_value::{Exhausted, Map, Position, Step, Text, Value, bounded};

use super::{Evaluator, Outcome};
use crate::compile::program::Each;
use crate::diagnostics as code;
use crate::variables::Names;
use kubewright_dialect_kit::fields::{Located, locate_within};

/// How many characters of an expression are shown in a message.
const SHOWN: usize = 80;

/// What is gone through.
pub(super) enum Items {
    /// There is no loop.
    Once,
    /// The items of a list.
    List(Value),
    /// The entries of a map, by key.
    Entries(Vec<Value>),
}

impl Items {
    /// Returns the items; one that is nothing where there is no loop.
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
    /// Returns what `each` goes through.
    pub(super) fn items(&mut self, each: Option<&Each>) -> Outcome<Items> {
        let Some(each) = each else { return Ok(Items::Once) };
        let names = Names::of(self.context);
        let found = self.text_value(&each.over, &names)?;
        match found {
            RenderedValue::Value(list @ Value::Array(_)) => Ok(Items::List(list)),
            RenderedValue::Value(Value::Object(map)) => {
                let mut entries: Vec<(&Text, &Value)> = map.iter().collect();
                entries.sort_by(|one, other| one.0.cmp(other.0));
                self.spend(entries.len() as u64, &each.over.path)?;
                let entry = |(key, value): (&Text, &Value)| {
                    Value::object(Map::from([("key", Value::String(key.clone())), ("value", value.clone())]))
                };
                Ok(Items::Entries(entries.into_iter().map(entry).collect()))
            }
            other => Err(self.unfit(&each.over.path, "`forEach`", &other, "a list or a map")),
        }
    }

    /// Returns whether `condition` holds.
    pub(super) fn truth(
        &mut self,
        condition: &Located<TextTemplate>,
        what: &str,
        names: &Names<'_>,
    ) -> Outcome<bool> {
        match self.text_value(condition, names)? {
            RenderedValue::Value(Value::Bool(holds)) => Ok(holds),
            other => Err(self.unfit(&condition.path, what, &other, "a boolean")),
        }
    }

    /// Returns the text that `template` gives.
    pub(super) fn text(
        &mut self,
        template: &Located<TextTemplate>,
        what: &str,
        names: &Names<'_>,
    ) -> Outcome<Text> {
        match self.text_value(template, names)? {
            RenderedValue::Value(Value::String(text)) => Ok(text),
            other => Err(self.unfit(&template.path, what, &other, "text")),
        }
    }

    /// Returns what a structure gives.
    pub(super) fn content(
        &mut self,
        content: &Located<ValueTemplate>,
        names: &Names<'_>,
    ) -> Outcome<RenderedValue> {
        if let Some(constant) = content.value.constant() {
            return Ok(RenderedValue::Value(constant.clone()));
        }
        let mut cost = CelCost::default();
        let rendered = content.value.render(&CelBindings::new().with_variables(names), &mut cost);
        self.paid(&cost, &content.path)?;
        rendered.map_err(|error| self.failed(&content.path, &error))
    }

    pub(super) fn text_value(
        &mut self,
        template: &Located<TextTemplate>,
        names: &Names<'_>,
    ) -> Outcome<RenderedValue> {
        let mut cost = CelCost::default();
        let rendered = template.value.render(&CelBindings::new().with_variables(names), &mut cost);
        self.paid(&cost, &template.path)?;
        rendered.map_err(|error| self.failed(&template.path, &error))
    }

    /// Takes `steps`, for what stands at `path`.
    pub(super) fn spend(&mut self, steps: u64, path: &[Step]) -> Outcome<()> {
        self.budget.step(steps).map_err(|exhausted| {
            self.is_spent = true;
            self.exhausted(path, exhausted)
        })
    }

    /// Takes as many steps as the expressions at `path` did work.
    pub(super) fn paid(&mut self, cost: &CelCost, path: &[Step]) -> Outcome<()> {
        let work = CelCost::default().work_left().saturating_sub(cost.work_left());
        self.spend(work.max(1), path)?;
        let bytes = CelCost::default().bytes_left().saturating_sub(cost.bytes_left());
        self.budget.produce(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(|exhausted| {
            self.is_spent = true;
            self.exhausted(path, exhausted)
        })
    }

    pub(super) fn exhausted(&self, path: &[Step], exhausted: Exhausted) -> Box<Diagnostic> {
        self.wrong(&code::LIMIT, path, exhausted.to_string())
    }

    /// Returns what is said of an expression that fails.
    pub(super) fn failed(&self, path: &[Step], error: &RenderError) -> Box<Diagnostic> {
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
            expression => format!("`{}` fails: {}", shortened(expression), error.message),
        };
        let diagnostic = Diagnostic::new(code, message, location).help(help(error));
        Box::new(Diagnostic { missing_key: error.missing_key.clone().map(Box::new), ..diagnostic })
    }

    /// Returns what is said of an expression that gives something else than is wanted.
    fn unfit(&self, path: &[Step], what: &str, found: &RenderedValue, wanted: &str) -> Box<Diagnostic> {
        let found = match found {
            RenderedValue::Omitted => "nothing".to_owned(),
            RenderedValue::Value(value) => {
                format!("{} {}", value.kind(), bounded::shortened_json(value, 120))
            }
        };
        self.wrong(&code::WRONG_RESULT, path, format!("{what} gives {found}, expected {wanted}"))
    }

    pub(super) fn wrong(&self, code: &'static Code, path: &[Step], message: String) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(code, message, self.document.locate(path)))
    }
}

/// Returns an expression on one line, cut where it is long.
fn shortened(expression: &str) -> String {
    let line = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, SHOWN).into_owned()
}

/// Returns the first `most` characters of `text`, with a mark where there are more.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// Returns how to do without what is missing.
fn help(error: &RenderError) -> &'static str {
    match error.kind {
        CelErrorKind::Missing => "ask with `has(…)` first, or write `.?name.orValue(…)` to do without",
        _ => "",
    }
}
