//! Times in RFC 3339, in which credentials say when they expire.

use std::time::{Duration, SystemTime};

/// Reads a time such as `2026-01-31T12:00:00Z` or `2026-01-31T12:00:00.5+01:00`; fractions of a second are left out.
pub(super) fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let number = |range: std::ops::Range<usize>| {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
    };
    let is_separated = [(4, "-"), (7, "-"), (13, ":"), (16, ":")]
        .into_iter()
        .all(|(at, separator)| text.get(at..=at) == Some(separator));
    if !is_separated || !matches!(text.get(10..11), Some("T" | "t" | " ")) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = text.get(19..)?.trim_start_matches(|digit: char| digit == '.' || digit.is_ascii_digit());
    let local = days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let seconds = u64::try_from(local - zone_offset_seconds(zone)?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn zone_offset_seconds(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let below = |text: &str, end: i64| text.parse().ok().filter(|number| (0..end).contains(number));
    let seconds = below(hours, 24)? * 3600 + below(minutes, 60)? * 60;
    match zone.get(..1)? {
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}

/// Days from 1970-01-01, in the proleptic Gregorian calendar; a year begins in March, so that the leap day is its last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::parse_rfc3339;

    #[track_caller]
    fn check_time(text: &str, want: Option<u64>) {
        let seconds = want.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(parse_rfc3339(text), seconds, "{text}");
    }

    #[test]
    fn times_are_read_in_their_zone() {
        check_time("1970-01-01T00:00:00Z", Some(0));
        check_time("2000-02-29T12:00:01Z", Some(951_825_601));
        check_time("2026-11-16T18:39:01.123456Z", Some(1_794_854_341));
        check_time("2026-11-16T18:39:01+01:00", Some(1_794_850_741));
        check_time("2026-11-16T18:39:01-00:30", Some(1_794_856_141));
    }

    #[test]
    fn what_is_no_time_is_none() {
        let wrong =
            ["", "now", "2026-11-16", "2026-13-16T18:39:01Z", "2026-11-16T18:39:01", "2026-11-16T18:39:01+1"];
        for text in
            [&wrong[..], &["1969-12-31T23:59:59Z", "2026-11-16T1é:39:01Z", "2026-11-16T18:39:01+65000:00"]]
                .concat()
        {
            check_time(text, None);
        }
    }
}
