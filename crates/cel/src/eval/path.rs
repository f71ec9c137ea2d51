//! Fields and indexes.

use kubewright_value::Value;

use super::{Failure, Outcome, Run, no_overload};
use crate::error::EvalErrorKind;
use crate::plan::{Path, Plan, Step, StepKind};
use crate::val::{List, MapVal, Val};

impl<'a> Run<'_, 'a> {
    pub(super) fn path(&mut self, path: &'a Path) -> Outcome<'a> {
        match self.found(path)? {
            (Some(value), false) => Ok(value),
            (Some(value), true) => Ok(Val::some(value)),
            (None, _) => Ok(Val::Optional(None)),
        }
    }

    /// Returns what is at the end of `path`, and whether it is an optional's.
    pub(super) fn found(&mut self, path: &'a Path) -> Result<(Option<Val<'a>>, bool), Failure> {
        let root = self.root(&path.root)?;
        self.follow(root, &path.steps)
    }

    pub(super) fn has(&mut self, path: &'a Path) -> Result<bool, Failure> {
        let root = self.root(&path.root)?;
        let Some((last, steps)) = path.steps.split_last() else { return Ok(false) };
        let (Some(value), _) = self.follow(root, steps)? else { return Ok(false) };
        self.cost.charge(1)?;
        let StepKind::Field(name) = &last.what else { return Ok(false) };
        let value = match value {
            Val::Optional(None) => return Ok(false),
            Val::Optional(Some(value)) => (*value).clone(),
            value => value,
        };
        match value {
            Val::Map(MapVal::Borrowed(map)) => Ok(last.near.get(map, name).is_some()),
            Val::Map(map) => Ok(map.field(name).is_some()),
            other if is_plain(&other) => Ok(false),
            other => match object_field(&other, name) {
                Some(value) => Ok(!value.is_zero()),
                None => Err(no_field(&other, name).at(last.at)),
            },
        }
    }

    fn root(&mut self, root: &'a Plan) -> Outcome<'a> {
        match root {
            Plan::Variable(..) | Plan::Local(_) => self.attribute(root),
            other => self.eval(other),
        }
    }

    /// Follows `steps`; returns what is there, and whether it is an optional's.
    fn follow(&mut self, value: Val<'a>, steps: &'a [Step]) -> Result<(Option<Val<'a>>, bool), Failure> {
        let Val::Map(MapVal::Borrowed(map)) = value else { return self.follow_any(value, steps) };
        // Fields of JSON, which most paths are made of, are followed without a detour.
        let mut current: Option<&'a Value> = None;
        for (index, step) in steps.iter().enumerate() {
            let (StepKind::Field(name), false) = (&step.what, step.is_optional) else {
                let value = current.map_or(Val::Map(MapVal::Borrowed(map)), Val::borrowed);
                return self.follow_any(value, steps.get(index..).unwrap_or_default());
            };
            self.cost.charge(1)?;
            let object = match current {
                None => map,
                Some(Value::Object(object)) => object,
                Some(other) => return Err(no_field(&Val::borrowed(other), name).at(step.at)),
            };
            current = step.near.get(object, name);
            if current.is_none() {
                return Err(Failure::missing_key(name).at(step.at));
            }
        }
        Ok((Some(current.map_or(Val::Map(MapVal::Borrowed(map)), Val::borrowed)), false))
    }

    fn follow_any(
        &mut self,
        mut value: Val<'a>,
        steps: &'a [Step],
    ) -> Result<(Option<Val<'a>>, bool), Failure> {
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
            let found = match &step.what {
                StepKind::Field(_) if is_optional && self.is_forgiving && is_plain(&value) => Ok(None),
                // What is not set in an object is absent, and otherwise zero or empty.
                StepKind::Field(name) if step.is_optional && matches!(value, Val::Opaque(_)) => {
                    self::field(&value, name).map(|found| found.filter(|found| !found.is_zero()))
                }
                StepKind::Field(name) => match &value {
                    Val::Map(MapVal::Borrowed(map)) => Ok(step.near.get(map, name).map(Val::borrowed)),
                    other => self::field(other, name),
                },
                StepKind::Index(plan) => {
                    let key = self.attribute(plan)?;
                    if is_optional && self.is_forgiving && is_plain(&value) {
                        Ok(None)
                    } else {
                        item(&value, &key)
                    }
                }
            };
            value = match found {
                Ok(Some(found)) => found,
                Ok(None) if is_optional => return Ok((None, true)),
                Ok(None) => {
                    self.cost.charge(1)?;
                    return Err(missing(&value, &step.what).at(step.at));
                }
                Err(failure) => {
                    self.cost.charge(1)?;
                    return Err(failure.at(step.at));
                }
            };
            self.cost.charge(1)?;
        }
        Ok((Some(value), is_optional))
    }
}

/// Returns whether this is neither a list, a map, nor a value of a library: it has no field, which is no error
/// to ask for.
fn is_plain(value: &Val<'_>) -> bool {
    !matches!(value, Val::List(_) | Val::Map(_) | Val::Opaque(_))
}

#[inline]
fn field<'a>(value: &Val<'a>, name: &str) -> Result<Option<Val<'a>>, Failure> {
    match value {
        Val::Map(map) => Ok(map.field(name)),
        other => object_field(other, name).map(Some).ok_or_else(|| no_field(other, name)),
    }
}

fn object_field(value: &Val<'_>, name: &str) -> Option<Val<'static>> {
    match value {
        Val::Opaque(object) => object.field(name),
        _ => None,
    }
}

fn no_field(value: &Val<'_>, name: &str) -> Failure {
    if is_plain(value) {
        return Failure::missing_key(name);
    }
    no_overload(&format!("a value of type `{}` has no field `{name}`", value.type_name()))
}

/// Returns the item of a list or map; an integer may be of any type.
pub(crate) fn item<'a>(value: &Val<'a>, key: &Val<'_>) -> Result<Option<Val<'a>>, Failure> {
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
        Val::Double(index) => match crate::val::exact_integer(*index) {
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
        (_, StepKind::Field(name)) => return Failure::missing_key(name),
        (_, StepKind::Index(Plan::Constant(Val::String(name), _))) => return Failure::missing_key(name),
        (_, StepKind::Index(Plan::Constant(key, _))) => format!("no such key: {key:?}"),
        _ => "no such key".to_owned(),
    };
    Failure::new(EvalErrorKind::Missing, message)
}
