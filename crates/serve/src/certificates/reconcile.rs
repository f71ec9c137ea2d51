//! Reconciles the Secret: watches it, serves its certificate, and takes the next step when one is due.
//!
//! There is no leader. Every replica decides the same from the same Secret, waits a random time and writes with the
//! resourceVersion that it has seen; the second write is a conflict, and that replica reads the result.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use kubewright_cluster::{Client, GroupVersionResource, Store, WatchEvent, WatchPolicy, jitter};
use kubewright_value::{Map, Value};
use tokio::time::sleep;

use super::{
    CertificateKeys, CertificateStep, CertificateTerms, next_certificate_step, take_certificate_step,
    unix_seconds,
};
use crate::log::LogLevel;
use crate::reconcile::{ChangeTrigger, Reconciler, run_reconciler};
use crate::reread::refresh_object;
use crate::{ServerState, clock};

/// The longest that nothing is looked at.
const SECRET_RESYNC_INTERVAL: Duration = Duration::from_secs(60);
/// How long replicas wait at most before they write, so that mostly one of them does.
const MAX_SECRET_WRITE_JITTER: Duration = Duration::from_millis(200);
const MAX_SECRET_BACKOFF: Duration = Duration::from_secs(30);

/// Reconciles the Secret of the settings, for ever. The server is not ready before there is a certificate.
pub fn reconcile_certificates(
    state: Arc<ServerState>,
    client: Client,
) -> impl Future<Output = Infallible> + Send {
    state.readiness.wait_for(super::CERTIFICATE_CONDITION);
    run_certificate_reconciler(state, client)
}

async fn run_certificate_reconciler(state: Arc<ServerState>, client: Client) -> Infallible {
    let (name, terms) = (format!("{}-tls", state.settings.name), CertificateTerms::of(&state.settings));
    let resource = GroupVersionResource::new("", "v1", "secrets");
    let namespace = state.settings.namespace.clone();
    let store = Arc::new(Store::default());
    let path = resource.only(&namespace, &name);
    tokio::spawn(kubewright_cluster::run_reflector(
        client.clone(),
        path,
        Arc::clone(&store),
        WatchPolicy::default(),
    ));
    let reconciler =
        CertificateReconciler { state, client, store, resource, namespace, name, terms, known: None };
    let triggers: Vec<Box<dyn ChangeTrigger>> =
        vec![Box::new(reconciler.store.changes()), Box::new(reconciler.state.certificates.adoptions())];
    run_reconciler(reconciler, triggers).await
}

impl Reconciler for CertificateReconciler {
    const MAX_BACKOFF: Duration = MAX_SECRET_BACKOFF;

    async fn reconcile(&mut self) -> Result<Duration, String> {
        self.reconcile_once().await
    }

    fn log_failure(&self, error: &str) {
        let line = self.state.log.line(LogLevel::Error, "could not reconcile the certificate Secret");
        line.text("secret", &self.name).text("error", error).write();
    }
}

struct CertificateReconciler {
    state: Arc<ServerState>,
    client: Client,
    store: Arc<Store>,
    resource: GroupVersionResource,
    namespace: String,
    name: String,
    terms: CertificateTerms,
    /// What is served, from which a Secret that is gone is made again.
    known: Option<CertificateKeys>,
}

impl CertificateReconciler {
    /// Serves what there is, takes a step if there is one, and returns how long nothing more is to be done.
    async fn reconcile_once(&mut self) -> Result<Duration, String> {
        if !self.store.is_synced() {
            return Ok(SECRET_RESYNC_INTERVAL);
        }
        let secret = self.store.get(&self.namespace, &self.name);
        let keys = secret.as_ref().map(CertificateKeys::of);
        if let Some(keys) = &keys {
            self.serve(keys);
        }
        let step = match (&keys, &self.known) {
            // Gone: whatever was in it is still believed, so it is put back and looked at then.
            (None, Some(_)) => None,
            _ => Some(self.next(keys.as_ref())),
        };
        if let Some(CertificateStep::Wait(until)) = step {
            let left = Duration::from_secs(u64::try_from(until - unix_seconds()).unwrap_or_default());
            return Ok(left.clamp(Duration::from_millis(250), SECRET_RESYNC_INTERVAL));
        }
        let version = self.store.version();
        sleep(jitter(MAX_SECRET_WRITE_JITTER)).await;
        if self.store.version() != version && self.store.get(&self.namespace, &self.name) != secret {
            return Ok(Duration::ZERO);
        }
        let keys = match (step, &self.known) {
            (None, Some(known)) => known.clone(),
            (step, _) => {
                let step = step.unwrap_or(CertificateStep::Make);
                take_certificate_step(step, &keys.unwrap_or_default(), unix_seconds(), &self.terms)
                    .map_err(|error| error.to_string())?
            }
        };
        self.write(secret, &keys, step).await?;
        Ok(Duration::ZERO)
    }

    fn next(&self, keys: Option<&CertificateKeys>) -> CertificateStep {
        let bundle = keys.map(CertificateKeys::bundle);
        let adopted = self.state.certificates.adopted(bundle.as_deref().unwrap_or_default());
        next_certificate_step(keys, unix_seconds(), adopted, &self.terms)
    }

    fn serve(&mut self, keys: &CertificateKeys) {
        if self.known.as_ref() == Some(keys) || self.state.certificates.serve(keys).is_err() {
            return;
        }
        let is_new = self.known.as_ref().is_none_or(|known| known.certificate != keys.certificate);
        self.known = Some(keys.clone());
        let expiry = self.state.certificates.expiry();
        self.state.metrics.certificate_expires(expiry);
        self.state.readiness.done(super::CERTIFICATE_CONDITION);
        if is_new {
            let line = self.state.log.line(LogLevel::Info, "certificate served");
            let expires = UNIX_EPOCH + Duration::from_secs(u64::try_from(expiry).unwrap_or_default());
            line.text("expires", &clock::rfc3339_seconds(expires)).write();
        }
    }

    async fn write(
        &mut self,
        secret: Option<Value>,
        keys: &CertificateKeys,
        step: Option<CertificateStep>,
    ) -> Result<(), String> {
        let written = match &secret {
            Some(secret) => {
                let path = self.resource.named(&self.namespace, &self.name);
                self.client.replace(&path, &secret_with_keys(secret, keys)).await
            }
            None => {
                let made = secret_with_keys(&self.empty(), keys);
                self.client.create(&self.resource.within(&self.namespace), &made).await
            }
        };
        match written {
            Ok(object) => {
                let step =
                    step.map_or_else(|| "restore".to_owned(), |step| format!("{step:?}").to_lowercase());
                self.state.log.line(LogLevel::Info, "certificates changed").text("step", &step).write();
                self.store.apply(WatchEvent::Set(object));
                self.serve(keys);
                Ok(())
            }
            // Nothing can be made in a namespace that is not there.
            Err(error) if error.is_conflict() || (error.is_not_found() && secret.is_some()) => {
                let path = self.resource.named(&self.namespace, &self.name);
                refresh_object(&self.client, &path, &self.store).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn empty(&self) -> Value {
        let labels = [
            ("app.kubernetes.io/name", "kubewright"),
            ("app.kubernetes.io/instance", &self.state.settings.name),
            ("app.kubernetes.io/managed-by", "kubewright"),
        ];
        let labels: Map = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let metadata = Map::from([
            ("name", self.name.as_str().into()),
            ("namespace", self.namespace.as_str().into()),
            ("labels", labels.into()),
        ]);
        Map::from([
            ("apiVersion", "v1".into()),
            ("kind", "Secret".into()),
            ("type", "kubernetes.io/tls".into()),
            ("metadata", metadata.into()),
        ])
        .into()
    }
}

/// Returns `secret` with `keys` in it. What others have put there stays.
fn secret_with_keys(secret: &Value, keys: &CertificateKeys) -> Value {
    let mut secret = secret.clone();
    let mut data = secret.get("data").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    data.remove("old-ca.crt");
    if let Some(new) = keys.data().as_object() {
        for (key, value) in new.iter() {
            data.insert(key.clone(), value.clone());
        }
    }
    if let Some(map) = secret.as_object_mut() {
        map.insert("data".into(), data.into());
    }
    secret
}
