//! Type conversions.

use kubewright_golib::float;
use kubewright_value::duration::Duration;

use crate::cost::traversal_cost;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::time::{Timestamp, format_seconds};
use crate::val::{CelKind, Val, exact_integer};

const SCALARS: [&[CelKind]; 9] = [
    &[CelKind::Bool],
    &[CelKind::Int],
    &[CelKind::UInt],
    &[CelKind::Double],
    &[CelKind::String],
    &[CelKind::Bytes],
    &[CelKind::Timestamp],
    &[CelKind::Duration],
    &[CelKind::Any],
];

pub(super) fn add_conversion_functions(functions: &mut CelFunctions) {
    let mut each = |name, from: &[CelKind], result, body: crate::CelFunctionBody, help| {
        for parameters in SCALARS.into_iter().filter(|row| row.iter().all(|kind| from.contains(kind))) {
            let overload = CelOverload::function(name, parameters, result, body).help(help);
            functions.add(match (name, parameters) {
                ("string", [CelKind::Bytes]) | ("bytes", [CelKind::String]) => overload
                    .cost_if_known(|arguments, _| traversal_cost(arguments.first().map_or(0, Val::size))),
                _ => overload,
            });
        }
    };
    use CelKind::{Bool, Bytes, Double, Duration, Int, String, Timestamp, UInt};
    each(
        "int",
        &[Int, UInt, Double, String, Timestamp, Duration],
        Int,
        convert_to_int,
        "a whole number with a sign",
    );
    each("uint", &[Int, UInt, Double, String], UInt, convert_to_uint, "a whole number without a sign");
    each("double", &[Int, UInt, Double, String], Double, convert_to_double, "a floating-point number");
    each(
        "string",
        &[Bool, Int, UInt, Double, String, Bytes, Timestamp, Duration, CelKind::Any],
        String,
        convert_to_string,
        "a value as text",
    );
    each("bytes", &[Bytes, String], Bytes, convert_to_bytes, "the bytes of a text");
    each("bool", &[Bool, String], Bool, convert_to_bool, "a text as true or false");
    each(
        "timestamp",
        &[Timestamp, String, Int],
        Timestamp,
        convert_to_timestamp,
        "a point in time, from RFC 3339 or seconds since 1970",
    );
    each(
        "duration",
        &[Duration, String, Int],
        Duration,
        convert_to_duration,
        "a length of time, such as `1h30m`",
    );
}

fn convert_to_int<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let overflow = || CelFailure::value("integer overflow");
    match arguments {
        [Val::Int(value)] => Ok(Val::Int(*value)),
        [Val::UInt(value)] => i64::try_from(*value).map(Val::Int).map_err(|_| overflow()),
        [Val::Double(value)] => {
            let whole = exact_integer(value.trunc()).and_then(|whole| i64::try_from(whole).ok());
            whole.filter(|whole| *whole != i64::MIN && *whole != i64::MAX).map(Val::Int).ok_or_else(overflow)
        }
        [Val::String(text)] => match text.parse() {
            Ok(value) => Ok(Val::Int(value)),
            Err(_) => Err(CelFailure::value(format!("cannot convert `{text}` to an int"))),
        },
        [Val::Timestamp(time)] => Ok(Val::Int(time.unix())),
        [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds())),
        _ => Err(CelFailure::mismatch()),
    }
}

fn convert_to_uint<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let overflow = || CelFailure::value("unsigned integer overflow");
    match arguments {
        [Val::UInt(value)] => Ok(Val::UInt(*value)),
        [Val::Int(value)] => u64::try_from(*value).map(Val::UInt).map_err(|_| overflow()),
        [Val::Double(value)] => {
            let whole = exact_integer(value.trunc()).filter(|_| !value.is_sign_negative() || *value == 0.0);
            whole.and_then(|whole| u64::try_from(whole).ok()).map(Val::UInt).ok_or_else(overflow)
        }
        [Val::String(text)] => match text.parse() {
            Ok(value) if !text.starts_with('+') => Ok(Val::UInt(value)),
            _ => Err(CelFailure::value(format!("cannot convert `{text}` to a uint"))),
        },
        _ => Err(CelFailure::mismatch()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
fn convert_to_double<'a>(
    arguments: &[Val<'a>],
    _: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Double(value)] => Ok(Val::Double(*value)),
        [Val::Int(value)] => Ok(Val::Double(*value as f64)),
        [Val::UInt(value)] => Ok(Val::Double(*value as f64)),
        [Val::String(text)] => match text.parse::<f64>() {
            Ok(value) if value.is_finite() || text.contains(['i', 'I', 'n', 'N']) => Ok(Val::Double(value)),
            _ => Err(CelFailure::value(format!("cannot convert `{text}` to a double"))),
        },
        _ => Err(CelFailure::mismatch()),
    }
}

fn convert_to_string<'a>(
    arguments: &[Val<'a>],
    _: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    Ok(match arguments {
        [text @ Val::String(_)] => text.clone(),
        [Val::Bool(value)] => Val::text(if *value { "true" } else { "false" }),
        [Val::Int(value)] => Val::text(value.to_string()),
        [Val::UInt(value)] => Val::text(value.to_string()),
        [Val::Double(value)] => Val::text(float::format_float(*value, 'g', None)),
        [Val::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => Val::text(text),
            Err(_) => return Err(CelFailure::value("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [Val::Timestamp(time)] => Val::text(time.to_string()),
        [Val::Duration(duration)] => Val::text(format_seconds(*duration)),
        [Val::Opaque(value)] => match value.to_text() {
            Some(text) => Val::text(text),
            None => return Err(CelFailure::mismatch()),
        },
        _ => return Err(CelFailure::mismatch()),
    })
}

fn convert_to_bytes<'a>(
    arguments: &[Val<'a>],
    _: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Bytes(bytes)] => Ok(Val::Bytes(bytes.clone())),
        [Val::String(text)] => Ok(Val::Bytes(text.as_bytes().into())),
        _ => Err(CelFailure::mismatch()),
    }
}

fn convert_to_bool<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Bool(value)] => Ok(Val::Bool(*value)),
        [Val::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(CelFailure::value(format!("cannot convert `{text}` to a bool"))),
        },
        _ => Err(CelFailure::mismatch()),
    }
}

fn convert_to_timestamp<'a>(
    arguments: &[Val<'a>],
    _: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Timestamp(time)] => Ok(Val::Timestamp(*time)),
        [Val::Int(seconds)] => Timestamp::from_unix(*seconds)
            .map(Val::Timestamp)
            .ok_or_else(|| CelFailure::value("timestamp overflow")),
        [Val::String(text)] => match Timestamp::parse(text) {
            Some(time) => Ok(Val::Timestamp(time)),
            None => Err(CelFailure::value(format!("cannot convert `{text}` to a timestamp"))),
        },
        _ => Err(CelFailure::mismatch()),
    }
}

fn convert_to_duration<'a>(
    arguments: &[Val<'a>],
    _: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Duration(duration)] => Ok(Val::Duration(*duration)),
        [Val::Int(nanoseconds)] => Ok(Val::Duration(Duration::from_nanoseconds(*nanoseconds))),
        [Val::String(text)] => match Duration::parse(text) {
            Ok(duration) => Ok(Val::Duration(duration)),
            Err(error) => Err(CelFailure::value(format!("cannot convert `{text}` to a duration: {error}"))),
        },
        _ => Err(CelFailure::mismatch()),
    }
}
