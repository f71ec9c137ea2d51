//! Points: exact decimals, so that ten times 0.1 is 1.

use std::fmt;

use kubewright_value::Number;
use kubewright_value::quantity::Quantity;

/// An amount of points.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Points(Quantity);

impl Points {
    /// Returns no points.
    #[must_use]
    pub fn zero() -> Self {
        Self::from_whole(0)
    }

    /// Returns `count` points.
    #[must_use]
    pub fn from_whole(count: i64) -> Self {
        Self(Quantity::from_i64(count))
    }

    /// Returns the points that a number is, if it is finite and not below zero.
    #[must_use]
    pub fn of(number: Number) -> Option<Self> {
        let amount = Quantity::parse(&number.to_string()).ok()?;
        (amount.sign() >= 0).then_some(Self(amount))
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Returns the sum; beyond 38 digits it stays as it is.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self(self.0.add(&other.0).unwrap_or_else(|| self.0.clone()))
    }

    /// Returns the nearest double.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.to_decimal().parse().unwrap_or(0.0)
    }

    /// Returns how much of `maximum` this is, in percent; everything where nothing can be reached.
    #[must_use]
    pub fn percent_of(&self, maximum: &Self) -> f64 {
        if maximum.is_zero() { 100.0 } else { 100.0 * self.as_f64() / maximum.as_f64() }
    }
}

/// As a decimal number.
impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_decimal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tenths_are_one() {
        let tenth = Points::of(Number::Float(0.1)).expect("points");
        let sum = (0..10).fold(Points::zero(), |sum, _| sum.plus(&tenth));
        assert_eq!(sum, Points::from_whole(1));
        assert_eq!(sum.to_string(), "1");
    }

    #[test]
    fn points_are_finite_and_not_negative() {
        for number in [Number::Float(f64::NAN), Number::Float(f64::INFINITY), Number::Int(-1)] {
            assert_eq!(Points::of(number), None);
        }
    }

    #[test]
    fn confidence_is_the_share_of_what_can_be_reached() {
        let half = Points::of(Number::Float(0.5)).expect("points");
        assert!((half.percent_of(&Points::from_whole(2)) - 25.0).abs() < 1e-9);
        assert!((half.percent_of(&Points::zero()) - 100.0).abs() < 1e-9);
    }
}
