//! Paths of values as messages show them.

use std::fmt::Write as _;

use crate::{Step, json};

/// A way to write a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStyle {
    /// `metadata.labels["a.b/c"].list[0]`: a key that is not a word is a JSON string in brackets, as in CEL and JSONPath.
    Quoted,
    /// `metadata.labels[a.b/c].list[0]`: a key that is not a word is in brackets, as in field errors of the API server.
    FieldPath,
    /// `metadata.labels.a.b/c.list[0]`: keys are written as they are.
    Dotted,
    /// `metadata.labels.a\.b/c.list[0]`: a dot in a key has a backslash, as on command lines.
    Escaped,
}

/// Returns `path` in `style`; empty for the value itself.
#[must_use]
pub fn path_text(path: &[Step], style: PathStyle) -> String {
    let mut text = String::new();
    write_path(&mut text, path, style);
    text
}

/// Appends `path` in `style` to `out`, with a dot between them where `out` is not empty.
pub fn write_path(out: &mut String, path: &[Step], style: PathStyle) {
    for step in path {
        // Writing to a string cannot fail.
        let _ = match (step, style) {
            (Step::Index(index), _) => write!(out, "[{index}]"),
            (Step::Key(key), PathStyle::Quoted) if key.is_empty() || !is_word(key) => {
                write!(out, "[{}]", json::quote(key))
            }
            (Step::Key(key), PathStyle::FieldPath) if !is_word(key) => write!(out, "[{key}]"),
            (Step::Key(key), _) => {
                if !out.is_empty() {
                    out.push('.');
                }
                match style {
                    PathStyle::Escaped => out.push_str(&key.replace('.', "\\.")),
                    _ => out.push_str(key),
                }
                Ok(())
            }
        };
    }
}

fn is_word(key: &str) -> bool {
    key.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_text_writes_each_style() {
        let path: [Step; 5] = ["metadata".into(), "labels".into(), "a.b/c".into(), "list".into(), 0.into()];
        for (style, want) in [
            (PathStyle::Quoted, "metadata.labels[\"a.b/c\"].list[0]"),
            (PathStyle::FieldPath, "metadata.labels[a.b/c].list[0]"),
            (PathStyle::Dotted, "metadata.labels.a.b/c.list[0]"),
            (PathStyle::Escaped, "metadata.labels.a\\.b/c.list[0]"),
        ] {
            assert_eq!(path_text(&path, style), want);
        }
    }

    #[test]
    fn path_text_of_the_value_itself_is_empty() {
        assert_eq!(path_text(&[], PathStyle::Quoted), "");
    }

    #[test]
    fn path_text_quotes_an_empty_key() {
        assert_eq!(path_text(&["a".into(), "".into()], PathStyle::Quoted), "a[\"\"]");
    }

    #[test]
    fn write_path_continues_a_text() {
        let mut out = "variables".to_owned();
        write_path(&mut out, &["a".into(), 1.into()], PathStyle::Dotted);
        assert_eq!(out, "variables.a[1]");
    }
}
