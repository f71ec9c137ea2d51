//! Sprig's functions on dictionaries.

use std::collections::BTreeMap;

use kubewright_value::Text;

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{ElementType, TemplateItem};
use super::arguments::{argument_or_nil, arguments_from, text_argument};
use super::merge::{merge_dicts, must_merge};
use super::strings::text_arguments;
use super::{ParameterType, TemplateFunction, fixed_function, variadic_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    variadic_function("dict", &[], ParameterType::Any, dict),
    fixed_function("get", &[ParameterType::Dict, ParameterType::Text], |_, a| {
        Ok(match argument_or_nil(a, 0).entry(text_argument(a, 1)).unwrap_or(TemplateItem::Missing) {
            TemplateItem::Missing => TemplateItem::EMPTY,
            found => found,
        })
    }),
    fixed_function("set", &[ParameterType::Dict, ParameterType::Text, ParameterType::Any], |call, a| {
        let dict = call.changeable(argument_or_nil(a, 0))?;
        dict.entries.borrow_mut().insert(text_argument(a, 1).clone(), argument_or_nil(a, 2).clone());
        Ok(TemplateItem::Dict(dict))
    }),
    fixed_function("unset", &[ParameterType::Dict, ParameterType::Text], |call, a| {
        if argument_or_nil(a, 0).is_nil() {
            return Ok(TemplateItem::dict(ElementType::Any, BTreeMap::new())?);
        }
        let dict = call.changeable(argument_or_nil(a, 0))?;
        dict.entries.borrow_mut().remove(text_argument(a, 1));
        Ok(TemplateItem::Dict(dict))
    }),
    fixed_function("hasKey", &[ParameterType::Dict, ParameterType::Text], |_, a| {
        let found = argument_or_nil(a, 0).entry(text_argument(a, 1)).unwrap_or(TemplateItem::Missing);
        Ok(TemplateItem::Bool(!matches!(found, TemplateItem::Missing)))
    }),
    variadic_function("pluck", &[ParameterType::Text], ParameterType::Dict, pluck),
    variadic_function("keys", &[], ParameterType::Dict, sprig_keys),
    fixed_function("values", &[ParameterType::Dict], |call, a| {
        let entries = sorted_dict_entries(call, argument_or_nil(a, 0))?;
        Ok(TemplateItem::list(entries.into_iter().map(|(_, item)| item).collect())?)
    }),
    variadic_function("pick", &[ParameterType::Dict], ParameterType::Text, |call, a| {
        let kept = text_arguments(a, 1);
        filter_dict(call, argument_or_nil(a, 0), |key| kept.contains(key))
    }),
    variadic_function("omit", &[ParameterType::Dict], ParameterType::Text, |call, a| {
        let left_out = text_arguments(a, 1);
        filter_dict(call, argument_or_nil(a, 0), |key| !left_out.contains(key))
    }),
    variadic_function("merge", &[ParameterType::Dict], ParameterType::Dict, |call, a| {
        merge_dicts(call, a, false)
    }),
    variadic_function("mergeOverwrite", &[ParameterType::Dict], ParameterType::Dict, |call, a| {
        merge_dicts(call, a, true)
    }),
    variadic_function("mustMerge", &[ParameterType::Dict], ParameterType::Dict, |call, a| {
        must_merge(call, a, false)
    }),
    variadic_function("mustMergeOverwrite", &[ParameterType::Dict], ParameterType::Dict, |call, a| {
        must_merge(call, a, true)
    }),
    fixed_function("deepCopy", &[ParameterType::Any], deep_copy),
    fixed_function("mustDeepCopy", &[ParameterType::Any], deep_copy),
    variadic_function("dig", &[], ParameterType::Any, dig),
];

fn dict(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    call.charge_list(arguments.len())?;
    let mut entries = BTreeMap::new();
    for pair in arguments.chunks(2) {
        let key = call.text_of(argument_or_nil(pair, 0))?;
        entries.insert(key, pair.get(1).cloned().unwrap_or(TemplateItem::EMPTY));
    }
    Ok(TemplateItem::dict(ElementType::Any, entries)?)
}

/// Returns the entries sorted by key; a nil dictionary has none.
fn sorted_dict_entries(
    call: &mut FunctionCall<'_>,
    item: &TemplateItem,
) -> Result<Vec<(Text, TemplateItem)>, CallFailure> {
    call.charge_list(item.map_len().unwrap_or(0))?;
    Ok(item.sorted_entries().unwrap_or_default())
}

fn pluck(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    call.charge_list(arguments.len())?;
    let found =
        arguments_from(arguments, 1).iter().filter_map(|dict| dict.entry(text_argument(arguments, 0)));
    Ok(TemplateItem::list(found.filter(|item| !matches!(item, TemplateItem::Missing)).collect())?)
}

/// Go's order is random; ours is sorted.
fn sprig_keys(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut keys = Vec::new();
    for dict in arguments {
        keys.extend(sorted_dict_entries(call, dict)?.into_iter().map(|(key, _)| key));
    }
    Ok(TemplateItem::texts(keys))
}

fn filter_dict(call: &mut FunctionCall<'_>, dict: &TemplateItem, keep: impl Fn(&Text) -> bool) -> CallResult {
    let kept = sorted_dict_entries(call, dict)?.into_iter().filter(|(key, _)| keep(key)).collect();
    Ok(TemplateItem::dict(ElementType::Any, kept)?)
}

/// Go's library cannot copy nil by itself.
fn deep_copy(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    if argument_or_nil(arguments, 0).is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    copy_item(call, argument_or_nil(arguments, 0))
}

fn copy_item(call: &mut FunctionCall<'_>, item: &TemplateItem) -> CallResult {
    call.budget.step(1)?;
    call.charge_container(item)?;
    match item {
        TemplateItem::List(list) if !list.is_nil => {
            call.charge_list(list.items.len())?;
            call.budget.enter()?;
            let items: Result<Vec<TemplateItem>, CallFailure> =
                list.items.iter().map(|item| copy_item(call, item)).collect();
            call.budget.leave();
            Ok(TemplateItem::list_of(list.of, items?)?)
        }
        TemplateItem::Dict(dict) => {
            let of = dict.of;
            let entries = sorted_dict_entries(call, item)?;
            call.budget.enter()?;
            let copies: Result<BTreeMap<Text, TemplateItem>, CallFailure> =
                entries.into_iter().map(|(key, item)| Ok((key, copy_item(call, &item)?))).collect();
            call.budget.leave();
            Ok(TemplateItem::dict(of, copies?)?)
        }
        // A copy of JSON is one that changes do not reach.
        TemplateItem::Object(map) => {
            let mut entries = BTreeMap::new();
            call.charge_container(&TemplateItem::dict(ElementType::Any, BTreeMap::new())?)?;
            call.charge_list(map.len().saturating_mul(2))?;
            for (key, value) in map.iter() {
                call.budget.enter()?;
                let copy = copy_item(call, &TemplateItem::json(value));
                call.budget.leave();
                entries.insert(key.clone(), copy?);
            }
            Ok(TemplateItem::dict(ElementType::Any, entries)?)
        }
        TemplateItem::Array(items) => {
            call.charge_list(items.len())?;
            call.budget.enter()?;
            let copies: Result<Vec<TemplateItem>, CallFailure> =
                items.iter().map(|value| copy_item(call, &TemplateItem::json(value))).collect();
            call.budget.leave();
            Ok(TemplateItem::list(copies?)?)
        }
        other => Ok(other.clone()),
    }
}

fn dig(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let [keys @ .., fallback, dict] = arguments else {
        return Err("dig needs at least three arguments".into());
    };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut current = dict.clone();
    for key in keys {
        let TemplateItem::Text(key) = key else {
            return Err(format!(
                "interface conversion: interface {{}} is {}, not string",
                go_type_of_item(key)
            )
            .into());
        };
        if !ParameterType::Dict.takes(&current) {
            let found = go_type_of_item(&current);
            let message =
                format!("interface conversion: interface {{}} is {found}, not map[string]interface {{}}");
            return Err(message.into());
        }
        current = match current.entry(key).unwrap_or(TemplateItem::Missing) {
            TemplateItem::Missing => return Ok(fallback.clone()),
            found => found,
        };
    }
    Ok(current)
}

fn go_type_of_item(item: &TemplateItem) -> &'static str {
    if item.is_nil() { "nil" } else { item.type_name() }
}
