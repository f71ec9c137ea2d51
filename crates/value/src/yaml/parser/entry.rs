//! Keys, entries, merges and equal keys.

use super::super::mapping::Mapping;
use super::super::scalar::Scalar;
use super::super::token::{Kind, Mark};
use super::super::{Failed, MAX_DUPLICATES, YamlError};
use super::property::Anchored;
use super::{Duplicate, NODE_COST, Parser, syntax, unexpected};
use crate::source::size;
use crate::{Number, Position, ProblemKind, Text, Value};

/// How many positions equal keys and merges may rearrange; a mapping inside another counts again.
const MAX_MOVED: usize = 32 << 20;

/// A key of a mapping.
pub(super) enum Key {
    Text(Text),
    /// `<<`
    Merge(Mark),
}

impl Parser<'_> {
    /// Reads a key.
    pub(super) fn key(&mut self, block: bool, mark: Mark) -> Result<Key, Failed> {
        if matches!(self.scanner.peek()?.kind, Kind::Alias(_)) {
            let token = self.scanner.next()?;
            let positions = self.positions.len();
            let value = self.alias(&token)?;
            self.positions.truncate(positions);
            let (scalar, text) = scalar_of(value).ok_or_else(|| no_key("a list or a mapping", mark))?;
            return self.text_key(scalar, &text, mark);
        }
        let properties = self.properties()?;
        let token = self.scanner.peek()?;
        let mark = token.start;
        let is_collection = match token.kind {
            Kind::FlowSequenceStart | Kind::FlowMappingStart => true,
            Kind::BlockSequenceStart | Kind::BlockMappingStart | Kind::BlockEntry => block,
            _ => false,
        };
        if is_collection {
            return Err(no_key("a list or a mapping", mark));
        }
        let is_plain = matches!(&token.kind, Kind::Scalar { plain: true, .. });
        if !matches!(token.kind, Kind::Scalar { .. })
            && properties.anchor.is_none()
            && properties.tag.is_none()
        {
            return Err(unexpected(token, "a key"));
        }
        let (scalar, text) = self.scalar_content(&properties)?;
        if let Some(name) = properties.anchor {
            let slot = self.open_anchor(name);
            let value = self.scalar_value(scalar, &text, mark)?;
            self.positions.pop();
            self.close_anchor(slot, Anchored { value, size: 1, cost: NODE_COST + text.len(), height: 0 });
        }
        let can_merge = match properties.tag.as_deref() {
            None => is_plain,
            Some(tag) => tag == "!" || tag == "tag:yaml.org,2002:merge",
        };
        if can_merge && text == "<<" {
            self.positions.push(mark.position());
            return Ok(Key::Merge(mark));
        }
        self.text_key(scalar, &text, mark)
    }

    fn text_key(&mut self, scalar: Scalar, text: &str, mark: Mark) -> Result<Key, Failed> {
        self.positions.push(mark.position());
        scalar.key(text).map(Key::Text).map_err(|what| no_key(what, mark))
    }

    /// Reads the value of `key`, whose position was noted last, and adds the entry.
    pub(super) fn entry(
        &mut self,
        mapping: &mut Mapping,
        key: Key,
        value: fn(&mut Self) -> Result<Value, Failed>,
    ) -> Result<(), Failed> {
        let at = self.positions.len() - 1;
        match key {
            Key::Text(key) => {
                let value = value(self)?;
                if let Some(first) = mapping.put(key.clone(), value, at..self.positions.len()) {
                    self.duplicate(key, first.start, at)?;
                }
                Ok(())
            }
            Key::Merge(mark) => {
                mapping.unordered();
                self.was_alias = false;
                let value = value(self)?;
                merge(mapping, &value, at + 1, self.was_alias)
                    .ok_or_else(|| syntax("`<<` needs a mapping or a list of mappings", mark))
            }
        }
    }

    /// Returns the mapping as a value.
    pub(super) fn finish(&mut self, mapping: Mapping, mark: Mark) -> Result<Value, Failed> {
        let map = mapping.finish(&mut self.positions, &mut self.moved);
        if self.moved > MAX_MOVED {
            return Err(Box::new(YamlError {
                kind: ProblemKind::Size,
                message: "equal keys and merges around too many values".to_owned(),
                position: mark.position(),
            }));
        }
        Ok(Value::object(map))
    }

    fn duplicate(&mut self, key: Text, first: usize, second: usize) -> Result<(), Failed> {
        let at = |place: usize| self.positions.get(place).copied().unwrap_or(Position::START);
        let duplicate = Duplicate { key, first: at(first), second: at(second) };
        if self.duplicates.len() == MAX_DUPLICATES {
            return Err(Box::new(YamlError {
                kind: ProblemKind::Size,
                message: format!("more than {MAX_DUPLICATES} keys stand twice"),
                position: duplicate.second,
            }));
        }
        self.duplicates.push(duplicate);
        Ok(())
    }
}

/// Merges `value`, whose positions start at `at`, into `mapping`; nothing if it is not made of mappings.
fn merge(mapping: &mut Mapping, value: &Value, at: usize, is_alias: bool) -> Option<()> {
    match value {
        Value::Object(map) => mapping.merge(map, at),
        Value::Array(items) if !is_alias => {
            let mut at = at + 1;
            let mut maps = Vec::with_capacity(items.len());
            for item in items.iter() {
                maps.push((item.as_object()?, at));
                at += size(item);
            }
            // The first of the list wins, so it comes last.
            for (map, at) in maps.into_iter().rev() {
                mapping.merge(map, at);
            }
        }
        _ => return None,
    }
    Some(())
}

/// Returns the scalar that an alias in the place of a key refers to.
fn scalar_of(value: Value) -> Option<(Scalar, Text)> {
    let scalar = match value {
        Value::Null => Scalar::Null,
        Value::Bool(truth) => Scalar::Bool(truth),
        Value::Number(Number::Int(integer)) => Scalar::Int(integer),
        Value::Number(Number::UInt(integer)) => Scalar::UInt(integer),
        Value::Number(Number::Float(float)) => Scalar::Float(float),
        Value::String(text) => return Some((Scalar::Text, text)),
        Value::Array(_) | Value::Object(_) => return None,
    };
    Some((scalar, Text::default()))
}

pub(super) fn no_key(what: &str, mark: Mark) -> Failed {
    Box::new(YamlError {
        kind: ProblemKind::Key,
        message: format!("{what} cannot be a key"),
        position: mark.position(),
    })
}
