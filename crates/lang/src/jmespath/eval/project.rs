//! Projections: the elements they go over, and what is made of each.

use std::borrow::Cow;

use kubewright_value::{Budget, Value};

use super::super::ast::{Expr, Over, Projection, Slice};
use super::super::function::Failure;
use super::{Evaluated, NULL, eval, is_true};

/// Evaluates `projection`; null when its source is not of the type it goes over.
pub(super) fn project<'a>(
    budget: &mut Budget,
    projection: &'a Projection,
    current: &'a Value,
) -> Evaluated<'a> {
    let source = match eval(budget, &projection.source, current) {
        Err(failure) if projection.is_forgiving && !failure.is_limit() => Cow::Borrowed(&NULL),
        evaluated => evaluated?,
    };
    let mut collector = Collector { budget, each: projection.each.as_ref(), found: Vec::new() };
    match (&projection.over, &*source) {
        (Over::Values, Value::Object(map)) => {
            map.values().try_for_each(|value| collector.add(value))?;
        }
        (Over::Items, Value::Array(items)) => items.iter().try_for_each(|item| collector.add(item))?,
        (Over::Flattened, Value::Array(items)) => {
            for item in items.iter() {
                match item {
                    Value::Array(inner) => {
                        collector.budget.step(1)?;
                        inner.iter().try_for_each(|item| collector.add(item))?;
                    }
                    item => collector.add(item)?,
                }
            }
        }
        (Over::Filtered(condition), Value::Array(items)) => {
            for item in items.iter() {
                collector.budget.step(1)?;
                if is_true(&*eval(collector.budget, condition, item)?) {
                    collector.add(item)?;
                }
            }
        }
        (Over::Slice(slice), Value::Array(items)) => collector.slice(*slice, items)?,
        _ => return Ok(Cow::Borrowed(&NULL)),
    }
    Ok(Cow::Owned(Value::array(collector.found)))
}

struct Collector<'b, 'e> {
    budget: &'b mut Budget,
    each: Option<&'e Expr>,
    found: Vec<Value>,
}

impl Collector<'_, '_> {
    /// Adds what is made of `value`, unless that is null.
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        self.budget.step(1)?;
        let made = match self.each {
            Some(each) => eval(self.budget, each, value)?,
            None => Cow::Borrowed(value),
        };
        if !made.is_null() {
            self.budget.produce(size_of::<Value>())?;
            self.found.push(made.into_owned());
        }
        Ok(())
    }

    fn slice(&mut self, slice: Slice, items: &[Value]) -> Result<(), Failure> {
        let step = slice.step.unwrap_or(1);
        if step == 0 {
            return Err(Failure::wrong_value("the step of a slice must not be 0"));
        }
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        // Going back, the place before the first item is an end as well.
        let (least, most) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let place = |given: Option<i64>, default: i64| match given {
            None => default,
            Some(place) if place < 0 => place.saturating_add(length).clamp(least, most),
            Some(place) => place.min(most),
        };
        let (start, stop) = if step > 0 {
            (place(slice.start, 0), place(slice.stop, length))
        } else {
            (place(slice.start, most), place(slice.stop, -1))
        };
        let mut at = start;
        while (step > 0 && at < stop) || (step < 0 && at > stop) {
            if let Some(item) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                self.add(item)?;
            }
            at = at.saturating_add(step);
        }
        Ok(())
    }
}
