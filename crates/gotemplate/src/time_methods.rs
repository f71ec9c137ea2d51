//! The methods of Go's `time.Time` that templates may call.

use kubewright_golib::time::{DAYS, MONTHS, Time};

use super::item::{Item, Width};

/// Calls a method of Go's `time.Time`; nothing when it is not one we know.
pub(super) fn call_method(time: &Time, name: &str, arguments: &[Item]) -> Option<Result<Item, String>> {
    let civil = time.civil();
    let number = |value: u32| Item::int(i64::from(value));
    let item = match (name, arguments) {
        ("Format", [Item::Text(layout)]) => Item::text(time.format(layout)),
        ("Format", _) => return Some(Err("wrong number of args for Format: want 1 got 0".to_owned())),
        ("String", []) => Item::text(time.to_string()),
        ("Year", []) => Item::int(civil.year),
        ("Month", []) => Item::text(MONTHS.get(civil.month as usize - 1).copied().unwrap_or_default()),
        ("Weekday", []) => Item::text(DAYS.get(civil.weekday as usize).copied().unwrap_or_default()),
        ("Day", []) => number(civil.day),
        ("Hour", []) => number(civil.hour),
        ("Minute", []) => number(civil.minute),
        ("Second", []) => number(civil.second),
        ("Nanosecond", []) => number(civil.nanosecond),
        ("YearDay", []) => number(civil.day_of_year),
        ("Unix", []) => Item::int64(time.unix()),
        ("UnixMilli", []) => {
            Item::int64(i64::try_from(time.nanoseconds.div_euclid(1_000_000)).unwrap_or(i64::MAX))
        }
        ("UnixNano", []) => Item::Int(Width::Int64, i64::try_from(time.nanoseconds).unwrap_or(i64::MAX)),
        ("IsZero", []) => Item::Bool(time.nanoseconds == Time::zero().nanoseconds),
        ("UTC" | "Local", []) => Item::Time(Time::utc(time.nanoseconds)),
        ("Equal", [Item::Time(other)]) => Item::Bool(time.nanoseconds == other.nanoseconds),
        ("Before", [Item::Time(other)]) => Item::Bool(time.nanoseconds < other.nanoseconds),
        ("After", [Item::Time(other)]) => Item::Bool(time.nanoseconds > other.nanoseconds),
        _ => return None,
    };
    Some(Ok(item))
}
