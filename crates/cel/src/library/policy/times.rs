//! The present moment, and times cut to a step or written for a schedule.

use super::{Library, Macros};
use crate::Timestamp;
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::val::{Kind, Val};

/// The library of times.
pub const TIMES: Library = Library { name: "times", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("time.now", &[], Kind::Timestamp, |_, call| {
            let now = call.inputs().now.ok_or_else(|| {
                Failure::value("`time.now` is not known here: the caller has to give the present moment")
            })?;
            let now = Timestamp::new(now).ok_or_else(|| Failure::value("timestamp overflow"))?;
            Ok(Val::Timestamp(now))
        })
        .help("the present moment"),
    );
    functions.add(
        Overload::function(
            "time.truncate",
            &[Kind::Timestamp, Kind::Duration],
            Kind::Timestamp,
            |arguments, _| {
                let [Val::Timestamp(time), Val::Duration(step)] = arguments else {
                    return Err(Failure::mismatch());
                };
                Ok(Val::Timestamp(truncated(*time, step.nanoseconds())))
            },
        )
        .help("a time cut to a multiple of a duration, counted from the start of year 1"),
    );
    functions.add(
        Overload::function("time.toCron", &[Kind::Timestamp], Kind::String, |arguments, _| {
            let [Val::Timestamp(time)] = arguments else { return Err(Failure::mismatch()) };
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
fn truncated(time: Timestamp, step: i64) -> Timestamp {
    if step <= 0 {
        return time;
    }
    let since = time.nanoseconds() - Timestamp::ZERO.nanoseconds();
    time.at(time.nanoseconds() - since.rem_euclid(i128::from(step))).unwrap_or(time)
}
