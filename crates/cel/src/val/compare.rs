//! Equality and order of values. Numbers compare across their types.

use std::cmp::Ordering;

use super::{ListVal, MapVal, Val};
use crate::cost::{CelCost, CostExceeded};

impl Val<'_> {
    /// Returns whether both are equal; values of different types are not, except numbers.
    ///
    /// # Errors
    /// When comparing takes more work than `cost` allows.
    pub fn equals(&self, other: &Val<'_>, cost: &mut CelCost) -> Result<bool, CostExceeded> {
        match (self, other) {
            (Self::List(a), Val::List(b)) => equal_lists(a, b, cost),
            (Self::Map(a), Val::Map(b)) => equal_maps(a, b, cost),
            (Self::Optional(a), Val::Optional(b)) => match (a, b) {
                (None, None) => Ok(true),
                (Some(a), Some(b)) => a.equals(b, cost),
                _ => Ok(false),
            },
            (Self::String(_), Val::String(_)) | (Self::Bytes(_), Val::Bytes(_)) => {
                cost.work(self.long_text().min(other.long_text()))?;
                Ok(self.is_same_scalar(other))
            }
            _ => Ok(self.is_same_scalar(other)),
        }
    }

    /// Returns whether both are equal scalars; false for lists, maps and optionals.
    #[must_use]
    pub(crate) fn is_same_scalar(&self, other: &Val<'_>) -> bool {
        match (self, other) {
            (Self::Null, Val::Null) => true,
            (Self::Bool(a), Val::Bool(b)) => a == b,
            (Self::String(a), Val::String(b)) => a.as_str() == b.as_str(),
            (Self::Int(a), Val::Int(b)) => a == b,
            (Self::UInt(a), Val::UInt(b)) => a == b,
            (Self::Bytes(a), Val::Bytes(b)) => a == b,
            (Self::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Self::Duration(a), Val::Duration(b)) => a == b,
            (Self::Type(a), Val::Type(b)) => a == b,
            (Self::Opaque(a), Val::Opaque(b)) => a.type_name() == b.type_name() && a.equals(b.as_ref()),
            (Self::Int(_) | Self::UInt(_) | Self::Double(_), Val::Int(_) | Val::UInt(_) | Val::Double(_)) => {
                self.order(other) == Some(Ordering::Equal)
            }
            _ => false,
        }
    }

    /// Returns the order of both; nothing for NaN or different types.
    #[must_use]
    pub fn order(&self, other: &Val<'_>) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Val::Int(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Self::String(a), Val::String(b)) => Some(a.as_str().cmp(b.as_str())),
            (Self::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
            (Self::Double(a), Val::Double(b)) => a.partial_cmp(b),
            (Self::UInt(a), Val::UInt(b)) => Some(a.cmp(b)),
            (Self::Int(a), Val::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::UInt(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            // An integer is compared with a double as its nearest double.
            _ => self.nearest()?.partial_cmp(&other.nearest()?),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
    fn nearest(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::UInt(value) => Some(*value as f64),
            Self::Double(value) => Some(*value),
            _ => None,
        }
    }
}

fn equal_lists(a: &ListVal<'_>, b: &ListVal<'_>, cost: &mut CelCost) -> Result<bool, CostExceeded> {
    if a.len() != b.len() {
        return Ok(false);
    }
    cost.work(a.len())?;
    for (a, b) in a.iter().zip(b.iter()) {
        if !a.equals(&b, cost)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(a: &MapVal<'_>, b: &MapVal<'_>, cost: &mut CelCost) -> Result<bool, CostExceeded> {
    if a.len() != b.len() {
        return Ok(false);
    }
    cost.work(a.len())?;
    for (key, value) in a.iter() {
        match b.get(&key) {
            Some(other) if value.equals(&other, cost)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}
