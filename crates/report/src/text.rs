//! Numbers, times and lists as a person reads them.

use std::time::Duration;

/// Returns `1 rule`, `2 rules`.
#[must_use]
pub fn plural(count: usize, word: &str) -> String {
    format!("{} {word}{}", grouped_digits(count), if count == 1 { "" } else { "s" })
}

/// Returns a number with commas between groups of three digits.
#[must_use]
pub fn grouped_digits(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a time as a person wants to read it.
#[must_use]
pub fn elapsed_text(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        0..1000 => format!("{} ms", elapsed.as_millis()),
        _ => format!("{:.2} s", elapsed.as_secs_f64()),
    }
}

/// Returns all of `paths`, each in backticks.
#[must_use]
pub fn listed_paths(paths: &[String]) -> String {
    let name = |path: &String| match path.as_str() {
        "-" => "standard input".to_owned(),
        path => format!("`{path}`"),
    };
    paths.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plural_groups_digits() {
        assert_eq!(plural(1, "object"), "1 object");
        assert_eq!(plural(1_234_567, "object"), "1,234,567 objects");
    }
}
