//! Values that may be absent. The syntax (`a.?b`, `a[?b]`) and `or`, `orValue`, `optMap` are macros.

use super::Library;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::val::{Kind, List, Val};

/// The library of optional values.
pub const OPTIONALS: Library = Library {
    name: "optionals",
    functions: add,
    macros: Macros { optionals: true, ..Macros::NONE },
    types: &["optional_type"],
};

fn add(functions: &mut Functions) {
    const ONE: &[Kind] = &[Kind::Optional];
    functions.add(
        Overload::function("optional.of", &[Kind::Any], Kind::Optional, |arguments, _| {
            Ok(Val::some(arguments.first().cloned().unwrap_or_default()))
        })
        .help("an optional that holds a value"),
    );
    functions.add(
        Overload::function("optional.ofNonZeroValue", &[Kind::Any], Kind::Optional, |arguments, _| {
            let value = arguments.first().cloned().unwrap_or_default();
            Ok(if value.is_zero() { Val::Optional(None) } else { Val::some(value) })
        })
        .help("an optional that holds a value, unless it is false, zero or empty"),
    );
    functions.add(
        Overload::function("optional.none", &[], Kind::Optional, |_, _| Ok(Val::Optional(None)))
            .help("an optional that holds nothing"),
    );
    functions.add(
        Overload::method("hasValue", ONE, Kind::Bool, |arguments, _| {
            Ok(Val::Bool(matches!(arguments, [Val::Optional(Some(_))])))
        })
        .help("whether an optional holds a value"),
    );
    functions.add(
        Overload::method("value", ONE, Kind::Any, |arguments, _| match arguments {
            [Val::Optional(Some(value))] => Ok((**value).clone()),
            _ => Err(Failure::value("optional.none() dereference")),
        })
        .help("the value that an optional holds, or an error"),
    );
    for name in ["optional.unwrap", "unwrapOpt"] {
        let overload = match name {
            "unwrapOpt" => {
                Overload::method(name, &[Kind::List], Kind::List, |arguments, _| unwrap(arguments))
            }
            _ => Overload::function(name, &[Kind::List], Kind::List, |arguments, _| unwrap(arguments)),
        };
        functions.add(overload.help("the values that a list of optionals holds"));
    }
    functions.add(
        Overload::method("first", &[Kind::List], Kind::Optional, |arguments, _| Ok(end(arguments, false)))
            .help("the first item of a list, if there is one"),
    );
    functions.add(
        Overload::method("last", &[Kind::List], Kind::Optional, |arguments, _| Ok(end(arguments, true)))
            .help("the last item of a list, if there is one"),
    );
}

fn unwrap<'a>(arguments: &[Val<'a>]) -> Result<Val<'a>, Failure> {
    let [Val::List(list)] = arguments else { return Err(Failure::mismatch()) };
    let mut held = Vec::new();
    for item in list.iter() {
        match item {
            Val::Optional(Some(value)) => held.push((*value).clone()),
            Val::Optional(None) => {}
            _ => return Err(Failure::mismatch()),
        }
    }
    Ok(Val::list(held))
}

fn end<'a>(arguments: &[Val<'a>], is_last: bool) -> Val<'a> {
    let item = |list: &List<'a>| list.get(if is_last { list.len().checked_sub(1)? } else { 0 });
    match arguments {
        [Val::List(list)] => item(list).map_or(Val::Optional(None), Val::some),
        _ => Val::Optional(None),
    }
}
