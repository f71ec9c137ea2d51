//! Sprig's functions on lists.

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Of};
use super::super::truth::{deep_equal, is_true};
use super::arguments::{any, from, int, to_int};
use super::{Function, Type, function, variadic};

pub(super) const TABLE: &[Function] = &[
    variadic("list", &[], Type::Any, |call, a| made(call, a.to_vec())),
    variadic("tuple", &[], Type::Any, |call, a| made(call, a.to_vec())),
    function("append", &[Type::Any, Type::Any], push),
    function("push", &[Type::Any, Type::Any], push),
    function("mustAppend", &[Type::Any, Type::Any], push),
    function("mustPush", &[Type::Any, Type::Any], push),
    function("prepend", &[Type::Any, Type::Any], prepend),
    function("mustPrepend", &[Type::Any, Type::Any], prepend),
    function("first", &[Type::Any], first),
    function("mustFirst", &[Type::Any], first),
    function("last", &[Type::Any], last),
    function("mustLast", &[Type::Any], last),
    function("rest", &[Type::Any], rest),
    function("mustRest", &[Type::Any], rest),
    function("initial", &[Type::Any], initial),
    function("mustInitial", &[Type::Any], initial),
    function("reverse", &[Type::Any], reverse),
    function("mustReverse", &[Type::Any], reverse),
    function("compact", &[Type::Any], compact),
    function("mustCompact", &[Type::Any], compact),
    function("uniq", &[Type::Any], uniq),
    function("mustUniq", &[Type::Any], uniq),
    variadic("without", &[Type::Any], Type::Any, without),
    variadic("mustWithout", &[Type::Any], Type::Any, without),
    function("has", &[Type::Any, Type::Any], has),
    function("mustHas", &[Type::Any, Type::Any], has),
    variadic("slice", &[Type::Any], Type::Any, slice),
    variadic("mustSlice", &[Type::Any], Type::Any, slice),
    variadic("concat", &[], Type::Any, concat),
    function("chunk", &[Type::Int, Type::Any], chunk),
    function("mustChunk", &[Type::Int, Type::Any], chunk),
    function("until", &[Type::Int], |call, a| {
        let stop = int(a, 0);
        numbers(call, 0, stop, if stop < 0 { -1 } else { 1 })
    }),
    function("untilStep", &[Type::Int, Type::Int, Type::Int], |call, a| {
        numbers(call, int(a, 0), int(a, 1), int(a, 2))
    }),
    variadic("seq", &[], Type::Int, seq),
];

/// Go's words for looking at the type of nil.
pub(super) const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";

fn made(call: &mut Call<'_>, items: Vec<Item>) -> Outcome {
    call.charge_list(items.len())?;
    Ok(Item::list(items)?)
}

/// Returns the elements of a list, or Go's complaint that it is none.
fn items(call: &mut Call<'_>, item: &Item, complaint: &str) -> Result<Vec<Item>, Failure> {
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

fn push(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut list = items(call, any(arguments, 0), "Cannot push on type")?;
    list.push(any(arguments, 1).clone());
    Ok(Item::list(list)?)
}

fn prepend(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut list = items(call, any(arguments, 0), "Cannot prepend on type")?;
    list.insert(0, any(arguments, 1).clone());
    Ok(Item::list(list)?)
}

fn first(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let list = items(call, any(arguments, 0), "Cannot find first on type")?;
    Ok(list.into_iter().next().unwrap_or(Item::Nil))
}

fn last(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let list = items(call, any(arguments, 0), "Cannot find last on type")?;
    Ok(list.into_iter().next_back().unwrap_or(Item::Nil))
}

fn rest(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut list = items(call, any(arguments, 0), "Cannot find rest on type")?;
    if list.is_empty() {
        return Ok(Item::nil_list(Of::Any));
    }
    list.remove(0);
    Ok(Item::list(list)?)
}

fn initial(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut list = items(call, any(arguments, 0), "Cannot find initial on type")?;
    if list.pop().is_none() {
        return Ok(Item::nil_list(Of::Any));
    }
    Ok(Item::list(list)?)
}

fn reverse(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut list = items(call, any(arguments, 0), "Cannot find reverse on type")?;
    list.reverse();
    Ok(Item::list(list)?)
}

fn compact(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut list = items(call, any(arguments, 0), "Cannot compact on type")?;
    list.retain(is_true);
    Ok(Item::list(list)?)
}

fn uniq(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut kept = Vec::new();
    for item in items(call, any(arguments, 0), "Cannot find uniq on type")? {
        if !contains(call, &kept, &item)? {
            kept.push(item);
        }
    }
    Ok(Item::list(kept)?)
}

fn without(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut kept = Vec::new();
    for item in items(call, any(arguments, 0), "Cannot find without on type")? {
        if !contains(call, from(arguments, 1), &item)? {
            kept.push(item);
        }
    }
    Ok(Item::list(kept)?)
}

fn has(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    if any(arguments, 1).is_nil() {
        return Ok(Item::Bool(false));
    }
    let list = items(call, any(arguments, 1), "Cannot find has on type")?;
    Ok(Item::Bool(contains(call, &list, any(arguments, 0))?))
}

fn contains(call: &mut Call<'_>, list: &[Item], wanted: &Item) -> Result<bool, Failure> {
    for item in list {
        if deep_equal(wanted, item, call.budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn slice(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let list = any(arguments, 0);
    let elements = items(call, list, "list should be type of slice or array but")?;
    if elements.is_empty() {
        return Ok(Item::Nil);
    }
    let start = arguments.get(1).map_or(0, to_int);
    let end = arguments.get(2).map_or(i64::try_from(elements.len()).unwrap_or(i64::MAX), to_int);
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match range.and_then(|(start, end)| elements.get(start..end)) {
        Some(part) => Ok(Item::list_of(of(list), part.to_vec())?),
        None => Err("reflect.Value.Slice: slice index out of bounds".into()),
    }
}

fn of(list: &Item) -> Of {
    match list {
        Item::List(list) => list.of,
        _ => Of::Any,
    }
}

fn concat(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let mut all = Vec::new();
    for list in arguments {
        let Some(_) = list.list_len() else {
            return Err(if list.is_nil() {
                NIL.into()
            } else {
                format!("Cannot concat type {} as list", list.kind_name()).into()
            });
        };
        all.extend(items(call, list, "")?);
    }
    if all.is_empty() {
        return Ok(Item::nil_list(Of::Any));
    }
    Ok(Item::list(all)?)
}

fn chunk(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let list = items(call, any(arguments, 1), "Cannot chunk type")?;
    let size = int(arguments, 0);
    let last = i64::try_from(list.len()).unwrap_or(i64::MAX) - 1;
    // With a negative size the count of chunks that Go computes can come out as none.
    if size < 0 && (last as f64 / size as f64).floor() == -1.0 {
        return Ok(Item::list_of(Of::Lists, Vec::new())?);
    }
    if size < -1 && last == 0 {
        return Ok(Item::list_of(Of::Lists, vec![Item::list(list)?])?);
    }
    let Some(size) = usize::try_from(size).ok().filter(|size| *size > 0) else {
        return Err("runtime error: makeslice: len out of range".into());
    };
    let mut chunks = Vec::new();
    for part in list.chunks(size) {
        chunks.push(Item::list(part.to_vec())?);
    }
    Ok(Item::list_of(Of::Lists, chunks)?)
}

fn numbers(call: &mut Call<'_>, start: i64, stop: i64, step: i64) -> Outcome {
    let items = steps(call, start, stop, step)?.into_iter().map(Item::int).collect();
    Ok(Item::list_of(Of::Int, items)?)
}

fn steps(call: &mut Call<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Failure> {
    let goes = if stop < start { step < 0 } else { step > 0 };
    if !goes {
        return Ok(Vec::new());
    }
    let distance = stop.abs_diff(start);
    let length = usize::try_from(distance.div_ceil(step.unsigned_abs())).unwrap_or(usize::MAX);
    call.charge_list(length)?;
    Ok((0..length as u64).map(|i| start.wrapping_add((i as i64).wrapping_mul(step))).collect())
}

fn seq(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let at = |index| int(arguments, index);
    let towards = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, step, end) = match arguments.len() {
        1 => (1, towards(1, at(0)), at(0)),
        2 => (at(0), towards(at(0), at(1)), at(1)),
        3 if at(2) < at(0) && at(1) > 0 => return Ok(Item::EMPTY),
        3 => (at(0), at(1), at(2)),
        _ => return Ok(Item::EMPTY),
    };
    let numbers = steps(call, start, end.wrapping_add(towards(start, end)), step)?;
    call.charge(numbers.len().saturating_mul(20))?;
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(Item::text(texts.join(" ")))
}
