//! Encoding and decoding base64 and JSON.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use kubewright_value::bounded;

use super::CelLibrary;
use crate::cost::traversal_cost;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of `base64.encode` and its like.
pub const ENCODERS: CelLibrary =
    CelLibrary { name: "encoders", functions: add_encoder_functions, macros: MacroSet::NONE, types: &[] };

/// Base64 that is read with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

fn add_encoder_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("base64.encode", &[CelKind::Bytes], CelKind::String, |arguments, _| {
            match arguments {
                [Val::Bytes(bytes)] => Ok(Val::text(BASE64.encode(bytes))),
                _ => Err(CelFailure::mismatch()),
            }
        })
        .cost(|arguments, _| traversal_cost(arguments.first().map_or(0, Val::size)).saturating_add(1))
        .help("bytes in base64"),
    );
    functions.add(
        CelOverload::function("base64.decode", &[CelKind::String], CelKind::Bytes, |arguments, _| {
            match arguments {
                [Val::String(text)] => match BASE64.decode(text.as_bytes()) {
                    Ok(bytes) => Ok(Val::Bytes(bytes.into())),
                    Err(error) => Err(CelFailure::value(format!("invalid base64: {error}"))),
                },
                _ => Err(CelFailure::mismatch()),
            }
        })
        .cost(|arguments, _| traversal_cost(arguments.first().map_or(0, Val::size)).saturating_add(1))
        .help("the bytes that are encoded in a base64 text"),
    );
    functions.add(
        CelOverload::function("json.encode", &[CelKind::Any], CelKind::String, |arguments, call| {
            match arguments {
                [value] => {
                    let value = value.to_value().map_err(CelFailure::value)?;
                    Ok(Val::text(call.within(|budget| bounded::to_json(&value, budget))?))
                }
                _ => Err(CelFailure::mismatch()),
            }
        })
        .cost(|_, result| traversal_cost(result.size()).saturating_add(1))
        .help("a value as JSON"),
    );
}
