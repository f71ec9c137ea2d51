//! One connection, to see whether the certificate is believed.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Connects to `address`, called `name`, and believes the authorities in `bundle`.
///
/// # Errors
/// When the certificate is not believed, or there is no answer.
pub(crate) fn shake(address: SocketAddr, bundle: &str, name: &str) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(authority.map_err(said)?).map_err(said)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(said)?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).map_err(said)?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(said)?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).map_err(said)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(said)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(said)?;
    }
    Ok(())
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
