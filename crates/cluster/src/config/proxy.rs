//! The proxy between the client and the API server.

mod environment;

use std::fmt;

pub(super) use environment::proxy_from_environment;

/// A proxy, such as `http://user:password@proxy.example.com:3128`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyServer {
    /// How the proxy is spoken to.
    pub scheme: ProxyScheme,
    /// Its name or address, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user name and the password that it asks for.
    pub credentials: Option<(String, String)>,
}

/// How a proxy is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyScheme {
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// SOCKS version 5; the proxy resolves the name of the API server.
    Socks5,
}

impl ProxyServer {
    /// Reads the URL of a proxy.
    ///
    /// # Errors
    /// When it is none, or has a scheme other than `http`, `https`, `socks5` and `socks5h`. The text never shows a password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{}` is not a proxy: {why}", without_credentials(url));
        let (scheme, rest) =
            url.trim().split_once("://").ok_or_else(|| wrong("it has no scheme, such as `http://`"))?;
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (ProxyScheme::Http, 80),
            "https" => (ProxyScheme::Https, 443),
            "socks5" | "socks5h" => (ProxyScheme::Socks5, 1080),
            _ => return Err(wrong("its scheme must be `http`, `https` or `socks5`")),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (host, port) = split_host_port(host).ok_or_else(|| wrong("its port is not a number"))?;
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(wrong("it has no host"));
        }
        let credentials = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (decode_percent(name), decode_percent(password))
        });
        Ok(Self { scheme, host: host.to_owned(), port: port.unwrap_or(default_port), credentials })
    }
}

/// Without the credentials.
impl fmt::Display for ProxyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            ProxyScheme::Http => "http",
            ProxyScheme::Https => "https",
            ProxyScheme::Socks5 => "socks5",
        };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

/// Without the credentials.
impl fmt::Debug for ProxyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyServer({self})")
    }
}

/// Splits `host`, `host:port`, `[address]` or `[address]:port`; `None` if the port is not one.
fn split_host_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    match port {
        None | Some("") => Some((host, None)),
        Some(port) => Some((host, Some(port.parse().ok()?))),
    }
}

fn without_credentials(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        _ => url.to_owned(),
    }
}

/// Decodes `%40` and the like; what is not two hexadecimal digits stays as it is.
fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
