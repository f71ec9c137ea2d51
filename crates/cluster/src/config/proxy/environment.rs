//! The proxy that the environment names, by the rules of Go's `net/http`, which kubectl follows.

use std::net::IpAddr;

use super::{ProxyServer, split_host_port};
use crate::Error;

/// Returns the proxy for the API server at `server`; `variable` returns a variable of the environment.
pub(crate) fn proxy_from_environment(
    server: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<ProxyServer>, Error> {
    let either = |names: [&'static str; 2]| {
        let set = names.into_iter().map(|name| (name, variable(name).unwrap_or_default()));
        set.into_iter().find(|(_, value)| !value.trim().is_empty())
    };
    let Some((scheme, rest)) = server.split_once("://") else { return Ok(None) };
    let (names, default_port) = match scheme {
        "https" => (["HTTPS_PROXY", "https_proxy"], 443),
        _ => (["HTTP_PROXY", "http_proxy"], 80),
    };
    let Some((name, url)) = either(names) else { return Ok(None) };
    let authority = rest.split('/').next().unwrap_or_default();
    let Some((host, port)) = split_host_port(authority) else { return Ok(None) };
    let exceptions = either(["NO_PROXY", "no_proxy"]).map(|(_, text)| text).unwrap_or_default();
    if !uses_proxy(host, port.unwrap_or(default_port), &exceptions) {
        return Ok(None);
    }
    let url = if url.contains("://") { url } else { format!("http://{}", url.trim()) };
    ProxyServer::parse(&url).map(Some).map_err(|error| Error::Config(format!("{name}: {error}")))
}

/// Returns whether connections to `host` go through the proxy. This machine is never behind it.
fn uses_proxy(host: &str, port: u16, exceptions: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.to_canonical().is_loopback()) {
        return false;
    }
    !exceptions.split(',').any(|entry| is_exception(&entry.trim().to_ascii_lowercase(), &host, address, port))
}

/// Returns whether `entry` of NO_PROXY names `host`.
fn is_exception(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((network, length)) = parse_network(entry) {
        return address.is_some_and(|address| is_in_network(address, network, length));
    }
    // An IPv6 address without brackets has colons and no port.
    let parts = entry.parse::<IpAddr>().map_or_else(|_| split_host_port(entry), |_| Some((entry, None)));
    let Some((name, entry_port)) = parts.filter(|(name, _)| !name.is_empty()) else { return false };
    if entry_port.is_some_and(|entry_port| entry_port != port) {
        return false;
    }
    if let Ok(named) = name.parse::<IpAddr>() {
        return address.is_some_and(|address| address.to_canonical() == named.to_canonical());
    }
    let suffix = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match suffix.starts_with('.') {
        true => host.ends_with(suffix),
        false => host == suffix || host.strip_suffix(suffix).is_some_and(|before| before.ends_with('.')),
    }
}

fn parse_network(entry: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = entry.split_once('/')?;
    let (address, length): (IpAddr, u32) = (address.parse().ok()?, length.parse().ok()?);
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}

fn is_in_network(address: IpAddr, network: IpAddr, length: u32) -> bool {
    match (address.to_canonical(), network.to_canonical()) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - length.min(32)).unwrap_or_default();
            (address.to_bits() ^ network.to_bits()) & mask == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - length.min(128)).unwrap_or_default();
            (address.to_bits() ^ network.to_bits()) & mask == 0
        }
        _ => false,
    }
}
