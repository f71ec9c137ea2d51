//! The items of a list, cut out of its JSON while it arrives.
//!
//! A page of Pods has megabytes, and a whole list hundreds of them. Here one item at a time becomes a value: bytes are
//! pushed as they come, and what is held is the part that has not ended yet.

use kubewright_value::{Text, Value, json};

use crate::Error;

/// A part of a list that has arrived whole.
#[derive(Debug, Clone, PartialEq)]
pub enum ListPart {
    /// A field beside the items, such as `kind` or `metadata`.
    Field(Text, Value),
    /// An item.
    Item(Value),
}

/// Cuts the JSON of a list into its fields and items, while it arrives.
#[derive(Debug)]
pub struct ListSplitter {
    bytes: Vec<u8>,
    /// Where the part that is read begins.
    start: usize,
    /// Up to where bytes were looked at.
    at: usize,
    expected: ExpectedToken,
    nesting: ValueNesting,
    key: Text,
    max_part_bytes: usize,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedToken {
    List,
    KeyOrEnd,
    KeyStart,
    Key,
    Colon,
    FieldStart,
    Field,
    CommaOrEnd,
    ItemsStart,
    ItemOrEnd,
    ItemStart,
    Item,
    ItemCommaOrEnd,
    Nothing,
}

/// Where within a value the last byte that was looked at stands.
#[derive(Debug, Clone, Copy, Default)]
struct ValueNesting {
    depth: usize,
    is_string: bool,
    is_escaped: bool,
}

impl ListSplitter {
    /// Returns a splitter that refuses items and fields of more than `max_part_bytes`.
    #[must_use]
    pub fn new(max_part_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            at: 0,
            expected: ExpectedToken::List,
            nesting: ValueNesting::default(),
            key: Text::default(),
            max_part_bytes,
        }
    }

    /// Adds the next bytes of the list. They may end anywhere, also within a character.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.at -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next part, or `None` until more bytes come.
    ///
    /// # Errors
    /// When the bytes are not a JSON object whose `items` are an array, or a part is too large.
    pub fn next_part(&mut self) -> Result<Option<ListPart>, Error> {
        use ExpectedToken::{Colon, CommaOrEnd, Field, Item, ItemCommaOrEnd, Key};
        loop {
            if !matches!(self.expected, Key | Field | Item) {
                let Some(byte) = self.next_token() else { return Ok(None) };
                self.expected = self.after(byte)?;
                continue;
            }
            let Some(value) = self.value()? else { return Ok(None) };
            match self.expected {
                Item => {
                    self.expected = ItemCommaOrEnd;
                    return Ok(Some(ListPart::Item(value)));
                }
                Field => {
                    self.expected = CommaOrEnd;
                    return Ok(Some(ListPart::Field(std::mem::take(&mut self.key), value)));
                }
                _ => (self.key, self.expected) = (value.as_str().unwrap_or_default().into(), Colon),
            }
        }
    }

    /// Returns whether the list has ended: whatever follows is not a part of it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.expected == ExpectedToken::Nothing
    }

    /// The next byte that is no white space; it stays where it is.
    fn next_token(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        self.start = self.at;
        self.bytes.get(self.at).copied()
    }

    /// Takes `byte`, which is the next one, and returns what comes then. The first byte of a value stays.
    fn after(&mut self, byte: u8) -> Result<ExpectedToken, Error> {
        use ExpectedToken::{
            Colon, CommaOrEnd, Field, FieldStart, Item, ItemCommaOrEnd, ItemOrEnd, ItemStart, ItemsStart,
            Key, KeyOrEnd, KeyStart, List, Nothing,
        };
        let next = match (self.expected, byte) {
            (KeyOrEnd | KeyStart, b'"') => return Ok(Key),
            // A list without items may say `null`.
            (FieldStart, _) | (ItemsStart, b'n') => return Ok(Field),
            (ItemOrEnd, byte) if byte != b']' => return Ok(Item),
            (ItemStart, _) => return Ok(Item),
            (List, b'{') => KeyOrEnd,
            (KeyOrEnd | CommaOrEnd, b'}') => Nothing,
            (CommaOrEnd, b',') => KeyStart,
            (Colon, b':') if self.key == "items" => ItemsStart,
            (Colon, b':') => FieldStart,
            (ItemsStart, b'[') => ItemOrEnd,
            (ItemOrEnd | ItemCommaOrEnd, b']') => CommaOrEnd,
            (ItemCommaOrEnd, b',') => ItemStart,
            (_, byte) => {
                let found = char::from(byte).escape_default();
                return Err(Error::Unreadable(format!("`{found}` stands where a list goes on otherwise")));
            }
        };
        self.at += 1;
        self.start = self.at;
        Ok(next)
    }

    /// Takes the value that begins at `start`, once it is whole.
    fn value(&mut self) -> Result<Option<Value>, Error> {
        let fresh = self.bytes.get(self.at..).unwrap_or_default();
        let is_begun = self.at > self.start;
        let end = self.nesting.end_of_value(fresh, is_begun);
        self.at += end.unwrap_or(fresh.len());
        if self.at - self.start > self.max_part_bytes {
            return Err(Error::TooLarge(self.max_part_bytes));
        }
        if end.is_none() {
            return Ok(None);
        }
        let bytes = self.bytes.get(self.start..self.at).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|error| Error::Unreadable(error.to_string()))?;
        let value = json::parse(text).map_err(|error| Error::Unreadable(error.to_string()))?;
        self.nesting = ValueNesting::default();
        self.start = self.at;
        Ok(Some(value))
    }
}

impl ValueNesting {
    /// Returns where the value ends in `bytes`, which go on from those looked at before. What is between is not
    /// checked: the parser does that.
    fn end_of_value(&mut self, bytes: &[u8], is_begun: bool) -> Option<usize> {
        let Self { mut depth, mut is_string, mut is_escaped } = *self;
        for (at, byte) in bytes.iter().enumerate() {
            if is_string {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => {
                        is_string = false;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => is_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return Some(at),
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 && (is_begun || at > 0) => return Some(at),
                _ => {}
            }
        }
        *self = Self { depth, is_string, is_escaped };
        None
    }
}

#[cfg(test)]
mod tests;
