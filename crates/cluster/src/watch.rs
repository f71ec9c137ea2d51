//! Keeps a store as the API server has it: a list, then a watch, for ever.

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use kubewright_k8s::ApiPath;
use tokio::time::{Instant, sleep, timeout};

use crate::{Client, Error, Event, List, Store};

/// How patient a watch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// After how long without a word a connection counts as dead. The API server says something every minute.
    pub idle: Duration,
    /// How long one watch is asked to last.
    pub life: Duration,
    /// The first wait after a failure; it doubles from there.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// How long a watch must have lived for the waits to begin anew.
    pub good_life: Duration,
    /// After how long everything is listed again, in case that somebody between here and there loses events.
    pub list_again: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(90),
            life: Duration::from_secs(300),
            first_wait: Duration::from_millis(100),
            // An API server that is back should be noticed before anybody has changed a rule.
            longest_wait: Duration::from_secs(2),
            good_life: Duration::from_secs(30),
            list_again: Duration::from_secs(1800),
        }
    }
}

/// Keeps `store` as the API server has `path`. Never ends; a failure is in [`Store::problem`] until it is over.
///
/// A resource that is not there, such as that of a custom resource whose definition is missing, has no objects: the
/// store counts as synced once that has stayed so for a moment, and is looked for again.
pub async fn keep(client: Client, path: ApiPath, store: Arc<Store>, pace: Pace) -> Infallible {
    let mut waits = Waits { next: pace.first_wait, pace };
    let mut missing = None;
    loop {
        let listed = Instant::now();
        match client.list(&path).await {
            Ok(list) => {
                if missing.take().is_some() {
                    waits.next = pace.first_wait;
                }
                store.replace(list);
                follow(&client, &path, &store, listed, &mut waits).await;
            }
            Err(error) if error.is_not_found() => {
                let since = *missing.get_or_insert(listed);
                if listed - since >= patience(&store) {
                    store.replace(List::default());
                }
                store.heard(Some(error));
                sleep(waits.take().min(LOOK_AGAIN)).await;
            }
            Err(error) => {
                store.heard(Some(error));
                sleep(waits.take()).await;
            }
        }
    }
}

/// How often a resource that is not there is looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// An API server that starts knows its custom resources a little later than itself.
fn patience(store: &Store) -> Duration {
    match store.is_empty() {
        true => Duration::from_millis(500),
        false => Duration::from_secs(10),
    }
}

/// Watches again and again, until only a list can help.
async fn follow(client: &Client, path: &ApiPath, store: &Store, listed: Instant, waits: &mut Waits) {
    let list_again = listed + jittered(waits.pace.list_again);
    while Instant::now() < list_again {
        let started = Instant::now();
        let life = jittered(waits.pace.life).min(list_again - started);
        // The API server ends it; who does not is not waited for.
        let watching = watch(client, path, store, life, waits.pace.idle);
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
                store.heard(Some(error));
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
async fn watch(
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
    // Where nothing ever happens nothing is ever sent; that it may be watched is news enough.
    store.heard(None);
    while let Some(line) = lines.next().await? {
        store.apply(Event::of(&line)?);
    }
    Ok(())
}

/// How long to wait after the next failure.
struct Waits {
    next: Duration,
    pace: Pace,
}

impl Waits {
    fn take(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.pace.longest_wait);
        jittered(wait)
    }
}

/// Returns `duration` up to a fifth longer or shorter, so that many clients do not come at once.
fn jittered(duration: Duration) -> Duration {
    let random = RandomState::new().hash_one(0) % 1000;
    duration.mul_f64(0.8 + f64::from(u32::try_from(random).unwrap_or_default()) * 0.0004)
}
