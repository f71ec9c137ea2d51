//! Time zones by offset or by name.
//!
//! There is no time zone database here. Zones whose rules have been simple for a long time are
//! known by their present rules; others are refused rather than guessed.

/// Returns how many seconds east of UTC clocks in `zone` are at a time.
pub(super) fn offset(zone: &str, _unix: i64) -> Result<i32, String> {
    match zone {
        "" | "UTC" | "Z" => Ok(0),
        _ => fixed(zone).ok_or_else(|| format!("unknown time zone `{zone}`")),
    }
}

/// Reads `+02:00`, `-8:00` or `02:00`.
fn fixed(zone: &str) -> Option<i32> {
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str| text.parse::<i32>().ok().filter(|_| text.bytes().all(|c| c.is_ascii_digit()));
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60)).filter(|offset| offset.abs() <= 86_400)
}
