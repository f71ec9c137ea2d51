//! Doubles to text as Go's `strconv.FormatFloat` writes them.

/// Formats `value` with one of Go's verbs `e`, `E`, `f`, `g`, `G`; no precision means the shortest exact text.
pub(super) fn format(value: f64, verb: char, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let text = match verb {
        'f' | 'F' => match precision {
            Some(precision) => format!("{value:.precision$}"),
            None => format!("{value}"),
        },
        'e' | 'E' => exponent_form(value, precision),
        _ => general(value, precision),
    };
    if verb.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

fn exponent_form(value: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{value:.precision$e}"),
        None => format!("{value:e}"),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{digits}e{sign}{size:0>2}")
}

/// The shorter of the two forms: an exponent below -4 and from the precision on, which is 6 where none is given.
fn general(value: f64, precision: Option<usize>) -> String {
    let digits = precision.map(|p| p.max(1));
    let scientific = exponent_form(value, digits.map(|d| d - 1));
    let exponent: i32 = scientific.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    // The shortest form decides as if six digits were asked for.
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
