//! The origin of values: files, positions, documents, and their problems.
//!
//! A value carries no position, because most values are never complained about.
//! A [`Document`] keeps the positions beside the value as one flat list in the
//! order of the nodes in the text. The first question about a place makes
//! an index of that list in one pass, so that a thousand diagnostics about a document
//! of a thousand parts do not walk it a thousand times.

mod children;
mod origin;

use std::fmt;
use std::sync::{Arc, OnceLock};

use children::ChildPositions;
pub use origin::{LineOrigin, SourceOrigins, ValueOrigin};

use crate::{Text, Value};

/// A text that was read, and the name its reader knows it by.
#[derive(Debug)]
pub struct Source {
    /// A file name, `-` for standard input, or a name in angle brackets.
    pub name: String,
    /// The whole text.
    pub text: String,
    // Where each line starts; computed for the first line that is requested.
    lines: OnceLock<Vec<usize>>,
    // What the text was made from, if a program wrote it.
    origins: Option<Box<SourceOrigins>>,
}

/// Up to which column the length of a number or a boolean is looked for in its line.
const MEASURED_COLUMNS: u32 = 1000;

impl Source {
    /// Returns a shared source.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), lines: OnceLock::new(), origins: None })
    }

    /// Returns this source, whose lines come from `origins`.
    #[must_use]
    pub fn made_from(mut self: Arc<Self>, origins: SourceOrigins) -> Arc<Self> {
        match Arc::get_mut(&mut self) {
            Some(source) => {
                source.origins = Some(Box::new(origins));
                self
            }
            None => {
                let (name, text) = (self.name.clone(), self.text.clone());
                Arc::new(Self { name, text, lines: OnceLock::new(), origins: Some(Box::new(origins)) })
            }
        }
    }

    /// Returns what line `number` was made from, if a program wrote this text.
    #[must_use]
    pub fn origin(&self, number: u32) -> Option<&LineOrigin> {
        self.origins.as_ref()?.of_line(number)
    }

    /// Returns the byte at which line `number`, counted from 1, starts.
    #[must_use]
    pub fn line_offset(&self, number: u32) -> Option<usize> {
        let starts = self.lines.get_or_init(|| line_starts(&self.text));
        starts.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }

    /// Returns line `number`, counted from 1, without its line break.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&str> {
        let starts = self.lines.get_or_init(|| line_starts(&self.text));
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = *starts.get(place)?;
        let end = starts.get(place + 1).copied().unwrap_or(self.text.len());
        // What follows the last line break is a line only if there is something.
        let line = self.text.get(start..end).filter(|line| !line.is_empty())?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

/// Returns where the lines of `text` start. A line ends as in YAML: with LF, CR LF, or CR.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

/// A place in a text. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The first character.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Returns the position of the character after `character`, which is here.
    fn behind(self, character: char) -> Self {
        match character {
            '\n' => Self { line: self.line.saturating_add(1), column: 1 },
            _ => Self { column: self.column.saturating_add(1), ..self },
        }
    }

    /// Returns the position of byte `offset` of `text`; beyond the text, where it ends.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).saturating_add(1);
        Self {
            line: count(before.bytes().filter(|byte| *byte == b'\n').count()),
            column: count(before.get(line_start..).unwrap_or_default().chars().count()),
        }
    }
}

/// Finds many positions in one text without walking it from the start for each.
#[derive(Debug)]
pub struct PositionIndex<'t> {
    text: &'t str,
    // INVARIANT: offsets of characters, ascending, each with its position; the first is 0.
    marks: Vec<(usize, Position)>,
}

/// The maximum number of bytes that are walked for a position.
const BYTES_BETWEEN_MARKS: usize = 128;

impl<'t> PositionIndex<'t> {
    /// Reads `text` once.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        let mut marks = vec![(0, Position::START)];
        let (mut last, mut position) = (0, Position::START);
        for (at, character) in text.char_indices() {
            if at - last >= BYTES_BETWEEN_MARKS {
                marks.push((at, position));
                last = at;
            }
            position = position.behind(character);
        }
        Self { text, marks }
    }

    /// Returns the position of byte `offset`, as [`Position::of`] does.
    #[must_use]
    pub fn of(&self, offset: usize) -> Position {
        let offset = if self.text.is_char_boundary(offset) { offset } else { self.text.len() };
        let behind = self.marks.partition_point(|(at, _)| *at <= offset);
        let (start, position) = behind
            .checked_sub(1)
            .and_then(|mark| self.marks.get(mark))
            .copied()
            .unwrap_or((0, Position::START));
        let between = self.text.get(start..offset).unwrap_or_default();
        between.chars().fold(position, Position::behind)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A position in a known source.
#[derive(Debug, Clone)]
pub struct Location {
    /// The text.
    pub source: Arc<Source>,
    /// The place in it.
    pub position: Position,
    /// The number of characters it covers; at least 1.
    pub length: u32,
}

impl Location {
    /// Returns the text that the place covers, within its line.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let line = self.source.line(self.position.line)?;
        let start = usize::try_from(self.position.column).ok()?.checked_sub(1)?;
        let text: String = line.chars().skip(start).take(usize::try_from(self.length).ok()?).collect();
        (!text.is_empty()).then_some(text)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position.line {
            // Only the file is known.
            0 => f.write_str(&self.source.name),
            _ => write!(f, "{}:{}", self.source.name, self.position),
        }
    }
}

/// One step from a value to a part of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into an object.
    Key(Text),
    /// Into an array.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(Text::new(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The positions of a document's nodes.
///
/// INVARIANT: pre-order over the value: the node itself, then its children; before
/// each child of an object the position of its key.
#[derive(Debug, Clone, Default)]
pub struct Positions {
    pub(crate) list: Vec<Position>,
    // Where the children of each node are in `list`; computed on first use.
    children: OnceLock<Arc<ChildPositions>>,
}

impl Positions {
    /// Returns the positions of nodes in pre-order.
    #[must_use]
    pub fn new(list: Vec<Position>) -> Self {
        Self { list, children: OnceLock::new() }
    }

    /// Returns all positions in pre-order.
    #[must_use]
    pub fn as_slice(&self) -> &[Position] {
        &self.list
    }

    /// Returns the position of the document itself, if it was read.
    #[must_use]
    pub fn first(&self) -> Option<Position> {
        self.list.first().copied()
    }

    /// Returns the positions of the nodes that `range` is about.
    fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self::new(self.list.get(range).unwrap_or_default().to_vec())
    }
}

/// One document of a text, with the positions of all its parts.
#[derive(Debug, Clone)]
pub struct Document {
    /// The content.
    pub value: Value,
    /// The text it was read from.
    pub source: Arc<Source>,
    /// The positions of its parts.
    pub positions: Positions,
}

impl Document {
    /// Returns a document that was made, not read; every part is at the start of `source`.
    #[must_use]
    pub fn made(value: Value, source: Arc<Source>) -> Self {
        Self { value, source, positions: Positions::default() }
    }

    /// Returns a document that was made, with the text that it would be written as, so that its parts have positions.
    #[must_use]
    pub fn written(value: Value, name: impl Into<String>) -> Self {
        let source = Source::new(name, crate::json::to_string(&value));
        crate::json::read(&source).unwrap_or_else(|_| Self::made(value, source))
    }

    /// Returns a copy without the spare room that its value has from when it was read.
    #[must_use]
    pub fn compacted(&self) -> Self {
        Self {
            value: self.value.compacted(),
            source: Arc::clone(&self.source),
            positions: self.positions.clone(),
        }
    }

    /// Returns the position of the value at `path`, or its nearest ancestor that exists.
    #[must_use]
    pub fn locate(&self, path: &[Step]) -> Location {
        self.location(path, false)
    }

    /// Returns the position of the key that ends `path`, or the nearest thing that exists.
    #[must_use]
    pub fn locate_key(&self, path: &[Step]) -> Location {
        self.location(path, true)
    }

    /// Returns what the value at `path` was made from and its line in the rendered text, if a program wrote this document.
    #[must_use]
    pub fn origin(&self, path: &[Step]) -> Option<(u32, &LineOrigin)> {
        let line = self.rendered_location(path, false).position.line;
        let origin = self.source.origin(line)?;
        (!self.source.text.is_empty()).then_some((line, origin))
    }

    /// Returns the part of this document at `path`, positions included.
    #[must_use]
    pub fn part(&self, path: &[Step]) -> Option<Document> {
        let value = self.value.follow(path)?.clone();
        let (start, _) = self.walk(path)?;
        let end = start + position_count(&value);
        Some(Self { value, source: Arc::clone(&self.source), positions: self.positions.part(start..end) })
    }

    /// Returns the items of the array at `path`, each as a document with its positions, in one pass over them all.
    pub fn items<'d>(&'d self, path: &[Step]) -> impl Iterator<Item = Document> + use<'d> {
        let start = self.walk(path).map_or(0, |(start, _)| start);
        let items = self.value.follow(path).and_then(Value::as_array).unwrap_or_default();
        items.iter().scan(start + 1, |at, item| {
            let end = *at + position_count(item);
            let positions = self.positions.part(*at..end);
            *at = end;
            Some(Document { value: item.clone(), source: Arc::clone(&self.source), positions })
        })
    }

    /// Returns the path to the part at `position`: the last one that begins there or before it.
    #[must_use]
    pub fn path_at(&self, position: Position) -> Vec<Step> {
        let begins = |at: usize| self.positions.list.get(at).is_some_and(|found| *found <= position);
        let (mut value, mut at, mut path) = (&self.value, 0, Vec::new());
        loop {
            // The children are in order, so the wanted one is the last that begins early enough.
            let places = self.children().of(at, value);
            let count = places.partition_point(|place| begins(*place as usize));
            let child = count.checked_sub(1).and_then(|last| {
                let place = *places.get(last)? as usize;
                match value {
                    Value::Object(map) => {
                        map.entry(last).map(|(key, item)| (Step::Key(key.clone()), item, place + 1))
                    }
                    Value::Array(items) => items.get(last).map(|item| (Step::Index(last), item, place)),
                    _ => None,
                }
            });
            let Some((step, item, place)) = child else { return path };
            path.push(step);
            (value, at) = (item, place);
        }
    }

    fn location(&self, path: &[Step], key: bool) -> Location {
        let location = self.rendered_location(path, key);
        match self.source.origin(location.position.line) {
            Some(origin) => origin.location(),
            None => location,
        }
    }

    /// Returns the location in the text that was read, whatever that was made from.
    fn rendered_location(&self, path: &[Step], key: bool) -> Location {
        let WalkedPart { value, node, key: key_position, depth } = self.walk_far(path);
        let wants_key = key && depth == path.len();
        let at = if wants_key { key_position.unwrap_or(node) } else { node };
        let position = self.positions.list.get(at).copied().unwrap_or(Position::START);
        let covered = match value {
            _ if wants_key && key_position.is_some() => path.last().and_then(|step| match step {
                Step::Key(key) => Some(key.chars().count()),
                Step::Index(_) => None,
            }),
            Value::String(text) => Some(text.chars().count()),
            // As it is written, which may be `yes` for true and `0777` for 511.
            Value::Number(_) | Value::Bool(_) if position.column > MEASURED_COLUMNS => None,
            Value::Number(_) | Value::Bool(_) => self.source.line(position.line).map(|line| {
                let rest = line.chars().skip(usize::try_from(position.column).unwrap_or(1) - 1);
                rest.take_while(|character| !character.is_whitespace() && !",]}".contains(*character)).count()
            }),
            _ => None,
        };
        let length = u32::try_from(covered.unwrap_or(1)).unwrap_or(1).max(1);
        Location { source: Arc::clone(&self.source), position, length }
    }

    fn children(&self) -> &ChildPositions {
        self.positions.children.get_or_init(|| Arc::new(ChildPositions::of_document(&self.value)))
    }

    /// Returns the list positions of the node at `path` and of its key.
    fn walk(&self, path: &[Step]) -> Option<(usize, Option<usize>)> {
        let part = self.walk_far(path);
        (part.depth == path.len()).then_some((part.node, part.key))
    }

    /// Returns the part at `path`, or its nearest ancestor that exists.
    fn walk_far(&self, path: &[Step]) -> WalkedPart<'_> {
        let mut part = WalkedPart { value: &self.value, node: 0, key: None, depth: 0 };
        for step in path {
            let Some((value, node, key)) = self.child(&part, step) else { break };
            part = WalkedPart { value, node, key, depth: part.depth + 1 };
        }
        part
    }

    /// Returns the child of `part` at `step`, and the list positions of its node and of its key.
    fn child<'d>(&'d self, part: &WalkedPart<'d>, step: &Step) -> Option<(&'d Value, usize, Option<usize>)> {
        let places = || self.children().of(part.node, part.value);
        match (step, part.value) {
            (Step::Key(key), Value::Object(map)) => {
                let entry = map.position(key)?;
                let place = *places().get(entry)? as usize;
                map.entry(entry).map(|(_, value)| (value, place + 1, Some(place)))
            }
            (Step::Index(index), Value::Array(items)) => {
                let place = *places().get(*index)? as usize;
                items.get(*index).map(|value| (value, place, None))
            }
            _ => None,
        }
    }
}

/// A part of a document, with the list positions of its node and of its key.
struct WalkedPart<'d> {
    value: &'d Value,
    node: usize,
    key: Option<usize>,
    /// How many steps lead to it.
    depth: usize,
}

/// Returns how many positions the value and all its parts take.
pub(crate) fn position_count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(position_count).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(|v| 1 + position_count(v)).sum::<usize>(),
        _ => 1,
    }
}

/// The result of reading a text: the documents that could be read, and the problems of the text.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ParsedStream {
    /// In the order of the text.
    pub documents: Vec<Document>,
    /// In the order in which they were found.
    pub problems: Vec<ParseProblem>,
}

/// Something wrong with a text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ParseProblem {
    /// The sort of problem; decides its diagnostic code.
    pub kind: ParseProblemKind,
    /// The value found and the one expected.
    pub message: String,
    /// The position.
    pub location: Location,
}

impl ParseProblem {
    /// Returns the warning that `key` is defined at `first` and again at `second`, which wins.
    pub(crate) fn duplicate_key(source: &Arc<Source>, key: &str, first: Position, second: Position) -> Self {
        Self {
            kind: ParseProblemKind::DuplicateKey,
            message: format!("duplicate key `{key}`: line {} replaces line {}", second.line, first.line),
            location: Location { source: Arc::clone(source), position: second, length: 1 },
        }
    }
}

/// The sorts of things that can be wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParseProblemKind {
    /// Not YAML or not JSON.
    Syntax,
    /// Not UTF-8, or another encoding than the mark at its start says.
    Encoding,
    /// A control character that no text may hold.
    ControlCharacter,
    /// Nested too deep.
    Depth,
    /// Aliases that multiply beyond the limit.
    AliasExpansion,
    /// A document that is too large.
    Size,
    /// A key written twice; a warning, the last one wins.
    DuplicateKey,
    /// A key that is not text and cannot be made text.
    Key,
    /// A number that JSON cannot hold.
    Number,
    /// A tag that is not known, or does not fit what it tags.
    Tag,
}

#[cfg(test)]
mod tests;
