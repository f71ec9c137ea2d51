//! TLS: 1.3, and 1.2 with its authenticated ciphers where the operator wants it.

use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::server::ResolvesServerCert;
use rustls::{ServerConfig, SupportedProtocolVersion, version};

const TLS13_ONLY: &[&SupportedProtocolVersion] = &[&version::TLS13];
// Every cipher of 1.2 that the library has is authenticated.
const TLS12_AND_TLS13: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

/// Returns the configuration of a server that shows the certificates of `certificates`.
///
/// # Errors
/// Never with the versions that are built in.
pub(crate) fn server_tls_config(
    certificates: Arc<dyn ResolvesServerCert>,
    allows_tls12: bool,
) -> Result<ServerConfig, rustls::Error> {
    let versions = if allows_tls12 { TLS12_AND_TLS13 } else { TLS13_ONLY };
    let mut configuration = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    configuration.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(configuration)
}
