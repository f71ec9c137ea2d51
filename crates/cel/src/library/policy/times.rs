//! The present moment, and times cut to a step or written for a schedule.

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
            let now = call.inputs().now.ok_or_else(|| {
                CelFailure::value("`time.now` is not known here: the caller has to give the present moment")
            })?;
            let now = Timestamp::new(now).ok_or_else(|| CelFailure::value("timestamp overflow"))?;
            Ok(Val::Timestamp(now))
        })
        .help("the present moment"),
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
        .help("a time cut to a multiple of a duration, counted from the start of year 1"),
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
        .help("the schedule of cron at which a time is: minute, hour, day, month and day of the week"),
    );
}

/// A step of nothing or less cuts nothing.
fn truncate_timestamp(time: Timestamp, step: i64) -> Timestamp {
    if step <= 0 {
        return time;
    }
    let since = time.nanoseconds() - Timestamp::ZERO.nanoseconds();
    time.at(time.nanoseconds() - since.rem_euclid(i128::from(step))).unwrap_or(time)
}
