//! What the label says: a duration since the object was created, a time, or a day.

use kubewright_golib::time::{parse_duration, parse_time};

/// The label.
pub(crate) const TTL_LABEL: &str = "cleanup.kyverno.io/ttl";

/// Units of a duration in words, and their nanoseconds. Longer words come before those that they begin with.
const LIFETIME_UNITS: &[(&str, i64)] = &[
    ("week", 604_800_000_000_000),
    ("wk", 604_800_000_000_000),
    ("w", 604_800_000_000_000),
    ("day", 86_400_000_000_000),
    ("d", 86_400_000_000_000),
    ("hour", 3_600_000_000_000),
    ("hr", 3_600_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("ms", 1_000_000),
    ("m", 60_000_000_000),
    ("sec", 1_000_000_000),
    ("s", 1_000_000_000),
    ("us", 1_000),
    ("ns", 1),
];

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// Returns when an object expires that was created at `created` and has the label `text`, in seconds since 1970; nothing
/// where the text says nothing.
pub(crate) fn expiry_of(text: &str, created: i64) -> Option<i64> {
    if let Some(nanoseconds) = parse_duration(text).ok().or_else(|| in_pieces(text)) {
        let seconds = nanoseconds.div_euclid(NANOSECONDS_PER_SECOND);
        return created.checked_add(seconds);
    }
    // A label has no colons.
    let time = parse_time("2006-01-02T150405Z", text).or_else(|_| parse_time("2006-01-02", text));
    time.ok().map(|time| time.unix())
}

/// Returns the sum of all pieces of a number and a unit, such as `2day4hr`, in nanoseconds.
fn in_pieces(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits)?;
        let number: i64 = number.parse().ok()?;
        let (unit, nanoseconds) = LIFETIME_UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        total = total.checked_add(number.checked_mul(*nanoseconds)?)?;
        rest = after.get(unit.len()..)?;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<i64>) {
        assert_eq!(expiry_of(text, 1_000), want, "{text}");
    }

    #[test]
    fn durations_count_from_the_creation() {
        check("1h30m", Some(1_000 + 5_400));
        check("10s", Some(1_010));
        check("2d", Some(1_000 + 172_800));
        check("1day4hr", Some(1_000 + 100_800));
        check("1w", Some(1_000 + 604_800));
        check("3min", Some(1_180));
        check("0s", Some(1_000));
    }

    #[test]
    fn times_and_days_are_in_utc() {
        check("1970-01-02T000001Z", Some(86_401));
        check("1970-01-02", Some(86_400));
    }

    #[test]
    fn a_text_that_says_nothing_is_ignored() {
        for text in ["", "soon", "10", "d10", "1970-01-02T00:00:01Z", "1970-13-01", "99999999999999999999d"] {
            check(text, None);
        }
    }
}
