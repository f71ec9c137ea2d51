//! Flow collections on one line.

use super::{FastReader, MAX_FAST_KEY_BYTES, plain_key, set_plain_scalar};
use crate::{Map, Text, Value};

impl<'a, const PLACES: bool> FastReader<'a, PLACES> {
    /// Reads the list or mapping in brackets that is next.
    pub(super) fn flow(&mut self, slot: &mut Value) -> Option<()> {
        self.enter()?;
        self.note(self.at);
        let is_mapping = self.byte() == b'{';
        self.at += 1;
        *slot = if is_mapping { self.flow_mapping()? } else { self.flow_sequence()? };
        self.depth -= 1;
        Some(())
    }

    fn flow_sequence(&mut self) -> Option<Value> {
        let mut items = Vec::new();
        loop {
            self.skip_spaces();
            if self.byte() == b']' {
                break;
            }
            items.push(Value::Null);
            self.flow_node(items.last_mut()?)?;
            if !self.is_comma_next(b']')? {
                break;
            }
        }
        self.at += 1;
        Some(Value::array(items))
    }

    fn flow_mapping(&mut self) -> Option<Value> {
        let mut map = Map::new();
        loop {
            self.skip_spaces();
            let start = self.at;
            let key = match self.byte() {
                b'}' => break,
                quote @ (b'"' | b'\'') => self.quoted(quote)?,
                _ => plain_key(self.flow_plain()?)?,
            };
            if self.byte() != b':' || self.at - start > MAX_FAST_KEY_BYTES {
                return None;
            }
            self.note(start);
            self.at += 1;
            self.skip_spaces();
            self.flow_node(map.slot(&key).ok()?)?;
            if !self.is_comma_next(b'}')? {
                break;
            }
        }
        self.at += 1;
        Some(Value::object(map))
    }

    /// Reads a value inside brackets.
    fn flow_node(&mut self, slot: &mut Value) -> Option<()> {
        let start = self.at;
        match self.byte() {
            b'[' | b'{' => self.flow(slot),
            quote @ (b'"' | b'\'') => {
                let text = self.quoted(quote)?;
                self.note(start);
                *slot = Value::String(Text::new(text));
                Some(())
            }
            _ => {
                let text = self.flow_plain()?;
                self.note(start);
                set_plain_scalar(slot, text)
            }
        }
    }

    /// Takes the `,` after a value and returns true, or stops at the bracket that `closes`.
    fn is_comma_next(&mut self, closes: u8) -> Option<bool> {
        self.skip_spaces();
        match self.byte() {
            b',' => {
                self.at += 1;
                Some(true)
            }
            byte if byte == closes => Some(false),
            _ => None,
        }
    }

    /// Reads a plain scalar of harmless characters; stops before `,`, a closing bracket or `: `.
    fn flow_plain(&mut self) -> Option<&'a str> {
        let start = self.at;
        loop {
            match self.byte() {
                b'a'..=b'z'
                | b'A'..=b'Z'
                | b'0'..=b'9'
                | b'_'
                | b'/'
                | b'+'
                | b'.'
                | b'='
                | b'$'
                | b'('
                | b')' => {}
                b'-' if !matches!(
                    self.byte_at(self.at + 1),
                    b' ' | b'\n' | b'\t' | b',' | b']' | b'}' | 0
                ) => {}
                b'*' | b'%' | b'@' | b'!' | b'&' | b'<' | b'>' | b'~' | b'^' if self.at > start => {}
                b',' | b']' | b'}' if self.at > start => return Some(self.slice(start, self.at)),
                b':' if self.at > start => match self.byte_at(self.at + 1) {
                    b' ' => return Some(self.slice(start, self.at)),
                    byte if byte.is_ascii_alphanumeric() || byte == b'/' => {}
                    _ => return None,
                },
                // A blank inside, or before what follows.
                b' ' if self.at > start => {
                    let end = self.at;
                    self.skip_spaces();
                    match self.byte() {
                        b',' | b']' | b'}' => return Some(self.slice(start, end)),
                        byte if byte.is_ascii_alphanumeric() => continue,
                        _ => return None,
                    }
                }
                _ => return None,
            }
            self.at += 1;
        }
    }
}
