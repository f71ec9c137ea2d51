//! Macros that iterate over lists and maps.

use super::{CelEvaluator, CelFailure, CelResult, LIST_COST, insert_entry, overload_error};
use crate::library::sort_by_keys;
use crate::plan::{CelPlan, FoldKind, PlannedFold};
use crate::val::{ListVal, MapEntries, MapVal, Val};

/// The cost of appending an element: reading the list, making a list of one element, and joining both.
const APPEND_COST: u64 = 12;

/// The list or map that a macro iterates over.
enum FoldRange<'a> {
    List(ListVal<'a>),
    Map(MapVal<'a>),
}

impl<'a> FoldRange<'a> {
    fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
        }
    }
}

impl<'a> CelEvaluator<'_, 'a> {
    pub(super) fn fold(&mut self, fold: &'a PlannedFold) -> CelResult<'a> {
        let range = match self.eval(&fold.range)? {
            Val::List(list) => FoldRange::List(list),
            Val::Map(map) => FoldRange::Map(map),
            other => {
                let message = format!("a value of type `{}` cannot be iterated over", other.type_name());
                return Err(overload_error(&message).at(fold.at));
            }
        };
        match fold.kind {
            FoldKind::All => self.decide_all(fold, &range, false),
            FoldKind::Exists => self.decide_all(fold, &range, true),
            FoldKind::ExistsOne => self.exists_one(fold, &range),
            FoldKind::Filter => self.filter(fold, &range),
            FoldKind::Map => self.transform(fold, &range),
            FoldKind::TransformMap | FoldKind::TransformMapEntry => self.transform_map(fold, &range),
            FoldKind::SortBy => self.sort_by(fold, &range),
        }
    }

    /// Sets the variables of a macro to the element of `range` at `index` and returns it, or the key of an entry.
    pub(crate) fn enter_element(
        &mut self,
        fold: &'a PlannedFold,
        range: &Val<'a>,
        index: usize,
    ) -> Option<Val<'a>> {
        let range = match range {
            Val::List(list) => FoldRange::List(list.clone()),
            Val::Map(map) => FoldRange::Map(map.clone()),
            _ => return None,
        };
        self.take(fold, &range, index).ok()?;
        Some(match (&range, fold.second) {
            (FoldRange::List(_), Some(second)) => self.local(second),
            _ => self.local(fold.first),
        })
    }

    fn decide_all(&mut self, fold: &'a PlannedFold, range: &FoldRange<'a>, decisive: bool) -> CelResult<'a> {
        let mut failed = None;
        // The API server evaluates the loop condition before each element.
        let loop_cost = if decisive { 3 } else { 2 };
        let length = range.len();
        for index in 0..length {
            self.take(fold, range, index)?;
            self.cost.charge(loop_cost + 1)?;
            match self.condition(&fold.body) {
                Ok(value) if value == decisive => {
                    self.cost.charge(1 + if index + 1 < length { loop_cost } else { 0 })?;
                    return Ok(Val::Bool(decisive));
                }
                Ok(_) => {}
                Err(failure) if failure.is_limit() => return Err(failure),
                Err(failure) => {
                    failed.get_or_insert(failure);
                }
            }
        }
        self.cost.charge(1)?;
        failed.map_or(Ok(Val::Bool(!decisive)), |failure| Err(failure.at(fold.at)))
    }

    fn exists_one(&mut self, fold: &'a PlannedFold, range: &FoldRange<'a>) -> CelResult<'a> {
        let mut count = 0_usize;
        for index in 0..range.len() {
            self.take(fold, range, index)?;
            if self.holds(fold)? {
                count += 1;
                self.cost.charge(2)?;
            }
        }
        self.cost.charge(2)?;
        Ok(Val::Bool(count == 1))
    }

    fn filter(&mut self, fold: &'a PlannedFold, range: &FoldRange<'a>) -> CelResult<'a> {
        let mut kept = Vec::new();
        for index in 0..range.len() {
            self.take(fold, range, index)?;
            let value = self.local(fold.first);
            if self.holds(fold)? {
                kept.push(value);
                self.cost.charge(APPEND_COST + 1)?;
            }
        }
        self.cost.charge(1)?;
        Ok(Val::list(kept))
    }

    fn transform(&mut self, fold: &'a PlannedFold, range: &FoldRange<'a>) -> CelResult<'a> {
        let mut made = Vec::with_capacity(range.len().min(1024));
        // A list of one literal is a constant, which costs nothing.
        let append =
            if matches!(fold.body, CelPlan::Constant(_, 0)) { APPEND_COST - LIST_COST } else { APPEND_COST };
        for index in 0..range.len() {
            self.take(fold, range, index)?;
            if self.is_wanted(fold)? {
                made.push(self.eval(&fold.body)?);
                self.cost.charge(append)?;
            }
        }
        self.cost.charge(1)?;
        Ok(Val::list(made))
    }

    fn transform_map(&mut self, fold: &'a PlannedFold, range: &FoldRange<'a>) -> CelResult<'a> {
        let mut entries = MapEntries::new();
        for index in 0..range.len() {
            self.take(fold, range, index)?;
            let key = self.local(fold.first);
            if !self.is_wanted(fold)? {
                continue;
            }
            let value = self.eval(&fold.body)?;
            if fold.kind == FoldKind::TransformMap {
                self.cost.charge(3)?;
                insert_entry(&mut entries, key, value).map_err(|failure| failure.at(fold.at))?;
                continue;
            }
            self.cost.charge(2)?;
            let Val::Map(made) = value else {
                let message = format!("`transformMapEntry` needs a map, found `{}`", value.type_name());
                return Err(overload_error(&message).at(fold.at));
            };
            self.cost.work(made.len())?;
            for (key, value) in made.iter() {
                insert_entry(&mut entries, key, value).map_err(|failure| failure.at(fold.at))?;
            }
        }
        self.cost.charge(1)?;
        Ok(Val::Map(MapVal::Made(entries.into())))
    }

    fn sort_by(&mut self, fold: &'a PlannedFold, range: &FoldRange<'a>) -> CelResult<'a> {
        let mut keyed = Vec::with_capacity(range.len().min(1024));
        for index in 0..range.len() {
            self.take(fold, range, index)?;
            let value = self.local(fold.first);
            keyed.push((self.eval(&fold.body)?, value));
            self.cost.charge(APPEND_COST)?;
        }
        self.cost.charge(4)?;
        self.cost.work(keyed.len().saturating_mul(8))?;
        sort_by_keys(&mut keyed).map_err(|failure| failure.at(fold.at))?;
        Ok(Val::list(keyed.into_iter().map(|(_, value)| value).collect()))
    }

    /// Sets the variables to the element at `index`.
    #[inline]
    fn take(&mut self, fold: &PlannedFold, range: &FoldRange<'a>, index: usize) -> Result<(), CelFailure> {
        self.cost.work(1)?;
        match (range, fold.second) {
            (FoldRange::List(list), None) => self.set(fold.first, list.get(index).unwrap_or_default()),
            (FoldRange::List(list), Some(second)) => {
                self.set(fold.first, Val::Int(i64::try_from(index).unwrap_or(i64::MAX)));
                self.set(second, list.get(index).unwrap_or_default());
            }
            (FoldRange::Map(map), second) => {
                let (key, value) = map.entry(index).unwrap_or_default();
                self.set(fold.first, key);
                if let Some(second) = second {
                    self.set(second, value);
                }
            }
        }
        Ok(())
    }

    fn holds(&mut self, fold: &'a PlannedFold) -> Result<bool, CelFailure> {
        self.condition(&fold.body).map_err(|failure| failure.at(fold.at))
    }

    fn is_wanted(&mut self, fold: &'a PlannedFold) -> Result<bool, CelFailure> {
        match &fold.filter {
            Some(filter) => self.condition(filter).map_err(|failure| failure.at(fold.at)),
            None => Ok(true),
        }
    }
}
