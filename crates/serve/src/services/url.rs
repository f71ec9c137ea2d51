//! The address of a service, read once.

/// Names under which clouds tell their machines about themselves.
const METADATA_HOSTS: [&str; 4] = ["metadata", "metadata.google.internal", "metadata.goog", "instance-data"];

/// The address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceUrl {
    pub(crate) is_tls: bool,
    /// In lower case, without a dot at its end and without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query.
    pub(crate) target: String,
}

impl ServiceUrl {
    /// Reads `text`.
    ///
    /// # Errors
    /// When any part of it could be taken for something else than it is.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let refused = |why: &str| Err(format!("the address `{}` {why}", text.escape_debug()));
        if text.len() > 8 << 10 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refused("has characters that are not allowed in an address, or is too long");
        }
        let (is_tls, rest) = if let Some(rest) = text.strip_prefix("https://") {
            (true, rest)
        } else if let Some(rest) = text.strip_prefix("http://") {
            (false, rest)
        } else {
            return refused("starts neither with `https://` nor with `http://`");
        };
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if target.contains(['#', '\\']) {
            return refused("has a fragment or a backslash");
        }
        let Some((host, port)) = host_and_port(authority) else { return refused("has no plain host") };
        if METADATA_HOSTS.contains(&host.as_str()) {
            return refused("is the metadata service of a cloud");
        }
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { is_tls, host, port: port.unwrap_or(if is_tls { 443 } else { 80 }), target })
    }

    /// Returns whether a request to `other` goes to the same server in the same way.
    pub(crate) fn is_same_host(&self, other: &Self) -> bool {
        (self.is_tls, &self.host, self.port) == (other.is_tls, &other.host, other.port)
    }

    /// Returns host and port as they stand in a request.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.is_tls, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// Returns host and port of `text`, where it is nothing else. A number in any other than the usual notation is no host:
/// `0x7f000001` and `127.1` lead where they do not seem to.
pub(crate) fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let host: std::net::Ipv6Addr = host.parse().ok()?;
        let port = match port {
            "" => None,
            port => Some(port.strip_prefix(':')?.parse().ok()?),
        };
        return Some((host.to_string(), port));
    }
    let (host, port) = match text.split_once(':') {
        None => (text, None),
        Some((host, port)) => (host, Some(port.parse().ok()?)),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_lowercase();
    let is_name = !host.is_empty()
        && host.split('.').all(|label| !label.is_empty() && !label.starts_with('-'))
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|c: char| c.is_ascii_digit());
    let is_usual = host.parse::<std::net::Ipv4Addr>().is_ok();
    (is_name && (!is_number || is_usual)).then_some((host, port))
}
