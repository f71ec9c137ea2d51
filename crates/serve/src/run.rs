//! The server in a cluster: all parts, started in the order in which they need each other.

use std::sync::Arc;

use kubewright_cluster::{Client, Config, Discovery, GroupVersionResource, WatchPolicy};
use kubewright_engine::AdmissionPhase;
use kubewright_value::Map;
use tokio::sync::mpsc;

use crate::admission_policies::{self, PolicyGeneration, admission_policies_condition};
use crate::certificates::{self, CERTIFICATE_CONDITION};
use crate::handover::run_handover;
use crate::log::LogLevel;
use crate::notice::MAX_QUEUED_REVIEWS;
use crate::server::{ServeError, WebhookServer, asked_to_stop, log_panics, serving_runtime};
use crate::{
    CachedWorld, ClusterLookup, RoleIndex, ServeSettings, ServerState, Stores, ignored_namespaces,
    monitor_caches, run_status_writer, spawn_rule_compiler, webhooks,
};

/// The phases of admission in which the API server has policies of its own.
const NATIVE_PHASES: [AdmissionPhase; 2] = [AdmissionPhase::Mutating, AdmissionPhase::Validating];

/// Serves the cluster of `config` until the process is asked to stop. It is not ready before its certificate, the
/// rules and what they need are there; an API server that is away is waited for. A server that is not in the cluster may
/// have to make its namespace first.
///
/// # Errors
/// When it cannot begin.
pub fn run_in_cluster(
    settings: ServeSettings,
    config: Config,
    makes_namespace: bool,
) -> Result<(), ServeError> {
    let runtime = serving_runtime()?;
    let served = runtime.block_on(async {
        let warnings = config.warnings();
        let client = Client::new(config)?;
        if makes_namespace {
            make_namespace(&client, &settings.namespace).await;
        }
        let server = start_server(settings, client)?;
        for warning in warnings {
            server.state().log.line(LogLevel::Warn, &warning).write();
        }
        let certificates = server.state().certificates.resolver();
        server.serve(certificates, asked_to_stop()).await
    });
    // A lookup of a name that a rule has called may last until the system gives up on DNS.
    runtime.shutdown_background();
    served
}

/// Starts everything that keeps a server as it should be, and returns the server, which does not answer reviews yet.
///
/// # Errors
/// When it cannot begin.
///
/// # Panics
/// Outside of a runtime.
pub fn start_server(settings: ServeSettings, client: Client) -> Result<WebhookServer, ServeError> {
    let (notices, told) = mpsc::channel(MAX_QUEUED_REVIEWS);
    let mut state = ServerState::new(settings, notices);
    let stores = Stores::start(&client, &state.settings, WatchPolicy::default());
    state.world = Box::new(CachedWorld(Arc::clone(&stores)));
    let discovery = Arc::new(Discovery::new(client.clone()));
    let bindings = Arc::new(RoleIndex::new(Arc::clone(&stores)));
    state.lookup = Box::new(ClusterLookup::new(&client, &discovery, &stores, &state.settings));
    state.roles = Box::new(Arc::clone(&bindings));
    state.client = Some(client.clone());
    state.discovery = Some(Arc::clone(&discovery));
    let state = Arc::new(state);
    log_panics(&state);
    state.readiness.wait_for(CERTIFICATE_CONDITION);
    if state.settings.generates_admission_policies {
        for phase in NATIVE_PHASES {
            state.readiness.wait_for(admission_policies_condition(phase));
        }
    }
    let snapshots = spawn_rule_compiler(&state, &stores)?;
    let server = WebhookServer::bind(Arc::clone(&state))?;

    tokio::spawn(monitor_caches(Arc::clone(&state), Arc::clone(&stores)));
    tokio::spawn(run_status_writer(
        Arc::clone(&state),
        client.clone(),
        Arc::clone(&stores),
        told,
        replica_name(&state.settings),
    ));
    match state.settings.tls_folder.clone() {
        Some(folder) => {
            drop(tokio::spawn(certificates::follow_certificate_folder(Arc::clone(&state), folder)));
        }
        None => drop(tokio::spawn(certificates::reconcile_certificates(Arc::clone(&state), client.clone()))),
    }
    tokio::spawn(ignored_namespaces::label_missing(Arc::clone(&state), client.clone()));
    if state.settings.generates_admission_policies {
        let generation = PolicyGeneration {
            state: Arc::clone(&state),
            client: client.clone(),
            discovery: Arc::clone(&discovery),
            stores: Arc::clone(&stores),
        };
        for phase in NATIVE_PHASES {
            let reconciling = admission_policies::reconcile_admission_policies;
            tokio::spawn(reconciling(phase, generation.clone(), snapshots.clone()));
        }
    }
    let bound = snapshots.clone();
    tokio::spawn(async move { bindings.follow_bindings(bound).await });
    tokio::spawn(run_handover(Arc::clone(&state), client.clone()));
    tokio::spawn(webhooks::reconcile_webhooks(state, client, discovery, snapshots));
    Ok(server)
}

/// Creates a namespace, if it does not exist and the user may. Whatever goes wrong here goes wrong again where the
/// namespace is used.
pub async fn make_namespace(client: &Client, name: &str) {
    let metadata = Map::from([("name", name.into())]);
    let namespace =
        Map::from([("apiVersion", "v1".into()), ("kind", "Namespace".into()), ("metadata", metadata.into())]);
    let _ = client.create(&GroupVersionResource::new("", "v1", "namespaces").all(), &namespace.into()).await;
}

/// A name that no other replica has: that of the pod, and for several processes on one machine their number.
fn replica_name(settings: &ServeSettings) -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    format!("{}-{}", host.as_deref().unwrap_or(&settings.name), std::process::id())
}
