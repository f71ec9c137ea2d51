//! Test coverage: the rules that cases exercised, and their branches.
//!
//! Autogen rules count as the rule they were generated from.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kubewright_engine::{Rule, RuleId, RuleOutcome, TraceNode, TraceVerdict};
use kubewright_report::{CoverageSummary, CoveredRule, RuleBranchCoverage, UncoveredBranch};
use kubewright_traits::TraitPart;
use kubewright_value::{Document, Location};

/// Rules by position, over all files, and whether a case exercised them.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    rules: BTreeMap<BranchSpot, CoveredBranch>,
}

/// Rules and positions that the cases of one test file exercised.
#[derive(Debug, Default)]
pub(super) struct ExercisedRules {
    /// Rules that a case exercised.
    pub(super) rules: HashSet<Arc<RuleId>>,
    spots: HashSet<BranchSpot>,
}

/// A file, a line and a column.
type BranchSpot = (String, u32, u32);

/// One of the two branches at a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BranchSide {
    /// The only branch, or the one in which the condition holds.
    #[default]
    Is,
    /// The branch in which it does not hold.
    IsNot,
}

#[derive(Debug, Default)]
struct CoveredBranch {
    name: String,
    is_exercised: bool,
    branches: BTreeMap<(BranchSpot, BranchSide), (String, bool)>,
}

impl ExercisedRules {
    /// Records the positions that the rules of `outcomes` evaluated.
    pub(super) fn looked_at<'o>(&mut self, outcomes: impl Iterator<Item = &'o RuleOutcome>) {
        outcomes.filter_map(|outcome| outcome.trace.as_deref()).for_each(|trace| self.node(trace));
    }

    fn node(&mut self, node: &TraceNode) {
        if let (Some(location), false) = (&node.location, node.verdict == TraceVerdict::NotLooked) {
            self.spots.insert(branch_spot(location));
        }
        node.children.iter().for_each(|child| self.node(child));
    }
}

impl Coverage {
    /// Adds the rules of one test file.
    pub(super) fn add(&mut self, rules: &[Arc<Rule>], exercised: &ExercisedRules) {
        for rule in rules {
            let known = self.rules.entry(branch_spot(&rule.location)).or_default();
            let name = rule.id.to_string();
            // The source of autogen rules has the shortest name.
            if known.name.is_empty() || name.len() < known.name.len() {
                known.name = name;
            }
            known.is_exercised |= exercised.rules.contains(&rule.id);
            for branch in rule.program.branches() {
                let spot = branch_spot(&branch.location);
                let is_exercised = exercised.spots.contains(&spot);
                let branch = known.branches.entry((spot, BranchSide::Is)).or_insert((branch.what, false));
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
        let parts =
            parts.into_iter().map(|part| (part.what, part.location, BranchSide::Is, part.is_exercised));
        self.add_sides(name, document, is_exercised, parts);
    }

    /// Adds the parts of one rule file that may have two sides, and which of them were exercised.
    pub(super) fn add_sides(
        &mut self,
        name: &str,
        document: &Document,
        is_exercised: bool,
        parts: impl Iterator<Item = (String, Location, BranchSide, bool)>,
    ) {
        let known = self.rules.entry(branch_spot(&document.locate(&[]))).or_default();
        name.clone_into(&mut known.name);
        known.is_exercised |= is_exercised;
        for (what, location, side, is_exercised) in parts {
            known.branches.entry((branch_spot(&location), side)).or_insert((what, false)).1 |= is_exercised;
        }
    }

    /// Adds the coverage of another run.
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
            by_rule: self.by_rule(),
        }
    }

    /// Returns every rule with its branches.
    fn by_rule(&self) -> Vec<CoveredRule> {
        let rules = self.rules.iter().map(|((file, line, _), rule)| CoveredRule {
            rule: rule.name.clone(),
            file: file.clone(),
            line: *line,
            is_exercised: rule.is_exercised,
            branches: rule
                .branches
                .iter()
                .map(|(((_, line, _), _), (what, is_exercised))| RuleBranchCoverage {
                    what: what.clone(),
                    line: *line,
                    is_exercised: *is_exercised,
                })
                .collect(),
        });
        rules.collect()
    }

    /// Returns what no case exercised: rules, and branches of rules that a case exercised.
    fn uncovered(&self) -> Vec<UncoveredBranch> {
        let mut uncovered = Vec::new();
        for (spot, rule) in &self.rules {
            let name = || rule.name.clone();
            if !rule.is_exercised {
                uncovered.push(UncoveredBranch { rule: name(), branch: None, place: spot_text(spot) });
                continue;
            }
            for ((spot, _), (what, _)) in rule.branches.iter().filter(|(_, (_, is_exercised))| !is_exercised)
            {
                let branch = Some(what.clone());
                uncovered.push(UncoveredBranch { rule: name(), branch, place: spot_text(spot) });
            }
        }
        uncovered
    }
}

fn branch_spot(location: &Location) -> BranchSpot {
    (location.source.name.clone(), location.position.line, location.position.column)
}

fn spot_text((file, line, column): &BranchSpot) -> String {
    format!("{file}:{line}:{column}")
}
