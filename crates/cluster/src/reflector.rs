//! The reflector: a list, then watches, that keep a store up to date.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_k8s::ApiPath;
use tokio::time::{Instant, sleep, timeout};

use crate::jitter::jitter_around;
use crate::{Client, Error, ObjectList, Store, WatchEvent};

/// Timeouts and backoff of a reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchPolicy {
    /// After how long without an event a connection counts as dead. The API server sends a bookmark every minute.
    pub idle: Duration,
    /// The `timeoutSeconds` of one watch.
    pub life: Duration,
    /// The first wait after a failure; it doubles from there.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// How long a watch must have lived for the waits to begin anew.
    pub good_life: Duration,
    /// After how long everything is listed again, in case a proxy drops events.
    pub list_again: Duration,
}

impl Default for WatchPolicy {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(90),
            life: Duration::from_secs(300),
            first_wait: Duration::from_millis(100),
            // Short, so that rule changes after an outage are seen soon.
            longest_wait: Duration::from_secs(2),
            good_life: Duration::from_secs(30),
            list_again: Duration::from_secs(1800),
        }
    }
}

/// Keeps `store` in sync with `path`, for ever. A failure is in [`Store::problem`] until it is over.
///
/// A resource that does not exist, such as one whose CustomResourceDefinition is missing, has no objects: the store counts
/// as synced once it has been missing for a moment, and the list is tried again.
pub async fn run_reflector(
    client: Client,
    path: ApiPath,
    store: Arc<Store>,
    pace: WatchPolicy,
) -> Infallible {
    let mut waits = Backoff { next: pace.first_wait, pace };
    let mut missing = None;
    loop {
        let listed = Instant::now();
        match client.list(&path).await {
            Ok(list) => {
                if missing.take().is_some() {
                    waits.next = pace.first_wait;
                }
                store.replace(list);
                watch_until_stale(&client, &path, &store, listed, &mut waits).await;
            }
            Err(error) if error.is_not_found() => {
                let since = *missing.get_or_insert(listed);
                if listed - since >= missing_grace(&store) {
                    store.replace(ObjectList::default());
                }
                store.record_contact(Some(error));
                sleep(waits.take().min(MISSING_RESOURCE_RETRY_DELAY)).await;
            }
            Err(error) => {
                store.record_contact(Some(error));
                sleep(waits.take()).await;
            }
        }
    }
}

/// How often a resource that is not there is looked for.
const MISSING_RESOURCE_RETRY_DELAY: Duration = Duration::from_secs(2);

/// An API server that starts knows its custom resources a little later than itself.
fn missing_grace(store: &Store) -> Duration {
    match store.is_empty() {
        true => Duration::from_millis(500),
        false => Duration::from_secs(10),
    }
}

/// Watches again and again, until only a list can help.
async fn watch_until_stale(
    client: &Client,
    path: &ApiPath,
    store: &Store,
    listed: Instant,
    waits: &mut Backoff,
) {
    let list_again = listed + jitter_around(waits.pace.list_again);
    while Instant::now() < list_again {
        let started = Instant::now();
        let life = jitter_around(waits.pace.life).min(list_again - started);
        // The API server ends the watch; one that does not is cancelled.
        let watching = run_watch(client, path, store, life, waits.pace.idle);
        let ended = timeout(life + waits.pace.idle, watching).await.unwrap_or(Ok(()));
        let is_good = started.elapsed() >= waits.pace.good_life;
        if is_good {
            waits.next = waits.pace.first_wait;
        }
        match ended {
            Ok(()) if is_good => continue,
            Ok(()) => sleep(waits.take()).await,
            Err(error) => {
                let is_over = needs_list(&error);
                store.record_contact(Some(error));
                sleep(waits.take()).await;
                if is_over {
                    return;
                }
            }
        }
    }
}

/// Whether going on from the same version does not help: it is forgotten (410), not there yet, as after a backup was
/// played back (504), or whatever else the API server has against this watch. It may also just be busy or starting.
fn needs_list(error: &Error) -> bool {
    error.code().is_some_and(|code| !matches!(code, 401 | 403 | 429 | 500 | 502 | 503))
}

/// One watch, from the version of the store to its end.
async fn run_watch(
    client: &Client,
    path: &ApiPath,
    store: &Store,
    life: Duration,
    idle: Duration,
) -> Result<(), Error> {
    let mut path = path.clone();
    let seconds = life.as_secs().max(1).to_string();
    path.query.extend([
        ("watch".into(), "true".into()),
        ("allowWatchBookmarks".into(), "true".into()),
        ("resourceVersion".into(), store.version()),
        ("timeoutSeconds".into(), seconds.into()),
    ]);
    let mut lines = client.watch(&path, idle).await?;
    // A quiet resource sends no events, so the accepted watch already counts as contact.
    store.record_contact(None);
    while let Some(line) = lines.next().await? {
        store.apply(WatchEvent::of(&line)?);
    }
    Ok(())
}

/// How long to wait after the next failure.
struct Backoff {
    next: Duration,
    pace: WatchPolicy,
}

impl Backoff {
    fn take(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.pace.longest_wait);
        jitter_around(wait)
    }
}
