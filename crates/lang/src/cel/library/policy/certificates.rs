//! Certificates.

use super::{Library, Macros, text, with_doubles};
use crate::cel::error::Failure;
use crate::cel::function::{Call, Functions, Overload};
use crate::cel::val::{Kind, Val};
use crate::jmespath::kubernetes::{CERTIFICATE_FACTOR, certificate};

/// The library of certificates.
pub const CERTIFICATES: Library =
    Library { name: "certificates", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("x509.decode", &[Kind::String], Kind::Any, decode)
            .help("what a PEM certificate or certificate request with an RSA key says"),
    );
}

fn decode<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let text = text(arguments, 0)?;
    call.work(text.len().saturating_mul(CERTIFICATE_FACTOR / 8))?;
    certificate(text).map(with_doubles).map(Val::from).map_err(Failure::value)
}
