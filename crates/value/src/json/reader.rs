//! JSON text to values, by recursive descent over the bytes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use super::MAX_DEPTH;
use crate::eight_bytes::{EightBytes, first_json_special};
use crate::source::position_count;
use crate::{
    Document, FieldSet, Location, Map, Number, ParseProblem, ParseProblemKind, Position, Positions, Source,
    Text, Value,
};

/// The reason why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} at {position}")]
#[non_exhaustive]
pub struct JsonError {
    /// The sort of problem.
    pub kind: ParseProblemKind,
    /// The value found and the one expected.
    pub message: String,
    /// The position.
    pub position: Position,
}

/// Parses one JSON value.
///
/// # Errors
/// When `text` is not exactly one JSON value, or nests deeper than [`MAX_DEPTH`].
pub fn parse(text: &str) -> Result<Value, JsonError> {
    JsonReader::new(text, NoPositions).whole().map(|(value, _)| value).map_err(|error| *error)
}

/// Parses one JSON value that consists of at most `nodes` values.
///
/// # Errors
/// As [`parse`], and when there are more.
pub fn parse_within(text: &str, nodes: usize) -> Result<Value, JsonError> {
    let reader = JsonReader { nodes_left: nodes, ..JsonReader::new(text, NoPositions) };
    reader.whole().map(|(value, _)| value).map_err(|error| *error)
}

/// Reads a JSON object member by member, which consists of at most `nodes` values: `each` gets the key, and reads or skips the
/// value. A text that is no object has no members.
///
/// # Errors
/// As [`parse_within`], and those of `each`.
pub fn parse_members<'a>(
    text: &'a str,
    nodes: usize,
    each: impl FnMut(&mut MemberReader<'_, 'a>, &str) -> Result<(), Box<JsonError>>,
) -> Result<(), JsonError> {
    let mut reader = JsonReader { nodes_left: nodes, ..JsonReader::new(text, NoPositions) };
    reader.space();
    let read = MemberReader { reader: &mut reader }.members(each);
    read.and_then(|_| reader.end()).map_err(|error| *error)
}

/// Reads the value of a member of an object.
pub struct MemberReader<'r, 'a> {
    reader: &'r mut JsonReader<'a, NoPositions>,
}

impl<'a> MemberReader<'_, 'a> {
    /// Reads the value as far as it is in `fields`; the rest of it must be JSON too.
    ///
    /// # Errors
    /// When it is not JSON.
    pub fn value(&mut self, fields: &FieldSet) -> Result<Value, Box<JsonError>> {
        let mut value = Value::Null;
        self.reader.value(&mut value, fields)?;
        Ok(value)
    }

    /// Steps over the value.
    ///
    /// # Errors
    /// When it is not JSON.
    pub fn skip(&mut self) -> Result<(), Box<JsonError>> {
        self.reader.skip()
    }

    /// Calls `each` at the members of the value, if that is an object, and otherwise steps over it. Returns whether it is one.
    ///
    /// # Errors
    /// When it is not JSON, and those of `each`.
    pub fn members(
        &mut self,
        mut each: impl FnMut(&mut MemberReader<'_, 'a>, &str) -> Result<(), Box<JsonError>>,
    ) -> Result<bool, Box<JsonError>> {
        if self.reader.peek() != Some(b'{') {
            return self.skip().map(|()| false);
        }
        self.reader.count_node()?;
        self.reader.enter()?;
        self.reader.members(|reader, (key, _)| each(&mut MemberReader { reader }, key))?;
        self.reader.depth -= 1;
        Ok(true)
    }
}

/// Reads one JSON document with the position of every part.
///
/// # Errors
/// As [`parse`].
pub fn read(source: &Arc<Source>) -> Result<Document, ParseProblem> {
    read_with_warnings(source).map(|(document, _)| document)
}

/// Reads one JSON document, with a warning for each duplicate key.
///
/// # Errors
/// As [`parse`].
pub fn read_with_warnings(source: &Arc<Source>) -> Result<(Document, Vec<ParseProblem>), ParseProblem> {
    let location = |position| Location { source: Arc::clone(source), position, length: 1 };
    match JsonReader::new(&source.text, PositionRecorder::default()).whole() {
        Ok((value, sink)) => {
            let warnings = sink
                .duplicates
                .into_iter()
                .map(|(key, first, second)| ParseProblem::duplicate_key(source, &key, first, second))
                .collect();
            let positions = Positions::new(sink.positions);
            Ok((Document { value, source: Arc::clone(source), positions }, warnings))
        }
        Err(error) => {
            Err(ParseProblem { kind: error.kind, message: error.message, location: location(error.position) })
        }
    }
}

/// Boxed, so that results stay small.
type JsonFailure = Box<JsonError>;

/// The destination of positions.
trait PositionSink {
    /// Whether anything is kept.
    const KEEPS: bool;
    /// Notes the node or key that starts at `offset`.
    fn node(&mut self, text: &str, offset: usize);
    /// Returns how many were noted.
    fn mark(&self) -> usize;
    /// Puts the positions noted since `new` in the place of those in `old`.
    fn replaced(&mut self, key: &str, old: Range<usize>, new: usize);
}

struct NoPositions;

impl PositionSink for NoPositions {
    const KEEPS: bool = false;
    fn node(&mut self, _: &str, _: usize) {}
    fn mark(&self) -> usize {
        0
    }
    fn replaced(&mut self, _: &str, _: Range<usize>, _: usize) {}
}

#[derive(Default)]
struct PositionRecorder {
    positions: Vec<Position>,
    duplicates: Vec<(String, Position, Position)>,
    // How far lines and columns were counted, so that counting is linear.
    line: u32,
    column: u32,
    counted: usize,
}

impl PositionSink for PositionRecorder {
    const KEEPS: bool = true;

    fn node(&mut self, text: &str, offset: usize) {
        for byte in text.as_bytes().get(self.counted..offset).unwrap_or_default() {
            match byte {
                b'\n' => (self.line, self.column) = (self.line + 1, 0),
                // The later bytes of a character do not count.
                0x80..=0xbf => {}
                _ => self.column += 1,
            }
        }
        self.counted = offset;
        self.positions.push(Position { line: self.line + 1, column: self.column + 1 });
    }

    fn mark(&self) -> usize {
        self.positions.len()
    }

    fn replaced(&mut self, key: &str, old: Range<usize>, new: usize) {
        let at = |i: usize| self.positions.get(i).copied().unwrap_or(Position::START);
        self.duplicates.push((key.to_owned(), at(old.start), at(new)));
        let moved = self.positions.split_off(new);
        self.positions.splice(old, moved);
    }
}

/// The maximum number of duplicate keys in one text before it is refused.
const MAX_DUPLICATES: usize = 1000;

/// The maximum number of positions that equal keys may rearrange.
const MAX_MOVED: usize = 32 << 20;

struct JsonReader<'a, S> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    duplicates: usize,
    moved: usize,
    nodes_left: usize,
    sink: S,
}

impl<'a, S: PositionSink> JsonReader<'a, S> {
    fn new(text: &'a str, sink: S) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            duplicates: 0,
            moved: 0,
            nodes_left: usize::MAX,
            sink,
        }
    }

    fn whole(mut self) -> Result<(Value, S), JsonFailure> {
        self.space();
        let mut value = Value::Null;
        self.value(&mut value, &FieldSet::All)?;
        self.end()?;
        Ok((value, self.sink))
    }

    /// Takes what may follow the whole text.
    fn end(&mut self) -> Result<(), JsonFailure> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end")),
        }
    }

    /// Reads a value into `slot`, where it stays, as far as it is in `fields`.
    fn value(&mut self, slot: &mut Value, fields: &FieldSet) -> Result<(), JsonFailure> {
        self.sink.node(self.text, self.at);
        self.count_node()?;
        match self.peek() {
            Some(b'"') => *slot = Value::String(Text::new(self.string()?)),
            Some(b'{') => {
                self.enter()?;
                *slot = self.object(fields)?;
                self.depth -= 1;
            }
            Some(b'[') => {
                self.enter()?;
                *slot = self.array(fields)?;
                self.depth -= 1;
            }
            _ => *slot = self.scalar()?,
        }
        Ok(())
    }

    /// Reads a number or a word.
    #[inline]
    fn scalar(&mut self) -> Result<Value, JsonFailure> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    #[inline]
    fn count_node(&mut self) -> Result<(), JsonFailure> {
        match self.nodes_left.checked_sub(1) {
            Some(left) => self.nodes_left = left,
            None => return Err(self.error(ParseProblemKind::Size, "too many values".to_owned())),
        }
        Ok(())
    }

    /// Steps over a value, which must be as right as one that is read.
    fn skip(&mut self) -> Result<(), JsonFailure> {
        self.count_node()?;
        match self.peek() {
            Some(b'"') => drop(self.string()?),
            Some(b'{') => {
                self.enter()?;
                self.members(|reader, _| reader.skip())?;
                self.depth -= 1;
            }
            Some(b'[') => {
                self.enter()?;
                self.items(Self::skip)?;
                self.depth -= 1;
            }
            _ => drop(self.scalar()?),
        }
        Ok(())
    }

    /// Takes an opening bracket.
    fn enter(&mut self) -> Result<(), JsonFailure> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(ParseProblemKind::Depth, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn object(&mut self, fields: &FieldSet) -> Result<Value, JsonFailure> {
        let start = self.sink.mark();
        let mut map = Map::new();
        self.members(|reader, (key, mark)| {
            let Some(fields) = fields.get(key) else { return reader.skip() };
            match map.slot(key) {
                Ok(slot) => reader.value(slot, fields),
                Err(place) => {
                    let mut value = Value::Null;
                    reader.value(&mut value, fields)?;
                    reader.replace(&mut map, place, (key, value), (start, mark))
                }
            }
        })?;
        Ok(Value::object(map))
    }

    /// Calls `each` at the values of an object whose opening bracket was taken, with the key and the mark before it.
    #[inline]
    fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, (&str, usize)) -> Result<(), JsonFailure>,
    ) -> Result<(), JsonFailure> {
        self.space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let mark = self.sink.mark();
            self.sink.node(self.text, self.at);
            let key = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.space();
            each(self, (&key, mark))?;
            self.space();
            if self.eat(b'}') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
            self.space();
        }
    }

    /// Lets the later of two equal keys win, in the place of the earlier one.
    fn replace(
        &mut self,
        map: &mut Map,
        place: usize,
        (key, value): (&str, Value),
        (start, mark): (usize, usize),
    ) -> Result<(), JsonFailure> {
        self.duplicates += 1;
        if self.duplicates > MAX_DUPLICATES {
            return Err(
                self.error(ParseProblemKind::Size, format!("more than {MAX_DUPLICATES} keys stand twice"))
            );
        }
        self.moved = self.moved.saturating_add(self.sink.mark() - start);
        if self.moved > MAX_MOVED {
            return Err(self.error(ParseProblemKind::Size, "equal keys around too many values".to_owned()));
        }
        if S::KEEPS
            && let Some((_, old_value)) = map.entry(place)
        {
            let old = start + map.values().take(place).map(|v| 1 + position_count(v)).sum::<usize>();
            self.sink.replaced(key, old..old + 1 + position_count(old_value), mark);
        }
        map.insert(Text::new(key), value);
        Ok(())
    }

    fn array(&mut self, fields: &FieldSet) -> Result<Value, JsonFailure> {
        let mut items = Vec::new();
        self.items(|reader| {
            items.push(Value::Null);
            items.last_mut().map_or(Ok(()), |slot| reader.value(slot, fields))
        })?;
        Ok(Value::array(items))
    }

    /// Calls `each` at the items of a list whose opening bracket was taken.
    #[inline]
    fn items(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), JsonFailure>,
    ) -> Result<(), JsonFailure> {
        self.space();
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            self.space();
            if self.eat(b']') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
            self.space();
        }
    }

    /// Reads a string whose opening quote is next.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonFailure> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        match self.peek() {
            Some(b'"') => {
                let text = self.slice(start);
                self.at += 1;
                Ok(Cow::Borrowed(text))
            }
            Some(b'\\') => self.escaped(start).map(Cow::Owned),
            _ => Err(self.bad_string()),
        }
    }

    /// Steps over the literal part of a string: anything but quotes, backslashes and controls.
    #[inline]
    fn skip_plain(&mut self) {
        while let Some(eight) = EightBytes::at(self.bytes, self.at) {
            if let Some(special) = first_json_special(eight) {
                self.at += special;
                return;
            }
            self.at += 8;
        }
        while matches!(self.peek(), Some(byte) if byte >= 0x20 && byte != b'"' && byte != b'\\') {
            self.at += 1;
        }
    }

    /// Goes on with a string that turned out to have an escape.
    fn escaped(&mut self, start: usize) -> Result<String, JsonFailure> {
        let mut out = String::from(self.slice(start));
        loop {
            let plain = self.at;
            self.skip_plain();
            out.push_str(self.slice(plain));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.bad_string()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonFailure> {
        self.at += 1;
        let byte = self.peek();
        self.at += 1;
        Ok(match byte {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => {
                self.at -= 1;
                return Err(self.unexpected("one of `\" \\ / b f n r t u` after `\\`"));
            }
        })
    }

    /// Reads the four digits after `\u`; half a surrogate pair becomes the replacement character, as in Go.
    fn code_point(&mut self) -> Result<char, JsonFailure> {
        let high = self.four_digits()?;
        if (0xd800..0xdc00).contains(&high) && self.bytes.get(self.at..self.at + 2) == Some(b"\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.four_digits()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, JsonFailure> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        let mut code = 0;
        for digit in digits {
            code = code * 16
                + char::from(*digit)
                    .to_digit(16)
                    .ok_or_else(|| self.unexpected("four hexadecimal digits"))?;
        }
        if digits.len() < 4 {
            return Err(self.unexpected("four hexadecimal digits"));
        }
        self.at += 4;
        Ok(code)
    }

    fn number(&mut self) -> Result<Number, JsonFailure> {
        let start = self.at;
        let negative = self.eat(b'-');
        let digits = self.at;
        let mut whole: u64 = 0;
        let mut fits = true;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            match whole.checked_mul(10).and_then(|w| w.checked_add(u64::from(digit - b'0'))) {
                Some(more) => whole = more,
                None => fits = false,
            }
            self.at += 1;
        }
        match self.at - digits {
            0 => return Err(self.unexpected("a digit")),
            1 => {}
            _ if self.bytes.get(digits) == Some(&b'0') => {
                self.at = digits + 1;
                return Err(self.unexpected("no digit after a leading zero"));
            }
            _ => {}
        }
        if !matches!(self.peek(), Some(b'.' | b'e' | b'E')) && fits {
            if !negative {
                return Ok(Number::from(whole));
            }
            if let Some(integer) = 0_i64.checked_sub_unsigned(whole) {
                return Ok(Number::from(integer));
            }
        }
        self.fraction(start)
    }

    /// Reads what may follow the digits of a number that is not an exact integer.
    fn fraction(&mut self, start: usize) -> Result<Number, JsonFailure> {
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        match self.slice(start).parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Number::Float(number)),
            _ => Err(self
                .error(ParseProblemKind::Number, format!("number `{}` is out of range", self.slice(start)))),
        }
    }

    fn digits(&mut self) -> Result<(), JsonFailure> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonFailure> {
        if self.bytes.get(self.at..self.at + word.len()) == Some(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.unexpected("a value"))
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn bad_string(&self) -> JsonFailure {
        match self.peek() {
            None => self.error(ParseProblemKind::Syntax, "the text ends inside a string".to_owned()),
            Some(control) => self.error(
                ParseProblemKind::ControlCharacter,
                format!("control character 0x{control:02x} in a string"),
            ),
        }
    }

    fn unexpected(&self, expected: &str) -> JsonFailure {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "the end".to_owned(),
            Some(character) => format!("`{}`", character.escape_debug()),
        };
        self.error(ParseProblemKind::Syntax, format!("found {found}, expected {expected}"))
    }

    fn error(&self, kind: ParseProblemKind, message: String) -> JsonFailure {
        Box::new(JsonError { kind, message, position: Position::of(self.text, self.at) })
    }
}
