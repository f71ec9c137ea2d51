//! Following a path through a value.
//!
//! A path without wildcards finds one value or fails. From the first wildcard on, a
//! branch that fails or finds nothing is dropped; only a used-up budget is passed on.

use kubewright_value::{Budget, PositionHint, Text, Value};

mod place;
mod trail;

pub(super) use place::WalkPlace;
pub use trail::CapturedKey;
pub(super) use trail::{WalkTrail, all_captures_text, capture_text};

use super::ast::{ParsedPath, ParsedStep, ParsedStepKind, PathExpr, RootOrCurrent, StaticKey};
use super::convert;
use super::eval::{self, PathScope};
use super::fault::{PathFault, PathFaultKind};
use super::item::JsonPathItem;

type Visit<'v, 'a> = dyn FnMut(WalkPlace<'a>, &WalkTrail) -> Result<(), PathFault> + 'v;

/// Evaluates a path.
pub(super) fn eval_path<'a>(
    budget: &mut Budget,
    path: &'a ParsedPath,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    if !path.is_list {
        return eval_single_path(budget, path, scope);
    }
    let mut items = Vec::new();
    visit_values(budget, path, scope, &mut WalkTrail::default(), &mut |place, _| {
        items.push(place.into_item());
        Ok(())
    })?;
    Ok(JsonPathItem::Many(items))
}

/// Evaluates a path that finds one value.
fn eval_single_path<'a>(
    budget: &mut Budget,
    path: &'a ParsedPath,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    let mut steps = path.steps.as_slice();
    let value = match origin_value(path.origin, scope) {
        Some(value) => follow_keys(budget, &mut steps, value)?,
        None => None,
    };
    match (value, steps) {
        (Some(value), []) => Ok(JsonPathItem::Ref(value)),
        (value, steps) => follow_plain_steps(budget, steps, value.map(WalkPlace::Ref), scope),
    }
}

/// Follows the constant keys that `steps` starts with, which are most of all steps.
#[inline]
fn follow_keys<'a>(
    budget: &mut Budget,
    steps: &mut &'a [ParsedStep],
    mut value: &'a Value,
) -> Result<Option<&'a Value>, PathFault> {
    while let [ParsedStep { kind: ParsedStepKind::Key(key), at }, rest @ ..] = steps {
        budget.step(1)?;
        *steps = rest;
        let found = match value {
            Value::Object(map) => key.position_hint.get(map, &key.name),
            other => place::child_position(other, key, *at)?.and_then(|position| other.item(position)),
        };
        match found {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// Takes any plain steps from `place`.
fn follow_plain_steps<'a>(
    budget: &mut Budget,
    steps: &'a [ParsedStep],
    mut place: Option<WalkPlace<'a>>,
    scope: PathScope<'a>,
) -> Result<JsonPathItem<'a>, PathFault> {
    for step in steps {
        place = plain_step(budget, step, place, scope, &mut WalkTrail::default())?;
    }
    Ok(place.map_or(JsonPathItem::Undefined, WalkPlace::into_item))
}

/// Visits every value the path finds, with the keys that it captures on the way, and all steps if they are wanted.
pub(super) fn visit_with_trail<'a>(
    budget: &mut Budget,
    path: &'a ParsedPath,
    scope: PathScope<'a>,
    keeps_steps: bool,
    found: &mut Visit<'_, 'a>,
) -> Result<(), PathFault> {
    let mut trail = WalkTrail { keeps_keys: true, keeps_steps, ..WalkTrail::default() };
    visit_values(budget, path, scope, &mut trail, found)
}

fn visit_values<'a>(
    budget: &mut Budget,
    path: &'a ParsedPath,
    scope: PathScope<'a>,
    trail: &mut WalkTrail,
    found: &mut Visit<'_, 'a>,
) -> Result<(), PathFault> {
    match origin_value(path.origin, scope) {
        Some(value) => PathWalk { budget, scope, trail, found }.steps(&path.steps, WalkPlace::Ref(value)),
        None => Ok(()),
    }
}

fn origin_value<'a>(origin: RootOrCurrent, scope: PathScope<'a>) -> Option<&'a Value> {
    match origin {
        RootOrCurrent::Root => Some(scope.root),
        RootOrCurrent::Current => scope.current,
    }
}

struct PathWalk<'w, 'v, 'a> {
    budget: &'w mut Budget,
    scope: PathScope<'a>,
    trail: &'w mut WalkTrail,
    found: &'w mut Visit<'v, 'a>,
}

impl<'a> PathWalk<'_, '_, 'a> {
    /// Follows `steps` from `place`.
    fn steps(&mut self, steps: &'a [ParsedStep], place: WalkPlace<'a>) -> Result<(), PathFault> {
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

    fn plain_steps(&mut self, steps: &'a [ParsedStep], place: WalkPlace<'a>) -> Result<(), PathFault> {
        let mut steps = steps;
        let mut place = match place {
            WalkPlace::Ref(value) if !self.trail.keeps_steps => {
                follow_keys(self.budget, &mut steps, value)?.map(WalkPlace::Ref)
            }
            place => Some(place),
        };
        let mut steps = steps.iter();
        loop {
            match steps.next() {
                None => {
                    return match place {
                        Some(place) => {
                            self.budget.produce(self.trail.size() + size_of::<JsonPathItem<'_>>())?;
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
        step: &'a ParsedStep,
        rest: &'a [ParsedStep],
        place: &WalkPlace<'a>,
    ) -> Result<(), PathFault> {
        if self.trail.keeps_keys {
            let is_many = matches!(step.kind, ParsedStepKind::Descend);
            self.trail.parts.push((self.trail.keys.len(), is_many));
        }
        let result = match &step.kind {
            ParsedStepKind::Descend => self.descend(rest, place),
            ParsedStepKind::Filter(filter) => self.children(rest, place, Some(filter)),
            ParsedStepKind::Union(keys) => self.union(step.at, keys, rest, place),
            ParsedStepKind::Range(bounds) => self.range(bounds, rest, place),
            _ => self.children(rest, place, None),
        };
        self.trail.parts.pop();
        result
    }

    /// Visits every child that passes the filter, in order.
    fn children(
        &mut self,
        rest: &'a [ParsedStep],
        place: &WalkPlace<'a>,
        filter: Option<&'a PathExpr>,
    ) -> Result<(), PathFault> {
        for position in 0..place.len() {
            let Some(child) = place.child(position) else { break };
            self.budget.step(1)?;
            let passes = match filter {
                Some(filter) => passes_filter(self.budget, filter, child.value(), self.scope)?,
                None => true,
            };
            if passes {
                self.captured(place, position, |walk| walk.steps(rest, child))?;
            }
        }
        Ok(())
    }

    /// Visits the value itself, then everything in it, depth first.
    fn descend(&mut self, rest: &'a [ParsedStep], place: &WalkPlace<'a>) -> Result<(), PathFault> {
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
        keys: &'a [PathExpr],
        rest: &'a [ParsedStep],
        place: &WalkPlace<'a>,
    ) -> Result<(), PathFault> {
        for key in keys {
            self.budget.step(1)?;
            let found = match computed_key(self.budget, key, Some(place.value()), self.scope) {
                Ok(key) => place::child_position(place.value(), &key, at).ok().flatten(),
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
        bounds: &'a [Option<PathExpr>; 3],
        rest: &'a [ParsedStep],
        place: &WalkPlace<'a>,
    ) -> Result<(), PathFault> {
        let Value::Array(items) = place.value() else { return Ok(()) };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let [from, to, step] = bounds;
        let from = resolve_bound(self.bound(from.as_ref(), place, 0)?, length);
        let to = resolve_bound(self.bound(to.as_ref(), place, length)?, length);
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

    fn bound(
        &mut self,
        bound: Option<&'a PathExpr>,
        place: &WalkPlace<'a>,
        default: i64,
    ) -> Result<i64, PathFault> {
        let Some(bound) = bound else { return Ok(default) };
        let scope =
            PathScope { root: self.scope.root, current: Some(place.value()), trail: self.scope.trail };
        let item = eval::eval_expression(self.budget, bound, scope)?;
        integer_index(&item, bound.at)
    }

    /// Runs `visit` with the key at `position` on the trail.
    fn captured(
        &mut self,
        place: &WalkPlace<'a>,
        position: usize,
        visit: impl FnOnce(&mut Self) -> Result<(), PathFault>,
    ) -> Result<(), PathFault> {
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
    step: &'a ParsedStep,
    place: Option<WalkPlace<'a>>,
    scope: PathScope<'a>,
    trail: &mut WalkTrail,
) -> Result<Option<WalkPlace<'a>>, PathFault> {
    budget.step(1)?;
    match &step.kind {
        ParsedStepKind::Key(key) => match place {
            // The common case, without making a key for the trail.
            Some(WalkPlace::Ref(Value::Object(map))) if !trail.keeps_steps => {
                Ok(key.position_hint.get(map, &key.name).map(WalkPlace::Ref))
            }
            Some(place) => select_key(&place, key, step.at, trail),
            None => Ok(None),
        },
        ParsedStepKind::Computed(key) => {
            let key = computed_key(budget, key, place.as_ref().map(WalkPlace::value), scope)?;
            match place {
                Some(place) => select_key(&place, &key, step.at, trail),
                None => Ok(None),
            }
        }
        ParsedStepKind::Script(script) => {
            trail.is_computed = true;
            match place {
                Some(WalkPlace::Ref(value)) => {
                    let item =
                        eval::eval_expression(budget, script, PathScope { current: Some(value), ..scope })?;
                    Ok(match item {
                        JsonPathItem::Ref(value) => Some(WalkPlace::Ref(value)),
                        item => item.into_value().map(WalkPlace::Own),
                    })
                }
                Some(WalkPlace::Own(value)) => {
                    let scope = PathScope { root: scope.root, current: Some(&value), trail: scope.trail };
                    Ok(eval::eval_expression(budget, script, scope)?.into_value().map(WalkPlace::Own))
                }
                None => {
                    let item = eval::eval_expression(budget, script, PathScope { current: None, ..scope })?;
                    Ok(item.into_value().map(WalkPlace::Own))
                }
            }
        }
        _ => Ok(place),
    }
}

/// Returns the value under `key`; `None` when it is missing.
fn select_key<'a>(
    place: &WalkPlace<'a>,
    key: &StaticKey,
    at: u32,
    trail: &mut WalkTrail,
) -> Result<Option<WalkPlace<'a>>, PathFault> {
    let Some(position) = place::child_position(place.value(), key, at)? else { return Ok(None) };
    if trail.keeps_steps {
        trail.note(&place.key(position));
    }
    Ok(place.child(position))
}

/// Evaluates a key in brackets, where `@` is the value that is indexed.
fn computed_key(
    budget: &mut Budget,
    key: &PathExpr,
    current: Option<&Value>,
    scope: PathScope<'_>,
) -> Result<StaticKey, PathFault> {
    let scope = PathScope { root: scope.root, current, trail: scope.trail };
    let item = eval::eval_expression(budget, key, scope)?;
    let name = item.text(budget)?;
    let index = item.as_value().and_then(convert::number_of_value).map(convert::go_integer);
    Ok(StaticKey { name: Text::new(name), index, is_number: false, position_hint: PositionHint::default() })
}

/// Returns whether the filter keeps `value`. A fault, and what is neither true nor false, drops it.
fn passes_filter(
    budget: &mut Budget,
    filter: &PathExpr,
    value: &Value,
    scope: PathScope<'_>,
) -> Result<bool, PathFault> {
    let scope = PathScope { root: scope.root, current: Some(value), trail: scope.trail };
    match eval::eval_expression(budget, filter, scope) {
        Ok(item) => Ok(item.as_value().and_then(convert::truth_of_value).unwrap_or(false)),
        Err(fault) if fault.is_limit() => Err(fault),
        Err(_) => Ok(false),
    }
}

fn integer_index(item: &JsonPathItem<'_>, at: u32) -> Result<i64, PathFault> {
    let number = item.as_value().and_then(convert::number_of_value);
    number.map(convert::go_integer).ok_or(PathFault { kind: PathFaultKind::NotNumber(item.what()), at })
}

/// Counts a negative bound from the end and keeps it within the array.
fn resolve_bound(bound: i64, length: i64) -> i64 {
    if bound < 0 { bound.saturating_add(length).max(0) } else { bound.min(length) }
}
