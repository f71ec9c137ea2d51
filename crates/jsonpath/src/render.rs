//! Values as text, the way Go's `%v` prints them.

use std::borrow::Cow;

use kubewright_golib::float;
use kubewright_value::{Exhausted, Number, Value};

use super::item::JsonPathItem;

/// Returns `value` as text: a string as it is, `<nil>`, `[a b]`, `map[a:1 b:2]` with sorted keys.
/// Whole numbers have no exponent.
#[must_use]
pub fn render_text(value: &Value) -> Cow<'_, str> {
    render_with(value, readable_number)
}

/// Returns `value` as text with numbers exactly as Go prints a `float64`: a million is `1e+06`.
#[must_use]
pub fn render_go_text(value: &Value) -> Cow<'_, str> {
    render_with(value, |number| go_float(number.as_f64()))
}

/// Returns `items` as the text of one list; undefined is empty.
///
/// # Errors
/// When that is longer than [`MAX_RENDERED_BYTES`].
pub(super) fn render_items<'v>(
    items: impl IntoIterator<Item = &'v JsonPathItem<'v>>,
) -> Result<String, Exhausted> {
    let mut out = GoTextWriter { text: String::new(), number: readable_number, limit: MAX_RENDERED_BYTES };
    out.list(items, |out, item| out.item(item))?;
    Ok(out.text)
}

/// Returns `value` as text, as [`render_text`] does.
///
/// # Errors
/// When that is longer than [`MAX_RENDERED_BYTES`].
pub(super) fn render_limited(value: &Value) -> Result<Cow<'_, str>, Exhausted> {
    if !matches!(value, Value::Array(_) | Value::Object(_)) {
        return Ok(render_text(value));
    }
    let mut out = GoTextWriter { text: String::new(), number: readable_number, limit: MAX_RENDERED_BYTES };
    out.value(value)?;
    Ok(Cow::Owned(out.text))
}

/// The maximum length of the text of a list or object while an expression is evaluated.
const MAX_RENDERED_BYTES: usize = 8 << 20;

fn render_with(value: &Value, number: fn(Number) -> String) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed("<nil>"),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Number(n) => Cow::Owned(number(*n)),
        Value::Array(_) | Value::Object(_) => {
            let mut out = GoTextWriter { text: String::new(), number, limit: usize::MAX };
            // Without a limit nothing can fail.
            let _ = out.value(value);
            Cow::Owned(out.text)
        }
    }
}

struct GoTextWriter {
    text: String,
    number: fn(Number) -> String,
    limit: usize,
}

impl GoTextWriter {
    fn item(&mut self, item: &JsonPathItem<'_>) -> Result<(), Exhausted> {
        match item {
            JsonPathItem::Undefined => Ok(()),
            JsonPathItem::Ref(value) => self.value(value),
            JsonPathItem::Own(value) => self.value(value),
            JsonPathItem::Many(items) => self.list(items, |out, item| out.item(item)),
        }
    }

    fn value(&mut self, value: &Value) -> Result<(), Exhausted> {
        match value {
            Value::Array(items) => self.list(&**items, |out, item| out.value(item)),
            Value::Object(map) => {
                self.text.push_str("map");
                self.list(map.sorted(), |out, (key, item)| {
                    out.text.push_str(key);
                    out.text.push(':');
                    out.value(item)
                })
            }
            scalar => {
                self.text.push_str(&render_with(scalar, self.number));
                Ok(())
            }
        }
    }

    /// Writes `[a b]`.
    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), Exhausted>,
    ) -> Result<(), Exhausted> {
        self.text.push('[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.text.push(' ');
            }
            write(self, item)?;
            if self.text.len() > self.limit {
                return Err(Exhausted::Bytes(self.limit as u64));
            }
        }
        self.text.push(']');
        Ok(())
    }
}

fn readable_number(number: Number) -> String {
    match number.normalized() {
        Number::Int(integer) => integer.to_string(),
        Number::UInt(integer) => integer.to_string(),
        Number::Float(float) => go_float(float),
    }
}

/// Writes a double as Go's `%v`: shortest digits, an exponent below 1e-4 and from 1e6 on.
fn go_float(float: f64) -> String {
    float::format_float(float, 'g', None)
}
