//! Timestamps such as `2024-05-01T10:00:00Z`. Evaluation reads no clock: functions that need the
//! current time get it from the caller.

use kubewright_golib::time::{self, GoTime, RFC3339};
use kubewright_value::duration::Duration;
use kubewright_value::{Budget, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, JmesPathFunctions, define_builtin,
};

/// The time from year 1, from which truncation counts, to 1970.
const YEAR_ONE_NANOSECONDS: i128 = 62_135_596_800 * 1_000_000_000;

const ONE_STRING: &[ArgumentTypes] = &[ArgumentTypes::STRING];
const TWO_STRINGS: &[ArgumentTypes] = &[ArgumentTypes::STRING, ArgumentTypes::STRING];
const THREE_STRINGS: &[ArgumentTypes] =
    &[ArgumentTypes::STRING, ArgumentTypes::STRING, ArgumentTypes::STRING];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin("time_add", TWO_STRINGS, "string", "the time, later by the duration", call_time_add),
    define_builtin(
        "time_after",
        TWO_STRINGS,
        "boolean",
        "whether the first time is after the second",
        |arguments, budget| {
            Ok(Value::Bool(time_argument(arguments, 0, budget)? > time_argument(arguments, 1, budget)?))
        },
    ),
    define_builtin(
        "time_before",
        TWO_STRINGS,
        "boolean",
        "whether the first time is before the second",
        |arguments, budget| {
            Ok(Value::Bool(time_argument(arguments, 0, budget)? < time_argument(arguments, 1, budget)?))
        },
    ),
    define_builtin(
        "time_between",
        THREE_STRINGS,
        "boolean",
        "whether the first time is between the others",
        call_time_between,
    ),
    define_builtin(
        "time_diff",
        TWO_STRINGS,
        "string",
        "the duration from the first time to the second",
        call_time_diff,
    ),
    define_builtin("time_now", &[], "string", "the current time", |_, _| {
        Err(missing_clock_failure("time_now"))
    })
    .volatile(),
    define_builtin("time_now_utc", &[], "string", "the current time, in UTC", |_, _| {
        Err(missing_clock_failure("time_now_utc"))
    })
    .volatile(),
    define_builtin(
        "time_parse",
        TWO_STRINGS,
        "string",
        "the time in the second string, in the layout of the first",
        call_time_parse,
    ),
    define_builtin(
        "time_since",
        THREE_STRINGS,
        "string",
        "the duration between two times in a layout; an empty layout is RFC 3339, an empty time is now",
        |arguments, budget| call_time_since(arguments, budget, None),
    )
    .volatile(),
    define_builtin("time_to_cron", ONE_STRING, "string", "a cron expression for the time", call_time_to_cron),
    define_builtin(
        "time_truncate",
        TWO_STRINGS,
        "string",
        "the time rounded down to a multiple of the duration",
        call_time_truncate,
    ),
    define_builtin("time_utc", ONE_STRING, "string", "the time in UTC", |arguments, budget| {
        Ok(Value::from(GoTime::utc(time_argument(arguments, 0, budget)?).format(RFC3339)))
    }),
];

/// Returns `functions` with the current time `now`, in nanoseconds since 1970.
pub(super) fn add_clock(functions: JmesPathFunctions, now: i128) -> JmesPathFunctions {
    let present =
        move |_: &[JmesPathArgument<'_>], _: &mut Budget| Ok(Value::from(GoTime::utc(now).format(RFC3339)));
    functions
        .replace_body("time_now", present)
        .replace_body("time_now_utc", present)
        .replace_body("time_since", move |arguments, budget| call_time_since(arguments, budget, Some(now)))
}

fn missing_clock_failure(name: &str) -> JmesPathFailure {
    JmesPathFailure::wrong_value(format!("`{name}` needs the current time, which is not set"))
}

fn call_time_add(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let time = parse_time_as(arguments, 0, RFC3339, budget)?;
    Ok(Value::from(time.add(duration_argument(arguments, 1)?.nanoseconds()).format(RFC3339)))
}

/// Returns whether a time is between two others, both excluded.
fn call_time_between(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let time = time_argument(arguments, 0, budget)?;
    let (start, end) = (time_argument(arguments, 1, budget)?, time_argument(arguments, 2, budget)?);
    Ok(Value::Bool(start < time && time < end))
}

fn call_time_diff(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    Ok(duration_between(time_argument(arguments, 0, budget)?, time_argument(arguments, 1, budget)?))
}

/// Parses a time with a Go layout. If the layout is a number, the text is in seconds since 1970.
fn call_time_parse(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let [layout, text] = arguments else { return Ok(Value::Null) };
    if layout.text().parse::<i64>().is_err() {
        return Ok(Value::from(parse_time_as(arguments, 1, layout.text(), budget)?.format(RFC3339)));
    }
    let seconds = text.text().parse().map_err(|_| {
        JmesPathFailure::wrong_value(format!("`{}` is not a number of seconds", text.text())).about(1)
    })?;
    Ok(Value::from(GoTime::from_unix(seconds).format(RFC3339)))
}

/// Returns the duration from the second argument to the third, both in the layout of the first.
fn call_time_since(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
    now: Option<i128>,
) -> Result<Value, JmesPathFailure> {
    let layout = arguments.first().map_or("", JmesPathArgument::text);
    let layout = if layout.is_empty() { RFC3339 } else { layout };
    let from = parse_time_as(arguments, 1, layout, budget)?.nanoseconds;
    let until = match arguments.get(2).is_some_and(|until| until.text().is_empty()) {
        true => now.ok_or_else(|| missing_clock_failure("time_since").about(2))?,
        false => parse_time_as(arguments, 2, layout, budget)?.nanoseconds,
    };
    Ok(duration_between(from, until))
}

fn call_time_to_cron(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let time = parse_time_as(arguments, 0, RFC3339, budget)?.civil();
    let fields = [time.minute, time.hour, time.day, time.month, time.weekday];
    Ok(Value::from(fields.map(|field| field.to_string()).join(" ")))
}

/// Rounds down to a multiple of the duration since the start of year 1.
fn call_time_truncate(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let mut time = parse_time_as(arguments, 0, RFC3339, budget)?;
    let step = i128::from(duration_argument(arguments, 1)?.nanoseconds());
    if step > 0 {
        time.nanoseconds -= (time.nanoseconds + YEAR_ONE_NANOSECONDS).rem_euclid(step);
    }
    Ok(Value::from(time.format(RFC3339)))
}

fn time_argument(
    arguments: &[JmesPathArgument<'_>],
    index: usize,
    budget: &mut Budget,
) -> Result<i128, JmesPathFailure> {
    parse_time_as(arguments, index, RFC3339, budget).map(|time| time.nanoseconds)
}

fn parse_time_as(
    arguments: &[JmesPathArgument<'_>],
    index: usize,
    layout: &str,
    budget: &mut Budget,
) -> Result<GoTime, JmesPathFailure> {
    let text = arguments.get(index).map_or("", JmesPathArgument::text);
    budget.step((text.len() + layout.len()) as u64)?;
    budget.produce(layout.len().saturating_mul(2))?;
    time::parse_time(layout, text).map_err(|message| JmesPathFailure::wrong_value(message).about(index))
}

fn duration_argument(arguments: &[JmesPathArgument<'_>], index: usize) -> Result<Duration, JmesPathFailure> {
    let text = arguments.get(index).map_or("", JmesPathArgument::text);
    Duration::parse(text).map_err(|error| {
        JmesPathFailure::wrong_value(format!("`{text}` is not a duration: {error}")).about(index)
    })
}

/// Returns the duration between two times; saturates at the longest duration.
fn duration_between(from: i128, until: i128) -> Value {
    let nanoseconds = (until - from).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    let nanoseconds = i64::try_from(nanoseconds).unwrap_or(i64::MAX);
    Value::from(Duration::from_nanoseconds(nanoseconds).to_string())
}
