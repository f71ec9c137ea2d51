//! Decoding of X.509 certificates.

use kubewright_golib::x509::{MAX_BYTES_PER_BYTE, decode_pem};
use kubewright_value::{Budget, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

pub(super) const TABLE: &[JmesPathBuiltin] = &[define_builtin(
    "x509_decode",
    &[ArgumentTypes::STRING],
    "object",
    "the fields of a PEM certificate or certificate request with an RSA key",
    call_x509_decode,
)];

fn call_x509_decode(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let text = arguments.first().map_or("", JmesPathArgument::text);
    budget.step(text.len() as u64 * 4 + 100)?;
    budget.produce(text.len().saturating_mul(MAX_BYTES_PER_BYTE))?;
    decode_pem(text).map_err(|message| JmesPathFailure::wrong_value(message).about(0))
}
