//! The annotation in which `kubectl apply` stores the last applied configuration.
//!
//! A patch changes its content too, so that the next `kubectl apply` does not undo the patch.
//! KubeMod rewrites the annotation whenever a rule matches and panics when it is empty or removed;
//! here it changes only together with the object, and a patch that does not fit it leaves it as it is.

use kubewright_patch::{self as patch, JsonPatchOperation, PatchOptions};
use kubewright_value::{Budget, Map, Text, Value, bounded};

/// The annotation's name.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const LAST_APPLIED_PATH: [&str; 3] = ["metadata", "annotations", LAST_APPLIED];

/// Returns the text of the annotation.
pub(super) fn last_applied_text(object: &Value) -> Option<Text> {
    match object.at(&LAST_APPLIED_PATH) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Applies `operations`, which have changed `object`, inside its annotation as well. `before` is the annotation's
/// text before them; a rule that sets or removes the annotation itself has its way.
pub(super) fn patch_last_applied(
    object: &mut Value,
    before: &Text,
    operations: &[JsonPatchOperation],
    options: &PatchOptions,
    budget: &mut Budget,
) {
    if last_applied_text(object).as_ref() != Some(before) {
        return;
    }
    let Ok(Ok(mut configuration)) = bounded::parse_bounded_json(before, budget) else { return };
    if patch::apply_patch(&mut configuration, operations, options, budget).is_err() {
        return;
    }
    let Ok(text) = bounded::to_json(&with_sorted_keys(&configuration), budget) else { return };
    let annotation =
        LAST_APPLIED_PATH.iter().try_fold(object, |here, key| here.as_object_mut()?.get_mut(key));
    if let Some(annotation) = annotation {
        *annotation = text.into();
    }
}

/// Returns `value` with the keys of every object in alphabetical order, as Go writes them.
pub(super) fn with_sorted_keys(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(with_sorted_keys).collect()),
        Value::Object(map) => map
            .sorted()
            .into_iter()
            .map(|(key, value)| (key.clone(), with_sorted_keys(value)))
            .collect::<Map>()
            .into(),
        scalar => scalar.clone(),
    }
}
