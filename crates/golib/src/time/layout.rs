//! Go's layouts: a layout is the reference time, Mon Jan 2 15:04:05 MST 2006, written the wanted way.

use std::fmt::Write as _;

use super::Time;

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

/// A part of a layout that stands for a part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
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
const PARTS: [(&str, Part); 34] = [
    ("January", Part::LongMonth),
    ("Jan", Part::Month),
    ("Monday", Part::LongDay),
    ("Mon", Part::Weekday),
    ("MST", Part::ZoneName),
    ("002", Part::ZeroYearDay),
    ("01", Part::ZeroMonth),
    ("02", Part::ZeroDay),
    ("03", Part::ZeroHour12),
    ("04", Part::ZeroMinute),
    ("05", Part::ZeroSecond),
    ("06", Part::Year),
    ("15", Part::Hour24),
    ("1", Part::NumMonth),
    ("2006", Part::LongYear),
    ("2", Part::Day),
    ("__2", Part::UnderYearDay),
    ("_2", Part::UnderDay),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
    ("PM", Part::UpperPm),
    ("pm", Part::LowerPm),
    ("-07:00:00", Part::Offset { z: false, colon: true, units: 3 }),
    ("-070000", Part::Offset { z: false, colon: false, units: 3 }),
    ("-07:00", Part::Offset { z: false, colon: true, units: 2 }),
    ("-0700", Part::Offset { z: false, colon: false, units: 2 }),
    ("-07", Part::Offset { z: false, colon: false, units: 1 }),
    ("Z07:00:00", Part::Offset { z: true, colon: true, units: 3 }),
    ("Z070000", Part::Offset { z: true, colon: false, units: 3 }),
    ("Z07:00", Part::Offset { z: true, colon: true, units: 2 }),
    ("Z0700", Part::Offset { z: true, colon: false, units: 2 }),
    ("Z07", Part::Offset { z: true, colon: false, units: 1 }),
    ("\0", Part::ZoneName),
];

/// Splits a layout at its first part: the text before, the part, the layout after it.
pub(super) fn next_part(layout: &str) -> (&str, Option<Part>, &str) {
    for (at, _) in layout.char_indices() {
        let (before, rest) = layout.split_at(at);
        // `_2006` is an underscore and a year.
        if rest.starts_with("_2006") {
            continue;
        }
        if let Some(found) = fraction(rest) {
            return (before, Some(found.0), found.1);
        }
        for (name, part) in PARTS {
            let Some(after) = rest.strip_prefix(name) else { continue };
            let is_longer_word = matches!(part, Part::Month | Part::Weekday)
                && after.starts_with(|c: char| c.is_ascii_lowercase());
            if !is_longer_word {
                return (before, Some(part), after);
            }
        }
    }
    (layout, None, "")
}

fn fraction(text: &str) -> Option<(Part, &str)> {
    let digits = text.strip_prefix(['.', ','])?;
    let kind = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let after = digits.trim_start_matches(kind);
    if after.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some((Part::Fraction { digits: digits.len() - after.len(), nines: kind == '9' }, after))
}

/// Writes `time` by `layout`.
pub(super) fn format(time: &Time, layout: &str) -> String {
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

fn write_part(out: &mut String, time: &Time, part: Part, separator: char) {
    let civil = time.civil();
    let month = MONTHS.get(civil.month as usize - 1).copied().unwrap_or_default();
    let weekday = DAYS.get(civil.weekday as usize).copied().unwrap_or_default();
    let hour12 = (civil.hour + 11) % 12 + 1;
    // Writing to a string cannot fail.
    let _ = match part {
        Part::LongMonth => out.write_str(month),
        Part::Month => out.write_str(month.get(..3).unwrap_or(month)),
        Part::NumMonth => write!(out, "{}", civil.month),
        Part::ZeroMonth => write!(out, "{:02}", civil.month),
        Part::LongDay => out.write_str(weekday),
        Part::Weekday => out.write_str(weekday.get(..3).unwrap_or(weekday)),
        Part::Day => write!(out, "{}", civil.day),
        Part::UnderDay => write!(out, "{:2}", civil.day),
        Part::ZeroDay => write!(out, "{:02}", civil.day),
        Part::UnderYearDay => write!(out, "{:3}", civil.day_of_year),
        Part::ZeroYearDay => write!(out, "{:03}", civil.day_of_year),
        Part::Hour24 => write!(out, "{:02}", civil.hour),
        Part::Hour12 => write!(out, "{hour12}"),
        Part::ZeroHour12 => write!(out, "{hour12:02}"),
        Part::Minute => write!(out, "{}", civil.minute),
        Part::ZeroMinute => write!(out, "{:02}", civil.minute),
        Part::Second => write!(out, "{}", civil.second),
        Part::ZeroSecond => write!(out, "{:02}", civil.second),
        Part::LongYear if civil.year < 0 => write!(out, "-{:04}", civil.year.unsigned_abs()),
        Part::LongYear => write!(out, "{:04}", civil.year),
        Part::Year => write!(out, "{:02}", civil.year.rem_euclid(100)),
        Part::UpperPm => out.write_str(if civil.hour >= 12 { "PM" } else { "AM" }),
        Part::LowerPm => out.write_str(if civil.hour >= 12 { "pm" } else { "am" }),
        Part::ZoneName if time.zone.is_empty() => {
            write_offset(out, time.offset, false, 2);
            Ok(())
        }
        Part::ZoneName => out.write_str(&time.zone),
        Part::Offset { z: true, .. } if time.offset == 0 => out.write_str("Z"),
        Part::Offset { colon, units, .. } => {
            write_offset(out, time.offset, colon, units);
            Ok(())
        }
        Part::Fraction { digits, nines } => {
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
