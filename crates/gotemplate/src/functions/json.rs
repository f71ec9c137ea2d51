//! JSON to items and back, as Go's `encoding/json` writes it: keys sorted, HTML escaped unless raw.

use std::fmt::Write as _;

use kubewright_golib::json as gojson;
use kubewright_golib::utf8::lossy;
use kubewright_value::{Exhausted, Number, bounded};

use super::super::call::{Call, Failure, Outcome};
use super::super::item::Item;
use super::arguments::{any, text};
use super::{Function, Type, function};

pub(super) const TABLE: &[Function] = &[
    function("fromJson", &[Type::Text], |call, a| match read(call, text(a, 0)) {
        Err(Failure::Message(_)) => Ok(Item::Nil),
        other => other,
    }),
    function("mustFromJson", &[Type::Text], |call, a| read(call, text(a, 0))),
    // Without `must`, what cannot be written is empty text.
    function("toJson", &[Type::Any], |call, a| lenient(written(call, any(a, 0), COMPACT))),
    function("mustToJson", &[Type::Any], |call, a| written(call, any(a, 0), COMPACT)),
    function("toPrettyJson", &[Type::Any], |call, a| lenient(written(call, any(a, 0), PRETTY))),
    function("mustToPrettyJson", &[Type::Any], |call, a| written(call, any(a, 0), PRETTY)),
    function("toRawJson", &[Type::Any], |call, a| written(call, any(a, 0), RAW)),
    function("mustToRawJson", &[Type::Any], |call, a| written(call, any(a, 0), RAW)),
];

#[derive(Clone, Copy)]
struct Style {
    is_pretty: bool,
    escapes_html: bool,
}

const COMPACT: Style = Style { is_pretty: false, escapes_html: true };
const PRETTY: Style = Style { is_pretty: true, escapes_html: true };
const RAW: Style = Style { is_pretty: false, escapes_html: false };

fn read(call: &mut Call<'_>, text: &str) -> Outcome {
    match bounded::parse_json(text, call.budget)? {
        Ok(value) => Ok(Item::json(&value)),
        Err(error) => Err(error.to_string().into()),
    }
}

fn lenient(outcome: Outcome) -> Outcome {
    match outcome {
        Err(Failure::Message(_)) => Ok(Item::EMPTY),
        other => other,
    }
}

fn written(call: &mut Call<'_>, item: &Item, style: Style) -> Outcome {
    let mut writer = Writer { out: String::new(), style, level: 0 };
    writer.write(call, item)?;
    Ok(Item::text(writer.out))
}

struct Writer {
    out: String,
    style: Style,
    level: usize,
}

impl Writer {
    fn write(&mut self, call: &mut Call<'_>, item: &Item) -> Result<(), Failure> {
        call.budget.step(1)?;
        let start = self.out.len();
        match item {
            Item::Missing | Item::Nil => self.out.push_str("null"),
            list if list.is_nil_list() => self.out.push_str("null"),
            Item::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Item::Int(_, value) => {
                let _ = write!(self.out, "{value}");
            }
            Item::Float(value) if !value.is_finite() => {
                let shown = kubewright_golib::float::format(*value, 'g', None);
                return Err(format!("json: unsupported value: {shown}").into());
            }
            Item::Float(value) => {
                let _ = write!(self.out, "{}", Number::from(*value));
            }
            Item::Number(number) => {
                let _ = write!(self.out, "{}", number.normalized());
            }
            Item::Text(text) => self.string(text),
            Item::Bytes(bytes) => {
                self.string(&lossy(bytes));
                let escaped = self.out.split_off(start).replace('\u{fffd}', "\\ufffd");
                self.out.push_str(&escaped);
            }
            Item::Time(time) => self.string(&time.format("2006-01-02T15:04:05.999999999Z07:00")),
            Item::Version(version) => self.string(&version.to_string()),
            Item::Array(_) | Item::List(_) => {
                return self.nested(call, |writer, call| writer.list(call, item));
            }
            Item::Object(_) | Item::Dict(_) => {
                let entries = item.sorted_entries().unwrap_or_default();
                return self.nested(call, |writer, call| writer.entries(call, entries));
            }
            Item::Root => {
                let entries = call.context.items().map(|(name, item)| (name.clone(), item)).collect();
                return self.nested(call, |writer, call| writer.entries(call, entries));
            }
        }
        Ok(call.budget.produce(self.out.len() - start)?)
    }

    fn nested(
        &mut self,
        call: &mut Call<'_>,
        write: impl FnOnce(&mut Self, &mut Call<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        call.budget.enter()?;
        self.level += 1;
        let result = write(self, call);
        self.level -= 1;
        call.budget.leave();
        result
    }

    fn list(&mut self, call: &mut Call<'_>, item: &Item) -> Result<(), Failure> {
        let length = item.list_len().unwrap_or(0);
        self.out.push('[');
        for index in 0..length {
            self.separate(call, index)?;
            self.write(call, &item.element(index).unwrap_or(Item::Nil))?;
        }
        self.close(call, length, ']')
    }

    fn entries(
        &mut self,
        call: &mut Call<'_>,
        entries: Vec<(kubewright_value::Text, Item)>,
    ) -> Result<(), Failure> {
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

    fn separate(&mut self, call: &mut Call<'_>, index: usize) -> Result<(), Exhausted> {
        if index > 0 {
            self.out.push(',');
        }
        self.new_line(call, self.level)
    }

    fn close(&mut self, call: &mut Call<'_>, length: usize, bracket: char) -> Result<(), Failure> {
        if length > 0 {
            self.new_line(call, self.level.saturating_sub(1))?;
        }
        self.out.push(bracket);
        Ok(call.budget.produce(2)?)
    }

    fn new_line(&mut self, call: &mut Call<'_>, level: usize) -> Result<(), Exhausted> {
        call.budget.produce(1)?;
        if self.style.is_pretty {
            call.budget.produce(2 * level)?;
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", level));
        }
        Ok(())
    }

    fn string(&mut self, text: &str) {
        gojson::quote(&mut self.out, text, self.style.escapes_html);
    }
}
