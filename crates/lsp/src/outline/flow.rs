//! Flow collections: `{a: b, c: [d]}`, also while they are being written and are not closed.

use std::ops::Range;

use kubewright_value::Step;

use super::{LinePiece, OutlineEntry, closing_quote, piece};
use crate::encoding::{to_u32, to_usize};

/// A flow collection that is the value of an entry, with everything in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FlowRange {
    /// The way to it.
    path: Vec<Step>,
    /// Where it starts: the line and the byte in it.
    start: (u32, usize),
    /// The last line of it.
    last_line: u32,
}

/// What may be written at a place inside of a flow collection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FlowPlace {
    /// A key of the mapping at this path.
    Key(Vec<Step>),
    /// The value at this path.
    Value(Vec<Step>),
}

/// A collection that is open while its text is read.
struct FlowLevel {
    path: Vec<Step>,
    is_mapping: bool,
    /// The key or the index that comes next or is being read; nothing before a key.
    step: Option<Step>,
    /// Whether the colon after the key was read.
    has_colon: bool,
}

/// The text of a flow collection while it is read.
pub(super) struct FlowReader<'t> {
    lines: &'t [&'t str],
    line: usize,
    byte: usize,
    /// The line and the byte where reading ends before the collection does.
    stop: Option<(usize, usize)>,
    levels: Vec<FlowLevel>,
    /// The entries that were read.
    pub(super) entries: Vec<OutlineEntry>,
}

impl FlowRange {
    /// Returns its last line.
    pub(super) fn last_line(&self) -> u32 {
        self.last_line
    }

    /// Returns what may be written at a byte of a line; nothing for a place outside of it.
    pub(crate) fn place_at(&self, lines: &[&str], line: u32, byte: usize) -> Option<FlowPlace> {
        let (first, start) = self.start;
        let is_inside = (first..=self.last_line).contains(&line) && (line > first || byte > start);
        if !is_inside {
            return None;
        }
        let mut reader = FlowReader::new(lines, (to_usize(first), start));
        reader.stop = Some((to_usize(line), byte));
        reader.read(&self.path, None);
        let level = reader.levels.pop()?;
        let FlowLevel { mut path, is_mapping, step, has_colon } = level;
        if is_mapping && !has_colon {
            return Some(FlowPlace::Key(path));
        }
        path.extend(step);
        Some(FlowPlace::Value(path))
    }
}

impl<'t> FlowReader<'t> {
    /// Starts at the bracket at a byte of a line.
    pub(super) fn new(lines: &'t [&'t str], (line, byte): (usize, usize)) -> Self {
        Self { lines, line, byte, stop: None, levels: Vec::new(), entries: Vec::new() }
    }

    /// Reads the collection, whose further lines are indented deeper than `parent`. What is not closed ends with its
    /// first line: what follows is not part of it.
    pub(super) fn collection(
        mut self,
        path: &[Step],
        parent: Option<usize>,
    ) -> (FlowRange, Vec<OutlineEntry>) {
        let start = (to_u32(self.line), self.byte);
        let is_closed = self.read(path, parent);
        let last_line = if is_closed { to_u32(self.line) } else { start.0 };
        let range = FlowRange { path: path.to_vec(), start, last_line };
        self.entries.retain(|entry| entry.line <= last_line);
        (range, self.entries)
    }

    /// Reads on until the collection is closed, and returns whether it is.
    fn read(&mut self, path: &[Step], parent: Option<usize>) -> bool {
        while self.next_text(parent) && !self.is_stopped() {
            match self.rest().chars().next() {
                Some(open @ ('{' | '[')) => self.open(open == '{', path),
                Some('}' | ']') => {
                    self.levels.pop();
                    self.byte += 1;
                    if self.levels.is_empty() {
                        return true;
                    }
                }
                Some(',') => self.separate(),
                Some(':') => {
                    self.byte += 1;
                    self.levels.last_mut().into_iter().for_each(|level| level.has_colon = true);
                }
                _ => {
                    if !self.scalar() {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// Goes to the next text, in this line or one after it, and returns whether there is one.
    fn next_text(&mut self, parent: Option<usize>) -> bool {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let text = rest.trim_start();
            let is_comment = text.starts_with('#') && blank > 0;
            if !text.is_empty() && !is_comment {
                self.byte += blank;
                return true;
            }
            if self.stop.is_some_and(|(line, _)| line <= self.line) {
                return false;
            }
            (self.line, self.byte) = (self.line + 1, 0);
            let Some(next) = self.lines.get(self.line) else { return false };
            let column = next.len() - next.trim_start_matches(' ').len();
            let is_closing = next.trim_start().starts_with(['}', ']']);
            let is_outside =
                parent.is_some_and(|parent| column < parent || (column == parent && !is_closing));
            if is_outside && !next.trim().is_empty() {
                return false;
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| (self.line, self.byte) >= stop)
    }

    fn rest(&self) -> &'t str {
        self.lines.get(self.line).and_then(|line| line.get(self.byte..)).unwrap_or_default()
    }

    fn open(&mut self, is_mapping: bool, path: &[Step]) {
        let path = match self.levels.last() {
            Some(level) => level.path.iter().cloned().chain(level.step.clone()).collect(),
            None => path.to_vec(),
        };
        let step = (!is_mapping).then_some(Step::Index(0));
        self.levels.push(FlowLevel { path, is_mapping, step, has_colon: false });
        self.byte += 1;
    }

    fn separate(&mut self) {
        self.byte += 1;
        if let Some(level) = self.levels.last_mut() {
            level.has_colon = false;
            level.step = match &level.step {
                Some(Step::Index(index)) => Some(Step::Index(index + 1)),
                _ => None,
            };
        }
    }

    /// Reads a key, a value or an item, and returns whether reading goes on after it.
    fn scalar(&mut self) -> bool {
        let rest = self.rest();
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (range, end) = match quote {
            Some(quote) => {
                let end = closing_quote(rest, 1, quote);
                (1..end.unwrap_or(rest.len()), end.map_or(rest.len(), |end| end + 1))
            }
            None => {
                let end = plain_length(rest);
                (0..rest.get(..end).unwrap_or_default().trim_end().len(), end)
            }
        };
        let range = self.byte + range.start..self.byte + range.end;
        self.byte += end;
        if self.stop.is_some_and(|stop| (self.line, self.byte) >= stop) {
            return false;
        }
        self.take(range);
        true
    }

    /// Adds what was read at `range` of the line.
    fn take(&mut self, range: Range<usize>) {
        let line = self.lines.get(self.line).copied().unwrap_or_default();
        let number = self.line;
        let Some(level) = self.levels.last_mut() else { return };
        if level.is_mapping && !level.has_colon {
            let name = line.get(range.clone()).unwrap_or_default();
            let step = Step::from(name);
            let path = level.path.iter().cloned().chain([step.clone()]).collect();
            level.step = Some(step);
            self.entries.push(entry(path, number, range, Vec::new()));
        } else if level.is_mapping {
            if let Some(last) = self.entries.last_mut() {
                last.value.push(piece(number, range));
                last.last_line = to_u32(number);
            }
        } else {
            let path = level.path.iter().cloned().chain(level.step.clone()).collect();
            self.entries.push(entry(path, number, range.start..range.start, vec![piece(number, range)]));
        }
    }
}

fn entry(path: Vec<Step>, line: usize, key: Range<usize>, value: Vec<LinePiece>) -> OutlineEntry {
    let line = to_u32(line);
    OutlineEntry { path, line, key, value, last_line: line, is_flow: true }
}

/// Returns the length of a plain scalar that a text starts with; at least 1.
fn plain_length(text: &str) -> usize {
    let ends = |(at, one): (usize, char)| {
        let rest = text.get(at + one.len_utf8()..).unwrap_or_default();
        match one {
            ',' | '[' | ']' | '{' | '}' => true,
            ':' => rest.is_empty() || rest.starts_with([' ', ',', ']', '}', '[', '{']),
            ' ' => rest.starts_with('#'),
            _ => false,
        }
    };
    let end = text.char_indices().skip(1).find(|one| ends(*one)).map(|(at, _)| at);
    end.unwrap_or(text.len())
}
