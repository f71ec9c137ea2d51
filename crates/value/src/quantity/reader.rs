//! A quantity from its text.
//!
//! Kubernetes reads short texts and long ones in two ways that accept slightly
//! different things; `is_short` tells which way a text goes.

use super::{DIGITS, Format, Quantity, QuantityError};
use crate::Text;

/// The smallest power of ten that is kept.
const NANO: i64 = -9;

/// How many nanos the largest binary quantity has.
const LARGEST: i128 = i64::MAX as i128 * 1_000_000_000;

pub(super) fn parse(text: &str) -> Result<Quantity, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Syntax);
    }
    let parts = Parts::split(text)?;
    let suffix = Suffix::parse(parts.suffix)?;
    let short = parts.is_short(&suffix);
    if !short && !parts.has_digits {
        return Err(QuantityError::Number);
    }
    let (size, format) = match suffix.format {
        Format::Binary => parts.binary(&suffix),
        _ => (parts.decimal(suffix.exponent)?, suffix.format),
    };
    let (mantissa, scale) = size;
    let mantissa = if parts.negative { -mantissa } else { mantissa };
    let mut quantity = Quantity::new(mantissa, scale, format).ok_or(QuantityError::Digits)?;
    quantity.written = (short && parts.is_kept(&suffix)).then(|| Text::new(text));
    Ok(quantity)
}

/// A text taken apart.
struct Parts<'a> {
    negative: bool,
    // Without its leading zeros.
    whole: &'a str,
    fraction: &'a str,
    has_digits: bool,
    suffix: &'a str,
}

struct Suffix {
    format: Format,
    exponent: i64,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, QuantityError> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (digits, rest) = take_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), take_digits);
        let tail = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
        if !tail.bytes().all(|b| b.is_ascii_digit()) {
            return Err(QuantityError::Syntax);
        }
        Ok(Self {
            negative: text.starts_with('-'),
            whole: digits.trim_start_matches('0'),
            fraction,
            has_digits: !digits.is_empty() || !fraction.is_empty(),
            suffix,
        })
    }

    /// Returns how many digits Kubernetes counts before the point.
    fn whole_length(&self) -> i64 {
        length(self.whole).max(1)
    }

    fn is_short(&self, suffix: &Suffix) -> bool {
        match suffix.format {
            Format::Binary => {
                self.fraction.is_empty() && 15 - self.whole_length() - suffix.exponent * 3 / 10 > 0
            }
            _ => {
                self.whole_length() + length(self.fraction) <= 18
                    && suffix.exponent - length(self.fraction) >= NANO
            }
        }
    }

    /// Returns whether Kubernetes writes the text again as it is.
    fn is_kept(&self, suffix: &Suffix) -> bool {
        match suffix.format {
            Format::Binary => self.whole.parse::<u64>().is_ok_and(|value| value % 8 != 0),
            _ => {
                (suffix.exponent - length(self.fraction)) % 3 == 0
                    && self.trailing_zeros() < 3
                    && !self.whole.is_empty()
            }
        }
    }

    /// Returns with how many zeros the digits end.
    fn trailing_zeros(&self) -> usize {
        let of = |digits: &str| digits.len() - digits.trim_end_matches('0').len();
        match of(self.fraction) {
            all if all == self.fraction.len() => all + of(self.whole),
            some => some,
        }
    }

    /// Returns the size as a mantissa and its scale, rounded up to nanos.
    fn decimal(&self, exponent: i64) -> Result<(i128, i64), QuantityError> {
        let (mut digits, mut scale) = (self.digits(), exponent - length(self.fraction));
        let zeros = self.trailing_zeros();
        digits.truncate(digits.len().saturating_sub(zeros));
        scale += i64::try_from(zeros).unwrap_or(0);
        if digits.is_empty() {
            return Ok((0, 0));
        }
        // What is dropped ends in a digit above zero, so it always rounds up.
        let rounds_up = scale < NANO;
        if rounds_up {
            let dropped = usize::try_from(NANO - scale).unwrap_or(usize::MAX);
            digits.truncate(digits.len().saturating_sub(dropped));
            scale = NANO;
        }
        if digits.len() > DIGITS as usize {
            return Err(QuantityError::Digits);
        }
        let mantissa = digits.bytes().fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
        Ok((mantissa + i128::from(rounds_up), scale))
    }

    /// Returns all digits from the first above zero on.
    fn digits(&self) -> String {
        let fraction =
            if self.whole.is_empty() { self.fraction.trim_start_matches('0') } else { self.fraction };
        format!("{}{fraction}", self.whole)
    }

    /// Returns the size in nanos, rounded up and capped, and how it is written.
    fn binary(&self, suffix: &Suffix) -> ((i128, i64), Format) {
        let unit = 1_i128 << suffix.exponent.clamp(0, 60);
        let nanos = unit * 1_000_000_000;
        let whole = self.whole.parse::<u64>().ok().filter(|_| self.whole.len() <= 19);
        let whole = if self.whole.is_empty() { Some(0) } else { whole };
        let mut fraction = 0_i128;
        let mut is_exact = true;
        // From the last digit to the first, so that no intermediate is larger than ten units.
        for digit in self.fraction.bytes().rev() {
            let sum = i128::from(digit - b'0') * nanos + fraction;
            is_exact &= sum % 10 == 0;
            fraction = sum / 10;
        }
        let size = whole
            .and_then(|whole| i128::from(whole).checked_mul(nanos))
            .and_then(|size| size.checked_add(fraction + i128::from(!is_exact)))
            .map_or(LARGEST, |size| size.min(LARGEST));
        let is_fraction = 0 < size && size < 1_000_000_000;
        ((size, NANO), if is_fraction { Format::Decimal } else { Format::Binary })
    }
}

impl Suffix {
    fn parse(text: &str) -> Result<Self, QuantityError> {
        let (format, exponent) = match text {
            "n" => (Format::Decimal, -9),
            "u" => (Format::Decimal, -6),
            "m" => (Format::Decimal, -3),
            "" => (Format::Decimal, 0),
            "k" => (Format::Decimal, 3),
            "M" => (Format::Decimal, 6),
            "G" => (Format::Decimal, 9),
            "T" => (Format::Decimal, 12),
            "P" => (Format::Decimal, 15),
            "E" => (Format::Decimal, 18),
            "Ki" => (Format::Binary, 10),
            "Mi" => (Format::Binary, 20),
            "Gi" => (Format::Binary, 30),
            "Ti" => (Format::Binary, 40),
            "Pi" => (Format::Binary, 50),
            "Ei" => (Format::Binary, 60),
            other => {
                let exponent = other.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
                (Format::Exponent, i64::from(exponent.parse::<i32>().map_err(|_| QuantityError::Suffix)?))
            }
        };
        Ok(Self { format, exponent })
    }
}

fn take_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX / 4)
}
