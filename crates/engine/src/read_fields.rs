//! The fields of objects that rules read, for callers that read objects: what no rule looks at is not worth reading.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use kubewright_value::{FieldSet, Text};

use crate::{Rule, RuleAction};

/// How many kinds are remembered. Kinds come from outside.
const MAX_KINDS: usize = 1_000;

/// About how many rules is thought at most: the first object of a kind waits for it, and where there are more rules, reading
/// the object is the smaller part.
const MAX_RULES: usize = 256;

/// The fields that identify an object, which decisions and their answers show.
const IDENTIFYING_FIELDS: [&[&str]; 5] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "generateName"],
    &["metadata", "namespace"],
];

/// What is read of the objects of each kind, found when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct ReadFieldsByKind {
    known: RwLock<HashMap<Text, Option<Arc<FieldSet>>>>,
}

impl ReadFieldsByKind {
    /// Returns what is read of objects of `kind`, which `rules` are about; nothing where that is everything or not known.
    pub(crate) fn get_or_add<'r, R: Iterator<Item = &'r Rule>>(
        &self,
        kind: &Text,
        rules: impl FnOnce() -> R,
    ) -> Option<Arc<FieldSet>> {
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(fields) = known.get(kind) {
                return fields.clone();
            }
            if known.len() >= MAX_KINDS {
                return None;
            }
        }
        let fields = read_by(rules()).map(Arc::new);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(kind.clone(), fields.clone());
        fields
    }
}

fn read_by<'r>(rules: impl Iterator<Item = &'r Rule>) -> Option<FieldSet> {
    let mut fields = FieldSet::default();
    let mut count = 0;
    for rule in rules {
        count += 1;
        // What a rule changes is sent back as the difference of two whole objects.
        if rule.action != RuleAction::Validate || count > MAX_RULES {
            return None;
        }
        rule.program.add_read_fields(&mut fields);
        if fields.is_all() {
            return None;
        }
    }
    IDENTIFYING_FIELDS.iter().for_each(|path| fields.add(path));
    (count > 0).then_some(fields)
}
