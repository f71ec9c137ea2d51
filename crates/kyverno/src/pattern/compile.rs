//! Compiles a written pattern into the tree that is matched.

use std::borrow::Cow;

use kubewright_value::{PositionHint, Text, Value};

use super::leaf::Leaf;
use super::node::{Exists, MapNode, MetadataRole, PatternAnchor, PatternEntry, PatternNode};
use super::written::{TaintedText, merge_parts};
use crate::gotext;
use crate::tainted::{Tainted, TaintedPart};
use kubewright_value::CompactSort as _;

/// How deep a pattern may be.
pub(super) const DEPTH: u32 = 256;

/// Compiles patterns.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternCompiler {
    /// Whether every number is a double, as in `anyPattern`.
    pub(super) has_doubles: bool,
}

/// A node, and whether there is an anchor in it.
struct CompiledNode {
    node: PatternNode,
    has_anchors: bool,
}

type TaintedKey<'m> = Cow<'m, [TaintedPart]>;

impl PatternCompiler {
    pub(super) fn compile(self, source: &Tainted) -> PatternNode {
        self.node(source, MetadataRole::Plain, DEPTH).node
    }

    fn node(self, source: &Tainted, role: MetadataRole, depth: u32) -> CompiledNode {
        let Some(depth) = depth.checked_sub(1) else {
            return CompiledNode { node: PatternNode::TooDeep, has_anchors: false };
        };
        if let Some(entries) = tainted_entries(source) {
            return self.map(&entries, role, depth);
        }
        if let Some(items) = tainted_items(source) {
            return self.list(&items, depth);
        }
        CompiledNode {
            node: self.leaf(source).map_or(PatternNode::TooDeep, PatternNode::Leaf),
            has_anchors: false,
        }
    }

    fn leaf(self, source: &Tainted) -> Option<Leaf> {
        match source {
            Tainted::Trusted(Value::String(text)) => Some(Leaf::text(&TaintedText::own(text))),
            Tainted::Untrusted(Value::String(text)) => Some(Leaf::text(&TaintedText::foreign(text))),
            Tainted::Text(parts) => Some(Leaf::text(&TaintedText::of_parts(&merge_parts(parts)))),
            Tainted::Trusted(Value::Null) | Tainted::Untrusted(Value::Null) => Some(Leaf::Null),
            Tainted::Trusted(Value::Bool(boolean)) | Tainted::Untrusted(Value::Bool(boolean)) => {
                Some(Leaf::Bool(*boolean))
            }
            Tainted::Trusted(Value::Number(number)) => Some(Leaf::number(*number, self.has_doubles)),
            // Numbers that were looked up or computed are doubles.
            Tainted::Untrusted(Value::Number(number)) => Some(Leaf::number(*number, true)),
            _ => None,
        }
    }

    fn list(self, items: &[Cow<'_, Tainted>], depth: u32) -> CompiledNode {
        let Some(first) = items.first() else {
            return CompiledNode { node: PatternNode::EmptyList, has_anchors: false };
        };
        if let Some(leaf) = self.leaf(first) {
            return CompiledNode {
                node: PatternNode::EachScalar(leaf),
                has_anchors: has_anchors(items, depth),
            };
        }
        if self::tainted_items(first).is_some() {
            let made: Vec<CompiledNode> =
                items.iter().map(|item| self.node(item, MetadataRole::Plain, depth)).collect();
            let has_anchors = made.iter().any(|made| made.has_anchors);
            return CompiledNode {
                node: PatternNode::InOrder(made.into_iter().map(|made| made.node).collect()),
                has_anchors,
            };
        }
        let made = self.node(first, MetadataRole::Plain, depth);
        let has_anchors = made.has_anchors || has_anchors(items.get(1..).unwrap_or_default(), depth);
        CompiledNode { node: PatternNode::Each(Box::new(made.node)), has_anchors }
    }

    fn map(
        self,
        entries: &[(TaintedKey<'_>, Cow<'_, Tainted>)],
        role: MetadataRole,
        depth: u32,
    ) -> CompiledNode {
        let mut compiled: Vec<(PatternEntry, bool)> = Vec::with_capacity(entries.len());
        // Of labels and annotations only texts are looked at.
        for (key, value) in entries {
            if role != MetadataRole::Tags || matches!(self.leaf(value), Some(Leaf::Some | Leaf::Text(_))) {
                compiled.push(self.entry(&TaintedText::of_parts(key), value, role, depth));
            }
        }
        // Keys with variables in them may come out the same; the last one counts.
        compiled.reverse();
        compiled.compact_sort_by(|(a, _), (b, _)| a.raw.cmp(&b.raw));
        compiled.dedup_by(|(later, _), (kept, _)| later.raw == kept.raw);
        let has_anchors = compiled.iter().any(|(entry, is_nested)| *is_nested || entry.anchor.is_some());
        let mut node =
            MapNode { has_wild_keys: compiled.iter().any(|(e, _)| e.wild.is_some()), ..MapNode::default() };
        // Parts with anchors come first, the last of them before the others.
        let mut front = Vec::new();
        for (entry, is_nested) in compiled {
            match entry.anchor {
                Some(PatternAnchor::Global) => front.push(entry),
                Some(_) => node.anchors.push(entry),
                None if is_nested => front.push(entry),
                None => node.rest.push(entry),
            }
        }
        front.reverse();
        front.append(&mut node.rest);
        node.rest = front;
        CompiledNode { node: PatternNode::Map(node), has_anchors }
    }

    fn entry(
        self,
        raw: &TaintedText<'_>,
        value: &Tainted,
        role: MetadataRole,
        depth: u32,
    ) -> (PatternEntry, bool) {
        let (anchor, key) = match PatternAnchor::parse(raw) {
            Some((anchor, key)) => (Some(anchor), key),
            None => (None, raw.clone()),
        };
        let name = Text::new(key.text());
        let made = match anchor {
            Some(PatternAnchor::Existence) => self.existence(value, depth),
            Some(PatternAnchor::Negation) => CompiledNode { node: PatternNode::Ignored, has_anchors: false },
            _ => self.node(value, role.below(&name), depth),
        };
        let entry = PatternEntry {
            position_hint: PositionHint::default(),
            raw: Text::new(raw.text()),
            wild: (role == MetadataRole::Tags && key.has_wildcard()).then(|| key.glob()),
            key: name,
            anchor,
            wants_any: anchor.is_none() && is_star(value),
            is_added: false,
            value: made.node,
        };
        (entry, made.has_anchors)
    }

    fn existence(self, value: &Tainted, depth: u32) -> CompiledNode {
        let Some(items) = tainted_items(value) else {
            let type_name = gotext::go_type_name(&value.plain());
            return CompiledNode {
                node: PatternNode::Exists(Exists::NotList(type_name)),
                has_anchors: false,
            };
        };
        let maps: Vec<PatternNode> = items
            .iter()
            .take_while(|item| tainted_entries(item).is_some())
            .map(|item| self.node(item, MetadataRole::Plain, depth).node)
            .collect();
        let exists =
            if maps.len() < items.len() { Exists::AllOfThenInvalid(maps) } else { Exists::AllOf(maps) };
        CompiledNode { node: PatternNode::Exists(exists), has_anchors: true }
    }
}

/// Returns whether the author wrote `"*"`.
fn is_star(value: &Tainted) -> bool {
    match value {
        Tainted::Trusted(Value::String(text)) => text == "*",
        Tainted::Text(parts) => TaintedText::of_parts(&merge_parts(parts)).is_own("*"),
        _ => false,
    }
}

/// Returns the entries of an object; nothing for anything else.
fn tainted_entries(source: &Tainted) -> Option<Vec<(TaintedKey<'_>, Cow<'_, Tainted>)>> {
    let whole = |text: &Text, is_own| Cow::Owned(vec![TaintedPart { text: text.clone(), is_own }]);
    let made = match source {
        Tainted::Trusted(Value::Object(map)) => map
            .iter()
            .map(|(key, value)| (whole(key, true), Cow::Owned(Tainted::Trusted(value.clone()))))
            .collect(),
        Tainted::Untrusted(Value::Object(map)) => map
            .iter()
            .map(|(key, value)| (whole(key, false), Cow::Owned(Tainted::Untrusted(value.clone()))))
            .collect(),
        Tainted::Map(entries) => {
            entries.iter().map(|(key, value)| (merge_parts(key), Cow::Borrowed(value))).collect()
        }
        _ => return None,
    };
    Some(made)
}

/// Returns the elements of a list; nothing for anything else.
fn tainted_items(source: &Tainted) -> Option<Vec<Cow<'_, Tainted>>> {
    let made = match source {
        Tainted::Trusted(Value::Array(items)) => {
            items.iter().map(|item| Cow::Owned(Tainted::Trusted(item.clone()))).collect()
        }
        Tainted::Untrusted(Value::Array(items)) => {
            items.iter().map(|item| Cow::Owned(Tainted::Untrusted(item.clone()))).collect()
        }
        Tainted::List(items) => items.iter().map(Cow::Borrowed).collect(),
        _ => return None,
    };
    Some(made)
}

/// Returns whether elements that are never compared, and so not compiled, have anchors.
fn has_anchors(elements: &[Cow<'_, Tainted>], depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    elements.iter().any(|element| match tainted_entries(element) {
        Some(entries) => entries.iter().any(|(key, value)| {
            PatternAnchor::parse(&TaintedText::of_parts(key)).is_some()
                || has_anchors(std::slice::from_ref(value), depth)
        }),
        None => tainted_items(element).is_some_and(|items| has_anchors(&items, depth)),
    })
}
