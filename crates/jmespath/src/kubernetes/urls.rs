//! `is_external_url`. Host names are not resolved, so the result depends on the text alone.

use core::net::IpAddr;

use kubewright_golib::url;
use kubewright_value::{Budget, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

pub(super) const TABLE: &[JmesPathBuiltin] = &[define_builtin(
    "is_external_url",
    &[ArgumentTypes::STRING],
    "boolean",
    "whether the URL is outside private networks; host names are not resolved",
    call_is_external_url,
)];

/// Host names that are always of this machine or of a cluster.
const INTERNAL_HOSTS: [&str; 5] = ["localhost", ".localhost", ".svc", ".cluster.local", ".internal"];

fn call_is_external_url(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let text = arguments.first().map_or("", JmesPathArgument::text);
    budget.step(text.len() as u64 / 8 + 1)?;
    budget.produce(text.len().saturating_mul(2))?;
    let bad = |message: String| JmesPathFailure::wrong_value(message).about(0);
    let url = url::parse_url(text).map_err(|reason| bad(format!("`{text}` is not a URL: {reason}")))?;
    let host = url.hostname();
    if let Ok(address) = host.parse() {
        return Ok(Value::Bool(!is_internal_address(address)));
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    if INTERNAL_HOSTS.iter().any(|known| name == *known || known.starts_with('.') && name.ends_with(known)) {
        return Ok(Value::Bool(false));
    }
    Err(bad(match name.is_empty() {
        true => format!("`{text}` names no host"),
        false => {
            format!("cannot decide for `{host}`: host names are not resolved, only addresses are checked")
        }
    }))
}

/// Returns whether the address is of this machine or a private network.
fn is_internal_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}
