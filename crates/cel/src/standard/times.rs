//! What calendar and clock show.

use kubewright_golib::time::CivilDate;

use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::val::{Kind, Val};

/// Reads one thing off a calendar or clock, for one method each, since a function captures nothing.
macro_rules! parts {
    ($functions:ident: $($name:literal $help:literal = $read:expr;)*) => {$(
        for parameters in [&[Kind::Timestamp][..], &[Kind::Timestamp, Kind::String]] {
            $functions.add(
                Overload::method($name, parameters, Kind::Int, |arguments, _| civil(arguments, $read)).help($help),
            );
        }
    )*};
}

pub(super) fn add(functions: &mut Functions) {
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
    let length = &[Kind::Duration];
    functions.add(
        Overload::method("getHours", length, Kind::Int, |arguments, _| whole(arguments, 3_600_000_000_000))
            .help("the whole hours of a duration"),
    );
    functions.add(
        Overload::method("getMinutes", length, Kind::Int, |arguments, _| whole(arguments, 60_000_000_000))
            .help("the whole minutes of a duration"),
    );
    functions.add(
        Overload::method("getSeconds", length, Kind::Int, |arguments, _| whole(arguments, 1_000_000_000))
            .help("the whole seconds of a duration"),
    );
    functions.add(
        Overload::method("getMilliseconds", length, Kind::Int, |arguments, _| match arguments {
            [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds() / 1_000_000 % 1000)),
            _ => Err(Failure::mismatch()),
        })
        .help("the milliseconds of the last second of a duration"),
    );
}

fn civil<'a>(arguments: &[Val<'a>], read: fn(&CivilDate) -> i64) -> Result<Val<'a>, Failure> {
    let (time, zone) = match arguments {
        [Val::Timestamp(time)] => (time, "UTC"),
        [Val::Timestamp(time), Val::String(zone)] => (time, zone.as_str()),
        _ => return Err(Failure::mismatch()),
    };
    time.civil(zone).map(|civil| Val::Int(read(&civil))).map_err(Failure::value)
}

fn whole<'a>(arguments: &[Val<'a>], unit: i64) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds() / unit)),
        _ => Err(Failure::mismatch()),
    }
}
