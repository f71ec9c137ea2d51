//! JSON text as Go writes it: keys sorted, HTML characters escaped.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_golib::float;
use kubewright_golib::json as gojson;
use kubewright_value::Number;

use crate::error::CelFailure;
use crate::function::CelCallContext;
use crate::val::{ListVal, MapVal, Val};
use kubewright_value::CompactSort as _;

/// How deep values may nest.
const MAX_JSON_DEPTH: usize = 300;

/// Returns `value` as JSON.
pub(super) fn write_val_as_json<'a>(
    value: &Val<'a>,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<String, CelFailure> {
    let mut writer = SortedJsonWriter { out: String::new(), depth: 0 };
    writer.value(value, call)?;
    Ok(writer.out)
}

struct SortedJsonWriter {
    out: String,
    depth: usize,
}

impl SortedJsonWriter {
    fn value<'a>(&mut self, value: &Val<'a>, call: &mut CelCallContext<'_, 'a>) -> Result<(), CelFailure> {
        let start = self.out.len();
        match value {
            Val::Null | Val::Optional(None) => self.out.push_str("null"),
            Val::Bool(value) => self.plain(value),
            Val::Int(value) => self.plain(value),
            Val::UInt(value) => self.plain(value),
            Val::Double(value) if value.is_finite() => self.plain(Number::from(*value)),
            Val::Double(value) => {
                let shown = float::format_float(*value, 'g', None);
                return Err(CelFailure::value(format!("json: unsupported value: {shown}")));
            }
            Val::String(text) => {
                call.produce(text.len())?;
                self.text(text);
            }
            Val::Bytes(bytes) => self.text(&STANDARD.encode(bytes)),
            Val::Timestamp(time) => self.text(&time.to_string()),
            Val::Duration(duration) => self.plain(duration.nanoseconds()),
            Val::Type(name) => self.text(name),
            Val::Optional(Some(held)) => return self.nested(|writer| writer.value(held, call)),
            Val::List(list) => return self.nested(|writer| writer.list(list, call)),
            Val::Map(map) => return self.nested(|writer| writer.map(map, call)),
            Val::Opaque(object) => {
                let name = object.type_name();
                let none = || CelFailure::value(format!("a value of type `{name}` has no form in JSON"));
                let value = Val::from(object.to_json().ok_or_else(none)?);
                return self.nested(|writer| writer.value(&value, call));
            }
        }
        Ok(call.work(4 + (self.out.len() - start) / 2)?)
    }

    fn plain(&mut self, shown: impl std::fmt::Display) {
        let _ = write!(self.out, "{shown}");
    }

    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<(), CelFailure>) -> Result<(), CelFailure> {
        self.depth += 1;
        if self.depth > MAX_JSON_DEPTH {
            return Err(CelFailure::value(format!("the value nests deeper than {MAX_JSON_DEPTH} levels")));
        }
        let result = write(self);
        self.depth -= 1;
        result
    }

    fn list<'a>(&mut self, list: &ListVal<'a>, call: &mut CelCallContext<'_, 'a>) -> Result<(), CelFailure> {
        call.work(1)?;
        self.out.push('[');
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.value(&item, call)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn map<'a>(&mut self, map: &MapVal<'a>, call: &mut CelCallContext<'_, 'a>) -> Result<(), CelFailure> {
        call.make(map.len())?;
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map.iter() {
            let Val::String(key) = key else {
                return Err(CelFailure::value(format!(
                    "a key of type `{}` has no form in JSON",
                    key.type_name()
                )));
            };
            entries.push((key.into_owned(), value));
        }
        entries.compact_sort_by(|(a, _), (b, _)| a.cmp(b));
        self.out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            call.work(key.len() / 2)?;
            call.produce(key.len())?;
            self.text(key);
            self.out.push(':');
            self.value(value, call)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn text(&mut self, text: &str) {
        gojson::quote_go_json(&mut self.out, text, true);
    }
}
