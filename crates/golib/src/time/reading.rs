//! Text to a point in time by a Go layout.

use kubewright_value::Text;

use super::layout::{DAYS, LayoutPart, MONTHS, next_part};
use super::{DAY, GoTime, SECOND, days_from_civil};

/// Reads `text` by `layout`.
///
/// # Errors
/// When a part does not fit; it says which.
pub fn parse_time(layout: &str, text: &str) -> Result<GoTime, String> {
    let mut fields = TimeFields::default();
    let mut rest = layout;
    let mut value = text;
    let problem = |value: &str, part: &str| {
        format!("parsing time {text:?} as {layout:?}: cannot parse {value:?} as {part:?}")
    };
    loop {
        let (before, part, after) = next_part(rest);
        value = skip_literal(value, before).ok_or_else(|| problem(value, before))?;
        let Some(part) = part else {
            if !value.is_empty() {
                return Err(format!("parsing time {text:?}: extra text: {value:?}"));
            }
            return fields.time().ok_or_else(|| format!("parsing time {text:?}: day out of range"));
        };
        let name = rest.get(before.len()..rest.len() - after.len()).unwrap_or_default();
        value = fields.read(part, value, after).ok_or_else(|| problem(value, name))?;
        rest = after;
    }
}

/// Skips the literal part of a layout; a space in it matches any number of spaces.
fn skip_literal<'t>(mut value: &'t str, mut prefix: &str) -> Option<&'t str> {
    while let Some(c) = prefix.chars().next() {
        if c == ' ' {
            if !value.is_empty() && !value.starts_with(' ') {
                return None;
            }
            prefix = prefix.trim_start_matches(' ');
            value = value.trim_start_matches(' ');
            continue;
        }
        value = value.strip_prefix(c)?;
        prefix = prefix.strip_prefix(c)?;
    }
    Some(value)
}

#[derive(Default)]
struct TimeFields {
    year: i64,
    month: Option<u32>,
    day: Option<u32>,
    day_of_year: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    is_pm: Option<bool>,
    offset: Option<i32>,
    zone: Option<Text>,
}

impl TimeFields {
    /// Takes `part` from the start of `value`; returns what is left.
    fn read<'t>(&mut self, part: LayoutPart, value: &'t str, layout_after: &str) -> Option<&'t str> {
        match part {
            LayoutPart::LongYear => {
                let (digits, rest) = split_at_byte(value, 4)?;
                self.year = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
                Some(rest)
            }
            LayoutPart::Year => {
                let (digits, rest) = split_at_byte(value, 2)?;
                let year: i64 = digits.parse().ok()?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
                Some(rest)
            }
            LayoutPart::Month => self.name(value, &MONTHS, true).map(|(month, rest)| {
                self.month = Some(month + 1);
                rest
            }),
            LayoutPart::LongMonth => self.name(value, &MONTHS, false).map(|(month, rest)| {
                self.month = Some(month + 1);
                rest
            }),
            LayoutPart::Weekday => self.name(value, &DAYS, true).map(|(_, rest)| rest),
            LayoutPart::LongDay => self.name(value, &DAYS, false).map(|(_, rest)| rest),
            LayoutPart::NumMonth | LayoutPart::ZeroMonth => {
                let (month, rest) = read_two_digits(value, part == LayoutPart::ZeroMonth)?;
                self.month = Some(month).filter(|m| (1..=12).contains(m));
                self.month.map(|_| rest)
            }
            LayoutPart::Day | LayoutPart::UnderDay | LayoutPart::ZeroDay => {
                let value = if part == LayoutPart::UnderDay {
                    value.strip_prefix(' ').unwrap_or(value)
                } else {
                    value
                };
                let (day, rest) = read_two_digits(value, part == LayoutPart::ZeroDay)?;
                self.day = Some(day);
                Some(rest)
            }
            LayoutPart::UnderYearDay | LayoutPart::ZeroYearDay => {
                let (digits, rest) = split_at_byte(value, 3)?;
                self.day_of_year = Some(digits.trim_start_matches(' ').parse().ok()?);
                Some(rest)
            }
            LayoutPart::Hour24 => set_below(read_two_digits(value, false)?, 24, &mut self.hour),
            LayoutPart::Hour12 | LayoutPart::ZeroHour12 => {
                set_below(read_two_digits(value, part == LayoutPart::ZeroHour12)?, 13, &mut self.hour)
            }
            LayoutPart::Minute | LayoutPart::ZeroMinute => {
                set_below(read_two_digits(value, part == LayoutPart::ZeroMinute)?, 60, &mut self.minute)
            }
            LayoutPart::Second | LayoutPart::ZeroSecond => {
                let rest =
                    set_below(read_two_digits(value, part == LayoutPart::ZeroSecond)?, 60, &mut self.second)?;
                let expects = matches!(next_part(layout_after), ("", Some(LayoutPart::Fraction { .. }), _));
                let is_fraction = rest.starts_with(['.', ','])
                    && rest.get(1..).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
                if expects || !is_fraction { Some(rest) } else { self.fraction(rest, None) }
            }
            LayoutPart::UpperPm | LayoutPart::LowerPm => {
                let (mark, rest) = split_at_byte(value, 2)?;
                self.is_pm = match (part, mark) {
                    (LayoutPart::UpperPm, "PM") | (LayoutPart::LowerPm, "pm") => Some(true),
                    (LayoutPart::UpperPm, "AM") | (LayoutPart::LowerPm, "am") => Some(false),
                    _ => return None,
                };
                Some(rest)
            }
            LayoutPart::Fraction { nines: true, .. } => {
                let has = value.starts_with(['.', ','])
                    && value.get(1..).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
                if has { self.fraction(value, None) } else { Some(value) }
            }
            LayoutPart::Fraction { digits, nines: false } => self.fraction(value, Some(digits)),
            LayoutPart::Offset { z: true, .. } if value.starts_with('Z') => {
                self.offset = Some(0);
                value.strip_prefix('Z')
            }
            LayoutPart::Offset { colon, units, .. } => self.read_offset(value, colon, units),
            LayoutPart::ZoneName => self.zone_name(value),
        }
    }

    fn name<'t>(&self, value: &'t str, names: &[&str], short: bool) -> Option<(u32, &'t str)> {
        names.iter().enumerate().find_map(|(i, name)| {
            let name = if short { name.get(..3)? } else { name };
            let (start, rest) = split_at_byte(value, name.len())?;
            start.eq_ignore_ascii_case(name).then(|| (u32::try_from(i).unwrap_or(0), rest))
        })
    }

    fn fraction<'t>(&mut self, value: &'t str, digits: Option<usize>) -> Option<&'t str> {
        let tail = value.strip_prefix(['.', ','])?;
        let end = match digits {
            Some(digits) => digits,
            None => tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len()),
        };
        let (shown, rest) = split_at_byte(tail, end)?;
        let nine: String = shown.chars().chain("000000000".chars()).take(9).collect();
        self.nanosecond = nine.parse().ok()?;
        Some(rest)
    }

    fn read_offset<'t>(&mut self, value: &'t str, colon: bool, units: u8) -> Option<&'t str> {
        let sign = match value.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        let mut rest = value.get(1..)?;
        let mut seconds = 0;
        for unit in 0..units {
            if unit > 0 && colon {
                rest = rest.strip_prefix(':')?;
            }
            let (digits, after) = split_at_byte(rest, 2)?;
            let amount: i32 = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
            seconds += amount * [3600, 60, 1].get(usize::from(unit)).copied().unwrap_or(0);
            rest = after;
        }
        self.offset = Some(sign * seconds);
        Some(rest)
    }

    fn zone_name<'t>(&mut self, value: &'t str) -> Option<&'t str> {
        let length = value.bytes().take_while(u8::is_ascii_uppercase).count();
        if value.starts_with("UTC") {
            self.offset = self.offset.or(Some(0));
            return value.get(3..);
        }
        if !(3..=5).contains(&length) {
            return None;
        }
        let (name, rest) = split_at_byte(value, length)?;
        self.zone = Some(Text::new(name));
        Some(rest)
    }

    fn time(&self) -> Option<GoTime> {
        let hour = match self.is_pm {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let (month, day) = match self.day_of_year {
            Some(day) => (1, day),
            None => (self.month.unwrap_or(1), self.day.unwrap_or(1)),
        };
        let is_leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let last = match month {
            _ if self.day_of_year.is_some() => 365 + u32::from(is_leap),
            2 => 28 + u32::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if day < 1 || day > last {
            return None;
        }
        let start = days_from_civil(self.year, month, 1) + i64::from(day) - 1;
        let clock = i64::from(hour * 3600 + self.minute * 60 + self.second);
        let offset = self.offset.unwrap_or(0);
        let seconds = start * DAY + clock - i64::from(offset);
        let zone = match (&self.offset, &self.zone) {
            (Some(0) | None, None) => Text::new_static("UTC"),
            (_, Some(zone)) => zone.clone(),
            (Some(_), None) => Text::default(),
        };
        Some(GoTime { nanoseconds: i128::from(seconds) * SECOND + i128::from(self.nanosecond), offset, zone })
    }
}

/// Reads one or two digits; exactly two when `fixed`.
fn read_two_digits(value: &str, fixed: bool) -> Option<(u32, &str)> {
    let digits = value.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if digits == 0 || (fixed && digits < 2) {
        return None;
    }
    let (shown, rest) = split_at_byte(value, digits)?;
    Some((shown.parse().ok()?, rest))
}

fn set_below<'t>((value, rest): (u32, &'t str), limit: u32, field: &mut u32) -> Option<&'t str> {
    *field = value;
    (value < limit).then_some(rest)
}

fn split_at_byte(value: &str, at: usize) -> Option<(&str, &str)> {
    value.split_at_checked(at)
}
