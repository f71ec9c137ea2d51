//! Words of a shell, for commands that are shown.

/// Returns `text` as one word of a shell.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_of_a_shell_are_quoted_where_they_must_be() {
        assert_eq!(shell_word("rules/a.yaml"), "rules/a.yaml");
        assert_eq!(shell_word("my rules/it's.yaml"), "'my rules/it'\\''s.yaml'");
        assert_eq!(shell_word(""), "''");
    }
}
