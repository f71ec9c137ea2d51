//! Merging of objects and scalars.
//!
//! The value that is merged into is taken out of its place and put back, so that it has one owner and is edited where
//! it is. After an error it is incomplete; the caller keeps the original.

use kubewright_value::{Budget, Map, Step, Text, Value, ValueKind};

use super::{
    MergeSchema, ObjectPatch, PatchDirective, SchemaMerge, StrategicError, StrategicErrorKind, StrategicPatch,
};
use crate::charge::charge_at_depth;

/// A merge of patches into objects.
pub struct StrategicMerge<'m, S: MergeSchema> {
    pub(super) schema: &'m S,
    pub(super) budget: &'m mut Budget,
    observer: Option<&'m mut dyn FnMut(MergeStep<'_>)>,
    // The paths to the current place; kept only for an observer and for errors.
    pub(super) at: Vec<Step>,
    from: Vec<Step>,
    pub(super) is_changed: bool,
    // Whether the current place is in an element that the list had before.
    is_in_element: bool,
}

/// One change of an object.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MergeStep<'s> {
    /// The path in the object.
    pub at: &'s [Step],
    /// The path in the patch.
    pub from: &'s [Step],
    /// What was done.
    pub effect: MergeEffect,
    /// The value before; nothing where there was none.
    pub before: Option<&'s Value>,
    /// The value after; nothing where it was removed.
    pub after: Option<&'s Value>,
}

/// What a step of a merge did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeEffect {
    /// A value was set.
    Set,
    /// A value was removed.
    Removed,
    /// An element was added in front of a list.
    Inserted,
    /// A list was replaced as a whole.
    Replaced,
}

/// A part of a patch.
#[derive(Clone, Copy)]
pub(super) enum PatchPart<'p> {
    Tree(&'p StrategicPatch),
    Plain(&'p Value),
}

/// What a part of a patch is.
enum PartKind {
    Null,
    Scalar,
    Object,
    List,
}

impl<'p> PatchPart<'p> {
    /// Returns the same part in its simplest form.
    fn simple(self) -> Self {
        match self {
            Self::Tree(StrategicPatch::Plain(value)) => Self::Plain(value),
            other => other,
        }
    }

    fn kind(self) -> PartKind {
        match self.simple() {
            Self::Tree(StrategicPatch::Object(_)) | Self::Plain(Value::Object(_)) => PartKind::Object,
            Self::Tree(StrategicPatch::List(_)) | Self::Plain(Value::Array(_)) => PartKind::List,
            Self::Plain(Value::Null) => PartKind::Null,
            Self::Plain(_) | Self::Tree(StrategicPatch::Plain(_)) => PartKind::Scalar,
        }
    }

    /// Returns the patch of an object with a directive or with parts that are not plain.
    pub(super) fn object(self) -> Option<&'p ObjectPatch> {
        match self {
            Self::Tree(StrategicPatch::Object(object)) => Some(object),
            _ => None,
        }
    }

    fn is_empty_object(self) -> bool {
        match self.simple() {
            Self::Tree(StrategicPatch::Object(object)) => {
                object.entries.is_empty() && object.directive.is_none()
            }
            Self::Plain(value) => value.as_object().is_some_and(Map::is_empty),
            Self::Tree(_) => false,
        }
    }

    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Tree(patch) => patch.to_value(),
            Self::Plain(value) => value.clone(),
        }
    }

    /// Returns the plain value under `key`.
    pub(super) fn plain_field(self, key: &str) -> Option<&'p Value> {
        match self.simple() {
            Self::Plain(value) => value.get(key),
            Self::Tree(StrategicPatch::Object(object)) => {
                let entry = object.entries.iter().find(|entry| entry.key == key)?;
                match &entry.patch {
                    StrategicPatch::Plain(value) => Some(value),
                    _ => None,
                }
            }
            Self::Tree(_) => None,
        }
    }
}

impl<'m, S: MergeSchema> StrategicMerge<'m, S> {
    /// Returns a merge that knows the lists of `schema`.
    pub fn new(schema: &'m S, budget: &'m mut Budget) -> Self {
        Self {
            schema,
            budget,
            observer: None,
            at: Vec::new(),
            from: Vec::new(),
            is_changed: false,
            is_in_element: false,
        }
    }

    /// Returns the same merge, which calls `observer` with every change.
    #[must_use]
    pub fn observed(self, observer: &'m mut dyn FnMut(MergeStep<'_>)) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Merges `patch` into `object` and returns whether that changed it.
    ///
    /// # Errors
    /// When the patch does not fit the object; `object` is then incomplete.
    pub fn merge(mut self, object: &mut Value, patch: &StrategicPatch) -> Result<bool, StrategicError> {
        let part = PatchPart::Tree(patch);
        if part.object().is_some_and(|object| object.directive == Some(PatchDirective::Delete)) {
            return Err(self.error(StrategicErrorKind::DeletesRoot));
        }
        let merged = self.part(Some(std::mem::take(object)), part, SchemaMerge::Replace)?;
        *object = merged.unwrap_or_default();
        Ok(self.is_changed)
    }

    /// Merges `part` into `current` and returns what is there then; nothing for a value that is removed or not made.
    pub(super) fn part(
        &mut self,
        current: Option<Value>,
        part: PatchPart<'_>,
        merge: SchemaMerge<S::Type>,
    ) -> Result<Option<Value>, StrategicError> {
        self.limited(|merge| merge.budget.step(1))?;
        if current.is_none()
            && let PatchPart::Plain(value) = part.simple()
            && !has_null(value)
        {
            return self.set(None, value.clone(), MergeEffect::Set).map(Some);
        }
        self.limited(|merge| merge.budget.enter())?;
        let merged = match part.kind() {
            PartKind::Null => {
                self.removed(current.as_ref());
                Ok(None)
            }
            PartKind::Scalar => self.scalar(current, part).map(Some),
            PartKind::Object => self.object(current, part, merge),
            PartKind::List => self.list(current, part, merge).map(Some),
        };
        self.budget.leave();
        merged
    }

    fn scalar(&mut self, current: Option<Value>, part: PatchPart<'_>) -> Result<Value, StrategicError> {
        let value = part.to_value();
        let value = match &current {
            Some(found @ (Value::Object(_) | Value::Array(_))) => {
                return Err(self.wrong_type(part, found.kind()));
            }
            // What is a text stays one.
            Some(Value::String(_)) if value.as_str().is_none() => Value::String(scalar_text(&value)),
            _ => value,
        };
        match current {
            Some(same) if same == value && same.kind() == value.kind() => Ok(same),
            other => self.set(other.as_ref(), value, MergeEffect::Set),
        }
    }

    fn object(
        &mut self,
        current: Option<Value>,
        part: PatchPart<'_>,
        merge: SchemaMerge<S::Type>,
    ) -> Result<Option<Value>, StrategicError> {
        let part = part.simple();
        let directive = part.object().and_then(|object| object.directive.as_ref());
        let current = match directive {
            None | Some(PatchDirective::Merge) => current,
            Some(PatchDirective::Delete) => {
                self.removed(current.as_ref());
                return Ok(None);
            }
            Some(PatchDirective::Replace) => return self.replaced(current, part, merge),
            Some(PatchDirective::Unknown(word)) => {
                return Err(self.error(StrategicErrorKind::UnknownDirective(word.clone())));
            }
        };
        let is_made = !matches!(current, Some(Value::Object(_)));
        let is_empty = part.is_empty_object();
        let value = match current {
            Some(object @ Value::Object(_)) => object,
            None | Some(Value::Null) => Value::object(Map::new()),
            Some(other) if is_empty => return Ok(Some(other)),
            Some(other) => return Err(self.wrong_type(part, other.kind())),
        };
        let merged = self.entries(value, part, merge)?;
        if is_made {
            self.is_changed = true;
            // What is in it has been told.
            if merged.as_object().is_some_and(Map::is_empty) {
                self.observe(MergeEffect::Set, None, Some(&merged));
            }
        }
        Ok(Some(merged))
    }

    /// Makes the object of the patch alone, in place of what is there.
    fn replaced(
        &mut self,
        current: Option<Value>,
        part: PatchPart<'_>,
        merge: SchemaMerge<S::Type>,
    ) -> Result<Option<Value>, StrategicError> {
        let made = self.quietly(|all| all.entries(Value::object(Map::new()), part, merge))?;
        match current {
            Some(same) if same == made => Ok(Some(same)),
            other => self.set(other.as_ref(), made, MergeEffect::Replaced).map(Some),
        }
    }

    /// Merges the entries of an object.
    fn entries(
        &mut self,
        mut value: Value,
        part: PatchPart<'_>,
        merge: SchemaMerge<S::Type>,
    ) -> Result<Value, StrategicError> {
        let known = self.kind_of(&value, part).or(match merge {
            SchemaMerge::Object(known) => Some(known),
            _ => None,
        });
        match part {
            PatchPart::Plain(Value::Object(map)) => {
                for (key, item) in map.iter() {
                    self.entry(&mut value, (key, key), PatchPart::Plain(item), known)?;
                }
            }
            PatchPart::Tree(StrategicPatch::Object(object)) => {
                for entry in &object.entries {
                    let part = PatchPart::Tree(&entry.patch);
                    self.entry(&mut value, (&entry.key, &entry.written), part, known)?;
                }
            }
            _ => {}
        }
        Ok(value)
    }

    fn entry(
        &mut self,
        value: &mut Value,
        (key, written): (&Text, &Text),
        part: PatchPart<'_>,
        known: Option<S::Type>,
    ) -> Result<(), StrategicError> {
        let Some(map) = value.as_object_mut() else { return Ok(()) };
        let current = map.get_mut(key).map(std::mem::take);
        let had = current.is_some();
        if !had && self.is_in_element && part.is_empty_object() {
            return Ok(());
        }
        let merge = known.map_or(SchemaMerge::Replace, |known| self.schema.field(known, key));
        let depth = self.from.len();
        self.at.push(Step::Key(key.clone()));
        if self.observer.is_some() {
            self.from.push(Step::Key(written.clone()));
        }
        let merged = self.part(current, part, merge)?;
        self.at.pop();
        self.from.truncate(depth);
        match (merged, map.get_mut(key)) {
            (Some(merged), Some(slot)) => *slot = merged,
            (Some(merged), None) => drop(map.insert(key.clone(), merged)),
            (None, _) if had => drop(map.remove(key)),
            (None, _) => {}
        }
        Ok(())
    }

    /// Returns the type of an object that says what it is; where the object does not, the patch may.
    fn kind_of(&self, value: &Value, part: PatchPart<'_>) -> Option<S::Type> {
        let text = |key: &str| {
            let own = value.get(key).and_then(Value::as_str);
            own.or_else(|| part.plain_field(key).and_then(Value::as_str))
        };
        let kind = text("kind")?;
        self.schema.of_kind(text("apiVersion")?, kind)
    }

    /// Notes that `value` is set, and returns it.
    pub(super) fn set(
        &mut self,
        before: Option<&Value>,
        value: Value,
        effect: MergeEffect,
    ) -> Result<Value, StrategicError> {
        let depth = self.at.len();
        self.limited(|merge| charge_at_depth(depth, &value, merge.budget))?;
        self.is_changed = true;
        self.observe(effect, before, Some(&value));
        Ok(value)
    }

    fn removed(&mut self, current: Option<&Value>) {
        if current.is_some() {
            self.is_changed = true;
            self.observe(MergeEffect::Removed, current, None);
        }
    }

    fn observe(&mut self, effect: MergeEffect, before: Option<&Value>, after: Option<&Value>) {
        if let Some(observer) = &mut self.observer {
            observer(MergeStep { at: &self.at, from: &self.from, effect, before, after });
        }
    }

    /// Merges `part` into an element that the list has.
    pub(super) fn existing(
        &mut self,
        current: Option<Value>,
        part: PatchPart<'_>,
        merge: SchemaMerge<S::Type>,
    ) -> Result<Option<Value>, StrategicError> {
        let was_in_element = std::mem::replace(&mut self.is_in_element, true);
        let merged = self.part(current, part, merge);
        self.is_in_element = was_in_element;
        merged
    }

    /// Makes a value of its own, which is not a change yet.
    pub(super) fn quietly<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StrategicError>,
    ) -> Result<T, StrategicError> {
        let was_changed = self.is_changed;
        let was_in_element = std::mem::replace(&mut self.is_in_element, false);
        let observer = self.observer.take();
        let made = work(self);
        self.observer = observer;
        self.is_changed = was_changed;
        self.is_in_element = was_in_element;
        made
    }

    /// Calls `work` with the place of an element.
    pub(super) fn element<T>(
        &mut self,
        (index, written): (usize, usize),
        work: impl FnOnce(&mut Self) -> Result<T, StrategicError>,
    ) -> Result<T, StrategicError> {
        let depth = self.from.len();
        self.at.push(Step::Index(index));
        if self.observer.is_some() {
            self.from.push(Step::Index(written));
        }
        let done = work(self)?;
        self.at.pop();
        self.from.truncate(depth);
        Ok(done)
    }

    pub(super) fn wrong_type(&self, part: PatchPart<'_>, found: ValueKind) -> StrategicError {
        self.error(StrategicErrorKind::WrongType { patch: part.to_value(), found })
    }

    pub(super) fn error(&self, kind: StrategicErrorKind) -> StrategicError {
        StrategicError { kind, path: self.at.clone() }
    }

    pub(super) fn limited<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, kubewright_value::Exhausted>,
    ) -> Result<T, StrategicError> {
        work(self).map_err(|exhausted| self.error(exhausted.into()))
    }
}

/// Returns a scalar as text.
pub(super) fn scalar_text(value: &Value) -> Text {
    match value {
        Value::String(text) => text.clone(),
        other => kubewright_value::json::to_string(other).into(),
    }
}

/// Returns whether a null is in an object of `value`, which is nothing in what a patch makes.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}
