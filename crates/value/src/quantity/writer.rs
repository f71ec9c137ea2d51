//! A quantity as text.

use std::fmt;

use super::{Quantity, QuantityFormat};

/// Up to which scale zeros are written out, where only they could say how large a number is.
const WRITTEN_OUT: i64 = 64;

/// As Kubernetes writes it: no fraction, and the largest suffix that allows this.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = &self.written {
            return f.write_str(written);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        match (self.format, self.binary()) {
            (QuantityFormat::Binary, Some((number, suffix))) => write!(f, "{number}{suffix}"),
            (QuantityFormat::Exponent, _) => self.write_exponent(f),
            _ if self.scale > WRITTEN_OUT => self.write_exponent(f),
            _ => self.write_decimal(f),
        }
    }
}

impl Quantity {
    /// Returns the number without a suffix, such as `0.1` or `1024`.
    ///
    /// A number of absurd size keeps an exponent.
    #[must_use]
    pub fn to_decimal(&self) -> String {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let digits = self.mantissa.unsigned_abs().to_string();
        if self.scale > WRITTEN_OUT {
            return format!("{sign}{digits}e{}", self.scale);
        }
        if let Ok(zeros) = usize::try_from(self.scale) {
            return format!("{sign}{digits}{}", "0".repeat(zeros));
        }
        let places = usize::try_from(self.scale.unsigned_abs()).unwrap_or(usize::MAX).min(64);
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = padded.split_at_checked(padded.len() - places).unwrap_or((&padded, ""));
        format!("{sign}{whole}.{fraction}")
    }

    /// Returns the number and the suffix in powers of 1024, if it is an integer of at least 1024.
    fn binary(&self) -> Option<(i128, &'static str)> {
        let mut number = self.at_scale(0).filter(|number| number.unsigned_abs() >= 1024)?;
        let mut suffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
        let mut suffix = "";
        while number % 1024 == 0 {
            let Some(next) = suffixes.next() else { break };
            number /= 1024;
            suffix = next;
        }
        Some((number, suffix))
    }

    fn write_exponent(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scale - self.scale.rem_euclid(3) {
            0 => self.write_number(0, f),
            scale => {
                self.write_number(scale, f)?;
                write!(f, "e{scale}")
            }
        }
    }

    fn write_decimal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // These are all suffixes; the number takes up the rest.
        let scale = (self.scale - self.scale.rem_euclid(3)).clamp(-9, 18);
        let suffix = match scale {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        };
        self.write_number(scale, f)?;
        f.write_str(suffix)
    }

    /// Writes how many times `10^scale` this is, which is an integer.
    fn write_number(&self, scale: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.mantissa)?;
        (scale..self.scale).try_for_each(|_| f.write_str("0"))
    }
}
