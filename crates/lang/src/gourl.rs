//! URLs taken apart and put together, as Go's `net/url`.

use crate::gotemplate::lossy;

/// The parts of a URL, decoded.
#[derive(Default)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    pub(crate) opaque: String,
    pub(crate) user: Option<(String, Option<String>)>,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) fragment: String,
}

impl Url {
    /// Returns the host without its port, and without the brackets of an IPv6 address.
    pub(crate) fn hostname(&self) -> &str {
        if let Some(inner) = self.host.strip_prefix('[') {
            return inner.split(']').next().unwrap_or(inner);
        }
        self.host.split(':').next().unwrap_or(&self.host)
    }
}

/// Takes `whole` apart; the error is Go's.
pub(crate) fn parse(whole: &str) -> Result<Url, String> {
    if whole.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let mut url = Url::default();
    let (rest, fragment) = whole.split_once('#').unwrap_or((whole, ""));
    url.fragment = unescape(fragment, Where::Fragment)?;
    if whole == "*" {
        url.path = "*".to_owned();
        return Ok(url);
    }
    let (scheme, rest) = scheme(rest)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.to_owned();
    let mut rest = rest;
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let has_authority = rest.starts_with("//") && (!url.scheme.is_empty() || !rest.starts_with("///"));
    if has_authority {
        let after = rest.get(2..).unwrap_or_default();
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        (url.user, url.host) = parse_authority(authority)?;
        rest = path;
    }
    url.path = unescape(rest, Where::Path)?;
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

fn parse_authority(authority: &str) -> Result<Authority, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = parse_host(host)?;
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

fn parse_host(host: &str) -> Result<String, String> {
    let port = if host.starts_with('[') {
        let end = host.rfind(']').ok_or("missing ']' in host")?;
        host.get(end + 1..).unwrap_or_default()
    } else {
        host.find(':').and_then(|at| host.get(at..)).unwrap_or_default()
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    if !is_port {
        return Err(format!("invalid port {port:?} after host"));
    }
    unescape(host, Where::Host)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Path,
    User,
    Host,
    Fragment,
}

fn unescape(text: &str, place: Where) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' {
            if place == Where::Host && *byte < 0x80 && !is_plain(*byte, Where::Host) {
                let shown = char::from(*byte).to_string();
                return Err(format!("invalid character {shown:?} in host name"));
            }
            out.push(*byte);
            at += 1;
            continue;
        }
        let digits = text.get(at + 1..at + 3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(value) = digits.and_then(|d| u8::from_str_radix(d, 16).ok()) else {
            let end = (at + 3).min(bytes.len());
            let shown = lossy(bytes.get(at..end).unwrap_or_default());
            return Err(format!("invalid URL escape {shown:?}"));
        };
        if place == Where::Host && value < 0x80 && value != b'%' {
            return Err(format!("invalid URL escape \"%{value:02X}\""));
        }
        out.push(value);
        at += 3;
    }
    Ok(lossy(&out))
}

/// Returns whether the byte stands for itself in that part of a URL.
fn is_plain(byte: u8, place: Where) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    match place {
        Where::Path => b"$&+,/:;=@".contains(&byte),
        Where::User => b"$&+,;=".contains(&byte),
        Where::Host => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Where::Fragment => b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape(text: &str, place: Where) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if is_plain(byte, place) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

/// Returns the user and password as they stand in a URL.
pub(crate) fn user_text((name, password): &(String, Option<String>)) -> String {
    let name = escape(name, Where::User);
    match password {
        Some(password) => format!("{name}:{}", escape(password, Where::User)),
        None => name,
    }
}

/// Puts a URL together.
pub(crate) fn join(url: &Url) -> String {
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
        let path = escape(&url.path, Where::Path);
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
