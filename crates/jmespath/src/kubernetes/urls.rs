//! Where a URL leads. Names are not looked up here, so it is told from the text alone.

use core::net::IpAddr;

use kubewright_golib::url;
use kubewright_value::{Budget, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

pub(super) const TABLE: &[Builtin] = &[builtin(
    "is_external_url",
    &[Accepts::STRING],
    "boolean",
    "whether the URL leads out of private networks; names are not looked up",
    is_external_url,
)];

/// Names that are those of this machine or of a cluster wherever they are looked up.
const INTERNAL: [&str; 5] = ["localhost", ".localhost", ".svc", ".cluster.local", ".internal"];

fn is_external_url(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let text = arguments.first().map_or("", Argument::text);
    budget.step(text.len() as u64 / 8 + 1)?;
    budget.produce(text.len().saturating_mul(2))?;
    let bad = |message: String| Failure::wrong_value(message).about(0);
    let url = url::parse_url(text).map_err(|reason| bad(format!("`{text}` is no URL: {reason}")))?;
    let host = url.hostname();
    if let Ok(address) = host.parse() {
        return Ok(Value::Bool(!is_internal(address)));
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    if INTERNAL.iter().any(|known| name == *known || known.starts_with('.') && name.ends_with(known)) {
        return Ok(Value::Bool(false));
    }
    Err(bad(match name.is_empty() {
        true => format!("`{text}` names no host"),
        false => format!("where `{host}` leads is not known here: names are not looked up, only addresses"),
    }))
}

/// Returns whether the address is of this machine or of a private network.
fn is_internal(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}
