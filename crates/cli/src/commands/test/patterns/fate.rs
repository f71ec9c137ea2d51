//! Explains why a leader did not end as a case expects.

use kubewright_graph::{Id, Sort};
use kubewright_patterns::{
    self as patterns, ConditionCheck, DetectionPhase, DetectionSettings, LeaderTrace, Pattern,
};
use kubewright_value::Budget;

use super::file::ExpectedFinding;
use super::judge::JudgedPatternCase;
use super::words::case_object_name;

impl JudgedPatternCase<'_> {
    /// Describes a missing finding, and what happened to its leader.
    pub(super) fn missing(&self, pattern: &Pattern, expected: &ExpectedFinding) -> String {
        let roles: Vec<String> = expected
            .roles
            .iter()
            .map(|(role, object)| {
                format!("{} {object}", if role.is_empty() { pattern.leader() } else { role })
            })
            .collect();
        let roles = if roles.is_empty() { "without any object".to_owned() } else { roles.join(", ") };
        let is_leader = |(role, _): &&(String, String)| role.is_empty() || role == pattern.leader();
        let why = match expected.roles.iter().find(is_leader) {
            Some((_, leader)) => self.fate(leader),
            None => String::new(),
        };
        format!("expected a finding: {roles}\n{why}").trim_end().to_owned()
    }

    /// Describes a leader that ended in another phase than expected.
    pub(super) fn discarded(&self, leader: &str, phase: &str) -> Option<String> {
        let Some(id) = self.find(leader) else { return Some(self.unknown(leader)) };
        match self.trace(id) {
            Some(trace) if trace.phase.name() == phase => None,
            Some(trace) => {
                Some(format!("expected the {phase} phase to discard {leader}\n{}", self.story(leader, trace)))
            }
            None => Some(format!("expected the {phase} phase to discard {leader}\n{}", self.fate(leader))),
        }
    }

    /// Returns what happened to a leader, in lines.
    fn fate(&self, leader: &str) -> String {
        let Some(id) = self.find(leader) else { return format!("  {}", self.unknown(leader)) };
        if let Some(trace) = self.trace(id) {
            return self.story(leader, trace);
        }
        let is_object = self.graph.node(id).is_some_and(|node| node.sort == Sort::Object);
        if !is_object {
            return format!("  {leader} is only referenced, and is not among the objects");
        }
        self.left_out(leader, id)
    }

    /// Describes the conditions that exclude an object as leader.
    fn left_out(&self, leader: &str, id: Id) -> String {
        let Some(pattern) = self.pattern else { return String::new() };
        let (settings, mut budget) = (DetectionSettings::default(), Budget::default());
        let all =
            patterns::candidacies_of(pattern, id, self.graph, &settings, &mut budget).unwrap_or_default();
        let of = pattern.leader();
        let mut lines = match all.iter().find(|one| one.is_leader) {
            None => vec![format!("  {leader} is not of the kind of `{of}`, which leads")],
            Some(one) if one.passes => {
                vec![format!(
                    "  {leader} was not checked: it is in another namespace, or there were too many findings"
                )]
            }
            Some(one) => {
                let told = |checked: &ConditionCheck| {
                    let found = if checked.found.is_empty() {
                        "nothing".to_owned()
                    } else {
                        checked.found.join(", ")
                    };
                    format!(
                        "    {}: {}, there is {found}   {}",
                        checked.list, checked.condition, checked.location
                    )
                };
                let mut lines = vec![format!("  the filter of `{of}` excludes {leader}:")];
                lines.extend(one.conditions.iter().filter(|checked| checked.discards).map(told));
                lines
            }
        };
        lines.dedup();
        lines.join("\n")
    }

    fn story(&self, leader: &str, trace: &LeaderTrace) -> String {
        let mut lines = vec![match trace.phase {
            DetectionPhase::Matched => format!("  {leader} leads to {}", trace.reason),
            DetectionPhase::Veto | DetectionPhase::Threshold => {
                format!("  {leader} was discarded in the {} phase: {}", trace.phase.name(), trace.reason)
            }
        }];
        for step in &trace.steps {
            let mut with =
                step.with.map(|id| format!(" with {}", case_object_name(self.graph, id))).unwrap_or_default();
            if !step.via.is_empty() {
                with.push_str(&format!(" via {}", step.via));
            }
            let held = if step.held { "there" } else { "not there" };
            let points =
                if step.points.is_zero() { String::new() } else { format!(", {} points", step.points) };
            lines.push(format!("    `{}` ({}) is {held}{with}{points}", step.entry, step.rule));
            if let Some(hint) = self.pattern.filter(|_| !step.held).and_then(|pattern| {
                let mut budget = Budget::default();
                patterns::near_misses(pattern, &step.entry, trace.leader, self.graph, 1, &mut budget).ok()?
            }) {
                lines.push(format!("      {}", hint.hint(self.graph)));
            }
        }
        lines.join("\n")
    }

    fn trace(&self, leader: Id) -> Option<&LeaderTrace> {
        self.found.trace.iter().find(|trace| trace.leader == leader)
    }
}
