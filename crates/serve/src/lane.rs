//! Threads apart from those that answer: each lane has a few, and a few places to wait.
//!
//! What may take long runs in a lane, so that nothing else waits for it. A lane never queues more than its places, and
//! work whose deadline has passed while it waited is not begun.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

type LaneWork = Box<dyn FnOnce() + Send>;

/// Threads of their own for one sort of work, started with the first piece of it.
#[derive(Debug)]
pub(crate) struct Lane {
    name: &'static str,
    threads: usize,
    places: usize,
    waiting: OnceLock<SyncSender<LaneTask>>,
}

struct LaneTask {
    work: LaneWork,
    deadline: Instant,
}

impl Lane {
    /// Returns a lane of `threads`, for which `places` pieces of work may wait.
    pub(crate) fn new(name: &'static str, threads: usize, places: usize) -> Self {
        Self { name, threads, places, waiting: OnceLock::new() }
    }

    /// Does `work` soon, unless it has waited until `deadline`; returns whether there was a place for it.
    pub(crate) fn take(&self, work: LaneWork, deadline: Instant) -> bool {
        self.waiting.get_or_init(|| self.start()).try_send(LaneTask { work, deadline }).is_ok()
    }

    /// Does `work` and returns what it returned, unless there is no place, or no time before `deadline`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        deadline: Instant,
    ) -> Result<T, LaneError> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let work = Box::new(move || {
            // Who asked may be gone.
            let _ = sender.send(work());
        });
        if !self.take(work, deadline) {
            return Err(LaneError::Full);
        }
        match tokio::time::timeout_at(deadline.into(), receiver).await {
            Ok(Ok(done)) => Ok(done),
            // What waited too long is dropped without an answer.
            Ok(Err(_)) | Err(_) => Err(LaneError::Deadline),
        }
    }

    fn start(&self) -> SyncSender<LaneTask> {
        let (sender, receiver) = sync_channel::<LaneTask>(self.places);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..self.threads {
            let receiver = Arc::clone(&receiver);
            let thread = std::thread::Builder::new().name(self.name.to_owned());
            // Without a thread the places fill up, and what comes is refused.
            let _ = thread.spawn(move || run_lane_thread(&receiver));
        }
        sender
    }
}

/// Why work was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneError {
    /// Too much waits already.
    Full,
    /// There was no time left.
    Deadline,
}

fn run_lane_thread(receiver: &Mutex<Receiver<LaneTask>>) {
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(LaneTask { work, deadline }) = next else { return };
        if Instant::now() < deadline {
            work();
        }
    }
}

/// A runtime of its own for reviews that are not small: reading them, and writing their answers, takes long enough to be
/// felt by others.
#[derive(Debug, Default)]
pub(crate) struct LargeRuntime {
    runtime: OnceLock<Option<tokio::runtime::Runtime>>,
}

impl LargeRuntime {
    /// Returns where to spawn; nothing where there can be no threads.
    pub(crate) fn handle(&self) -> Option<&tokio::runtime::Handle> {
        let runtime = self.runtime.get_or_init(|| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(crate::workers()).thread_name("large").enable_all().build().ok()
        });
        runtime.as_ref().map(tokio::runtime::Runtime::handle)
    }
}

impl Drop for LargeRuntime {
    fn drop(&mut self) {
        // The state may be dropped inside another runtime, where waiting for threads is not allowed.
        if let Some(Some(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_lane_takes_no_more_than_it_has_places_and_begins_nothing_too_late() {
        let lane = Lane::new("test", 1, 1);
        let (begin, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let now = Instant::now();
        let (soon, later) = (now + Duration::from_millis(100), now + Duration::from_secs(30));
        let first = move || {
            let _ = begin.send(());
            let _ = ended.recv();
        };
        assert!(lane.take(Box::new(first), later));
        begun.recv().unwrap();
        // One may wait while the first is under way, and no more.
        let (late, full) = tokio::join!(lane.run(|| 1, soon), lane.run(|| 2, later));
        assert_eq!((late, full), (Err(LaneError::Deadline), Err(LaneError::Full)));
        drop(end);
        // The late one is not begun; its place is free again soon.
        let done = loop {
            match lane.run(|| 3, later).await {
                Err(LaneError::Full) => tokio::time::sleep(Duration::from_millis(5)).await,
                done => break done,
            }
        };
        assert_eq!(done, Ok(3));
    }
}
