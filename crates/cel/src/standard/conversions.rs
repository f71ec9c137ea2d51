//! From one type to another.

use kubewright_golib::float;
use kubewright_value::duration::Duration;

use crate::cost::traversal;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::time::{Timestamp, seconds_text};
use crate::val::{Kind, Val, exact_integer};

const SCALARS: [&[Kind]; 9] = [
    &[Kind::Bool],
    &[Kind::Int],
    &[Kind::UInt],
    &[Kind::Double],
    &[Kind::String],
    &[Kind::Bytes],
    &[Kind::Timestamp],
    &[Kind::Duration],
    &[Kind::Any],
];

pub(super) fn add(functions: &mut Functions) {
    let mut each = |name, from: &[Kind], result, body: crate::Body, help| {
        for parameters in SCALARS.into_iter().filter(|row| row.iter().all(|kind| from.contains(kind))) {
            let overload = Overload::function(name, parameters, result, body).help(help);
            functions.add(match (name, parameters) {
                ("string", [Kind::Bytes]) | ("bytes", [Kind::String]) => {
                    overload.cost_if_known(|arguments, _| traversal(arguments.first().map_or(0, Val::size)))
                }
                _ => overload,
            });
        }
    };
    use Kind::{Bool, Bytes, Double, Duration, Int, String, Timestamp, UInt};
    each("int", &[Int, UInt, Double, String, Timestamp, Duration], Int, int, "a whole number with a sign");
    each("uint", &[Int, UInt, Double, String], UInt, uint, "a whole number without a sign");
    each("double", &[Int, UInt, Double, String], Double, double, "a floating-point number");
    each(
        "string",
        &[Bool, Int, UInt, Double, String, Bytes, Timestamp, Duration, Kind::Any],
        String,
        string,
        "a value as text",
    );
    each("bytes", &[Bytes, String], Bytes, bytes, "the bytes of a text");
    each("bool", &[Bool, String], Bool, boolean, "a text as true or false");
    each(
        "timestamp",
        &[Timestamp, String, Int],
        Timestamp,
        timestamp,
        "a point in time, from RFC 3339 or seconds since 1970",
    );
    each("duration", &[Duration, String, Int], Duration, duration, "a length of time, such as `1h30m`");
}

fn int<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let overflow = || Failure::value("integer overflow");
    match arguments {
        [Val::Int(value)] => Ok(Val::Int(*value)),
        [Val::UInt(value)] => i64::try_from(*value).map(Val::Int).map_err(|_| overflow()),
        [Val::Double(value)] => {
            let whole = exact_integer(value.trunc()).and_then(|whole| i64::try_from(whole).ok());
            whole.filter(|whole| *whole != i64::MIN && *whole != i64::MAX).map(Val::Int).ok_or_else(overflow)
        }
        [Val::String(text)] => match text.parse() {
            Ok(value) => Ok(Val::Int(value)),
            Err(_) => Err(Failure::value(format!("cannot convert `{text}` to an int"))),
        },
        [Val::Timestamp(time)] => Ok(Val::Int(time.unix())),
        [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds())),
        _ => Err(Failure::mismatch()),
    }
}

fn uint<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let overflow = || Failure::value("unsigned integer overflow");
    match arguments {
        [Val::UInt(value)] => Ok(Val::UInt(*value)),
        [Val::Int(value)] => u64::try_from(*value).map(Val::UInt).map_err(|_| overflow()),
        [Val::Double(value)] => {
            let whole = exact_integer(value.trunc()).filter(|_| !value.is_sign_negative() || *value == 0.0);
            whole.and_then(|whole| u64::try_from(whole).ok()).map(Val::UInt).ok_or_else(overflow)
        }
        [Val::String(text)] => match text.parse() {
            Ok(value) if !text.starts_with('+') => Ok(Val::UInt(value)),
            _ => Err(Failure::value(format!("cannot convert `{text}` to a uint"))),
        },
        _ => Err(Failure::mismatch()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
fn double<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Double(value)] => Ok(Val::Double(*value)),
        [Val::Int(value)] => Ok(Val::Double(*value as f64)),
        [Val::UInt(value)] => Ok(Val::Double(*value as f64)),
        [Val::String(text)] => match text.parse::<f64>() {
            Ok(value) if value.is_finite() || text.contains(['i', 'I', 'n', 'N']) => Ok(Val::Double(value)),
            _ => Err(Failure::value(format!("cannot convert `{text}` to a double"))),
        },
        _ => Err(Failure::mismatch()),
    }
}

fn string<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    Ok(match arguments {
        [text @ Val::String(_)] => text.clone(),
        [Val::Bool(value)] => Val::text(if *value { "true" } else { "false" }),
        [Val::Int(value)] => Val::text(value.to_string()),
        [Val::UInt(value)] => Val::text(value.to_string()),
        [Val::Double(value)] => Val::text(float::format_float(*value, 'g', None)),
        [Val::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => Val::text(text),
            Err(_) => return Err(Failure::value("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [Val::Timestamp(time)] => Val::text(time.to_string()),
        [Val::Duration(duration)] => Val::text(seconds_text(*duration)),
        [Val::Opaque(value)] => match value.to_text() {
            Some(text) => Val::text(text),
            None => return Err(Failure::mismatch()),
        },
        _ => return Err(Failure::mismatch()),
    })
}

fn bytes<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Bytes(bytes)] => Ok(Val::Bytes(bytes.clone())),
        [Val::String(text)] => Ok(Val::Bytes(text.as_bytes().into())),
        _ => Err(Failure::mismatch()),
    }
}

fn boolean<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Bool(value)] => Ok(Val::Bool(*value)),
        [Val::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(Failure::value(format!("cannot convert `{text}` to a bool"))),
        },
        _ => Err(Failure::mismatch()),
    }
}

fn timestamp<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Timestamp(time)] => Ok(Val::Timestamp(*time)),
        [Val::Int(seconds)] => Timestamp::from_unix(*seconds)
            .map(Val::Timestamp)
            .ok_or_else(|| Failure::value("timestamp overflow")),
        [Val::String(text)] => match Timestamp::parse(text) {
            Some(time) => Ok(Val::Timestamp(time)),
            None => Err(Failure::value(format!("cannot convert `{text}` to a timestamp"))),
        },
        _ => Err(Failure::mismatch()),
    }
}

fn duration<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Duration(duration)] => Ok(Val::Duration(*duration)),
        [Val::Int(nanoseconds)] => Ok(Val::Duration(Duration::from_nanoseconds(*nanoseconds))),
        [Val::String(text)] => match Duration::parse(text) {
            Ok(duration) => Ok(Val::Duration(duration)),
            Err(error) => Err(Failure::value(format!("cannot convert `{text}` to a duration: {error}"))),
        },
        _ => Err(Failure::mismatch()),
    }
}
