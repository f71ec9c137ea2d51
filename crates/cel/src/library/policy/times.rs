//! The current time, truncated times and cron schedules.

use super::{CelLibrary, MacroSet};
use crate::Timestamp;
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of times.
pub const TIMES: CelLibrary =
    CelLibrary { name: "times", functions: add_time_functions, macros: MacroSet::NONE, types: &[] };

fn add_time_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("time.now", &[], CelKind::Timestamp, |_, call| {
            let now = call
                .inputs()
                .now
                .ok_or_else(|| CelFailure::value("`time.now` needs the current time, which is not set"))?;
            let now = Timestamp::new(now).ok_or_else(|| CelFailure::value("timestamp overflow"))?;
            Ok(Val::Timestamp(now))
        })
        .help("the current time"),
    );
    functions.add(
        CelOverload::function(
            "time.truncate",
            &[CelKind::Timestamp, CelKind::Duration],
            CelKind::Timestamp,
            |arguments, _| {
                let [Val::Timestamp(time), Val::Duration(step)] = arguments else {
                    return Err(CelFailure::mismatch());
                };
                Ok(Val::Timestamp(truncate_timestamp(*time, step.nanoseconds())))
            },
        )
        .help("a time truncated to a multiple of a duration, counted from the start of year 1"),
    );
    functions.add(
        CelOverload::function("time.toCron", &[CelKind::Timestamp], CelKind::String, |arguments, _| {
            let [Val::Timestamp(time)] = arguments else { return Err(CelFailure::mismatch()) };
            let civil = time.own_civil();
            Ok(Val::text(format!(
                "{} {} {} {} {}",
                civil.minute, civil.hour, civil.day, civil.month, civil.weekday
            )))
        })
        .help("the cron schedule of a time: minute, hour, day, month and day of the week"),
    );
}

/// Truncates a time to a multiple of `step`. A step of 0 or less changes nothing.
fn truncate_timestamp(time: Timestamp, step: i64) -> Timestamp {
    if step <= 0 {
        return time;
    }
    let since = time.nanoseconds() - Timestamp::ZERO.nanoseconds();
    time.at(time.nanoseconds() - since.rem_euclid(i128::from(step))).unwrap_or(time)
}
