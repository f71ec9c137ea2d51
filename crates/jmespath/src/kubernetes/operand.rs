//! Operands of arithmetic: numbers, quantities such as `1Gi`, durations such as `1h`.

use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;
use kubewright_value::{Number, Value};

use super::super::function::{JmesPathArgument, JmesPathFailure};

/// An operand of the arithmetic functions.
pub(super) enum ArithmeticOperand {
    Number(Number),
    Quantity(ScaledQuantity),
    Duration(Duration),
}

/// A quantity and the decimal places of its representation; negative for `1k`.
pub(super) struct ScaledQuantity {
    pub(super) quantity: Quantity,
    places: i64,
}

/// An exact number: `digits / 10^places`.
#[derive(Debug, Clone, Copy)]
struct ExactDecimal {
    digits: i128,
    places: i64,
}

impl ArithmeticOperand {
    /// Reads a number or text; a text that could be both, such as `1m`, is a quantity.
    pub(super) fn read(value: &Value, index: usize) -> Result<Self, JmesPathFailure> {
        match value {
            Value::Number(number) => Ok(Self::Number(*number)),
            Value::String(text) => ScaledQuantity::read(text)
                .map(Self::Quantity)
                .or_else(|| Duration::parse(text).ok().map(Self::Duration))
                .ok_or_else(|| {
                    let message = format!("`{text}` is neither a quantity nor a duration");
                    JmesPathFailure::wrong_value(message).about(index)
                }),
            other => {
                let message = format!("expected a number, a quantity or a duration, found {}", other.kind());
                Err(JmesPathFailure::wrong_type(message).about(index))
            }
        }
    }

    pub(super) fn two(arguments: &[JmesPathArgument<'_>]) -> Result<(Self, Self), JmesPathFailure> {
        let read = |index: usize| {
            let value = arguments.get(index).map(JmesPathArgument::value);
            Self::read(value.unwrap_or(&Value::Null), index)
        };
        Ok((read(0)?, read(1)?))
    }

    /// Returns the name of its type for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Quantity(_) => "a quantity",
            Self::Duration(_) => "a duration",
        }
    }
}

impl ScaledQuantity {
    fn read(text: &str) -> Option<Self> {
        let quantity = Quantity::parse(text).ok()?;
        // A value that does not fit is stored as the largest one, which is an integer.
        let is_capped =
            text.ends_with("Ei") && quantity.as_i64().is_some_and(|int| int.saturating_abs() == i64::MAX);
        Some(Self { quantity, places: if is_capped { 0 } else { quantity_decimal_places(text) } })
    }

    /// Returns the nearest double.
    pub(super) fn as_f64(&self) -> f64 {
        self.quantity.to_decimal().parse().unwrap_or(f64::NAN)
    }

    /// Returns the product, formatted like this quantity.
    pub(super) fn times(&self, factor: Number) -> Option<Quantity> {
        let (a, b) = (self.decimal()?, Self::read(&factor.to_string())?.decimal()?);
        let product = ExactDecimal { digits: a.digits.checked_mul(b.digits)?, places: a.places + b.places };
        self.written_alike(product)
    }

    /// Returns the quotient, formatted like this quantity, with no more decimal places than its operands.
    pub(super) fn divided_by(&self, divisor: Number) -> Option<Quantity> {
        let places = self.places.max(number_decimal_places(divisor));
        let (a, b) = (self.decimal()?, Self::read(&divisor.to_string())?.decimal()?);
        let shift = places.checked_add(b.places)?.checked_sub(a.places)?;
        let power = 10_i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
        let digits = if shift >= 0 {
            a.digits.checked_mul(power)?.checked_div(b.digits)?
        } else {
            a.digits.checked_div(b.digits.checked_mul(power)?)?
        };
        self.written_alike(ExactDecimal { digits, places })
    }

    /// Returns `number`, formatted like this quantity.
    pub(super) fn whole_alike(&self, number: i64) -> Option<Quantity> {
        self.written_alike(ExactDecimal { digits: i128::from(number), places: 0 })
    }

    fn written_alike(&self, number: ExactDecimal) -> Option<Quantity> {
        let plain = Quantity::parse(&format!("{}e{}", number.digits, -number.places)).ok()?;
        // A sum has the format of its first operand.
        self.quantity.add(&plain.sub(&self.quantity)?)
    }

    fn decimal(&self) -> Option<ExactDecimal> {
        let text = self.quantity.to_decimal();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(ExactDecimal { digits, places: i64::try_from(fraction.len()).ok()? })
    }
}

/// Returns the decimal places of a number as Go prints it: numbers from a million on are printed as `1e+06`.
fn number_decimal_places(number: Number) -> i64 {
    let text = number.to_string();
    match number.as_i64().filter(|int| int.unsigned_abs() >= 1_000_000) {
        Some(_) => -i64::try_from(text.len() - text.trim_end_matches('0').len()).unwrap_or(0),
        None => quantity_decimal_places(&text),
    }
}

/// Returns the decimal places of Kubernetes' representation of the quantity `text`.
///
/// These are the written places, adjusted by the suffix. A quantity that does not fit a
/// 64-bit integer has nine.
fn quantity_decimal_places(text: &str) -> i64 {
    const MOST: i64 = 9;
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end).unwrap_or((text, ""));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.trim_start_matches(['+', '-', '0']).len();
    if let Some(power) = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|known| *known == suffix) {
        // Each power of 1024 uses three of the available digits.
        let is_small = fraction.is_empty() && whole + 3 * (power + 1) <= 14;
        return if is_small { 0 } else { MOST };
    }
    let exponent: i64 = match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => suffix.strip_prefix(['e', 'E']).and_then(|exponent| exponent.parse().ok()).unwrap_or(0),
    };
    if whole + fraction.len() > 18 {
        return MOST;
    }
    i64::try_from(fraction.len()).unwrap_or(MOST).saturating_sub(exponent).min(MOST)
}
