//! Go's layouts: a layout is the reference time, Mon Jan 2 15:04:05 MST 2006, written the wanted way.

use std::fmt::Write as _;

use super::GoTime;

/// The names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The names of the days of the week, Sunday first.
pub const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A part of a layout, such as the year or the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayoutPart {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongDay,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour24,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    /// An offset: `Z` for UTC allowed, colons, and how many of hours, minutes, seconds.
    Offset {
        z: bool,
        colon: bool,
        units: u8,
    },
    /// A fraction of `digits`; trailing zeros are cut when `nines`.
    Fraction {
        digits: usize,
        nines: bool,
    },
}

/// Names that are tried first where they start alike.
const PARTS: [(&str, LayoutPart); 33] = [
    ("January", LayoutPart::LongMonth),
    ("Jan", LayoutPart::Month),
    ("Monday", LayoutPart::LongDay),
    ("Mon", LayoutPart::Weekday),
    ("MST", LayoutPart::ZoneName),
    ("002", LayoutPart::ZeroYearDay),
    ("01", LayoutPart::ZeroMonth),
    ("02", LayoutPart::ZeroDay),
    ("03", LayoutPart::ZeroHour12),
    ("04", LayoutPart::ZeroMinute),
    ("05", LayoutPart::ZeroSecond),
    ("06", LayoutPart::Year),
    ("15", LayoutPart::Hour24),
    ("1", LayoutPart::NumMonth),
    ("2006", LayoutPart::LongYear),
    ("2", LayoutPart::Day),
    ("__2", LayoutPart::UnderYearDay),
    ("_2", LayoutPart::UnderDay),
    ("3", LayoutPart::Hour12),
    ("4", LayoutPart::Minute),
    ("5", LayoutPart::Second),
    ("PM", LayoutPart::UpperPm),
    ("pm", LayoutPart::LowerPm),
    ("-07:00:00", LayoutPart::Offset { z: false, colon: true, units: 3 }),
    ("-070000", LayoutPart::Offset { z: false, colon: false, units: 3 }),
    ("-07:00", LayoutPart::Offset { z: false, colon: true, units: 2 }),
    ("-0700", LayoutPart::Offset { z: false, colon: false, units: 2 }),
    ("-07", LayoutPart::Offset { z: false, colon: false, units: 1 }),
    ("Z07:00:00", LayoutPart::Offset { z: true, colon: true, units: 3 }),
    ("Z070000", LayoutPart::Offset { z: true, colon: false, units: 3 }),
    ("Z07:00", LayoutPart::Offset { z: true, colon: true, units: 2 }),
    ("Z0700", LayoutPart::Offset { z: true, colon: false, units: 2 }),
    ("Z07", LayoutPart::Offset { z: true, colon: false, units: 1 }),
];

/// Splits a layout at its first part: the text before, the part, the layout after it.
pub(super) fn next_part(layout: &str) -> (&str, Option<LayoutPart>, &str) {
    for (at, _) in layout.char_indices() {
        let (before, rest) = layout.split_at(at);
        // `_2006` is an underscore and a year.
        if rest.starts_with("_2006") {
            continue;
        }
        if let Some(found) = fraction_part(rest) {
            return (before, Some(found.0), found.1);
        }
        for (name, part) in PARTS {
            let Some(after) = rest.strip_prefix(name) else { continue };
            let is_longer_word = matches!(part, LayoutPart::Month | LayoutPart::Weekday)
                && after.starts_with(|c: char| c.is_ascii_lowercase());
            if !is_longer_word {
                return (before, Some(part), after);
            }
        }
    }
    (layout, None, "")
}

fn fraction_part(text: &str) -> Option<(LayoutPart, &str)> {
    let digits = text.strip_prefix(['.', ','])?;
    let kind = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let after = digits.trim_start_matches(kind);
    if after.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some((LayoutPart::Fraction { digits: digits.len() - after.len(), nines: kind == '9' }, after))
}

/// Writes `time` by `layout`.
pub(super) fn format_time(time: &GoTime, layout: &str) -> String {
    let mut out = String::with_capacity(layout.len() + 8);
    let mut rest = layout;
    loop {
        let (before, part, after) = next_part(rest);
        out.push_str(before);
        let Some(part) = part else {
            return out;
        };
        // The separator of a fraction is written as the layout has it.
        let separator = rest.get(before.len()..).and_then(|r| r.chars().next()).unwrap_or('.');
        write_part(&mut out, time, part, separator);
        rest = after;
    }
}

fn write_part(out: &mut String, time: &GoTime, part: LayoutPart, separator: char) {
    let civil = time.civil();
    let month = MONTHS.get(civil.month as usize - 1).copied().unwrap_or_default();
    let weekday = DAYS.get(civil.weekday as usize).copied().unwrap_or_default();
    let hour12 = (civil.hour + 11) % 12 + 1;
    // Writing to a string cannot fail.
    let _ = match part {
        LayoutPart::LongMonth => out.write_str(month),
        LayoutPart::Month => out.write_str(month.get(..3).unwrap_or(month)),
        LayoutPart::NumMonth => write!(out, "{}", civil.month),
        LayoutPart::ZeroMonth => write!(out, "{:02}", civil.month),
        LayoutPart::LongDay => out.write_str(weekday),
        LayoutPart::Weekday => out.write_str(weekday.get(..3).unwrap_or(weekday)),
        LayoutPart::Day => write!(out, "{}", civil.day),
        LayoutPart::UnderDay => write!(out, "{:2}", civil.day),
        LayoutPart::ZeroDay => write!(out, "{:02}", civil.day),
        LayoutPart::UnderYearDay => write!(out, "{:3}", civil.day_of_year),
        LayoutPart::ZeroYearDay => write!(out, "{:03}", civil.day_of_year),
        LayoutPart::Hour24 => write!(out, "{:02}", civil.hour),
        LayoutPart::Hour12 => write!(out, "{hour12}"),
        LayoutPart::ZeroHour12 => write!(out, "{hour12:02}"),
        LayoutPart::Minute => write!(out, "{}", civil.minute),
        LayoutPart::ZeroMinute => write!(out, "{:02}", civil.minute),
        LayoutPart::Second => write!(out, "{}", civil.second),
        LayoutPart::ZeroSecond => write!(out, "{:02}", civil.second),
        LayoutPart::LongYear if civil.year < 0 => write!(out, "-{:04}", civil.year.unsigned_abs()),
        LayoutPart::LongYear => write!(out, "{:04}", civil.year),
        LayoutPart::Year => write!(out, "{:02}", civil.year.rem_euclid(100)),
        LayoutPart::UpperPm => out.write_str(if civil.hour >= 12 { "PM" } else { "AM" }),
        LayoutPart::LowerPm => out.write_str(if civil.hour >= 12 { "pm" } else { "am" }),
        LayoutPart::ZoneName if time.zone.is_empty() => {
            write_offset(out, time.offset, false, 2);
            Ok(())
        }
        LayoutPart::ZoneName => out.write_str(&time.zone),
        LayoutPart::Offset { z: true, .. } if time.offset == 0 => out.write_str("Z"),
        LayoutPart::Offset { colon, units, .. } => {
            write_offset(out, time.offset, colon, units);
            Ok(())
        }
        LayoutPart::Fraction { digits, nines } => {
            let known = format!("{:09}", civil.nanosecond);
            let shown: String = known.chars().chain(std::iter::repeat('0')).take(digits).collect();
            let shown = if nines { shown.trim_end_matches('0') } else { &shown };
            if shown.is_empty() { Ok(()) } else { write!(out, "{separator}{shown}") }
        }
    };
}

fn write_offset(out: &mut String, offset: i32, colon: bool, units: u8) {
    let size = offset.unsigned_abs();
    let between = if colon { ":" } else { "" };
    let _ = write!(out, "{}{:02}", if offset < 0 { '-' } else { '+' }, size / 3600);
    if units > 1 {
        let _ = write!(out, "{between}{:02}", size / 60 % 60);
    }
    if units > 2 {
        let _ = write!(out, "{between}{:02}", size % 60);
    }
}
