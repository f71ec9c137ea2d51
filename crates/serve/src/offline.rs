//! A server without a cluster: rules from files, and a certificate from a folder or of its own.

use std::path::Path;
use std::sync::Arc;

use kubewright_engine::World;
use kubewright_value::Document;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ResolvesServerCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::sync::mpsc;

use crate::log::Level;
use crate::server::{ServeError, Server, asked_to_stop, log_panics};
use crate::{Settings, Snapshot, State, workers};

/// Who asks a server without a cluster.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Serves `documents`, whose rules see `world`, until the process is asked to stop. The certificate of the one who
/// signed ours is written to `ca`.
///
/// # Errors
/// When it cannot begin.
pub fn offline(
    settings: Settings,
    documents: &[Document],
    world: Box<dyn World + Send>,
    ca: Option<&Path>,
) -> Result<(), ServeError> {
    let (certified, authority) = match &settings.tls_folder {
        Some(folder) => from_folder(folder)?,
        None => self_made()?,
    };
    if let Some(path) = ca {
        let written = std::fs::write(path, &authority);
        written.map_err(|error| ServeError::Certificate(format!("`{}`: {error}", path.display())))?;
    }
    let (notices, mut told) = mpsc::channel(1000);
    let mut state = State::new(settings, notices);
    state.world = world;
    let snapshot = Snapshot::of(&state.settings.options, &state.settings.dialects, documents, 1);
    let rules: usize = snapshot.states.iter().map(|state| state.rules).sum();
    state.snapshot.store(Arc::new(snapshot));
    let state = Arc::new(state);
    log_panics(&state);
    state.log.line(Level::Info, "rules loaded").number("rules", rules as u64).write();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers()).enable_all().build()?;
    runtime.block_on(async {
        // There is no cluster to put them into.
        tokio::spawn(async move { while told.recv().await.is_some() {} });
        Server::bind(state)?.serve(certified, asked_to_stop()).await
    })
}

fn wrong(error: impl std::fmt::Display) -> ServeError {
    ServeError::Certificate(error.to_string())
}

/// Returns a certificate for this machine alone, and that of its maker.
fn self_made() -> Result<(Arc<dyn ResolvesServerCert>, String), ServeError> {
    let key = KeyPair::generate().map_err(wrong)?;
    let mut parameters = CertificateParams::new(Vec::new()).map_err(wrong)?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.distinguished_name.push(DnType::CommonName, "kubewright offline");
    let authority = parameters.self_signed(&key).map_err(wrong)?;
    let issuer = Issuer::new(parameters, key);
    let names: Vec<String> = NAMES.into_iter().map(str::to_owned).collect();
    let own = KeyPair::generate().map_err(wrong)?;
    let certificate =
        CertificateParams::new(names).and_then(|leaf| leaf.signed_by(&own, &issuer)).map_err(wrong)?;
    let key = PrivateKeyDer::try_from(own.serialize_der()).map_err(wrong)?;
    Ok((certified(vec![certificate.der().clone()], &key)?, authority.pem()))
}

/// Returns the certificate in `folder`, and that of its maker.
fn from_folder(folder: &Path) -> Result<(Arc<dyn ResolvesServerCert>, String), ServeError> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read(&path).map_err(|error| wrong(format!("`{}`: {error}", path.display())))
    };
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(&read("tls.crt")?).collect();
    let key =
        PrivateKeyDer::from_pem_slice(&read("tls.key")?).map_err(|_| wrong("`tls.key` is no private key"))?;
    let authority =
        read("ca.crt").map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    Ok((certified(chain.map_err(|_| wrong("`tls.crt` is no certificate"))?, &key)?, authority))
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: &PrivateKeyDer<'static>,
) -> Result<Arc<dyn ResolvesServerCert>, ServeError> {
    let key = any_supported_type(key).map_err(wrong)?;
    let certified = CertifiedKey::new(chain, key);
    certified.keys_match().map_err(|_| wrong("the private key is not that of the certificate"))?;
    Ok(Arc::new(SingleCertAndKey::from(certified)))
}
