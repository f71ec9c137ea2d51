//! What became of a leader, as a tree.

use kubewright_engine::{TraceNode, Verdict};
use kubewright_graph::{Graph, Id};
use kubewright_k8s::object_title;
use kubewright_patterns::{Candidacy, Checked, Finding, Findings, Nearest, Pattern, Phase, Trace, TraceStep};

/// How many findings of one leader are told.
const TOLD: usize = 5;

/// A leader, and all that is known of it.
pub(super) struct Leader<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) trace: &'a Trace,
    pub(super) found: &'a Findings,
    /// For each step of the trace what is near, if it is not there.
    pub(super) near: &'a [Option<Nearest>],
    pub(super) graph: &'a Graph,
}

impl Leader<'_> {
    /// Returns the relationships that were looked at and the points, in the order of the phases.
    pub(super) fn nodes(&self) -> Vec<TraceNode> {
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
                    verdict: if self.trace.phase == Phase::Threshold { Verdict::No } else { Verdict::Yes },
                    location: None,
                    children: Vec::new(),
                });
            }
        }
        nodes
    }

    fn step(&self, step: &TraceStep, near: &Option<Nearest>) -> TraceNode {
        let found = match step.with {
            Some(with) => {
                let mut text = name(self.graph, with);
                if step.from.is_some_and(|from| from != self.trace.leader) {
                    let from = step.from.map(|from| name(self.graph, from)).unwrap_or_default();
                    text = format!("{from} – {text}");
                }
                if let Some(through) = step.through {
                    text.push_str(&format!(" through {}", name(self.graph, through)));
                }
                if !step.via.is_empty() {
                    text.push_str(&format!(" via {}", step.via));
                }
                text
            }
            None => "not there".to_owned(),
        };
        let hint = near.as_ref().map(|near| TraceNode {
            what: near.hint(self.graph),
            found: String::new(),
            wanted: String::new(),
            verdict: Verdict::Done,
            location: None,
            children: Vec::new(),
        });
        TraceNode {
            what: format!("{} {}", step.entry, step.relationship),
            found,
            wanted: wanted(step),
            verdict: if step.held == step.wanted { Verdict::Yes } else { Verdict::No },
            location: Some(step.location.clone()).filter(|_| !scores_of(step)),
            children: hint.into_iter().collect(),
        }
    }

    /// Returns why the leader was discarded, or the messages of its findings.
    pub(super) fn ends(&self) -> Vec<String> {
        if self.trace.phase != Phase::Matched {
            return vec![self.trace.reason.clone()];
        }
        let own: Vec<&Finding> = self.findings().collect();
        let mut lines: Vec<String> = own.iter().take(TOLD).map(|finding| self.finding(finding)).collect();
        if own.len() > TOLD {
            lines.push(format!("… and {} more", own.len() - TOLD));
        }
        lines
    }

    fn finding(&self, finding: &Finding) -> String {
        let others: Vec<String> = super::roles(&finding.roles, self.graph)
            .skip(1)
            .map(|(role, name)| format!("{role} {name}"))
            .collect();
        match others.as_slice() {
            [] => finding.message.clone(),
            others => format!("{} ({})", finding.message, others.join(", ")),
        }
    }

    /// Returns the findings that it leads.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        let leads =
            |finding: &&Finding| finding.roles.first().is_some_and(|(_, id)| *id == self.trace.leader);
        self.found.findings.iter().filter(leads)
    }
}

fn scores_of(step: &TraceStep) -> bool {
    step.rule.starts_with("score")
}

/// Returns what the pattern wants of a relationship, or what it gave.
fn wanted(step: &TraceStep) -> String {
    match step.rule {
        "mandatory" => "must be there".to_owned(),
        "veto" => "must not be there".to_owned(),
        "one-of" => "one of these must be there".to_owned(),
        "score" if step.held => format!("+{}", step.points),
        "score-absent" if !step.held => format!("+{} because it is not there", step.points),
        _ => "no points".to_owned(),
    }
}

/// Returns what the filters of a pattern say about an object that does not lead.
pub(super) fn candidacies(all: &[Candidacy]) -> Vec<TraceNode> {
    let one = |candidacy: &Candidacy| TraceNode {
        what: format!("may be `{}`", candidacy.role),
        found: String::new(),
        wanted: String::new(),
        verdict: if candidacy.passes { Verdict::Yes } else { Verdict::No },
        location: None,
        children: candidacy.conditions.iter().map(condition).collect(),
    };
    all.iter().map(one).collect()
}

fn condition(checked: &Checked) -> TraceNode {
    TraceNode {
        what: format!("{}: {}", checked.list, checked.condition),
        found: found(checked),
        wanted: String::new(),
        verdict: if checked.discards { Verdict::No } else { Verdict::Yes },
        location: Some(checked.location.clone()),
        children: Vec::new(),
    }
}

/// Returns the values that a condition saw.
pub(in crate::commands) fn found(checked: &Checked) -> String {
    match checked.found.as_slice() {
        [] => "nothing there".to_owned(),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// `Service shop/web`.
pub(super) fn name(graph: &Graph, id: Id) -> String {
    let Some(node) = graph.node(id) else { return String::new() };
    object_title(&node.kind, &node.namespace, &node.name)
}
