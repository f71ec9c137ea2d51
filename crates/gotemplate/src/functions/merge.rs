//! Sprig's `merge`, which changes its first argument.
//!
//! Without overwriting, an entry is taken over where the destination has none or an empty one;
//! dictionaries under the same key are merged, a dictionary never replaces something else.

use std::rc::Rc;

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Dict, Item};
use super::super::truth::is_true;
use super::arguments::{any, from};

/// Merges all further arguments into the first; an error is empty text.
pub(super) fn merge(call: &mut Call<'_>, arguments: &[Item], overwrite: bool) -> Outcome {
    must_merge(call, arguments, overwrite)
}

/// Merges all further arguments into the first.
pub(super) fn must_merge(call: &mut Call<'_>, arguments: &[Item], overwrite: bool) -> Outcome {
    let destination = match any(arguments, 0) {
        nil if nil.is_nil() => Item::dict(super::Of::Any, std::collections::BTreeMap::new())?,
        other => other.clone(),
    };
    let target = call.changeable(&destination)?;
    for source in from(arguments, 1) {
        into(call, &target, source, overwrite)?;
    }
    Ok(Item::Dict(target))
}

fn into(call: &mut Call<'_>, target: &Rc<Dict>, source: &Item, overwrite: bool) -> Result<(), Failure> {
    call.charge_list(source.map_len().unwrap_or(0))?;
    for (key, new) in source.sorted_entries().unwrap_or_default() {
        let old = target.entries.borrow().get(&key).cloned();
        if new.is_nil() {
            if overwrite {
                target.entries.borrow_mut().insert(key, Item::Nil);
            }
            continue;
        }
        let has_old = old.as_ref().is_some_and(is_true);
        let is_map = new.map_len().is_some();
        let is_list = new.list_len().is_some();
        if is_map && has_old {
            if let Some(old) = old.filter(|old| old.map_len().is_some()) {
                let inner = call.changeable(&old)?;
                call.budget.enter()?;
                let merged = into(call, &inner, &new, overwrite);
                call.budget.leave();
                merged?;
                target.entries.borrow_mut().insert(key, Item::Dict(inner));
            }
        } else if overwrite || !has_old || (is_list && target.entries.borrow().is_empty()) {
            target.entries.borrow_mut().insert(key, new);
        }
    }
    Ok(())
}
