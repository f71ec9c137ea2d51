//! Points in time from year 1 to year 9999, and the zones they are seen in.

mod zone;

use std::cmp::Ordering;
use std::fmt;

use kubewright_golib::time::{CivilDate, GoTime};
use kubewright_value::duration::Duration;

const SECOND: i128 = 1_000_000_000;

/// A point in time, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
    /// How it is written: east of UTC, in seconds. The point in time is the same.
    offset: i32,
}

impl Timestamp {
    /// The start of 1970.
    pub const EPOCH: Self = Self { seconds: 0, nanoseconds: 0, offset: 0 };

    /// The start of year 1.
    pub const ZERO: Self = Self { seconds: FIRST, nanoseconds: 0, offset: 0 };

    /// Returns the time that many nanoseconds after 1970, if it is in the years 1 to 9999.
    #[must_use]
    pub fn new(nanoseconds: i128) -> Option<Self> {
        let seconds = i64::try_from(nanoseconds.div_euclid(SECOND)).ok()?;
        let rest = u32::try_from(nanoseconds.rem_euclid(SECOND)).ok()?;
        (FIRST..=LAST).contains(&seconds).then_some(Self { seconds, nanoseconds: rest, offset: 0 })
    }

    /// Returns the time that many seconds after 1970, if it is in the years 1 to 9999.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Option<Self> {
        Self::new(i128::from(seconds) * SECOND)
    }

    /// Reads a time as RFC 3339 writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let time = kubewright_golib::time::parse_time("2006-01-02T15:04:05Z07:00", text).ok()?;
        Self::new(time.nanoseconds).map(|made| Self { offset: time.offset, ..made })
    }

    /// Returns the whole seconds since 1970.
    #[must_use]
    pub fn unix(self) -> i64 {
        self.seconds
    }

    /// Returns the nanoseconds since 1970.
    #[must_use]
    pub fn nanoseconds(self) -> i128 {
        i128::from(self.seconds) * SECOND + i128::from(self.nanoseconds)
    }

    /// Returns the time `duration` later, if it can be held.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Option<Self> {
        self.at(self.nanoseconds() + i128::from(duration.nanoseconds()))
    }

    /// Returns the time `duration` earlier, if it can be held.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Option<Self> {
        self.at(self.nanoseconds() - i128::from(duration.nanoseconds()))
    }

    /// Returns another time, written in the same zone.
    pub(super) fn at(self, nanoseconds: i128) -> Option<Self> {
        Self::new(nanoseconds).map(|made| Self { offset: self.offset, ..made })
    }

    /// Returns how long after `other` this is, if it can be held.
    #[must_use]
    pub fn since(self, other: Self) -> Option<Duration> {
        let nanoseconds = self.nanoseconds() - other.nanoseconds();
        i64::try_from(nanoseconds).ok().map(Duration::from_nanoseconds)
    }

    /// Returns what calendar and clock show in the zone that the time was written in.
    pub(super) fn own_civil(self) -> CivilDate {
        self.in_own_zone().civil()
    }

    fn in_own_zone(self) -> GoTime {
        GoTime { offset: self.offset, ..GoTime::utc(self.nanoseconds()) }
    }

    /// Returns what calendar and clock show in `zone`: UTC, an offset such as `-08:00`, or a name.
    pub(super) fn civil(self, zone: &str) -> Result<CivilDate, String> {
        let offset = zone::offset(zone, self.seconds)?;
        Ok(GoTime { nanoseconds: self.nanoseconds(), offset, ..GoTime::utc(0) }.civil())
    }
}

const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// Times are equal when they are the same moment, in whatever zone.
impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds))
    }
}

/// As RFC 3339 writes it, in the zone that it was written in.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_own_zone().format("2006-01-02T15:04:05.999999999Z07:00"))
    }
}

/// Returns a duration as `string()` writes it: seconds with as many decimals as are needed.
pub(super) fn seconds_text(duration: Duration) -> String {
    let size = duration.nanoseconds().unsigned_abs();
    let sign = if duration.nanoseconds() < 0 { "-" } else { "" };
    let (whole, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{whole}s");
    }
    format!("{sign}{whole}.{}s", format!("{rest:09}").trim_end_matches('0'))
}
