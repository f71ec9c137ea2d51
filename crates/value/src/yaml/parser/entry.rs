//! Keys, entries, merges and equal keys.

use super::super::mapping::MappingBuilder;
use super::super::scalar::ResolvedScalar;
use super::super::token::{YamlMark, YamlTokenKind};
use super::super::{MAX_DUPLICATES, YamlError, YamlFailure};
use super::property::AnchoredNode;
use super::{DuplicateKey, NODE_COST, YamlParser, syntax_error, unexpected_token};
use crate::source::position_count;
use crate::{Number, ParseProblemKind, Position, Text, Value};

/// The maximum number of positions that equal keys and merges may rearrange; a mapping inside another counts again.
const MAX_MOVED: usize = 32 << 20;

/// A key of a mapping.
pub(super) enum MappingKey {
    Text(Text),
    /// `<<`
    Merge(YamlMark),
}

impl YamlParser<'_> {
    /// Reads a key.
    pub(super) fn key(&mut self, block: bool, mark: YamlMark) -> Result<MappingKey, YamlFailure> {
        if matches!(self.scanner.peek()?.kind, YamlTokenKind::Alias(_)) {
            let token = self.scanner.next()?;
            let positions = self.positions.len();
            let value = self.alias(&token)?;
            self.positions.truncate(positions);
            let (scalar, text) =
                scalar_of(value).ok_or_else(|| not_a_key_error("a list or a mapping", mark))?;
            return self.text_key(scalar, &text, mark);
        }
        let properties = self.properties()?;
        let token = self.scanner.peek()?;
        let mark = token.start;
        let is_collection = match token.kind {
            YamlTokenKind::FlowSequenceStart | YamlTokenKind::FlowMappingStart => true,
            YamlTokenKind::BlockSequenceStart
            | YamlTokenKind::BlockMappingStart
            | YamlTokenKind::BlockEntry => block,
            _ => false,
        };
        if is_collection {
            return Err(not_a_key_error("a list or a mapping", mark));
        }
        let is_plain = matches!(&token.kind, YamlTokenKind::Scalar { plain: true, .. });
        if !matches!(token.kind, YamlTokenKind::Scalar { .. })
            && properties.anchor.is_none()
            && properties.tag.is_none()
        {
            return Err(unexpected_token(token, "a key"));
        }
        let (scalar, text) = self.scalar_content(&properties)?;
        if let Some(name) = properties.anchor {
            let slot = self.open_anchor(name);
            let value = self.scalar_value(scalar, &text, mark)?;
            self.positions.pop();
            self.close_anchor(slot, AnchoredNode { value, size: 1, cost: NODE_COST + text.len(), height: 0 });
        }
        let can_merge = match properties.tag.as_deref() {
            None => is_plain,
            Some(tag) => tag == "!" || tag == "tag:yaml.org,2002:merge",
        };
        if can_merge && text == "<<" {
            self.positions.push(mark.position());
            return Ok(MappingKey::Merge(mark));
        }
        self.text_key(scalar, &text, mark)
    }

    fn text_key(
        &mut self,
        scalar: ResolvedScalar,
        text: &str,
        mark: YamlMark,
    ) -> Result<MappingKey, YamlFailure> {
        self.positions.push(mark.position());
        scalar.key(text).map(MappingKey::Text).map_err(|what| not_a_key_error(what, mark))
    }

    /// Reads the value of `key`, whose position was noted last, and adds the entry.
    pub(super) fn entry(
        &mut self,
        mapping: &mut MappingBuilder,
        key: MappingKey,
        value: fn(&mut Self) -> Result<Value, YamlFailure>,
    ) -> Result<(), YamlFailure> {
        let at = self.positions.len() - 1;
        match key {
            MappingKey::Text(key) => {
                let value = value(self)?;
                if let Some(first) = mapping.put(key.clone(), value, at..self.positions.len()) {
                    self.duplicate(key, first.start, at)?;
                }
                Ok(())
            }
            MappingKey::Merge(mark) => {
                mapping.unordered();
                self.was_alias = false;
                let value = value(self)?;
                merge_mapping(mapping, &value, at + 1, self.was_alias)
                    .ok_or_else(|| syntax_error("`<<` needs a mapping or a list of mappings", mark))
            }
        }
    }

    /// Returns the mapping as a value.
    pub(super) fn finish(&mut self, mapping: MappingBuilder, mark: YamlMark) -> Result<Value, YamlFailure> {
        let map = mapping.finish(&mut self.positions, &mut self.moved);
        if self.moved > MAX_MOVED {
            return Err(Box::new(YamlError {
                kind: ParseProblemKind::Size,
                message: "equal keys and merges around too many values".to_owned(),
                position: mark.position(),
            }));
        }
        Ok(Value::object(map))
    }

    fn duplicate(&mut self, key: Text, first: usize, second: usize) -> Result<(), YamlFailure> {
        let at = |place: usize| self.positions.get(place).copied().unwrap_or(Position::START);
        let duplicate = DuplicateKey { key, first: at(first), second: at(second) };
        if self.duplicates.len() == MAX_DUPLICATES {
            return Err(Box::new(YamlError {
                kind: ParseProblemKind::Size,
                message: format!("more than {MAX_DUPLICATES} keys stand twice"),
                position: duplicate.second,
            }));
        }
        self.duplicates.push(duplicate);
        Ok(())
    }
}

/// Merges `value`, whose positions start at `at`, into `mapping`; nothing if it is not made of mappings.
fn merge_mapping(mapping: &mut MappingBuilder, value: &Value, at: usize, is_alias: bool) -> Option<()> {
    match value {
        Value::Object(map) => mapping.merge(map, at),
        Value::Array(items) if !is_alias => {
            let mut at = at + 1;
            let mut maps = Vec::with_capacity(items.len());
            for item in items.iter() {
                maps.push((item.as_object()?, at));
                at += position_count(item);
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
fn scalar_of(value: Value) -> Option<(ResolvedScalar, Text)> {
    let scalar = match value {
        Value::Null => ResolvedScalar::Null,
        Value::Bool(truth) => ResolvedScalar::Bool(truth),
        Value::Number(Number::Int(integer)) => ResolvedScalar::Int(integer),
        Value::Number(Number::UInt(integer)) => ResolvedScalar::UInt(integer),
        Value::Number(Number::Float(float)) => ResolvedScalar::Float(float),
        Value::String(text) => return Some((ResolvedScalar::Text, text)),
        Value::Array(_) | Value::Object(_) => return None,
    };
    Some((scalar, Text::default()))
}

pub(super) fn not_a_key_error(what: &str, mark: YamlMark) -> YamlFailure {
    Box::new(YamlError {
        kind: ParseProblemKind::Key,
        message: format!("{what} cannot be a key"),
        position: mark.position(),
    })
}
