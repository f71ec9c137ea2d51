//! A `patchStrategicMerge`, compiled: which keys are anchors, which are directives, and what is merged as it is.
//!
//! Only anchors and directives that the author wrote count. A key that came from an object is an ordinary key, also
//! where it looks like `(name)` or `$patch`.

use kubewright_patch::strategic::{DIRECTIVE_KEY, PatchDirective};
use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value, bounded};

use crate::pattern::{ValidatePattern, charge_pattern};
use crate::tainted::{Tainted, TaintedPart, join_parts};
use kubewright_value::CompactSort as _;

/// A part of an overlay.
#[derive(Debug, Clone)]
pub(crate) enum OverlayNode {
    /// Without anchors and directives.
    Plain(Value),
    Map(OverlayMap),
    /// A list in which something has an anchor or a directive.
    List(Vec<OverlayNode>),
}

/// An object of an overlay.
#[derive(Debug, Clone, Default)]
pub(crate) struct OverlayMap {
    pub(super) directive: Option<PatchDirective>,
    /// `<( )`, then `( )`.
    pub(super) conditions: Vec<OverlayCondition>,
    pub(super) entries: Vec<OverlayEntry>,
    /// The anchors at any depth.
    pub(super) anchors: AnchorKinds,
}

/// The anchors that occur in a part of an overlay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnchorKinds {
    pub(super) has_any: bool,
    pub(super) has_global: bool,
}

/// A `( )` or `<( )`.
#[derive(Debug, Clone)]
pub(crate) struct OverlayCondition {
    /// As it is written.
    pub(super) written: Text,
    pub(super) key: Text,
    pub(super) is_global: bool,
    pub(super) test: ConditionTest,
    /// The value as it is written, for people.
    pub(super) shown: Value,
    /// What is merged besides: the parts of a map that are not anchored themselves.
    pub(super) remainder: Option<Value>,
}

/// When a condition holds.
#[derive(Debug, Clone)]
pub(crate) enum ConditionTest {
    /// Where the object has the key. The value is merged, because something in it is to be added.
    IsPresent,
    /// Where the value matches.
    Matches(ValidatePattern),
    /// Where the value matches as text.
    MatchesAsText(ValidatePattern),
}

/// A key that is merged.
#[derive(Debug, Clone)]
pub(crate) struct OverlayEntry {
    pub(super) key: Text,
    /// As it is written.
    pub(super) written: Text,
    /// `+( )`: only where the object has no such key.
    pub(super) is_added: bool,
    pub(super) node: OverlayNode,
}

/// The anchor around a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverlayAnchor {
    Condition,
    Global,
    Add,
}

impl OverlayNode {
    /// Compiles `source`. How deep it goes is bounded by the document, and by what was charged for it.
    pub(crate) fn compile(source: &Tainted) -> Self {
        match source {
            Tainted::Trusted(value) => Self::of_own(value),
            Tainted::Untrusted(value) => Self::Plain(value.clone()),
            Tainted::Text(parts) => Self::Plain(Value::String(join_parts(parts))),
            Tainted::List(items) => Self::of_list(items.iter().map(Self::compile).collect()),
            Tainted::Map(entries) => {
                let mut map = OverlayMap::default();
                for (key, value) in entries {
                    map.add(key, value);
                }
                map.finish()
            }
        }
    }

    /// Compiles what the author wrote.
    fn of_own(value: &Value) -> Self {
        match value {
            Value::Object(map) if has_marks(value) => {
                let mut made = OverlayMap::default();
                for (key, item) in map.iter() {
                    let own = [TaintedPart { text: key.clone(), is_own: true }];
                    made.add(&own, &Tainted::Trusted(item.clone()));
                }
                made.finish()
            }
            Value::Array(items) if has_marks(value) => {
                Self::of_list(items.iter().map(Self::of_own).collect())
            }
            plain => Self::Plain(plain.clone()),
        }
    }

    fn of_list(nodes: Vec<Self>) -> Self {
        // The first element decides what the list is; a list of scalars has no anchors.
        let is_of_maps = match nodes.first() {
            Some(Self::Map(_)) => true,
            Some(Self::Plain(value)) => value.as_object().is_some(),
            Some(Self::List(_)) | None => false,
        };
        let is_plain = nodes.iter().all(|node| matches!(node, Self::Plain(_)));
        match is_plain || !is_of_maps {
            true => Self::Plain(Value::array(nodes.into_iter().map(Self::into_plain).collect())),
            false => Self::List(nodes),
        }
    }

    /// Returns the anchors in it.
    pub(crate) fn anchors(&self) -> AnchorKinds {
        match self {
            Self::Plain(_) => AnchorKinds::default(),
            Self::Map(map) => map.anchors,
            Self::List(nodes) => {
                nodes.iter().fold(AnchorKinds::default(), |all, node| all.and(node.anchors()))
            }
        }
    }

    /// Returns every anchor, as it is written, and its place in the patch.
    pub(crate) fn branches(&self, at: &mut Vec<Step>, found: &mut Vec<(String, Vec<Step>)>) {
        match self {
            Self::Plain(_) => {}
            Self::Map(map) => {
                for condition in &map.conditions {
                    at.push(Step::Key(condition.written.clone()));
                    found.push((condition.text(), at.clone()));
                    at.pop();
                }
                for entry in &map.entries {
                    at.push(Step::Key(entry.written.clone()));
                    if entry.is_added {
                        found.push((entry.written.to_string(), at.clone()));
                    }
                    entry.node.branches(at, found);
                    at.pop();
                }
            }
            Self::List(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    at.push(Step::Index(index));
                    node.branches(at, found);
                    at.pop();
                }
            }
        }
    }

    /// Returns the value with its anchors as ordinary keys.
    fn into_plain(self) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::List(nodes) => Value::array(nodes.into_iter().map(Self::into_plain).collect()),
            Self::Map(map) => {
                let mut plain = Map::new();
                for condition in map.conditions {
                    plain.insert(condition.written, condition.shown);
                }
                for entry in map.entries {
                    plain.insert(entry.written, entry.node.into_plain());
                }
                plain.into()
            }
        }
    }

    /// Returns what is left when the anchors are taken away; nothing where that is all.
    fn remainder(&self) -> Option<Value> {
        match self {
            Self::Plain(Value::Object(map)) => {
                let parts = map.iter().filter_map(|(key, value)| {
                    let rest = match value {
                        Value::Object(_) => Self::Plain(value.clone()).remainder()?,
                        other => other.clone(),
                    };
                    Some((key.clone(), rest))
                });
                let rest: Map = parts.collect();
                (!rest.is_empty()).then(|| rest.into())
            }
            Self::Plain(value) => Some(value.clone()),
            Self::Map(map) => {
                let conditions = map.conditions.iter();
                let mut rest: Map = conditions
                    .filter_map(|condition| Some((condition.key.clone(), condition.remainder.clone()?)))
                    .collect();
                for entry in map.entries.iter().filter(|entry| !entry.is_added) {
                    if let Some(value) = entry.node.remainder() {
                        rest.insert(entry.key.clone(), value);
                    }
                }
                (!rest.is_empty()).then(|| rest.into())
            }
            Self::List(nodes) => {
                let kept = nodes.iter().filter(|node| !node.anchors().has_any);
                let rest: Vec<Value> = kept.filter_map(Self::remainder).collect();
                (!rest.is_empty()).then(|| Value::array(rest))
            }
        }
    }
}

impl OverlayMap {
    fn add(&mut self, key: &[TaintedPart], value: &Tainted) {
        let written = join_parts(key);
        let is_own = key.iter().all(|part| part.is_own);
        if is_own && written == DIRECTIVE_KEY && matches!(value, Tainted::Trusted(_)) {
            self.directive = Some(PatchDirective::of(&value.plain()));
            return;
        }
        let (anchor, key) = match OverlayAnchor::parse(key) {
            Some((anchor, key)) => (Some(anchor), key),
            None => (None, written.clone()),
        };
        if let Some(OverlayAnchor::Condition | OverlayAnchor::Global) = anchor {
            let is_global = anchor == Some(OverlayAnchor::Global);
            self.add_condition((written, key), is_global, value);
            return;
        }
        let is_added = anchor == Some(OverlayAnchor::Add);
        self.entries.push(OverlayEntry { key, written, is_added, node: OverlayNode::compile(value) });
    }

    fn add_condition(&mut self, (written, key): (Text, Text), is_global: bool, value: &Tainted) {
        let shown = value.plain().into_owned();
        // Compiled once: twice at each level would take time that is exponential in the depth.
        let node = match shown {
            Value::Object(_) | Value::Array(_) => Some(OverlayNode::compile(value)),
            _ => None,
        };
        let (test, remainder, merged) = match node {
            None => (ConditionTest::of_scalar(value), None, None),
            // `(a): {+(b): c}` adds `b` to `a`, where `a` is there.
            Some(OverlayNode::Map(map)) if map.adds() => {
                (ConditionTest::IsPresent, None, Some(OverlayNode::Map(map)))
            }
            Some(node) => (ConditionTest::Matches(ValidatePattern::compile(value)), node.remainder(), None),
        };
        self.entries.extend(merged.map(|node| OverlayEntry {
            key: key.clone(),
            written: written.clone(),
            is_added: false,
            node,
        }));
        self.conditions.push(OverlayCondition { written, key, is_global, test, shown, remainder });
    }

    /// Returns whether a key of this object, and not of one below it, is added where it is missing.
    fn adds(&self) -> bool {
        self.entries.iter().any(|entry| entry.is_added)
    }

    fn finish(mut self) -> OverlayNode {
        self.conditions.compact_sort_by_key(|condition| !condition.is_global);
        let own = AnchorKinds {
            has_any: !self.conditions.is_empty() || self.adds(),
            has_global: self.conditions.iter().any(|condition| condition.is_global),
        };
        self.anchors = self.entries.iter().fold(own, |all, entry| all.and(entry.node.anchors()));
        let is_plain = |entry: &OverlayEntry| matches!(entry.node, OverlayNode::Plain(_));
        if self.directive.is_none() && !self.anchors.has_any && self.entries.iter().all(is_plain) {
            let entries = self.entries.into_iter().map(|entry| (entry.key, entry.node.into_plain()));
            return OverlayNode::Plain(Value::object(entries.collect()));
        }
        OverlayNode::Map(self)
    }
}

impl AnchorKinds {
    fn and(self, other: Self) -> Self {
        Self { has_any: self.has_any || other.has_any, has_global: self.has_global || other.has_global }
    }
}

impl ConditionTest {
    /// Returns the test of a scalar, which is compared as text: `5` with `"5"`, `true` with `"true"`.
    fn of_scalar(value: &Tainted) -> Self {
        Self::MatchesAsText(match value {
            Tainted::Trusted(value) => ValidatePattern::compile(&Tainted::Trusted(text_of_scalar(value))),
            Tainted::Untrusted(value) => ValidatePattern::compile(&Tainted::Untrusted(text_of_scalar(value))),
            _ => ValidatePattern::compile(value),
        })
    }
}

impl OverlayCondition {
    /// Returns it as it is written.
    pub(super) fn text(&self) -> String {
        format!("{}: {}", self.written, kubewright_engine::TraceNode::show(&self.shown))
    }
}

impl OverlayAnchor {
    /// Reads a key; returns the anchor and the key in its brackets. Brackets that came from elsewhere are no anchor.
    pub(super) fn parse(parts: &[TaintedPart]) -> Option<(Self, Text)> {
        let (first, last) = (parts.first()?, parts.last()?);
        let is_own = first.is_own && last.is_own;
        let whole = join_parts(parts);
        let trimmed = whole.trim();
        let (anchor, rest) = match trimmed.strip_prefix('(') {
            Some(rest) => (Self::Condition, rest),
            None => match (trimmed.strip_prefix("<("), trimmed.strip_prefix("+(")) {
                (Some(rest), _) => (Self::Global, rest),
                (None, Some(rest)) => (Self::Add, rest),
                (None, None) => return None,
            },
        };
        let inner = rest.strip_suffix(')').filter(|inner| !inner.is_empty())?;
        is_own.then(|| (anchor, inner.into()))
    }
}

/// Returns a scalar as text, as conditions compare it.
pub(super) fn text_of_scalar(value: &Value) -> Value {
    match value {
        Value::String(_) | Value::Object(_) | Value::Array(_) => value.clone(),
        scalar => kubewright_value::json::to_string(scalar).into(),
    }
}

/// Returns whether there may be an anchor or a directive in what the author wrote.
fn has_marks(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            key.ends_with(')') || key == DIRECTIVE_KEY || key.contains(") ") || has_marks(value)
        }),
        Value::Array(items) => items.iter().any(has_marks),
        _ => false,
    }
}

/// Charges the compilation of `source`.
pub(super) fn charge_overlay(source: &Tainted, budget: &mut Budget) -> Result<(), Exhausted> {
    match source {
        // It is merged as it is.
        Tainted::Untrusted(value) => bounded::charge_tree(value, size_of::<OverlayEntry>(), 1, budget),
        source => charge_pattern(source, budget),
    }
}
