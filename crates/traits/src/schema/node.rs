//! One schema and those inside it.

use std::collections::HashMap;

use kubewright_golib::regex::Regex;
use kubewright_value::{Number, Text, Value, ValueKind};

/// A schema node: the constraints on one value.
#[derive(Debug, Clone, Default)]
pub(super) struct SchemaNode {
    /// `None` for any type.
    pub(super) kind: Option<SchemaType>,
    pub(super) is_nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub(super) is_int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub(super) keeps_unknown: bool,
    pub(super) default: Option<Value>,
    /// `enum`; empty for any value.
    pub(super) choices: Vec<Value>,
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
    pub(super) excludes_minimum: bool,
    pub(super) excludes_maximum: bool,
    pub(super) multiple_of: Option<Number>,
    pub(super) length: CountRange,
    pub(super) count: CountRange,
    pub(super) size: CountRange,
    pub(super) pattern: Option<Regex>,
    pub(super) format: Option<Text>,
    pub(super) is_unique: bool,
    pub(super) items: Option<Box<SchemaNode>>,
    pub(super) properties: SchemaProperties,
    pub(super) patterns: Vec<(Regex, SchemaNode)>,
    // INVARIANT: sorted, without duplicates.
    pub(super) required: Vec<Text>,
    pub(super) additional: AdditionalProperties,
    pub(super) all_of: Vec<SchemaNode>,
    pub(super) any_of: Vec<SchemaNode>,
    pub(super) one_of: Vec<SchemaNode>,
    pub(super) not: Option<Box<SchemaNode>>,
    /// `title`, `description`, `example` and everything that is kept as it is written.
    pub(super) notes: Vec<(Text, Value)>,
}

/// The types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaType {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

/// An inclusive range of counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CountRange {
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
}

/// The rule for undeclared keys: `additionalProperties`.
#[derive(Debug, Clone, Default)]
pub(super) enum AdditionalProperties {
    /// Not set.
    #[default]
    Open,
    /// `additionalProperties: true`
    Any,
    /// `additionalProperties: false`
    Closed,
    Each(Box<SchemaNode>),
}

/// The declared fields of an object, in the order in which they are written.
#[derive(Debug, Clone, Default)]
pub(super) struct SchemaProperties {
    entries: Vec<(Text, SchemaNode)>,
    places: HashMap<Text, usize>,
}

impl SchemaType {
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
    ];

    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Returns whether `value` is of this type. A double without a fraction is an integer, as in JSON Schema.
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.kind() == ValueKind::String,
            Self::Number => value.kind() == ValueKind::Number,
            Self::Boolean => value.kind() == ValueKind::Bool,
            Self::Array => value.kind() == ValueKind::Array,
            Self::Object => value.kind() == ValueKind::Object,
            Self::Integer => match value {
                Value::Number(Number::Float(float)) => float.fract() == 0.0,
                other => other.kind() == ValueKind::Number,
            },
        }
    }
}

impl SchemaNode {
    pub(super) fn of(kind: SchemaType) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }

    /// Returns the number of nodes and of levels, including this one.
    pub(super) fn extent(&self) -> (usize, usize) {
        let each = match &self.additional {
            AdditionalProperties::Each(node) => Some(&**node),
            _ => None,
        };
        let inner = self.properties.iter().map(|(_, node)| node);
        let inner = inner.chain(self.items.as_deref()).chain(each).map(Self::extent);
        inner.fold((1, 1), |(nodes, height), (more, below)| (nodes + more, height.max(below + 1)))
    }

    /// Returns whether undeclared fields may be intended.
    pub(super) fn allows_undeclared_fields(&self) -> bool {
        let is_combined = [&self.all_of, &self.any_of, &self.one_of].iter().any(|nodes| !nodes.is_empty())
            || self.not.is_some();
        self.keeps_unknown || self.properties.is_empty() || is_combined || !self.patterns.is_empty()
    }

    /// Returns the text of a note.
    pub(super) fn note(&self, name: &str) -> Option<&Value> {
        self.notes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl SchemaProperties {
    pub(super) fn insert(&mut self, name: Text, node: SchemaNode) {
        match self.places.get(&name).and_then(|place| self.entries.get_mut(*place)) {
            Some((_, known)) => *known = node,
            None => {
                self.places.insert(name.clone(), self.entries.len());
                self.entries.push((name, node));
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&SchemaNode> {
        self.places.get(name).and_then(|place| self.entries.get(*place)).map(|(_, node)| node)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Text, &SchemaNode)> {
        self.entries.iter().map(|(name, node)| (name, node))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
