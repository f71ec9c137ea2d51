//! Sprig's functions on dictionaries.

use std::collections::BTreeMap;

use kubewright_value::Text;

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Of};
use super::arguments::{any, from, text};
use super::merge::{merge, must_merge};
use super::strings::all;
use super::{Function, Type, function, variadic};

pub(super) const TABLE: &[Function] = &[
    variadic("dict", &[], Type::Any, dict),
    function("get", &[Type::Dict, Type::Text], |_, a| {
        Ok(match any(a, 0).entry(text(a, 1)).unwrap_or(Item::Missing) {
            Item::Missing => Item::EMPTY,
            found => found,
        })
    }),
    function("set", &[Type::Dict, Type::Text, Type::Any], |call, a| {
        let dict = call.changeable(any(a, 0))?;
        dict.entries.borrow_mut().insert(text(a, 1).clone(), any(a, 2).clone());
        Ok(Item::Dict(dict))
    }),
    function("unset", &[Type::Dict, Type::Text], |call, a| {
        if any(a, 0).is_nil() {
            return Ok(Item::dict(Of::Any, BTreeMap::new())?);
        }
        let dict = call.changeable(any(a, 0))?;
        dict.entries.borrow_mut().remove(text(a, 1));
        Ok(Item::Dict(dict))
    }),
    function("hasKey", &[Type::Dict, Type::Text], |_, a| {
        let found = any(a, 0).entry(text(a, 1)).unwrap_or(Item::Missing);
        Ok(Item::Bool(!matches!(found, Item::Missing)))
    }),
    variadic("pluck", &[Type::Text], Type::Dict, pluck),
    variadic("keys", &[], Type::Dict, keys),
    function("values", &[Type::Dict], |call, a| {
        let entries = entries(call, any(a, 0))?;
        Ok(Item::list(entries.into_iter().map(|(_, item)| item).collect())?)
    }),
    variadic("pick", &[Type::Dict], Type::Text, |call, a| {
        let kept = all(a, 1);
        chosen(call, any(a, 0), |key| kept.contains(key))
    }),
    variadic("omit", &[Type::Dict], Type::Text, |call, a| {
        let left_out = all(a, 1);
        chosen(call, any(a, 0), |key| !left_out.contains(key))
    }),
    variadic("merge", &[Type::Dict], Type::Dict, |call, a| merge(call, a, false)),
    variadic("mergeOverwrite", &[Type::Dict], Type::Dict, |call, a| merge(call, a, true)),
    variadic("mustMerge", &[Type::Dict], Type::Dict, |call, a| must_merge(call, a, false)),
    variadic("mustMergeOverwrite", &[Type::Dict], Type::Dict, |call, a| must_merge(call, a, true)),
    function("deepCopy", &[Type::Any], deep_copy),
    function("mustDeepCopy", &[Type::Any], deep_copy),
    variadic("dig", &[], Type::Any, dig),
];

fn dict(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    call.charge_list(arguments.len())?;
    let mut entries = BTreeMap::new();
    for pair in arguments.chunks(2) {
        let key = call.text_of(any(pair, 0))?;
        entries.insert(key, pair.get(1).cloned().unwrap_or(Item::EMPTY));
    }
    Ok(Item::dict(Of::Any, entries)?)
}

/// Returns the entries sorted by key; a nil dictionary has none.
fn entries(call: &mut Call<'_>, item: &Item) -> Result<Vec<(Text, Item)>, Failure> {
    call.charge_list(item.map_len().unwrap_or(0))?;
    Ok(item.sorted_entries().unwrap_or_default())
}

fn pluck(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    call.charge_list(arguments.len())?;
    let found = from(arguments, 1).iter().filter_map(|dict| dict.entry(text(arguments, 0)));
    Ok(Item::list(found.filter(|item| !matches!(item, Item::Missing)).collect())?)
}

/// Go's order is random; ours is sorted.
fn keys(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut keys = Vec::new();
    for dict in arguments {
        keys.extend(entries(call, dict)?.into_iter().map(|(key, _)| key));
    }
    Ok(Item::texts(keys))
}

fn chosen(call: &mut Call<'_>, dict: &Item, keep: impl Fn(&Text) -> bool) -> Outcome {
    let kept = entries(call, dict)?.into_iter().filter(|(key, _)| keep(key)).collect();
    Ok(Item::dict(Of::Any, kept)?)
}

/// Go's library cannot copy nil by itself.
fn deep_copy(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    if any(arguments, 0).is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    copied(call, any(arguments, 0))
}

fn copied(call: &mut Call<'_>, item: &Item) -> Outcome {
    call.budget.step(1)?;
    call.charge_container(item)?;
    match item {
        Item::List(list) if !list.is_nil => {
            call.charge_list(list.items.len())?;
            call.budget.enter()?;
            let items: Result<Vec<Item>, Failure> =
                list.items.iter().map(|item| copied(call, item)).collect();
            call.budget.leave();
            Ok(Item::list_of(list.of, items?)?)
        }
        Item::Dict(dict) => {
            let of = dict.of;
            let entries = entries(call, item)?;
            call.budget.enter()?;
            let copies: Result<BTreeMap<Text, Item>, Failure> =
                entries.into_iter().map(|(key, item)| Ok((key, copied(call, &item)?))).collect();
            call.budget.leave();
            Ok(Item::dict(of, copies?)?)
        }
        // A copy of JSON is one that changes do not reach.
        Item::Object(map) => {
            let mut entries = BTreeMap::new();
            call.charge_container(&Item::dict(Of::Any, BTreeMap::new())?)?;
            call.charge_list(map.len().saturating_mul(2))?;
            for (key, value) in map.iter() {
                call.budget.enter()?;
                let copy = copied(call, &Item::json(value));
                call.budget.leave();
                entries.insert(key.clone(), copy?);
            }
            Ok(Item::dict(Of::Any, entries)?)
        }
        Item::Array(items) => {
            call.charge_list(items.len())?;
            call.budget.enter()?;
            let copies: Result<Vec<Item>, Failure> =
                items.iter().map(|value| copied(call, &Item::json(value))).collect();
            call.budget.leave();
            Ok(Item::list(copies?)?)
        }
        other => Ok(other.clone()),
    }
}

fn dig(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let [keys @ .., fallback, dict] = arguments else {
        return Err("dig needs at least three arguments".into());
    };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut current = dict.clone();
    for key in keys {
        let Item::Text(key) = key else {
            return Err(format!("interface conversion: interface {{}} is {}, not string", shown(key)).into());
        };
        if !Type::Dict.takes(&current) {
            let found = shown(&current);
            let message =
                format!("interface conversion: interface {{}} is {found}, not map[string]interface {{}}");
            return Err(message.into());
        }
        current = match current.entry(key).unwrap_or(Item::Missing) {
            Item::Missing => return Ok(fallback.clone()),
            found => found,
        };
    }
    Ok(current)
}

fn shown(item: &Item) -> &'static str {
    if item.is_nil() { "nil" } else { item.type_name() }
}
