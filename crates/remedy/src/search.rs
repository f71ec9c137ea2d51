//! The smallest part of some changes that is enough.

use crate::FieldChange;

/// The maximum number of changes that are tried together.
const MAX_CHANGES: usize = 64;

/// Returns as few of `changes` as `is_enough` accepts; nothing where it does not accept all of them.
pub fn smallest_changes(
    changes: &[FieldChange],
    mut is_enough: impl FnMut(&[FieldChange]) -> bool,
) -> Option<Vec<FieldChange>> {
    if changes.is_empty() || changes.len() > MAX_CHANGES {
        return None;
    }
    if let Some(one) = changes.iter().find(|change| is_enough(std::slice::from_ref(change))) {
        return Some(vec![one.clone()]);
    }
    let mut kept = changes.to_vec();
    if !is_enough(&kept) {
        return None;
    }
    // From the end, so that the most usual changes are those that stay.
    for place in (0..kept.len()).rev() {
        let mut fewer = kept.clone();
        fewer.remove(place);
        if !fewer.is_empty() && is_enough(&fewer) {
            kept = fewer;
        }
    }
    Some(kept)
}
