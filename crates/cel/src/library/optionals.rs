//! Optional values. The syntax (`a.?b`, `a[?b]`) and `or`, `orValue`, `optMap` are macros.

use super::CelLibrary;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, ListVal, Val};

/// The library of optional values.
pub const OPTIONALS: CelLibrary = CelLibrary {
    name: "optionals",
    functions: add_optional_functions,
    macros: MacroSet { optionals: true, ..MacroSet::NONE },
    types: &["optional_type"],
};

fn add_optional_functions(functions: &mut CelFunctions) {
    const ONE: &[CelKind] = &[CelKind::Optional];
    functions.add(
        CelOverload::function("optional.of", &[CelKind::Any], CelKind::Optional, |arguments, _| {
            Ok(Val::some(arguments.first().cloned().unwrap_or_default()))
        })
        .help("an optional that holds a value"),
    );
    functions.add(
        CelOverload::function(
            "optional.ofNonZeroValue",
            &[CelKind::Any],
            CelKind::Optional,
            |arguments, _| {
                let value = arguments.first().cloned().unwrap_or_default();
                Ok(if value.is_zero() { Val::Optional(None) } else { Val::some(value) })
            },
        )
        .help("an optional that holds a value, unless it is false, zero or empty"),
    );
    functions.add(
        CelOverload::function("optional.none", &[], CelKind::Optional, |_, _| Ok(Val::Optional(None)))
            .help("an optional that holds nothing"),
    );
    functions.add(
        CelOverload::method("hasValue", ONE, CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(matches!(arguments, [Val::Optional(Some(_))])))
        })
        .help("whether an optional holds a value"),
    );
    functions.add(
        CelOverload::method("value", ONE, CelKind::Any, |arguments, _| match arguments {
            [Val::Optional(Some(value))] => Ok((**value).clone()),
            _ => Err(CelFailure::value("optional.none() dereference")),
        })
        .help("the value that an optional holds, or an error"),
    );
    for name in ["optional.unwrap", "unwrapOpt"] {
        let overload = match name {
            "unwrapOpt" => CelOverload::method(name, &[CelKind::List], CelKind::List, |arguments, _| {
                unwrap_optionals(arguments)
            }),
            _ => CelOverload::function(name, &[CelKind::List], CelKind::List, |arguments, _| {
                unwrap_optionals(arguments)
            }),
        };
        functions.add(overload.help("the values that a list of optionals holds"));
    }
    functions.add(
        CelOverload::method("first", &[CelKind::List], CelKind::Optional, |arguments, _| {
            Ok(first_or_last_item(arguments, false))
        })
        .help("the first item of a list, if there is one"),
    );
    functions.add(
        CelOverload::method("last", &[CelKind::List], CelKind::Optional, |arguments, _| {
            Ok(first_or_last_item(arguments, true))
        })
        .help("the last item of a list, if there is one"),
    );
}

fn unwrap_optionals<'a>(arguments: &[Val<'a>]) -> Result<Val<'a>, CelFailure> {
    let [Val::List(list)] = arguments else { return Err(CelFailure::mismatch()) };
    let mut held = Vec::new();
    for item in list.iter() {
        match item {
            Val::Optional(Some(value)) => held.push((*value).clone()),
            Val::Optional(None) => {}
            _ => return Err(CelFailure::mismatch()),
        }
    }
    Ok(Val::list(held))
}

fn first_or_last_item<'a>(arguments: &[Val<'a>], is_last: bool) -> Val<'a> {
    let item = |list: &ListVal<'a>| list.get(if is_last { list.len().checked_sub(1)? } else { 0 });
    match arguments {
        [Val::List(list)] => item(list).map_or(Val::Optional(None), Val::some),
        _ => Val::Optional(None),
    }
}
