//! Findings with their evidence, and traces of leaders.

use kubewright_engine::Diagnostic;
use kubewright_graph::Id;
use kubewright_value::{Location, Text};

use super::pattern::{Level, RelationshipList};
use super::points::Points;

/// The result of the search for one pattern.
#[derive(Debug, Clone, Default)]
pub struct PatternFindings {
    /// By leader, then by the other actors, in canonical order.
    pub findings: Vec<PatternFinding>,
    /// Whether there may be more findings than the limits allow.
    pub truncated: bool,
    /// The number of leaders.
    pub leaders: usize,
    /// The trace of each leader, if asked for.
    pub trace: Vec<LeaderTrace>,
    /// Warnings about the input: kinds without objects, values that cannot be compared.
    pub diagnostics: Vec<Diagnostic>,
}

/// One match of a pattern.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PatternFinding {
    /// The pattern's name.
    pub pattern: Text,
    /// The severity.
    pub severity: Level,
    /// The actors by their ids, the leader first. Empty where a kind has no object at all.
    pub roles: Vec<(Text, Id)>,
    /// Objects of the other resources that support it, the first few of each.
    pub witnesses: Vec<(Text, Vec<Id>)>,
    /// The points of both lists together.
    pub points: Points,
    /// The maximum of points.
    pub maximum: Points,
    /// Points and maximum of each list that scores.
    pub scores: Vec<(RelationshipList, Points, Points)>,
    /// The share of the points, in percent.
    pub confidence: f64,
    /// One for each relationship of the pattern, in its order.
    pub evidence: Vec<Evidence>,
    /// The rendered message.
    pub message: String,
}

/// Whether a relationship holds, and through what.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Evidence {
    /// The id of the relationship.
    pub entry: Text,
    /// Its type.
    pub relationship: Text,
    /// The list that it is in.
    pub list: RelationshipList,
    /// The effect: `mandatory`, `veto`, `score`, `score-absent`, `one-of`.
    pub rule: &'static str,
    /// One end; the leader where nothing holds.
    pub from: Option<Id>,
    /// The other end, if there is one.
    pub to: Option<Id>,
    /// The shared neighbour, or the object in between.
    pub through: Option<Id>,
    /// The ids of the two resources that it is between.
    pub between: (Text, Text),
    /// The field that makes the relationship; empty if it does not exist.
    pub via: Text,
    /// Whether the relationship exists.
    pub held: bool,
    /// Whether the pattern wants it to exist.
    pub wanted: bool,
    /// The points it adds.
    pub points: Points,
    /// Its description in the pattern.
    pub description: String,
}

/// The confidence of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Up to 40 percent.
    Low,
    /// Up to 70 percent.
    Medium,
    /// Above.
    High,
}

impl PatternFinding {
    /// Returns the confidence of the finding.
    #[must_use]
    pub fn confidence_level(&self) -> Confidence {
        Confidence::of(self.confidence)
    }
}

impl Confidence {
    /// Returns the level of a share in percent.
    #[must_use]
    pub fn of(percent: f64) -> Self {
        if percent <= 40.0 {
            Self::Low
        } else if percent <= 70.0 {
            Self::Medium
        } else {
            Self::High
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

/// The evaluation of one leader.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LeaderTrace {
    /// The leader.
    pub leader: Id,
    /// The phase in which it ended.
    pub phase: DetectionPhase,
    /// Why it ended there, or how many findings it led to.
    pub reason: String,
    /// The relationships that were evaluated, in order; of several bindings those of the first that matched, or else
    /// of the best.
    pub steps: Vec<TraceStep>,
    /// The objects of the actors that the steps are about, the leader first.
    pub roles: Vec<(Text, Id)>,
    /// The points of these, if they were scored.
    pub points: Option<Points>,
}

/// One relationship that was evaluated for a leader.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TraceStep {
    /// The id of the relationship.
    pub entry: Text,
    /// Its type.
    pub relationship: Text,
    /// The effect.
    pub rule: &'static str,
    /// Whether it existed.
    pub held: bool,
    /// Whether the pattern wants it to exist.
    pub wanted: bool,
    /// The points it added.
    pub points: Points,
    /// One end, if it existed.
    pub from: Option<Id>,
    /// The other end, if it existed.
    pub with: Option<Id>,
    /// The shared neighbour, or the object in between.
    pub through: Option<Id>,
    /// The field that makes the relationship; empty if it did not exist.
    pub via: Text,
    /// Its location in the pattern.
    pub location: Location,
}

/// The three phases, and what comes after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DetectionPhase {
    /// A required relationship is missing, or a forbidden one exists.
    Veto,
    /// Too few points.
    Threshold,
    /// It matched.
    Matched,
}

impl DetectionPhase {
    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Veto => "veto",
            Self::Threshold => "threshold",
            Self::Matched => "matched",
        }
    }
}
