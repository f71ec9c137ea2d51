//! `'%d of %s'.format([1, 'two'])`

use std::fmt::Write as _;

use kubewright_golib::float;

use crate::error::Failure;
use crate::function::Call;
use crate::time::seconds_text;
use crate::val::{MapVal, Val};

/// How many digits may be asked for.
const MAX_PRECISION: usize = 1000;

/// What a value takes in a text besides its own text.
const SCALAR_BYTES: usize = 8;

/// How values inside of lists and maps are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `[a, 1.5]`
    Plain,
    /// `["a", 1.500000]`, as it was at first and is in the API server.
    Literal,
}

pub(super) fn format<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    formatted(arguments, Style::Plain, call)
}

pub(super) fn format_literals<'a>(
    arguments: &[Val<'a>],
    call: &mut Call<'_, 'a>,
) -> Result<Val<'a>, Failure> {
    formatted(arguments, Style::Literal, call)
}

fn formatted<'a>(arguments: &[Val<'a>], style: Style, call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::String(template), Val::List(values)] = arguments else { return Err(Failure::mismatch()) };
    let mut out = String::new();
    let mut values = values.iter();
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        call.work(1 + out.len() / 64)?;
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (precision, after) = precision(after)?;
        let verb = after.chars().next().ok_or_else(|| Failure::value("unexpected end of format string"))?;
        rest = after.get(verb.len_utf8()..).unwrap_or_default();
        if !"sdfebxXo".contains(verb) {
            return Err(Failure::value(format!("unrecognized formatting clause `%{verb}`")));
        }
        let value = values.next().ok_or_else(|| Failure::value("too few values for the format string"))?;
        match (style, verb, &value) {
            (Style::Literal, 's', Val::List(_) | Val::Map(_)) => literal(&mut out, &value, call)?,
            (Style::Literal, 'f', Val::Double(value)) => {
                out.push_str(&grouped(&float(*value, 'f', Some(precision))));
            }
            (Style::Literal, 's', Val::Double(value)) => {
                out.push_str(&float::format_float(*value, 'g', None))
            }
            (Style::Literal, 'd', Val::Double(_))
            | (Style::Literal, 'f' | 'e', Val::Int(_) | Val::UInt(_)) => {
                return Err(unfit(verb, &value));
            }
            _ => clause(&mut out, verb, precision, &value, call)?,
        }
    }
    out.push_str(rest);
    Ok(Val::text(out))
}

/// Reads `.3`, if there is one; six digits otherwise.
fn precision(text: &str) -> Result<(usize, &str), Failure> {
    let Some(digits) = text.strip_prefix('.') else { return Ok((6, text)) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(end).unwrap_or((digits, ""));
    match digits.parse() {
        Ok(precision) if precision <= MAX_PRECISION => Ok((precision, rest)),
        _ => Err(Failure::value(format!("invalid precision `{digits}` in a format string"))),
    }
}

fn clause(
    out: &mut String,
    verb: char,
    precision: usize,
    value: &Val<'_>,
    call: &mut Call<'_, '_>,
) -> Result<(), Failure> {
    match (verb, value) {
        ('s', value) => text(out, value, call),
        ('d', Val::Int(_) | Val::UInt(_) | Val::Double(_)) => text(out, value, call),
        ('f' | 'e', Val::Double(value)) => {
            out.push_str(&float(*value, verb, Some(precision)));
            Ok(())
        }
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
        ('f' | 'e', Val::Int(value)) => {
            out.push_str(&float(*value as f64, verb, Some(precision)));
            Ok(())
        }
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
        ('f' | 'e', Val::UInt(value)) => {
            out.push_str(&float(*value as f64, verb, Some(precision)));
            Ok(())
        }
        ('b', Val::Bool(value)) => {
            out.push(if *value { '1' } else { '0' });
            Ok(())
        }
        ('b' | 'o' | 'x' | 'X', Val::Int(value)) => {
            let sign = if *value < 0 { "-" } else { "" };
            out.push_str(sign);
            digits(out, verb, value.unsigned_abs());
            Ok(())
        }
        ('b' | 'o' | 'x' | 'X', Val::UInt(value)) => {
            digits(out, verb, *value);
            Ok(())
        }
        ('x' | 'X', Val::String(text)) => hexadecimal(out, verb, text.as_bytes(), call),
        ('x' | 'X', Val::Bytes(bytes)) => hexadecimal(out, verb, bytes, call),
        _ => Err(unfit(verb, value)),
    }
}

fn unfit(verb: char, value: &Val<'_>) -> Failure {
    Failure::type_error(format!("`%{verb}` cannot be used on a value of type `{}`", value.type_name()))
}

fn digits(out: &mut String, verb: char, value: u64) {
    let _ = match verb {
        'b' => write!(out, "{value:b}"),
        'o' => write!(out, "{value:o}"),
        'x' => write!(out, "{value:x}"),
        _ => write!(out, "{value:X}"),
    };
}

fn hexadecimal(out: &mut String, verb: char, bytes: &[u8], call: &mut Call<'_, '_>) -> Result<(), Failure> {
    call.work(bytes.len())?;
    call.produce(bytes.len().saturating_mul(2))?;
    for byte in bytes {
        let _ = if verb == 'x' { write!(out, "{byte:02x}") } else { write!(out, "{byte:02X}") };
    }
    Ok(())
}

fn float(value: f64, verb: char, precision: Option<usize>) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    float::format_float(value, verb, precision)
}

/// Puts commas between the thousands.
fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0
            && (whole.len() - index).is_multiple_of(3)
            && whole.starts_with(|c: char| c.is_ascii_digit())
        {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Writes a value as CEL would have it written.
fn literal(out: &mut String, value: &Val<'_>, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    call.work(1 + out.len() / 256)?;
    call.produce(SCALAR_BYTES.saturating_add(value.text_bytes()))?;
    let _ = match value {
        Val::String(text) => write!(out, "{:?}", text.as_str()),
        Val::Bytes(bytes) => write!(out, "b{:?}", String::from_utf8_lossy(bytes)),
        Val::Double(value) if value.is_finite() => write!(out, "{value:.6}"),
        Val::Double(value) => write!(out, "\"{}\"", float::format_float(*value, 'g', None)),
        Val::Timestamp(time) => write!(out, "timestamp(\"{time}\")"),
        Val::Duration(duration) => write!(out, "duration(\"{}\")", seconds_text(*duration)),
        Val::List(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                literal(out, &item, call)?;
            }
            write!(out, "]")
        }
        Val::Map(map) => {
            let entries = entries(map, literal, call)?;
            let entries: Vec<String> =
                entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            write!(out, "{{{}}}", entries.join(", "))
        }
        other => return text(out, other, call),
    };
    Ok(())
}

/// Writes the entries of a map, in the order of what is written of their keys.
fn entries(
    map: &MapVal<'_>,
    write: fn(&mut String, &Val<'_>, &mut Call<'_, '_>) -> Result<(), Failure>,
    call: &mut Call<'_, '_>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map.iter() {
        let mut written = (String::new(), String::new());
        write(&mut written.0, &key, call)?;
        write(&mut written.1, &value, call)?;
        entries.push(written);
    }
    entries.sort();
    Ok(entries)
}

/// Writes any value; maps by their keys in order.
fn text(out: &mut String, value: &Val<'_>, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    call.work(1 + out.len() / 256)?;
    call.produce(SCALAR_BYTES.saturating_add(value.text_bytes()))?;
    let _ = match value {
        Val::Null => write!(out, "null"),
        Val::Bool(value) => write!(out, "{value}"),
        Val::Int(value) => write!(out, "{value}"),
        Val::UInt(value) => write!(out, "{value}"),
        Val::Double(value) => write!(out, "{}", float(*value, 'f', None)),
        Val::String(text) => write!(out, "{}", text.as_str()),
        Val::Bytes(bytes) => write!(out, "{}", String::from_utf8_lossy(bytes)),
        Val::Duration(duration) => write!(out, "{}", seconds_text(*duration)),
        Val::Timestamp(time) => write!(out, "{time}"),
        Val::Type(name) => write!(out, "{name}"),
        Val::List(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                text(out, &item, call)?;
            }
            write!(out, "]")
        }
        Val::Map(map) => {
            let entries = entries(map, text, call)?;
            let entries: Vec<String> =
                entries.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
            write!(out, "{{{}}}", entries.join(", "))
        }
        Val::Optional(_) | Val::Opaque(_) => {
            return Err(unfit('s', value));
        }
    };
    Ok(())
}
