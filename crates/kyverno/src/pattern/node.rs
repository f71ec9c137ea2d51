//! A compiled pattern: a tree whose entries are in the order of evaluation.

use std::sync::Arc;

use kubewright_golib::glob::WildcardPattern;
use kubewright_value::{FieldSet, PositionHint, Text};

use super::leaf::Leaf;
use super::written::TaintedText;

/// A part of a pattern.
#[derive(Debug, Clone)]
pub enum PatternNode {
    /// A scalar.
    Leaf(Leaf),
    /// An object.
    Map(MapNode),
    /// A list of which the first element is an object: every element of the object's list must fit it.
    Each(Box<PatternNode>),
    /// A list of which the first element is a scalar, likewise.
    EachScalar(Leaf),
    /// A list of which the first element is a list: element by element.
    InOrder(Vec<PatternNode>),
    /// `[]`, which nothing fits.
    EmptyList,
    /// The value under `^( )`.
    Exists(Exists),
    /// The value under `X( )`, which is never compared.
    Ignored,
    /// A pattern that others use too.
    Shared(Arc<PatternNode>),
    /// Nested deeper than anything may be.
    TooDeep,
}

/// An object of a pattern.
#[derive(Debug, Clone, Default)]
pub struct MapNode {
    /// `( )`, `=( )`, `X( )` and `^( )`: these decide first, and on whether the rest is looked at.
    pub anchors: Vec<PatternEntry>,
    /// Everything else; parts with anchors first.
    pub rest: Vec<PatternEntry>,
    /// Whether keys of labels or annotations have wildcards, so that the order depends on the object.
    pub has_wild_keys: bool,
}

/// A key of a pattern and its value.
#[derive(Debug, Clone)]
pub struct PatternEntry {
    /// As the author wrote it.
    pub raw: Text,
    /// Without the anchor.
    pub key: Text,
    /// Where the key is looked for first.
    pub position_hint: PositionHint,
    /// The anchor around the key.
    pub anchor: Option<PatternAnchor>,
    /// The key as wildcards, in labels and annotations.
    pub wild: Option<WildcardPattern>,
    /// `"*"` without an anchor: anything but null.
    pub wants_any: bool,
    /// Not written by the author but put above the pattern.
    pub is_added: bool,
    /// The value of the key.
    pub value: PatternNode,
}

impl PatternNode {
    /// Adds the fields of an object that comparing it with the pattern reads. Where it is compared with a scalar, all of it is.
    pub fn add_fields(&self, fields: &mut FieldSet) {
        match self {
            Self::Map(map) if !map.has_wild_keys => {
                for entry in map.anchors.iter().chain(&map.rest) {
                    fields.change_below(&entry.key, |below| entry.value.add_fields(below));
                }
            }
            Self::Each(node) => node.add_fields(fields),
            Self::Shared(node) => node.add_fields(fields),
            Self::InOrder(nodes) | Self::Exists(Exists::AllOf(nodes) | Exists::AllOfThenInvalid(nodes)) => {
                nodes.iter().for_each(|node| node.add_fields(fields));
            }
            Self::Map(_)
            | Self::Leaf(_)
            | Self::EachScalar(_)
            | Self::EmptyList
            | Self::Exists(Exists::NotList(_))
            | Self::Ignored
            | Self::TooDeep => *fields = FieldSet::All,
        }
    }
}

/// The requirement of `^( )` on a list.
#[derive(Debug, Clone)]
pub enum Exists {
    /// For each of these one element at least must fit.
    AllOf(Vec<PatternNode>),
    /// The same, followed by an element that is not an object.
    AllOfThenInvalid(Vec<PatternNode>),
    /// Not a list but something of this type.
    NotList(&'static str),
}

/// How a key in brackets counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternAnchor {
    /// `(key)`: without it, the object around it is none of the rule's business.
    Condition,
    /// `=(key)`: if the key is there.
    Equality,
    /// `X(key)`: the key must not be there.
    Negation,
    /// `^(key)`: some elements of the list.
    Existence,
    /// `<(key)`: as a condition, but for the whole rule.
    Global,
}

/// The Kubernetes type of an object, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataRole {
    /// Nothing special.
    Plain,
    /// The `metadata` of an object.
    Metadata,
    /// Labels or annotations, whose keys may have wildcards.
    Tags,
}

impl MetadataRole {
    /// Returns the role of the object under `key`.
    #[must_use]
    pub fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Metadata, "labels" | "annotations") => Self::Tags,
            (_, "metadata") => Self::Metadata,
            _ => Self::Plain,
        }
    }
}

impl PatternAnchor {
    /// Reads a key; returns the anchor and the key in its brackets. `+( )` is for other rules and no anchor here.
    pub(super) fn parse<'t>(key: &TaintedText<'t>) -> Option<(Self, TaintedText<'t>)> {
        const FORMS: [(&str, PatternAnchor); 5] = [
            ("(", PatternAnchor::Condition),
            ("=(", PatternAnchor::Equality),
            ("X(", PatternAnchor::Negation),
            ("^(", PatternAnchor::Existence),
            ("<(", PatternAnchor::Global),
        ];
        let trimmed = key.clone().trim(char::is_whitespace);
        let (anchor, rest) =
            FORMS.iter().find_map(|(prefix, anchor)| Some((*anchor, trimmed.strip_prefix(prefix)?)))?;
        let inner = rest.strip_suffix(")")?;
        (inner.len() > 0 && !inner.text().contains('\n')).then_some((anchor, inner))
    }
}
