//! The annotation in which `kubectl apply` keeps what was last applied.
//!
//! A patch changes its content too, so that the next `kubectl apply` does not undo the patch.
//! KubeMod rewrites the annotation whenever a rule matches and panics when it is empty or removed;
//! here it changes only together with the object, and a patch that does not fit it leaves it as it is.

use kubewright_lang::patch::{self, Operation, Options};
use kubewright_value::{Budget, Map, Value, json};

/// The annotation's name.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const PLACE: [&str; 3] = ["metadata", "annotations", LAST_APPLIED];

/// Returns `after` with the operations that led there applied inside its annotation as well.
pub(super) fn patch_along(before: &Value, after: Value, operations: &[Operation], options: &Options, budget: &mut Budget) -> Value {
    let Some(text) = after.at(&PLACE).and_then(Value::as_str) else { return after };
    let is_touched = before.at(&PLACE).and_then(Value::as_str) != Some(text);
    if is_touched || before == &after {
        return after;
    }
    let Ok(mut configuration) = json::parse(text) else { return after };
    if patch::apply(&mut configuration, operations, options, budget).is_err() {
        return after;
    }
    let rewritten = json::to_string(&sorted(&configuration));
    let mut after = after;
    let mut at = Some(&mut after);
    for key in PLACE {
        at = at.and_then(Value::as_object_mut).and_then(|map| map.get_mut(key));
    }
    if let Some(annotation) = at {
        *annotation = rewritten.into();
    }
    after
}

/// Returns `value` with the keys of every object in alphabetical order, as Go writes them.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sorted).collect()),
        Value::Object(map) => map.sorted().into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect::<Map>().into(),
        scalar => scalar.clone(),
    }
}
