//! A quantity from its text.
//!
//! Kubernetes reads short texts and long ones in two ways that accept slightly
//! different things; `is_short` decides which way a text is read.

use super::{DIGITS, Quantity, QuantityError, QuantityFormat};
use crate::Text;

/// The smallest power of ten that is kept.
const NANO: i64 = -9;

/// The largest binary quantity in nanos.
const MAX_BINARY_NANOS: i128 = i64::MAX as i128 * 1_000_000_000;

pub(super) fn parse_quantity(text: &str) -> Result<Quantity, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Syntax);
    }
    let parts = QuantityParts::split(text)?;
    let suffix = Suffix::parse(parts.suffix)?;
    let short = parts.is_short(&suffix);
    if !short && !parts.has_digits {
        return Err(QuantityError::Number);
    }
    let (size, format) = match suffix.format {
        QuantityFormat::Binary => parts.binary(&suffix),
        _ => (parts.decimal(suffix.exponent)?, suffix.format),
    };
    let (mantissa, scale) = size;
    let mantissa = if parts.negative { -mantissa } else { mantissa };
    let mut quantity = Quantity::new(mantissa, scale, format).ok_or(QuantityError::Digits)?;
    quantity.written = (short && parts.is_kept(&suffix)).then(|| Text::new(text));
    Ok(quantity)
}

/// A text taken apart.
struct QuantityParts<'a> {
    negative: bool,
    // Without its leading zeros.
    whole: &'a str,
    fraction: &'a str,
    has_digits: bool,
    suffix: &'a str,
}

struct Suffix {
    format: QuantityFormat,
    exponent: i64,
}

impl<'a> QuantityParts<'a> {
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
        digit_count(self.whole).max(1)
    }

    fn is_short(&self, suffix: &Suffix) -> bool {
        match suffix.format {
            QuantityFormat::Binary => {
                self.fraction.is_empty() && 15 - self.whole_length() - suffix.exponent * 3 / 10 > 0
            }
            _ => {
                self.whole_length() + digit_count(self.fraction) <= 18
                    && suffix.exponent - digit_count(self.fraction) >= NANO
            }
        }
    }

    /// Returns whether Kubernetes writes the text again as it is.
    fn is_kept(&self, suffix: &Suffix) -> bool {
        match suffix.format {
            QuantityFormat::Binary => self.whole.parse::<u64>().is_ok_and(|value| value % 8 != 0),
            _ => {
                (suffix.exponent - digit_count(self.fraction)) % 3 == 0
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
        let (mut digits, mut scale) = (self.digits(), exponent - digit_count(self.fraction));
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
    fn binary(&self, suffix: &Suffix) -> ((i128, i64), QuantityFormat) {
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
            .map_or(MAX_BINARY_NANOS, |size| size.min(MAX_BINARY_NANOS));
        let is_fraction = 0 < size && size < 1_000_000_000;
        ((size, NANO), if is_fraction { QuantityFormat::Decimal } else { QuantityFormat::Binary })
    }
}

impl Suffix {
    fn parse(text: &str) -> Result<Self, QuantityError> {
        let (format, exponent) = match text {
            "n" => (QuantityFormat::Decimal, -9),
            "u" => (QuantityFormat::Decimal, -6),
            "m" => (QuantityFormat::Decimal, -3),
            "" => (QuantityFormat::Decimal, 0),
            "k" => (QuantityFormat::Decimal, 3),
            "M" => (QuantityFormat::Decimal, 6),
            "G" => (QuantityFormat::Decimal, 9),
            "T" => (QuantityFormat::Decimal, 12),
            "P" => (QuantityFormat::Decimal, 15),
            "E" => (QuantityFormat::Decimal, 18),
            "Ki" => (QuantityFormat::Binary, 10),
            "Mi" => (QuantityFormat::Binary, 20),
            "Gi" => (QuantityFormat::Binary, 30),
            "Ti" => (QuantityFormat::Binary, 40),
            "Pi" => (QuantityFormat::Binary, 50),
            "Ei" => (QuantityFormat::Binary, 60),
            other => {
                let exponent = other.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
                (
                    QuantityFormat::Exponent,
                    i64::from(exponent.parse::<i32>().map_err(|_| QuantityError::Suffix)?),
                )
            }
        };
        Ok(Self { format, exponent })
    }
}

fn take_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn digit_count(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX / 4)
}
