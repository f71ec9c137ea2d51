//! The standard functions of timestamps and durations.

use kubewright_golib::time::CivilDate;

use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// Adds one method for each part of a date. A function pointer cannot capture which part it reads.
macro_rules! parts {
    ($functions:ident: $($name:literal $help:literal = $read:expr;)*) => {$(
        for parameters in [&[CelKind::Timestamp][..], &[CelKind::Timestamp, CelKind::String]] {
            $functions.add(
                CelOverload::method($name, parameters, CelKind::Int, |arguments, _| timestamp_part(arguments, $read)).help($help),
            );
        }
    )*};
}

pub(super) fn add_standard_time_functions(functions: &mut CelFunctions) {
    parts! { functions:
        "getFullYear" "the year" = |civil| civil.year;
        "getMonth" "the month, January is 0" = |civil| i64::from(civil.month) - 1;
        "getDate" "the day of the month, the first is 1" = |civil| i64::from(civil.day);
        "getDayOfMonth" "the day of the month, the first is 0" = |civil| i64::from(civil.day) - 1;
        "getDayOfWeek" "the day of the week, Sunday is 0" = |civil| i64::from(civil.weekday);
        "getDayOfYear" "the day of the year, the first is 0" = |civil| i64::from(civil.day_of_year) - 1;
        "getHours" "the hour" = |civil| i64::from(civil.hour);
        "getMinutes" "the minute" = |civil| i64::from(civil.minute);
        "getSeconds" "the second" = |civil| i64::from(civil.second);
        "getMilliseconds" "the millisecond" = |civil| i64::from(civil.nanosecond / 1_000_000);
    }
    let length = &[CelKind::Duration];
    functions.add(
        CelOverload::method("getHours", length, CelKind::Int, |arguments, _| {
            duration_in_units(arguments, 3_600_000_000_000)
        })
        .help("the whole hours of a duration"),
    );
    functions.add(
        CelOverload::method("getMinutes", length, CelKind::Int, |arguments, _| {
            duration_in_units(arguments, 60_000_000_000)
        })
        .help("the whole minutes of a duration"),
    );
    functions.add(
        CelOverload::method("getSeconds", length, CelKind::Int, |arguments, _| {
            duration_in_units(arguments, 1_000_000_000)
        })
        .help("the whole seconds of a duration"),
    );
    functions.add(
        CelOverload::method("getMilliseconds", length, CelKind::Int, |arguments, _| match arguments {
            [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds() / 1_000_000 % 1000)),
            _ => Err(CelFailure::mismatch()),
        })
        .help("the milliseconds of the last second of a duration"),
    );
}

fn timestamp_part<'a>(arguments: &[Val<'a>], read: fn(&CivilDate) -> i64) -> Result<Val<'a>, CelFailure> {
    let (time, zone) = match arguments {
        [Val::Timestamp(time)] => (time, "UTC"),
        [Val::Timestamp(time), Val::String(zone)] => (time, zone.as_str()),
        _ => return Err(CelFailure::mismatch()),
    };
    time.civil(zone).map(|civil| Val::Int(read(&civil))).map_err(CelFailure::value)
}

fn duration_in_units<'a>(arguments: &[Val<'a>], unit: i64) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds() / unit)),
        _ => Err(CelFailure::mismatch()),
    }
}
