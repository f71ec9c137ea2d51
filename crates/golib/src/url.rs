//! URLs taken apart and put together, as Go's `net/url`.

use crate::utf8::decode_utf8_lossy;

/// The parts of a URL, decoded.
#[derive(Default)]
pub struct GoUrl {
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
    /// The text after `?`, as it was written.
    pub query: String,
    /// The text after `#`, decoded.
    pub fragment: String,
}

impl GoUrl {
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
pub fn parse_url(whole: &str) -> Result<GoUrl, String> {
    let (rest, fragment) = whole.split_once('#').unwrap_or((whole, ""));
    // Go does not look at the fragment.
    check_control(rest)?;
    let fragment = unescape_text(fragment, UrlPart::Fragment)?;
    let url = take_apart(rest, false)?;
    Ok(GoUrl { fragment, ..url })
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
fn take_apart(whole: &str, is_request: bool) -> Result<GoUrl, String> {
    let mut url = GoUrl::default();
    if whole == "*" {
        url.path = "*".to_owned();
        url.raw_path = "*".to_owned();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(whole)?;
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
    url.path = unescape_text(rest, UrlPart::Path)?;
    url.raw_path = rest.to_owned();
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
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

type UrlAuthority = (Option<(String, Option<String>)>, String);

fn parse_authority(authority: &str, scheme: &str) -> Result<UrlAuthority, String> {
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
        Some((name, password)) => {
            (unescape_text(name, UrlPart::User)?, Some(unescape_text(password, UrlPart::User)?))
        }
        None => (unescape_text(user, UrlPart::User)?, None),
    };
    Ok((Some(parsed), host))
}

fn parse_host(host: &str, scheme: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => return parse_bracketed_host(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // Several hosts with ports are common in the URLs of databases, never in those of the web.
    let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
    check_port(colon.and_then(|at| host.get(at..)).unwrap_or_default())?;
    unescape_text(host, UrlPart::Host)
}

/// Reads `[::1]` and what may follow it.
fn parse_bracketed_host(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let (inner, port) = (host.get(1..end).unwrap_or_default(), host.get(end + 1..).unwrap_or_default());
    check_port(port)?;
    let port = unescape_text(port, UrlPart::Host)?;
    let (address, zone) = match inner.find("%25") {
        Some(at) => inner.split_at(at),
        None => (inner, ""),
    };
    let inner = format!("{}{}", unescape_text(address, UrlPart::Host)?, unescape_text(zone, UrlPart::Zone)?);
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
enum UrlPart {
    Path,
    User,
    Host,
    /// The text after `%25` in an IPv6 address.
    Zone,
    Query,
    Fragment,
}

fn unescape_text(text: &str, place: UrlPart) -> Result<String, String> {
    percent_decode(text, place).map(|bytes| decode_utf8_lossy(&bytes))
}

fn percent_decode(text: &str, place: UrlPart) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let is_host = matches!(place, UrlPart::Host | UrlPart::Zone);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' {
            if is_host && *byte < 0x80 && !is_unescaped_byte(*byte, UrlPart::Host) {
                let shown = char::from(*byte).to_string();
                return Err(format!("invalid character {shown:?} in host name"));
            }
            out.push(if place == UrlPart::Query && *byte == b'+' { b' ' } else { *byte });
            at += 1;
            continue;
        }
        let digits = text.get(at + 1..at + 3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(value) = digits.and_then(|d| u8::from_str_radix(d, 16).ok()) else {
            let end = (at + 3).min(bytes.len());
            let shown = decode_utf8_lossy(bytes.get(at..end).unwrap_or_default());
            return Err(format!("invalid URL escape {shown:?}"));
        };
        let is_refused = match place {
            UrlPart::Host => value < 0x80 && value != b'%',
            UrlPart::Zone => !matches!(value, b'%' | b' ') && !is_unescaped_byte(value, UrlPart::Host),
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

/// Returns whether the byte needs no escape in that part of a URL.
fn is_unescaped_byte(byte: u8, place: UrlPart) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    match place {
        UrlPart::Path => b"$&+,/:;=@".contains(&byte),
        UrlPart::User => b"$&+,;=".contains(&byte),
        UrlPart::Host | UrlPart::Zone => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        UrlPart::Query => false,
        UrlPart::Fragment => b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape_text(text: &str, place: UrlPart) -> String {
    percent_encode(text.as_bytes(), place)
}

fn percent_encode(bytes: &[u8], place: UrlPart) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut out, byte| {
        if is_unescaped_byte(*byte, place) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

/// Returns the path as written in a URL: as it was written, if that is how a path may be written.
#[must_use]
pub fn escaped_path(url: &GoUrl) -> String {
    let raw = url.raw_path.as_str();
    let is_fine = |byte: u8| is_unescaped_byte(byte, UrlPart::Path) || b"!$&'()*+,;=:@[]%".contains(&byte);
    match percent_decode(raw, UrlPart::Path) {
        _ if url.path == "*" => "*".to_owned(),
        _ if raw.is_empty() => escape_text(&url.path, UrlPart::Path),
        Ok(_) if raw.bytes().all(is_fine) => raw.to_owned(),
        Ok(bytes) => percent_encode(&bytes, UrlPart::Path),
        Err(_) => escape_text(&url.path, UrlPart::Path),
    }
}

/// Returns the names and values of a query; what is not well-formed is left out.
pub fn query_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((unescape_text(name, UrlPart::Query).ok()?, unescape_text(value, UrlPart::Query).ok()?))
    })
}

/// Returns the user and password as written in a URL.
#[must_use]
pub fn user_text((name, password): &(String, Option<String>)) -> String {
    let name = escape_text(name, UrlPart::User);
    match password {
        Some(password) => format!("{name}:{}", escape_text(password, UrlPart::User)),
        None => name,
    }
}

/// Puts a URL together.
#[must_use]
pub fn join_url(url: &GoUrl) -> String {
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
            out.push_str(&escape_text(&url.host, UrlPart::Host));
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
        out.push_str(&escape_text(&url.fragment, UrlPart::Fragment));
    }
    out
}
