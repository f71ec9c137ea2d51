//! Points in time from year 1 to year 9999, and the zones they are seen in.

mod zone;

use std::fmt;

use kubewright_value::duration::Duration;

use crate::gotemplate::time::{Civil, Time};

const SECOND: i128 = 1_000_000_000;

/// A point in time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

impl Timestamp {
    /// The start of 1970.
    pub const EPOCH: Self = Self { seconds: 0, nanoseconds: 0 };

    /// The start of year 1.
    pub const ZERO: Self = Self { seconds: FIRST, nanoseconds: 0 };

    /// Returns the time that many nanoseconds after 1970, if it is in the years 1 to 9999.
    #[must_use]
    pub fn new(nanoseconds: i128) -> Option<Self> {
        let seconds = i64::try_from(nanoseconds.div_euclid(SECOND)).ok()?;
        let rest = u32::try_from(nanoseconds.rem_euclid(SECOND)).ok()?;
        (FIRST..=LAST).contains(&seconds).then_some(Self { seconds, nanoseconds: rest })
    }

    /// Returns the time that many seconds after 1970, if it is in the years 1 to 9999.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Option<Self> {
        Self::new(i128::from(seconds) * SECOND)
    }

    /// Reads a time as RFC 3339 writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let time = crate::gotemplate::time::parse("2006-01-02T15:04:05Z07:00", text).ok()?;
        Self::new(time.nanoseconds)
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
        Self::new(self.nanoseconds() + i128::from(duration.nanoseconds()))
    }

    /// Returns the time `duration` earlier, if it can be held.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Option<Self> {
        Self::new(self.nanoseconds() - i128::from(duration.nanoseconds()))
    }

    /// Returns how long after `other` this is, if it can be held.
    #[must_use]
    pub fn since(self, other: Self) -> Option<Duration> {
        let nanoseconds = self.nanoseconds() - other.nanoseconds();
        i64::try_from(nanoseconds).ok().map(Duration::from_nanoseconds)
    }

    /// Returns what calendar and clock show in `zone`: UTC, an offset such as `-08:00`, or a name.
    pub(super) fn civil(self, zone: &str) -> Result<Civil, String> {
        let offset = zone::offset(zone, self.seconds)?;
        Ok(Time { nanoseconds: self.nanoseconds(), offset, ..Time::utc(0) }.civil())
    }
}

const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// As RFC 3339 writes it, in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Time::utc(self.nanoseconds()).format("2006-01-02T15:04:05.999999999Z07:00"))
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
