//! From a path to the places that it means in a document.
//!
//! Everything that can fail about an operation fails here, before anything is edited.

use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value};

use super::failure::{self, UnmatchedList};
use super::{MAX_PLACES, PatchPath, PathOp, PathPatchError, PathSegment, filter};
use crate::charge::shifting;

/// The places that a path means in a document.
#[derive(Default)]
pub(super) struct Expansion {
    /// In document order, none twice, all of the same length.
    pub(super) places: Vec<Vec<Step>>,
    /// The list in which no item is chosen, if there is one.
    pub(super) missed: Option<UnmatchedList>,
    /// Whether the places are in lists, before the items that are there.
    pub(super) is_insertion: bool,
}

pub(super) fn expand_path(
    path: &PatchPath,
    document: &Value,
    op: PathOp,
    budget: &mut Budget,
) -> Result<Expansion, PathPatchError> {
    let mut walk = PlaceWalk {
        path,
        document,
        op,
        budget,
        steps: Vec::with_capacity(path.segments.len()),
        has_arrived: false,
        found: Expansion::default(),
    };
    walk.from(0, Some(document))?;
    if walk.has_arrived {
        walk.found.missed = None;
    }
    Ok(walk.found)
}

struct PlaceWalk<'w> {
    path: &'w PatchPath,
    document: &'w Value,
    op: PathOp,
    budget: &'w mut Budget,
    /// The steps from the root to here.
    steps: Vec<Step>,
    /// Whether any branch came to its end, be it that there is nothing to remove.
    has_arrived: bool,
    found: Expansion,
}

/// The target of one step: this value, or a missing one.
type NextValue<'v> = (Step, Option<&'v Value>);

impl PlaceWalk<'_> {
    /// Follows the segments from number `at` on, starting `here`; a missing value is `None`.
    fn from(&mut self, at: usize, here: Option<&Value>) -> Result<(), PathPatchError> {
        let mut here = here;
        let path = self.path;
        for (number, written) in path.segments.iter().enumerate().skip(at) {
            self.charge(number, here)?;
            let (step, part) = match &written.segment {
                PathSegment::Every => return self.every(number, here),
                PathSegment::Filter { field, value } => return self.filter(number, here, field, value),
                PathSegment::Key(key) => self.key(number, here, key)?,
                PathSegment::Number(key, index) => match here {
                    Some(Value::Object(_)) => self.key(number, here, key)?,
                    _ => self.index(number, here, *index)?,
                },
                PathSegment::Index(index) => self.index(number, here, Some(*index))?,
                PathSegment::Append => self.append(number, here)?,
            };
            self.steps.push(step);
            here = part;
        }
        self.arrive(here)
    }

    fn arrive(&mut self, here: Option<&Value>) -> Result<(), PathPatchError> {
        self.has_arrived = true;
        if self.op == PathOp::Remove && here.is_none() {
            return Ok(());
        }
        if self.found.places.len() >= MAX_PLACES {
            return Err(failure::too_many_places(self.path, self.path.segments.len().saturating_sub(1)));
        }
        self.found.is_insertion |=
            self.op == PathOp::Add && matches!(self.steps.last(), Some(Step::Index(_)));
        self.found.places.push(self.steps.clone());
        Ok(())
    }

    fn key<'v>(
        &self,
        number: usize,
        here: Option<&'v Value>,
        key: &Text,
    ) -> Result<NextValue<'v>, PathPatchError> {
        let none = Map::new();
        let (part, siblings) = match here {
            Some(Value::Object(map)) => (map.get(key), &**map),
            None | Some(Value::Null) => (None, &none),
            Some(other) => return Err(failure::not_an_object(self.path, number, &self.steps, key, other)),
        };
        if self.op == PathOp::Replace && part.is_none() {
            return Err(failure::missing_key(self.path, number, &self.steps, key, siblings));
        }
        Ok((Step::Key(key.clone()), part))
    }

    fn index<'v>(
        &self,
        number: usize,
        here: Option<&'v Value>,
        index: Option<usize>,
    ) -> Result<NextValue<'v>, PathPatchError> {
        let items = match here {
            Some(Value::Array(items)) => items,
            // As below a key that is missing; a filter or `[*]` further on still has to choose something.
            None | Some(Value::Null) if self.op == PathOp::Remove => {
                return Ok((Step::Index(index.unwrap_or_default()), None));
            }
            _ => return Err(self.not_a_list(number, here)),
        };
        match index.and_then(|index| Some((index, items.get(index)?))) {
            Some((index, item)) => Ok((Step::Index(index), Some(item))),
            None => {
                Err(failure::path_index_out_of_range(self.path, number, self.op, &self.steps, items.len()))
            }
        }
    }

    fn append<'v>(&self, number: usize, here: Option<&'v Value>) -> Result<NextValue<'v>, PathPatchError> {
        match here {
            None | Some(Value::Null) => Ok((Step::Index(0), None)),
            Some(Value::Array(items)) => Ok((Step::Index(items.len()), None)),
            Some(_) => Err(self.not_a_list(number, here)),
        }
    }

    fn every(&mut self, number: usize, here: Option<&Value>) -> Result<(), PathPatchError> {
        let items = self.items(number, here)?;
        if items.is_empty() {
            self.miss(number);
        }
        self.branches(number, items.iter().enumerate())
    }

    fn filter(
        &mut self,
        number: usize,
        here: Option<&Value>,
        field: &[Text],
        value: &Text,
    ) -> Result<(), PathPatchError> {
        let items = self.items(number, here)?;
        let cost = items.len().saturating_mul(field.len());
        self.budget.step(cost as u64).map_err(|exhausted| self.exhausted(number, exhausted))?;
        let is_meant =
            |item: &Value| filter::field_of(item, field).is_some_and(|found| filter::is_text(found, value));
        let mut meant = items.iter().enumerate().filter(|(_, item)| is_meant(item)).peekable();
        if meant.peek().is_none() {
            self.miss(number);
        }
        self.branches(number, meant)
    }

    fn items<'v>(&self, number: usize, here: Option<&'v Value>) -> Result<&'v [Value], PathPatchError> {
        let items = here.and_then(Value::as_array);
        items.ok_or_else(|| self.not_a_list(number, here))
    }

    /// Goes on with each of `items` after segment `number`.
    fn branches<'v>(
        &mut self,
        number: usize,
        mut items: impl Iterator<Item = (usize, &'v Value)>,
    ) -> Result<(), PathPatchError> {
        self.budget.enter().map_err(|exhausted| self.exhausted(number, exhausted))?;
        let depth = self.steps.len();
        let followed = items.try_for_each(|(index, item)| {
            self.steps.push(Step::Index(index));
            self.from(number + 1, Some(item))?;
            self.steps.truncate(depth);
            Ok(())
        });
        self.budget.leave();
        followed
    }

    /// Notes the first list in which nothing is chosen, and counts the others.
    fn miss(&mut self, number: usize) {
        match &mut self.found.missed {
            Some(missed) => missed.others += 1,
            missed @ None => {
                *missed = Some(UnmatchedList { segment: number, list: self.steps.clone(), others: 0 });
            }
        }
    }

    /// Charges for one step, and for the copy of what is here, in case that it is shared.
    fn charge(&mut self, number: usize, here: Option<&Value>) -> Result<(), PathPatchError> {
        let parts = match here {
            Some(Value::Object(map)) => map.len(),
            Some(Value::Array(items)) => items.len(),
            _ => 0,
        };
        self.budget.step(1 + shifting(parts)).map_err(|exhausted| self.exhausted(number, exhausted))
    }

    fn not_a_list(&self, number: usize, here: Option<&Value>) -> PathPatchError {
        let mut error = failure::not_a_list(self.path, number, self.document, &self.steps, here);
        if self.op == PathOp::Add && error.help.is_none() {
            error.help = failure::key_help(self.path, number);
        }
        error
    }

    fn exhausted(&self, number: usize, exhausted: Exhausted) -> PathPatchError {
        failure::budget_exceeded(self.path, number, exhausted)
    }
}
