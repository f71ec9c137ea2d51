//! Go's durations as text: `1h2m3s`.

/// Writes nanoseconds as Go's `Duration.String`.
pub(in super::super) fn format_duration(nanoseconds: i64) -> String {
    let size = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    if size == 0 {
        return "0s".to_owned();
    }
    if size < 1_000_000_000 {
        let (unit, name) = match size {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        return format!("{sign}{}{name}", with_fraction(size, unit));
    }
    let seconds = size / 1_000_000_000;
    let shown = with_fraction(size % 60_000_000_000, 1_000_000_000);
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{sign}{shown}s"),
        (0, minutes) => format!("{sign}{minutes}m{shown}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{shown}s"),
    }
}

fn with_fraction(size: u64, unit: u64) -> String {
    let width = unit.to_string().len() - 1;
    let fraction = format!("{:0width$}", size % unit);
    match fraction.trim_end_matches('0') {
        "" => (size / unit).to_string(),
        digits if unit > 1 => format!("{}.{digits}", size / unit),
        _ => (size / unit).to_string(),
    }
}

/// Reads a duration as Go's `ParseDuration`, into nanoseconds.
pub(in super::super) fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(0);
    }
    let mut rest = unsigned;
    let mut sum = 0_i128;
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        if number.is_empty() {
            return Err(invalid());
        }
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" => return Err(format!("time: missing unit in duration {text:?}")),
            _ => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
        };
        sum += amount(number, scale).ok_or_else(invalid)?;
        rest = after;
    }
    let signed = if text.starts_with('-') { -sum } else { sum };
    i64::try_from(signed).map_err(|_| invalid())
}

fn amount(number: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() > 19 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: String = fraction.chars().take(18).collect();
    let part: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let divisor = 10_i128.pow(u32::try_from(digits.len()).ok()?);
    Some(whole.checked_mul(scale)? + part * scale / divisor)
}
