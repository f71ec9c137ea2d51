//! What became of an object that could lead a pattern, as a tree of trace nodes.

use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_graph::{Graph, Id};
use kubewright_patterns::{
    Candidacy, ConditionCheck, DetectionPhase, LeaderTrace, NearMisses, Pattern, PatternFinding,
    PatternFindings, TraceStep,
};
use kubewright_value::Location;

use crate::{FilePosition, ObjectPositions, object_label};

/// How many findings of one leader are listed.
const MAX_FINDINGS: usize = 5;

/// An object that could lead a pattern, and all that is known of it.
#[derive(Debug)]
pub struct LeaderReport<'a> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// What was looked at.
    pub trace: &'a LeaderTrace,
    /// All findings of the pattern.
    pub found: &'a PatternFindings,
    /// For each step of the trace what is near, if it is not there.
    pub near: &'a [Option<NearMisses>],
    /// The objects.
    pub graph: &'a Graph,
    /// Where they were read.
    pub places: &'a ObjectPositions,
}

impl LeaderReport<'_> {
    /// Returns the relationships that were looked at and the points, in the order of the phases.
    #[must_use]
    pub fn nodes(&self) -> Vec<TraceNode> {
        let steps = || self.trace.steps.iter().zip(self.near);
        let of = |scores: bool| -> Vec<TraceNode> {
            steps()
                .filter(|(step, _)| scores_of(step) == scores)
                .map(|(step, near)| self.step(step, near))
                .collect()
        };
        let mut nodes = of(false);
        nodes.extend(of(true));
        if let Some(points) = &self.trace.points {
            let least = self.pattern.minimum();
            if !least.is_zero() || !self.pattern.maximum().is_zero() {
                nodes.push(TraceNode {
                    what: "points".to_owned(),
                    found: format!("{points} of {}", self.pattern.maximum()),
                    wanted: format!("at least {least}"),
                    verdict: if self.trace.phase == DetectionPhase::Threshold {
                        TraceVerdict::No
                    } else {
                        TraceVerdict::Yes
                    },
                    subject_location: self.place(self.trace.leader),
                    ..TraceNode::default()
                });
            }
        }
        nodes
    }

    /// Returns where an object was read.
    fn place(&self, id: Id) -> Option<Location> {
        self.places.get(id).map(|place| place.location())
    }

    /// Returns what is near, and where the nearest object was read.
    fn near(&self, near: &NearMisses) -> String {
        let nearest = near.near.first().and_then(|near| self.place(near.id));
        let place = nearest.map_or_else(String::new, |place| format!(" ({place})"));
        format!("{}{place}", near.hint(self.graph))
    }

    fn step(&self, step: &TraceStep, near: &Option<NearMisses>) -> TraceNode {
        let found = match step.with {
            Some(with) => {
                let mut text = leader_object_name(self.graph, with);
                if step.from.is_some_and(|from| from != self.trace.leader) {
                    let from = step.from.map(|from| leader_object_name(self.graph, from)).unwrap_or_default();
                    text = format!("{from} – {text}");
                }
                if let Some(through) = step.through {
                    text.push_str(&format!(" through {}", leader_object_name(self.graph, through)));
                }
                if !step.via.is_empty() {
                    text.push_str(&format!(" via {}", step.via));
                }
                text
            }
            None => "not there".to_owned(),
        };
        let hint = near.as_ref().map(|near| TraceNode {
            what: self.near(near),
            verdict: TraceVerdict::Done,
            ..TraceNode::default()
        });
        TraceNode {
            what: format!("{} {}", step.entry, step.relationship),
            found,
            wanted: relationship_note(step),
            verdict: if step.held == step.wanted { TraceVerdict::Yes } else { TraceVerdict::No },
            location: Some(step.location.clone()),
            subject_location: self.place(self.trace.leader),
            children: hint.into_iter().collect(),
            ..TraceNode::default()
        }
    }

    /// Returns why the leader was discarded, or the messages of its findings.
    #[must_use]
    pub fn ends(&self) -> Vec<String> {
        if self.trace.phase != DetectionPhase::Matched {
            return vec![self.trace.reason.clone()];
        }
        let own: Vec<&PatternFinding> = self.findings().collect();
        let mut lines: Vec<String> =
            own.iter().take(MAX_FINDINGS).map(|finding| self.finding(finding)).collect();
        if own.len() > MAX_FINDINGS {
            lines.push(format!("… and {} more", own.len() - MAX_FINDINGS));
        }
        lines
    }

    fn finding(&self, finding: &PatternFinding) -> String {
        let others: Vec<String> = finding
            .roles
            .iter()
            .skip(1)
            .map(|(role, id)| format!("{role} {}", leader_object_name(self.graph, *id)))
            .collect();
        match others.as_slice() {
            [] => finding.message.clone(),
            others => format!("{} ({})", finding.message, others.join(", ")),
        }
    }

    /// Returns the findings that it leads.
    pub fn findings(&self) -> impl Iterator<Item = &PatternFinding> {
        let leads =
            |finding: &&PatternFinding| finding.roles.first().is_some_and(|(_, id)| *id == self.trace.leader);
        self.found.findings.iter().filter(leads)
    }
}

fn scores_of(step: &TraceStep) -> bool {
    step.rule.starts_with("score")
}

/// Returns what the pattern wants of a relationship, or what it gave.
fn relationship_note(step: &TraceStep) -> String {
    match step.rule {
        "mandatory" => "must be there".to_owned(),
        "veto" => "must not be there".to_owned(),
        "one-of" => "one of these must be there".to_owned(),
        "score" if step.held => format!("+{}", step.points),
        "score-absent" if !step.held => format!("+{} because it is not there", step.points),
        _ => "no points".to_owned(),
    }
}

/// Returns what the filters of a pattern say about an object that does not lead, and that was read at `place`.
#[must_use]
pub fn candidacy_nodes(all: &[Candidacy], place: Option<&FilePosition>) -> Vec<TraceNode> {
    let one = |candidacy: &Candidacy| TraceNode {
        what: format!("may be `{}`", candidacy.role),
        verdict: if candidacy.passes { TraceVerdict::Yes } else { TraceVerdict::No },
        children: candidacy.conditions.iter().map(|checked| condition_node(checked, place)).collect(),
        ..TraceNode::default()
    };
    all.iter().map(one).collect()
}

fn condition_node(checked: &ConditionCheck, place: Option<&FilePosition>) -> TraceNode {
    TraceNode {
        what: format!("{}: {}", checked.list, checked.condition),
        found: seen_values(checked),
        verdict: if checked.discards { TraceVerdict::No } else { TraceVerdict::Yes },
        location: Some(checked.location.clone()),
        subject_location: place.map(FilePosition::location),
        ..TraceNode::default()
    }
}

/// Returns the values that a condition saw.
fn seen_values(checked: &ConditionCheck) -> String {
    match checked.found.as_slice() {
        [] => "nothing there".to_owned(),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// Returns `Kind namespace/name`.
fn leader_object_name(graph: &Graph, id: Id) -> String {
    graph.node(id).map(object_label).unwrap_or_default()
}
