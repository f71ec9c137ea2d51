//! Anchors, aliases and tags.

use super::super::token::{Kind, Mark, Tag, Token};
use super::super::{Failed, MAX_ALIASED, YamlError};
use super::{Parser, syntax, too_deep, unexpected};
use crate::json::MAX_DEPTH;
use crate::{ProblemKind, Value};

/// Prefixes of tags beyond this length belong to no tag that is known.
const LONG_TAG: usize = 64;

/// What an anchor stands for.
#[derive(Clone)]
pub(super) struct Anchored {
    pub(super) value: Value,
    pub(super) size: usize,
    pub(super) cost: usize,
    pub(super) height: usize,
}

/// What stands before a node.
#[derive(Default)]
pub(super) struct Properties<'a> {
    pub(super) anchor: Option<&'a str>,
    pub(super) tag: Option<String>,
}

impl<'a> Parser<'a> {
    pub(super) fn properties(&mut self) -> Result<Properties<'a>, Failed> {
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
        let declared = self.tag_prefixes.get(&tag.handle);
        let prefix = match (declared, tag.handle.as_str()) {
            (Some(prefix), _) => prefix.as_str(),
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
        // No tag with a meaning is long; a long one need not be written out for every node that has it.
        if prefix.len() > LONG_TAG {
            return Ok(Some("?".to_owned()));
        }
        Ok(Some(format!("{prefix}{}", tag.suffix)))
    }

    /// Reads what follows the properties, and notes it if an anchor is among them.
    pub(super) fn anchored(
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

    pub(super) fn alias(&mut self, token: &Token<'a>) -> Result<Value, Failed> {
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

    pub(super) fn open_anchor(&mut self, name: &'a str) -> usize {
        let slot = self.anchored.len();
        self.anchored.push(None);
        self.anchors.insert(name, slot);
        slot
    }

    pub(super) fn close_anchor(&mut self, slot: usize, anchored: Anchored) {
        if let Some(place) = self.anchored.get_mut(slot) {
            *place = Some(anchored);
        }
    }
}
