//! Reading and writing JSON and YAML. All numbers are read as doubles.

mod json_writer;

use kubewright_value::bounded;

use super::{CelLibrary, LibraryHandle, MacroSet, inner_text_argument, numbers_to_doubles, text_argument};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of documents.
pub const DOCUMENTS: CelLibrary = CelLibrary {
    name: "documents",
    functions: add_document_functions,
    macros: MacroSet::NONE,
    types: &["json.Json", "yaml.Yaml"],
};

/// The library for policies about requests, which has only `json.Unmarshal`.
pub(super) const CHECK_DOCUMENTS: CelLibrary = CelLibrary {
    name: "check documents",
    functions: add_check_document_functions,
    macros: MacroSet::NONE,
    types: &["json.Json"],
};

const JSON: CelKind = CelKind::Opaque("json.Json");
const YAML: CelKind = CelKind::Opaque("yaml.Yaml");

pub(super) fn json_handle() -> Val<'static> {
    Val::opaque(LibraryHandle(JSON.name()))
}

pub(super) fn yaml_handle() -> Val<'static> {
    Val::opaque(LibraryHandle(YAML.name()))
}

fn add_document_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::method("unmarshal", &[JSON, CelKind::Any], CelKind::Any, unmarshal_json)
            .help("the value of a JSON text; all numbers are doubles"),
    );
    functions.add(
        CelOverload::method("marshal", &[JSON, CelKind::Any], CelKind::String, |arguments, call| {
            let value = arguments.get(1).ok_or_else(CelFailure::mismatch)?;
            json_writer::write_val_as_json(value, call).map(Val::text)
        })
        .help("a value as JSON text, keys sorted"),
    );
    functions.add(
        CelOverload::method("parse", &[YAML, CelKind::String], CelKind::Any, |arguments, call| {
            let text = text_argument(arguments, 1)?;
            charge_document_text(text, call)?;
            let read = call.within(|budget| bounded::parse_bounded_yaml(text, budget))?;
            let read = read.map_err(|error| CelFailure::value(format!("invalid YAML: {error}")))?;
            Ok(Val::from(numbers_to_doubles(&read, call)?))
        })
        .help("the value of a YAML text; all numbers are doubles"),
    );
}

fn add_check_document_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::method("Unmarshal", &[JSON, CelKind::Any], CelKind::Any, unmarshal_json)
            .help("the value of a JSON text; all numbers are doubles"),
    );
}

fn unmarshal_json<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let text = inner_text_argument(arguments, 1)?;
    charge_document_text(&text, call)?;
    let read = call.within(|budget| bounded::parse_bounded_json(&text, budget))?;
    let read = read.map_err(|error| CelFailure::value(format!("invalid JSON: {error}")))?;
    Ok(Val::from(numbers_to_doubles(&read, call)?))
}

/// Charges for parsing: at most one value for each character, and the work of reading them.
fn charge_document_text(text: &str, call: &mut CelCallContext<'_, '_>) -> Result<(), CelFailure> {
    Ok(call.work(text.len())?)
}
