//! Keys in the paths of JSON patches.

use super::{Library, text};
use crate::cost::traversal;
use crate::environment::Macros;
use crate::function::{Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, Val};

/// The library of JSON patches; `JSONPatch{...}` is a structure of the environment.
pub const JSON_PATCH: Library =
    Library { name: "jsonpatch", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("jsonpatch.escapeKey", &[Kind::String], Kind::String, |arguments, _| {
            Ok(Val::text(text(arguments, 0)?.replace('~', "~0").replace('/', "~1")))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("a key as it is written in the path of a JSON patch"),
    );
}
