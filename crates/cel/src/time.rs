//! Timestamps from year 1 to year 9999, and time zones.

mod zone;

use std::cmp::Ordering;
use std::fmt;

use kubewright_golib::time::{CivilDate, GoTime, RFC3339, parse_time};
use kubewright_value::duration::Duration;

const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;

/// A point in time, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
    /// The zone it is written in, in seconds east of UTC. It does not change the point in time.
    offset: i32,
}

impl Timestamp {
    /// The start of 1970.
    pub const EPOCH: Self = Self { seconds: 0, nanoseconds: 0, offset: 0 };

    /// The start of year 1.
    pub const ZERO: Self = Self { seconds: MIN_UNIX_SECONDS, nanoseconds: 0, offset: 0 };

    /// Returns the timestamp of nanoseconds since 1970, if it is in the years 1 to 9999.
    #[must_use]
    pub fn new(nanoseconds: i128) -> Option<Self> {
        let seconds = i64::try_from(nanoseconds.div_euclid(NANOSECONDS_PER_SECOND)).ok()?;
        let rest = u32::try_from(nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND)).ok()?;
        (MIN_UNIX_SECONDS..=MAX_UNIX_SECONDS).contains(&seconds).then_some(Self {
            seconds,
            nanoseconds: rest,
            offset: 0,
        })
    }

    /// Returns the timestamp of seconds since 1970, if it is in the years 1 to 9999.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Option<Self> {
        Self::new(i128::from(seconds) * NANOSECONDS_PER_SECOND)
    }

    /// Parses an RFC 3339 timestamp.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let time = parse_time(RFC3339, text).ok()?;
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
        i128::from(self.seconds) * NANOSECONDS_PER_SECOND + i128::from(self.nanoseconds)
    }

    /// Returns the timestamp `duration` later, if it is in range.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Option<Self> {
        self.at(self.nanoseconds() + i128::from(duration.nanoseconds()))
    }

    /// Returns the timestamp `duration` earlier, if it is in range.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Option<Self> {
        self.at(self.nanoseconds() - i128::from(duration.nanoseconds()))
    }

    /// Returns another timestamp, in the same zone.
    pub(super) fn at(self, nanoseconds: i128) -> Option<Self> {
        Self::new(nanoseconds).map(|made| Self { offset: self.offset, ..made })
    }

    /// Returns the duration since `other`, if it is in range.
    #[must_use]
    pub fn since(self, other: Self) -> Option<Duration> {
        let nanoseconds = self.nanoseconds() - other.nanoseconds();
        i64::try_from(nanoseconds).ok().map(Duration::from_nanoseconds)
    }

    /// Returns the date and time of day in the timestamp's own zone.
    pub(super) fn own_civil(self) -> CivilDate {
        self.in_own_zone().civil()
    }

    fn in_own_zone(self) -> GoTime {
        GoTime { offset: self.offset, ..GoTime::utc(self.nanoseconds()) }
    }

    /// Returns the date and time of day in `zone`: UTC, an offset such as `-08:00`, or a name.
    pub(super) fn civil(self, zone: &str) -> Result<CivilDate, String> {
        let offset = zone::zone_offset(zone, self.seconds)?;
        Ok(GoTime { nanoseconds: self.nanoseconds(), offset, ..GoTime::utc(0) }.civil())
    }
}

const MIN_UNIX_SECONDS: i64 = -62_135_596_800;
const MAX_UNIX_SECONDS: i64 = 253_402_300_799;

/// Timestamps are equal when they are the same point in time, regardless of their zones.
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

/// RFC 3339, in the timestamp's own zone.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_own_zone().format("2006-01-02T15:04:05.999999999Z07:00"))
    }
}

/// Returns a duration as `string()` writes it: seconds with as many decimals as are needed.
pub(super) fn format_seconds(duration: Duration) -> String {
    let size = duration.nanoseconds().unsigned_abs();
    let sign = if duration.nanoseconds() < 0 { "-" } else { "" };
    let (whole, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{whole}s");
    }
    format!("{sign}{whole}.{}s", format!("{rest:09}").trim_end_matches('0'))
}
