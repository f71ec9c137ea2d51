//! Following a path through a value.
//!
//! A path without wildcards finds one value or fails. From the first wildcard on, a
//! branch that fails or finds nothing is dropped; only a used-up budget is passed on.

use kubewright_value::{Budget, Text, Value};

mod place;
mod trail;

pub(super) use place::Place;
pub use trail::Captured;
pub(super) use trail::{Trail, all_captures_text, capture_text};

use super::ast::{Expr, Key, Origin, Path, PathStep, StepKind};
use super::convert;
use super::eval::{self, Scope};
use super::fault::{Fault, FaultKind};
use super::item::Item;

type Visit<'v, 'a> = dyn FnMut(Place<'a>, &Trail) -> Result<(), Fault> + 'v;

/// Evaluates a path.
pub(super) fn path<'a>(budget: &mut Budget, path: &'a Path, scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    if !path.is_list {
        return one(budget, path, scope);
    }
    let mut items = Vec::new();
    visit(budget, path, scope, &mut Trail::default(), &mut |place, _| {
        items.push(place.into_item());
        Ok(())
    })?;
    Ok(Item::Many(items))
}

/// Evaluates a path that finds one value.
fn one<'a>(budget: &mut Budget, path: &'a Path, scope: Scope<'a>) -> Result<Item<'a>, Fault> {
    let mut steps = path.steps.as_slice();
    let value = match origin(path.origin, scope) {
        Some(value) => follow_keys(budget, &mut steps, value)?,
        None => None,
    };
    match (value, steps) {
        (Some(value), []) => Ok(Item::Ref(value)),
        (value, steps) => one_from(budget, steps, value.map(Place::Ref), scope),
    }
}

/// Follows the constant keys that `steps` starts with, which are most of all steps.
#[inline]
fn follow_keys<'a>(
    budget: &mut Budget,
    steps: &mut &'a [PathStep],
    mut value: &'a Value,
) -> Result<Option<&'a Value>, Fault> {
    while let [PathStep { kind: StepKind::Key(key), at }, rest @ ..] = steps {
        budget.step(1)?;
        *steps = rest;
        let found = match value {
            Value::Object(map) => map.get(&key.name),
            other => place::position_of(other, key, *at)?.and_then(|position| other.item(position)),
        };
        match found {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// Takes any plain steps from `place`.
fn one_from<'a>(
    budget: &mut Budget,
    steps: &'a [PathStep],
    mut place: Option<Place<'a>>,
    scope: Scope<'a>,
) -> Result<Item<'a>, Fault> {
    for step in steps {
        place = plain_step(budget, step, place, scope, &mut Trail::default())?;
    }
    Ok(place.map_or(Item::Undefined, Place::into_item))
}

/// Visits every value the path finds, with the keys that it captures on the way, and all steps if they are wanted.
pub(super) fn visit_with_trail<'a>(
    budget: &mut Budget,
    path: &'a Path,
    scope: Scope<'a>,
    keeps_steps: bool,
    found: &mut Visit<'_, 'a>,
) -> Result<(), Fault> {
    let mut trail = Trail { keeps_keys: true, keeps_steps, ..Trail::default() };
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
        Some(value) => Walk { budget, scope, trail, found }.steps(&path.steps, Place::Ref(value)),
        None => Ok(()),
    }
}

fn origin<'a>(origin: Origin, scope: Scope<'a>) -> Option<&'a Value> {
    match origin {
        Origin::Root => Some(scope.root),
        Origin::Current => scope.current,
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
        let mut steps = steps;
        let mut place = match place {
            Place::Ref(value) if !self.trail.keeps_steps => {
                follow_keys(self.budget, &mut steps, value)?.map(Place::Ref)
            }
            place => Some(place),
        };
        let mut steps = steps.iter();
        loop {
            match steps.next() {
                None => {
                    return match place {
                        Some(place) => {
                            self.budget.produce(self.trail.size() + size_of::<Item<'_>>())?;
                            (self.found)(place, self.trail)
                        }
                        None => Ok(()),
                    };
                }
                Some(step) if step.is_ambiguous() => {
                    return match place {
                        Some(place) => self.ambiguous_step(step, steps.as_slice(), &place),
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
        place: &Place<'a>,
    ) -> Result<(), Fault> {
        if self.trail.keeps_keys {
            let is_many = matches!(step.kind, StepKind::Descend);
            self.trail.parts.push((self.trail.keys.len(), is_many));
        }
        let result = match &step.kind {
            StepKind::Descend => self.descend(rest, place),
            StepKind::Filter(filter) => self.children(rest, place, Some(filter)),
            StepKind::Union(keys) => self.union(step.at, keys, rest, place),
            StepKind::Range(bounds) => self.range(bounds, rest, place),
            _ => self.children(rest, place, None),
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
            let Some(child) = place.child(position) else { break };
            self.budget.step(1)?;
            let passes = match filter {
                Some(filter) => passes(self.budget, filter, child.value(), self.scope)?,
                None => true,
            };
            if passes {
                self.captured(place, position, |walk| walk.steps(rest, child))?;
            }
        }
        Ok(())
    }

    /// Visits the value itself, then everything in it, depth first.
    fn descend(&mut self, rest: &'a [PathStep], place: &Place<'a>) -> Result<(), Fault> {
        self.budget.step(1)?;
        self.steps(rest, place.clone())?;
        self.budget.enter()?;
        let result = (0..place.len()).try_for_each(|position| match place.child(position) {
            Some(child) => self.captured(place, position, |walk| walk.descend(rest, &child)),
            None => Ok(()),
        });
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
                Ok(key) => place::position_of(place.value(), &key, at).ok().flatten(),
                Err(fault) if fault.is_limit() => return Err(fault),
                Err(_) => None,
            };
            if let Some((position, child)) = found.and_then(|i| Some((i, place.child(i)?))) {
                self.captured(place, position, |walk| walk.steps(rest, child))?;
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
            let Some((index, child)) =
                usize::try_from(position).ok().and_then(|i| Some((i, place.child(i)?)))
            else {
                break;
            };
            self.captured(place, index, |walk| walk.steps(rest, child))?;
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

    /// Runs `visit` with the key at `position` on the trail.
    fn captured(
        &mut self,
        place: &Place<'a>,
        position: usize,
        visit: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if !self.trail.keeps_keys {
            return visit(self);
        }
        let key = place.key(position);
        self.trail.note(&key);
        self.trail.keys.push(key);
        let result = visit(self);
        self.trail.keys.pop();
        if self.trail.keeps_steps && !self.trail.is_computed {
            self.trail.steps.pop();
        }
        result
    }
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
            Some(Place::Ref(Value::Object(map))) if !trail.keeps_steps => {
                Ok(map.get(&key.name).map(Place::Ref))
            }
            Some(place) => select(&place, key, step.at, trail),
            None => Ok(None),
        },
        StepKind::Computed(key) => {
            let key = computed_key(budget, key, place.as_ref().map(Place::value), scope)?;
            match place {
                Some(place) => select(&place, &key, step.at, trail),
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

/// Returns the value under `key`; `None` when there is none.
fn select<'a>(place: &Place<'a>, key: &Key, at: u32, trail: &mut Trail) -> Result<Option<Place<'a>>, Fault> {
    let Some(position) = place::position_of(place.value(), key, at)? else { return Ok(None) };
    if trail.keeps_steps {
        trail.note(&place.key(position));
    }
    Ok(place.child(position))
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
    let name = item.text(budget)?;
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
