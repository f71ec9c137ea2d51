//! Dates in the layouts that `date()` knows, as Go prints a time.
//!
//! No clock and no local time zone are read: a date without a zone is UTC. A date is only
//! good for comparing, and dates in one zone compare as their texts do.

/// Returns `text` as `2020-01-31 12:30:00 +0000 UTC`, if it is a date.
pub(super) fn parse_date(text: &str) -> Option<String> {
    let time =
        parse_iso_date(text).or_else(|| parse_spelled_date(text)).or_else(|| parse_kitchen_time(text))?;
    time.is_valid().then(|| time.print())
}

#[derive(Debug, Default)]
struct DateReader {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    /// The digits after the point of the second.
    fraction: String,
    zone: DateZone,
}

#[derive(Debug, Default)]
enum DateZone {
    #[default]
    Utc,
    /// Such as `+0200`.
    Offset(String),
    /// An abbreviation, whose offset is not defined.
    Named(String),
}

impl DateReader {
    fn is_valid(&self) -> bool {
        let days = match self.month {
            2 if self.year.is_multiple_of(4)
                && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400)) =>
            {
                29
            }
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        };
        (1..=days).contains(&self.day) && self.hour < 24 && self.minute < 60 && self.second < 60
    }

    fn print(&self) -> String {
        let Self { year, month, day, hour, minute, second, .. } = self;
        let fraction = self.fraction.get(..9).unwrap_or(&self.fraction).trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        let zone = match &self.zone {
            DateZone::Utc => "+0000 UTC".to_owned(),
            DateZone::Offset(offset) => format!("{offset} {offset}"),
            DateZone::Named(name) => format!("+0000 {name}"),
        };
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{point}{fraction} {zone}")
    }
}

/// Reads `2006-01-02`, with a time after `T` or a space and a zone after that.
fn parse_iso_date(text: &str) -> Option<DateReader> {
    let mut rest = text;
    let mut time = DateReader { year: take_number(&mut rest, 4)?, ..DateReader::default() };
    take_text(&mut rest, "-")?;
    time.month = take_number(&mut rest, 2)?;
    take_text(&mut rest, "-")?;
    time.day = take_number(&mut rest, 2)?;
    if rest.is_empty() {
        return Some(time);
    }
    let has_t = take_text(&mut rest, "T").is_some();
    if !has_t {
        take_text(&mut rest, " ")?;
    }
    time.hour = take_number(&mut rest, 2)?;
    let has_minute = take_text(&mut rest, ":").is_some();
    let mut has_second = false;
    if has_minute {
        time.minute = take_number(&mut rest, 2)?;
        has_second = take_text(&mut rest, ":").is_some();
    }
    if has_second {
        clock_second(&mut time, &mut rest)?;
    }
    match (has_t, rest) {
        // With a `T` there is a zone; with a space there may be one after the seconds.
        (true, rest) => time.zone = parse_zone(rest)?,
        (false, "") if has_minute => {}
        (false, rest) => time.zone = parse_zone(rest).filter(|_| has_second && rest.contains(':'))?,
    }
    Some(time)
}

fn clock_second(time: &mut DateReader, rest: &mut &str) -> Option<()> {
    time.second = take_number(rest, 2)?;
    if take_text(rest, ".").is_some() || take_text(rest, ",").is_some() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, tail) = rest.split_at_checked(end)?;
        (!digits.is_empty()).then_some(())?;
        digits.clone_into(&mut time.fraction);
        *rest = tail;
    }
    Some(())
}

/// Reads `Z`, `+02:00` or `+0200`.
fn parse_zone(text: &str) -> Option<DateZone> {
    if text == "Z" {
        return Some(DateZone::Utc);
    }
    let mut rest = text.strip_prefix(['+', '-'])?;
    let hour = take_number(&mut rest, 2)?;
    let _ = take_text(&mut rest, ":");
    let minute = take_number(&mut rest, 2)?;
    (rest.is_empty() && hour <= 24 && minute < 60).then_some(())?;
    let sign = text.get(..1)?;
    Some(if hour == 0 && minute == 0 {
        DateZone::Utc
    } else {
        DateZone::Offset(format!("{sign}{hour:02}{minute:02}"))
    })
}

/// Reads `Mon Jan _2 15:04:05 2006`, with a zone before the year or without.
fn parse_spelled_date(text: &str) -> Option<DateReader> {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (day_name, month, day, clock, zone_name, mut year) = match *words.as_slice() {
        [name, month, day, clock, year] => (name, month, day, clock, None, year),
        [name, month, day, clock, zone, year] => (name, month, day, clock, Some(zone), year),
        _ => return None,
    };
    DAYS.iter().find(|name| name.eq_ignore_ascii_case(day_name))?;
    let month = MONTHS.iter().zip(1..).find(|(name, _)| name.eq_ignore_ascii_case(month))?.1;
    let mut time = DateReader {
        month,
        day: day.parse().ok()?,
        year: take_number(&mut year, 4)?,
        ..DateReader::default()
    };
    let mut rest = clock;
    time.hour = take_number(&mut rest, 2)?;
    take_text(&mut rest, ":")?;
    time.minute = take_number(&mut rest, 2)?;
    take_text(&mut rest, ":")?;
    clock_second(&mut time, &mut rest)?;
    time.zone = match zone_name {
        None | Some("UTC") => DateZone::Utc,
        Some(name) if name.bytes().all(|c| c.is_ascii_uppercase()) => DateZone::Named(name.to_owned()),
        Some(offset) => parse_zone(offset)?,
    };
    (rest.is_empty() && year.is_empty()).then_some(time)
}

/// Reads `3:04PM`, a time of no particular day.
fn parse_kitchen_time(text: &str) -> Option<DateReader> {
    let afternoon = text.ends_with("PM");
    let clock = text.strip_suffix("PM").or_else(|| text.strip_suffix("AM"))?;
    let (hour, mut minute) = clock.split_once(':')?;
    let mut hour: u32 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    hour = hour % 12 + if afternoon { 12 } else { 0 };
    let time =
        DateReader { month: 1, day: 1, hour, minute: take_number(&mut minute, 2)?, ..DateReader::default() };
    minute.is_empty().then_some(time)
}

fn take_number(rest: &mut &str, length: usize) -> Option<u32> {
    let (digits, tail) = rest.split_at_checked(length)?;
    digits.bytes().all(|c| c.is_ascii_digit()).then_some(())?;
    *rest = tail;
    digits.parse().ok()
}

fn take_text(rest: &mut &str, text: &str) -> Option<()> {
    *rest = rest.strip_prefix(text)?;
    Some(())
}
