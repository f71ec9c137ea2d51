//! Which objects must be judged again because something that their judgements looked up has changed.

use std::collections::{BTreeSet, VecDeque};

use kubewright_engine::Query;
use kubewright_value::Text;

use super::Scanner;
use crate::input::ChangedInput;
use crate::{ObjectKey, WatchedInput};

/// How many changes are remembered for judgements that are not recorded yet.
const MAX_RECENT_CHANGES: usize = 4096;

/// The latest changes, so that a judgement that was made before one and recorded after it is noticed.
#[derive(Debug, Default)]
pub(super) struct RecentChanges {
    changes: VecDeque<ChangedInput>,
    /// How many changes there have been.
    count: u64,
}

impl RecentChanges {
    /// Returns how many changes there have been.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether one of `queries` may have another answer since there had been `before` changes.
    pub(super) fn affect(&self, queries: &[Query], before: u64) -> bool {
        let later = usize::try_from(self.count - before).unwrap_or(usize::MAX);
        if later == 0 || queries.is_empty() {
            return false;
        }
        // What is not remembered any more may be anything.
        later > self.changes.len()
            || self
                .changes
                .iter()
                .rev()
                .take(later)
                .any(|change| queries.iter().any(|query| change.is_read_by(query)))
    }

    fn add(&mut self, change: ChangedInput) {
        self.count += 1;
        self.changes.push_back(change);
        if self.changes.len() > MAX_RECENT_CHANGES {
            self.changes.pop_front();
        }
    }
}

impl Scanner {
    /// Returns the objects whose last judgement looked up `changed`, or a list that can contain it. They are to be
    /// observed again. The world must answer with the changed object already: a judgement that was made before this call
    /// and looked the object up is not recorded any more.
    pub fn dependents_of(&mut self, changed: &ObjectKey) -> Vec<ObjectKey> {
        self.dependents(ChangedInput::Object(changed.clone()))
    }

    /// Returns the objects whose last judgement looked up the cluster-wide shared entry called `name`.
    pub fn dependents_of_shared(&mut self, name: &Text) -> Vec<ObjectKey> {
        self.dependents(ChangedInput::Shared(name.clone()))
    }

    /// Returns everything that judgements looked up and that can be watched. Changes of it are to be announced by
    /// [`dependents_of`](Self::dependents_of).
    #[must_use]
    pub fn watched_inputs(&self) -> BTreeSet<WatchedInput> {
        self.inputs.watched()
    }

    fn dependents(&mut self, changed: ChangedInput) -> Vec<ObjectKey> {
        let sets = self.inputs.sets_reading(&changed);
        self.recent.add(changed);
        let namespaces = self.inputs.namespaces_of(&sets);
        let places =
            self.kinds.iter().flat_map(|place| namespaces.iter().map(move |namespace| (place, *namespace)));
        let dependents = places.flat_map(|((kind, objects), namespace)| {
            let read = objects.within(namespace).filter(|(_, object)| sets.contains(&object.inputs));
            read.map(|(key, _)| key.object_key(kind))
        });
        dependents.collect()
    }
}
