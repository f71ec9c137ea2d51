//! Where reviews go that take many steps: a few threads of their own, and a few places to wait.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// How many may wait.
const PLACES: usize = 16;

type Work = Box<dyn FnOnce() + Send>;

/// Threads for slow reviews, started with the first of them.
#[derive(Debug, Default)]
pub(crate) struct SlowLane {
    waiting: OnceLock<SyncSender<Slow>>,
}

struct Slow {
    work: Work,
    deadline: Instant,
}

impl SlowLane {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Does `work` soon, unless it has waited until `deadline`; returns whether there was a place for it.
    pub(crate) fn take(&self, work: Work, deadline: Instant) -> bool {
        self.waiting.get_or_init(start).try_send(Slow { work, deadline }).is_ok()
    }
}

fn start() -> SyncSender<Slow> {
    let (sender, receiver) = sync_channel::<Slow>(PLACES);
    let receiver = Arc::new(Mutex::new(receiver));
    // Half of the machine at most: the other reviews go on.
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() / 2).max(1);
    for _ in 0..threads {
        let receiver = Arc::clone(&receiver);
        let thread = std::thread::Builder::new().name("slow".to_owned());
        // Without a thread the places fill up, and what is slow is refused.
        let _ = thread.spawn(move || work(&receiver));
    }
    sender
}

fn work(receiver: &Mutex<Receiver<Slow>>) {
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Slow { work, deadline }) = next else { return };
        if Instant::now() < deadline {
            work();
        }
    }
}
