//! Checksums, in hexadecimal.

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use kubewright_golib::hash::{md5, to_hex};

use super::{Library, Macros, text};
use crate::function::{Body, Functions, Overload};
use crate::val::{Kind, Val};

/// The library of checksums.
pub const HASHES: Library = Library { name: "hashes", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    let all: [([&'static str; 2], Body, &'static str); 3] = [
        (
            ["md5", "hash.md5"],
            |arguments, call| {
                let text = text(arguments, 0)?;
                call.work(text.len() / 8)?;
                Ok(Val::text(to_hex(&md5(text.as_bytes()))))
            },
            "the MD5 of a text, in hexadecimal",
        ),
        (
            ["sha1", "hash.sha1"],
            |arguments, call| {
                let text = text(arguments, 0)?;
                call.work(text.len() / 8)?;
                Ok(Val::text(to_hex(&Sha1::digest(text))))
            },
            "the SHA-1 of a text, in hexadecimal",
        ),
        (
            ["sha256", "hash.sha256"],
            |arguments, call| {
                let text = text(arguments, 0)?;
                call.work(text.len() / 8)?;
                Ok(Val::text(to_hex(&Sha256::digest(text))))
            },
            "the SHA-256 of a text, in hexadecimal",
        ),
    ];
    for (names, body, help) in all {
        for name in names {
            functions.add(Overload::function(name, &[Kind::String], Kind::String, body).help(help));
        }
    }
}
