//! Sprig's `merge`, which changes its first argument.
//!
//! Without overwriting, an entry is taken over where the destination has none or an empty one;
//! dictionaries under the same key are merged, a dictionary never replaces something else.

use std::rc::Rc;

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{ItemDict, TemplateItem};
use super::super::truth::is_item_true;
use super::arguments::{argument_or_nil, arguments_from};

/// Merges all further arguments into the first; an error is empty text.
pub(super) fn merge_dicts(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    overwrite: bool,
) -> CallResult {
    must_merge(call, arguments, overwrite)
}

/// Merges all further arguments into the first.
pub(super) fn must_merge(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    overwrite: bool,
) -> CallResult {
    let destination = match argument_or_nil(arguments, 0) {
        nil if nil.is_nil() => {
            TemplateItem::dict(super::ElementType::Any, std::collections::BTreeMap::new())?
        }
        other => other.clone(),
    };
    let target = call.changeable(&destination)?;
    for source in arguments_from(arguments, 1) {
        merge_into(call, &target, source, overwrite)?;
    }
    Ok(TemplateItem::Dict(target))
}

fn merge_into(
    call: &mut FunctionCall<'_>,
    target: &Rc<ItemDict>,
    source: &TemplateItem,
    overwrite: bool,
) -> Result<(), CallFailure> {
    call.charge_list(source.map_len().unwrap_or(0))?;
    for (key, new) in source.sorted_entries().unwrap_or_default() {
        let old = target.entries.borrow().get(&key).cloned();
        if new.is_nil() {
            if overwrite {
                target.entries.borrow_mut().insert(key, TemplateItem::Nil);
            }
            continue;
        }
        let has_old = old.as_ref().is_some_and(is_item_true);
        let is_map = new.map_len().is_some();
        let is_list = new.list_len().is_some();
        if is_map && has_old {
            if let Some(old) = old.filter(|old| old.map_len().is_some()) {
                let inner = call.changeable(&old)?;
                call.budget.enter()?;
                let merged = merge_into(call, &inner, &new, overwrite);
                call.budget.leave();
                merged?;
                target.entries.borrow_mut().insert(key, TemplateItem::Dict(inner));
            }
        } else if overwrite || !has_old || (is_list && target.entries.borrow().is_empty()) {
            target.entries.borrow_mut().insert(key, new);
        }
    }
    Ok(())
}
