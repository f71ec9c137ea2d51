//! From a value to its parts.

use kubewright_value::{Text, Value};

use super::failure::{Failure, bad_index, missing, not_a_container, out_of_range};
use super::{Options, PatchErrorKind, index};

/// Returns the value at `tokens`.
pub(super) fn find<'a>(
    document: &'a Value,
    tokens: &[Text],
    options: &Options,
) -> Result<&'a Value, Failure> {
    tokens.iter().try_fold(document, |here, token| match here {
        Value::Object(map) => map.get(token).ok_or_else(|| missing(token)),
        Value::Array(items) => {
            let place = place_of(token, items.len(), options)?;
            items.get(place).ok_or_else(|| out_of_range(token, items.len()))
        }
        scalar => Err(not_a_container(token, scalar.kind())),
    })
}

/// Returns the part of `here` for editing.
pub(super) fn part_mut<'a>(
    here: &'a mut Value,
    token: &Text,
    options: &Options,
) -> Result<&'a mut Value, Failure> {
    let kind = here.kind();
    match here {
        Value::Object(_) => {
            here.as_object_mut().and_then(|map| map.get_mut(token)).ok_or_else(|| missing(token))
        }
        Value::Array(items) => {
            let len = items.len();
            let place = place_of(token, len, options)?;
            let items = here.as_array_mut();
            items.and_then(|items| items.get_mut(place)).ok_or_else(|| out_of_range(token, len))
        }
        _ => Err(not_a_container(token, kind)),
    }
}

fn place_of(token: &Text, len: usize, options: &Options) -> Result<usize, Failure> {
    if token == "-" {
        return Err(Failure::new(PatchErrorKind::OutOfRange, "`-` is the place after the last item"));
    }
    let index = index::parse(token, options).ok_or_else(|| bad_index(token))?;
    index::existing(index, len, options).ok_or_else(|| out_of_range(token, len))
}
