//! Escaping of keys in the paths of JSON patches.

use super::{CelLibrary, text_argument};
use crate::cost::traversal_cost;
use crate::environment::{FieldTypes, MacroSet};
use crate::function::{CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, Val};

/// The type of a JSON patch.
pub const JSON_PATCH_TYPE: &str = "JSONPatch";

/// The type of an object that is applied to another; those of its parts are `Object.spec` and so on.
pub const OBJECT_TYPE: &str = "Object";

pub(super) const JSON_PATCH_FIELDS: FieldTypes =
    &[("op", CelKind::String), ("path", CelKind::String), ("from", CelKind::String), ("value", CelKind::Any)];

/// The library of JSON patches; `JSONPatch{...}` is a structure of the environment.
pub const JSON_PATCH: CelLibrary =
    CelLibrary { name: "jsonpatch", functions: add_json_patch_functions, macros: MacroSet::NONE, types: &[] };

fn add_json_patch_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("jsonpatch.escapeKey", &[CelKind::String], CelKind::String, |arguments, _| {
            Ok(Val::text(text_argument(arguments, 0)?.replace('~', "~0").replace('/', "~1")))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("a key as it is written in the path of a JSON patch"),
    );
}
