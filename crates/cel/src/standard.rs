//! The functions of the language itself.

mod conversions;
mod strings;
mod times;

pub(super) use strings::{matching_cost, size as size_of};

use super::function::{Functions, Overload};
use super::val::{Kind, Val};

/// Adds all of them.
pub(super) fn add(functions: &mut Functions) {
    conversions::add(functions);
    strings::add(functions);
    times::add(functions);
    for kind in [&[Kind::String], &[Kind::Bytes], &[Kind::List], &[Kind::Map]] {
        functions.add(
            Overload::function("size", kind, Kind::Int, size)
                .help("how many characters, bytes, items or entries there are"),
        );
        functions.add(
            Overload::method("size", kind, Kind::Int, size)
                .help("how many characters, bytes, items or entries there are"),
        );
    }
    functions.add(
        Overload::function("type", &[Kind::Any], Kind::Type, |arguments, _| {
            Ok(Val::Type(arguments.first().map_or("", Val::type_name).into()))
        })
        .help("the type of a value"),
    );
    functions.add(
        Overload::function("dyn", &[Kind::Any], Kind::Any, |arguments, _| {
            Ok(arguments.first().cloned().unwrap_or_default())
        })
        .help("the value itself, of which no type is known any more"),
    );
}

fn size<'a>(arguments: &[Val<'a>], _: &mut super::Call<'_, 'a>) -> Result<Val<'a>, super::Failure> {
    Ok(Val::Int(arguments.first().map_or(0, |value| i64::try_from(value.size()).unwrap_or(i64::MAX))))
}
