//! The structure of a YAML text by its lines, which is known also while the text is being written and is no YAML.
//!
//! Lines count from 0 and columns are bytes.

mod flow;

use std::ops::Range;

use kubewright_value::Step;

pub(crate) use flow::FlowPlace;
use flow::{FlowRange, FlowReader};

/// The entries of a text, in its order.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Every key and every plain item of a list.
    pub(crate) entries: Vec<OutlineEntry>,
    /// The flow collections that are in no other one.
    flows: Vec<FlowRange>,
}

/// A key with its value, or a plain item of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutlineEntry {
    /// The way to it.
    pub(crate) path: Vec<Step>,
    /// The line of the key.
    pub(crate) line: u32,
    /// The key in its line, without quotes; empty for an item.
    pub(crate) key: Range<usize>,
    /// The lines of a scalar, without quotes and indentation; empty for an entry with entries below it.
    pub(crate) value: Vec<LinePiece>,
    /// The last line of the entry and everything below it.
    pub(crate) last_line: u32,
    /// Whether it is inside of a flow collection.
    pub(crate) is_flow: bool,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinePiece {
    /// The line.
    pub(crate) line: u32,
    /// The bytes in it.
    pub(crate) range: Range<usize>,
}

/// A level of nesting while lines are read.
struct OutlineLevel {
    column: usize,
    step: Step,
}

/// Lines while they are read.
struct OutlineReader<'t> {
    lines: Vec<&'t str>,
    levels: Vec<OutlineLevel>,
    entries: Vec<OutlineEntry>,
    flows: Vec<FlowRange>,
}

impl Outline {
    /// Reads the lines of `text`.
    pub(crate) fn of(text: &str) -> Self {
        let mut reader = OutlineReader {
            lines: text.lines().collect(),
            levels: Vec::new(),
            entries: Vec::new(),
            flows: Vec::new(),
        };
        let mut line = 0;
        while line < reader.lines.len() {
            line = reader.read_line(line);
        }
        let mut entries = reader.entries;
        close_entries(&mut entries);
        Self { entries, flows: reader.flows }
    }

    /// Returns the text of a top-level key; empty where there is none.
    pub(crate) fn text_at<'t>(&self, text: &'t str, key: &str) -> &'t str {
        let wanted = [Step::from(key)];
        let Some(entry) = self.entries.iter().find(|entry| entry.path == wanted) else { return "" };
        entry.value.first().map_or("", |piece| piece.text(text))
    }

    /// Returns the entry that `line` belongs to, outside of flow collections: the last one that begins there or before it.
    pub(crate) fn entry_at(&self, line: u32) -> Option<&OutlineEntry> {
        let count = self.entries.partition_point(|entry| entry.line <= line);
        self.entries.get(..count)?.iter().rfind(|entry| !entry.is_flow)
    }

    /// Returns the entry whose key is at a byte of a line.
    pub(crate) fn key_at(&self, line: u32, byte: usize) -> Option<&OutlineEntry> {
        let first = self.entries.partition_point(|entry| entry.line < line);
        let mut own = self.entries.get(first..)?.iter().take_while(|entry| entry.line == line);
        own.find(|entry| !entry.key.is_empty() && (entry.key.start..=entry.key.end).contains(&byte))
    }

    /// Returns what may be written at a byte of a line of `text`; nothing for a place outside of flow collections.
    pub(crate) fn flow_place(&self, text: &str, line: u32, byte: usize) -> Option<FlowPlace> {
        let lines: Vec<&str> = text.lines().collect();
        self.flows.iter().find_map(|flow| flow.place_at(&lines, line, byte))
    }

    /// Returns the way to the mapping in which a key at `column` of `line` would be.
    pub(crate) fn parent_path(&self, line: u32, column: usize) -> Vec<Step> {
        let before = self.entries.iter().rev().filter(|entry| entry.line < line && !entry.is_flow);
        let mut limit = column;
        for entry in before {
            if entry.key.is_empty() {
                continue;
            }
            if entry.key.start < limit {
                return entry.path.clone();
            }
            if entry.key.start == column {
                let mut path = entry.path.clone();
                path.pop();
                return path;
            }
            limit = limit.min(entry.key.start.saturating_add(1));
        }
        Vec::new()
    }
}

impl LinePiece {
    /// Returns its text.
    pub(crate) fn text<'t>(&self, text: &'t str) -> &'t str {
        let line = text.lines().nth(crate::encoding::to_usize(self.line)).unwrap_or_default();
        line.get(self.range.clone()).unwrap_or_default()
    }
}

impl OutlineReader<'_> {
    /// Reads the line at `number`, and those that its scalar goes on in. Returns the next one to read.
    fn read_line(&mut self, number: usize) -> usize {
        let line = self.lines.get(number).copied().unwrap_or_default();
        let mut column = line.len() - line.trim_start_matches(' ').len();
        if is_blank(line) || line.starts_with("---") || line.starts_with("...") || line.starts_with('%') {
            return number + 1;
        }
        let mut scalar_parent = column;
        while let Some(rest) = line.get(column..).and_then(after_dash) {
            self.open_item(column);
            scalar_parent = column;
            column = line.len() - rest.trim_start_matches(' ').len();
        }
        let rest = line.get(column..).unwrap_or_default();
        if rest.is_empty() {
            return number + 1;
        }
        match split_key(rest) {
            Some((key, value)) => {
                let key = column + key.start..column + key.end;
                let name = line.get(key.clone()).unwrap_or_default();
                self.open_key(column, name);
                self.push(number, key, column + value, column)
            }
            None => self.push(number, column..column, column, scalar_parent),
        }
    }

    fn open_item(&mut self, column: usize) {
        let mut index = 0;
        while let Some(level) = self.levels.last() {
            match &level.step {
                _ if level.column > column => {}
                Step::Index(earlier) if level.column == column => index = earlier + 1,
                _ => break,
            }
            self.levels.pop();
        }
        self.levels.push(OutlineLevel { column, step: Step::Index(index) });
    }

    fn open_key(&mut self, column: usize, name: &str) {
        while self.levels.last().is_some_and(|level| level.column >= column) {
            self.levels.pop();
        }
        self.levels.push(OutlineLevel { column, step: Step::from(name) });
    }

    /// Adds an entry whose value starts at `column`. Its scalar goes on in lines that are indented deeper than `parent`.
    fn push(&mut self, number: usize, key: Range<usize>, column: usize, parent: usize) -> usize {
        if let Some(start) = self.flow_start(number, column) {
            return self.push_flow(number, key, start, parent);
        }
        let (value, next) = self.scalar(number, column, parent);
        self.push_entry(number, key, value, next);
        next
    }

    fn push_entry(&mut self, number: usize, key: Range<usize>, value: Vec<LinePiece>, next: usize) {
        self.entries.push(OutlineEntry {
            path: self.levels.iter().map(|level| level.step.clone()).collect(),
            line: crate::encoding::to_u32(number),
            key,
            value,
            last_line: crate::encoding::to_u32(next.saturating_sub(1)),
            is_flow: false,
        });
    }

    /// Returns where the value at `column` is a flow collection. Two braces are an expression that lacks its quotes.
    fn flow_start(&self, number: usize, column: usize) -> Option<usize> {
        let rest = self.lines.get(number)?.get(column..)?;
        let text = rest.trim_start();
        let is_flow = text.starts_with('[') || (text.starts_with('{') && !text.starts_with("{{"));
        is_flow.then(|| column + rest.len() - text.len())
    }

    /// Adds an entry whose value is a flow collection, and the entries in it.
    fn push_flow(&mut self, number: usize, key: Range<usize>, start: usize, parent: usize) -> usize {
        let path: Vec<Step> = self.levels.iter().map(|level| level.step.clone()).collect();
        // The whole document may be one, as JSON is.
        let parent = (!path.is_empty()).then_some(parent);
        let (range, entries) = FlowReader::new(&self.lines, (number, start)).collection(&path, parent);
        let next = crate::encoding::to_usize(range.last_line()) + 1;
        self.push_entry(number, key, Vec::new(), next);
        self.entries.extend(entries);
        self.flows.push(range);
        next
    }

    fn scalar(&self, number: usize, column: usize, parent: usize) -> (Vec<LinePiece>, usize) {
        let line = self.lines.get(number).copied().unwrap_or_default();
        let rest = line.get(column..).unwrap_or_default();
        let start = column + rest.len() - rest.trim_start().len();
        let rest = line.get(start..).unwrap_or_default();
        match rest.chars().next() {
            None | Some('#') => (Vec::new(), number + 1),
            Some('|' | '>') => self.block(number, parent),
            Some(quote @ ('"' | '\'')) => self.quoted(number, start + 1, quote),
            Some(_) => {
                let end = start + rest.find(" #").unwrap_or(rest.len());
                let end = start + line.get(start..end).unwrap_or_default().trim_end().len();
                (vec![piece(number, start..end)], number + 1)
            }
        }
    }

    /// Returns the lines of a block scalar, which are indented deeper than `parent`.
    fn block(&self, number: usize, parent: usize) -> (Vec<LinePiece>, usize) {
        let mut pieces = Vec::new();
        let mut next = number + 1;
        let mut indent = None;
        while let Some(line) = self.lines.get(next) {
            let column = line.len() - line.trim_start_matches(' ').len();
            if !line.trim().is_empty() {
                if column <= parent && !(parent == 0 && column > 0) {
                    break;
                }
                let indent = *indent.get_or_insert(column);
                pieces.push(piece(next, indent.min(column)..line.trim_end().len()));
            }
            next += 1;
        }
        // Blank lines after it belong to nothing.
        let last = pieces.last().map_or(number, |piece| crate::encoding::to_usize(piece.line));
        (pieces, last + 1)
    }

    fn quoted(&self, number: usize, start: usize, quote: char) -> (Vec<LinePiece>, usize) {
        let mut pieces = Vec::new();
        let mut from = start;
        for (offset, line) in self.lines.iter().skip(number).enumerate() {
            let at = number + offset;
            if let Some(end) = closing_quote(line, from, quote) {
                pieces.push(piece(at, from..end));
                return (pieces, at + 1);
            }
            pieces.push(piece(at, from..line.len()));
            from = self.lines.get(at + 1).map_or(0, |line| line.len() - line.trim_start().len());
        }
        // The quote is not closed yet: what follows is not part of it.
        pieces.truncate(1);
        (pieces, number + 1)
    }
}

fn piece(line: usize, range: Range<usize>) -> LinePiece {
    LinePiece { line: crate::encoding::to_u32(line), range }
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Returns what follows the dash of an item.
fn after_dash(rest: &str) -> Option<&str> {
    rest.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns where the key is and where its value starts.
fn split_key(rest: &str) -> Option<(Range<usize>, usize)> {
    if let Some(quote) = rest.chars().next().filter(|first| matches!(first, '"' | '\'')) {
        let end = closing_quote(rest, 1, quote)?;
        let after = rest.get(end + 1..)?;
        return after.starts_with(':').then_some((1..end, end + 2));
    }
    if rest.starts_with(['{', '[', '#', '&', '*', '!', '|', '>', '?']) {
        return None;
    }
    let mut from = 0;
    loop {
        let at = from + rest.get(from..)?.find(':')?;
        let after = rest.get(at + 1..)?;
        if after.is_empty() || after.starts_with(' ') {
            let is_comment = rest.get(..at)?.contains(" #");
            return (!is_comment).then_some((0..at, at + 1));
        }
        from = at + 1;
    }
}

fn closing_quote(line: &str, from: usize, quote: char) -> Option<usize> {
    let mut characters = line.get(from..)?.char_indices().peekable();
    while let Some((at, one)) = characters.next() {
        if one == '\\' && quote == '"' {
            characters.next();
        } else if one == quote {
            if quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') {
                characters.next();
                continue;
            }
            return Some(from + at);
        }
    }
    None
}

/// Extends the last line of each entry over the entries below it.
fn close_entries(entries: &mut [OutlineEntry]) {
    let mut open: Vec<(Vec<Step>, u32)> = Vec::new();
    for entry in entries.iter_mut().rev() {
        let mut last = entry.last_line;
        while let Some((path, line)) = open.last() {
            if path.len() > entry.path.len() && path.starts_with(&entry.path) {
                last = last.max(*line);
                open.pop();
            } else {
                break;
            }
        }
        entry.last_line = last;
        open.push((entry.path.clone(), last));
    }
}

#[cfg(test)]
mod tests;
