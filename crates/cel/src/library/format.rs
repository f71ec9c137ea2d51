//! The function `format`, as in `'%d of %s'.format([1, 'two'])`.

use std::fmt::Write as _;

use kubewright_golib::float;

use crate::error::CelFailure;
use crate::function::CelCallContext;
use crate::time::format_seconds;
use crate::val::{MapVal, Val};

/// The largest precision of a formatting clause.
const MAX_PRECISION: usize = 1000;

/// The bytes that are charged for a scalar in a formatted text.
const SCALAR_BYTES: usize = 8;

/// The notation of values inside lists and maps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormatStyle {
    /// `[a, 1.5]`
    Plain,
    /// `["a", 1.500000]`, as in early versions of the library and in the API server.
    Literal,
}

pub(super) fn string_format<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    format_with_style(arguments, FormatStyle::Plain, call)
}

pub(super) fn format_literals<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    format_with_style(arguments, FormatStyle::Literal, call)
}

fn format_with_style<'a>(
    arguments: &[Val<'a>],
    style: FormatStyle,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let [Val::String(template), Val::List(values)] = arguments else { return Err(CelFailure::mismatch()) };
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
        let (precision, after) = read_precision(after)?;
        let verb =
            after.chars().next().ok_or_else(|| CelFailure::value("unexpected end of format string"))?;
        rest = after.get(verb.len_utf8()..).unwrap_or_default();
        if !"sdfebxXo".contains(verb) {
            return Err(CelFailure::value(format!("unrecognized formatting clause `%{verb}`")));
        }
        let value = values.next().ok_or_else(|| CelFailure::value("too few values for the format string"))?;
        match (style, verb, &value) {
            (FormatStyle::Literal, 's', Val::List(_) | Val::Map(_)) => {
                write_cel_literal(&mut out, &value, call)?;
            }
            (FormatStyle::Literal, 'f', Val::Double(value)) => {
                out.push_str(&group_thousands(&format_double(*value, 'f', Some(precision))));
            }
            (FormatStyle::Literal, 's', Val::Double(value)) => {
                out.push_str(&float::format_float(*value, 'g', None));
            }
            (FormatStyle::Literal, 'd', Val::Double(_))
            | (FormatStyle::Literal, 'f' | 'e', Val::Int(_) | Val::UInt(_)) => {
                return Err(unfit_clause_error(verb, &value));
            }
            _ => write_clause(&mut out, verb, precision, &value, call)?,
        }
    }
    out.push_str(rest);
    Ok(Val::text(out))
}

/// Reads a precision such as `.3`; the default is six digits.
fn read_precision(text: &str) -> Result<(usize, &str), CelFailure> {
    let Some(digits) = text.strip_prefix('.') else { return Ok((6, text)) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(end).unwrap_or((digits, ""));
    match digits.parse() {
        Ok(precision) if precision <= MAX_PRECISION => Ok((precision, rest)),
        _ => Err(CelFailure::value(format!("invalid precision `{digits}` in a format string"))),
    }
}

fn write_clause(
    out: &mut String,
    verb: char,
    precision: usize,
    value: &Val<'_>,
    call: &mut CelCallContext<'_, '_>,
) -> Result<(), CelFailure> {
    match (verb, value) {
        ('s', value) => write_formatted_val(out, value, call),
        ('d', Val::Int(_) | Val::UInt(_) | Val::Double(_)) => write_formatted_val(out, value, call),
        ('f' | 'e', Val::Double(value)) => {
            out.push_str(&format_double(*value, verb, Some(precision)));
            Ok(())
        }
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
        ('f' | 'e', Val::Int(value)) => {
            out.push_str(&format_double(*value as f64, verb, Some(precision)));
            Ok(())
        }
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
        ('f' | 'e', Val::UInt(value)) => {
            out.push_str(&format_double(*value as f64, verb, Some(precision)));
            Ok(())
        }
        ('b', Val::Bool(value)) => {
            out.push(if *value { '1' } else { '0' });
            Ok(())
        }
        ('b' | 'o' | 'x' | 'X', Val::Int(value)) => {
            let sign = if *value < 0 { "-" } else { "" };
            out.push_str(sign);
            write_integer_digits(out, verb, value.unsigned_abs());
            Ok(())
        }
        ('b' | 'o' | 'x' | 'X', Val::UInt(value)) => {
            write_integer_digits(out, verb, *value);
            Ok(())
        }
        ('x' | 'X', Val::String(text)) => write_hex_bytes(out, verb, text.as_bytes(), call),
        ('x' | 'X', Val::Bytes(bytes)) => write_hex_bytes(out, verb, bytes, call),
        _ => Err(unfit_clause_error(verb, value)),
    }
}

fn unfit_clause_error(verb: char, value: &Val<'_>) -> CelFailure {
    CelFailure::type_error(format!("`%{verb}` cannot be used on a value of type `{}`", value.type_name()))
}

fn write_integer_digits(out: &mut String, verb: char, value: u64) {
    let _ = match verb {
        'b' => write!(out, "{value:b}"),
        'o' => write!(out, "{value:o}"),
        'x' => write!(out, "{value:x}"),
        _ => write!(out, "{value:X}"),
    };
}

fn write_hex_bytes(
    out: &mut String,
    verb: char,
    bytes: &[u8],
    call: &mut CelCallContext<'_, '_>,
) -> Result<(), CelFailure> {
    call.work(bytes.len())?;
    call.produce(bytes.len().saturating_mul(2))?;
    for byte in bytes {
        let _ = if verb == 'x' { write!(out, "{byte:02x}") } else { write!(out, "{byte:02X}") };
    }
    Ok(())
}

fn format_double(value: f64, verb: char, precision: Option<usize>) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    float::format_float(value, verb, precision)
}

/// Puts commas between the thousands.
fn group_thousands(number: &str) -> String {
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

/// Writes a value as a CEL literal.
fn write_cel_literal(
    out: &mut String,
    value: &Val<'_>,
    call: &mut CelCallContext<'_, '_>,
) -> Result<(), CelFailure> {
    call.work(1 + out.len() / 256)?;
    call.produce(SCALAR_BYTES.saturating_add(value.text_bytes()))?;
    let _ = match value {
        Val::String(text) => write!(out, "{:?}", text.as_str()),
        Val::Bytes(bytes) => write!(out, "b{:?}", String::from_utf8_lossy(bytes)),
        Val::Double(value) if value.is_finite() => write!(out, "{value:.6}"),
        Val::Double(value) => write!(out, "\"{}\"", float::format_float(*value, 'g', None)),
        Val::Timestamp(time) => write!(out, "timestamp(\"{time}\")"),
        Val::Duration(duration) => write!(out, "duration(\"{}\")", format_seconds(*duration)),
        Val::List(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_cel_literal(out, &item, call)?;
            }
            write!(out, "]")
        }
        Val::Map(map) => {
            let entries = write_sorted_entries(map, write_cel_literal, call)?;
            let entries: Vec<String> =
                entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            write!(out, "{{{}}}", entries.join(", "))
        }
        other => return write_formatted_val(out, other, call),
    };
    Ok(())
}

/// Writes the entries of a map, sorted by the text of their keys.
fn write_sorted_entries(
    map: &MapVal<'_>,
    write: fn(&mut String, &Val<'_>, &mut CelCallContext<'_, '_>) -> Result<(), CelFailure>,
    call: &mut CelCallContext<'_, '_>,
) -> Result<Vec<(String, String)>, CelFailure> {
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

/// Writes any value; the entries of maps are sorted by key.
fn write_formatted_val(
    out: &mut String,
    value: &Val<'_>,
    call: &mut CelCallContext<'_, '_>,
) -> Result<(), CelFailure> {
    call.work(1 + out.len() / 256)?;
    call.produce(SCALAR_BYTES.saturating_add(value.text_bytes()))?;
    let _ = match value {
        Val::Null => write!(out, "null"),
        Val::Bool(value) => write!(out, "{value}"),
        Val::Int(value) => write!(out, "{value}"),
        Val::UInt(value) => write!(out, "{value}"),
        Val::Double(value) => write!(out, "{}", format_double(*value, 'f', None)),
        Val::String(text) => write!(out, "{}", text.as_str()),
        Val::Bytes(bytes) => write!(out, "{}", String::from_utf8_lossy(bytes)),
        Val::Duration(duration) => write!(out, "{}", format_seconds(*duration)),
        Val::Timestamp(time) => write!(out, "{time}"),
        Val::Type(name) => write!(out, "{name}"),
        Val::List(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_formatted_val(out, &item, call)?;
            }
            write!(out, "]")
        }
        Val::Map(map) => {
            let entries = write_sorted_entries(map, write_formatted_val, call)?;
            let entries: Vec<String> =
                entries.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
            write!(out, "{{{}}}", entries.join(", "))
        }
        Val::Optional(_) | Val::Opaque(_) => {
            return Err(unfit_clause_error('s', value));
        }
    };
    Ok(())
}
