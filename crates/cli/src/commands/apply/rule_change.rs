//! Rows after a change of rules: what the changed rules said is taken out, and what they say now is put in.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_engine::{Engine, KindScope, Rule, RuleId, RuleOutcome};
use kubewright_report::{ObjectRow, OutcomeCounts, OutcomeRow, UnmatchedRules};
use kubewright_value::Document;

use super::kept::KeptFile;
use crate::fixtures::FileWorld;
use crate::review::Reviewer;
use crate::rule_inputs::ReplacedRules;

/// Replaces the outcomes of changed rules in the rows of `files`.
pub(super) fn replace_outcomes(
    files: &mut [&mut KeptFile],
    reviewer: &Reviewer<'_>,
    changed: &ReplacedRules,
) {
    let order = reviewer.engine.rules().iter().enumerate();
    let change = RuleChange {
        reviewer,
        changed,
        order: order.map(|(place, rule)| (Arc::clone(&rule.id), place)).collect(),
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = files.len().div_ceil(workers).max(1);
    std::thread::scope(|scope| {
        for files in files.chunks_mut(share) {
            let change = &change;
            scope.spawn(move || files.iter_mut().for_each(|file| change.replace_in(file)));
        }
    });
}

struct RuleChange<'a> {
    /// With all rules as they are now.
    reviewer: &'a Reviewer<'a>,
    changed: &'a ReplacedRules,
    /// The place of each rule in the order in which they run.
    order: HashMap<Arc<RuleId>, usize>,
}

impl RuleChange<'_> {
    fn replace_in(&self, file: &mut KeptFile) {
        FileWorld::forget_questions();
        for ((row, _), document) in file.rows.iter_mut().zip(&file.documents) {
            self.replace(row, document);
        }
        file.is_dependent |= FileWorld::was_asked();
    }

    fn replace(&self, row: &mut ObjectRow, document: &Document) {
        let before = self.said(&self.changed.before, document);
        let after = self.said(&self.changed.after, document);
        let empty = |row: &Option<ObjectRow>| row.as_ref().map_or(0, |row| row.unmatched.empty);
        let empty = (row.unmatched.empty + empty(&after)).saturating_sub(empty(&before));
        if let Some(before) = before {
            let own = |rule: &&Arc<Rule>| self.changed.files.contains(&rule.location.source.name);
            let rules: Vec<&Arc<Rule>> = self.changed.before.rules().iter().filter(own).collect();
            row.outcomes.retain(|outcome| !rules.iter().any(|rule| rule.id == outcome.rule));
            row.counts = difference(row.counts, before.counts);
        }
        if let Some(after) = after {
            row.counts += after.counts;
            after.outcomes.into_iter().for_each(|outcome| self.insert(row, outcome));
        }
        // Of the rules that autogen derives from one, at most one is about an object.
        let out_of_scope = self.reviewer.written_rules.saturating_sub(empty + row.counts.all());
        row.unmatched = UnmatchedRules { out_of_scope, empty };
        row.is_allowed = !row.outcomes.iter().any(|outcome| outcome.is_refusal);
    }

    /// Returns what the changed rules of `engine` say; nothing where they are not about the object.
    fn said(&self, engine: &Engine, document: &Document) -> Option<ObjectRow> {
        let kind = document.value.str_at(&["kind"]);
        let is_about = |rule: &&Arc<Rule>| match &rule.scope.kinds {
            KindScope::Any => true,
            KindScope::Named(kinds) => kinds.iter().any(|known| known == kind),
        };
        let own = |rule: &&Arc<Rule>| self.changed.files.contains(&rule.location.source.name);
        let changed: Vec<&Arc<Rule>> = engine.rules().iter().filter(own).filter(is_about).collect();
        if changed.is_empty() {
            return None;
        }
        let reviewer = Reviewer { engine, ..*self.reviewer };
        let is_wanted = |outcome: &RuleOutcome| changed.iter().any(|rule| rule.id == outcome.rule);
        let mut row = reviewer.review_by(document, is_wanted);
        row.drop_patches();
        Some(row)
    }

    /// Puts an outcome where the order of rules wants it.
    fn insert(&self, row: &mut ObjectRow, outcome: OutcomeRow) {
        let place = |outcome: &OutcomeRow| self.order.get(&outcome.rule).copied().unwrap_or(usize::MAX);
        let own = place(&outcome);
        let at = row.outcomes.iter().position(|other| place(other) > own).unwrap_or(row.outcomes.len());
        row.outcomes.insert(at, outcome);
    }
}

/// Returns the counts without those of some outcomes.
fn difference(all: OutcomeCounts, some: OutcomeCounts) -> OutcomeCounts {
    OutcomeCounts {
        pass: all.pass.saturating_sub(some.pass),
        fail: all.fail.saturating_sub(some.fail),
        warn: all.warn.saturating_sub(some.warn),
        error: all.error.saturating_sub(some.error),
        skip: all.skip.saturating_sub(some.skip),
        patched: all.patched.saturating_sub(some.patched),
        written: all.written.saturating_sub(some.written),
        idle: all.idle.saturating_sub(some.idle),
        ..all
    }
}
