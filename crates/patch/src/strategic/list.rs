//! Merging of lists.

use kubewright_value::Value;

use super::merge::{MergeEffect, PatchPart, StrategicMerge, scalar_text};
use super::{
    ElementKey, ElementPatch, ListKeys, MergeSchema, PatchDirective, SchemaMerge, StrategicError,
    StrategicErrorKind, StrategicPatch,
};

/// An element of a patch with its index there.
type WrittenElement<'p> = (usize, PatchPart<'p>);

impl<S: MergeSchema> StrategicMerge<'_, S> {
    /// Merges the list `part` into `current`.
    pub(super) fn list(
        &mut self,
        current: Option<Value>,
        part: PatchPart<'_>,
        merge: SchemaMerge<S::Type>,
    ) -> Result<Value, StrategicError> {
        let (in_place, elements) = list_parts(part);
        let mut list = match current {
            Some(list @ Value::Array(_)) => Some(list),
            None | Some(Value::Null) => None,
            Some(other) => return Err(self.wrong_type(part, other.kind())),
        };
        let of_element = match merge {
            SchemaMerge::Keyed(_, Some(known)) => SchemaMerge::Object(known),
            _ => SchemaMerge::Replace,
        };
        if let Some(list) = &mut list {
            self.in_place(list, in_place, of_element)?;
        }
        let is_replacement = |element: &WrittenElement<'_>| is_only_replacement(element.1);
        let is_replaced = elements.iter().any(is_replacement);
        let elements: Vec<WrittenElement<'_>> =
            elements.into_iter().filter(|element| !is_replacement(element)).collect();
        match (list, merge) {
            (Some(list), SchemaMerge::Keyed(keys, _)) if !is_replaced => {
                self.keyed(list, &elements, keys, of_element)
            }
            (Some(list), SchemaMerge::Set) if !is_replaced => self.united(list, &elements),
            (Some(list), _) if !in_place.is_empty() => self.in_front(list, &elements),
            (list, _) => self.replacement(list, &elements, of_element),
        }
    }

    /// Merges patches into the elements at their indices.
    fn in_place(
        &mut self,
        list: &mut Value,
        patches: &[ElementPatch],
        of_element: SchemaMerge<S::Type>,
    ) -> Result<(), StrategicError> {
        let Some(items) = list.as_array_mut().filter(|_| !patches.is_empty()) else { return Ok(()) };
        let mut removed = Vec::new();
        for ElementPatch { index, written, patch } in patches {
            let Some(slot) = items.get_mut(*index).filter(|_| !removed.contains(index)) else { continue };
            let current = Some(std::mem::take(slot));
            let part = PatchPart::Tree(patch);
            match self.element((*index, *written), |merge| merge.existing(current, part, of_element))? {
                Some(merged) => *slot = merged,
                None => removed.push(*index),
            }
        }
        removed.sort_unstable();
        for index in removed.into_iter().rev() {
            items.remove(index);
        }
        Ok(())
    }

    /// Merges elements into those with the same keys; new ones come first.
    fn keyed(
        &mut self,
        mut list: Value,
        elements: &[WrittenElement<'_>],
        keys: ListKeys,
        of_element: SchemaMerge<S::Type>,
    ) -> Result<Value, StrategicError> {
        let mut front = Vec::new();
        for (written, part) in elements {
            let found = self.limited_position(&list, *part, keys)?;
            let place = (found.unwrap_or(front.len()), *written);
            match found {
                Some(index) => {
                    let items = list.as_array_mut().filter(|items| index < items.len());
                    let Some(items) = items else { continue };
                    let current = items.get_mut(index).map(std::mem::take);
                    match self.element(place, |merge| merge.existing(current, *part, of_element))? {
                        Some(merged) => put(items, index, merged),
                        None => drop(items.remove(index)),
                    }
                }
                None if is_deletion(*part) => {}
                None => {
                    let made = self.element(place, |merge| merge.made(*part, of_element))?;
                    front.extend(made);
                }
            }
        }
        if front.is_empty() {
            return Ok(list);
        }
        if let Some(items) = list.as_array_mut() {
            self.limited(|merge| merge.budget.step(items.len() as u64))?;
            items.splice(0..0, front);
        }
        Ok(list)
    }

    fn limited_position(
        &mut self,
        list: &Value,
        part: PatchPart<'_>,
        keys: ListKeys,
    ) -> Result<Option<usize>, StrategicError> {
        let items = list.as_array().unwrap_or_default();
        self.limited(|merge| merge.budget.step(items.len() as u64))?;
        let no_key = || self.error(StrategicErrorKind::NoKey { key: keys.first.name });
        if part.plain_field(keys.first.name).is_none_or(Value::is_null) {
            return Err(no_key());
        }
        Ok(position_by_keys(items, part, keys))
    }

    /// Returns a new element.
    fn made(
        &mut self,
        part: PatchPart<'_>,
        of_element: SchemaMerge<S::Type>,
    ) -> Result<Option<Value>, StrategicError> {
        let made = self.quietly(|merge| merge.part(None, part, of_element))?;
        made.map(|made| self.set(None, made, MergeEffect::Inserted)).transpose()
    }

    /// Puts the scalars of the patch before those of the list that it does not have.
    fn united(&mut self, list: Value, elements: &[WrittenElement<'_>]) -> Result<Value, StrategicError> {
        let items = list.as_array().unwrap_or_default();
        let steps = (items.len() + 1).saturating_mul(elements.len() + 1);
        self.limited(|merge| merge.budget.step(steps as u64))?;
        let mut made: Vec<Value> = Vec::with_capacity(items.len() + elements.len());
        for value in elements.iter().map(|(_, part)| part.to_value()).chain(items.iter().cloned()) {
            if !made.contains(&value) {
                made.push(value);
            }
        }
        // A patch that adds nothing does not change the order.
        if made.len() == items.len() && elements.iter().all(|(_, part)| items.contains(&part.to_value())) {
            return Ok(list);
        }
        self.set(Some(&list), Value::array(made), MergeEffect::Set)
    }

    /// Puts elements that the list does not have before its own, where the keys of the list are not known.
    fn in_front(
        &mut self,
        mut list: Value,
        elements: &[WrittenElement<'_>],
    ) -> Result<Value, StrategicError> {
        let mut front = Vec::new();
        for (written, part) in elements {
            let known = list.as_array().unwrap_or_default();
            self.limited(|merge| merge.budget.step(known.len() as u64))?;
            if !known.contains(&part.to_value()) {
                let place = (front.len(), *written);
                front.extend(self.element(place, |merge| merge.made(*part, SchemaMerge::Replace))?);
            }
        }
        if let Some(items) = list.as_array_mut().filter(|_| !front.is_empty()) {
            items.splice(0..0, front);
        }
        Ok(list)
    }

    fn replacement(
        &mut self,
        current: Option<Value>,
        elements: &[WrittenElement<'_>],
        of_element: SchemaMerge<S::Type>,
    ) -> Result<Value, StrategicError> {
        let mut made = Vec::with_capacity(elements.len());
        for (_, part) in elements {
            made.extend(match part {
                PatchPart::Plain(value) => Some(Value::clone(value)),
                part => self.quietly(|merge| merge.part(None, *part, of_element))?,
            });
        }
        let made = Value::array(made);
        match current {
            Some(same) if same == made => Ok(same),
            None => self.set(None, made, MergeEffect::Set),
            other => self.set(other.as_ref(), made, MergeEffect::Replaced),
        }
    }
}

/// Puts `merged` to where it came from.
fn put(items: &mut [Value], index: usize, merged: Value) {
    if let Some(slot) = items.get_mut(index) {
        *slot = merged;
    }
}

fn list_parts(part: PatchPart<'_>) -> (&[ElementPatch], Vec<WrittenElement<'_>>) {
    match part {
        PatchPart::Plain(value) | PatchPart::Tree(StrategicPatch::Plain(value)) => {
            let items = value.as_array().unwrap_or_default().iter().enumerate();
            (&[], items.map(|(index, item)| (index, PatchPart::Plain(item))).collect())
        }
        PatchPart::Tree(StrategicPatch::List(list)) => {
            let elements = list.elements.iter().map(|one| (one.written, PatchPart::Tree(&one.patch)));
            (&list.in_place, elements.collect())
        }
        PatchPart::Tree(StrategicPatch::Object(_)) => (&[], Vec::new()),
    }
}

/// Returns whether an element only says that the others replace the list.
fn is_only_replacement(part: PatchPart<'_>) -> bool {
    part.object()
        .is_some_and(|object| object.directive == Some(PatchDirective::Replace) && object.entries.is_empty())
}

fn is_deletion(part: PatchPart<'_>) -> bool {
    part.object().is_some_and(|object| object.directive == Some(PatchDirective::Delete))
}

/// Returns the index of the element with the keys of `part`; of several the last one, which is the one that counts
/// where an object repeats a key.
fn position_by_keys(items: &[Value], part: PatchPart<'_>, keys: ListKeys) -> Option<usize> {
    let first = part.plain_field(keys.first.name)?;
    let is_same = |item: &Value| item.get(keys.first.name).is_some_and(|found| is_same_key(found, first));
    let mut same = items.iter().enumerate().filter(|(_, item)| is_same(item));
    let Some(second) = keys.second else { return same.next_back().map(|(index, _)| index) };
    let same: Vec<(usize, &Value)> = same.collect();
    let wanted = key_text(part.plain_field(second.name), second);
    let exact = same.iter().rev().find(|(_, item)| key_text(item.get(second.name), second) == wanted);
    let lone = || match same.as_slice() {
        // One side does not say it, and there is nothing to mistake it for.
        [(index, item)] if wanted.is_none() || item.get(second.name).is_none() => Some(*index),
        _ => None,
    };
    exact.map(|(index, _)| *index).or_else(lone)
}

fn key_text(value: Option<&Value>, key: ElementKey) -> Option<kubewright_value::Text> {
    match value {
        Some(Value::Null) | None => key.default.map(Into::into),
        Some(value) => Some(scalar_text(value)),
    }
}

/// Keys are compared as texts.
fn is_same_key(one: &Value, other: &Value) -> bool {
    one == other || scalar_text(one) == scalar_text(other)
}
