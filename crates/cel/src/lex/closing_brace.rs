//! The end of an expression that is embedded in a text as `${…}`.
//!
//! The text is split into tokens exactly as for compiling, so that a brace in a string, a raw string, a
//! triple-quoted string or a comment closes nothing. Invalid tokens are skipped: compiling reports them.

use super::{literal, read_backtick_name, skip_blanks};

/// The reason why the end of an expression was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnclosedExpression {
    /// The text ends before the closing brace.
    End,
    /// The string that starts at this byte has no end.
    String(usize),
    /// At this byte, outside of strings, `${` starts another expression.
    Nested(usize),
}

/// Returns the position of the brace that closes the expression which starts at byte `start` of `text`.
///
/// # Errors
/// When there is none, or another expression starts before it.
pub fn closing_brace(text: &str, start: usize) -> Result<usize, UnclosedExpression> {
    let mut at = start;
    let mut open = 0_usize;
    loop {
        at = skip_blanks(text, at);
        let rest = text.get(at..).unwrap_or_default();
        let Some(first) = rest.chars().next() else { return Err(UnclosedExpression::End) };
        if rest.starts_with("${") {
            return Err(UnclosedExpression::Nested(at));
        }
        match first {
            '{' => open += 1,
            '}' if open == 0 => return Ok(at),
            '}' => open -= 1,
            _ => {}
        }
        at += first_token_length(rest, first).ok_or(UnclosedExpression::String(at))?;
    }
}

/// Returns the length of the first token of `rest` in bytes; nothing for an unterminated string.
fn first_token_length(rest: &str, first: char) -> Option<usize> {
    if let Some(length) = literal::string_literal_length(rest) {
        return length;
    }
    Some(match first {
        'a'..='z' | 'A'..='Z' | '_' => {
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
        }
        '0'..='9' => literal::number_literal_length(rest),
        '`' => read_backtick_name(rest).map_or(1, |(_, length)| length),
        other => other.len_utf8(),
    })
}
