//! Fields and indexes.

use kubewright_value::Value;

use super::{CelEvaluator, CelFailure, CelResult, overload_error};
use crate::error::CelErrorKind;
use crate::plan::{CelPlan, PlannedPath, PlannedStep, PlannedStepKind};
use crate::val::{ListVal, MapVal, Val};

impl<'a> CelEvaluator<'_, 'a> {
    pub(super) fn path(&mut self, path: &'a PlannedPath) -> CelResult<'a> {
        match self.found(path)? {
            (Some(value), false) => Ok(value),
            (Some(value), true) => Ok(Val::some(value)),
            (None, _) => Ok(Val::Optional(None)),
        }
    }

    /// Returns the value at the end of `path`, and whether the path is optional.
    pub(super) fn found(&mut self, path: &'a PlannedPath) -> Result<(Option<Val<'a>>, bool), CelFailure> {
        let root = self.root(&path.root)?;
        self.follow(root, &path.steps)
    }

    pub(super) fn has(&mut self, path: &'a PlannedPath) -> Result<bool, CelFailure> {
        let root = self.root(&path.root)?;
        let Some((last, steps)) = path.steps.split_last() else { return Ok(false) };
        let (Some(value), _) = self.follow(root, steps)? else { return Ok(false) };
        self.cost.charge(1)?;
        let PlannedStepKind::Field(name) = &last.what else { return Ok(false) };
        let value = match value {
            Val::Optional(None) => return Ok(false),
            Val::Optional(Some(value)) => (*value).clone(),
            value => value,
        };
        match value {
            Val::Map(MapVal::Borrowed(map)) => Ok(last.position_hint.get(map, name).is_some()),
            Val::Map(map) => Ok(map.field(name).is_some()),
            other if is_plain_val(&other) => Ok(false),
            other => match read_opaque_field(&other, name) {
                Some(value) => Ok(!value.is_zero()),
                None => Err(missing_field_error(&other, name).at(last.at)),
            },
        }
    }

    fn root(&mut self, root: &'a CelPlan) -> CelResult<'a> {
        match root {
            CelPlan::Variable(..) | CelPlan::Local(_) => self.attribute(root),
            other => self.eval(other),
        }
    }

    /// Follows `steps`; returns the value, and whether the path is optional.
    fn follow(
        &mut self,
        value: Val<'a>,
        steps: &'a [PlannedStep],
    ) -> Result<(Option<Val<'a>>, bool), CelFailure> {
        let Val::Map(MapVal::Borrowed(map)) = value else { return self.follow_from(value, steps, false) };
        // Fast path: most paths are made of fields of JSON objects.
        let mut current: Option<&'a Value> = None;
        let mut is_optional = false;
        for (index, step) in steps.iter().enumerate() {
            let PlannedStepKind::Field(name) = &step.what else {
                let value = current.map_or(Val::Map(MapVal::Borrowed(map)), Val::borrowed);
                return self.follow_from(value, steps.get(index..).unwrap_or_default(), is_optional);
            };
            is_optional |= step.is_optional;
            let object = match current {
                None => map,
                Some(Value::Object(object)) => object,
                Some(other) => return self.field_of_other(other, name, is_optional, step.at),
            };
            current = step.position_hint.get(object, name);
            if current.is_none() && is_optional {
                return Ok((None, true));
            }
            self.cost.charge(1)?;
            if current.is_none() {
                return Err(CelFailure::missing_key(name).at(step.at));
            }
        }
        Ok((Some(current.map_or(Val::Map(MapVal::Borrowed(map)), Val::borrowed)), is_optional))
    }

    /// Reads a field of JSON that is not an object.
    #[cold]
    fn field_of_other(
        &mut self,
        value: &'a Value,
        name: &str,
        is_optional: bool,
        at: u32,
    ) -> Result<(Option<Val<'a>>, bool), CelFailure> {
        let value = Val::borrowed(value);
        if is_optional && self.is_forgiving && is_plain_val(&value) {
            return Ok((None, true));
        }
        self.cost.charge(1)?;
        Err(missing_field_error(&value, name).at(at))
    }

    /// Follows `steps` from any value; `is_optional`: a step before them was optional.
    fn follow_from(
        &mut self,
        mut value: Val<'a>,
        steps: &'a [PlannedStep],
        mut is_optional: bool,
    ) -> Result<(Option<Val<'a>>, bool), CelFailure> {
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
                PlannedStepKind::Field(_) if is_optional && self.is_forgiving && is_plain_val(&value) => {
                    Ok(None)
                }
                // An unset field of a message is absent for an optional step, and zero or empty otherwise.
                PlannedStepKind::Field(name) if step.is_optional && matches!(value, Val::Opaque(_)) => {
                    self::read_field(&value, name).map(|found| found.filter(|found| !found.is_zero()))
                }
                PlannedStepKind::Field(name) => match &value {
                    Val::Map(MapVal::Borrowed(map)) => {
                        Ok(step.position_hint.get(map, name).map(Val::borrowed))
                    }
                    other => self::read_field(other, name),
                },
                PlannedStepKind::Index(plan) => {
                    let key = self.attribute(plan)?;
                    if is_optional && self.is_forgiving && is_plain_val(&value) {
                        Ok(None)
                    } else {
                        read_item(&value, &key)
                    }
                }
            };
            value = match found {
                Ok(Some(found)) => found,
                Ok(None) if is_optional => return Ok((None, true)),
                Ok(None) => {
                    self.cost.charge(1)?;
                    return Err(missing_step_error(&value, &step.what).at(step.at));
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

/// Returns whether `value` is neither a list, a map, nor a value of a library. It has no fields, and reading
/// one optionally is not an error.
fn is_plain_val(value: &Val<'_>) -> bool {
    !matches!(value, Val::List(_) | Val::Map(_) | Val::Opaque(_))
}

#[inline]
fn read_field<'a>(value: &Val<'a>, name: &str) -> Result<Option<Val<'a>>, CelFailure> {
    match value {
        Val::Map(map) => Ok(map.field(name)),
        other => read_opaque_field(other, name).map(Some).ok_or_else(|| missing_field_error(other, name)),
    }
}

fn read_opaque_field(value: &Val<'_>, name: &str) -> Option<Val<'static>> {
    match value {
        Val::Opaque(object) => object.field(name),
        _ => None,
    }
}

fn missing_field_error(value: &Val<'_>, name: &str) -> CelFailure {
    if is_plain_val(value) {
        return CelFailure::missing_key(name);
    }
    overload_error(&format!("a value of type `{}` has no field `{name}`", value.type_name()))
}

/// Returns an item of a list or map; an integer key may be of any numeric type.
pub(crate) fn read_item<'a>(value: &Val<'a>, key: &Val<'_>) -> Result<Option<Val<'a>>, CelFailure> {
    match (value, key) {
        (Val::List(list), Val::Int(_) | Val::UInt(_) | Val::Double(_)) => read_list_index(list, key),
        (Val::Map(map), Val::Bool(_) | Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::String(_)) => {
            Ok(map.get(key))
        }
        _ => Err(overload_error(&format!(
            "a value of type `{}` has no index of type `{}`",
            value.type_name(),
            key.type_name()
        ))),
    }
}

fn read_list_index<'a>(list: &ListVal<'a>, key: &Val<'_>) -> Result<Option<Val<'a>>, CelFailure> {
    let index = match key {
        Val::Int(index) => usize::try_from(*index).ok(),
        Val::UInt(index) => usize::try_from(*index).ok(),
        Val::Double(index) => match crate::val::exact_integer(*index) {
            Some(index) => usize::try_from(index).ok(),
            None => return Err(CelFailure::value(format!("invalid index: {index}"))),
        },
        _ => None,
    };
    Ok(index.and_then(|index| list.get(index)))
}

fn missing_step_error(value: &Val<'_>, what: &PlannedStepKind) -> CelFailure {
    let message = match (value, what) {
        (Val::List(_), PlannedStepKind::Index(CelPlan::Constant(index, _))) => {
            format!("index out of bounds: {index:?}")
        }
        (Val::List(_), _) => "index out of bounds".to_owned(),
        (_, PlannedStepKind::Field(name)) => return CelFailure::missing_key(name),
        (_, PlannedStepKind::Index(CelPlan::Constant(Val::String(name), _))) => {
            return CelFailure::missing_key(name);
        }
        (_, PlannedStepKind::Index(CelPlan::Constant(key, _))) => format!("no such key: {key:?}"),
        _ => "no such key".to_owned(),
    };
    CelFailure::new(CelErrorKind::Missing, message)
}
