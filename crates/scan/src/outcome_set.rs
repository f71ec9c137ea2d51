//! What all rules said about one object, stored once for all objects of which they said the same.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use kubewright_engine::{RuleId, RuleStatus};
use kubewright_report::OutcomeCounts;
use kubewright_report::cluster_report::ReportResult;

use crate::intern::InternTable;
use crate::shard::fnv1a_64;

/// What one rule said about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutcomeRecord {
    /// The rule.
    pub(crate) rule: Arc<RuleId>,
    /// The verdict.
    pub(crate) status: RuleStatus,
    /// The row in the object's report, without its time; nothing where the outcome is only counted.
    pub(crate) row: Option<Box<ReportResult>>,
}

impl Hash for OutcomeRecord {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A keyed hash of all texts of the id would cost more than many a rule. Ids are not chosen by who writes objects.
        let rule = fnv1a_64(&self.rule.policy) ^ fnv1a_64(&self.rule.rule).rotate_left(8);
        state.write_u64(rule ^ self.status as u64);
        if let Some(row) = &self.row {
            row.message.hash(state);
            row.properties.hash(state);
        }
    }
}

/// The outcomes of one object: the numbers of their records, in the order in which the rules ran.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OutcomeSet {
    records: Box<[u32]>,
}

/// All sets of outcomes.
#[derive(Debug, Default)]
pub(crate) struct OutcomeTable {
    records: InternTable<OutcomeRecord>,
    sets: InternTable<OutcomeSet>,
}

impl OutcomeTable {
    /// Returns the number of the set of `outcomes`, which has one reference more now.
    pub(crate) fn acquire(&mut self, outcomes: Vec<OutcomeRecord>) -> u32 {
        let records: Box<[u32]> =
            outcomes.into_iter().map(|outcome| self.records.acquire(outcome).0).collect();
        let copy = records.clone();
        let (number, is_new) = self.sets.acquire(OutcomeSet { records });
        if !is_new {
            // The set refers to its records once, however many objects refer to the set.
            copy.iter().for_each(|record| drop(self.records.release(*record)));
        }
        number
    }

    /// Takes one reference from the set called `number`.
    pub(crate) fn release(&mut self, number: u32) {
        if let Some(set) = self.sets.release(number) {
            set.records.iter().for_each(|record| drop(self.records.release(*record)));
        }
    }

    /// Returns the outcomes of the set called `number`.
    pub(crate) fn outcomes(&self, number: u32) -> impl Iterator<Item = &OutcomeRecord> {
        let records = self.sets.get(number).map(|set| set.records.as_ref()).unwrap_or_default();
        records.iter().filter_map(|record| self.records.get(*record))
    }

    /// Returns the rows of the set called `number`.
    pub(crate) fn rows(&self, number: u32) -> impl Iterator<Item = &ReportResult> {
        self.outcomes(number).filter_map(|outcome| outcome.row.as_deref())
    }

    /// Returns how many outcomes of each status the set called `number` has.
    pub(crate) fn counts(&self, number: u32) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        self.outcomes(number).for_each(|outcome| *counts.of_mut(outcome.status) += 1);
        counts
    }

    /// Returns every outcome of every set, with the number of objects that have the set.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&OutcomeRecord, u32)> {
        self.sets
            .iter()
            .flat_map(|(number, _, objects)| self.outcomes(number).map(move |outcome| (outcome, objects)))
    }
}
