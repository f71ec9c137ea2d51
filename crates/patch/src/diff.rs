//! The patch that leads from one value to another.
//!
//! Parts that both values share are skipped without a look inside. Lists are aligned
//! by the cheapest script of additions, removals and changes in place, where a change
//! in place costs as many units as parts differ; lists too long for that are compared
//! place by place. Where a value differs in very many parts it is replaced as a whole.

use kubewright_value::{Map, Text, Value, index_text};

use super::{JsonPatchOperation, Pointer};

/// The number of pairs of items that are compared to align two lists.
const MAX_ALIGNED_PAIRS: usize = 4096;

/// Below how many levels a change is one replacement.
const MAX_DIFF_DEPTH: usize = 200;

/// The maximum number of operations that change a value before it is replaced as a whole: a patch of a hundred thousand operations
/// takes many times the memory of the object, and is larger than it.
const MAX_OPERATIONS: usize = 2000;

/// Returns a short patch that makes `after` of `before` under the standard's rules.
#[must_use]
pub fn diff_values(before: &Value, after: &Value) -> Vec<JsonPatchOperation> {
    let mut operations = Vec::new();
    diff_parts(before, after, None, &mut operations);
    operations
}

/// The way from the root to the values that are being compared.
struct DiffTrail<'a> {
    parent: Option<&'a DiffTrail<'a>>,
    step: DiffStep<'a>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum DiffStep<'a> {
    Key(&'a Text),
    Index(usize),
}

impl<'a> DiffTrail<'a> {
    fn below(parent: Option<&'a DiffTrail<'a>>, step: DiffStep<'a>) -> Self {
        Self { parent, step, depth: 1 + parent.map_or(0, |trail| trail.depth) }
    }

    fn pointer(trail: Option<&Self>) -> Pointer {
        let mut tokens = Vec::with_capacity(trail.map_or(0, |trail| trail.depth));
        let mut here = trail;
        while let Some(trail) = here {
            tokens.push(match trail.step {
                DiffStep::Key(key) => key.clone(),
                DiffStep::Index(index) => index_text(index),
            });
            here = trail.parent;
        }
        tokens.reverse();
        Pointer::from_tokens(tokens)
    }
}

fn diff_parts(
    before: &Value,
    after: &Value,
    trail: Option<&DiffTrail<'_>>,
    operations: &mut Vec<JsonPatchOperation>,
) {
    if before.is_same(after) {
        return;
    }
    let is_deep = trail.is_some_and(|trail| trail.depth >= MAX_DIFF_DEPTH);
    let first = operations.len();
    match (before, after) {
        (Value::Object(old), Value::Object(new)) if !is_deep => compare_objects(old, new, trail, operations),
        (Value::Array(old), Value::Array(new)) if !is_deep => compare_lists(old, new, trail, operations),
        _ if before == after => {}
        _ => operations
            .push(JsonPatchOperation::Replace { path: DiffTrail::pointer(trail), value: after.clone() }),
    }
    if is_long(trail, operations, first) {
        operations.truncate(first);
        operations
            .push(JsonPatchOperation::Replace { path: DiffTrail::pointer(trail), value: after.clone() });
    }
}

/// Returns whether the value at `trail`, whose operations begin at `first`, should be replaced as a whole. The root
/// never is: it is the object itself.
fn is_long(trail: Option<&DiffTrail<'_>>, operations: &[JsonPatchOperation], first: usize) -> bool {
    trail.is_some() && operations.len() - first > MAX_OPERATIONS
}

fn compare_objects(
    old: &Map,
    new: &Map,
    trail: Option<&DiffTrail<'_>>,
    operations: &mut Vec<JsonPatchOperation>,
) {
    let first = operations.len();
    let mut kept = 0;
    for (place, (key, value)) in old.iter().enumerate() {
        if is_long(trail, operations, first) {
            return;
        }
        match counterpart(new, place, key) {
            Some(other) => {
                kept += 1;
                diff_parts(value, other, Some(&DiffTrail::below(trail, DiffStep::Key(key))), operations);
            }
            None => {
                let path = DiffTrail::pointer(Some(&DiffTrail::below(trail, DiffStep::Key(key))));
                operations.push(JsonPatchOperation::Remove { path });
            }
        }
    }
    if kept == new.len() {
        return;
    }
    for (place, (key, value)) in new.iter().enumerate() {
        if counterpart(old, place, key).is_none() {
            let path = DiffTrail::pointer(Some(&DiffTrail::below(trail, DiffStep::Key(key))));
            operations.push(JsonPatchOperation::Add { path, value: value.clone() });
        }
    }
}

/// Returns the value under `key`, which is mostly at the same place in both maps.
fn counterpart<'a>(map: &'a Map, place: usize, key: &Text) -> Option<&'a Value> {
    match map.entry(place) {
        Some((same, value)) if same == key => Some(value),
        _ => map.get(key),
    }
}

fn compare_lists(
    old: &[Value],
    new: &[Value],
    trail: Option<&DiffTrail<'_>>,
    operations: &mut Vec<JsonPatchOperation>,
) {
    let start = common_prefix_length(old.iter(), new.iter());
    let (old, new) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = common_prefix_length(old.iter().rev(), new.iter().rev());
    let old = old.get(..old.len() - end).unwrap_or_default();
    let new = new.get(..new.len() - end).unwrap_or_default();
    let first = operations.len();
    let mut place = start;
    let mut edits = edit_script(old, new).into_iter().peekable();
    while let Some(edit) = edits.next() {
        if is_long(trail, operations, first) {
            return;
        }
        let here = DiffTrail::below(trail, DiffStep::Index(place));
        match edit {
            ListEdit::Change(before, after) => diff_parts(before, after, Some(&here), operations),
            ListEdit::Add(value) => {
                operations.push(JsonPatchOperation::Add {
                    path: DiffTrail::pointer(Some(&here)),
                    value: value.clone(),
                });
            }
            ListEdit::Remove => {
                let mut end = place + 1;
                while edits.next_if(|edit| matches!(edit, ListEdit::Remove)).is_some() {
                    end += 1;
                }
                // From the last to the first, so that none has to move those that go next.
                operations.extend((place..end).rev().map(|index| {
                    let here = DiffTrail::below(trail, DiffStep::Index(index));
                    JsonPatchOperation::Remove { path: DiffTrail::pointer(Some(&here)) }
                }));
                continue;
            }
        }
        place += 1;
    }
}

fn common_prefix_length<'a>(
    old: impl Iterator<Item = &'a Value>,
    new: impl Iterator<Item = &'a Value>,
) -> usize {
    old.zip(new).take_while(|(before, after)| before.is_same(after) || before == after).count()
}

/// An edit of the next item of a list.
#[derive(Clone, Copy)]
enum ListEdit<'a> {
    Change(&'a Value, &'a Value),
    Add(&'a Value),
    Remove,
}

/// Returns the edits that make `new` of `old`, in order.
fn edit_script<'a>(old: &'a [Value], new: &'a [Value]) -> Vec<ListEdit<'a>> {
    let pairs = old.len().saturating_mul(new.len());
    // Nothing to choose between, or too much.
    if pairs == 0 || pairs > MAX_ALIGNED_PAIRS || (old.len() == new.len() && !has_moved(old, new)) {
        return place_by_place(old, new);
    }
    Alignment::new(old, new).script()
}

/// Returns whether an item of `old` is at another place in `new`.
fn has_moved(old: &[Value], new: &[Value]) -> bool {
    let elsewhere = |i: usize, item: &Value| new.iter().enumerate().any(|(j, other)| i != j && item == other);
    old.iter().enumerate().any(|(i, item)| elsewhere(i, item))
}

fn place_by_place<'a>(old: &'a [Value], new: &'a [Value]) -> Vec<ListEdit<'a>> {
    let changes = old.iter().zip(new).map(|(before, after)| ListEdit::Change(before, after));
    let additions = new.iter().skip(old.len()).map(ListEdit::Add);
    let removals = std::iter::repeat_n(ListEdit::Remove, old.len().saturating_sub(new.len()));
    changes.chain(additions).chain(removals).collect()
}

/// The cost of making each tail of one list of each tail of the other.
struct Alignment<'a> {
    old: &'a [Value],
    new: &'a [Value],
    // INVARIANT: `(old.len() + 1) * (new.len() + 1)` entries, by the starts of the tails.
    costs: Vec<u32>,
    changes: Vec<u32>,
}

impl<'a> Alignment<'a> {
    fn new(old: &'a [Value], new: &'a [Value]) -> Self {
        let changes = old.iter().flat_map(|before| new.iter().map(move |after| change_cost(before, after)));
        let changes = if old.is_empty() || new.is_empty() { Vec::new() } else { changes.collect() };
        let costs = vec![0; (old.len() + 1) * (new.len() + 1)];
        let mut alignment = Self { old, new, costs, changes };
        for i in (0..=old.len()).rev() {
            for j in (0..=new.len()).rev() {
                let cost = alignment.best(i, j).map_or(0, |(cost, _)| cost);
                if let Some(slot) = alignment.costs.get_mut(i * (new.len() + 1) + j) {
                    *slot = cost;
                }
            }
        }
        alignment
    }

    fn script(&self) -> Vec<ListEdit<'a>> {
        let (mut i, mut j) = (0, 0);
        let mut edits = Vec::new();
        while let Some((_, edit)) = self.best(i, j) {
            i += usize::from(!matches!(edit, ListEdit::Add(_)));
            j += usize::from(!matches!(edit, ListEdit::Remove));
            edits.push(edit);
        }
        edits
    }

    /// Returns the cheapest first edit of the tails from `i` and `j`, with the cost of all; none at the end.
    fn best(&self, i: usize, j: usize) -> Option<(u32, ListEdit<'a>)> {
        let (before, after) = (self.old.get(i), self.new.get(j));
        let change = before.zip(after).map(|(before, after)| {
            let cost = self.changes.get(i * self.new.len() + j).copied().unwrap_or(0);
            (cost.saturating_add(self.cost(i + 1, j + 1)), ListEdit::Change(before, after))
        });
        let remove = before.map(|_| (REMOVAL.saturating_add(self.cost(i + 1, j)), ListEdit::Remove));
        let add =
            after.map(|item| (addition_cost(item).saturating_add(self.cost(i, j + 1)), ListEdit::Add(item)));
        [change, remove, add].into_iter().flatten().min_by_key(|(cost, _)| *cost)
    }

    fn cost(&self, i: usize, j: usize) -> u32 {
        self.costs.get(i * (self.new.len() + 1) + j).copied().unwrap_or(0)
    }
}

const REMOVAL: u32 = 1;

fn addition_cost(item: &Value) -> u32 {
    u32::try_from(item.as_object().map_or(1, Map::len)).unwrap_or(u32::MAX).saturating_add(1)
}

/// Returns roughly how many operations make `after` of `before`.
fn change_cost(before: &Value, after: &Value) -> u32 {
    let replacement = addition_cost(after);
    if before.is_same(after) || before == after {
        return 0;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else { return replacement };
    let same = new.iter().filter(|(key, value)| old.get(key) == Some(value)).count();
    let differing = old.len().max(new.len()) - same;
    // An item that shares nothing is another one, which is added and not changed.
    if same == 0 { replacement + REMOVAL } else { u32::try_from(differing).unwrap_or(u32::MAX) }
}
