//! JSON and YAML, read and written. Numbers that are read are doubles, whatever they look like.

mod write;

use kubewright_value::bounded;

use super::{Handle, Library, Macros, held_text, text, with_doubles};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Val};

/// The library of documents.
pub const DOCUMENTS: Library =
    Library { name: "documents", functions: add, macros: Macros::NONE, types: &["json.Json", "yaml.Yaml"] };

/// The same for policies about requests, which have one function, by another name.
pub(super) const CHECK_DOCUMENTS: Library =
    Library { name: "check documents", functions: add_check, macros: Macros::NONE, types: &["json.Json"] };

const JSON: Kind = Kind::Opaque("json.Json");
const YAML: Kind = Kind::Opaque("yaml.Yaml");

pub(super) fn json() -> Val<'static> {
    Val::opaque(Handle(JSON.name()))
}

pub(super) fn yaml() -> Val<'static> {
    Val::opaque(Handle(YAML.name()))
}

fn add(functions: &mut Functions) {
    functions.add(
        Overload::method("unmarshal", &[JSON, Kind::Any], Kind::Any, unmarshal)
            .help("the value that a JSON text says; all numbers are doubles"),
    );
    functions.add(
        Overload::method("marshal", &[JSON, Kind::Any], Kind::String, |arguments, call| {
            let value = arguments.get(1).ok_or_else(Failure::mismatch)?;
            write::written(value, call).map(Val::text)
        })
        .help("a value as JSON text, keys sorted"),
    );
    functions.add(
        Overload::method("parse", &[YAML, Kind::String], Kind::Any, |arguments, call| {
            let text = text(arguments, 1)?;
            charge(text, call)?;
            let read = call.within(|budget| bounded::parse_bounded_yaml(text, budget))?;
            let read = read.map_err(|error| Failure::value(format!("no YAML: {error}")))?;
            Ok(Val::from(with_doubles(&read, call)?))
        })
        .help("the value that a YAML text says; all numbers are doubles"),
    );
}

fn add_check(functions: &mut Functions) {
    functions.add(
        Overload::method("Unmarshal", &[JSON, Kind::Any], Kind::Any, unmarshal)
            .help("the value that a JSON text says; all numbers are doubles"),
    );
}

fn unmarshal<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let text = held_text(arguments, 1)?;
    charge(&text, call)?;
    let read = call.within(|budget| bounded::parse_bounded_json(&text, budget))?;
    let read = read.map_err(|error| Failure::value(format!("no JSON: {error}")))?;
    Ok(Val::from(with_doubles(&read, call)?))
}

/// Reading makes at most a value for each character, and takes its time.
fn charge(text: &str, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    Ok(call.work(text.len())?)
}
