//! The merge of two values of one type.

use std::collections::{HashMap, HashSet, VecDeque};

use kubewright_value::{Budget, Exhausted, Map, Value};

use super::key::item_key;
use super::{ListRelation, MergeShape, MergeType};

/// Merges patches into objects; both have their type.
pub(super) struct Combiner<'b> {
    pub(super) budget: &'b mut Budget,
}

impl Combiner<'_> {
    pub(super) fn merged<T: MergeType>(
        &mut self,
        live: &Value,
        patch: &Value,
        kind: &T,
    ) -> Result<Value, Exhausted> {
        self.budget.step(1)?;
        self.budget.enter()?;
        let merged = self.merged_shape(live, patch, kind);
        self.budget.leave();
        merged
    }

    fn merged_shape<T: MergeType>(
        &mut self,
        live: &Value,
        patch: &Value,
        kind: &T,
    ) -> Result<Value, Exhausted> {
        match (live, patch, kind.shape()) {
            (
                Value::Object(old),
                Value::Object(new),
                MergeShape::Anything
                | MergeShape::Map { is_atomic: false, .. }
                | MergeShape::Structure { is_atomic: false },
            ) => self.merged_maps(old, new, kind),
            (Value::Array(old), Value::Array(new), MergeShape::List { item, relation })
                if relation != ListRelation::Atomic =>
            {
                self.merged_lists(old, new, &item, &relation)
            }
            // Without anything in the patch the object stays as it is.
            (
                Value::Object(_) | Value::Array(_),
                Value::Null,
                MergeShape::List { .. } | MergeShape::Map { .. } | MergeShape::Structure { .. },
            ) => Ok(live.clone()),
            _ => Ok(patch.clone()),
        }
    }

    fn merged_maps<T: MergeType>(&mut self, old: &Map, new: &Map, kind: &T) -> Result<Value, Exhausted> {
        self.budget.step(old.len() as u64)?;
        let mut merged = old.clone();
        for (key, value) in new.iter() {
            let field = match kind.shape() {
                MergeShape::Map { value, .. } => Some(value),
                MergeShape::Structure { .. } => kind.field(key),
                _ => Some(kind.clone()),
            };
            let value = match (old.get(key), field) {
                (Some(live), Some(field)) => self.merged(live, value, &field)?,
                _ => value.clone(),
            };
            merged.insert(key.clone(), value);
        }
        Ok(merged.into())
    }

    /// Merges lists whose items have keys, in an order that keeps that of the patch for items of both.
    fn merged_lists<T: MergeType>(
        &mut self,
        live: &[Value],
        patch: &[Value],
        kind: &T,
        relation: &ListRelation,
    ) -> Result<Value, Exhausted> {
        self.budget.step((live.len() + patch.len()) as u64)?;
        let old = KeyedItems::of(live, relation);
        let new = KeyedItems::of(patch, relation);
        let mut order = ItemOrder::new(&old, &new);
        let mut merged = Vec::with_capacity(live.len().max(patch.len()));
        while let Some(next) = order.next(&old, &new) {
            self.budget.step(1)?;
            merged.push(match next {
                NextItem::Live(item) => item.clone(),
                NextItem::Patch(item, None) => item.clone(),
                NextItem::Patch(item, Some(twin)) => self.merged(twin, item, kind)?,
            });
        }
        Ok(Value::array(merged))
    }
}

/// The items of a list by their keys; of several with one key the first counts.
struct KeyedItems<'v> {
    items: Vec<(String, &'v Value)>,
    first: HashMap<String, usize>,
}

impl<'v> KeyedItems<'v> {
    fn of(items: &'v [Value], relation: &ListRelation) -> Self {
        let key = |item: &Value| item_key(item, relation).unwrap_or_default();
        let items: Vec<(String, &Value)> = items.iter().map(|item| (key(item), item)).collect();
        let mut first = HashMap::with_capacity(items.len());
        for (place, (key, _)) in items.iter().enumerate() {
            first.entry(key.clone()).or_insert(place);
        }
        Self { items, first }
    }

    fn get(&self, key: &str) -> Option<&'v Value> {
        self.items.get(*self.first.get(key)?).map(|(_, item)| *item)
    }

    fn has(&self, key: &str) -> bool {
        self.first.contains_key(key)
    }
}

enum NextItem<'v> {
    /// Of the object alone.
    Live(&'v Value),
    /// Of the patch, and its twin in the object.
    Patch(&'v Value, Option<&'v Value>),
}

/// One cursor in each list.
struct ItemOrder {
    live: usize,
    patch: usize,
    /// The keys that both have, in the order of the patch, without those that are placed.
    shared: VecDeque<String>,
    placed: HashSet<String>,
}

impl ItemOrder {
    fn new(old: &KeyedItems<'_>, new: &KeyedItems<'_>) -> Self {
        let keys = new.items.iter().map(|(key, _)| key);
        let shared = keys.filter(|key| old.has(key)).cloned().collect();
        Self { live: 0, patch: 0, shared, placed: HashSet::new() }
    }

    /// Returns the next item. The steps and their order are those of the API server.
    fn next<'v>(&mut self, old: &KeyedItems<'v>, new: &KeyedItems<'v>) -> Option<NextItem<'v>> {
        loop {
            let patch = new.items.get(self.patch);
            let Some((key, item)) = old.items.get(self.live) else { break };
            if let Some((other, _)) = patch {
                if other == key {
                    self.live += 1;
                    break;
                }
                let is_later = self.shared.front().is_some_and(|next| next != key);
                if new.has(key) && is_later {
                    self.live += 1;
                    continue;
                }
            }
            if !new.has(key) {
                self.live += 1;
                return Some(NextItem::Live(item));
            }
            if self.placed.contains(key) {
                self.live += 1;
            }
            if patch.is_some() {
                break;
            }
        }
        let (key, item) = new.items.get(self.patch)?;
        self.patch += 1;
        if self.shared.front() == Some(key) {
            self.shared.pop_front();
        }
        self.placed.insert(key.clone());
        Some(NextItem::Patch(item, old.get(key)))
    }
}
