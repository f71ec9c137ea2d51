//! URLs taken apart and put together, as Go's `net/url`.

use crate::utf8::lossy;

/// The parts of a URL, decoded.
#[derive(Default)]
pub struct Url {
    /// In lower case, such as `https`; empty when there is none.
    pub scheme: String,
    /// Everything behind the scheme when no `/` follows it.
    pub opaque: String,
    /// The user and password.
    pub user: Option<(String, Option<String>)>,
    /// The host with its port.
    pub host: String,
    /// The path, decoded.
    pub path: String,
    /// The path as it was written.
    pub raw_path: String,
    /// What follows `?`, as it was written.
    pub query: String,
    /// What follows `#`, decoded.
    pub fragment: String,
}

impl Url {
    /// Returns the port, if there is one.
    #[must_use]
    pub fn port(&self) -> &str {
        self.split_port().1
    }

    /// Returns the host without its port, and without the brackets of an IPv6 address.
    #[must_use]
    pub fn hostname(&self) -> &str {
        let host = self.split_port().0;
        host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host)
    }

    fn split_port(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
            _ => (&self.host, ""),
        }
    }
}

/// Takes `whole` apart.
///
/// # Errors
/// When it is not a URL, in Go's words.
pub fn parse(whole: &str) -> Result<Url, String> {
    check_control(whole)?;
    let (rest, fragment) = whole.split_once('#').unwrap_or((whole, ""));
    let fragment = unescape(fragment, Where::Fragment)?;
    let url = take_apart(rest, false)?;
    Ok(Url { fragment, ..url })
}

/// Checks that `whole` is what a client may ask a server for: absolute, or a path from the root.
///
/// # Errors
/// When it is not, in Go's words.
pub fn check_request(whole: &str) -> Result<(), String> {
    check_control(whole)?;
    if whole.is_empty() {
        return Err("empty url".to_owned());
    }
    take_apart(whole, true).map(|_| ())
}

fn check_control(whole: &str) -> Result<(), String> {
    match whole.bytes().any(|b| b < b' ' || b == 0x7f) {
        true => Err("net/url: invalid control character in URL".to_owned()),
        false => Ok(()),
    }
}

/// Takes everything but the fragment apart.
fn take_apart(whole: &str, is_request: bool) -> Result<Url, String> {
    let mut url = Url::default();
    if whole == "*" {
        url.path = "*".to_owned();
        url.raw_path = "*".to_owned();
        return Ok(url);
    }
    let (scheme, rest) = scheme(whole)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.to_owned();
    let mut rest = rest;
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if is_request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let may_have_authority = !url.scheme.is_empty() || (!is_request && !rest.starts_with("///"));
    if may_have_authority && let Some(after) = rest.strip_prefix("//") {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        (url.user, url.host) = parse_authority(authority, &url.scheme)?;
        rest = path;
    }
    url.path = unescape(rest, Where::Path)?;
    url.raw_path = rest.to_owned();
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok(("", text))
}

type Authority = (Option<(String, Option<String>)>, String);

fn parse_authority(authority: &str, scheme: &str) -> Result<Authority, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = parse_host(host, scheme)?;
    let Some(user) = user else {
        return Ok((None, host));
    };
    let fine = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(fine) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let parsed = match user.split_once(':') {
        Some((name, password)) => (unescape(name, Where::User)?, Some(unescape(password, Where::User)?)),
        None => (unescape(user, Where::User)?, None),
    };
    Ok((Some(parsed), host))
}

fn parse_host(host: &str, scheme: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => return bracketed(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // Several hosts with ports are common in the URLs of databases, never in those of the web.
    let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
    check_port(colon.and_then(|at| host.get(at..)).unwrap_or_default())?;
    unescape(host, Where::Host)
}

/// Reads `[::1]` and what may follow it.
fn bracketed(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let (inner, port) = (host.get(1..end).unwrap_or_default(), host.get(end + 1..).unwrap_or_default());
    check_port(port)?;
    let port = unescape(port, Where::Host)?;
    let (address, zone) = match inner.find("%25") {
        Some(at) => inner.split_at(at),
        None => (inner, ""),
    };
    let inner = format!("{}{}", unescape(address, Where::Host)?, unescape(zone, Where::Zone)?);
    let (address, zone) = inner.split_once('%').map_or((inner.as_str(), None), |(a, zone)| (a, Some(zone)));
    match address.parse::<std::net::IpAddr>() {
        Ok(address) if address.is_ipv4() => Err("invalid IP-literal".to_owned()),
        Ok(_) if zone != Some("") => Ok(format!("[{inner}]{port}")),
        _ => Err(format!("invalid host: ParseAddr({inner:?}): unable to parse IP")),
    }
}

fn check_port(port: &str) -> Result<(), String> {
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    if is_port { Ok(()) } else { Err(format!("invalid port {port:?} after host")) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Path,
    User,
    Host,
    /// What follows `%25` in an IPv6 address.
    Zone,
    Query,
    Fragment,
}

fn unescape(text: &str, place: Where) -> Result<String, String> {
    unescaped(text, place).map(|bytes| lossy(&bytes))
}

fn unescaped(text: &str, place: Where) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let is_host = matches!(place, Where::Host | Where::Zone);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' {
            if is_host && *byte < 0x80 && !is_plain(*byte, Where::Host) {
                let shown = char::from(*byte).to_string();
                return Err(format!("invalid character {shown:?} in host name"));
            }
            out.push(if place == Where::Query && *byte == b'+' { b' ' } else { *byte });
            at += 1;
            continue;
        }
        let digits = text.get(at + 1..at + 3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(value) = digits.and_then(|d| u8::from_str_radix(d, 16).ok()) else {
            let end = (at + 3).min(bytes.len());
            let shown = lossy(bytes.get(at..end).unwrap_or_default());
            return Err(format!("invalid URL escape {shown:?}"));
        };
        let is_refused = match place {
            Where::Host => value < 0x80 && value != b'%',
            Where::Zone => !matches!(value, b'%' | b' ') && !is_plain(value, Where::Host),
            _ => false,
        };
        if is_refused {
            return Err(format!("invalid URL escape \"%{value:02X}\""));
        }
        out.push(value);
        at += 3;
    }
    Ok(out)
}

/// Returns whether the byte stands for itself in that part of a URL.
fn is_plain(byte: u8, place: Where) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    match place {
        Where::Path => b"$&+,/:;=@".contains(&byte),
        Where::User => b"$&+,;=".contains(&byte),
        Where::Host | Where::Zone => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Where::Query => false,
        Where::Fragment => b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape(text: &str, place: Where) -> String {
    escaped(text.as_bytes(), place)
}

fn escaped(bytes: &[u8], place: Where) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut out, byte| {
        if is_plain(*byte, place) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

/// Returns the path as it stands in a URL: as it was written, if that is how a path may be written.
#[must_use]
pub fn escaped_path(url: &Url) -> String {
    let raw = url.raw_path.as_str();
    let is_fine = |byte: u8| is_plain(byte, Where::Path) || b"!$&'()*+,;=:@[]%".contains(&byte);
    match unescaped(raw, Where::Path) {
        _ if url.path == "*" => "*".to_owned(),
        _ if raw.is_empty() => escape(&url.path, Where::Path),
        Ok(_) if raw.bytes().all(is_fine) => raw.to_owned(),
        Ok(bytes) => escaped(&bytes, Where::Path),
        Err(_) => escape(&url.path, Where::Path),
    }
}

/// Returns the names and values of a query; what is not well-formed is left out.
pub fn query_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((unescape(name, Where::Query).ok()?, unescape(value, Where::Query).ok()?))
    })
}

/// Returns the user and password as they stand in a URL.
#[must_use]
pub fn user_text((name, password): &(String, Option<String>)) -> String {
    let name = escape(name, Where::User);
    match password {
        Some(password) => format!("{name}:{}", escape(password, Where::User)),
        None => name,
    }
}

/// Puts a URL together.
#[must_use]
pub fn join(url: &Url) -> String {
    let mut out = String::new();
    if !url.scheme.is_empty() {
        out.push_str(&url.scheme);
        out.push(':');
    }
    if !url.opaque.is_empty() {
        out.push_str(&url.opaque);
    } else {
        if !url.scheme.is_empty() || !url.host.is_empty() || url.user.is_some() {
            if !url.host.is_empty() || !url.path.is_empty() || url.user.is_some() {
                out.push_str("//");
            }
            if let Some(user) = &url.user {
                out.push_str(&user_text(user));
                out.push('@');
            }
            out.push_str(&escape(&url.host, Where::Host));
        }
        let path = escaped_path(url);
        if !path.is_empty() && !path.starts_with('/') && !url.host.is_empty() {
            out.push('/');
        }
        if out.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':')) {
            out.push_str("./");
        }
        out.push_str(&path);
    }
    if !url.query.is_empty() {
        out.push('?');
        out.push_str(&url.query);
    }
    if !url.fragment.is_empty() {
        out.push('#');
        out.push_str(&escape(&url.fragment, Where::Fragment));
    }
    out
}
