//! Checksums, in hexadecimal.

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use kubewright_golib::hash::{md5, to_hex};

use super::{CelLibrary, MacroSet, text_argument};
use crate::function::{CelFunctionBody, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of checksums.
pub const HASHES: CelLibrary =
    CelLibrary { name: "hashes", functions: add_hash_functions, macros: MacroSet::NONE, types: &[] };

fn add_hash_functions(functions: &mut CelFunctions) {
    let all: [([&'static str; 2], CelFunctionBody, &'static str); 3] = [
        (
            ["md5", "hash.md5"],
            |arguments, call| {
                let text = text_argument(arguments, 0)?;
                call.work(text.len() / 8)?;
                Ok(Val::text(to_hex(&md5(text.as_bytes()))))
            },
            "the MD5 of a text, in hexadecimal",
        ),
        (
            ["sha1", "hash.sha1"],
            |arguments, call| {
                let text = text_argument(arguments, 0)?;
                call.work(text.len() / 8)?;
                Ok(Val::text(to_hex(&Sha1::digest(text))))
            },
            "the SHA-1 of a text, in hexadecimal",
        ),
        (
            ["sha256", "hash.sha256"],
            |arguments, call| {
                let text = text_argument(arguments, 0)?;
                call.work(text.len() / 8)?;
                Ok(Val::text(to_hex(&Sha256::digest(text))))
            },
            "the SHA-256 of a text, in hexadecimal",
        ),
    ];
    for (names, body, help) in all {
        for name in names {
            functions.add(CelOverload::function(name, &[CelKind::String], CelKind::String, body).help(help));
        }
    }
}
