//! Numbers: integers of 64 bits stay exact, everything else is a double.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A JSON number.
///
/// An integer that fits `i64` is always stored as one, so equal integers have one form.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// An integer that fits `i64`.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// Anything else. Never an infinity or NaN when it came from text.
    Float(f64),
}

impl Number {
    /// Returns the value as `i64`, if it is exactly one.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(i),
            Self::UInt(_) => None,
            Self::Float(f) => integral(f),
        }
    }

    /// Returns the nearest double.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is wanted")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(i) => i as f64,
            Self::UInt(u) => u as f64,
            Self::Float(f) => f,
        }
    }

    /// Returns whether the value was written as an integer.
    #[must_use]
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::Float(_))
    }

    /// Returns the same value as an integer where it is one, so that `1.0` becomes `1`.
    #[must_use]
    pub fn normalized(self) -> Self {
        match self {
            Self::Float(f) => integral(f).map_or(self, Self::Int),
            other => other,
        }
    }
}

/// Returns the integer that `f` is, within the range where doubles and `i64` agree.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
fn integral(f: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    (f.fract() == 0.0 && (-LIMIT..LIMIT).contains(&f)).then_some(f as i64)
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Self::UInt(value), Self::Int)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By mathematical value, exactly; NaN sorts last and equals itself.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.normalized(), other.normalized()) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::UInt(a), Self::UInt(b)) => a.cmp(&b),
            (Self::Int(_), Self::UInt(_)) => Ordering::Less,
            (Self::UInt(_), Self::Int(_)) => Ordering::Greater,
            (Self::Float(a), Self::Float(b)) => {
                a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
            (Self::Float(a), b) => compare_float(a, b),
            (a, Self::Float(b)) => compare_float(b, a).reverse(),
        }
    }
}

/// Compares a double that is not an `i64` with an integer, without rounding the integer.
fn compare_float(float: f64, integer: Number) -> Ordering {
    if float.is_nan() {
        return Ordering::Greater;
    }
    let exact = match integer {
        Number::Int(i) => i128::from(i),
        Number::UInt(u) => i128::from(u),
        Number::Float(_) => return Ordering::Equal,
    };
    #[expect(clippy::cast_possible_truncation, reason = "saturates, which keeps the order")]
    let whole = float.floor() as i128;
    match whole.cmp(&exact) {
        Ordering::Equal if float.fract() != 0.0 => Ordering::Greater,
        order => order,
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.normalized() {
            Self::Int(i) => i.hash(state),
            Self::UInt(u) => u.hash(state),
            // A double in the `u64` range equals the `UInt` of the same value.
            Self::Float(f) if f.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&f) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the range was checked"
                )]
                (f as u64).hash(state);
            }
            Self::Float(f) => f.to_bits().hash(state),
        }
    }
}

/// As Go's `encoding/json` writes it: an exponent only below 1e-6 and from 1e21 on.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(i) => i.fmt(f),
            Self::UInt(u) => u.fmt(f),
            Self::Float(x) if !x.is_finite() => f.write_str("null"),
            Self::Float(x) => {
                let size = x.abs();
                if size != 0.0 && !(1e-6..1e21).contains(&size) {
                    let text = format!("{x:e}");
                    match text.split_once('e') {
                        Some((digits, exponent)) if !exponent.starts_with('-') => {
                            write!(f, "{digits}e+{exponent}")
                        }
                        _ => f.write_str(&text),
                    }
                } else {
                    x.fmt(f)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
