//! Who may ask: the checks of `Host`, `Origin` and the content type.
//!
//! A web page elsewhere can make a browser send requests to loopback. It cannot choose the `Host` of its own name
//! (DNS rebinding), send `application/json` across origins without being asked first, or leave out `Origin` when it posts.

use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};

use crate::PageContent;

/// The names of loopback.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that may be asked for.
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    /// The port of loopback names; any where there is none, because a tunnel may have another one.
    pub(crate) port: Option<u16>,
    /// Further hosts, with any port unless they name one.
    pub(crate) names: Vec<String>,
}

impl AllowedHosts {
    fn allow(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let (name, port) = split_port(&host);
        let is_own_port = self.port.is_none_or(|own| port.unwrap_or(80) == own);
        let is_loopback = LOOPBACK_NAMES.contains(&name) && is_own_port;
        is_loopback
            || self
                .names
                .iter()
                .any(|known| known.eq_ignore_ascii_case(&host) || known.eq_ignore_ascii_case(name))
    }
}

/// Returns `name` and `port` of `name:port`; the port is nothing where it is left out or no number.
fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (host, None),
        },
        _ => (host, None),
    }
}

/// Checks the host of a request.
///
/// # Errors
/// When it is missing, repeated, or none of ours.
pub(crate) fn check_host(headers: &HeaderMap, hosts: &AllowedHosts) -> Result<(), PageContent> {
    let host = single_header(headers, &HOST);
    match host {
        Some(host) if hosts.allow(host) => Ok(()),
        Some(host) => {
            let message = format!("the host `{host}` is not served here; `--host` allows a name");
            Err(PageContent::error(421, &message, None))
        }
        None => Err(PageContent::error(400, "the request has no single Host header", None)),
    }
}

/// Checks that a POST request comes from our own page, or from a program that is no browser.
///
/// # Errors
/// When another origin sent it, or it is not JSON.
pub(crate) fn check_post(headers: &HeaderMap) -> Result<(), PageContent> {
    let site = single_header(headers, &HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| !["same-origin", "none"].contains(&site)) {
        return Err(PageContent::error(403, "the request comes from another site", None));
    }
    if headers.contains_key(ORIGIN) {
        let origin = single_header(headers, &ORIGIN).unwrap_or_default();
        let host = single_header(headers, &HOST).unwrap_or_default();
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if own.is_none_or(|own| !own.eq_ignore_ascii_case(host)) {
            return Err(PageContent::error(403, &format!("the origin `{origin}` may not post here"), None));
        }
    }
    let content_type = single_header(headers, &CONTENT_TYPE).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(PageContent::error(415, "a POST request needs `content-type: application/json`", None));
    }
    Ok(())
}

/// Returns the value of a header that stands there once.
fn single_header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::{AllowedHosts, check_host, check_post};
    use hyper::HeaderMap;
    use hyper::header::{HOST, HeaderName, HeaderValue};

    #[track_caller]
    fn check(host: &str, want: bool) {
        let hosts = AllowedHosts { port: Some(4000), names: vec!["rules.example.com".to_owned()] };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).expect("a header"));
        assert_eq!(check_host(&headers, &hosts).is_ok(), want, "{host}");
    }

    #[test]
    fn only_loopback_and_named_hosts_are_served() {
        check("localhost:4000", true);
        check("LOCALHOST:4000", true);
        check("127.0.0.1:4000", true);
        check("[::1]:4000", true);
        check("rules.example.com", true);
        check("rules.example.com:8443", true);
        check("localhost:4001", false);
        check("localhost", false);
        check("127.0.0.1:4000.evil.example", false);
        check("localhost.evil.example:4000", false);
        check("evil.example:4000", false);
        check("[::1", false);
        check("", false);
    }

    #[test]
    fn a_repeated_host_is_refused() {
        let hosts = AllowedHosts { port: Some(4000), names: Vec::new() };
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("localhost:4000"));
        headers.append(HOST, HeaderValue::from_static("localhost:4000"));
        assert_eq!(check_host(&headers, &hosts).map_err(|refusal| refusal.status), Err(400));
    }

    #[track_caller]
    fn check_posted(given: &[(&'static str, &'static str)], want: Result<(), u16>) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost:4000"));
        for (name, value) in given {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        assert_eq!(check_post(&headers).map_err(|refusal| refusal.status), want, "{given:?}");
    }

    #[test]
    fn posts_come_from_the_page_itself_as_json() {
        check_posted(&[("content-type", "application/json")], Ok(()));
        check_posted(&[("content-type", "Application/JSON; charset=utf-8")], Ok(()));
        check_posted(&[("content-type", "application/json"), ("origin", "http://localhost:4000")], Ok(()));
        check_posted(&[("content-type", "application/json"), ("sec-fetch-site", "same-origin")], Ok(()));
        check_posted(&[("content-type", "application/json"), ("origin", "http://localhost:4001")], Err(403));
        check_posted(&[("content-type", "application/json"), ("origin", "null")], Err(403));
        check_posted(&[("content-type", "application/json"), ("origin", "https://evil.example")], Err(403));
        check_posted(&[("content-type", "application/json"), ("sec-fetch-site", "cross-site")], Err(403));
        check_posted(&[("content-type", "application/json"), ("sec-fetch-site", "same-site")], Err(403));
        check_posted(&[("content-type", "text/plain")], Err(415));
        check_posted(&[], Err(415));
    }
}
