//! Which rules the cases were about, and which of their branches were looked at.
//!
//! Rules that were made automatically from one that somebody wrote stand at its place and count as that one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kubewright_engine::{Outcome, Rule, RuleId, TraceNode, Verdict};
use kubewright_traits::Part;
use kubewright_value::{Document, Location, Map, Value};

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

/// A part of a rule file that no case was about.
pub(super) struct Missing<'a> {
    /// The rule.
    pub(super) rule: &'a str,
    /// The branch of it; nothing for the whole rule.
    pub(super) branch: Option<&'a str>,
    pub(super) place: String,
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
    pub(super) fn looked_at<'o>(&mut self, outcomes: impl Iterator<Item = &'o Outcome>) {
        outcomes.filter_map(|outcome| outcome.trace.as_deref()).for_each(|trace| self.node(trace));
    }

    fn node(&mut self, node: &TraceNode) {
        if let (Some(location), false) = (&node.location, node.verdict == Verdict::NotLooked) {
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
        parts: Vec<Part>,
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

    /// Returns how many rules there are, and how many of them a case was about.
    pub(super) fn rules(&self) -> (usize, usize) {
        (self.rules.len(), self.rules.values().filter(|rule| rule.is_exercised).count())
    }

    /// Returns how many branches there are, and how many of them were looked at.
    pub(super) fn branches(&self) -> (usize, usize) {
        let branches = || self.rules.values().flat_map(|rule| rule.branches.values());
        (branches().count(), branches().filter(|(_, is_exercised)| *is_exercised).count())
    }

    /// Returns what no case was about: rules, and branches of rules that a case was about.
    pub(super) fn missing(&self) -> Vec<Missing<'_>> {
        let mut missing = Vec::new();
        for (spot, rule) in &self.rules {
            if !rule.is_exercised {
                missing.push(Missing { rule: &rule.name, branch: None, place: place(spot) });
                continue;
            }
            for ((spot, _), (what, _)) in rule.branches.iter().filter(|(_, (_, is_exercised))| !is_exercised)
            {
                missing.push(Missing { rule: &rule.name, branch: Some(what), place: place(spot) });
            }
        }
        missing
    }

    /// Returns all of it as JSON.
    pub(super) fn to_value(&self) -> Value {
        let missing = self.missing();
        let rows = |is_branch: bool| -> Value {
            let rows = missing.iter().filter(|missing| missing.branch.is_some() == is_branch);
            let row = |missing: &Missing<'_>| {
                let mut row = Map::from([("rule", Value::from(missing.rule))]);
                if let Some(branch) = missing.branch {
                    row.insert("branch".into(), branch.into());
                }
                row.insert("place".into(), missing.place.as_str().into());
                row
            };
            rows.map(row).collect::<Vec<_>>().into()
        };
        let ((rules, exercised), (branches, looked_at)) = (self.rules(), self.branches());
        Map::from([
            ("rules", Value::from(rules)),
            ("exercised", exercised.into()),
            ("missing", rows(false)),
            ("branches", branches.into()),
            ("branchesExercised", looked_at.into()),
            ("missingBranches", rows(true)),
        ])
        .into()
    }
}

fn spot(location: &Location) -> Spot {
    (location.source.name.clone(), location.position.line, location.position.column)
}

fn place((file, line, column): &Spot) -> String {
    format!("{file}:{line}:{column}")
}
