//! Paths and operations, without the templates around them.

use kubewright_lang::patch::Pointer;
use kubewright_lang::pathpatch::{Op, Path, Segment};
use kubewright_value::{Budget, Map, Step, Value};

use super::Answer;
use crate::suites::{list, text};

/// Does the operations of `{operations, resource}` and returns `{resource}`.
pub(super) fn apply(input: &Value) -> Answer {
    let mut resource = input.get("resource").cloned().unwrap_or_default();
    for operation in list(input, "operations") {
        let name = text(operation, "op");
        let op = Op::named(name).ok_or_else(|| format!("unknown operation `{name}`"))?;
        let path = Path::parse(text(operation, "path")).map_err(|error| error.to_string())?;
        let value = operation.get("value").unwrap_or(&Value::Null);
        path.apply(op, value, &mut resource, &mut Budget::default()).map_err(|error| error.to_string())?;
    }
    Ok(Value::object(Map::from([("resource", resource)])))
}

/// Expands `{path, resource}` and returns `{pointers}`.
pub(super) fn expand(input: &Value) -> Answer {
    let path = Path::parse(text(input, "path")).map_err(|error| error.to_string())?;
    let resource = input.get("resource").unwrap_or(&Value::Null);
    let places =
        path.expand(resource, Op::Add, &mut Budget::default()).map_err(|error| error.to_string())?;
    let is_append = path.segments().last() == Some(&Segment::Append);
    let pointers: Vec<Value> = places.into_iter().map(|place| pointer(place, is_append)).collect();
    Ok(Value::object(Map::from([("pointers", Value::array(pointers))])))
}

/// The recording writes the place after the last item as `-`.
fn pointer(mut place: Vec<Step>, is_append: bool) -> Value {
    if is_append && let Some(last) = place.last_mut() {
        *last = Step::from("-");
    }
    Value::from(Pointer::from_steps(&place).to_string())
}
