//! From what the author wrote to the tree that is matched.

use std::borrow::Cow;

use kubewright_value::{Text, Value};

use super::leaf::Leaf;
use super::node::{Anchor, Entry, Exists, MapNode, Node, Role};
use super::written::{Written, merged};
use crate::gotext;
use crate::mixed::{Mixed, Part};

/// How deep a pattern may be.
pub(super) const DEPTH: u32 = 256;

/// Compiles patterns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compiler {
    /// Whether every number is a double, as in `anyPattern`.
    pub(super) has_doubles: bool,
}

/// A node, and whether there is an anchor in it.
struct Made {
    node: Node,
    has_anchors: bool,
}

type Key<'m> = Cow<'m, [Part]>;

impl Compiler {
    pub(super) fn compile(self, source: &Mixed) -> Node {
        self.node(source, Role::Plain, DEPTH).node
    }

    fn node(self, source: &Mixed, role: Role, depth: u32) -> Made {
        let Some(depth) = depth.checked_sub(1) else {
            return Made { node: Node::TooDeep, has_anchors: false };
        };
        if let Some(entries) = entries(source) {
            return self.map(&entries, role, depth);
        }
        if let Some(items) = items(source) {
            return self.list(&items, depth);
        }
        Made { node: self.leaf(source).map_or(Node::TooDeep, Node::Leaf), has_anchors: false }
    }

    fn leaf(self, source: &Mixed) -> Option<Leaf> {
        match source {
            Mixed::Own(Value::String(text)) => Some(Leaf::text(&Written::own(text))),
            Mixed::Foreign(Value::String(text)) => Some(Leaf::text(&Written::foreign(text))),
            Mixed::Text(parts) => Some(Leaf::text(&Written::of_parts(&merged(parts)))),
            Mixed::Own(Value::Null) | Mixed::Foreign(Value::Null) => Some(Leaf::Null),
            Mixed::Own(Value::Bool(boolean)) | Mixed::Foreign(Value::Bool(boolean)) => {
                Some(Leaf::Bool(*boolean))
            }
            Mixed::Own(Value::Number(number)) => Some(Leaf::number(*number, self.has_doubles)),
            // Numbers that were looked up or computed are doubles.
            Mixed::Foreign(Value::Number(number)) => Some(Leaf::number(*number, true)),
            _ => None,
        }
    }

    fn list(self, items: &[Cow<'_, Mixed>], depth: u32) -> Made {
        let Some(first) = items.first() else {
            return Made { node: Node::EmptyList, has_anchors: false };
        };
        if let Some(leaf) = self.leaf(first) {
            return Made { node: Node::EachScalar(leaf), has_anchors: has_anchors(items, depth) };
        }
        if self::items(first).is_some() {
            let made: Vec<Made> = items.iter().map(|item| self.node(item, Role::Plain, depth)).collect();
            let has_anchors = made.iter().any(|made| made.has_anchors);
            return Made {
                node: Node::InOrder(made.into_iter().map(|made| made.node).collect()),
                has_anchors,
            };
        }
        let made = self.node(first, Role::Plain, depth);
        let has_anchors = made.has_anchors || has_anchors(items.get(1..).unwrap_or_default(), depth);
        Made { node: Node::Each(Box::new(made.node)), has_anchors }
    }

    fn map(self, entries: &[(Key<'_>, Cow<'_, Mixed>)], role: Role, depth: u32) -> Made {
        let mut compiled: Vec<(Entry, bool)> = Vec::with_capacity(entries.len());
        // Of labels and annotations only texts are looked at.
        for (key, value) in entries {
            if role != Role::Tags || matches!(self.leaf(value), Some(Leaf::Some | Leaf::Text(_))) {
                compiled.push(self.entry(&Written::of_parts(key), value, role, depth));
            }
        }
        // Keys with variables in them may come out the same; the last one counts.
        compiled.reverse();
        compiled.sort_by(|(a, _), (b, _)| a.raw.cmp(&b.raw));
        compiled.dedup_by(|(later, _), (kept, _)| later.raw == kept.raw);
        let has_anchors = compiled.iter().any(|(entry, is_nested)| *is_nested || entry.anchor.is_some());
        let mut node =
            MapNode { has_wild_keys: compiled.iter().any(|(e, _)| e.wild.is_some()), ..MapNode::default() };
        // What has anchors in it comes first, the last of it before the others.
        let mut front = Vec::new();
        for (entry, is_nested) in compiled {
            match entry.anchor {
                Some(Anchor::Global) => front.push(entry),
                Some(_) => node.anchors.push(entry),
                None if is_nested => front.push(entry),
                None => node.rest.push(entry),
            }
        }
        front.reverse();
        front.append(&mut node.rest);
        node.rest = front;
        Made { node: Node::Map(node), has_anchors }
    }

    fn entry(self, raw: &Written<'_>, value: &Mixed, role: Role, depth: u32) -> (Entry, bool) {
        let (anchor, key) = match Anchor::parse(raw) {
            Some((anchor, key)) => (Some(anchor), key),
            None => (None, raw.clone()),
        };
        let name = Text::new(key.text());
        let made = match anchor {
            Some(Anchor::Existence) => self.existence(value, depth),
            Some(Anchor::Negation) => Made { node: Node::Ignored, has_anchors: false },
            _ => self.node(value, role.below(&name), depth),
        };
        let entry = Entry {
            raw: Text::new(raw.text()),
            wild: (role == Role::Tags && key.has_wildcard()).then(|| key.glob()),
            key: name,
            anchor,
            wants_any: anchor.is_none() && is_star(value),
            is_added: false,
            value: made.node,
        };
        (entry, made.has_anchors)
    }

    fn existence(self, value: &Mixed, depth: u32) -> Made {
        let Some(items) = items(value) else {
            let type_name = gotext::type_name(&value.plain());
            return Made { node: Node::Exists(Exists::NotList(type_name)), has_anchors: false };
        };
        let maps: Vec<Node> = items
            .iter()
            .take_while(|item| entries(item).is_some())
            .map(|item| self.node(item, Role::Plain, depth).node)
            .collect();
        let exists =
            if maps.len() < items.len() { Exists::AllOfThenInvalid(maps) } else { Exists::AllOf(maps) };
        Made { node: Node::Exists(exists), has_anchors: true }
    }
}

/// Returns whether the author wrote `"*"`.
fn is_star(value: &Mixed) -> bool {
    match value {
        Mixed::Own(Value::String(text)) => text == "*",
        Mixed::Text(parts) => Written::of_parts(&merged(parts)).is_own("*"),
        _ => false,
    }
}

/// Returns the entries of an object; nothing for anything else.
fn entries(source: &Mixed) -> Option<Vec<(Key<'_>, Cow<'_, Mixed>)>> {
    let whole = |text: &Text, is_own| Cow::Owned(vec![Part { text: text.clone(), is_own }]);
    let made = match source {
        Mixed::Own(Value::Object(map)) => {
            map.iter().map(|(key, value)| (whole(key, true), Cow::Owned(Mixed::Own(value.clone())))).collect()
        }
        Mixed::Foreign(Value::Object(map)) => map
            .iter()
            .map(|(key, value)| (whole(key, false), Cow::Owned(Mixed::Foreign(value.clone()))))
            .collect(),
        Mixed::Map(entries) => {
            entries.iter().map(|(key, value)| (merged(key), Cow::Borrowed(value))).collect()
        }
        _ => return None,
    };
    Some(made)
}

/// Returns the elements of a list; nothing for anything else.
fn items(source: &Mixed) -> Option<Vec<Cow<'_, Mixed>>> {
    let made = match source {
        Mixed::Own(Value::Array(items)) => {
            items.iter().map(|item| Cow::Owned(Mixed::Own(item.clone()))).collect()
        }
        Mixed::Foreign(Value::Array(items)) => {
            items.iter().map(|item| Cow::Owned(Mixed::Foreign(item.clone()))).collect()
        }
        Mixed::List(items) => items.iter().map(Cow::Borrowed).collect(),
        _ => return None,
    };
    Some(made)
}

/// Returns whether there are anchors in elements that are not compiled, because nobody looks at them.
fn has_anchors(elements: &[Cow<'_, Mixed>], depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    elements.iter().any(|element| match entries(element) {
        Some(entries) => entries.iter().any(|(key, value)| {
            Anchor::parse(&Written::of_parts(key)).is_some()
                || has_anchors(std::slice::from_ref(value), depth)
        }),
        None => items(element).is_some_and(|items| has_anchors(&items, depth)),
    })
}
