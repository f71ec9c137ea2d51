//! Sprig's dates.
//!
//! Where Sprig falls back to the current time for a value it does not know, the call is an error.

use kubewright_golib::time::{GoTime, format_duration, parse_duration, parse_time};

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{IntegerWidth, TemplateItem};
use super::super::literal::parse_integer;
use super::arguments::{argument_or_nil, text_argument};
use super::{FunctionAccess, ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("date", &[ParameterType::Text, ParameterType::Any], |_, a| {
        format_date(text_argument(a, 0), argument_or_nil(a, 1), "Local")
    }),
    fixed_function("dateInZone", &[ParameterType::Text, ParameterType::Any, ParameterType::Text], |_, a| {
        format_date(text_argument(a, 0), argument_or_nil(a, 1), text_argument(a, 2))
    }),
    fixed_function(
        "date_in_zone",
        &[ParameterType::Text, ParameterType::Any, ParameterType::Text],
        |_, a| format_date(text_argument(a, 0), argument_or_nil(a, 1), text_argument(a, 2)),
    ),
    fixed_function("htmlDate", &[ParameterType::Any], |_, a| {
        format_date("2006-01-02", argument_or_nil(a, 0), "Local")
    }),
    fixed_function("htmlDateInZone", &[ParameterType::Any, ParameterType::Text], |_, a| {
        format_date("2006-01-02", argument_or_nil(a, 0), text_argument(a, 1))
    }),
    fixed_function("dateModify", &[ParameterType::Text, ParameterType::Time], |_, a| modify_date(a, false)),
    fixed_function("date_modify", &[ParameterType::Text, ParameterType::Time], |_, a| modify_date(a, false)),
    fixed_function("mustDateModify", &[ParameterType::Text, ParameterType::Time], |_, a| {
        modify_date(a, true)
    }),
    fixed_function("must_date_modify", &[ParameterType::Text, ParameterType::Time], |_, a| {
        modify_date(a, true)
    }),
    fixed_function("toDate", &[ParameterType::Text, ParameterType::Text], |call, a| {
        charge_layout(call, text_argument(a, 0))?;
        Ok(TemplateItem::Time(
            parse_time(text_argument(a, 0), text_argument(a, 1)).unwrap_or_else(|_| GoTime::zero()),
        ))
    }),
    fixed_function("mustToDate", &[ParameterType::Text, ParameterType::Text], |call, a| {
        charge_layout(call, text_argument(a, 0))?;
        Ok(TemplateItem::Time(parse_time(text_argument(a, 0), text_argument(a, 1))?))
    }),
    fixed_function("unixEpoch", &[ParameterType::Time], |_, a| match argument_or_nil(a, 0) {
        TemplateItem::Time(time) => Ok(TemplateItem::text(time.unix().to_string())),
        _ => Ok(TemplateItem::EMPTY),
    }),
    fixed_function("duration", &[ParameterType::Any], |_, a| {
        let seconds = match argument_or_nil(a, 0) {
            TemplateItem::Text(text) => saturating(text),
            TemplateItem::Int(IntegerWidth::Int64, value) => *value,
            _ => 0,
        };
        Ok(TemplateItem::text(format_duration(seconds.wrapping_mul(1_000_000_000))))
    }),
    fixed_function("durationRound", &[ParameterType::Any], duration_round),
    fixed_function("now", &[], |call, _| Ok(TemplateItem::Time(time_of_rendering(call)?)))
        .guarded(FunctionAccess::Unrepeatable),
    fixed_function("ago", &[ParameterType::Any], sprig_ago).guarded(FunctionAccess::Unrepeatable),
];

/// Sprig ignores the error of `ParseInt`, whose value is then the nearest number.
fn saturating(text: &str) -> i64 {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match parse_integer(text, 10) {
        Some(value) => value,
        None if is_number && text.starts_with('-') => i64::MIN,
        None if is_number => i64::MAX,
        None => 0,
    }
}

fn format_date(layout: &str, date: &TemplateItem, zone: &str) -> CallResult {
    let time = time_of_item(date).ok_or_else(|| {
        let found = date.type_name();
        CallFailure::from(format!(
            "a value of type {found} is no date and the current time is not used instead; convert it with `int64` or `toDate`"
        ))
    })?;
    Ok(TemplateItem::text(time.in_zone(zone)?.format(layout)))
}

/// At each character of a layout every word of dates is tried.
fn charge_layout(call: &mut FunctionCall<'_>, layout: &str) -> Result<(), CallFailure> {
    Ok(call.budget.step(layout.len() as u64)?)
}

fn time_of_item(date: &TemplateItem) -> Option<GoTime> {
    match date {
        TemplateItem::Time(time) => Some(time.clone()),
        TemplateItem::Int(IntegerWidth::Int | IntegerWidth::Int64, seconds) => {
            Some(GoTime::from_unix(*seconds))
        }
        _ => None,
    }
}

fn modify_date(arguments: &[TemplateItem], must: bool) -> CallResult {
    let TemplateItem::Time(time) = argument_or_nil(arguments, 1) else {
        return Ok(TemplateItem::Nil);
    };
    match parse_duration(text_argument(arguments, 0)) {
        Ok(duration) => Ok(TemplateItem::Time(time.add(duration))),
        Err(message) if must => Err(message.into()),
        Err(_) => Ok(TemplateItem::Time(time.clone())),
    }
}

fn duration_round(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let nanoseconds = match argument_or_nil(arguments, 0) {
        TemplateItem::Text(text) => parse_duration(text).unwrap_or(0),
        TemplateItem::Int(IntegerWidth::Int64, value) => *value,
        TemplateItem::Time(time) => duration_since(call, time)?,
        _ => 0,
    };
    let seconds = nanoseconds.unsigned_abs();
    const SECOND: u64 = 1_000_000_000;
    const UNITS: [(u64, &str); 6] = [
        (SECOND * 3600 * 24 * 365, "y"),
        (SECOND * 3600 * 24 * 30, "mo"),
        (SECOND * 3600 * 24, "d"),
        (SECOND * 3600, "h"),
        (SECOND * 60, "m"),
        (SECOND, "s"),
    ];
    let found = UNITS.iter().find(|(unit, _)| seconds > *unit);
    Ok(TemplateItem::text(
        found.map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", seconds / unit)),
    ))
}

fn sprig_ago(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let time = match time_of_item(argument_or_nil(arguments, 0)) {
        Some(time) => time,
        None => time_of_rendering(call)?,
    };
    let elapsed = duration_since(call, &time)?;
    const SECOND: i64 = 1_000_000_000;
    let rounded =
        elapsed.saturating_add(if elapsed < 0 { -SECOND / 2 } else { SECOND / 2 }) / SECOND * SECOND;
    Ok(TemplateItem::text(format_duration(rounded)))
}

fn time_of_rendering(call: &FunctionCall<'_>) -> Result<GoTime, CallFailure> {
    call.inputs.now.map(GoTime::utc).ok_or_else(|| "the current time was not given".into())
}

fn duration_since(call: &FunctionCall<'_>, time: &GoTime) -> Result<i64, CallFailure> {
    let elapsed = time_of_rendering(call)?.nanoseconds - time.nanoseconds;
    Ok(i64::try_from(elapsed).unwrap_or(if elapsed < 0 { i64::MIN } else { i64::MAX }))
}
