//! The annotation in which `kubectl apply` keeps what was last applied.
//!
//! A patch changes its content too, so that the next `kubectl apply` does not undo the patch.
//! KubeMod rewrites the annotation whenever a rule matches and panics when it is empty or removed;
//! here it changes only together with the object, and a patch that does not fit it leaves it as it is.

use kubewright_patch::{self as patch, JsonPatchOperation, PatchOptions};
use kubewright_value::{Budget, Map, Text, Value, bounded};

/// The annotation's name.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const PLACE: [&str; 3] = ["metadata", "annotations", LAST_APPLIED];

/// Returns the text of the annotation.
pub(super) fn text(object: &Value) -> Option<Text> {
    match object.at(&PLACE) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Applies `operations`, which have changed `object`, inside its annotation as well. `before` is the annotation's
/// text before them; a rule that sets or removes the annotation itself has its way.
pub(super) fn patch_along(
    object: &mut Value,
    before: &Text,
    operations: &[JsonPatchOperation],
    options: &PatchOptions,
    budget: &mut Budget,
) {
    if text(object).as_ref() != Some(before) {
        return;
    }
    let Ok(Ok(mut configuration)) = bounded::parse_bounded_json(before, budget) else { return };
    if patch::apply_patch(&mut configuration, operations, options, budget).is_err() {
        return;
    }
    let Ok(text) = bounded::to_json(&sorted(&configuration), budget) else { return };
    let annotation = PLACE.iter().try_fold(object, |here, key| here.as_object_mut()?.get_mut(key));
    if let Some(annotation) = annotation {
        *annotation = text.into();
    }
}

/// Returns `value` with the keys of every object in alphabetical order, as Go writes them.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            map.sorted().into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect::<Map>().into()
        }
        scalar => scalar.clone(),
    }
}
