//! Tokens to values: the full reader, which knows all of YAML 1.1.
//!
//! Values are built while reading. An anchor that is still open cannot be referred to, which is what Go says
//! too, in other words. An alias shares the value it refers to; its size is counted, not paid.

mod block;
mod entry;
mod flow;
mod property;

use std::borrow::Cow;
use std::collections::HashMap;

use super::scalar::{ResolvedScalar, resolve_scalar, resolve_tagged};
use super::scanner::YamlScanner;
use super::token::{YamlMark, YamlToken, YamlTokenKind};
use super::{YamlError, YamlFailure};
use crate::json::MAX_DEPTH;
use crate::{ParseProblemKind, Position, Text, Value};
use property::{AnchoredNode, NodeProperties};

/// The cost of each node of a document, besides its text.
const NODE_COST: usize = 16;

/// One document.
pub(super) struct ParsedYaml {
    pub(super) value: Value,
    pub(super) positions: Vec<Position>,
    pub(super) duplicates: Vec<DuplicateKey>,
}

/// A key written twice.
pub(super) struct DuplicateKey {
    pub(super) key: Text,
    pub(super) first: Position,
    pub(super) second: Position,
}

/// Reads the documents of a text one by one.
pub(super) struct YamlParser<'a> {
    scanner: YamlScanner<'a>,
    is_first: bool,
    tag_prefixes: HashMap<String, String>,
    anchors: HashMap<&'a str, usize>,
    anchored: Vec<Option<AnchoredNode>>,
    positions: Vec<Position>,
    duplicates: Vec<DuplicateKey>,
    depth: usize,
    // The deepest level since the innermost open anchor.
    deepest: usize,
    cost: usize,
    aliased: usize,
    moved: usize,
    // Whether the node read last was an alias.
    was_alias: bool,
}

impl<'a> YamlParser<'a> {
    /// Returns a parser of `text` from `at` on, where line `line` starts, counted from 0.
    pub(super) fn new(text: &'a str, at: usize, line: u32) -> Self {
        Self {
            scanner: YamlScanner::new(text, at, line),
            is_first: true,
            tag_prefixes: HashMap::new(),
            anchors: HashMap::new(),
            anchored: Vec::new(),
            positions: Vec::new(),
            duplicates: Vec::new(),
            depth: 0,
            deepest: 0,
            cost: 0,
            aliased: 0,
            moved: 0,
            was_alias: false,
        }
    }

    /// Returns how far the text was looked at.
    pub(super) fn offset(&self) -> usize {
        self.scanner.offset()
    }

    /// Reads the next document; nothing at the end of the text.
    pub(super) fn document(&mut self) -> Result<Option<ParsedYaml>, YamlFailure> {
        if !self.is_first {
            while matches!(self.scanner.peek()?.kind, YamlTokenKind::DocumentEnd) {
                self.scanner.next()?;
            }
        }
        let token = self.scanner.peek()?;
        let value = match token.kind {
            YamlTokenKind::StreamEnd => return Ok(None),
            YamlTokenKind::Version(..) | YamlTokenKind::TagDirective(_) | YamlTokenKind::DocumentStart => {
                self.explicit_document()?
            }
            _ if self.is_first => {
                self.directives()?;
                self.node(true, false)?
            }
            _ => return Err(unexpected_token(token, "`---` before another document")),
        };
        // The token after a document must be one, whatever it is.
        if matches!(self.scanner.peek()?.kind, YamlTokenKind::DocumentEnd) {
            self.scanner.next()?;
        }
        self.is_first = false;
        self.anchors.clear();
        self.anchored.clear();
        (self.cost, self.aliased, self.moved) = (0, 0, 0);
        let positions = std::mem::take(&mut self.positions);
        let duplicates = std::mem::take(&mut self.duplicates);
        Ok(Some(ParsedYaml { value, positions, duplicates }))
    }

    fn explicit_document(&mut self) -> Result<Value, YamlFailure> {
        self.directives()?;
        let token = self.scanner.peek()?;
        if !matches!(token.kind, YamlTokenKind::DocumentStart) {
            return Err(unexpected_token(token, "`---` after the directives"));
        }
        self.scanner.next()?;
        let token = self.scanner.peek()?;
        match token.kind {
            YamlTokenKind::Version(..)
            | YamlTokenKind::TagDirective(_)
            | YamlTokenKind::DocumentStart
            | YamlTokenKind::DocumentEnd
            | YamlTokenKind::StreamEnd => {
                let mark = token.start;
                Ok(self.empty(mark))
            }
            _ => self.node(true, false),
        }
    }

    fn directives(&mut self) -> Result<(), YamlFailure> {
        self.tag_prefixes.clear();
        let mut has_version = false;
        while matches!(self.scanner.peek()?.kind, YamlTokenKind::Version(..) | YamlTokenKind::TagDirective(_))
        {
            let token = self.scanner.next()?;
            match token.kind {
                YamlTokenKind::Version(1, 1) if !has_version => has_version = true,
                YamlTokenKind::Version(1, 1) => {
                    return Err(syntax_error("a second `%YAML` directive", token.start));
                }
                YamlTokenKind::Version(..) => {
                    return Err(syntax_error("only YAML 1.1 can be read", token.start));
                }
                YamlTokenKind::TagDirective(tag) if !self.tag_prefixes.contains_key(&tag.handle) => {
                    self.tag_prefixes.insert(tag.handle, tag.suffix);
                }
                _ => return Err(syntax_error("a second `%TAG` directive for one handle", token.start)),
            }
        }
        Ok(())
    }

    /// Reads a value. Without `block`, only flow style; with `indentless`, a list may start with its first `-`.
    fn node(&mut self, block: bool, indentless: bool) -> Result<Value, YamlFailure> {
        if matches!(self.scanner.peek()?.kind, YamlTokenKind::Alias(_)) {
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

    fn content(
        &mut self,
        block: bool,
        indentless: bool,
        properties: &NodeProperties<'a>,
    ) -> Result<Value, YamlFailure> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        match token.kind {
            YamlTokenKind::BlockEntry if indentless => self.nested(mark, Self::indentless_sequence),
            YamlTokenKind::BlockSequenceStart if block => self.nested(mark, Self::block_sequence),
            YamlTokenKind::BlockMappingStart if block => self.nested(mark, Self::block_mapping),
            YamlTokenKind::FlowSequenceStart => self.nested(mark, Self::flow_sequence),
            YamlTokenKind::FlowMappingStart => self.nested(mark, Self::flow_mapping),
            YamlTokenKind::Scalar { .. } => {
                let (scalar, text) = self.scalar_content(properties)?;
                self.scalar_value(scalar, &text, mark)
            }
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                let (scalar, text) = self.scalar_content(properties)?;
                self.scalar_value(scalar, &text, mark)
            }
            _ => Err(unexpected_token(token, "a value")),
        }
    }

    /// Reads a collection one level deeper.
    fn nested(
        &mut self,
        mark: YamlMark,
        read: fn(&mut Self) -> Result<Value, YamlFailure>,
    ) -> Result<Value, YamlFailure> {
        if self.depth == MAX_DEPTH {
            return Err(nested_too_deep(mark));
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.cost = self.cost.saturating_add(NODE_COST);
        self.positions.push(mark.position());
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Takes a scalar, or an empty one if it is missing, and resolves it.
    fn scalar_content(
        &mut self,
        properties: &NodeProperties<'a>,
    ) -> Result<(ResolvedScalar, Cow<'a, str>), YamlFailure> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        let (text, plain) = if matches!(token.kind, YamlTokenKind::Scalar { .. }) {
            match self.scanner.next()?.kind {
                YamlTokenKind::Scalar { text, plain } => (text, plain),
                _ => (Cow::Borrowed(""), true),
            }
        } else {
            (Cow::Borrowed(""), true)
        };
        self.cost = self.cost.saturating_add(NODE_COST + text.len());
        match &properties.tag {
            None if plain => Ok((resolve_scalar(&text), text)),
            None => Ok((ResolvedScalar::Text, text)),
            Some(tag) if tag == "tag:yaml.org,2002:binary" => {
                Ok((ResolvedScalar::Text, Cow::Owned(super::encoding::decode_yaml_binary(&text, mark)?)))
            }
            Some(tag) => Ok((resolve_tagged(tag, &text, mark)?, text)),
        }
    }

    fn scalar_value(
        &mut self,
        scalar: ResolvedScalar,
        text: &str,
        mark: YamlMark,
    ) -> Result<Value, YamlFailure> {
        self.positions.push(mark.position());
        scalar.value(text).ok_or_else(|| {
            Box::new(YamlError {
                kind: ParseProblemKind::Number,
                message: format!("JSON has no number for `{text}`"),
                position: mark.position(),
            })
        })
    }

    fn empty(&mut self, mark: YamlMark) -> Value {
        self.cost = self.cost.saturating_add(NODE_COST);
        self.positions.push(mark.position());
        Value::Null
    }
}

fn syntax_error(message: &str, mark: YamlMark) -> YamlFailure {
    Box::new(YamlError {
        kind: ParseProblemKind::Syntax,
        message: message.to_owned(),
        position: mark.position(),
    })
}

fn unexpected_token(token: &YamlToken<'_>, expected: &str) -> YamlFailure {
    syntax_error(&format!("found {}, expected {expected}", token.kind.name()), token.start)
}

fn nested_too_deep(mark: YamlMark) -> YamlFailure {
    Box::new(YamlError {
        kind: ParseProblemKind::Depth,
        message: format!("nested deeper than {MAX_DEPTH} levels"),
        position: mark.position(),
    })
}
