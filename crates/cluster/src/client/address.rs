//! Where the API server is, and what stands in the first line of a request to it.

use hyper::Uri;
use kubewright_k8s::ApiPath;

use crate::config::basic_authorization;
use crate::{Error, ProxyScheme, ProxyServer};

/// The address of an API server, in its parts.
#[derive(Debug)]
pub(super) struct ApiServerAddress {
    pub(super) text: String,
    pub(super) is_tls: bool,
    pub(super) host: String,
    pub(super) port: u16,
    /// What stands before every path; mostly empty.
    prefix: String,
    /// The proxy on the way.
    pub(super) proxy: Option<ProxyServer>,
}

impl ApiServerAddress {
    pub(super) fn parse(text: &str, proxy: Option<ProxyServer>) -> Result<Self, Error> {
        if text.contains('@') {
            return Err(Error::Config(
                "the address of the API server has an `@`: credentials belong to the user of the kubeconfig"
                    .to_owned(),
            ));
        }
        let wrong = || Error::Config(format!("`{text}` is not the address of an API server"));
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let host = uri.host().ok_or_else(wrong)?;
        Ok(Self {
            text: text.to_owned(),
            is_tls,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            proxy,
        })
    }

    /// Returns what is asked for. Parts that could be read as something else are not sent.
    pub(super) fn target(&self, path: &ApiPath) -> Result<String, Error> {
        let ApiPath { group, version, namespace, resource, name, subresource, query } = path;
        let parts = [group, version, namespace, resource, name, subresource];
        if let Some(part) = parts.into_iter().find(|part| !is_safe_path_part(part)) {
            return Err(Error::Config(format!("`{part}` cannot be a part of an address")));
        }
        if let Some((key, _)) =
            query.iter().find(|(key, _)| !key.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        {
            return Err(Error::Config(format!("`{key}` is not a query parameter")));
        }
        Ok(format!("{}{path}", self.prefix))
    }

    /// Returns the URI of a request for `target`, and what a proxy that reads the request must be shown.
    pub(super) fn request_uri(&self, target: &str) -> (String, Option<String>) {
        match &self.proxy {
            Some(proxy) if !self.is_tls && proxy.scheme != ProxyScheme::Socks5 => {
                let credentials = proxy.credentials.as_ref();
                let shown = credentials.map(|(user, password)| basic_authorization(user, password));
                (format!("http://{}{target}", self.host_header()), shown)
            }
            _ => (target.to_owned(), None),
        }
    }

    /// Returns the `Host` of requests.
    pub(super) fn host_header(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

fn is_safe_path_part(part: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    !matches!(part, "." | "..") && part.len() <= 253 && part.bytes().all(is_letter)
}
