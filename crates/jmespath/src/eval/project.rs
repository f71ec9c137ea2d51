//! Projections.
//!
//! The elements of a projection of a projection, or of `[a, b]`, go from one to the other as they are found, and no list
//! between them is made where [`Projection::can_stream`] says so.

use std::borrow::Cow;

use kubewright_value::{Budget, Value};

use super::super::ast::{JmesPathExpr, JmesPathNode, JmesPathStep, Projection, ProjectionKind, SliceBounds};
use super::super::function::JmesPathFailure;
use super::{JmesPathResult, NULL, charge_members, evaluate_expr, evaluate_members, is_truthy_value, path};

/// What is done with each element.
type ElementVisitor<'v, 'a> = dyn FnMut(&mut Budget, Cow<'a, Value>) -> Result<(), JmesPathFailure> + 'v;

/// Evaluates `projection`; null when its source does not have the right type.
pub(super) fn evaluate_projection<'a>(
    budget: &mut Budget,
    projection: &'a Projection,
    current: &'a Value,
) -> JmesPathResult<'a> {
    let mut found = Vec::new();
    let is_list = projection.visit_elements(budget, current, &mut |_, item| {
        found.push(item.into_owned());
        Ok(())
    })?;
    Ok(if is_list { Cow::Owned(Value::array(found)) } else { Cow::Borrowed(&NULL) })
}

/// A source whose elements are found one by one.
#[derive(Clone, Copy)]
enum ListingSource<'a> {
    Projection(&'a Projection),
    /// `a.b.[c, d]`: the path, and the members of the list.
    Members(&'a JmesPathExpr, &'a [JmesPathStep], &'a [JmesPathExpr]),
}

impl Projection {
    /// Gives each element to `visit`. Returns whether the source has the right type; without it there is none.
    fn visit_elements<'a>(
        &'a self,
        budget: &mut Budget,
        current: &'a Value,
        visit: &mut ElementVisitor<'_, 'a>,
    ) -> Result<bool, JmesPathFailure> {
        let source = match self.listing_source() {
            Some(source) if self.can_stream(budget) => {
                return charge_level(budget, &self.source, |budget| {
                    self.stream(budget, source, current, visit)
                });
            }
            Some(source) => {
                charge_level(budget, &self.source, |budget| collect_elements(budget, source, current))
            }
            None => self.evaluate_source(budget, current),
        };
        let items = match source {
            Err(failure) if self.is_forgiving && !failure.is_limit() => None,
            source => source?,
        };
        let Some(items) = items else { return Ok(false) };
        match (&self.over, items) {
            (ProjectionKind::Slice(slice), items) => self.visit_slice(budget, *slice, &items, visit)?,
            (_, ProjectedElements::Found(items)) => {
                items.iter().try_for_each(|item| self.visit_item(budget, Cow::Borrowed(item), visit))?;
            }
            (_, ProjectedElements::Listed(items)) => {
                items.into_iter().try_for_each(|item| self.visit_item(budget, item, visit))?;
            }
        }
        Ok(true)
    }

    /// Returns the source, if its elements are found one by one.
    fn listing_source(&self) -> Option<ListingSource<'_>> {
        match (&self.over, &self.source.node) {
            (ProjectionKind::Values, _) => None,
            (_, JmesPathNode::Projection(inner)) => Some(ListingSource::Projection(inner)),
            (_, JmesPathNode::Path(first, steps)) => match steps.split_last()? {
                (JmesPathStep::Expr(JmesPathExpr { node: JmesPathNode::List(members), .. }), before) => {
                    Some(ListingSource::Members(first, before, members))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether elements may be used while the source is evaluated: which ones are taken does not depend on how many
    /// there are, nothing that is found later takes them back, and `budget` has the levels for both.
    fn can_stream(&self, budget: &Budget) -> bool {
        let condition = match &self.over {
            ProjectionKind::Slice(_) => return false,
            ProjectionKind::Filtered(condition) => Some(condition),
            _ => None,
        };
        let above =
            self.each.iter().chain(condition).map(|expr| expr.shape.height()).max().unwrap_or_default();
        !self.source.shape.can_fail()
            && budget.depth_left() > self.source.shape.height().saturating_add(above)
    }

    /// Gives each element to `visit` while the source is evaluated.
    fn stream<'a>(
        &'a self,
        budget: &mut Budget,
        source: ListingSource<'a>,
        current: &'a Value,
        visit: &mut ElementVisitor<'_, 'a>,
    ) -> Result<bool, JmesPathFailure> {
        let (first, before, members) = match source {
            ListingSource::Projection(inner) => {
                return inner.visit_elements(budget, current, &mut |budget, item| {
                    self.visit_item(budget, item, visit)
                });
            }
            ListingSource::Members(first, before, members) => (first, before, members),
        };
        let value = match path::follow_path(budget, first, before, current)? {
            value if value.is_null() => return Ok(false),
            Cow::Borrowed(value) => value,
            Cow::Owned(value) => {
                for item in evaluate_members(budget, members, &value)? {
                    self.visit_item(budget, Cow::Owned(item.into_owned()), visit)?;
                }
                return Ok(true);
            }
        };
        charge_members(budget, members)?;
        for member in members {
            match (&self.over, &member.node) {
                // `[a[], b[]][]`
                (ProjectionKind::Flattened, JmesPathNode::Projection(inner)) => {
                    let is_list = charge_level(budget, member, |budget| {
                        inner.visit_elements(budget, value, &mut |budget, item| {
                            self.visit_projected(budget, item, visit)
                        })
                    })?;
                    match is_list {
                        true => budget.step(1)?,
                        false => self.visit_projected(budget, Cow::Borrowed(&NULL), visit)?,
                    }
                }
                _ => {
                    let item = evaluate_expr(budget, member, value)?;
                    self.visit_item(budget, item, visit)?;
                }
            }
        }
        Ok(true)
    }

    /// Evaluates the source as a whole; nothing when it does not have the right type.
    fn evaluate_source<'a>(
        &'a self,
        budget: &mut Budget,
        current: &'a Value,
    ) -> Result<Option<ProjectedElements<'a>>, JmesPathFailure> {
        let owned = |items: &[Value]| items.iter().cloned().map(Cow::Owned).collect();
        Ok(match (&self.over, evaluate_expr(budget, &self.source, current)?) {
            (ProjectionKind::Values, Cow::Borrowed(Value::Object(map))) => {
                Some(ProjectedElements::Listed(map.values().map(Cow::Borrowed).collect()))
            }
            (ProjectionKind::Values, Cow::Owned(Value::Object(map))) => {
                Some(ProjectedElements::Listed(map.values().cloned().map(Cow::Owned).collect()))
            }
            (ProjectionKind::Values, _) => None,
            (_, Cow::Borrowed(Value::Array(items))) => Some(ProjectedElements::Found(items)),
            (_, Cow::Owned(Value::Array(items))) => Some(ProjectedElements::Listed(owned(&items))),
            _ => None,
        })
    }

    /// Gives what the projection makes of an element of its source to `visit`.
    fn visit_item<'a>(
        &'a self,
        budget: &mut Budget,
        item: Cow<'a, Value>,
        visit: &mut ElementVisitor<'_, 'a>,
    ) -> Result<(), JmesPathFailure> {
        match (&self.over, item) {
            (ProjectionKind::Flattened, Cow::Borrowed(Value::Array(inner))) => {
                budget.step(1)?;
                inner.iter().try_for_each(|item| self.visit_projected(budget, Cow::Borrowed(item), visit))
            }
            (ProjectionKind::Flattened, Cow::Owned(Value::Array(inner))) => {
                budget.step(1)?;
                inner
                    .iter()
                    .try_for_each(|item| self.visit_projected(budget, Cow::Owned(item.clone()), visit))
            }
            (ProjectionKind::Filtered(condition), item) => {
                budget.step(1)?;
                match is_truthy_value(&*evaluate_expr(budget, condition, &item)?) {
                    true => self.visit_projected(budget, item, visit),
                    false => Ok(()),
                }
            }
            (_, item) => self.visit_projected(budget, item, visit),
        }
    }

    /// Gives the projected `value` to `visit`, unless it is null.
    fn visit_projected<'a>(
        &'a self,
        budget: &mut Budget,
        value: Cow<'a, Value>,
        visit: &mut ElementVisitor<'_, 'a>,
    ) -> Result<(), JmesPathFailure> {
        budget.step(1)?;
        let made = match &self.each {
            Some(each) => super::evaluate_on(budget, each, value)?,
            None => value,
        };
        if made.is_null() {
            return Ok(());
        }
        budget.produce(size_of::<Value>())?;
        visit(budget, made)
    }

    fn visit_slice<'a>(
        &'a self,
        budget: &mut Budget,
        slice: SliceBounds,
        items: &ProjectedElements<'a>,
        visit: &mut ElementVisitor<'_, 'a>,
    ) -> Result<(), JmesPathFailure> {
        let step = slice.step.unwrap_or(1);
        if step == 0 {
            return Err(JmesPathFailure::wrong_value("the step of a slice must not be 0"));
        }
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
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
            if let Some(item) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                self.visit_projected(budget, item, visit)?;
            }
            at = at.saturating_add(step);
        }
        Ok(())
    }
}

/// The elements of a source.
enum ProjectedElements<'a> {
    Found(&'a [Value]),
    Listed(Vec<Cow<'a, Value>>),
}

impl<'a> ProjectedElements<'a> {
    fn len(&self) -> usize {
        match self {
            Self::Found(items) => items.len(),
            Self::Listed(items) => items.len(),
        }
    }

    fn get(&self, at: usize) -> Option<Cow<'a, Value>> {
        match self {
            Self::Found(items) => items.get(at).map(Cow::Borrowed),
            Self::Listed(items) => items.get(at).cloned(),
        }
    }
}

/// Evaluates a source before any of its elements is used.
fn collect_elements<'a>(
    budget: &mut Budget,
    source: ListingSource<'a>,
    current: &'a Value,
) -> Result<Option<ProjectedElements<'a>>, JmesPathFailure> {
    let (first, before, members) = match source {
        ListingSource::Projection(inner) => {
            let mut items = Vec::new();
            let is_list = inner.visit_elements(budget, current, &mut |_, item| {
                items.push(item);
                Ok(())
            })?;
            return Ok(is_list.then_some(ProjectedElements::Listed(items)));
        }
        ListingSource::Members(first, before, members) => (first, before, members),
    };
    let items = match path::follow_path(budget, first, before, current)? {
        value if value.is_null() => return Ok(None),
        Cow::Borrowed(value) => evaluate_members(budget, members, value)?,
        Cow::Owned(value) => {
            let items = evaluate_members(budget, members, &value)?;
            items.into_iter().map(|item| Cow::Owned(item.into_owned())).collect()
        }
    };
    Ok(Some(ProjectedElements::Listed(items)))
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
