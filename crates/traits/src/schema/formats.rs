//! The text formats that the API server checks. As there, an unknown format is not checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kubewright_value::duration::Duration;

/// Returns whether `text` has the format; true for a format that is not known.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "date" => is_calendar_date(text),
        "datetime" | "date-time" => is_date_time(text),
        "duration" => Duration::parse(text).is_ok(),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "mac" => is_mac(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(text),
        "uri" => is_uri(text),
        "byte" => is_base64(text),
        _ => true,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    is_digits(bits, 1..=3) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn is_calendar_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let &[year, month, day] = parts.as_slice() else { return false };
    if !(is_digits(year, 4..=4) && is_digits(month, 2..=2) && is_digits(day, 2..=2)) {
        return false;
    }
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let (year, month, day) = (number(year), number(month), number(day));
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let time = match time.strip_suffix(['Z', 'z']) {
        Some(time) => time,
        None => match time.rfind(['+', '-']).map(|at| time.split_at(at)) {
            Some((time, zone)) if is_clock_time(zone.get(1..).unwrap_or_default(), 2) => time,
            _ => return false,
        },
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    is_calendar_date(date) && is_clock_time(clock, 3) && is_digits(fraction, 1..=18)
}

/// Hours, minutes and perhaps seconds with two digits each.
fn is_clock_time(text: &str, parts: usize) -> bool {
    let limits = [24, 60, 61];
    let found: Vec<&str> = text.split(':').collect();
    found.len() == parts
        && found.iter().zip(limits).all(|(part, limit)| {
            is_digits(part, 2..=2) && part.parse::<u32>().is_ok_and(|number| number < limit)
        })
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let is_name =
        !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || matches!(c, '<' | '>' | '@'));
    is_name && is_hostname(host)
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    text.len() <= 255 && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8) && parts.iter().all(|part| part.len() == 2 && is_hex(part))
}

/// With or without hyphens, as the API server has it.
fn is_uuid(text: &str) -> bool {
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    let is_grouped = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    hex.len() == 32 && is_hex(&hex) && (is_grouped || text.len() == 32)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return text.starts_with('/') };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme && !rest.is_empty() && !rest.chars().any(char::is_whitespace)
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_body = body.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/'));
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && is_body
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_digits(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}
