//! Sprig's dates.
//!
//! Where Sprig falls back to the current time for a value it does not know, the call is an error.

use kubewright_golib::time::{Time, format_duration, parse, parse_duration};

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Width};
use super::super::literal::parse_integer;
use super::arguments::{any, text};
use super::{Access, Function, Type, function};

pub(super) const TABLE: &[Function] = &[
    function("date", &[Type::Text, Type::Any], |_, a| formatted(text(a, 0), any(a, 1), "Local")),
    function("dateInZone", &[Type::Text, Type::Any, Type::Text], |_, a| {
        formatted(text(a, 0), any(a, 1), text(a, 2))
    }),
    function("date_in_zone", &[Type::Text, Type::Any, Type::Text], |_, a| {
        formatted(text(a, 0), any(a, 1), text(a, 2))
    }),
    function("htmlDate", &[Type::Any], |_, a| formatted("2006-01-02", any(a, 0), "Local")),
    function("htmlDateInZone", &[Type::Any, Type::Text], |_, a| {
        formatted("2006-01-02", any(a, 0), text(a, 1))
    }),
    function("dateModify", &[Type::Text, Type::Time], |_, a| modified(a, false)),
    function("date_modify", &[Type::Text, Type::Time], |_, a| modified(a, false)),
    function("mustDateModify", &[Type::Text, Type::Time], |_, a| modified(a, true)),
    function("must_date_modify", &[Type::Text, Type::Time], |_, a| modified(a, true)),
    function("toDate", &[Type::Text, Type::Text], |call, a| {
        charge_layout(call, text(a, 0))?;
        Ok(Item::Time(parse(text(a, 0), text(a, 1)).unwrap_or_else(|_| Time::zero())))
    }),
    function("mustToDate", &[Type::Text, Type::Text], |call, a| {
        charge_layout(call, text(a, 0))?;
        Ok(Item::Time(parse(text(a, 0), text(a, 1))?))
    }),
    function("unixEpoch", &[Type::Time], |_, a| match any(a, 0) {
        Item::Time(time) => Ok(Item::text(time.unix().to_string())),
        _ => Ok(Item::EMPTY),
    }),
    function("duration", &[Type::Any], |_, a| {
        let seconds = match any(a, 0) {
            Item::Text(text) => saturating(text),
            Item::Int(Width::Int64, value) => *value,
            _ => 0,
        };
        Ok(Item::text(format_duration(seconds.wrapping_mul(1_000_000_000))))
    }),
    function("durationRound", &[Type::Any], duration_round),
    function("now", &[], |call, _| Ok(Item::Time(now(call)?))).guarded(Access::Unrepeatable),
    function("ago", &[Type::Any], ago).guarded(Access::Unrepeatable),
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

fn formatted(layout: &str, date: &Item, zone: &str) -> Outcome {
    let time = moment(date).ok_or_else(|| {
        let found = date.type_name();
        Failure::from(format!(
            "a value of type {found} is no date and the current time is not used instead; convert it with `int64` or `toDate`"
        ))
    })?;
    Ok(Item::text(time.in_zone(zone)?.format(layout)))
}

/// At each character of a layout every word of dates is tried.
fn charge_layout(call: &mut Call<'_>, layout: &str) -> Result<(), Failure> {
    Ok(call.budget.step(layout.len() as u64)?)
}

fn moment(date: &Item) -> Option<Time> {
    match date {
        Item::Time(time) => Some(time.clone()),
        Item::Int(Width::Int | Width::Int64, seconds) => Some(Time::from_unix(*seconds)),
        _ => None,
    }
}

fn modified(arguments: &[Item], must: bool) -> Outcome {
    let Item::Time(time) = any(arguments, 1) else {
        return Ok(Item::Nil);
    };
    match parse_duration(text(arguments, 0)) {
        Ok(duration) => Ok(Item::Time(time.add(duration))),
        Err(message) if must => Err(message.into()),
        Err(_) => Ok(Item::Time(time.clone())),
    }
}

fn duration_round(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let nanoseconds = match any(arguments, 0) {
        Item::Text(text) => parse_duration(text).unwrap_or(0),
        Item::Int(Width::Int64, value) => *value,
        Item::Time(time) => since(call, time)?,
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
    Ok(Item::text(found.map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", seconds / unit))))
}

fn ago(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let time = match moment(any(arguments, 0)) {
        Some(time) => time,
        None => now(call)?,
    };
    let elapsed = since(call, &time)?;
    const SECOND: i64 = 1_000_000_000;
    let rounded =
        elapsed.saturating_add(if elapsed < 0 { -SECOND / 2 } else { SECOND / 2 }) / SECOND * SECOND;
    Ok(Item::text(format_duration(rounded)))
}

fn now(call: &Call<'_>) -> Result<Time, Failure> {
    call.inputs.now.map(Time::utc).ok_or_else(|| "the current time was not given".into())
}

fn since(call: &Call<'_>, time: &Time) -> Result<i64, Failure> {
    let elapsed = now(call)?.nanoseconds - time.nanoseconds;
    Ok(i64::try_from(elapsed).unwrap_or(if elapsed < 0 { i64::MIN } else { i64::MAX }))
}
