//! The check of each named format, with Kubernetes' own messages.

use kubewright_golib::url;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

pub(super) fn check_dns1123_label(text: &str) -> Vec<String> {
    let mut wrong = check_length(text, 63, "characters");
    if is_dns1123_label(text) {
        return wrong;
    }
    wrong.push(if is_dns1123_subdomain(text) {
        "must not contain dots".to_owned()
    } else {
        let what = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                    and must start and end with an alphanumeric character";
        pattern_mismatch_message(what, LABEL, &["my-name", "123-abc"])
    });
    wrong
}

pub(super) fn check_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut wrong = check_length(text, 253, "characters");
    if !is_dns1123_subdomain(text) {
        let what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                    '-' or '.', and must start and end with an alphanumeric character";
        wrong.push(pattern_mismatch_message(what, &format!("{LABEL}(\\.{LABEL})*"), &["example.com"]));
    }
    wrong
}

pub(super) fn check_dns1035_label(text: &str) -> Vec<String> {
    let mut wrong = check_length(text, 63, "characters");
    if !(is_dns1123_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())) {
        let what = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with \
                    an alphabetic character, and end with an alphanumeric character";
        wrong.push(pattern_mismatch_message(what, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    wrong
}

pub(super) fn check_qualified_name(text: &str) -> Vec<String> {
    let unlike_key = || {
        let what = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                    an alphanumeric character";
        pattern_mismatch_message(what, KEY, &["MyName", "my.name", "123-abc"])
    };
    let mut wrong = Vec::new();
    let name = match text.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                unlike_key()
            )];
        }
        Some(("", name)) => {
            wrong.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            wrong.extend(
                check_dns1123_subdomain(prefix).into_iter().map(|message| format!("prefix part {message}")),
            );
            name
        }
        None => text,
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    wrong.extend(check_length(name, 63, "bytes").into_iter().map(|message| format!("name part {message}")));
    if !is_qualified_key(name) {
        wrong.push(format!("name part {}", unlike_key()));
    }
    wrong
}

pub(super) fn check_label_value(text: &str) -> Vec<String> {
    let mut wrong = check_length(text, 63, "bytes");
    if !text.is_empty() && !is_qualified_key(text) {
        let what = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' \
                    or '.', and must start and end with an alphanumeric character";
        wrong.push(pattern_mismatch_message(what, &format!("({KEY})?"), &["MyValue", "my_value", "12345"]));
    }
    wrong
}

pub(super) fn check_uri(text: &str) -> Vec<String> {
    let wrong = url::check_request(text).err();
    wrong.map(|reason| format!("parse {text:?}: {reason}")).into_iter().collect()
}

pub(super) fn check_uuid(text: &str) -> Vec<String> {
    let mut rest = Some(text);
    for (place, size) in [8_usize, 4, 4, 4, 12].into_iter().enumerate() {
        rest = rest.and_then(|text| {
            let text = if place > 0 { text.strip_prefix('-').unwrap_or(text) } else { text };
            let (digits, rest) = text.split_at_checked(size)?;
            digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(rest)
        });
    }
    message_unless(rest == Some(""), "does not match the UUID format")
}

/// Checks base64 with padding, of at least one group of four characters.
pub(super) fn check_base64(text: &str) -> Vec<String> {
    let digits = text.trim_end_matches('=');
    let is_fine = !digits.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    message_unless(is_fine, "invalid base64")
}

pub(super) fn check_date(text: &str) -> Vec<String> {
    message_unless(is_rfc3339_date(text), "invalid date")
}

/// Checks a date, a `t`, a time and a zone. Text behind a second `t` is ignored.
pub(super) fn check_date_time(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let is_fine = parts.next().is_some_and(is_rfc3339_date) && parts.next().is_some_and(is_rfc3339_time);
    message_unless(is_fine, "invalid datetime")
}

fn is_rfc3339_date(text: &str) -> bool {
    kubewright_golib::time::parse_time("2006-01-02", text).is_ok()
}

/// Returns whether `text` is `23:59:59`, a fraction or none, and `z` or an offset.
fn is_rfc3339_time(text: &str) -> bool {
    let two =
        |text: &str, most: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()) && text <= most;
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    let mut parts = clock.split(':');
    let mut part = |most| parts.next().is_some_and(|part| two(part, most));
    if !(part("23") && part("59") && part("59")) {
        return false;
    }
    let is_zone = |zone: &str| {
        let offset = zone.strip_prefix(['+', '-']).and_then(|offset| offset.split_once(':'));
        zone == "z" || offset.is_some_and(|(hours, minutes)| two(hours, "99") && two(minutes, "99"))
    };
    // Kubernetes accepts any character before the digits of a fraction.
    let mut behind = rest.chars();
    let has_separator = behind.next().is_some_and(|c| c != '\n');
    let digits = behind.as_str();
    let zone = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    is_zone(rest) || (has_separator && zone.len() < digits.len() && is_zone(zone))
}

/// Returns a name prefix as a complete name: a trailing hyphen is allowed, since a suffix follows it.
pub(super) fn complete_name_prefix(text: &str) -> String {
    let Some(start) = text.strip_suffix('-').filter(|start| !start.is_empty()) else {
        return text.to_owned();
    };
    // Kubernetes replaces the last two bytes by `a`, so the character before the hyphen is not checked.
    let kept = start.strip_suffix(|c: char| c.is_ascii()).unwrap_or(start);
    format!("{kept}a")
}

fn is_dns1123_label(text: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    text.bytes().all(is_inner) && !text.is_empty() && !text.starts_with('-') && !text.ends_with('-')
}

fn is_dns1123_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns1123_label)
}

fn is_qualified_key(text: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let is_end = |c: char| c.is_ascii_alphanumeric();
    text.bytes().all(is_inner) && text.starts_with(is_end) && text.ends_with(is_end)
}

/// Returns an error if `text` is longer than `most` bytes; Kubernetes' message calls them `units`.
fn check_length(text: &str, most: usize, units: &str) -> Vec<String> {
    if text.len() > most { vec![format!("must be no more than {most} {units}")] } else { Vec::new() }
}

fn message_unless(is_fine: bool, message: &str) -> Vec<String> {
    if is_fine { Vec::new() } else { vec![message.to_owned()] }
}

fn pattern_mismatch_message(what: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{what} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}
