//! A webhook that reads each review and allows it: the cost of network, TLS, HTTP and JSON alone.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kubewright_value::{Value, json};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::LoadAnswer;

/// Answers reviews at `listener` for ever. `tell` gets its own certificate, in PEM, before the first connection.
///
/// # Errors
/// When there is no certificate to be made.
pub async fn serve_allow_all(
    listener: TcpListener,
    tell: impl FnOnce(&str) -> io::Result<()>,
) -> io::Result<()> {
    serve_answers(listener, tell, |_, body| async move { allow_review(&body) }).await
}

/// Like [`serve_allow_all`], where `answer` makes a JSON text of a path and a body.
///
/// # Errors
/// When there is no certificate to be made.
pub async fn serve_answers<F>(
    listener: TcpListener,
    tell: impl FnOnce(&str) -> io::Result<()>,
    answer: impl Fn(String, Bytes) -> F + Clone + Send + Sync + 'static,
) -> io::Result<()>
where
    F: Future<Output = LoadAnswer> + Send + 'static,
{
    let (certificate, config) = self_signed_identity()?;
    tell(&certificate)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    loop {
        let (stream, _) = listener.accept().await?;
        let (acceptor, answer) = (acceptor.clone(), answer.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| respond_with(request, answer.clone()));
            let builder = auto::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond_with<F: Future<Output = LoadAnswer>>(
    request: Request<Incoming>,
    answer: impl Fn(String, Bytes) -> F,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let answer = answer(path, body.unwrap_or_default()).await;
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Returns the answer that allows what a review asks.
#[must_use]
pub fn allow_review(review: &[u8]) -> LoadAnswer {
    let review = std::str::from_utf8(review).ok().and_then(|text| json::parse(text).ok());
    let id = review.as_ref().and_then(|review| review.at(&["request", "uid"])).and_then(Value::as_str);
    let id = id.unwrap_or_default();
    let body = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":"{id}","allowed":true}}}}"#
    );
    LoadAnswer { status: 200, body: Bytes::from(body) }
}

/// A self-signed certificate for loopback.
fn self_signed_identity() -> io::Result<(String, ServerConfig)> {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).map_err(io::Error::other)?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(io::Error::other)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((made.cert.pem(), config))
}

#[cfg(test)]
mod tests;
