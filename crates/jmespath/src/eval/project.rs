//! Projections.
//!
//! A projection of a projection, or of `[a, b]`, iterates over the elements directly: no intermediate
//! list is made.

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_value::{Budget, Value};

use super::super::ast::{JmesPathExpr, JmesPathNode, JmesPathStep, Projection, ProjectionKind, SliceBounds};
use super::super::function::JmesPathFailure;
use super::{JmesPathResult, NULL, evaluate_expr, evaluate_members, is_truthy_value, path};

type ProjectedElements<'a> = Vec<Cow<'a, Value>>;

/// Evaluates `projection`; null when its source does not have the right type.
pub(super) fn evaluate_projection<'a>(
    budget: &mut Budget,
    projection: &'a Projection,
    current: &'a Value,
) -> JmesPathResult<'a> {
    Ok(match collect_elements(budget, projection, current)? {
        Some(found) => Cow::Owned(Value::array(found.into_iter().map(Cow::into_owned).collect())),
        None => Cow::Borrowed(&NULL),
    })
}

/// The elements that a projection iterates over.
enum ProjectionSource<'a> {
    Found(&'a [Value]),
    Made(Arc<Vec<Value>>),
    Listed(ProjectedElements<'a>),
}

fn collect_elements<'a>(
    budget: &mut Budget,
    projection: &'a Projection,
    current: &'a Value,
) -> Result<Option<ProjectedElements<'a>>, JmesPathFailure> {
    let source = match find_projection_source(budget, projection, current) {
        Err(failure) if projection.is_forgiving && !failure.is_limit() => None,
        source => source?,
    };
    let mut collector = ProjectionCollector { budget, projection, found: Vec::new() };
    match source {
        None => return Ok(None),
        Some(ProjectionSource::Found(items)) => {
            collector.go_over(items.len(), |at| items.get(at).map(Cow::Borrowed))?;
        }
        Some(ProjectionSource::Made(items)) => {
            collector.go_over(items.len(), |at| items.get(at).cloned().map(Cow::Owned))?;
        }
        Some(ProjectionSource::Listed(mut items)) => collector.go_over(items.len(), |at| {
            items.get_mut(at).map(|item| std::mem::replace(item, Cow::Borrowed(&NULL)))
        })?,
    }
    Ok(Some(collector.found))
}

/// Returns the elements that `projection` iterates over; nothing when its source does not have the right type.
fn find_projection_source<'a>(
    budget: &mut Budget,
    projection: &'a Projection,
    current: &'a Value,
) -> Result<Option<ProjectionSource<'a>>, JmesPathFailure> {
    let expr = &projection.source;
    if !matches!(projection.over, ProjectionKind::Values) {
        match &expr.node {
            JmesPathNode::Projection(inner) => {
                return charge_level(budget, expr, |budget| {
                    Ok(collect_elements(budget, inner, current)?.map(ProjectionSource::Listed))
                });
            }
            JmesPathNode::Path(first, steps) => {
                if let Some((
                    JmesPathStep::Expr(JmesPathExpr { node: JmesPathNode::List(members), .. }),
                    before,
                )) = steps.split_last()
                {
                    return charge_level(budget, expr, |budget| {
                        match path::follow_path(budget, first, before, current)? {
                            Cow::Borrowed(Value::Null) | Cow::Owned(Value::Null) => Ok(None),
                            Cow::Borrowed(value) => {
                                Ok(Some(ProjectionSource::Listed(evaluate_members(budget, members, value)?)))
                            }
                            Cow::Owned(value) => {
                                let items = evaluate_members(budget, members, &value)?;
                                let items = items.into_iter().map(|item| Cow::Owned(item.into_owned()));
                                Ok(Some(ProjectionSource::Listed(items.collect())))
                            }
                        }
                    });
                }
            }
            _ => {}
        }
    }
    let value = evaluate_expr(budget, expr, current)?;
    Ok(match (&projection.over, value) {
        (ProjectionKind::Values, value) => value.as_object().map(|map| match &value {
            Cow::Borrowed(Value::Object(map)) => {
                ProjectionSource::Listed(map.values().map(Cow::Borrowed).collect())
            }
            _ => ProjectionSource::Listed(map.values().cloned().map(Cow::Owned).collect()),
        }),
        (_, Cow::Borrowed(Value::Array(items))) => Some(ProjectionSource::Found(items)),
        (_, Cow::Owned(Value::Array(items))) => Some(ProjectionSource::Made(items)),
        _ => None,
    })
}

/// Charges for evaluating `expr` without [`evaluate_expr`].
fn charge_level<T>(
    budget: &mut Budget,
    expr: &JmesPathExpr,
    evaluate: impl FnOnce(&mut Budget) -> Result<T, JmesPathFailure>,
) -> Result<T, JmesPathFailure> {
    let at = |exhausted| JmesPathFailure::from(exhausted).at(expr.at);
    budget.step(1).map_err(at)?;
    budget.enter().map_err(at)?;
    let evaluated = evaluate(budget);
    budget.leave();
    evaluated.map_err(|failure| failure.at(expr.at))
}

struct ProjectionCollector<'b, 'a> {
    budget: &'b mut Budget,
    projection: &'a Projection,
    found: ProjectedElements<'a>,
}

impl<'a> ProjectionCollector<'_, 'a> {
    /// Adds `count` items, each of which `take` returns once.
    fn go_over(
        &mut self,
        count: usize,
        mut take: impl FnMut(usize) -> Option<Cow<'a, Value>>,
    ) -> Result<(), JmesPathFailure> {
        self.found.reserve(count.min(16));
        if let ProjectionKind::Slice(slice) = self.projection.over {
            return self.slice(slice, count, take);
        }
        for item in (0..count).filter_map(&mut take) {
            match &self.projection.over {
                ProjectionKind::Flattened => self.flatten(item)?,
                ProjectionKind::Filtered(condition) => {
                    self.budget.step(1)?;
                    if is_truthy_value(&*evaluate_expr(self.budget, condition, &item)?) {
                        self.add(item)?;
                    }
                }
                ProjectionKind::Items | ProjectionKind::Values | ProjectionKind::Slice(_) => {
                    self.add(item)?;
                }
            }
        }
        Ok(())
    }

    fn flatten(&mut self, item: Cow<'a, Value>) -> Result<(), JmesPathFailure> {
        match item {
            Cow::Borrowed(Value::Array(inner)) => {
                self.budget.step(1)?;
                inner.iter().try_for_each(|item| self.add(Cow::Borrowed(item)))
            }
            Cow::Owned(Value::Array(inner)) => {
                self.budget.step(1)?;
                inner.iter().try_for_each(|item| self.add(Cow::Owned(item.clone())))
            }
            item => self.add(item),
        }
    }

    /// Adds the projected `value`, unless it is null.
    fn add(&mut self, value: Cow<'a, Value>) -> Result<(), JmesPathFailure> {
        self.budget.step(1)?;
        let made = match &self.projection.each {
            Some(each) => super::evaluate_on(self.budget, each, value)?,
            None => value,
        };
        if !made.is_null() {
            self.budget.produce(size_of::<Value>())?;
            self.found.push(made);
        }
        Ok(())
    }

    fn slice(
        &mut self,
        slice: SliceBounds,
        count: usize,
        mut take: impl FnMut(usize) -> Option<Cow<'a, Value>>,
    ) -> Result<(), JmesPathFailure> {
        let step = slice.step.unwrap_or(1);
        if step == 0 {
            return Err(JmesPathFailure::wrong_value("the step of a slice must not be 0"));
        }
        let length = i64::try_from(count).unwrap_or(i64::MAX);
        // With a negative step, the position before the first item is a valid end.
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
            if let Some(item) = usize::try_from(at).ok().and_then(&mut take) {
                self.add(item)?;
            }
            at = at.saturating_add(step);
        }
        Ok(())
    }
}
