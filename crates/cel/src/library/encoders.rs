//! Base64 and JSON.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use kubewright_value::bounded;

use super::Library;
use crate::cost::traversal;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::val::{Kind, Val};

/// The library of encodings.
pub const ENCODERS: Library = Library { name: "encoders", functions: add, macros: Macros::NONE, types: &[] };

/// With padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("base64.encode", &[Kind::Bytes], Kind::String, |arguments, _| match arguments {
            [Val::Bytes(bytes)] => Ok(Val::text(BASE64.encode(bytes))),
            _ => Err(Failure::mismatch()),
        })
        .cost(|arguments, _| traversal(arguments.first().map_or(0, Val::size)).saturating_add(1))
        .help("bytes in base64"),
    );
    functions.add(
        Overload::function("base64.decode", &[Kind::String], Kind::Bytes, |arguments, _| match arguments {
            [Val::String(text)] => match BASE64.decode(text.as_bytes()) {
                Ok(bytes) => Ok(Val::Bytes(bytes.into())),
                Err(error) => Err(Failure::value(format!("invalid base64: {error}"))),
            },
            _ => Err(Failure::mismatch()),
        })
        .cost(|arguments, _| traversal(arguments.first().map_or(0, Val::size)).saturating_add(1))
        .help("the bytes that a text in base64 stands for"),
    );
    functions.add(
        Overload::function("json.encode", &[Kind::Any], Kind::String, |arguments, call| match arguments {
            [value] => {
                let value = value.to_value().map_err(Failure::value)?;
                Ok(Val::text(call.within(|budget| bounded::to_json(&value, budget))?))
            }
            _ => Err(Failure::mismatch()),
        })
        .cost(|_, result| traversal(result.size()).saturating_add(1))
        .help("a value as JSON"),
    );
}
