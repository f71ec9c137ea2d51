//! The list with which a watcher begins.

use kubewright_value::{Text, Value};

use super::{ResourceWatcher, WatchSink, WatchStep};
use crate::client::ListRequest;
use crate::jitter::jitter_around;
use crate::{Error, InitialListStrategy, WatchEvent, WatchLines};

/// After how many initial events that broke off pages are read instead.
const MAX_BROKEN_STREAMS: u32 = 2;

/// How initial events ended.
enum InitialEnd {
    /// All of them came, and the watch goes on.
    Synced(Box<WatchLines>),
    /// The API server watches, but does not say where the list ends.
    Unmarked,
}

impl<S: WatchSink> ResourceWatcher<S> {
    /// Reads the whole list. Returns the watch that has brought it, if one has.
    pub(super) async fn list(&mut self) -> Result<Option<WatchLines>, Error> {
        let is_streamed = self.watch.initial_list == InitialListStrategy::StreamingList;
        if is_streamed && self.client.watch_lists().is_expected(&self.watch.path) {
            match self.initial_events().await {
                Ok(InitialEnd::Synced(lines)) => {
                    self.broken_streams = 0;
                    return Ok(Some(*lines));
                }
                Ok(InitialEnd::Unmarked) => self.client.watch_lists().remember_unsupported(&self.watch.path),
                Err(error) if self.reads_pages_after(&error) => {}
                Err(error) => return Err(error),
            }
        }
        match self.pages(self.watch.page_size).await {
            // The pages became too old while they were read. One answer with everything cannot.
            Err(error) if error.is_gone() => self.pages(0).await?,
            other => other?,
        }
        Ok(None)
    }

    /// Whether pages may help where initial events failed with `error`.
    fn reads_pages_after(&mut self, error: &Error) -> bool {
        match error.code() {
            // 422: the feature is off. Others do not know the parameters, or know no watches.
            Some(400 | 405 | 406 | 422) => {
                self.client.watch_lists().remember_unsupported(&self.watch.path);
                true
            }
            // There are roles that may list and not watch.
            Some(403) => true,
            Some(401 | 404 | 429 | 502 | 503) => false,
            _ => {
                let is_broken = self.broken_streams >= MAX_BROKEN_STREAMS;
                if is_broken {
                    self.broken_streams = 0;
                    self.client.watch_lists().remember_unsupported(&self.watch.path);
                }
                is_broken
            }
        }
    }

    /// Reads the list as the first events of a watch.
    async fn initial_events(&mut self) -> Result<InitialEnd, Error> {
        let policy = self.watch.policy;
        let query = [
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("resourceVersion", ""),
        ];
        let path = self.watch_path(jitter_around(policy.life), query);
        let idle = policy.initial_idle;
        let mut lines = self.client.watch_as(&path, self.watch.is_metadata_only, idle).await?;
        self.sink.take(WatchStep::ListStarted).await;
        // Counted from here: a server that is away is no reason to read pages.
        self.broken_streams += 1;
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => {
                    return Err(Error::Unreadable("a watch ended before its initial events did".into()));
                }
                Err(Error::TimedOut(_)) => return Ok(InitialEnd::Unmarked),
                Err(error) => return Err(error),
            };
            let is_end = is_end_of_initial_events(&line);
            match WatchEvent::of_line(line)? {
                WatchEvent::Set(mut object) => {
                    self.prepare(&mut object);
                    self.sink.take(WatchStep::Listed(object)).await;
                }
                removed @ WatchEvent::Removed(_) => self.take_removed(removed).await,
                WatchEvent::Bookmark(version) if is_end => {
                    self.end_list(version).await;
                    self.has_bookmarks = true;
                    lines.set_idle(policy.idle);
                    return Ok(InitialEnd::Synced(Box::new(lines)));
                }
                WatchEvent::Bookmark(_) => return Ok(InitialEnd::Unmarked),
            }
        }
    }

    async fn take_removed(&mut self, mut event: WatchEvent) {
        if let WatchEvent::Removed(object) = &mut event {
            self.prepare(object);
        }
        self.sink.take(WatchStep::Changed(event)).await;
    }

    /// Reads the list in pages of `page_size` objects, or all at once.
    async fn pages(&mut self, page_size: u32) -> Result<(), Error> {
        let request = ListRequest {
            path: self.watch.path.clone(),
            page_size,
            is_metadata_only: self.watch.is_metadata_only,
        };
        // The items borrow the client, and the sink is used meanwhile.
        let client = self.client.clone();
        let mut items = client.list_items(request).await?;
        self.sink.take(WatchStep::ListStarted).await;
        while let Some(mut item) = items.next().await? {
            self.prepare(&mut item);
            self.sink.take(WatchStep::Listed(item)).await;
        }
        self.end_list(items.end(true).version).await;
        self.has_bookmarks = false;
        Ok(())
    }

    async fn end_list(&mut self, version: Text) {
        self.sink.take(WatchStep::ListEnded(version.clone())).await;
        (self.version, self.has_listed) = (version, true);
    }
}

fn is_end_of_initial_events(line: &Value) -> bool {
    let annotation = line.at(&["object", "metadata", "annotations", "k8s.io/initial-events-end"]);
    line.str_at(&["type"]) == "BOOKMARK" && annotation.and_then(Value::as_str) == Some("true")
}
