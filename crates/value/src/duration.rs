//! Lengths of time as Go writes them: `1h30m`, `1.5s`, `-2ms`.

use std::fmt;

use thiserror::Error;

/// A length of time in whole nanoseconds, up to about 292 years either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration {
    nanoseconds: i64,
}

/// The reason why a text is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DurationError {
    /// It is empty, or a number is missing.
    #[error("a duration is one or more numbers with units, such as `1h30m` or `1.5s`")]
    Syntax,
    /// A number without a unit.
    #[error("a number in a duration needs a unit: `ns`, `us`, `ms`, `s`, `m` or `h`")]
    MissingUnit,
    /// A unit that is not known.
    #[error("unknown unit in a duration, expected `ns`, `us`, `ms`, `s`, `m` or `h`")]
    UnknownUnit,
    /// More than can be held.
    #[error("a duration is at most about 292 years")]
    TooLong,
}

/// The size of the most negative duration.
const MAX_DURATION_NANOS: u64 = 1 << 63;

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { nanoseconds: 0 };

    /// Returns a duration of this many nanoseconds.
    #[must_use]
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self { nanoseconds }
    }

    /// Reads `text`: a sign or none, then numbers with units; or `0`.
    ///
    /// # Errors
    /// When it is not of that form, or too long.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "0" {
            return Ok(Self::ZERO);
        }
        if unsigned.is_empty() {
            return Err(DurationError::Syntax);
        }
        let mut rest = unsigned;
        let mut sum = 0_u64;
        while !rest.is_empty() {
            let (nanoseconds, behind) = parse_duration_term(rest)?;
            sum = sum
                .checked_add(nanoseconds)
                .filter(|sum| *sum <= MAX_DURATION_NANOS)
                .ok_or(DurationError::TooLong)?;
            rest = behind;
        }
        let signed =
            if text.starts_with('-') { 0_i64.checked_sub_unsigned(sum) } else { i64::try_from(sum).ok() };
        signed.map(Self::from_nanoseconds).ok_or(DurationError::TooLong)
    }

    /// Returns the length in nanoseconds.
    #[must_use]
    pub const fn nanoseconds(self) -> i64 {
        self.nanoseconds
    }

    /// Returns the sum, if it can be held.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.nanoseconds.checked_add(other.nanoseconds).map(Self::from_nanoseconds)
    }

    /// Returns the difference, if it can be held.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.nanoseconds.checked_sub(other.nanoseconds).map(Self::from_nanoseconds)
    }

    /// Returns `factor` times the length, if it can be held.
    #[must_use]
    pub fn checked_mul(self, factor: i64) -> Option<Self> {
        self.nanoseconds.checked_mul(factor).map(Self::from_nanoseconds)
    }

    /// Returns the length divided by `divisor`, towards zero; nothing for zero.
    #[must_use]
    pub fn checked_div(self, divisor: i64) -> Option<Self> {
        self.nanoseconds.checked_div(divisor).map(Self::from_nanoseconds)
    }

    /// Returns the opposite, if it can be held.
    #[must_use]
    pub fn checked_neg(self) -> Option<Self> {
        self.nanoseconds.checked_neg().map(Self::from_nanoseconds)
    }
}

/// Reads one number with its unit; returns its nanoseconds and what follows.
fn parse_duration_term(text: &str) -> Result<(u64, &str), DurationError> {
    let (whole, rest) = split_where(text, |c| !c.is_ascii_digit());
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_where(rest, |c| !c.is_ascii_digit()),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::Syntax);
    }
    let count: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| DurationError::TooLong)? };
    let (name, rest) = split_where(rest, |c| c == '.' || c.is_ascii_digit());
    let unit = duration_unit(name)?;
    let nanoseconds = count
        .checked_mul(unit)
        .and_then(|nanoseconds| nanoseconds.checked_add(fraction_of_unit(fraction, unit)))
        .filter(|nanoseconds| *nanoseconds <= MAX_DURATION_NANOS);
    Ok((nanoseconds.ok_or(DurationError::TooLong)?, rest))
}

fn duration_unit(name: &str) -> Result<u64, DurationError> {
    match name {
        "ns" => Ok(1),
        "us" | "\u{b5}s" | "\u{3bc}s" => Ok(1_000),
        "ms" => Ok(1_000_000),
        "s" => Ok(1_000_000_000),
        "m" => Ok(60_000_000_000),
        "h" => Ok(3_600_000_000_000),
        "" => Err(DurationError::MissingUnit),
        _ => Err(DurationError::UnknownUnit),
    }
}

/// Returns the nanoseconds in the digits after the point, exactly, rounded towards zero.
///
/// Go takes this part by doubles, which differs in the last nanosecond of fractions that have no end.
fn fraction_of_unit(fraction: &str, unit: u64) -> u64 {
    let mut digits = 0_u128;
    let mut scale = 1_u128;
    // More digits than this are smaller than a nanosecond of any unit.
    for digit in fraction.bytes().take(18) {
        digits = digits * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    u64::try_from(digits * u128::from(unit) / scale).unwrap_or(u64::MAX)
}

fn split_where(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at_checked(text.find(stop).unwrap_or(text.len())).unwrap_or((text, ""))
}

/// As Go writes it: `1h30m0s`, `1.5s`, `20ms`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.nanoseconds.unsigned_abs();
        if self.nanoseconds < 0 {
            f.write_str("-")?;
        }
        match size {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{size}ns"),
            1_000..1_000_000 => write!(f, "{}\u{b5}s", format_duration_decimal(size, 3)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", format_duration_decimal(size, 6)),
            _ => {
                let (minutes, rest) = (size / 60_000_000_000, size % 60_000_000_000);
                match (minutes / 60, minutes % 60) {
                    (0, 0) => {}
                    (0, minutes) => write!(f, "{minutes}m")?,
                    (hours, minutes) => write!(f, "{hours}h{minutes}m")?,
                }
                write!(f, "{}s", format_duration_decimal(rest, 9))
            }
        }
    }
}

/// Returns `size / 10^places` without trailing zeros.
fn format_duration_decimal(size: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let (whole, rest) = (size / unit, size % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let fraction = format!("{rest:0>width$}", width = places as usize);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests;
