//! Which rules the cases were about, and which of their branches were looked at.
//!
//! Rules that were made automatically from one that somebody wrote stand at its place and count as that one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kubewright_engine::{Rule, RuleId, RuleOutcome, TraceNode, TraceVerdict};
use kubewright_report::{CoverageSummary, UncoveredBranch};
use kubewright_traits::TraitPart;
use kubewright_value::{Document, Location};

/// Rules by place, over all files, and whether a case was about them.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    rules: BTreeMap<Spot, Covered>,
}

/// What the cases of one test file were about.
#[derive(Debug, Default)]
pub(super) struct Exercised {
    /// Rules that a case was about.
    pub(super) rules: HashSet<Arc<RuleId>>,
    spots: HashSet<Spot>,
}

/// A file, a line and a column.
type Spot = (String, u32, u32);

/// Which of the branches at one place is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    /// The only one, or where what stands there holds.
    #[default]
    Is,
    /// Where it does not hold.
    IsNot,
}

#[derive(Debug, Default)]
struct Covered {
    name: String,
    is_exercised: bool,
    branches: BTreeMap<(Spot, Side), (String, bool)>,
}

impl Exercised {
    /// Keeps the places that the rules of `outcomes` looked at.
    pub(super) fn looked_at<'o>(&mut self, outcomes: impl Iterator<Item = &'o RuleOutcome>) {
        outcomes.filter_map(|outcome| outcome.trace.as_deref()).for_each(|trace| self.node(trace));
    }

    fn node(&mut self, node: &TraceNode) {
        if let (Some(location), false) = (&node.location, node.verdict == TraceVerdict::NotLooked) {
            self.spots.insert(spot(location));
        }
        node.children.iter().for_each(|child| self.node(child));
    }
}

impl Coverage {
    /// Adds the rules of one test file.
    pub(super) fn add(&mut self, rules: &[Arc<Rule>], exercised: &Exercised) {
        for rule in rules {
            let known = self.rules.entry(spot(&rule.location)).or_default();
            let name = rule.id.to_string();
            // The one that somebody wrote has the shortest name.
            if known.name.is_empty() || name.len() < known.name.len() {
                known.name = name;
            }
            known.is_exercised |= exercised.rules.contains(&rule.id);
            for branch in rule.program.branches() {
                let spot = spot(&branch.location);
                let is_exercised = exercised.spots.contains(&spot);
                let branch = known.branches.entry((spot, Side::Is)).or_insert((branch.what, false));
                branch.1 |= is_exercised;
            }
        }
    }

    /// Adds the parts of one rule file, and which of them were exercised.
    pub(super) fn add_parts(
        &mut self,
        name: &str,
        document: &Document,
        is_exercised: bool,
        parts: Vec<TraitPart>,
    ) {
        let parts = parts.into_iter().map(|part| (part.what, part.location, Side::Is, part.is_exercised));
        self.add_sides(name, document, is_exercised, parts);
    }

    /// Adds the parts of one rule file that may have two sides, and which of them were exercised.
    pub(super) fn add_sides(
        &mut self,
        name: &str,
        document: &Document,
        is_exercised: bool,
        parts: impl Iterator<Item = (String, Location, Side, bool)>,
    ) {
        let known = self.rules.entry(spot(&document.locate(&[]))).or_default();
        name.clone_into(&mut known.name);
        known.is_exercised |= is_exercised;
        for (what, location, side, is_exercised) in parts {
            known.branches.entry((spot(&location), side)).or_insert((what, false)).1 |= is_exercised;
        }
    }

    /// Adds what another one knows.
    pub(super) fn merge(&mut self, other: Self) {
        for (spot, covered) in other.rules {
            let known = self.rules.entry(spot).or_default();
            if known.name.is_empty() {
                known.name = covered.name;
            }
            known.is_exercised |= covered.is_exercised;
            for (spot, (what, is_exercised)) in covered.branches {
                known.branches.entry(spot).or_insert((what, false)).1 |= is_exercised;
            }
        }
    }

    /// Returns what the cases exercised.
    pub(super) fn summary(&self) -> CoverageSummary {
        let branches = || self.rules.values().flat_map(|rule| rule.branches.values());
        CoverageSummary {
            rules: self.rules.len(),
            exercised_rules: self.rules.values().filter(|rule| rule.is_exercised).count(),
            branches: branches().count(),
            exercised_branches: branches().filter(|(_, is_exercised)| *is_exercised).count(),
            uncovered: self.uncovered(),
        }
    }

    /// Returns what no case exercised: rules, and branches of rules that a case exercised.
    fn uncovered(&self) -> Vec<UncoveredBranch> {
        let mut uncovered = Vec::new();
        for (spot, rule) in &self.rules {
            let name = || rule.name.clone();
            if !rule.is_exercised {
                uncovered.push(UncoveredBranch { rule: name(), branch: None, place: place(spot) });
                continue;
            }
            for ((spot, _), (what, _)) in rule.branches.iter().filter(|(_, (_, is_exercised))| !is_exercised)
            {
                let branch = Some(what.clone());
                uncovered.push(UncoveredBranch { rule: name(), branch, place: place(spot) });
            }
        }
        uncovered
    }
}

fn spot(location: &Location) -> Spot {
    (location.source.name.clone(), location.position.line, location.position.column)
}

fn place((file, line, column): &Spot) -> String {
    format!("{file}:{line}:{column}")
}
