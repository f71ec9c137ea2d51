//! Doubles to text as Go's `strconv.FormatFloat` writes them.

/// The most digits after the point that any double has.
const MAX_DIGITS: usize = 1100;

/// Formats `value` with one of Go's verbs `e`, `E`, `f`, `g`, `G`; no precision means the shortest exact text.
#[must_use]
pub fn format_float(value: f64, verb: char, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    // No double has more digits than this; the rest are zeros.
    let zeros = precision.map_or(0, |precision| precision.saturating_sub(MAX_DIGITS));
    let precision = precision.map(|precision| precision.min(MAX_DIGITS));
    let text = match verb {
        'f' | 'F' => match precision {
            Some(precision) => format!("{value:.precision$}{}", "0".repeat(zeros)),
            None => format!("{value}"),
        },
        'e' | 'E' => {
            let form = format_exponent(value, precision);
            let (digits, exponent) = form.split_once('e').unwrap_or((&form, ""));
            format!("{digits}{}e{exponent}", "0".repeat(zeros))
        }
        'x' | 'X' => format_hexadecimal(value),
        'b' => format_binary(value),
        _ => format_general(value, precision),
    };
    if verb.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// The mantissa as an integer, and the power of two that it is multiplied with: `6755399441055744p-51`.
fn format_binary(value: f64) -> String {
    const MANTISSA_BITS: u32 = 52;
    const EXPONENT_BIAS: i64 = 1023;
    let bits = value.to_bits();
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let biased = (bits >> MANTISSA_BITS) & 0x7ff;
    // The leading one is not stored, except that there is none next to zero.
    let (mantissa, biased) =
        if biased == 0 { (mantissa, 1) } else { (mantissa | 1 << MANTISSA_BITS, biased) };
    let exponent = i64::try_from(biased).unwrap_or(0) - EXPONENT_BIAS - i64::from(MANTISSA_BITS);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{mantissa}p{exponent:+}")
}

fn format_exponent(value: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{value:.precision$e}"),
        None => format!("{value:e}"),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{digits}e{sign}{size:0>2}")
}

/// The shorter of the two forms: an exponent below -4 and from the precision on, which is 6 where none is given.
fn format_general(value: f64, precision: Option<usize>) -> String {
    let digits = precision.map(|p| p.max(1));
    let scientific = format_exponent(value, digits.map(|d| d - 1));
    let exponent: i32 = scientific.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    // The shortest form decides as if six digits were requested.
    let limit = i32::try_from(digits.unwrap_or(6)).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit {
        return strip_zeros_exponent(&scientific, precision.is_some());
    }
    match digits {
        None => format!("{value}"),
        Some(_) => {
            let after = limit - 1 - exponent;
            strip_zeros(format!("{value:.*}", usize::try_from(after).unwrap_or(0)))
        }
    }
}

/// Writes the bits of the mantissa: `0x1.8p+01` is 3. The precision is not looked at.
fn format_hexadecimal(value: f64) -> String {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = value.to_bits();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value == 0.0 {
        return format!("{sign}0x0p+00");
    }
    let (mut mantissa, mut exponent) =
        (bits & MANTISSA, i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0) - 1023);
    if exponent == -1023 {
        let shift = mantissa.leading_zeros() - 11;
        mantissa = (mantissa << shift) & MANTISSA;
        exponent = -1022 - i64::from(shift);
    }
    let digits = format!("{mantissa:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}0x1{point}{digits}p{mark}{:02}", exponent.unsigned_abs())
}

fn strip_zeros_exponent(text: &str, strip: bool) -> String {
    match text.split_once('e') {
        Some((mantissa, exponent)) if strip => format!("{}e{exponent}", strip_zeros(mantissa.to_owned())),
        _ => text.to_owned(),
    }
}

fn strip_zeros(mut text: String) -> String {
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}
