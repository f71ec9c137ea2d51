//! Certificates.

use kubewright_golib::x509::{MAX_BYTES_PER_BYTE, decode_pem};
use kubewright_value::{Budget, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

pub(super) const TABLE: &[Builtin] = &[builtin(
    "x509_decode",
    &[Accepts::STRING],
    "object",
    "what a PEM certificate or certificate request with an RSA key says",
    x509_decode,
)];

fn x509_decode(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let text = arguments.first().map_or("", Argument::text);
    budget.step(text.len() as u64 * 4 + 100)?;
    budget.produce(text.len().saturating_mul(MAX_BYTES_PER_BYTE))?;
    decode_pem(text).map_err(|message| Failure::wrong_value(message).about(0))
}
