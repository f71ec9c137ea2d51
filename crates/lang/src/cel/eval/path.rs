//! Fields and indexes.

use super::{Failure, Outcome, Run, no_overload};
use crate::cel::error::EvalErrorKind;
use crate::cel::plan::{Path, Plan, Step, StepKind};
use crate::cel::val::{List, MapVal, Val};

impl<'a> Run<'_, 'a> {
    pub(super) fn path(&mut self, path: &'a Path) -> Outcome<'a> {
        let root = self.root(&path.root)?;
        match self.follow(root, &path.steps)? {
            (Some(value), false) => Ok(value),
            (Some(value), true) => Ok(Val::some(value)),
            (None, _) => Ok(Val::Optional(None)),
        }
    }

    pub(super) fn has(&mut self, path: &'a Path) -> Result<bool, Failure> {
        let root = self.root(&path.root)?;
        let Some((last, steps)) = path.steps.split_last() else { return Ok(false) };
        let (Some(value), _) = self.follow(root, steps)? else { return Ok(false) };
        let StepKind::Field(name) = &last.what else { return Ok(false) };
        let value = match value {
            Val::Optional(None) => return Ok(false),
            Val::Optional(Some(value)) => (*value).clone(),
            value => value,
        };
        match value {
            Val::Map(MapVal::Borrowed(map)) => Ok(map.contains_key(name)),
            Val::Map(map) => Ok(map.field(name).is_some()),
            other => Err(no_field(&other, name).at(last.at)),
        }
    }

    fn root(&mut self, root: &'a Plan) -> Outcome<'a> {
        match root {
            Plan::Variable(..) | Plan::Local(_) => self.eval(root),
            other => {
                let value = self.eval(other)?;
                self.cost.charge(1)?;
                Ok(value)
            }
        }
    }

    /// Follows `steps`; returns what is there, and whether it is an optional's.
    fn follow(&mut self, mut value: Val<'a>, steps: &'a [Step]) -> Result<(Option<Val<'a>>, bool), Failure> {
        let mut is_optional = false;
        for step in steps {
            if let Val::Optional(inner) = value {
                is_optional = true;
                match inner {
                    Some(inner) => value = (*inner).clone(),
                    None => return Ok((None, true)),
                }
            }
            is_optional |= step.is_optional;
            self.cost.charge(1)?;
            let found = match &step.what {
                StepKind::Field(name) => self::field(&value, name),
                StepKind::Index(plan) => {
                    let key = self.eval(plan)?;
                    item(&value, &key)
                }
            };
            value = match found {
                Ok(Some(found)) => found,
                Ok(None) if is_optional => return Ok((None, true)),
                Ok(None) => return Err(missing(&value, &step.what).at(step.at)),
                Err(failure) => return Err(failure.at(step.at)),
            };
        }
        Ok((Some(value), is_optional))
    }
}

#[inline]
fn field<'a>(value: &Val<'a>, name: &str) -> Result<Option<Val<'a>>, Failure> {
    match value {
        Val::Map(map) => Ok(map.field(name)),
        other => Err(no_field(other, name)),
    }
}

fn no_field(value: &Val<'_>, name: &str) -> Failure {
    no_overload(&format!("a value of type `{}` has no field `{name}`", value.type_name()))
}

/// Returns the item of a list or map; an integer may be of any type.
pub(in crate::cel) fn item<'a>(value: &Val<'a>, key: &Val<'_>) -> Result<Option<Val<'a>>, Failure> {
    match (value, key) {
        (Val::List(list), Val::Int(_) | Val::UInt(_) | Val::Double(_)) => at_index(list, key),
        (Val::Map(map), Val::Bool(_) | Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::String(_)) => {
            Ok(map.get(key))
        }
        _ => Err(no_overload(&format!(
            "a value of type `{}` has no index of type `{}`",
            value.type_name(),
            key.type_name()
        ))),
    }
}

fn at_index<'a>(list: &List<'a>, key: &Val<'_>) -> Result<Option<Val<'a>>, Failure> {
    let index = match key {
        Val::Int(index) => usize::try_from(*index).ok(),
        Val::UInt(index) => usize::try_from(*index).ok(),
        Val::Double(index) => match crate::cel::val::exact_integer(*index) {
            Some(index) => usize::try_from(index).ok(),
            None => return Err(Failure::value(format!("invalid index: {index}"))),
        },
        _ => None,
    };
    Ok(index.and_then(|index| list.get(index)))
}

fn missing(value: &Val<'_>, what: &StepKind) -> Failure {
    let message = match (value, what) {
        (Val::List(_), StepKind::Index(Plan::Constant(index, _))) => {
            format!("index out of bounds: {index:?}")
        }
        (Val::List(_), _) => "index out of bounds".to_owned(),
        (_, StepKind::Field(name)) => format!("no such key: {name}"),
        (_, StepKind::Index(Plan::Constant(Val::String(name), _))) => format!("no such key: {name}"),
        (_, StepKind::Index(Plan::Constant(key, _))) => format!("no such key: {key:?}"),
        _ => "no such key".to_owned(),
    };
    Failure::new(EvalErrorKind::Missing, message)
}
