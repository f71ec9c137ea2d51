//! Following a path through a value.
//!
//! A path without wildcards finds one value or fails. From the first wildcard on, a
//! branch that fails or finds nothing is dropped; only a used-up budget is passed on.

use kubewright_value::{Budget, Step, Text, Value};

use super::ast::{Expr, Key, Origin, Path, PathStep, StepKind};
use super::eval::{self, Scope};
use super::fault::{Fault, FaultKind, What};
use super::item::Item;
use super::{convert, render};

/// A key that a wildcard, filter, range, union or `..` went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// Of an array.
    Index(usize),
    /// Of an object.
    Name(Text),
}

impl From<&Captured> for Value {
    fn from(key: &Captured) -> Self {
        match key {
            Captured::Index(index) => (*index).into(),
            Captured::Name(name) => name.clone().into(),
        }
    }
}

/// A value on the way.
#[derive(Debug, Clone)]
pub(super) enum Place<'a> {
    Ref(&'a Value),
    Own(Value),
}

/// The way so far. Kept only when somebody asks for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Trail {
    is_kept: bool,
    pub(super) keys: Vec<Captured>,
    /// For each step that captures, where its keys start and whether it may have any number.
    pub(super) parts: Vec<(usize, bool)>,
    pub(super) steps: Vec<Step>,
    /// Whether the value was computed, and stands nowhere in the object.
    is_computed: bool,
}

type Visit<'v, 'a> = dyn FnMut(Place<'a>, &Trail) -> Result<(), Fault> + 'v;

/// Evaluates a path.
pub(super) fn path<'a>(budget: &mut Budget, path: &'a Path, scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    if !path.is_list {
        let mut place = origin(path.origin, scope);
        for step in &path.steps {
            place = plain_step(budget, step, place, scope, &mut Trail::default())?;
        }
        return Ok(place.map_or(Item::Undefined, Place::into_item));
    }
    let mut items = Vec::new();
    visit(budget, path, scope, &mut Trail::default(), &mut |place, _| {
        items.push(place.into_item());
        Ok(())
    })?;
    Ok(Item::Many(items))
}

/// Visits every value the path finds, with the way to it.
pub(super) fn visit_with_trail<'a>(
    budget: &mut Budget,
    path: &'a Path,
    scope: Scope<'a>,
    found: &mut Visit<'_, 'a>,
) -> Result<(), Fault> {
    let mut trail = Trail { is_kept: true, ..Trail::default() };
    visit(budget, path, scope, &mut trail, found)
}

fn visit<'a>(
    budget: &mut Budget,
    path: &'a Path,
    scope: Scope<'a>,
    trail: &mut Trail,
    found: &mut Visit<'_, 'a>,
) -> Result<(), Fault> {
    match origin(path.origin, scope) {
        Some(place) => Walk { budget, scope, trail, found }.steps(&path.steps, place),
        None => Ok(()),
    }
}

fn origin<'a>(origin: Origin, scope: Scope<'a>) -> Option<Place<'a>> {
    match origin {
        Origin::Root => Some(Place::Ref(scope.root)),
        Origin::Current => scope.current.map(Place::Ref),
    }
}

struct Walk<'w, 'v, 'a> {
    budget: &'w mut Budget,
    scope: Scope<'a>,
    trail: &'w mut Trail,
    found: &'w mut Visit<'v, 'a>,
}

impl<'a> Walk<'_, '_, 'a> {
    /// Follows `steps` from `place`.
    fn steps(&mut self, steps: &'a [PathStep], place: Place<'a>) -> Result<(), Fault> {
        let before = (self.trail.steps.len(), self.trail.is_computed);
        self.budget.enter()?;
        let result = self.plain_steps(steps, place);
        self.budget.leave();
        self.trail.steps.truncate(before.0);
        self.trail.is_computed = before.1;
        match result {
            Err(fault) if !fault.is_limit() => Ok(()),
            result => result,
        }
    }

    fn plain_steps(&mut self, steps: &'a [PathStep], place: Place<'a>) -> Result<(), Fault> {
        let mut place = Some(place);
        let mut steps = steps.iter();
        loop {
            match steps.next() {
                None => {
                    return match place {
                        Some(place) => (self.found)(place, self.trail),
                        None => Ok(()),
                    };
                }
                Some(step) if step.is_ambiguous() => {
                    return match place {
                        Some(place) => self.ambiguous_step(step, steps.as_slice(), place),
                        None => Ok(()),
                    };
                }
                Some(step) => place = plain_step(self.budget, step, place, self.scope, self.trail)?,
            }
        }
    }

    fn ambiguous_step(
        &mut self,
        step: &'a PathStep,
        rest: &'a [PathStep],
        place: Place<'a>,
    ) -> Result<(), Fault> {
        let part = (self.trail.keys.len(), matches!(step.kind, StepKind::Descend));
        self.trail.parts.push(part);
        let result = match &step.kind {
            StepKind::Descend => self.descend(rest, place),
            StepKind::Filter(filter) => self.children(rest, &place, Some(filter)),
            StepKind::Union(keys) => self.union(step.at, keys, rest, &place),
            StepKind::Range(bounds) => self.range(bounds, rest, &place),
            _ => self.children(rest, &place, None),
        };
        self.trail.parts.pop();
        result
    }

    /// Visits every child that passes the filter, in order.
    fn children(
        &mut self,
        rest: &'a [PathStep],
        place: &Place<'a>,
        filter: Option<&'a Expr>,
    ) -> Result<(), Fault> {
        for position in 0..place.len() {
            let Some((key, child)) = place.child(position) else { break };
            self.budget.step(1)?;
            let passes = match filter {
                Some(filter) => passes(self.budget, filter, child.value(), self.scope)?,
                None => true,
            };
            if passes {
                self.captured(key, |walk| walk.steps(rest, child))?;
            }
        }
        Ok(())
    }

    /// Visits the value itself, then everything in it, depth first.
    fn descend(&mut self, rest: &'a [PathStep], place: Place<'a>) -> Result<(), Fault> {
        self.budget.step(1)?;
        self.steps(rest, place.clone())?;
        self.budget.enter()?;
        let mut children = (0..place.len()).map_while(|position| place.child(position));
        let result =
            children.try_for_each(|(key, child)| self.captured(key, |walk| walk.descend(rest, child)));
        self.budget.leave();
        result
    }

    fn union(
        &mut self,
        at: u32,
        keys: &'a [Expr],
        rest: &'a [PathStep],
        place: &Place<'a>,
    ) -> Result<(), Fault> {
        for key in keys {
            self.budget.step(1)?;
            let found = match computed_key(self.budget, key, Some(place.value()), self.scope) {
                Ok(key) => place.select(&key, at).ok().flatten(),
                Err(fault) if fault.is_limit() => return Err(fault),
                Err(_) => None,
            };
            if let Some((key, child)) = found {
                self.captured(key, |walk| walk.steps(rest, child))?;
            }
        }
        Ok(())
    }

    fn range(
        &mut self,
        bounds: &'a [Option<Expr>; 3],
        rest: &'a [PathStep],
        place: &Place<'a>,
    ) -> Result<(), Fault> {
        let Value::Array(items) = place.value() else { return Ok(()) };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let [from, to, step] = bounds;
        let from = resolved(self.bound(from.as_ref(), place, 0)?, length);
        let to = resolved(self.bound(to.as_ref(), place, length)?, length);
        let step = match self.bound(step.as_ref(), place, 1)? {
            0 => 1,
            step => step,
        };
        let mut position = if step > 0 { from } else { to - 1 };
        while (from..to).contains(&position) {
            self.budget.step(1)?;
            let Some((key, child)) = usize::try_from(position).ok().and_then(|i| place.child(i)) else {
                break;
            };
            self.captured(key, |walk| walk.steps(rest, child))?;
            position = position.saturating_add(step);
        }
        Ok(())
    }

    fn bound(&mut self, bound: Option<&'a Expr>, place: &Place<'a>, default: i64) -> Result<i64, Fault> {
        let Some(bound) = bound else { return Ok(default) };
        let scope = Scope { root: self.scope.root, current: Some(place.value()), trail: self.scope.trail };
        let item = eval::eval(self.budget, bound, scope)?;
        index_of(&item, bound.at)
    }

    /// Runs `visit` with `key` on the trail.
    fn captured(
        &mut self,
        key: Captured,
        visit: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if !self.trail.is_kept {
            return visit(self);
        }
        self.trail.note(&key);
        self.trail.keys.push(key);
        let result = visit(self);
        self.trail.keys.pop();
        if !self.trail.is_computed {
            self.trail.steps.pop();
        }
        result
    }
}

impl Trail {
    /// Adds the step that `key` is, unless the value stands nowhere.
    fn note(&mut self, key: &Captured) {
        if self.is_kept && !self.is_computed {
            self.steps.push(match key {
                Captured::Index(index) => Step::Index(*index),
                Captured::Name(name) => Step::Key(name.clone()),
            });
        }
    }
}

impl<'a> Place<'a> {
    fn value(&self) -> &Value {
        match self {
            Self::Ref(value) => value,
            Self::Own(value) => value,
        }
    }

    pub(super) fn into_item(self) -> Item<'a> {
        match self {
            Self::Ref(value) => Item::Ref(value),
            Self::Own(value) => Item::Own(value),
        }
    }

    fn len(&self) -> usize {
        match self.value() {
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        }
    }

    /// Returns the child at `position`, with its key.
    fn child(&self, position: usize) -> Option<(Captured, Self)> {
        Some(match self {
            Self::Ref(Value::Array(items)) => (Captured::Index(position), Self::Ref(items.get(position)?)),
            Self::Ref(Value::Object(map)) => {
                let (key, value) = map.entry(position)?;
                (Captured::Name(key.clone()), Self::Ref(value))
            }
            Self::Own(Value::Array(items)) => {
                (Captured::Index(position), Self::Own(items.get(position)?.clone()))
            }
            Self::Own(Value::Object(map)) => {
                let (key, value) = map.entry(position)?;
                (Captured::Name(key.clone()), Self::Own(value.clone()))
            }
            _ => return None,
        })
    }

    /// Returns the value under `key`; `None` when there is none.
    fn select(&self, key: &Key, at: u32) -> Result<Option<(Captured, Self)>, Fault> {
        let Some(position) = position_of(self.value(), key, at)? else { return Ok(None) };
        Ok(self.child(position))
    }
}

/// Returns which child `key` means; `None` when the value has no such key.
fn position_of(value: &Value, key: &Key, at: u32) -> Result<Option<usize>, Fault> {
    let kind = match value {
        Value::Object(map) => return Ok(map.position(&key.name)),
        Value::Null => return Ok(None),
        Value::Array(items) => match key.index {
            Some(index) => match usize::try_from(index).ok().filter(|index| *index < items.len()) {
                Some(index) => return Ok(Some(index)),
                None => FaultKind::OutOfBounds { index, length: items.len() },
            },
            None => FaultKind::NoSuchIndex(What::Value(kubewright_value::Kind::String)),
        },
        scalar => FaultKind::NotSelectable(What::Value(scalar.kind())),
    };
    Err(Fault { kind, at })
}

/// Takes a step that finds one value. `None` is undefined, and so is everything after it.
fn plain_step<'a>(
    budget: &mut Budget,
    step: &'a PathStep,
    place: Option<Place<'a>>,
    scope: Scope<'a>,
    trail: &mut Trail,
) -> Result<Option<Place<'a>>, Fault> {
    budget.step(1)?;
    match &step.kind {
        StepKind::Key(key) => match place {
            // The common case, without making a key for the trail.
            Some(Place::Ref(Value::Object(map))) if !trail.is_kept => Ok(map.get(&key.name).map(Place::Ref)),
            Some(place) => noted(place.select(key, step.at)?, trail),
            None => Ok(None),
        },
        StepKind::Computed(key) => {
            let key = computed_key(budget, key, place.as_ref().map(Place::value), scope)?;
            match place {
                Some(place) => noted(place.select(&key, step.at)?, trail),
                None => Ok(None),
            }
        }
        StepKind::Script(script) => {
            trail.is_computed = true;
            match place {
                Some(Place::Ref(value)) => {
                    let item = eval::eval(budget, script, Scope { current: Some(value), ..scope })?;
                    Ok(match item {
                        Item::Ref(value) => Some(Place::Ref(value)),
                        item => item.into_value().map(Place::Own),
                    })
                }
                Some(Place::Own(value)) => {
                    let scope = Scope { root: scope.root, current: Some(&value), trail: scope.trail };
                    Ok(eval::eval(budget, script, scope)?.into_value().map(Place::Own))
                }
                None => {
                    let item = eval::eval(budget, script, Scope { current: None, ..scope })?;
                    Ok(item.into_value().map(Place::Own))
                }
            }
        }
        _ => Ok(place),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "ends the arms of a step that may fail")]
fn noted<'a>(found: Option<(Captured, Place<'a>)>, trail: &mut Trail) -> Result<Option<Place<'a>>, Fault> {
    Ok(found.map(|(key, place)| {
        trail.note(&key);
        place
    }))
}

/// Evaluates a key in brackets, where `@` is the value that is indexed.
fn computed_key(
    budget: &mut Budget,
    key: &Expr,
    current: Option<&Value>,
    scope: Scope<'_>,
) -> Result<Key, Fault> {
    let scope = Scope { root: scope.root, current, trail: scope.trail };
    let item = eval::eval(budget, key, scope)?;
    let name = item.text();
    budget.produce(name.len())?;
    let index = item.as_value().and_then(convert::number).map(convert::integer);
    Ok(Key { name: Text::new(name), index, is_number: false })
}

/// Returns whether the filter keeps `value`. A fault, and what is neither true nor false, drops it.
fn passes(budget: &mut Budget, filter: &Expr, value: &Value, scope: Scope<'_>) -> Result<bool, Fault> {
    let scope = Scope { root: scope.root, current: Some(value), trail: scope.trail };
    match eval::eval(budget, filter, scope) {
        Ok(item) => Ok(item.as_value().and_then(convert::truth).unwrap_or(false)),
        Err(fault) if fault.is_limit() => Err(fault),
        Err(_) => Ok(false),
    }
}

fn index_of(item: &Item<'_>, at: u32) -> Result<i64, Fault> {
    let number = item.as_value().and_then(convert::number);
    number.map(convert::integer).ok_or(Fault { kind: FaultKind::NotNumber(item.what()), at })
}

/// Counts a negative bound from the end and keeps it within the array.
fn resolved(bound: i64, length: i64) -> i64 {
    if bound < 0 { bound.saturating_add(length).max(0) } else { bound.min(length) }
}

/// Returns the captured keys of one step as Go prints them.
pub(super) fn capture_text(trail: &Trail, number: usize) -> Option<String> {
    let (start, is_many) = *trail.parts.get(number)?;
    let end = trail.parts.get(number + 1).map_or(trail.keys.len(), |(next, _)| *next);
    let keys: Vec<_> = trail.keys.get(start..end)?.iter().map(Captured::to_string).collect();
    Some(if is_many { format!("[{}]", keys.join(" ")) } else { keys.join(" ") })
}

/// Returns every captured key as one path.
pub(super) fn all_captures_text(trail: &Trail) -> String {
    let quoted = trail.keys.iter().map(|key| format!("[{}]", render::quoted(&key.to_string())));
    std::iter::once("$".to_owned()).chain(quoted).collect()
}

impl std::fmt::Display for Captured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}
