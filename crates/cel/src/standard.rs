//! The functions of the language itself.

mod conversions;
mod strings;
mod times;

pub(super) use strings::{argument_size as size_of, regex_match_cost};

use super::function::{CelFunctions, CelOverload};
use super::val::{CelKind, Val};

/// Adds the standard functions.
pub(super) fn add_standard_functions(functions: &mut CelFunctions) {
    conversions::add_conversion_functions(functions);
    strings::add_standard_string_functions(functions);
    times::add_standard_time_functions(functions);
    for kind in [&[CelKind::String], &[CelKind::Bytes], &[CelKind::List], &[CelKind::Map]] {
        functions.add(
            CelOverload::function("size", kind, CelKind::Int, size_of_val)
                .help("how many characters, bytes, items or entries there are"),
        );
        functions.add(
            CelOverload::method("size", kind, CelKind::Int, size_of_val)
                .help("how many characters, bytes, items or entries there are"),
        );
    }
    functions.add(
        CelOverload::function("type", &[CelKind::Any], CelKind::Type, |arguments, _| {
            Ok(Val::Type(arguments.first().map_or("", Val::type_name).into()))
        })
        .help("the type of a value"),
    );
    functions.add(
        CelOverload::function("dyn", &[CelKind::Any], CelKind::Any, |arguments, _| {
            Ok(arguments.first().cloned().unwrap_or_default())
        })
        .help("the value itself, without its static type"),
    );
}

fn size_of_val<'a>(
    arguments: &[Val<'a>],
    _: &mut super::CelCallContext<'_, 'a>,
) -> Result<Val<'a>, super::CelFailure> {
    Ok(Val::Int(arguments.first().map_or(0, |value| i64::try_from(value.size()).unwrap_or(i64::MAX))))
}
