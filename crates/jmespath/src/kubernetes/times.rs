//! Points in time as texts, as in `2024-05-01T10:00:00Z`. There is no clock here: what needs the
//! present moment has to be told.

use kubewright_golib::time::{self, GoTime};
use kubewright_value::duration::Duration;
use kubewright_value::{Budget, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, Functions, builtin};

const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

/// From year 1 to 1970, where truncating starts to count.
const YEAR_ONE: i128 = 62_135_596_800 * 1_000_000_000;

const ONE: &[Accepts] = &[Accepts::STRING];
const TWO: &[Accepts] = &[Accepts::STRING, Accepts::STRING];
const THREE: &[Accepts] = &[Accepts::STRING, Accepts::STRING, Accepts::STRING];

pub(super) const TABLE: &[Builtin] = &[
    builtin("time_add", TWO, "string", "the time, later by the duration", time_add),
    builtin(
        "time_after",
        TWO,
        "boolean",
        "whether the first time is after the second",
        |arguments, budget| Ok(Value::Bool(moment(arguments, 0, budget)? > moment(arguments, 1, budget)?)),
    ),
    builtin(
        "time_before",
        TWO,
        "boolean",
        "whether the first time is before the second",
        |arguments, budget| Ok(Value::Bool(moment(arguments, 0, budget)? < moment(arguments, 1, budget)?)),
    ),
    builtin("time_between", THREE, "boolean", "whether the first time is between the others", time_between),
    builtin("time_diff", TWO, "string", "the duration from the first time to the second", time_diff),
    builtin("time_now", &[], "string", "the present moment", |_, _| Err(no_clock("time_now"))).volatile(),
    builtin("time_now_utc", &[], "string", "the present moment, in UTC", |_, _| {
        Err(no_clock("time_now_utc"))
    })
    .volatile(),
    builtin(
        "time_parse",
        TWO,
        "string",
        "the time in the second text, read by the layout that is the first",
        time_parse,
    ),
    builtin(
        "time_since",
        THREE,
        "string",
        "the duration between two times of a layout; empty is RFC 3339, and now",
        |arguments, budget| time_since(arguments, budget, None),
    )
    .volatile(),
    builtin("time_to_cron", ONE, "string", "a cron expression for the time", time_to_cron),
    builtin(
        "time_truncate",
        TWO,
        "string",
        "the time rounded down to a multiple of the duration",
        time_truncate,
    ),
    builtin("time_utc", ONE, "string", "the time in UTC", |arguments, budget| {
        Ok(Value::from(GoTime::utc(moment(arguments, 0, budget)?).format(RFC3339)))
    }),
];

/// Returns `functions` where the present moment is `now`, in nanoseconds since 1970.
pub(super) fn with_now(functions: Functions, now: i128) -> Functions {
    let present = move |_: &[Argument<'_>], _: &mut Budget| Ok(Value::from(GoTime::utc(now).format(RFC3339)));
    functions
        .instead("time_now", present)
        .instead("time_now_utc", present)
        .instead("time_since", move |arguments, budget| time_since(arguments, budget, Some(now)))
}

fn no_clock(name: &str) -> Failure {
    Failure::wrong_value(format!("`{name}` is not known here: the caller has to give the present moment"))
}

fn time_add(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let time = time_at(arguments, 0, RFC3339, budget)?;
    Ok(Value::from(time.add(duration(arguments, 1)?.nanoseconds()).format(RFC3339)))
}

/// Neither end is between.
fn time_between(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let time = moment(arguments, 0, budget)?;
    let (start, end) = (moment(arguments, 1, budget)?, moment(arguments, 2, budget)?);
    Ok(Value::Bool(start < time && time < end))
}

fn time_diff(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    Ok(between(moment(arguments, 0, budget)?, moment(arguments, 1, budget)?))
}

/// Reads a time by a layout; a layout that is a number means seconds since 1970.
fn time_parse(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [layout, text] = arguments else { return Ok(Value::Null) };
    if layout.text().parse::<i64>().is_err() {
        return Ok(Value::from(time_at(arguments, 1, layout.text(), budget)?.format(RFC3339)));
    }
    let seconds = text
        .text()
        .parse()
        .map_err(|_| Failure::wrong_value(format!("`{}` is no number of seconds", text.text())).about(1))?;
    Ok(Value::from(GoTime::from_unix(seconds).format(RFC3339)))
}

/// Returns the time from the second argument to the third, both by the layout that is the first.
fn time_since(arguments: &[Argument<'_>], budget: &mut Budget, now: Option<i128>) -> Result<Value, Failure> {
    let layout = arguments.first().map_or("", Argument::text);
    let layout = if layout.is_empty() { RFC3339 } else { layout };
    let from = time_at(arguments, 1, layout, budget)?.nanoseconds;
    let until = match arguments.get(2).is_some_and(|until| until.text().is_empty()) {
        true => now.ok_or_else(|| no_clock("time_since").about(2))?,
        false => time_at(arguments, 2, layout, budget)?.nanoseconds,
    };
    Ok(between(from, until))
}

fn time_to_cron(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let time = time_at(arguments, 0, RFC3339, budget)?.civil();
    let fields = [time.minute, time.hour, time.day, time.month, time.weekday];
    Ok(Value::from(fields.map(|field| field.to_string()).join(" ")))
}

/// Rounds down to a multiple of the duration since the start of year 1.
fn time_truncate(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let mut time = time_at(arguments, 0, RFC3339, budget)?;
    let step = i128::from(duration(arguments, 1)?.nanoseconds());
    if step > 0 {
        time.nanoseconds -= (time.nanoseconds + YEAR_ONE).rem_euclid(step);
    }
    Ok(Value::from(time.format(RFC3339)))
}

fn moment(arguments: &[Argument<'_>], index: usize, budget: &mut Budget) -> Result<i128, Failure> {
    time_at(arguments, index, RFC3339, budget).map(|time| time.nanoseconds)
}

fn time_at(
    arguments: &[Argument<'_>],
    index: usize,
    layout: &str,
    budget: &mut Budget,
) -> Result<GoTime, Failure> {
    let text = arguments.get(index).map_or("", Argument::text);
    budget.step((text.len() + layout.len()) as u64)?;
    budget.produce(layout.len().saturating_mul(2))?;
    time::parse_time(layout, text).map_err(|message| Failure::wrong_value(message).about(index))
}

fn duration(arguments: &[Argument<'_>], index: usize) -> Result<Duration, Failure> {
    let text = arguments.get(index).map_or("", Argument::text);
    Duration::parse(text)
        .map_err(|error| Failure::wrong_value(format!("`{text}` is no duration: {error}")).about(index))
}

/// A difference that is too long is the longest there is.
fn between(from: i128, until: i128) -> Value {
    let nanoseconds = (until - from).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    let nanoseconds = i64::try_from(nanoseconds).unwrap_or(i64::MAX);
    Value::from(Duration::from_nanoseconds(nanoseconds).to_string())
}
