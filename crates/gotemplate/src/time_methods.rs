//! The methods of Go's `time.Time` that templates may call.

use kubewright_golib::time::{DAYS, GoTime, MONTHS};

use super::item::{IntegerWidth, TemplateItem};

/// Calls a method of Go's `time.Time`; nothing when it is not one we know.
pub(super) fn call_method(
    time: &GoTime,
    name: &str,
    arguments: &[TemplateItem],
) -> Option<Result<TemplateItem, String>> {
    let civil = time.civil();
    let number = |value: u32| TemplateItem::int(i64::from(value));
    let item = match (name, arguments) {
        ("Format", [TemplateItem::Text(layout)]) => TemplateItem::text(time.format(layout)),
        ("Format", _) => return Some(Err("wrong number of args for Format: want 1 got 0".to_owned())),
        ("String", []) => TemplateItem::text(time.to_string()),
        ("Year", []) => TemplateItem::int(civil.year),
        ("Month", []) => {
            TemplateItem::text(MONTHS.get(civil.month as usize - 1).copied().unwrap_or_default())
        }
        ("Weekday", []) => TemplateItem::text(DAYS.get(civil.weekday as usize).copied().unwrap_or_default()),
        ("Day", []) => number(civil.day),
        ("Hour", []) => number(civil.hour),
        ("Minute", []) => number(civil.minute),
        ("Second", []) => number(civil.second),
        ("Nanosecond", []) => number(civil.nanosecond),
        ("YearDay", []) => number(civil.day_of_year),
        ("Unix", []) => TemplateItem::int64(time.unix()),
        ("UnixMilli", []) => {
            TemplateItem::int64(i64::try_from(time.nanoseconds.div_euclid(1_000_000)).unwrap_or(i64::MAX))
        }
        ("UnixNano", []) => {
            TemplateItem::Int(IntegerWidth::Int64, i64::try_from(time.nanoseconds).unwrap_or(i64::MAX))
        }
        ("IsZero", []) => TemplateItem::Bool(time.nanoseconds == GoTime::zero().nanoseconds),
        ("UTC" | "Local", []) => TemplateItem::Time(GoTime::utc(time.nanoseconds)),
        ("Equal", [TemplateItem::Time(other)]) => TemplateItem::Bool(time.nanoseconds == other.nanoseconds),
        ("Before", [TemplateItem::Time(other)]) => TemplateItem::Bool(time.nanoseconds < other.nanoseconds),
        ("After", [TemplateItem::Time(other)]) => TemplateItem::Bool(time.nanoseconds > other.nanoseconds),
        _ => return None,
    };
    Some(Ok(item))
}
