//! Anchors, aliases and tags.

use super::super::token::{YamlMark, YamlTag, YamlToken, YamlTokenKind};
use super::super::{MAX_ALIASED_SIZE, YamlError, YamlFailure};
use super::{YamlParser, nested_too_deep, syntax_error, unexpected_token};
use crate::json::MAX_DEPTH;
use crate::{ParseProblemKind, Value};

/// Prefixes of tags beyond this length belong to no tag that is known.
const MAX_TAG_PREFIX_BYTES: usize = 64;

/// The node of an anchor.
#[derive(Clone)]
pub(super) struct AnchoredNode {
    pub(super) value: Value,
    pub(super) size: usize,
    pub(super) cost: usize,
    pub(super) height: usize,
}

/// The properties before a node: its anchor and tag.
#[derive(Default)]
pub(super) struct NodeProperties<'a> {
    pub(super) anchor: Option<&'a str>,
    pub(super) tag: Option<String>,
}

impl<'a> YamlParser<'a> {
    pub(super) fn properties(&mut self) -> Result<NodeProperties<'a>, YamlFailure> {
        let mut properties = NodeProperties::default();
        let mut has_tag = false;
        loop {
            match self.scanner.peek()?.kind {
                YamlTokenKind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(name);
                    self.scanner.next()?;
                }
                YamlTokenKind::Tag(_) if !has_tag => {
                    has_tag = true;
                    let token = self.scanner.next()?;
                    if let YamlTokenKind::Tag(tag) = token.kind {
                        properties.tag = self.long_tag(*tag, token.start)?;
                    }
                }
                _ => return Ok(properties),
            }
        }
    }

    /// Returns the tag with its handle written out.
    fn long_tag(&self, tag: YamlTag, mark: YamlMark) -> Result<Option<String>, YamlFailure> {
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
                    kind: ParseProblemKind::Tag,
                    message: format!("unknown tag handle `{handle}`"),
                    position: mark.position(),
                }));
            }
        };
        // No tag with a meaning is long; a long one need not be written out for every node that has it.
        if prefix.len() > MAX_TAG_PREFIX_BYTES {
            return Ok(Some("?".to_owned()));
        }
        Ok(Some(format!("{prefix}{}", tag.suffix)))
    }

    /// Reads what follows the properties, and notes it if an anchor is among them.
    pub(super) fn anchored(
        &mut self,
        block: bool,
        indentless: bool,
        properties: &NodeProperties<'a>,
    ) -> Result<Value, YamlFailure> {
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
        self.close_anchor(slot, AnchoredNode { value: value.clone(), size, cost, height });
        Ok(value)
    }

    pub(super) fn alias(&mut self, token: &YamlToken<'a>) -> Result<Value, YamlFailure> {
        let YamlTokenKind::Alias(name) = token.kind else {
            return Err(unexpected_token(token, "an alias"));
        };
        let mark = token.start;
        let Some(slot) = self.anchors.get(name) else {
            return Err(syntax_error(&format!("unknown anchor `{name}`"), mark));
        };
        let Some(anchored) = self.anchored.get(*slot).cloned().flatten() else {
            return Err(syntax_error(&format!("anchor `{name}` contains itself"), mark));
        };
        self.cost = self.cost.saturating_add(anchored.cost);
        self.aliased = self.aliased.saturating_add(anchored.cost);
        if self.aliased > MAX_ALIASED_SIZE {
            return Err(Box::new(YamlError {
                kind: ParseProblemKind::AliasExpansion,
                message: format!("aliases expand to more than {} MiB", MAX_ALIASED_SIZE >> 20),
                position: mark.position(),
            }));
        }
        if self.depth + anchored.height > MAX_DEPTH {
            return Err(nested_too_deep(mark));
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

    pub(super) fn close_anchor(&mut self, slot: usize, anchored: AnchoredNode) {
        if let Some(place) = self.anchored.get_mut(slot) {
            *place = Some(anchored);
        }
    }
}
