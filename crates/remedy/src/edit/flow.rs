//! Collections in brackets, and values that are written in one line.

use kubewright_value::{Step, Value, json, yaml};

use super::Editing;

/// Returns `value` in one line.
pub(super) fn value_text(value: &Value, is_json: bool) -> String {
    if is_json {
        return json::to_string(value);
    }
    match value {
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", key_text(key, false), value_text(value, false)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| value_text(item, false)).collect();
            format!("[{}]", items.join(", "))
        }
        scalar => scalar_text(scalar),
    }
}

/// Returns a key in one line.
pub(super) fn key_text(key: &str, is_json: bool) -> String {
    if is_json { json::quote(key) } else { scalar_text(&key.into()) }
}

fn scalar_text(value: &Value) -> String {
    let text = yaml::write(value);
    let text = text.trim_end_matches('\n');
    // A text of several lines, or with signs that mean something between brackets.
    if text.contains(['\n', ',', '[', ']', '{', '}']) { json::to_string(value) } else { text.to_owned() }
}

impl Editing<'_> {
    /// Puts an entry at the end of the collection at `path`, which is written with brackets and not empty.
    pub(super) fn insert_in_flow(&self, path: &[Step], entry: &str) -> Option<String> {
        let start = self.lines.offset(self.document.locate(path).position)?;
        let length = flow_length(self.lines.rest(start))?;
        let inside = self.lines.rest(start).get(..length - 1)?;
        let end = start + inside.trim_end().len();
        self.lines.spliced(end..end, &format!(", {entry}"))
    }

    /// Removes the entry at `path` from a collection that is written with brackets.
    pub(super) fn remove_from_flow(&self, path: &[Step]) -> Option<String> {
        let start = self.lines.offset(self.document.locate_key(path).position)?;
        let value = self.lines.offset(self.document.locate(path).position)?;
        let end = value + one_line_length(self.lines.rest(value), true)?;
        let behind = self.lines.rest(end);
        let comma = behind.len() - behind.trim_start().len();
        if behind.trim_start().starts_with(',') {
            let rest = self.lines.rest(end + comma + 1);
            let spaces = rest.len() - rest.trim_start_matches(' ').len();
            return self.lines.spliced(start..end + comma + 1 + spaces, "");
        }
        // The last entry takes the comma before it along.
        let before = self.document.source.text.get(..start)?.trim_end();
        let from = before.strip_suffix(',').map_or(start, |before| before.trim_end().len());
        self.lines.spliced(from..end, "")
    }
}

/// Returns how long the value is that `text` begins with and that is written in one line, or in brackets.
pub(super) fn one_line_length(text: &str, is_in_flow: bool) -> Option<usize> {
    let line = text.lines().next().unwrap_or_default();
    match text.chars().next()? {
        '{' | '[' => flow_length(text),
        '"' => quoted_length(line, '"'),
        '\'' => quoted_length(line, '\''),
        '|' | '>' | '&' | '*' | '!' => None,
        _ => {
            let mut length = line.len();
            for (at, _) in line.match_indices('#') {
                if line.get(..at).is_some_and(|before| before.ends_with([' ', '\t'])) {
                    length = at;
                    break;
                }
            }
            let plain = line.get(..length)?;
            let plain = if is_in_flow { plain.split([',', '}', ']']).next()? } else { plain };
            Some(plain.trim_end().len())
        }
    }
}

fn quoted_length(line: &str, quote: char) -> Option<usize> {
    let mut signs = line.char_indices().skip(1).peekable();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' if quote == '"' => {
                signs.next();
            }
            sign if sign == quote => {
                if quote == '\'' && signs.peek().is_some_and(|(_, next)| *next == '\'') {
                    signs.next();
                } else {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns how long the collection in brackets is that `text` begins with.
fn flow_length(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(sign) = text.get(at..)?.chars().next() {
        match sign {
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            '"' | '\'' => {
                at += quoted_length(text.get(at..)?.lines().next()?, sign)?;
                continue;
            }
            // A comment may hold brackets.
            '#' => return None,
            _ => {}
        }
        at += sign.len_utf8();
    }
    None
}
