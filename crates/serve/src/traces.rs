//! Traces of reviews for an OTLP collector: a span for the review, and one below it for each rule that had to say
//! something. Nothing of the object is in them.
//!
//! They are sent by a thread of their own, many at once; while the collector is away they are dropped, and counted.

mod collector;
mod span;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use collector::OtlpCollector;
use span::SpanBatch;
pub(crate) use span::{ReviewSpan, RuleSpan, TraceParent};

/// How many reviews may wait to be sent.
const MAX_QUEUED_SPANS: usize = 2048;
/// How many are sent at once.
const MAX_BATCH_SPANS: usize = 256;
/// How long the first of a batch waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);

/// Where traces go; nowhere, unless the operator says so.
#[derive(Debug, Default)]
pub struct Traces {
    sender: Option<SyncSender<ReviewSpan>>,
    dropped: Arc<AtomicU64>,
}

impl Traces {
    /// Returns whether traces could be sent to a collector at `endpoint`.
    ///
    /// # Errors
    /// When that is no address.
    pub fn check(endpoint: &str) -> Result<(), String> {
        OtlpCollector::at(endpoint).map(drop)
    }

    /// Sends traces to the collector at `endpoint`, such as `http://collector:4318`.
    ///
    /// # Errors
    /// When that is no address.
    pub fn to(endpoint: &str) -> Result<Self, String> {
        let collector = OtlpCollector::at(endpoint)?;
        let (sender, waiting) = sync_channel(MAX_QUEUED_SPANS);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        std::thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || send_span_batches(&collector, &waiting, &counted))
            .map_err(|error| format!("cannot start a thread for traces: {error}"))?;
        Ok(Self { sender: Some(sender), dropped })
    }

    /// Returns whether traces go anywhere.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.sender.is_some()
    }

    /// Returns how many reviews were not traced because the collector did not take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn send(&self, span: ReviewSpan) {
        let Some(sender) = &self.sender else { return };
        if sender.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn send_span_batches(collector: &OtlpCollector, waiting: &Receiver<ReviewSpan>, dropped: &AtomicU64) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    while let Ok(first) = waiting.recv() {
        let mut batch = SpanBatch::default();
        batch.add(&first);
        let end = Instant::now() + BATCH_DELAY;
        while batch.len() < MAX_BATCH_SPANS
            && let Ok(next) = waiting.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            batch.add(&next);
        }
        let count = batch.len() as u64;
        if runtime.block_on(collector.send(batch.written())).is_err() {
            dropped.fetch_add(count, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
