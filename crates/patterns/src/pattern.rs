//! The compiled form of a pattern, the same for both dialects.

use std::borrow::Cow;

use kubewright_graph::GraphNode;
use kubewright_value::{Location, Text, Value};

use super::criteria::Criteria;
use super::filter::{FilterCondition, RoleFilter};
use super::key::ArrayAnchor;
use super::message::MessageTemplate;
use super::points::Points;
use super::relate::EdgeOptions;

/// A pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// `metadata.name`
    pub name: Text,
    /// The name to display.
    pub display_name: Text,
    /// The version that its document names.
    pub version: Text,
    /// `patternType`; empty where the dialect has none.
    pub pattern_type: Text,
    /// The severity of its findings.
    pub severity: Level,
    /// The category.
    pub category: Text,
    /// The description.
    pub description: Text,
    /// The URL of the documentation.
    pub doc_url: Text,
    /// The URL of the source.
    pub git_url: Text,
    /// How its actors are bound.
    pub topology: Topology,
    /// Where the pattern is defined.
    pub location: Location,
    /// `for`: how many seconds a condition must last before it is a finding, where objects are observed over time.
    pub lasting_seconds: i64,
    /// A hash of the document that defines the pattern, equal for equal documents.
    pub fingerprint: u64,
    pub(crate) roles: Vec<Role>,
    pub(crate) leader: usize,
    /// Positions in `roles`, the leader among them.
    pub(crate) actors: Vec<usize>,
    pub(crate) entries: Vec<PatternRelationship>,
    pub(crate) minimum: Points,
    /// Where given, `minimum` is for `relationships` alone and this for `commonRelationships`.
    pub(crate) common_minimum: Option<Points>,
    pub(crate) message: MessageTemplate,
    /// Whether a kind without any object is a finding.
    pub(crate) emits_on_empty: bool,
    /// Whether one object may be target and dependency at once.
    pub(crate) allows_same: bool,
    /// The arrays of the leader of which criteria compare one element; it is the same throughout. Without them all elements
    /// with which the leader passes its filter are meant.
    pub(crate) leader_anchors: Vec<ArrayAnchor>,
    /// Whether the same objects in other roles count as the same finding.
    pub(crate) is_unordered: bool,
}

/// The severity of a finding; the two dialects have different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// For information.
    Info,
    /// The lowest of the four of the successor.
    Low,
    /// The second of the four of the successor.
    Medium,
    /// A warning of the contract.
    Warning,
    /// The third of the four of the successor.
    High,
    /// The highest severity of both dialects.
    Critical,
}

impl Level {
    /// Returns the name of the level in a pattern.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::Warning => "WARNING",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }
}

/// How the actors of a finding are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// One finding for a leader.
    Single,
    /// One finding for every binding of all actors.
    LeaderFollower,
}

/// A resource of a pattern, and the objects that can fill it.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub(crate) id: Text,
    pub(crate) kinds: Vec<KindRef>,
    pub(crate) presence: Presence,
    /// Kinds whose absence counts only if the input has other objects of the kind.
    pub(crate) if_listed: Vec<Text>,
    /// Whether the filter may be about the name or the uid of the object.
    pub(crate) reads_name: bool,
    pub(crate) filter: RoleFilter,
    /// The conditions of the filter about the whole object, each with whether it must hold.
    pub(crate) quick: Vec<(FilterCondition, bool)>,
    /// The rest of the filter.
    pub(crate) rest: RoleFilter,
    /// The arrays of which the filter means one element.
    pub(crate) anchors: Vec<ArrayAnchor>,
    pub(crate) location: Location,
}

impl Role {
    /// Returns the object of `node` with what the filter reads of it.
    pub(crate) fn object_of<'n>(&self, node: &'n GraphNode) -> Option<Cow<'n, Value>> {
        match self.reads_name {
            true => node.whole_object(),
            false => node.object.as_ref().map(Cow::Borrowed),
        }
    }
}

/// Whether the objects of a role are in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Presence {
    #[default]
    Present,
    /// Referred to, but not in the input.
    Absent,
}

/// Which kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KindRef {
    /// A part that is omitted matches all.
    Kind { kind: Option<Text>, group: Option<Text>, version: Option<Text> },
    /// Kinds whose definition names the category.
    Category(Text),
}

impl KindRef {
    /// Returns whether it names one kind.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self, Self::Kind { kind: Some(_), .. })
    }
}

/// A relationship of a pattern.
#[derive(Debug, Clone)]
pub(crate) struct PatternRelationship {
    pub(crate) id: Text,
    pub(crate) list: RelationshipList,
    /// Every two roles between which it must hold for it to exist; one pair where two roles are named.
    pub(crate) pairs: Vec<(usize, usize)>,
    pub(crate) link: RelationshipLink,
    /// With how many different objects it must hold for it to exist.
    pub(crate) at_least: usize,
    pub(crate) rule: RelationshipEffect,
    pub(crate) weight: Points,
    pub(crate) description: Option<MessageTemplate>,
    pub(crate) location: Location,
}

/// Where a relationship is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationshipList {
    /// `relationships`
    Relationships,
    /// `commonRelationships`
    Common,
}

/// The effect of a relationship: a cell of the matrix of `required` and `shared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelationshipEffect {
    /// `required`, `shared`: must be there between the bound objects.
    Mandatory,
    /// One of those with the same number must be there for the leader.
    OneOf(usize),
    /// `required`, not `shared`: must not be there.
    Veto,
    /// `shared`: scores where it is there.
    Present,
    /// Neither: scores where it is not there.
    Absent,
}

/// The condition under which two objects are related.
#[derive(Debug, Clone)]
pub(crate) enum RelationshipLink {
    /// An edge of the type.
    Edge { types: Types, options: EdgeOptions },
    /// A neighbour that both have through edges of the type.
    Common { types: Types, options: EdgeOptions },
    /// Comparisons of values.
    Criteria(Box<Criteria>),
}

/// Types of edges of which one will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Types {
    /// Their names, joined.
    pub(crate) name: Text,
    /// Each of them; none for any reference.
    pub(crate) names: Vec<Text>,
}

/// From which of two ids an edge must lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum EdgeDirection {
    #[default]
    Any,
    Forward,
    Backward,
}

impl Pattern {
    /// Returns the ids of its resources, in source order.
    pub fn roles(&self) -> impl Iterator<Item = &Text> {
        self.roles.iter().map(|role| &role.id)
    }

    /// Returns whether `role` is bound in a finding: the leader, and where there are followers each actor.
    pub(crate) fn is_bound(&self, role: usize) -> bool {
        role == self.leader || (self.topology == Topology::LeaderFollower && self.actors.contains(&role))
    }

    /// Returns whether a text contains the number of objects that fill `role`.
    pub(crate) fn counts(&self, role: usize) -> bool {
        let descriptions = self.entries.iter().filter_map(|entry| entry.description.as_ref());
        std::iter::once(&self.message).chain(descriptions).any(|text| text.counts(role))
    }

    /// Returns the id of the resource that leads.
    #[must_use]
    pub fn leader(&self) -> &str {
        self.roles.get(self.leader).map_or("", |role| role.id.as_str())
    }

    /// Returns the ids and locations of its relationships, in source order.
    pub fn relationships(&self) -> impl Iterator<Item = (&Text, &Location)> {
        self.entries.iter().map(|entry| (&entry.id, &entry.location))
    }

    /// Returns the points that a finding needs.
    #[must_use]
    pub fn minimum(&self) -> &Points {
        &self.minimum
    }

    /// Returns the most points that a finding can have.
    #[must_use]
    pub fn maximum(&self) -> Points {
        self.maximum_of(None)
    }

    /// Returns the most points that the entries of `list`, or of both, can give.
    pub(crate) fn maximum_of(&self, list: Option<RelationshipList>) -> Points {
        let counted = self.entries.iter().filter(|entry| list.is_none_or(|list| entry.list == list));
        counted.filter(|entry| entry.rule.scores()).fold(Points::zero(), |sum, entry| sum.plus(&entry.weight))
    }
}

impl RelationshipEffect {
    pub(crate) fn scores(self) -> bool {
        matches!(self, Self::Present | Self::Absent)
    }

    /// Returns whether the pattern wants the relationship to be there.
    pub(crate) fn is_wanted(self) -> bool {
        matches!(self, Self::Mandatory | Self::OneOf(_) | Self::Present)
    }
}

impl RelationshipLink {
    /// Returns what is compared between the two objects, if anything is.
    pub(crate) fn criteria(&self) -> Option<&Criteria> {
        match self {
            Self::Edge { options, .. } | Self::Common { options, .. } => options.criteria.as_deref(),
            Self::Criteria(criteria) => Some(criteria),
        }
    }

    /// Returns what is asked of edges besides their type.
    pub(crate) fn options(&self) -> Option<&EdgeOptions> {
        match self {
            Self::Edge { options, .. } | Self::Common { options, .. } => Some(options),
            Self::Criteria(_) => None,
        }
    }

    /// Returns what the relationship is called in a pattern.
    pub(crate) fn name(&self) -> &str {
        use super::criteria::Basis;
        match self {
            Self::Edge { types, .. } | Self::Common { types, .. } => &types.name,
            Self::Criteria(criteria) => match criteria.basis {
                Basis::Custom => "custom",
                Basis::Owns => "owns",
                Basis::OwnedBy => "ownedBy",
                Basis::Selects(_) => "selects",
                Basis::SelectedBy(_) => "selectedBy",
            },
        }
    }
}
