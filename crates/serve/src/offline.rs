//! A server without a cluster: rules from files, and a certificate from a folder or of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use kubewright_engine::World;
use tokio::sync::mpsc;

use crate::certificates::{
    CertificateKeys, CertificateStep, CertificateTerms, follow_certificate_folder, read_certificate_folder,
    take_certificate_step, unix_seconds,
};
use crate::log::LogLevel;
use crate::notice::{MAX_QUEUED_REVIEWS, take_notices};
use crate::server::{ServeError, WebhookServer, asked_to_stop, log_panics, serving_runtime};
use crate::{ServeSettings, ServerState, Snapshot};

const OFFLINE_CERTIFICATE_LIFETIME: Duration = Duration::from_secs(3650 * 86_400);

/// Who asks a server without a cluster.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Serves the rules of `snapshot`, which see `world`, until the process is asked to stop. The certificate of the one who
/// signed ours is written to `ca`.
///
/// # Errors
/// When it cannot begin.
pub fn run_offline(
    settings: ServeSettings,
    snapshot: Snapshot,
    world: Box<dyn World + Send>,
    ca: Option<&Path>,
) -> Result<(), ServeError> {
    let keys = match &settings.tls_folder {
        Some(folder) => read_certificate_folder(folder),
        None => self_signed_keys(),
    };
    let keys = keys.map_err(ServeError::Certificate)?;
    if let Some(path) = ca {
        let written = write_authority(path, &keys.authority);
        written.map_err(|error| ServeError::Write(path.to_owned(), error))?;
    }
    let (notices, mut told) = mpsc::channel(MAX_QUEUED_REVIEWS);
    let mut state = ServerState::new(settings, notices);
    state.world = world;
    let rules: usize = snapshot.states.iter().map(|state| state.rules).sum();
    state.snapshot.store(Arc::new(snapshot));
    state.certificates.serve(&keys).map_err(ServeError::Certificate)?;
    state.metrics.certificate_expires(state.certificates.expiry());
    let state = Arc::new(state);
    log_panics(&state);
    state.log.line(LogLevel::Info, "rules loaded").number("rules", rules as u64).write();
    let runtime = serving_runtime()?;
    let served = runtime.block_on(async {
        // There is no cluster to put them into.
        tokio::spawn(async move { while take_notices(&mut told, drop).await {} });
        if let Some(folder) = state.settings.tls_folder.clone() {
            tokio::spawn(follow_certificate_folder(Arc::clone(&state), folder));
        }
        let resolver = state.certificates.resolver();
        WebhookServer::bind(state)?.serve(resolver, asked_to_stop()).await
    });
    // As `run_in_cluster` does.
    runtime.shutdown_background();
    served
}

/// Writes a file that is whole when others see it.
fn write_authority(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|data| !data.is_file()) {
        return fs::write(&path, text);
    }
    let mut beside = path.clone().into_os_string();
    beside.push(format!(".{}.tmp", std::process::id()));
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Returns a certificate for loopback names, which is never renewed.
fn self_signed_keys() -> Result<CertificateKeys, String> {
    let names = LOOPBACK_NAMES.into_iter().map(str::to_owned).collect();
    let terms = CertificateTerms { names, life: OFFLINE_CERTIFICATE_LIFETIME, grace: Duration::ZERO };
    take_certificate_step(CertificateStep::Make, &CertificateKeys::default(), unix_seconds(), &terms)
        .map_err(|error| error.to_string())
}
