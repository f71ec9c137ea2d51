//! Tokens to values: the full reader, which knows all of YAML 1.1.
//!
//! Values are built while reading. An anchor that is still open cannot be referred to, which is what Go says
//! too, in other words. An alias shares the value it refers to; its size is counted, not paid.

use std::borrow::Cow;
use std::collections::HashMap;

use super::mapping::Mapping;
use super::scalar::{Scalar, resolve, resolve_tagged};
use super::scanner::Scanner;
use super::token::{Kind, Mark, Tag, Token};
use super::{Failed, MAX_ALIASED, MAX_DUPLICATES, YamlError};
use crate::json::MAX_DEPTH;
use crate::source::size;
use crate::{Number, Position, ProblemKind, Text, Value};

mod flow;

/// What a document costs for each node, beside its text.
const NODE_COST: usize = 16;

/// One document.
pub(super) struct Parsed {
    pub(super) value: Value,
    pub(super) positions: Vec<Position>,
    pub(super) duplicates: Vec<Duplicate>,
}

/// A key written twice.
pub(super) struct Duplicate {
    pub(super) key: Text,
    pub(super) first: Position,
    pub(super) second: Position,
}

/// Reads the documents of a text one by one.
pub(super) struct Parser<'a> {
    scanner: Scanner<'a>,
    is_first: bool,
    tag_prefixes: Vec<Tag>,
    anchors: HashMap<&'a str, usize>,
    anchored: Vec<Option<Anchored>>,
    positions: Vec<Position>,
    duplicates: Vec<Duplicate>,
    depth: usize,
    // The deepest level since the innermost open anchor.
    deepest: usize,
    cost: usize,
    aliased: usize,
    // Whether the node read last was an alias.
    was_alias: bool,
}

/// What an anchor stands for.
#[derive(Clone)]
struct Anchored {
    value: Value,
    size: usize,
    cost: usize,
    height: usize,
}

/// A key of a mapping.
enum Key {
    Text(Text),
    /// `<<`
    Merge(Mark),
}

/// What stands before a node.
#[derive(Default)]
struct Properties<'a> {
    anchor: Option<&'a str>,
    tag: Option<String>,
}

impl<'a> Parser<'a> {
    /// Returns a parser of `text` from `at` on, where line `line` starts, counted from 0.
    pub(super) fn new(text: &'a str, at: usize, line: u32) -> Self {
        Self {
            scanner: Scanner::new(text, at, line),
            is_first: true,
            tag_prefixes: Vec::new(),
            anchors: HashMap::new(),
            anchored: Vec::new(),
            positions: Vec::new(),
            duplicates: Vec::new(),
            depth: 0,
            deepest: 0,
            cost: 0,
            aliased: 0,
            was_alias: false,
        }
    }

    /// Returns how far the text was looked at.
    pub(super) fn offset(&self) -> usize {
        self.scanner.offset()
    }

    /// Reads the next document; nothing at the end of the text.
    pub(super) fn document(&mut self) -> Result<Option<Parsed>, Failed> {
        if !self.is_first {
            while matches!(self.scanner.peek()?.kind, Kind::DocumentEnd) {
                self.scanner.next()?;
            }
        }
        let token = self.scanner.peek()?;
        let value = match token.kind {
            Kind::StreamEnd => return Ok(None),
            Kind::Version(..) | Kind::TagDirective(_) | Kind::DocumentStart => self.explicit_document()?,
            _ if self.is_first => {
                self.directives()?;
                self.node(true, false)?
            }
            _ => return Err(unexpected(token, "`---` before another document")),
        };
        // The token after a document must be one, whatever it is.
        if matches!(self.scanner.peek()?.kind, Kind::DocumentEnd) {
            self.scanner.next()?;
        }
        self.is_first = false;
        self.anchors.clear();
        self.anchored.clear();
        (self.cost, self.aliased) = (0, 0);
        let positions = std::mem::take(&mut self.positions);
        let duplicates = std::mem::take(&mut self.duplicates);
        Ok(Some(Parsed { value, positions, duplicates }))
    }

    fn explicit_document(&mut self) -> Result<Value, Failed> {
        self.directives()?;
        let token = self.scanner.peek()?;
        if !matches!(token.kind, Kind::DocumentStart) {
            return Err(unexpected(token, "`---` after the directives"));
        }
        self.scanner.next()?;
        let token = self.scanner.peek()?;
        match token.kind {
            Kind::Version(..)
            | Kind::TagDirective(_)
            | Kind::DocumentStart
            | Kind::DocumentEnd
            | Kind::StreamEnd => {
                let mark = token.start;
                Ok(self.empty(mark))
            }
            _ => self.node(true, false),
        }
    }

    fn directives(&mut self) -> Result<(), Failed> {
        self.tag_prefixes.clear();
        let mut has_version = false;
        while matches!(self.scanner.peek()?.kind, Kind::Version(..) | Kind::TagDirective(_)) {
            let token = self.scanner.next()?;
            match token.kind {
                Kind::Version(1, 1) if !has_version => has_version = true,
                Kind::Version(1, 1) => return Err(syntax("a second `%YAML` directive", token.start)),
                Kind::Version(..) => return Err(syntax("only YAML 1.1 can be read", token.start)),
                Kind::TagDirective(tag) if self.tag_prefixes.iter().all(|t| t.handle != tag.handle) => {
                    self.tag_prefixes.push(*tag);
                }
                _ => return Err(syntax("a second `%TAG` directive for one handle", token.start)),
            }
        }
        Ok(())
    }

    /// Reads a value. Without `block`, only flow style; with `indentless`, a list may start with its first `-`.
    fn node(&mut self, block: bool, indentless: bool) -> Result<Value, Failed> {
        if matches!(self.scanner.peek()?.kind, Kind::Alias(_)) {
            let token = self.scanner.next()?;
            let value = self.alias(&token)?;
            self.was_alias = true;
            return Ok(value);
        }
        let properties = self.properties()?;
        let value = self.anchored(block, indentless, &properties);
        self.was_alias = false;
        value
    }

    /// Reads what follows the properties, and notes it if an anchor is among them.
    fn anchored(
        &mut self,
        block: bool,
        indentless: bool,
        properties: &Properties<'a>,
    ) -> Result<Value, Failed> {
        let Some(name) = properties.anchor else {
            return self.content(block, indentless, properties);
        };
        let slot = self.open_anchor(name);
        let (cost, at) = (self.cost, self.positions.len());
        let above = std::mem::replace(&mut self.deepest, self.depth);
        let value = self.content(block, indentless, properties)?;
        let height = self.deepest.saturating_sub(self.depth);
        self.deepest = self.deepest.max(above);
        let size = self.positions.len() - at;
        let cost = self.cost.saturating_sub(cost);
        self.close_anchor(slot, Anchored { value: value.clone(), size, cost, height });
        Ok(value)
    }

    fn content(
        &mut self,
        block: bool,
        indentless: bool,
        properties: &Properties<'a>,
    ) -> Result<Value, Failed> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        match token.kind {
            Kind::BlockEntry if indentless => self.nested(mark, Self::indentless_sequence),
            Kind::BlockSequenceStart if block => self.nested(mark, Self::block_sequence),
            Kind::BlockMappingStart if block => self.nested(mark, Self::block_mapping),
            Kind::FlowSequenceStart => self.nested(mark, Self::flow_sequence),
            Kind::FlowMappingStart => self.nested(mark, Self::flow_mapping),
            Kind::Scalar { .. } => {
                let (scalar, text) = self.scalar_content(properties)?;
                self.scalar_value(scalar, &text, mark)
            }
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                let (scalar, text) = self.scalar_content(properties)?;
                self.scalar_value(scalar, &text, mark)
            }
            _ => Err(unexpected(token, "a value")),
        }
    }

    /// Reads a collection one level deeper.
    fn nested(&mut self, mark: Mark, read: fn(&mut Self) -> Result<Value, Failed>) -> Result<Value, Failed> {
        if self.depth == MAX_DEPTH {
            return Err(too_deep(mark));
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.cost = self.cost.saturating_add(NODE_COST);
        self.positions.push(mark.position());
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Takes a scalar, or an empty one where there is none, and says what it means.
    fn scalar_content(&mut self, properties: &Properties<'a>) -> Result<(Scalar, Cow<'a, str>), Failed> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        let (text, plain) = if matches!(token.kind, Kind::Scalar { .. }) {
            match self.scanner.next()?.kind {
                Kind::Scalar { text, plain } => (text, plain),
                _ => (Cow::Borrowed(""), true),
            }
        } else {
            (Cow::Borrowed(""), true)
        };
        self.cost = self.cost.saturating_add(NODE_COST + text.len());
        match &properties.tag {
            None if plain => Ok((resolve(&text), text)),
            None => Ok((Scalar::Text, text)),
            Some(tag) if tag == "tag:yaml.org,2002:binary" => {
                Ok((Scalar::Text, Cow::Owned(super::encoding::binary(&text, mark)?)))
            }
            Some(tag) => Ok((resolve_tagged(tag, &text, mark)?, text)),
        }
    }

    fn scalar_value(&mut self, scalar: Scalar, text: &str, mark: Mark) -> Result<Value, Failed> {
        self.positions.push(mark.position());
        scalar.value(text).ok_or_else(|| {
            Box::new(YamlError {
                kind: ProblemKind::Number,
                message: format!("JSON has no number for `{text}`"),
                position: mark.position(),
            })
        })
    }

    fn empty(&mut self, mark: Mark) -> Value {
        self.cost = self.cost.saturating_add(NODE_COST);
        self.positions.push(mark.position());
        Value::Null
    }

    fn properties(&mut self) -> Result<Properties<'a>, Failed> {
        let mut properties = Properties::default();
        let mut has_tag = false;
        loop {
            match self.scanner.peek()?.kind {
                Kind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(name);
                    self.scanner.next()?;
                }
                Kind::Tag(_) if !has_tag => {
                    has_tag = true;
                    let token = self.scanner.next()?;
                    if let Kind::Tag(tag) = token.kind {
                        properties.tag = self.long_tag(*tag, token.start)?;
                    }
                }
                _ => return Ok(properties),
            }
        }
    }

    /// Returns the tag with its handle written out.
    fn long_tag(&self, tag: Tag, mark: Mark) -> Result<Option<String>, Failed> {
        if tag.handle.is_empty() {
            return Ok(Some(tag.suffix).filter(|tag| !tag.is_empty()));
        }
        let declared = self.tag_prefixes.iter().find(|known| known.handle == tag.handle);
        let prefix = match (declared, tag.handle.as_str()) {
            (Some(known), _) => known.suffix.as_str(),
            (None, "!") => "!",
            (None, "!!") => "tag:yaml.org,2002:",
            (None, handle) => {
                return Err(Box::new(YamlError {
                    kind: ProblemKind::Tag,
                    message: format!("unknown tag handle `{handle}`"),
                    position: mark.position(),
                }));
            }
        };
        Ok(Some(format!("{prefix}{}", tag.suffix)))
    }

    fn block_sequence(&mut self) -> Result<Value, Failed> {
        self.scanner.next()?;
        let mut items = Vec::new();
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                Kind::BlockEntry => {
                    let next = &self.scanner.peek()?.kind;
                    items.push(match next {
                        Kind::BlockEntry | Kind::BlockEnd => self.empty(token.end),
                        _ => self.node(true, false)?,
                    });
                }
                Kind::BlockEnd => return Ok(Value::array(items)),
                _ => return Err(unexpected(&token, "`-` or the end of the list")),
            }
        }
    }

    /// Reads a list in a mapping whose `-` stand under the key itself.
    fn indentless_sequence(&mut self) -> Result<Value, Failed> {
        let mut items = Vec::new();
        while matches!(self.scanner.peek()?.kind, Kind::BlockEntry) {
            let dash = self.scanner.next()?;
            items.push(match self.scanner.peek()?.kind {
                Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => self.empty(dash.end),
                _ => self.node(true, false)?,
            });
        }
        Ok(Value::array(items))
    }

    fn block_mapping(&mut self) -> Result<Value, Failed> {
        self.scanner.next()?;
        let mut mapping = Mapping::new(self.positions.len());
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                Kind::Key => {
                    if matches!(self.scanner.peek()?.kind, Kind::Key | Kind::Value | Kind::BlockEnd) {
                        return Err(no_key("null", token.end));
                    }
                    let key = self.key(true, token.end)?;
                    self.entry(&mut mapping, key, Self::block_value)?;
                }
                Kind::BlockEnd => return Ok(Value::object(mapping.finish(&mut self.positions))),
                _ => return Err(unexpected(&token, "a key, or less indentation")),
            }
        }
    }

    fn block_value(&mut self) -> Result<Value, Failed> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if !matches!(token.kind, Kind::Value) {
            return Ok(self.empty(mark));
        }
        let colon = self.scanner.next()?;
        match self.scanner.peek()?.kind {
            Kind::Key | Kind::Value | Kind::BlockEnd => Ok(self.empty(colon.end)),
            _ => self.node(true, true),
        }
    }

    /// Reads a key.
    fn key(&mut self, block: bool, mark: Mark) -> Result<Key, Failed> {
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
    fn entry(
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

    fn alias(&mut self, token: &Token<'a>) -> Result<Value, Failed> {
        let Kind::Alias(name) = token.kind else {
            return Err(unexpected(token, "an alias"));
        };
        let mark = token.start;
        let Some(slot) = self.anchors.get(name) else {
            return Err(syntax(&format!("unknown anchor `{name}`"), mark));
        };
        let Some(anchored) = self.anchored.get(*slot).cloned().flatten() else {
            return Err(syntax(&format!("anchor `{name}` contains itself"), mark));
        };
        self.cost = self.cost.saturating_add(anchored.cost);
        self.aliased = self.aliased.saturating_add(anchored.cost);
        if self.aliased > MAX_ALIASED {
            return Err(Box::new(YamlError {
                kind: ProblemKind::AliasExpansion,
                message: format!("aliases stand for more than {} MiB", MAX_ALIASED >> 20),
                position: mark.position(),
            }));
        }
        if self.depth + anchored.height > MAX_DEPTH {
            return Err(too_deep(mark));
        }
        self.deepest = self.deepest.max(self.depth + anchored.height);
        self.positions.extend(std::iter::repeat_n(mark.position(), anchored.size));
        Ok(anchored.value)
    }

    fn open_anchor(&mut self, name: &'a str) -> usize {
        let slot = self.anchored.len();
        self.anchored.push(None);
        self.anchors.insert(name, slot);
        slot
    }

    fn close_anchor(&mut self, slot: usize, anchored: Anchored) {
        if let Some(place) = self.anchored.get_mut(slot) {
            *place = Some(anchored);
        }
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

fn syntax(message: &str, mark: Mark) -> Failed {
    Box::new(YamlError { kind: ProblemKind::Syntax, message: message.to_owned(), position: mark.position() })
}

fn unexpected(token: &Token<'_>, expected: &str) -> Failed {
    syntax(&format!("found {}, expected {expected}", token.kind.name()), token.start)
}

fn no_key(what: &str, mark: Mark) -> Failed {
    Box::new(YamlError {
        kind: ProblemKind::Key,
        message: format!("{what} cannot be a key"),
        position: mark.position(),
    })
}

fn too_deep(mark: Mark) -> Failed {
    Box::new(YamlError {
        kind: ProblemKind::Depth,
        message: format!("nested deeper than {MAX_DEPTH} levels"),
        position: mark.position(),
    })
}
