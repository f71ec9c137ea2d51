//! One request to a registry or to its token service, and what came back.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, LOCATION, USER_AGENT,
    WWW_AUTHENTICATE,
};
use hyper::http::request;
use hyper::{Method, Request, Response};
use kubewright_value::{Value, json};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Registries;
use crate::services::address::{is_forbidden, is_private};
use crate::services::url::ServiceUrl;
use crate::services::{client_tls_config, send_http1};

/// How large the answer of a token service may be, in bytes.
pub(super) const MAX_TOKEN_ANSWER_BYTES: usize = 64 << 10;

/// What came back.
#[derive(Debug)]
pub(super) struct RegistryAnswer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// Where a redirect leads, or an upload goes on.
    pub(super) location: Option<String>,
    /// How the registry wants to know who asks.
    pub(super) challenge: String,
}

/// Something that is sent to a registry.
#[derive(Debug)]
pub(super) struct RegistrySending {
    pub(super) method: Method,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: Bytes,
}

impl Registries {
    /// Reads `url`, at most `limit` bytes of it, and follows nothing.
    pub(super) async fn get(
        &self,
        url: &ServiceUrl,
        authorization: Option<&HeaderValue>,
        accept: &'static str,
        limit: usize,
    ) -> Result<RegistryAnswer, String> {
        let request = Request::get(&url.target).header(ACCEPT, accept);
        self.exchange(url, authorization, (request, Bytes::new()), limit).await
    }

    /// Sends something to `url`, and reads at most `limit` bytes of the answer.
    pub(super) async fn send(
        &self,
        url: &ServiceUrl,
        authorization: Option<&HeaderValue>,
        sending: RegistrySending,
        limit: usize,
    ) -> Result<RegistryAnswer, String> {
        let RegistrySending { method, content_type, body } = sending;
        let mut request =
            Request::builder().method(method).uri(&url.target).header(CONTENT_LENGTH, body.len());
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        self.exchange(url, authorization, (request, body), limit).await
    }

    async fn exchange(
        &self,
        url: &ServiceUrl,
        authorization: Option<&HeaderValue>,
        (request, body): (request::Builder, Bytes),
        limit: usize,
    ) -> Result<RegistryAnswer, String> {
        let address = self.resolve(url).await?;
        let unreachable = |error: &dyn std::fmt::Display| format!("cannot reach `{}`: {error}", url.host);
        let tcp = TcpStream::connect(address).await.map_err(|error| unreachable(&error))?;
        let mut request = request
            .header(HOST, url.authority())
            .header(USER_AGENT, concat!("kubewright/", env!("CARGO_PKG_VERSION")));
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let request = request.body(Full::new(body));
        let request = request.map_err(|_| format!("`{}` has an address that is none", url.host))?;
        let response = if url.is_tls {
            let config = self.tls.get_or_init(|| client_tls_config("")).clone()?;
            let name = ServerName::try_from(url.host.clone()).map_err(|error| unreachable(&error))?;
            let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
            send_http1(stream.map_err(|error| unreachable(&error))?, request).await
        } else {
            send_http1(tcp, request).await
        };
        read_registry_answer(response.map_err(|error| unreachable(&error))?, limit).await
    }

    /// Returns the address of a host. What the operator allows may be in a private network; where it is written as an
    /// address, it is that very address. What a registry redirects to is outside, or nothing.
    async fn resolve(&self, url: &ServiceUrl) -> Result<SocketAddr, String> {
        let is_listed = self.allowed.iter().any(|one| one.is(url));
        if let Ok(address) = url.host.parse::<IpAddr>()
            && is_listed
        {
            return Ok(SocketAddr::new(address, url.port));
        }
        let found: Vec<SocketAddr> = match url.host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, url.port)],
            Err(_) => {
                let found = tokio::net::lookup_host((url.host.as_str(), url.port)).await;
                found.map_err(|error| format!("cannot resolve `{}`: {error}", url.host))?.collect()
            }
        };
        let is_closed =
            |address: &&SocketAddr| is_forbidden(address.ip()) || (!is_listed && is_private(address.ip()));
        if let Some(address) = found.iter().find(is_closed) {
            return Err(format!("`{}` is at {}, which is not called for an image", url.host, address.ip()));
        }
        found.first().copied().ok_or_else(|| format!("`{}` has no address", url.host))
    }
}

async fn read_registry_answer(
    response: Response<hyper::body::Incoming>,
    limit: usize,
) -> Result<RegistryAnswer, String> {
    let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let status = response.status().as_u16();
    let location =
        header(LOCATION).filter(|_| matches!(status, 202 | 301 | 302 | 303 | 307 | 308)).map(str::to_owned);
    let challenge = header(WWW_AUTHENTICATE).unwrap_or_default().to_owned();
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| format!("the answer broke off: {error}"))?;
        let data = frame.data_ref().map(Bytes::as_ref).unwrap_or_default();
        if body.len() + data.len() > limit {
            return Err(format!("the answer is larger than {limit} bytes"));
        }
        body.extend_from_slice(data);
    }
    Ok(RegistryAnswer { status, body, location, challenge })
}

/// Returns `realm` and `service` of a challenge such as `Bearer realm="https://a/token",service="a"`.
pub(super) fn bearer_challenge(challenge: &str) -> Option<(String, String)> {
    let (scheme, parameters) = challenge.split_once(' ')?;
    let value = |name: &str| {
        let start = parameters.find(&format!("{name}=\""))? + name.len() + 2;
        let rest = parameters.get(start..)?;
        Some(rest.split('"').next()?.to_owned())
    };
    let realm = value("realm").filter(|_| scheme.eq_ignore_ascii_case("bearer"))?;
    Some((realm, value("service").unwrap_or_default()))
}

/// Returns the address at which a token to pull from `repository` is asked for, whatever else the registry suggests.
pub(super) fn token_url(realm: &ServiceUrl, service: &str, repository: &str) -> ServiceUrl {
    let separator = if realm.target.contains('?') { '&' } else { '?' };
    let target = format!(
        "{}{separator}service={}&scope={}",
        realm.target,
        percent_encode(service),
        percent_encode(&format!("repository:{repository}:pull"))
    );
    ServiceUrl { target, ..realm.clone() }
}

fn percent_encode(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}

/// Returns the token that a token service gave. What it said besides is in no error.
pub(super) fn bearer_token(fetched: &RegistryAnswer) -> Result<HeaderValue, String> {
    if fetched.status != 200 {
        return Err(format!("the token service answers HTTP {}", fetched.status));
    }
    let text = std::str::from_utf8(&fetched.body).map_err(|_| "the token service sends no text")?;
    let answer = json::parse(text).map_err(|_| "the token service sends no JSON")?;
    let token = ["token", "access_token"].iter().find_map(|key| answer.get(key).and_then(Value::as_str));
    let token = token.ok_or("the token service sends no token")?;
    let mut value =
        HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| "the token service sends no token")?;
    value.set_sensitive(true);
    Ok(value)
}
