//! Points in time, and Go's way to write and read them.
//!
//! The local time zone is UTC: a rule must not depend on where it runs.

mod duration;
mod layout;
mod reading;

use std::fmt;

use kubewright_value::Text;

pub use duration::{format_duration, parse_duration};
pub use layout::{DAYS, MONTHS};
pub use reading::parse_time;

/// A point in time as seen in a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoTime {
    /// Since 1970, in UTC.
    pub nanoseconds: i128,
    /// East of UTC, in seconds.
    pub offset: i32,
    /// The abbreviation; empty when there is only the offset.
    pub zone: Text,
}

/// The layout of RFC 3339, such as `2026-01-31T12:00:00Z`. A fraction of a second is read as well.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

const SECOND: i128 = 1_000_000_000;
const DAY: i64 = 86_400;

/// The date and time of day that a calendar and a clock show.
#[derive(Debug, Clone, Copy)]
pub struct CivilDate {
    /// The year; 0 is 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 59.
    pub second: u32,
    /// The fraction of the second.
    pub nanosecond: u32,
    /// 0 to 6; Sunday is 0.
    pub weekday: u32,
    /// 1 to 366.
    pub day_of_year: u32,
}

impl GoTime {
    /// Returns the time that many nanoseconds after 1970, in UTC.
    #[must_use]
    pub fn utc(nanoseconds: i128) -> Self {
        Self { nanoseconds, offset: 0, zone: Text::new_static("UTC") }
    }

    /// Returns the time that many seconds after 1970, in UTC.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Self {
        Self::utc(i128::from(seconds) * SECOND)
    }

    /// Returns Go's zero time, the start of year 1.
    #[must_use]
    pub fn zero() -> Self {
        Self::from_unix(-62_135_596_800)
    }

    /// Returns the seconds since 1970.
    #[must_use]
    pub fn unix(&self) -> i64 {
        i64::try_from(self.nanoseconds.div_euclid(SECOND)).unwrap_or(i64::MAX)
    }

    /// Returns the same moment in another zone.
    ///
    /// # Errors
    /// When the offset of the zone changes through the years.
    pub fn in_zone(&self, name: &str) -> Result<Self, String> {
        let (offset, zone) = match name {
            "" | "UTC" | "Local" | "Etc/UTC" | "Etc/UCT" | "Etc/Universal" | "Etc/Zulu" | "UCT"
            | "Universal" | "Zulu" => (0, "UTC"),
            "GMT" | "GMT0" | "GMT+0" | "GMT-0" | "Etc/GMT" | "Etc/Greenwich" | "Greenwich" => (0, "GMT"),
            "EST" => (-5 * 3600, "EST"),
            "MST" => (-7 * 3600, "MST"),
            "HST" => (-10 * 3600, "HST"),
            other if has_changing_offset(other) => {
                return Err(format!(
                    "the rules of time zone `{other}` are not known here; use `UTC` or a fixed offset"
                ));
            }
            _ => (0, "UTC"),
        };
        Ok(Self { nanoseconds: self.nanoseconds, offset, zone: Text::new_static(zone) })
    }

    /// Returns the time that many nanoseconds later.
    #[must_use]
    pub fn add(&self, nanoseconds: i64) -> Self {
        Self { nanoseconds: self.nanoseconds + i128::from(nanoseconds), ..self.clone() }
    }

    /// Writes the time by a Go layout.
    #[must_use]
    pub fn format(&self, layout: &str) -> String {
        layout::format_time(self, layout)
    }

    /// Returns what a calendar and a clock show at that time in its zone.
    #[must_use]
    pub fn civil(&self) -> CivilDate {
        let local = self.nanoseconds + i128::from(self.offset) * SECOND;
        let seconds = i64::try_from(local.div_euclid(SECOND)).unwrap_or(0);
        let (days, clock) = (seconds.div_euclid(DAY), to_u32(seconds.rem_euclid(DAY)));
        let (year, month, day) = civil_from_days(days);
        CivilDate {
            year,
            month,
            day,
            hour: clock / 3600,
            minute: clock / 60 % 60,
            second: clock % 60,
            nanosecond: u32::try_from(local.rem_euclid(SECOND)).unwrap_or(0),
            weekday: to_u32((days + 4).rem_euclid(7)),
            day_of_year: to_u32(days - days_from_civil(year, 1, 1) + 1),
        }
    }
}

/// As Go's `String`.
impl fmt::Display for GoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format("2006-01-02 15:04:05.999999999 -0700 MST"))
    }
}

/// Returns whether the name is one of a zone whose offset changes through the years.
fn has_changing_offset(name: &str) -> bool {
    const AREAS: [&str; 16] = [
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Brazil",
        "Canada",
        "Chile",
        "Etc",
        "Europe",
        "Indian",
        "Mexico",
        "Pacific",
        "US",
    ];
    const NAMES: [&str; 12] = [
        "CET",
        "EET",
        "MET",
        "WET",
        "EST5EDT",
        "CST6CDT",
        "MST7MDT",
        "PST8PDT",
        "Japan",
        "Israel",
        "Turkey",
        "Singapore",
    ];
    name.split_once('/').is_some_and(|(area, _)| AREAS.contains(&area)) || NAMES.contains(&name)
}

fn to_u32(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// Returns the days from 1970 to a date; the calendar goes on in both directions.
#[must_use]
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = i64::from((month + 9) % 12);
    let day_of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = to_u32(day_of_year - (153 * month_shifted + 2) / 5 + 1);
    let month = to_u32(if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 });
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
