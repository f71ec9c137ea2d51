//! The cause of a syntax error, where the text shows a likelier one than the place at which reading ended.
//!
//! A line that is indented wrongly is often taken for the continuation of a text, and a quote that is not closed for a text
//! that ends at the next quote. Both are seen in the lines around the error.

use super::YamlError;
use crate::{ParseProblemKind, Position, Source};

/// How many lines before an error are looked at for a quote that is not closed.
const MAX_QUOTED_LINES: usize = 50;

/// How many lines before an error are looked at for their indentation.
const MAX_INDENTED_LINES: u32 = 200;

/// Returns `error`, with another message and place if `source` shows a likelier cause.
pub(super) fn likely_cause(error: YamlError, source: &Source) -> YamlError {
    if error.kind != ParseProblemKind::Syntax {
        return error;
    }
    let last = error.position.line;
    let mut lines = Vec::new();
    for number in (last.saturating_sub(MAX_INDENTED_LINES).max(1)..=last).rev() {
        let line = source.line(number).unwrap_or_default();
        lines.push(line);
        // The lines of this document.
        if line.starts_with("---") {
            break;
        }
    }
    lines.reverse();
    let cause = unclosed_quote(&lines, error.position).or_else(|| wrong_indentation(&lines, error.position));
    match cause {
        Some((message, position)) => YamlError { message, position, ..error },
        None => error,
    }
}

/// Finds a quote before the last of `lines` that is closed by a quote which opens another text.
fn unclosed_quote(lines: &[&str], at: Position) -> Option<(String, Position)> {
    let (last, before) = lines.split_last()?;
    let reached = usize::try_from(at.column).unwrap_or(0);
    let quote = last.chars().take(reached).find(|character| matches!(character, '"' | '\''))?;
    for (up, line) in before.iter().rev().take(MAX_QUOTED_LINES).enumerate() {
        let count = line.matches(quote).count();
        if count == 0 {
            continue;
        }
        let open = line.rfind(quote).filter(|_| count % 2 == 1)?;
        let starts_value = line.get(..open).is_some_and(|before| before.trim_end().ends_with([':', '-']));
        if !starts_value {
            return None;
        }
        let column = u32::try_from(line.get(..open)?.chars().count()).ok()?.saturating_add(1);
        let line = at.line.checked_sub(u32::try_from(up + 1).ok()?)?;
        let message =
            format!("this quote is not closed in its line, and the next one is in line {}", at.line);
        return Some((message, Position { line, column }));
    }
    None
}

/// Finds that the last of `lines` is a key or a list item that fits the column of none before it.
fn wrong_indentation(lines: &[&str], at: Position) -> Option<(String, Position)> {
    let (last, before) = lines.split_last()?;
    let (indent, _) = entry_of(last)?;
    // Open collections: their columns, and the entry and line that opened them.
    let mut open: Vec<(usize, &str, usize)> = Vec::new();
    let mut is_opening = true;
    for (number, line) in before.iter().enumerate() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') || content.starts_with("---") {
            continue;
        }
        for (column, entry) in entries_of(line) {
            open.retain(|(other, ..)| *other < column);
            open.push((column, entry, number));
        }
        is_opening =
            content.ends_with(':') || matches!(content, "-") || content.ends_with(['|', '>', '[', '{', ',']);
    }
    let &(deepest, name, number) = open.last()?;
    if open.iter().any(|(column, ..)| *column == indent) || (indent > deepest && is_opening) {
        return None;
    }
    let first = at.line.checked_sub(u32::try_from(lines.len() - 1).ok()?)?;
    let line = first.checked_add(u32::try_from(number).ok()?)?;
    let spaces = if indent == 1 { "1 space".to_owned() } else { format!("{indent} spaces") };
    let message = if indent > deepest {
        format!("this line is indented by {spaces}, and `{name}` in line {line} by {deepest}")
    } else {
        let columns: Vec<String> = open.iter().map(|(column, ..)| column.to_string()).collect();
        format!("this line is indented by {spaces}, and the lines above it by {}", columns.join(", "))
    };
    Some((message, Position { line: at.line, column: u32::try_from(indent).ok()?.saturating_add(1) }))
}

/// Returns the column and the name of the key or list item that `line` starts with.
fn entry_of(line: &str) -> Option<(usize, &str)> {
    let content = line.trim_start_matches(' ');
    let column = line.len() - content.len();
    if content == "-" || content.starts_with("- ") {
        return Some((column, "-"));
    }
    let end = content.find(": ").or_else(|| content.trim_end().strip_suffix(':').map(str::len))?;
    let name = content.get(..end)?;
    let is_plain = !name.is_empty() && !name.contains(['"', '\'', ' ', '{', '[', '#']);
    is_plain.then_some((column, name))
}

/// Returns the entries that start in `line`: `- - a: 1` has three.
fn entries_of(line: &str) -> Vec<(usize, &str)> {
    let mut entries = Vec::new();
    let mut rest = line;
    let mut before = 0;
    while let Some((column, name)) = entry_of(rest) {
        entries.push((before + column, name));
        let Some(inner) = rest.get(column + 1..).filter(|_| name == "-") else { break };
        before += column + 1;
        rest = inner;
    }
    entries
}
