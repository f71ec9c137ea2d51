//! Quantities that the API server stores as a 64-bit integer and a power of ten, without normalizing zeros.

use kubewright_value::quantity::{Quantity, QuantityFormat};

/// The digits that fit.
const MAX_DIGITS: usize = 18;

/// The smallest power of ten: nano.
const MIN_SCALE: i64 = -9;

/// `value * 10^scale`
#[derive(Debug, Clone, Copy)]
pub(super) struct SmallQuantity {
    pub(super) value: i64,
    pub(super) scale: i64,
}

impl SmallQuantity {
    /// Reads a valid quantity; nothing when it is stored otherwise.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches('0');
        let (whole, rest) = split_leading_digits(unsigned);
        let whole = if whole.is_empty() { "0" } else { whole };
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_leading_digits);
        let (factor, exponent, room) = match binary_suffix_exponent(suffix) {
            Some(_) if !fraction.is_empty() => return None,
            Some(power) => {
                let used = whole.len() + power * 3 / 10 + 1;
                (1_i64.checked_shl(u32::try_from(power).ok()?)?, 0, 15_usize.checked_sub(used))
            }
            None => {
                (1, decimal_suffix_exponent(suffix)?, MAX_DIGITS.checked_sub(whole.len() + fraction.len()))
            }
        };
        room?;
        let scale = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let value: i64 = format!("{whole}{fraction}").parse().ok()?;
        let value = value.checked_mul(factor)?;
        (scale >= MIN_SCALE).then_some(Self { value: if is_negative { -value } else { value }, scale })
    }

    pub(super) fn negated(self) -> Option<Self> {
        Some(Self { value: self.value.checked_neg()?, ..self })
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        if other.value == 0 {
            return Some(self);
        }
        if self.value == 0 {
            return Some(other);
        }
        let scale = self.scale.min(other.scale);
        let value = self.at_scale(scale)?.checked_add(other.at_scale(scale)?)?;
        Some(Self { value, scale })
    }

    pub(super) fn as_integer(self) -> Option<i64> {
        self.at_scale(0)
    }

    #[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
    pub(super) fn as_double(self) -> f64 {
        if self.scale == 0 { self.value as f64 } else { self.value as f64 * power_of_ten(self.scale) }
    }

    /// Returns the value in units of `10^scale`, if that only appends zeros.
    fn at_scale(self, scale: i64) -> Option<i64> {
        let more = u32::try_from(self.scale.checked_sub(scale)?).ok()?;
        if self.value == 0 {
            return Some(0);
        }
        self.value.checked_mul(10_i64.checked_pow(more)?)
    }
}

/// Returns the decimal places of a quantity that does not fit in 64 bits.
pub(super) fn count_decimals(quantity: &Quantity) -> i64 {
    let is_capped = quantity.format() == QuantityFormat::Binary && quantity.as_i64() == Some(i64::MAX);
    if is_capped { 0 } else { -MIN_SCALE }
}

/// Returns a quantity that does not fit in 64 bits as a double.
pub(super) fn large_quantity_to_double(quantity: &Quantity, decimals: i64) -> f64 {
    let text = quantity.to_decimal();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    match usize::try_from(decimals) {
        Ok(width) if !text.contains('e') && fraction.len() <= width => {
            let counted: f64 = format!("{whole}{fraction:0<width$}").parse().unwrap_or(f64::NAN);
            if width == 0 { counted } else { counted * power_of_ten(-decimals) }
        }
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// Returns `10^scale`, computed in the same steps as in Go so that rounding is the same.
fn power_of_ten(scale: i64) -> f64 {
    let power = |exponent: i64| format!("1e{exponent}").parse().unwrap_or(f64::NAN);
    match scale {
        -323..0 => power(scale / 32 * 32) / power(-(scale % 32)),
        0..=308 => power(scale / 32 * 32) * power(scale % 32),
        309.. => f64::INFINITY,
        _ => 0.0,
    }
}

fn split_leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Returns the exponent of two of a suffix such as `Ki`.
fn binary_suffix_exponent(suffix: &str) -> Option<usize> {
    let place = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|known| *known == suffix)?;
    Some((place + 1) * 10)
}

/// Returns the exponent of ten of a suffix such as `k` or `e3`.
fn decimal_suffix_exponent(suffix: &str) -> Option<i64> {
    match suffix {
        "" => Some(0),
        "n" => Some(-9),
        "u" => Some(-6),
        "m" => Some(-3),
        "k" => Some(3),
        "M" => Some(6),
        "G" => Some(9),
        "T" => Some(12),
        "P" => Some(15),
        "E" => Some(18),
        _ => suffix.strip_prefix(['e', 'E'])?.parse().ok(),
    }
}
