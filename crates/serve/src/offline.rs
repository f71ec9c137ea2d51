//! A server without a cluster: rules from files, and a certificate from a folder or of its own.

use std::path::Path;
use std::sync::Arc;

use kubewright_engine::World;
use kubewright_value::Document;
use tokio::sync::mpsc;

use crate::certificates::{self, Certificates, Terms};
use crate::log::Level;
use crate::server::{ServeError, Server, asked_to_stop, log_panics};
use crate::{Settings, Snapshot, State, workers};

/// What the one who asks a server without a cluster calls it.
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
    let (notices, mut told) = mpsc::channel(1000);
    let mut state = State::new(settings, notices);
    state.world = world;
    state.certificates = certified(&state.settings).map_err(ServeError::Certificate)?;
    state.metrics.certificate_expires(state.certificates.expiry());
    if let Some(path) = ca {
        let authority = state.certificates.bundle().borrow().clone().unwrap_or_default();
        let written = std::fs::write(path, authority);
        written.map_err(|error| ServeError::Certificate(format!("`{}`: {error}", path.display())))?;
    }
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
        let server = Server::bind(Arc::clone(&state))?;
        if let Some(folder) = state.settings.tls_folder.clone() {
            tokio::spawn(certificates::follow(Arc::clone(&state), folder));
        }
        server.serve(state.certificates.resolver(), asked_to_stop()).await
    })
}

fn certified(settings: &Settings) -> Result<Certificates, String> {
    let Some(folder) = &settings.tls_folder else {
        return Certificates::in_memory(&Terms::usual(NAMES.into_iter().map(str::to_owned).collect()));
    };
    let certificates = Certificates::default();
    certificates.serve(&certificates::read(folder)?)?;
    Ok(certificates)
}
