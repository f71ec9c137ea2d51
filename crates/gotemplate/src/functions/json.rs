//! JSON to items and back, as Go's `encoding/json` writes it: keys sorted, HTML escaped unless raw.

use std::fmt::Write as _;

use kubewright_golib::json as gojson;
use kubewright_golib::utf8::decode_utf8_lossy;
use kubewright_value::{Exhausted, Number, bounded};

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::TemplateItem;
use super::arguments::{argument_or_nil, text_argument};
use super::{ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("fromJson", &[ParameterType::Text], |call, a| {
        match json_to_item(call, text_argument(a, 0)) {
            Err(CallFailure::Message(_)) => Ok(TemplateItem::Nil),
            other => other,
        }
    }),
    fixed_function("mustFromJson", &[ParameterType::Text], |call, a| json_to_item(call, text_argument(a, 0))),
    // Without `must`, what cannot be written is empty text.
    fixed_function("toJson", &[ParameterType::Any], |call, a| {
        empty_on_error(item_to_json(call, argument_or_nil(a, 0), COMPACT))
    }),
    fixed_function("mustToJson", &[ParameterType::Any], |call, a| {
        item_to_json(call, argument_or_nil(a, 0), COMPACT)
    }),
    fixed_function("toPrettyJson", &[ParameterType::Any], |call, a| {
        empty_on_error(item_to_json(call, argument_or_nil(a, 0), PRETTY))
    }),
    fixed_function("mustToPrettyJson", &[ParameterType::Any], |call, a| {
        item_to_json(call, argument_or_nil(a, 0), PRETTY)
    }),
    fixed_function("toRawJson", &[ParameterType::Any], |call, a| {
        item_to_json(call, argument_or_nil(a, 0), RAW)
    }),
    fixed_function("mustToRawJson", &[ParameterType::Any], |call, a| {
        item_to_json(call, argument_or_nil(a, 0), RAW)
    }),
];

#[derive(Clone, Copy)]
struct JsonStyle {
    is_pretty: bool,
    escapes_html: bool,
}

const COMPACT: JsonStyle = JsonStyle { is_pretty: false, escapes_html: true };
const PRETTY: JsonStyle = JsonStyle { is_pretty: true, escapes_html: true };
const RAW: JsonStyle = JsonStyle { is_pretty: false, escapes_html: false };

fn json_to_item(call: &mut FunctionCall<'_>, text: &str) -> CallResult {
    match bounded::parse_bounded_json(text, call.budget)? {
        Ok(value) => Ok(TemplateItem::json(&value)),
        Err(error) => Err(error.to_string().into()),
    }
}

fn empty_on_error(outcome: CallResult) -> CallResult {
    match outcome {
        Err(CallFailure::Message(_)) => Ok(TemplateItem::EMPTY),
        other => other,
    }
}

/// Returns an item as JSON on one line.
pub(super) fn item_to_raw_json(call: &mut FunctionCall<'_>, item: &TemplateItem) -> CallResult {
    item_to_json(call, item, RAW)
}

fn item_to_json(call: &mut FunctionCall<'_>, item: &TemplateItem, style: JsonStyle) -> CallResult {
    let mut writer = StyledJsonWriter { out: String::new(), style, level: 0 };
    writer.write(call, item)?;
    Ok(TemplateItem::text(writer.out))
}

struct StyledJsonWriter {
    out: String,
    style: JsonStyle,
    level: usize,
}

impl StyledJsonWriter {
    fn write(&mut self, call: &mut FunctionCall<'_>, item: &TemplateItem) -> Result<(), CallFailure> {
        call.budget.step(1)?;
        let start = self.out.len();
        match item {
            TemplateItem::Missing | TemplateItem::Nil => self.out.push_str("null"),
            list if list.is_nil_list() => self.out.push_str("null"),
            TemplateItem::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            TemplateItem::Int(_, value) => {
                let _ = write!(self.out, "{value}");
            }
            TemplateItem::Float(value) if !value.is_finite() => {
                let shown = kubewright_golib::float::format_float(*value, 'g', None);
                return Err(format!("json: unsupported value: {shown}").into());
            }
            TemplateItem::Float(value) => {
                let _ = write!(self.out, "{}", Number::from(*value));
            }
            TemplateItem::Number(number) => {
                let _ = write!(self.out, "{}", number.normalized());
            }
            TemplateItem::Text(text) => self.string(text),
            TemplateItem::Bytes(bytes) => {
                self.string(&decode_utf8_lossy(bytes));
                let escaped = self.out.split_off(start).replace('\u{fffd}', "\\ufffd");
                self.out.push_str(&escaped);
            }
            TemplateItem::Time(time) => self.string(&time.format("2006-01-02T15:04:05.999999999Z07:00")),
            TemplateItem::Version(version) => self.string(&version.to_string()),
            TemplateItem::Array(_) | TemplateItem::List(_) => {
                return self.nested(call, |writer, call| writer.list(call, item));
            }
            TemplateItem::Object(_) | TemplateItem::Dict(_) => {
                let entries = item.sorted_entries().unwrap_or_default();
                return self.nested(call, |writer, call| writer.entries(call, entries));
            }
            TemplateItem::Root => {
                let entries = call.context.items().map(|(name, item)| (name.clone(), item)).collect();
                return self.nested(call, |writer, call| writer.entries(call, entries));
            }
        }
        Ok(call.budget.produce(self.out.len() - start)?)
    }

    fn nested(
        &mut self,
        call: &mut FunctionCall<'_>,
        write: impl FnOnce(&mut Self, &mut FunctionCall<'_>) -> Result<(), CallFailure>,
    ) -> Result<(), CallFailure> {
        call.budget.enter()?;
        self.level += 1;
        let result = write(self, call);
        self.level -= 1;
        call.budget.leave();
        result
    }

    fn list(&mut self, call: &mut FunctionCall<'_>, item: &TemplateItem) -> Result<(), CallFailure> {
        let length = item.list_len().unwrap_or(0);
        self.out.push('[');
        for index in 0..length {
            self.separate(call, index)?;
            self.write(call, &item.element(index).unwrap_or(TemplateItem::Nil))?;
        }
        self.close(call, length, ']')
    }

    fn entries(
        &mut self,
        call: &mut FunctionCall<'_>,
        entries: Vec<(kubewright_value::Text, TemplateItem)>,
    ) -> Result<(), CallFailure> {
        let length = entries.len();
        self.out.push('{');
        for (index, (key, value)) in entries.into_iter().enumerate() {
            self.separate(call, index)?;
            call.charge(key.len() + 3)?;
            self.string(&key);
            self.out.push_str(if self.style.is_pretty { ": " } else { ":" });
            self.write(call, &value)?;
        }
        self.close(call, length, '}')
    }

    fn separate(&mut self, call: &mut FunctionCall<'_>, index: usize) -> Result<(), Exhausted> {
        if index > 0 {
            self.out.push(',');
        }
        self.new_line(call, self.level)
    }

    fn close(
        &mut self,
        call: &mut FunctionCall<'_>,
        length: usize,
        bracket: char,
    ) -> Result<(), CallFailure> {
        if length > 0 {
            self.new_line(call, self.level.saturating_sub(1))?;
        }
        self.out.push(bracket);
        Ok(call.budget.produce(2)?)
    }

    fn new_line(&mut self, call: &mut FunctionCall<'_>, level: usize) -> Result<(), Exhausted> {
        call.budget.produce(1)?;
        if self.style.is_pretty {
            call.budget.produce(2 * level)?;
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", level));
        }
        Ok(())
    }

    fn string(&mut self, text: &str) {
        gojson::quote_go_json(&mut self.out, text, self.style.escapes_html);
    }
}
