//! What was found, with everything that speaks for it.

use kubewright_engine::Diagnostic;
use kubewright_graph::Id;
use kubewright_value::{Location, Text};

use super::pattern::{Level, RelationshipList};
use super::points::Points;

/// What came of looking for one pattern.
#[derive(Debug, Clone, Default)]
pub struct PatternFindings {
    /// By leader, then by the other actors, in canonical order.
    pub findings: Vec<PatternFinding>,
    /// Whether there are more than were allowed to be given.
    pub truncated: bool,
    /// How many objects were looked at as leaders.
    pub leaders: usize,
    /// What happened to each leader, where that was asked for.
    pub trace: Vec<LeaderTrace>,
    /// What is doubtful with these objects: kinds that none of them has, values that cannot be compared.
    pub diagnostics: Vec<Diagnostic>,
}

/// One place where the pattern is.
#[derive(Debug, Clone)]
pub struct PatternFinding {
    /// The pattern's name.
    pub pattern: Text,
    /// How bad it is.
    pub severity: Level,
    /// The actors by their ids, the leader first. Empty where a kind has no object at all.
    pub roles: Vec<(Text, Id)>,
    /// Objects of the other resources that speak for it, the first few of each.
    pub witnesses: Vec<(Text, Vec<Id>)>,
    /// The points of both lists together.
    pub points: Points,
    /// The most that could be reached.
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
pub struct Evidence {
    /// The id of the relationship.
    pub entry: Text,
    /// Its type.
    pub relationship: Text,
    /// The list that it is in.
    pub list: RelationshipList,
    /// What it does: `mandatory`, `veto`, `score`, `score-absent`, `one-of`.
    pub rule: &'static str,
    /// One end; the leader where nothing holds.
    pub from: Option<Id>,
    /// The other end, if there is one.
    pub to: Option<Id>,
    /// What both have in common, or what is in between.
    pub through: Option<Id>,
    /// The ids of the two resources that it is between.
    pub between: (Text, Text),
    /// The field that says so; empty where nothing holds.
    pub via: Text,
    /// Whether the relationship is there.
    pub held: bool,
    /// Whether the pattern wants it to be there.
    pub wanted: bool,
    /// What it adds.
    pub points: Points,
    /// What the pattern says about it.
    pub description: String,
}

/// How sure a finding is.
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
    /// Returns how sure the finding is.
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

    /// Returns the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

/// What happened to one leader.
#[derive(Debug, Clone)]
pub struct LeaderTrace {
    /// The leader.
    pub leader: Id,
    /// Where it ended.
    pub phase: DetectionPhase,
    /// Why it ended there, or how many findings it led to.
    pub reason: String,
    /// The relationships that were looked at, in order; of several bindings those of the first that matched, or else
    /// of the best.
    pub steps: Vec<TraceStep>,
    /// The objects of the actors that the steps are about, the leader first.
    pub roles: Vec<(Text, Id)>,
    /// The points of these, where it came to scoring.
    pub points: Option<Points>,
}

/// One relationship that was looked at for a leader.
#[derive(Debug, Clone)]
pub struct TraceStep {
    /// The id of the relationship.
    pub entry: Text,
    /// Its type.
    pub relationship: Text,
    /// What it does.
    pub rule: &'static str,
    /// Whether it was there.
    pub held: bool,
    /// Whether the pattern wants it to be there.
    pub wanted: bool,
    /// What it added.
    pub points: Points,
    /// One end, where it was there.
    pub from: Option<Id>,
    /// The other object, where it was there.
    pub with: Option<Id>,
    /// What both have in common, or what is in between.
    pub through: Option<Id>,
    /// The field that says so; empty where it was not there.
    pub via: Text,
    /// Where the pattern says so.
    pub location: Location,
}

/// The three phases, and what comes after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DetectionPhase {
    /// A required relationship is missing, or a forbidden one is there.
    Veto,
    /// Too few points.
    Threshold,
    /// It matched.
    Matched,
}

impl DetectionPhase {
    /// Returns the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Veto => "veto",
            Self::Threshold => "threshold",
            Self::Matched => "matched",
        }
    }
}
