//! Sprig's functions on lists.

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{ElementType, TemplateItem};
use super::super::truth::{deep_equal, is_item_true};
use super::arguments::{argument_or_nil, arguments_from, int_argument, item_to_int};
use super::{ParameterType, TemplateFunction, fixed_function, variadic_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    variadic_function("list", &[], ParameterType::Any, |call, a| new_list(call, a.to_vec())),
    variadic_function("tuple", &[], ParameterType::Any, |call, a| new_list(call, a.to_vec())),
    fixed_function("append", &[ParameterType::Any, ParameterType::Any], sprig_append),
    fixed_function("push", &[ParameterType::Any, ParameterType::Any], sprig_append),
    fixed_function("mustAppend", &[ParameterType::Any, ParameterType::Any], sprig_append),
    fixed_function("mustPush", &[ParameterType::Any, ParameterType::Any], sprig_append),
    fixed_function("prepend", &[ParameterType::Any, ParameterType::Any], prepend),
    fixed_function("mustPrepend", &[ParameterType::Any, ParameterType::Any], prepend),
    fixed_function("first", &[ParameterType::Any], sprig_first),
    fixed_function("mustFirst", &[ParameterType::Any], sprig_first),
    fixed_function("last", &[ParameterType::Any], sprig_last),
    fixed_function("mustLast", &[ParameterType::Any], sprig_last),
    fixed_function("rest", &[ParameterType::Any], sprig_rest),
    fixed_function("mustRest", &[ParameterType::Any], sprig_rest),
    fixed_function("initial", &[ParameterType::Any], sprig_initial),
    fixed_function("mustInitial", &[ParameterType::Any], sprig_initial),
    fixed_function("reverse", &[ParameterType::Any], sprig_reverse),
    fixed_function("mustReverse", &[ParameterType::Any], sprig_reverse),
    fixed_function("compact", &[ParameterType::Any], compact),
    fixed_function("mustCompact", &[ParameterType::Any], compact),
    fixed_function("uniq", &[ParameterType::Any], uniq),
    fixed_function("mustUniq", &[ParameterType::Any], uniq),
    variadic_function("without", &[ParameterType::Any], ParameterType::Any, sprig_without),
    variadic_function("mustWithout", &[ParameterType::Any], ParameterType::Any, sprig_without),
    fixed_function("has", &[ParameterType::Any, ParameterType::Any], sprig_has),
    fixed_function("mustHas", &[ParameterType::Any, ParameterType::Any], sprig_has),
    variadic_function("slice", &[ParameterType::Any], ParameterType::Any, sprig_slice),
    variadic_function("mustSlice", &[ParameterType::Any], ParameterType::Any, sprig_slice),
    variadic_function("concat", &[], ParameterType::Any, concat),
    fixed_function("chunk", &[ParameterType::Int, ParameterType::Any], chunk),
    fixed_function("mustChunk", &[ParameterType::Int, ParameterType::Any], chunk),
    fixed_function("until", &[ParameterType::Int], |call, a| {
        let stop = int_argument(a, 0);
        number_list(call, 0, stop, if stop < 0 { -1 } else { 1 })
    }),
    fixed_function("untilStep", &[ParameterType::Int, ParameterType::Int, ParameterType::Int], |call, a| {
        number_list(call, int_argument(a, 0), int_argument(a, 1), int_argument(a, 2))
    }),
    variadic_function("seq", &[], ParameterType::Int, seq),
];

/// Go's words for looking at the type of nil.
pub(super) const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";

fn new_list(call: &mut FunctionCall<'_>, items: Vec<TemplateItem>) -> CallResult {
    call.charge_list(items.len())?;
    Ok(TemplateItem::list(items)?)
}

/// Returns the elements of a list, or Go's complaint that it is not a list.
fn list_items(
    call: &mut FunctionCall<'_>,
    item: &TemplateItem,
    complaint: &str,
) -> Result<Vec<TemplateItem>, CallFailure> {
    let Some(length) = item.list_len() else {
        return Err(if item.is_nil() {
            NIL.into()
        } else {
            format!("{complaint} {}", item.kind_name()).into()
        });
    };
    call.charge_list(length)?;
    Ok(item.elements().unwrap_or_default())
}

fn sprig_append(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut list = list_items(call, argument_or_nil(arguments, 0), "Cannot push on type")?;
    list.push(argument_or_nil(arguments, 1).clone());
    Ok(TemplateItem::list(list)?)
}

fn prepend(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut list = list_items(call, argument_or_nil(arguments, 0), "Cannot prepend on type")?;
    list.insert(0, argument_or_nil(arguments, 1).clone());
    Ok(TemplateItem::list(list)?)
}

fn sprig_first(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let list = list_items(call, argument_or_nil(arguments, 0), "Cannot find first on type")?;
    Ok(list.into_iter().next().unwrap_or(TemplateItem::Nil))
}

fn sprig_last(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let list = list_items(call, argument_or_nil(arguments, 0), "Cannot find last on type")?;
    Ok(list.into_iter().next_back().unwrap_or(TemplateItem::Nil))
}

fn sprig_rest(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut list = list_items(call, argument_or_nil(arguments, 0), "Cannot find rest on type")?;
    if list.is_empty() {
        return Ok(TemplateItem::nil_list(ElementType::Any));
    }
    list.remove(0);
    Ok(TemplateItem::list(list)?)
}

fn sprig_initial(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut list = list_items(call, argument_or_nil(arguments, 0), "Cannot find initial on type")?;
    if list.pop().is_none() {
        return Ok(TemplateItem::nil_list(ElementType::Any));
    }
    Ok(TemplateItem::list(list)?)
}

fn sprig_reverse(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut list = list_items(call, argument_or_nil(arguments, 0), "Cannot find reverse on type")?;
    list.reverse();
    Ok(TemplateItem::list(list)?)
}

fn compact(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut list = list_items(call, argument_or_nil(arguments, 0), "Cannot compact on type")?;
    list.retain(is_item_true);
    Ok(TemplateItem::list(list)?)
}

fn uniq(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut kept = Vec::new();
    for item in list_items(call, argument_or_nil(arguments, 0), "Cannot find uniq on type")? {
        if !list_contains(call, &kept, &item)? {
            kept.push(item);
        }
    }
    Ok(TemplateItem::list(kept)?)
}

fn sprig_without(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut kept = Vec::new();
    for item in list_items(call, argument_or_nil(arguments, 0), "Cannot find without on type")? {
        if !list_contains(call, arguments_from(arguments, 1), &item)? {
            kept.push(item);
        }
    }
    Ok(TemplateItem::list(kept)?)
}

fn sprig_has(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    if argument_or_nil(arguments, 1).is_nil() {
        return Ok(TemplateItem::Bool(false));
    }
    let list = list_items(call, argument_or_nil(arguments, 1), "Cannot find has on type")?;
    Ok(TemplateItem::Bool(list_contains(call, &list, argument_or_nil(arguments, 0))?))
}

fn list_contains(
    call: &mut FunctionCall<'_>,
    list: &[TemplateItem],
    wanted: &TemplateItem,
) -> Result<bool, CallFailure> {
    for item in list {
        if deep_equal(wanted, item, call.budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn sprig_slice(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let list = argument_or_nil(arguments, 0);
    let elements = list_items(call, list, "list should be type of slice or array but")?;
    if elements.is_empty() {
        return Ok(TemplateItem::Nil);
    }
    let start = arguments.get(1).map_or(0, item_to_int);
    let end = arguments.get(2).map_or(i64::try_from(elements.len()).unwrap_or(i64::MAX), item_to_int);
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match range.and_then(|(start, end)| elements.get(start..end)) {
        Some(part) => Ok(TemplateItem::list_of(element_type(list), part.to_vec())?),
        None => Err("reflect.Value.Slice: slice index out of bounds".into()),
    }
}

fn element_type(list: &TemplateItem) -> ElementType {
    match list {
        TemplateItem::List(list) => list.of,
        _ => ElementType::Any,
    }
}

fn concat(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let mut all = Vec::new();
    for list in arguments {
        let Some(_) = list.list_len() else {
            return Err(if list.is_nil() {
                NIL.into()
            } else {
                format!("Cannot concat type {} as list", list.kind_name()).into()
            });
        };
        all.extend(list_items(call, list, "")?);
    }
    if all.is_empty() {
        return Ok(TemplateItem::nil_list(ElementType::Any));
    }
    Ok(TemplateItem::list(all)?)
}

fn chunk(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let list = list_items(call, argument_or_nil(arguments, 1), "Cannot chunk type")?;
    let size = int_argument(arguments, 0);
    let last = i64::try_from(list.len()).unwrap_or(i64::MAX) - 1;
    // With a negative size the count of chunks that Go computes can come out as none.
    if size < 0 && (last as f64 / size as f64).floor() == -1.0 {
        return Ok(TemplateItem::list_of(ElementType::Lists, Vec::new())?);
    }
    if size < -1 && last == 0 {
        return Ok(TemplateItem::list_of(ElementType::Lists, vec![TemplateItem::list(list)?])?);
    }
    let Some(size) = usize::try_from(size).ok().filter(|size| *size > 0) else {
        return Err("runtime error: makeslice: len out of range".into());
    };
    let mut chunks = Vec::new();
    for part in list.chunks(size) {
        chunks.push(TemplateItem::list(part.to_vec())?);
    }
    Ok(TemplateItem::list_of(ElementType::Lists, chunks)?)
}

fn number_list(call: &mut FunctionCall<'_>, start: i64, stop: i64, step: i64) -> CallResult {
    let items = step_numbers(call, start, stop, step)?.into_iter().map(TemplateItem::int).collect();
    Ok(TemplateItem::list_of(ElementType::Int, items)?)
}

fn step_numbers(
    call: &mut FunctionCall<'_>,
    start: i64,
    stop: i64,
    step: i64,
) -> Result<Vec<i64>, CallFailure> {
    let goes = if stop < start { step < 0 } else { step > 0 };
    if !goes {
        return Ok(Vec::new());
    }
    let distance = stop.abs_diff(start);
    let length = usize::try_from(distance.div_ceil(step.unsigned_abs())).unwrap_or(usize::MAX);
    call.charge_list(length)?;
    Ok((0..length as u64).map(|i| start.wrapping_add((i as i64).wrapping_mul(step))).collect())
}

fn seq(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let at = |index| int_argument(arguments, index);
    let towards = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, step, end) = match arguments.len() {
        1 => (1, towards(1, at(0)), at(0)),
        2 => (at(0), towards(at(0), at(1)), at(1)),
        3 if at(2) < at(0) && at(1) > 0 => return Ok(TemplateItem::EMPTY),
        3 => (at(0), at(1), at(2)),
        _ => return Ok(TemplateItem::EMPTY),
    };
    let numbers = step_numbers(call, start, end.wrapping_add(towards(start, end)), step)?;
    call.charge(numbers.len().saturating_mul(20))?;
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(TemplateItem::text(texts.join(" ")))
}
