//! TLS: 1.3, and 1.2 with its authenticated ciphers where the operator wants it.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, ResolvesServerCert, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};

use crate::ServeSettings;

const TLS13_ONLY: &[&SupportedProtocolVersion] = &[&version::TLS13];
// Every cipher of 1.2 that the library has is authenticated.
const TLS12_AND_TLS13: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

/// Returns the configuration of a server that shows the certificates of `certificates`.
///
/// # Errors
/// When the authorities of clients cannot be read.
pub(crate) fn server_tls_config(
    certificates: Arc<dyn ResolvesServerCert>,
    settings: &ServeSettings,
) -> Result<ServerConfig, String> {
    let versions = if settings.allows_tls12 { TLS12_AND_TLS13 } else { TLS13_ONLY };
    let clients = match &settings.client_ca {
        Some(file) => client_verifier(file).map_err(|why| format!("`{}`: {why}", file.display()))?,
        None => Arc::new(NoClientAuth),
    };
    let mut configuration = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(certificates);
    configuration.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(configuration)
}

/// Returns what asks every client for a certificate that an authority in `file` has signed.
fn client_verifier(file: &Path) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let text = std::fs::read(file).map_err(|error| error.to_string())?;
    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| format!("not a certificate: {error}"))?;
        authorities.add(certificate).map_err(|error| format!("not a certificate: {error}"))?;
    }
    if authorities.is_empty() {
        return Err("it contains no certificate".to_owned());
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::new(default_provider()))
        .build()
        .map_err(|error| error.to_string())
}
