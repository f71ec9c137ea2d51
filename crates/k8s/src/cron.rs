//! Cron schedules as Kubernetes reads them: five fields, or a word such as `@daily`, always in UTC.
//!
//! A schedule is data: the next time is computed from a time that the caller gives, so no clock is read here.

use std::fmt;

use kubewright_value::Text;
use kubewright_value::duration::Duration;

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronSchedule {
    /// As it is written.
    text: Text,
    times: CronTimes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CronTimes {
    Fields(CronFields),
    /// `@every`, in seconds.
    Every(i64),
}

/// The admitted values of each field, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CronFields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    // A day counts when one of both lists names it, unless one of them is `*`: then the other alone decides.
    is_any_day: bool,
    is_any_weekday: bool,
}

/// A field of a schedule: its name, its smallest and largest value, and words for values.
struct CronField {
    name: &'static str,
    first: u32,
    last: u32,
    words: &'static [&'static str],
}

const MINUTE: CronField = CronField { name: "minute", first: 0, last: 59, words: &[] };
const HOUR: CronField = CronField { name: "hour", first: 0, last: 23, words: &[] };
const DAY: CronField = CronField { name: "day of the month", first: 1, last: 31, words: &[] };
const MONTH: CronField = CronField {
    name: "month",
    first: 1,
    last: 12,
    words: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const WEEKDAY: CronField = CronField {
    name: "day of the week",
    first: 0,
    last: 6,
    words: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

/// Words for whole schedules.
const DESCRIPTORS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const SECONDS_OF_MINUTE: i64 = 60;
const MINUTES_OF_DAY: i64 = 24 * 60;

/// How many days are searched: the longest time between two 29ths of February is eight years.
const MAX_SEARCHED_DAYS: i64 = 8 * 366;

impl CronSchedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// When it is none, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written = text.trim();
        let times = match written.strip_prefix("@every ") {
            Some(duration) => CronTimes::Every(parse_interval(duration.trim())?),
            None => CronTimes::Fields(parse_fields(written)?),
        };
        Ok(Self { text: written.into(), times })
    }

    /// Returns the first time after `time`, both in seconds since 1970; nothing where no such time comes.
    #[must_use]
    pub fn next_after(&self, time: i64) -> Option<i64> {
        match &self.times {
            CronTimes::Every(seconds) => time.checked_add(*seconds),
            CronTimes::Fields(fields) => fields.next_after(time),
        }
    }

    /// Returns the schedule as it is written.
    #[must_use]
    pub fn text(&self) -> &Text {
        &self.text
    }
}

impl fmt::Display for CronSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl CronFields {
    fn next_after(&self, time: i64) -> Option<i64> {
        let start = time.div_euclid(SECONDS_OF_MINUTE).checked_add(1)?;
        let first_day = start.div_euclid(MINUTES_OF_DAY);
        for day in first_day..first_day.checked_add(MAX_SEARCHED_DAYS)? {
            if !self.has_day(day) {
                continue;
            }
            let from = if day == first_day { start.rem_euclid(MINUTES_OF_DAY) } else { 0 };
            if let Some(minute) = self.minute_of_day(from) {
                return day.checked_mul(MINUTES_OF_DAY)?.checked_add(minute)?.checked_mul(SECONDS_OF_MINUTE);
            }
        }
        None
    }

    /// Returns the first minute of a day that is one, and not before `from`.
    fn minute_of_day(&self, from: i64) -> Option<i64> {
        let is_one = |minute: &i64| has_bit(self.hours, minute / 60) && has_bit(self.minutes, minute % 60);
        (from..MINUTES_OF_DAY).find(is_one)
    }

    fn has_day(&self, days: i64) -> bool {
        let (month, day) = month_and_day(days);
        // 1970-01-01 was a Thursday.
        let weekday = (days + 4).rem_euclid(7);
        let (is_day, is_weekday) = (has_bit(self.days, day), has_bit(self.weekdays, weekday));
        let fits = match self.is_any_day || self.is_any_weekday {
            true => is_day && is_weekday,
            false => is_day || is_weekday,
        };
        fits && has_bit(self.months, month)
    }
}

fn has_bit(bits: u64, number: i64) -> bool {
    u32::try_from(number).is_ok_and(|number| bits.checked_shr(number).is_some_and(|rest| rest & 1 == 1))
}

/// Returns the month and the day of a day that is counted from 1970-01-01 on.
fn month_and_day(days: i64) -> (i64, i64) {
    // Years that start in March end with the leap day, in cycles of 400 years.
    let day_of_cycle = (days + 719_468).rem_euclid(146_097);
    let year = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    (if month < 10 { month + 3 } else { month - 9 }, day_of_year - (153 * month + 2) / 5 + 1)
}

fn parse_interval(text: &str) -> Result<i64, String> {
    let wrong = || format!("`@every {text}` is not a length of time such as `@every 1h30m`");
    let seconds = Duration::parse(text).map_err(|_| wrong())?.nanoseconds() / 1_000_000_000;
    if seconds < 1 { Err(wrong()) } else { Ok(seconds) }
}

fn parse_fields(text: &str) -> Result<CronFields, String> {
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        return Err("a schedule has no time zone: times are in UTC".to_owned());
    }
    let fields = match text.starts_with('@') {
        true => DESCRIPTORS.iter().find(|(word, _)| *word == text).map(|(_, fields)| *fields).ok_or_else(
            || {
                let known: Vec<String> = DESCRIPTORS.iter().map(|(word, _)| format!("`{word}`")).collect();
                format!("`{text}` is not one of {}, `@every …`", known.join(", "))
            },
        )?,
        false => text,
    };
    let parts: Vec<&str> = fields.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = parts.as_slice() else {
        let found = parts.len();
        return Err(format!("a schedule has 5 fields (minute, hour, day, month, weekday), found {found}"));
    };
    Ok(CronFields {
        minutes: parse_field(minute, &MINUTE)?,
        hours: parse_field(hour, &HOUR)?,
        days: parse_field(day, &DAY)?,
        months: parse_field(month, &MONTH)?,
        weekdays: parse_field(weekday, &WEEKDAY)?,
        is_any_day: is_star(day),
        is_any_weekday: is_star(weekday),
    })
}

fn is_star(field: &str) -> bool {
    field.split(',').any(|part| part == "*" || part == "?")
}

fn parse_field(text: &str, field: &CronField) -> Result<u64, String> {
    text.split(',').try_fold(0, |bits, part| Ok(bits | parse_range(part, field)?))
}

/// Reads `*`, `5`, `1-5`, `*/15`, `1-30/5` or `5/15`.
fn parse_range(text: &str, field: &CronField) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a {} from {} to {}", field.name, field.first, field.last);
    let (range, step) = text.split_once('/').map_or((text, None), |(range, step)| (range, Some(step)));
    let (first, last) = match range {
        "*" | "?" => (field.first, field.last),
        range => match range.split_once('-') {
            Some((first, last)) => (field.value(first)?, field.value(last)?),
            // `5/15` means from 5 on.
            None if step.is_some() => (field.value(range)?, field.last),
            None => (field.value(range)?, field.value(range)?),
        },
    };
    let step = match step {
        Some(step) => step.parse::<u32>().ok().filter(|step| *step > 0).ok_or_else(wrong)?,
        None => 1,
    };
    if first < field.first || last > field.last || first > last {
        return Err(wrong());
    }
    let numbers = (first..=last).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    Ok(numbers.fold(0, |bits, number| bits | 1_u64.checked_shl(number).unwrap_or_default()))
}

impl CronField {
    fn value(&self, text: &str) -> Result<u32, String> {
        let word = self.words.iter().position(|word| word.eq_ignore_ascii_case(text));
        let number = match word {
            Some(place) => u32::try_from(place).ok().and_then(|place| place.checked_add(self.first)),
            None => text.parse().ok(),
        };
        number.ok_or_else(|| format!("`{text}` is not a {}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-16T23:24:14Z, a Monday.
    const NOW: i64 = 1_794_871_454;

    #[track_caller]
    fn next(schedule: &str, want: i64) {
        let found = CronSchedule::parse(schedule).expect(schedule).next_after(NOW);
        assert_eq!(found, Some(want), "{schedule}");
    }

    #[track_caller]
    fn wrong(schedule: &str, want: &str) {
        let found = CronSchedule::parse(schedule).expect_err(schedule);
        assert!(found.contains(want), "{schedule}: {found}");
    }

    #[test]
    fn next_time_follows_the_five_fields() {
        next("* * * * *", 1_794_871_500);
        next("*/5 * * * *", 1_794_871_500);
        next("30 * * * *", 1_794_871_800);
        next("0 1 * * *", 1_794_877_200);
        next("0 0 1 * *", 1_796_083_200);
        next("0 0 1 JAN *", 1_798_761_600);
        next("15,45 22-23 * * *", 1_794_872_700);
        next("10/20 * * * *", 1_794_871_800);
    }

    #[test]
    fn next_time_is_on_the_named_weekday() {
        next("0 0 * * tue", 1_794_873_600);
        next("0 0 * * 0", 1_795_305_600);
        // Either the 20th or a Tuesday.
        next("0 0 20 * 2", 1_794_873_600);
        // Either an odd day or a Wednesday: a star with a step is a list.
        next("0 0 */2 * 3", 1_794_873_600);
        next("0 0 * * 3", 1_794_960_000);
    }

    #[test]
    fn next_time_knows_leap_years_and_days_that_never_come() {
        next("0 0 29 2 *", 1_835_395_200);
        assert_eq!(CronSchedule::parse("0 0 31 2 *").expect("schedule").next_after(NOW), None);
    }

    #[test]
    fn words_stand_for_schedules() {
        next("@hourly", 1_794_873_600);
        next("@daily", 1_794_873_600);
        next("@yearly", 1_798_761_600);
        next("@every 1h30m", NOW + 5_400);
    }

    #[test]
    fn schedules_that_are_none_are_refused_with_the_reason() {
        wrong("", "found 0");
        wrong("* * * *", "found 4");
        wrong("* * * * * *", "found 6");
        wrong("60 * * * *", "`60` is not a minute from 0 to 59");
        wrong("* * 0 * *", "`0` is not a day of the month from 1 to 31");
        wrong("* * * * 7", "`7` is not a day of the week");
        wrong("*/0 * * * *", "`*/0` is not a minute");
        wrong("9-3 * * * *", "`9-3` is not a minute");
        wrong("x * * * *", "`x` is not a minute");
        wrong("@fortnightly", "`@fortnightly` is not one of");
        wrong("@every never", "is not a length of time");
        wrong("TZ=Europe/Berlin * * * * *", "times are in UTC");
    }
}
