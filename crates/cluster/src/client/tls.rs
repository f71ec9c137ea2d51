//! Whom the client trusts.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::Error;

/// Where systems keep the certificates that everybody trusts.
const SYSTEM_TRUST_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// Trusts those signed by `authority`, or by whom the system trusts; shows `identity`, a certificate and a key.
pub(super) fn config(
    authority: Option<&str>,
    is_insecure: bool,
    identity: Option<&(String, String)>,
) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let wrong = |what: &str, why: String| Error::Config(format!("{what} cannot be used: {why}"));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong("TLS", error.to_string()))?;
    let builder = if is_insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider)))
    } else {
        builder.with_root_certificates(
            authority.map_or_else(|| Ok(system_certificates()), authority_certificates)?,
        )
    };
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
            let chain = chain.map_err(|error| wrong("the client certificate", error.to_string()))?;
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
                .map_err(|error| wrong("the client key", error.to_string()))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| wrong("the client certificate", error.to_string()))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Returns the TLS of a proxy. It may be signed by an authority of the system or by that of the cluster, and never sees
/// the certificate of the client.
pub(super) fn proxy_config(authority: Option<&str>, is_insecure: bool) -> Result<Arc<ClientConfig>, Error> {
    if is_insecure {
        return config(None, true, None);
    }
    let mut roots = system_certificates();
    if let Some(authority) = authority {
        roots.extend(authority_certificates(authority)?.roots);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Config(format!("TLS cannot be used: {error}")))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn system_certificates() -> RootCertStore {
    let path = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let paths = path.into_iter().chain(SYSTEM_TRUST_FILES.iter().map(PathBuf::from));
    parse_certificates(&paths.into_iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default())
}

fn authority_certificates(authority: &str) -> Result<RootCertStore, Error> {
    let roots = parse_certificates(authority);
    if roots.is_empty() {
        return Err(Error::Config(
            "the certificate authority of the cluster holds no certificate".to_owned(),
        ));
    }
    Ok(roots)
}

/// Among many there may be some that this library does not know how to read.
fn parse_certificates(text: &str) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(text.as_bytes()).flatten());
    roots
}

/// Trusts anybody, as `insecure-skip-tls-verify` asks for.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
