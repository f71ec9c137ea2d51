//! Cluster-wide shared entries: objects that are watched from their first use on, or the answer to a call that is
//! refreshed periodically.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kubewright_cluster::{Client, Store, WatchPolicy, run_reflector};
use kubewright_engine::{ClusterSupport, Dialect, SharedDataSource, WatchRole, WatchedResource};
use kubewright_value::{Document, Text, Value};

use crate::{ServeSettings, Stores};

/// How many entries are kept at once.
const MAX_SHARED_ENTRIES: usize = 1000;

/// The shared entries that were used.
pub(crate) struct SharedEntries {
    client: Client,
    objects: SharedObjects,
    dialects: Vec<Box<dyn Dialect>>,
    kept: Mutex<HashMap<Text, Arc<SharedEntry>>>,
}

/// Where the objects are that describe entries.
pub(crate) enum SharedObjects {
    /// Watched.
    Watched(Arc<Stores>),
    /// Listed once.
    Listed(Vec<(WatchedResource, Value)>),
}

impl SharedObjects {
    /// Returns the object that describes the entry called `name`.
    ///
    /// # Errors
    /// When the objects are not known yet.
    fn find(&self, name: &str) -> Result<Option<(WatchedResource, Value)>, String> {
        let stores = match self {
            Self::Watched(stores) => stores,
            Self::Listed(all) => {
                let is_called =
                    |(_, object): &&(WatchedResource, Value)| object.str_at(&["metadata", "name"]) == name;
                return Ok(all.iter().find(is_called).cloned());
            }
        };
        for (watched, store) in stores.of_role(WatchRole::Shared) {
            if !store.is_synced() {
                return Err("the global context entries are not known yet".to_owned());
            }
            if let Some(object) = store.get("", name) {
                return Ok(Some((*watched, object)));
            }
        }
        Ok(None)
    }
}

/// An entry as one version of its object describes it.
struct SharedEntry {
    version: Text,
    document: Document,
    from: SharedDataSource,
    store: Arc<Store>,
    watching: Option<tokio::task::AbortHandle>,
    answered: tokio::sync::Mutex<Option<(Instant, Value)>>,
}

/// An entry, and the language that reads it.
type FoundEntry<'e> = (&'e dyn ClusterSupport, Arc<SharedEntry>);

/// It is watched for as long as it is kept.
impl Drop for SharedEntry {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
    }
}

impl SharedEntries {
    pub(crate) fn new(client: Client, objects: SharedObjects, settings: &ServeSettings) -> Self {
        Self {
            client,
            objects,
            dialects: kubewright_dialects::all_dialects(&settings.options),
            kept: Mutex::default(),
        }
    }

    /// Returns the entry called `name`, or a part of it called `entry.part`; nothing where there is no such entry. `call` makes
    /// the calls that entries are made from.
    ///
    /// # Errors
    /// When the data of the entry cannot be read.
    pub(crate) async fn get<F>(
        &self,
        name: &str,
        deadline: Instant,
        call: impl FnOnce(kubewright_engine::ApiCall) -> F,
    ) -> Result<Option<Value>, String>
    where
        F: Future<Output = Result<Option<Value>, String>>,
    {
        let (name, part) = name.split_once('.').unwrap_or((name, ""));
        let Some((language, entry)) = self.entry(name)? else { return Ok(None) };
        let root = match &entry.from {
            SharedDataSource::Objects(_) => {
                await_sync(&entry.store, deadline).await?;
                Value::array(entry.store.all())
            }
            SharedDataSource::Call(asked, every) => {
                let mut answered = entry.answered.lock().await;
                match &*answered {
                    Some((when, value)) if when.elapsed() < *every => value.clone(),
                    _ => {
                        let found = call(asked.clone()).await?.ok_or("there is no such thing")?;
                        *answered = Some((Instant::now(), found.clone()));
                        found
                    }
                }
            }
        };
        if part.is_empty() {
            return Ok(Some(root));
        }
        let parts = language.shared_data_parts(&entry.document, &root)?;
        let found = parts.into_iter().find(|(name, _)| name == part);
        let found = found.map(|(_, value)| value);
        found.map(Some).ok_or_else(|| format!("projection \"{part}\" not found"))
    }

    /// Returns the entry called `name` as the cluster has it now, if it has one.
    fn entry(&self, name: &str) -> Result<Option<FoundEntry<'_>>, String> {
        if let Some((watched, object)) = self.objects.find(name)? {
            let mut languages = self.dialects.iter().filter_map(|dialect| dialect.cluster_support());
            if let Some(language) = languages.find(|language| language.watched_resources().contains(&watched))
            {
                return Ok(Some((language, self.kept(language, name, object)?)));
            }
        }
        self.all().remove(name);
        Ok(None)
    }

    fn kept(
        &self,
        language: &dyn ClusterSupport,
        name: &str,
        object: Value,
    ) -> Result<Arc<SharedEntry>, String> {
        let generation = object.at(&["metadata", "generation"]).map(Value::to_string).unwrap_or_default();
        let uid = object.str_at(&["metadata", "uid"]);
        let version = Text::from(format!("{uid} {generation}"));
        let mut kept = self.all();
        if let Some(entry) = kept.get(name).filter(|entry| entry.version == version) {
            return Ok(Arc::clone(entry));
        }
        if kept.len() >= MAX_SHARED_ENTRIES && !kept.contains_key(name) {
            return Err("there are too many global context entries".to_owned());
        }
        let document = Document::written(object, name.to_owned());
        let from = language.shared_data_source(&document)?;
        let store = Arc::new(Store::default());
        let watching = match &from {
            SharedDataSource::Objects(path) => {
                let keeping = run_reflector(
                    self.client.clone(),
                    path.clone(),
                    Arc::clone(&store),
                    WatchPolicy::default(),
                );
                Some(tokio::spawn(keeping).abort_handle())
            }
            SharedDataSource::Call(..) => None,
        };
        let answered = tokio::sync::Mutex::default();
        let entry = Arc::new(SharedEntry { version, document, from, store, watching, answered });
        kept.insert(name.into(), Arc::clone(&entry));
        Ok(entry)
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<Text, Arc<SharedEntry>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until `store` knows everything.
async fn await_sync(store: &Store, deadline: Instant) -> Result<(), String> {
    let mut changes = store.changes();
    while !store.is_synced() {
        if tokio::time::timeout_at(deadline.into(), changes.changed()).await.is_err()
            || Instant::now() >= deadline
        {
            let problem = store.problem().map(|problem| problem.to_string());
            return Err(problem.unwrap_or_else(|| "the lookup timed out".to_owned()));
        }
    }
    Ok(())
}
