//! Signatures and attestations of images, verified by the host.

use super::{CelLibrary, MacroSet, ask_host, json_argument};
use crate::function::{CelFunctions, CelOverload};
use crate::val::CelKind;

/// The library of image verification.
pub const VERIFICATION: CelLibrary = CelLibrary {
    name: "image verification",
    functions: add_verification_functions,
    macros: MacroSet::NONE,
    types: &[],
};

/// The query for how many attestors signed an image: image, attestors.
pub const VERIFY_IMAGE: &str = "verifyImageSignatures";

/// The query for how many attestors signed a statement about an image: image, attestation, attestors.
pub const VERIFY_ATTESTATION: &str = "verifyAttestationSignatures";

/// The query for what a verified statement says: image, attestation.
pub const EXTRACT_PAYLOAD: &str = "extractPayload";

/// The query for what a registry knows about an image: image.
pub const GET_IMAGE_DATA: &str = "getImageData";

const TEXT: CelKind = CelKind::String;
const ANY: CelKind = CelKind::Any;

fn add_verification_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function(VERIFY_IMAGE, &[TEXT, CelKind::List], CelKind::Int, |arguments, call| {
            let question = [json_argument(arguments, 0)?, json_argument(arguments, 1)?];
            ask_host(call, VERIFY_IMAGE, &question, "failed to verify image signatures")
        })
        .help("how many of the attestors signed an image"),
    );
    functions.add(
        CelOverload::function(
            VERIFY_ATTESTATION,
            &[TEXT, ANY, CelKind::List],
            CelKind::Int,
            |arguments, call| {
                let question = [
                    json_argument(arguments, 0)?,
                    json_argument(arguments, 1)?,
                    json_argument(arguments, 2)?,
                ];
                ask_host(call, VERIFY_ATTESTATION, &question, "failed to verify attestations")
            },
        )
        .help("how many of the attestors signed a statement about an image"),
    );
    functions.add(
        CelOverload::function(EXTRACT_PAYLOAD, &[TEXT, ANY], ANY, |arguments, call| {
            let question = [json_argument(arguments, 0)?, json_argument(arguments, 1)?];
            ask_host(call, EXTRACT_PAYLOAD, &question, "failed to extract the payload")
        })
        .help("what a verified statement says about an image"),
    );
    functions.add(
        CelOverload::function(GET_IMAGE_DATA, &[TEXT], ANY, |arguments, call| {
            ask_host(call, GET_IMAGE_DATA, &[json_argument(arguments, 0)?], "failed to get image data")
        })
        .help("what the registry knows about an image: manifest, config and so on"),
    );
}
