//! A list and then watches, for ever, of the objects at one address. Where they go is the sink's concern.
//!
//! The list comes as the first events of a watch (`sendInitialEvents`) where the API server does that, else in pages.
//! Nothing is lost: a watch that ends goes on from the last version that the sink has taken, and where the API server
//! has forgotten that version, everything is listed again.

mod backoff;
mod initial;
mod support;

use std::time::Duration;

use kubewright_k8s::ApiPath;
use kubewright_value::{Text, Value};
use tokio::time::{Instant, sleep, timeout_at};

use self::backoff::Backoff;
pub(crate) use self::support::WatchListSupport;
use crate::client::keep_only_metadata;
use crate::jitter::jitter_around;
use crate::store::{advance_version, resource_version};
use crate::{CallLimits, Client, Error, ResourceWatch, WatchEvent, WatchLines};

/// How often a resource that is not there is looked for.
const MISSING_RESOURCE_RETRY_DELAY: Duration = Duration::from_secs(2);

/// How long a resource that was never there is missing until it counts as one without objects. An API server that
/// starts knows its custom resources a little later than itself.
const UNKNOWN_RESOURCE_GRACE: Duration = Duration::from_millis(500);

/// The same for a resource that was there.
const VANISHED_RESOURCE_GRACE: Duration = Duration::from_secs(10);

/// What a watched resource does.
#[derive(Debug)]
pub(crate) enum WatchStep {
    /// A list begins; what it does not hold is gone at its end. It may begin again before.
    ListStarted,
    /// An object of the list.
    Listed(Value),
    /// The list is whole, up to this version.
    ListEnded(Text),
    /// Something has happened. A deletion may also come between the objects of a list.
    Changed(WatchEvent),
    /// The API server has accepted a watch, which may stay silent.
    Connected,
    /// Something failed and is tried again.
    Failed(Error),
}

/// Takes what a watcher reads. The next step waits until the last one is taken.
pub(crate) trait WatchSink: Send {
    /// Takes one step.
    fn take(&mut self, step: WatchStep) -> impl Future<Output = ()> + Send;
}

/// Lists and watches one address.
pub(crate) struct ResourceWatcher<S> {
    client: Client,
    watch: ResourceWatch,
    sink: S,
    /// Everything up to it was taken by the sink.
    version: Text,
    /// Whether a list was taken whole.
    has_listed: bool,
    has_bookmarks: bool,
    waits: Backoff,
    missing: Option<MissingResource>,
    /// How many initial events in a row broke off before their end.
    broken_streams: u32,
}

/// A resource that is not there.
struct MissingResource {
    since: Instant,
    is_told: bool,
}

impl<S: WatchSink> ResourceWatcher<S> {
    pub(crate) fn new(client: &Client, watch: ResourceWatch, sink: S) -> Self {
        let limits = CallLimits { size: watch.max_object_bytes, ..client.limits() };
        Self {
            client: client.limited(limits),
            sink,
            version: Text::default(),
            has_listed: false,
            has_bookmarks: false,
            waits: Backoff::new(watch.policy),
            missing: None,
            broken_streams: 0,
            watch,
        }
    }

    /// Lists and watches; never returns.
    pub(crate) async fn run(mut self) -> std::convert::Infallible {
        loop {
            let listed = Instant::now();
            match self.list().await {
                Ok(open) => {
                    if self.missing.take().is_some() {
                        self.waits.reset();
                    }
                    self.watch_until_stale(open, listed).await;
                }
                Err(error) if error.is_not_found() => self.wait_for_resource(error).await,
                Err(error) => self.fail(error).await,
            }
        }
    }

    async fn wait_for_resource(&mut self, error: Error) {
        let grace = if self.has_listed { VANISHED_RESOURCE_GRACE } else { UNKNOWN_RESOURCE_GRACE };
        let missing =
            self.missing.get_or_insert_with(|| MissingResource { since: Instant::now(), is_told: false });
        if !missing.is_told && missing.since.elapsed() >= grace {
            missing.is_told = true;
            self.sink.take(WatchStep::ListStarted).await;
            self.sink.take(WatchStep::ListEnded(Text::default())).await;
        }
        self.sink.take(WatchStep::Failed(error)).await;
        sleep(self.waits.take().min(MISSING_RESOURCE_RETRY_DELAY)).await;
    }

    async fn fail(&mut self, error: Error) {
        self.sink.take(WatchStep::Failed(error)).await;
        sleep(self.waits.take()).await;
    }

    /// Watches again and again, until only a list can help. `open` is the watch that has brought the list.
    async fn watch_until_stale(&mut self, mut open: Option<WatchLines>, listed: Instant) {
        let policy = self.watch.policy;
        let mut list_again = listed + jitter_around(policy.list_again);
        loop {
            let started = Instant::now();
            if started >= list_again {
                if !std::mem::take(&mut self.has_bookmarks) {
                    return;
                }
                list_again = started + jitter_around(policy.list_again);
            }
            let life = jitter_around(policy.life).min(list_again - started);
            let ended = self.watch_once(open.take(), life).await;
            let is_good = started.elapsed() >= policy.good_life;
            if is_good {
                self.waits.reset();
            }
            match ended {
                Ok(()) if is_good => {}
                Ok(()) => sleep(self.waits.take()).await,
                Err(error) => {
                    let is_over = needs_list(&error);
                    self.fail(error).await;
                    if is_over {
                        return;
                    }
                }
            }
        }
    }

    /// One watch, from the last version to its end.
    async fn watch_once(&mut self, open: Option<WatchLines>, life: Duration) -> Result<(), Error> {
        // The API server ends the watch; one that does not is left.
        let deadline = Instant::now() + life + self.watch.policy.idle;
        let mut lines = match open {
            Some(lines) => lines,
            None => {
                let path = self.watch_path(life, [("resourceVersion", self.version.as_str())]);
                let idle = self.watch.policy.idle;
                let lines = self.client.watch_as(&path, self.watch.is_metadata_only, idle).await?;
                // A quiet resource sends no events, so the accepted watch already counts as contact.
                self.sink.take(WatchStep::Connected).await;
                lines
            }
        };
        while let Ok(line) = timeout_at(deadline, lines.next()).await {
            let Some(line) = line? else { break };
            self.take_event(WatchEvent::of_line(line)?).await;
        }
        Ok(())
    }

    /// Hands an event on. The version moves when it is taken, not before.
    async fn take_event(&mut self, mut event: WatchEvent) {
        let version = match &mut event {
            WatchEvent::Set(object) | WatchEvent::Removed(object) => {
                let version = Text::new(resource_version(object));
                self.prepare(object);
                version
            }
            WatchEvent::Bookmark(version) => {
                self.has_bookmarks = true;
                version.clone()
            }
        };
        self.sink.take(WatchStep::Changed(event)).await;
        advance_version(&mut self.version, &version);
    }

    fn prepare(&self, object: &mut Value) {
        if self.watch.is_metadata_only {
            keep_only_metadata(object);
        }
        (self.watch.trim)(object);
    }

    fn watch_path<const N: usize>(&self, life: Duration, query: [(&str, &str); N]) -> ApiPath {
        let mut path = self.watch.path.clone();
        let seconds = life.as_secs().max(1).to_string();
        path.query.extend([
            ("watch".into(), "true".into()),
            ("allowWatchBookmarks".into(), "true".into()),
            ("timeoutSeconds".into(), seconds.into()),
        ]);
        path.query.extend(query.map(|(key, value)| (key.into(), value.into())));
        path
    }
}

/// Whether going on from the same version does not help: it is forgotten (410), not there yet, as after a backup was
/// played back (504), or whatever else the API server has against this watch. It may also just be busy or starting.
fn needs_list(error: &Error) -> bool {
    error.code().is_some_and(|code| !matches!(code, 401 | 403 | 429 | 500 | 502 | 503))
}
