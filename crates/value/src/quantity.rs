//! Kubernetes quantities: `100m`, `1.5Gi`, `1e3`.
//!
//! A quantity is an integer times a power of ten, never a double. It remembers how it
//! was written, because the suffix decides how it is written again. What Kubernetes
//! does to a text is done here too: everything below a nano is rounded up, away from
//! zero, and a quantity with a binary suffix stops at the largest `i64`.

mod reader;
mod writer;

use std::cmp::Ordering;

use thiserror::Error;

use crate::Text;

/// An exact amount.
#[derive(Debug, Clone)]
pub struct Quantity {
    // INVARIANT: below 10^38 in size and no multiple of ten; zero has the scale zero.
    mantissa: i128,
    scale: i64,
    format: QuantityFormat,
    // INVARIANT: present when Kubernetes writes the text as it was read.
    written: Option<Text>,
}

/// The three ways to write a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuantityFormat {
    /// `1Ki`, `1Mi`: powers of 1024.
    Binary,
    /// `1m`, `1k`: powers of 1000.
    Decimal,
    /// `1e3`.
    Exponent,
}

/// The reason why a text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// It is empty, or holds a character that has no place there.
    #[error("a quantity is a number with an optional suffix, such as `100m`, `1.5Gi` or `1e3`")]
    Syntax,
    /// The number is missing.
    #[error("a quantity needs a number before its suffix")]
    Number,
    /// The suffix is unknown.
    #[error(
        "unknown suffix of a quantity, expected `n`, `u`, `m`, `k`, `M`, `G`, `T`, `P`, `E`, `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei` or an exponent"
    )]
    Suffix,
    /// It has more significant digits than can be held.
    #[error("a quantity has at most {DIGITS} significant digits")]
    Digits,
}

/// The maximum number of digits of a mantissa.
const DIGITS: u32 = 38;

impl Quantity {
    /// Reads `text`.
    ///
    /// # Errors
    /// When Kubernetes would not accept it, or it has more than 38 significant digits.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        reader::parse_quantity(text)
    }

    /// Returns the quantity `value`, written without a suffix or with a decimal one.
    #[must_use]
    pub fn from_i64(value: i64) -> Self {
        let (mantissa, scale) = normalized(i128::from(value), 0);
        Self { mantissa, scale, format: QuantityFormat::Decimal, written: None }
    }

    /// Returns `mantissa * 10^scale`, if that can be held.
    fn new(mantissa: i128, scale: i64, format: QuantityFormat) -> Option<Self> {
        let (mantissa, scale) = normalized(mantissa, scale);
        (mantissa_digits(mantissa) <= DIGITS).then_some(Self { mantissa, scale, format, written: None })
    }

    /// Returns how the quantity is written.
    #[must_use]
    pub fn format(&self) -> QuantityFormat {
        self.format
    }

    /// Returns whether this is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Returns -1, 0 or 1.
    #[must_use]
    pub fn sign(&self) -> i32 {
        match self.mantissa.cmp(&0) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    /// Returns the sum, if it can be held. It is written as `self`, or as `other` when `self` is zero.
    #[must_use]
    pub fn add(&self, other: &Self) -> Option<Self> {
        let format = if self.is_zero() { other.format } else { self.format };
        let scale = match (self.is_zero(), other.is_zero()) {
            (true, _) => other.scale,
            (_, true) => self.scale,
            _ => self.scale.min(other.scale),
        };
        Self::new(self.at_scale(scale)?.checked_add(other.at_scale(scale)?)?, scale, format)
    }

    /// Returns the difference, if it can be held. It is written as [`Quantity::add`] would.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.neg())
    }

    /// Returns the quantity with the other sign.
    #[must_use]
    pub fn neg(&self) -> Self {
        // The invariant keeps the mantissa far from the one integer without an opposite.
        Self { mantissa: self.mantissa.wrapping_neg(), scale: self.scale, format: self.format, written: None }
    }

    /// Returns the value, if it is an integer that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        i64::try_from(self.at_scale(0)?).ok()
    }

    /// Returns the integer that is this many times `10^scale`, if it is one and fits.
    fn at_scale(&self, scale: i64) -> Option<i128> {
        if self.is_zero() {
            return Some(0);
        }
        let more = u32::try_from(self.scale.checked_sub(scale)?).ok()?;
        self.mantissa.checked_mul(10_i128.checked_pow(more)?)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        (self.mantissa, self.scale) == (other.mantissa, other.scale)
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By value, however it is written.
impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign != Ordering::Equal || self.is_zero() {
            return by_sign;
        }
        let size =
            |quantity: &Self| quantity.scale.saturating_add(i64::from(mantissa_digits(quantity.mantissa)));
        let by_size = size(self).cmp(&size(other)).then_with(|| {
            // The same number of digits before the point: both fit at the smaller scale.
            let scale = self.scale.min(other.scale);
            let digits = |quantity: &Self| quantity.at_scale(scale).map(i128::unsigned_abs);
            digits(self).cmp(&digits(other))
        });
        if self.mantissa < 0 { by_size.reverse() } else { by_size }
    }
}

/// Moves trailing zeros of the mantissa into the scale.
fn normalized(mut mantissa: i128, mut scale: i64) -> (i128, i64) {
    if mantissa == 0 {
        return (0, 0);
    }
    while mantissa % 10 == 0 {
        mantissa /= 10;
        scale = scale.saturating_add(1);
    }
    (mantissa, scale)
}

/// Returns how many decimal digits `mantissa` has; 0 for zero.
fn mantissa_digits(mantissa: i128) -> u32 {
    mantissa.unsigned_abs().checked_ilog10().map_or(0, |log| log + 1)
}

#[cfg(test)]
mod tests;
