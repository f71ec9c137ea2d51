//! From a value to its parts.

use std::sync::Arc;

use kubewright_value::{Text, Value};

use super::failure::{OperationFailure, bad_index, index_out_of_range, missing_part, not_a_container};
use super::{PatchErrorKind, PatchOptions, index};

/// Returns the value at `tokens`.
pub(super) fn find_value<'a>(
    document: &'a Value,
    tokens: &[Text],
    options: &PatchOptions,
) -> Result<&'a Value, OperationFailure> {
    tokens.iter().try_fold(document, |here, token| match here {
        Value::Object(map) => map.get(token).ok_or_else(|| missing_part(token)),
        Value::Array(items) => {
            let place = index_in_list(token, items.len(), options)?;
            items.get(place).ok_or_else(|| index_out_of_range(token, items.len()))
        }
        scalar => Err(not_a_container(token, scalar.kind())),
    })
}

/// Returns the part of `here` for editing.
pub(super) fn part_mut<'a>(
    here: &'a mut Value,
    token: &Text,
    options: &PatchOptions,
) -> Result<&'a mut Value, OperationFailure> {
    match here {
        Value::Object(map) => Arc::make_mut(map).get_mut(token).ok_or_else(|| missing_part(token)),
        Value::Array(items) => {
            let len = items.len();
            let place = index_in_list(token, len, options)?;
            Arc::make_mut(items).get_mut(place).ok_or_else(|| index_out_of_range(token, len))
        }
        scalar => Err(not_a_container(token, scalar.kind())),
    }
}

/// Returns the place of the part of `here`, which [`part_at`] takes.
pub(super) fn part_position(
    here: &Value,
    token: &Text,
    options: &PatchOptions,
) -> Result<usize, OperationFailure> {
    match here {
        Value::Object(map) => map.position(token).ok_or_else(|| missing_part(token)),
        Value::Array(items) => index_in_list(token, items.len(), options),
        scalar => Err(not_a_container(token, scalar.kind())),
    }
}

/// Returns the part of `here` at `position` for editing.
pub(super) fn part_at(here: &mut Value, position: usize) -> Option<&mut Value> {
    match here {
        Value::Object(map) => Arc::make_mut(map).entry_mut(position),
        Value::Array(items) => Arc::make_mut(items).get_mut(position),
        _ => None,
    }
}

fn index_in_list(token: &Text, len: usize, options: &PatchOptions) -> Result<usize, OperationFailure> {
    let text = token.as_str();
    if text == "-" {
        return Err(OperationFailure::new(
            PatchErrorKind::OutOfRange,
            "`-` is the place after the last item",
        ));
    }
    let index = index::parse_index(text, options).ok_or_else(|| bad_index(token))?;
    index::existing_index(index, len, options).ok_or_else(|| index_out_of_range(token, len))
}
