//! Numbers, times and lists as a person reads them.

use std::time::Duration;

/// Returns `1 rule`, `2 rules`, `2 policies`.
#[must_use]
pub fn plural(count: usize, word: &str) -> String {
    let number = grouped_digits(count);
    match word.strip_suffix('y') {
        _ if count == 1 => format!("{number} {word}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ => format!("{number} {word}s"),
    }
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

/// Breaks `text` between words into lines of at most `width` characters; a longer word has a line of its own.
pub(crate) fn wrapped_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for word in text.split(' ') {
        let count = word.chars().count();
        match lines.last_mut() {
            Some(line) if length + 1 + count <= width => {
                line.push(' ');
                line.push_str(word);
                length += 1 + count;
            }
            _ => {
                lines.push(word.to_owned());
                length = count;
            }
        }
    }
    lines
}

/// Returns `file` relative to `folder`, where it is below it; otherwise as it is.
pub(crate) fn relative_file<'f>(file: &'f str, folder: &str) -> &'f str {
    let rest = if folder.is_empty() { None } else { file.strip_prefix(folder) };
    let file = rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(file);
    file.strip_prefix("./").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_break_between_words() {
        assert_eq!(wrapped_lines("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrapped_lines("abcdef gh", 3), ["abcdef", "gh"]);
        assert_eq!(wrapped_lines("a  b", 9), ["a  b"]);
    }

    #[test]
    fn relative_file_leaves_other_folders_alone() {
        assert_eq!(relative_file("/src/a/b.yaml", "/src"), "a/b.yaml");
        assert_eq!(relative_file("/srcs/b.yaml", "/src"), "/srcs/b.yaml");
        assert_eq!(relative_file("./b.yaml", ""), "b.yaml");
    }

    #[test]
    fn plural_groups_digits() {
        assert_eq!(plural(1, "object"), "1 object");
        assert_eq!(plural(1_234_567, "object"), "1,234,567 objects");
    }

    #[test]
    fn plural_of_a_word_in_y() {
        assert_eq!(plural(1, "policy"), "1 policy");
        assert_eq!(plural(0, "policy"), "0 policies");
        assert_eq!(plural(2, "day"), "2 days");
    }
}
