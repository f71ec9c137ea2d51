//! Requests by the clock.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Latencies;

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestOutcome {
    /// What was expected.
    Right,
    /// The server said that it has too much to do.
    Refused,
    /// Anything else: another answer, or none. Says which.
    Wrong(String),
}

/// One request of a run.
#[derive(Debug, Clone)]
pub struct LoadSample {
    /// When it should have left, counted from the start of the run.
    pub due: Duration,
    /// How long its answer took, counted from then.
    pub latency: Duration,
    /// How long it took, counted from when it really left.
    pub service: Duration,
    /// What became of it.
    pub outcome: RequestOutcome,
}

/// What was sent, in the order of the answers.
#[derive(Debug, Clone, Default)]
pub struct LoadRun {
    /// The requests.
    pub samples: Vec<LoadSample>,
    /// From the start until the last answer.
    pub duration: Duration,
}

impl LoadRun {
    /// Returns the answers of a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.samples.len() as f64 / self.duration.as_secs_f64().max(1e-9)
    }

    /// Returns the times of all requests, counted from when they should have left.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        Latencies::new(self.samples.iter().map(|sample| sample.latency).collect())
    }

    /// Returns the times of the requests that were refused, counted from when they should have left.
    #[must_use]
    pub fn refusals(&self) -> Latencies {
        let refused = self.samples.iter().filter(|sample| sample.outcome == RequestOutcome::Refused);
        Latencies::new(refused.map(|sample| sample.latency).collect())
    }

    /// Returns how late requests left, which is the fault of the generator and not of the server.
    #[must_use]
    pub fn delays(&self) -> Latencies {
        let delay = |sample: &LoadSample| sample.latency.saturating_sub(sample.service);
        Latencies::new(self.samples.iter().map(delay).collect())
    }

    /// Returns the requests that went wrong.
    pub fn wrong(&self) -> impl Iterator<Item = (&LoadSample, &str)> {
        self.samples.iter().filter_map(|sample| match &sample.outcome {
            RequestOutcome::Wrong(reason) => Some((sample, reason.as_str())),
            RequestOutcome::Right | RequestOutcome::Refused => None,
        })
    }
}

/// Above this rate, requests that are due within [`TICK_INTERVAL`] leave together: going to sleep before each of them would cost the
/// generator more than sending it.
pub(crate) const MAX_SINGLE_RATE: f64 = 5_000.0;
pub(crate) const TICK_INTERVAL: Duration = Duration::from_millis(1);

/// Sends a request every `1 / rate` seconds until `while_true` says no, and waits for the answers. `request` is told how
/// many were sent before.
///
/// It takes a thread of its own, because a timer of the runtime is late by up to a millisecond.
pub fn at_rate<F>(
    runtime: &Handle,
    rate: f64,
    mut while_true: impl FnMut(Duration) -> bool,
    request: impl Fn(usize) -> F,
) -> LoadRun
where
    F: Future<Output = RequestOutcome> + Send + 'static,
{
    let samples: Arc<Mutex<Vec<LoadSample>>> = Arc::default();
    let start = Instant::now();
    let shortest_sleep = if rate > MAX_SINGLE_RATE { TICK_INTERVAL } else { Duration::ZERO };
    let mut pending = Vec::new();
    for number in 0_usize.. {
        let due = Duration::from_secs_f64(number as f64 / rate);
        if !while_true(due) {
            break;
        }
        if let Some(early) = due.checked_sub(start.elapsed()) {
            thread::sleep(early.max(shortest_sleep));
        }
        let (samples, request) = (Arc::clone(&samples), request(number));
        pending.push(runtime.spawn(async move {
            let left = start.elapsed();
            let outcome = request.await;
            let end = start.elapsed();
            let sample = LoadSample {
                due,
                latency: end.saturating_sub(due),
                service: end.saturating_sub(left),
                outcome,
            };
            samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
        }));
        // A long run would remember every one of them.
        if pending.len() > 100_000 {
            pending.retain(|task| !task.is_finished());
        }
    }
    runtime.block_on(async {
        for task in pending {
            let _ = task.await;
        }
    });
    let samples = std::mem::take(&mut *samples.lock().unwrap_or_else(PoisonError::into_inner));
    LoadRun { samples, duration: start.elapsed() }
}

/// Sends as much as is answered, with `limit` requests under way at any time, for `duration`. What it says of times is
/// true only for so many callers; what it says of the rate is the most that the server can do.
pub fn by_as_many_as<F>(
    runtime: &Handle,
    limit: usize,
    duration: Duration,
    request: impl Fn(usize) -> F,
) -> LoadRun
where
    F: Future<Output = RequestOutcome> + Send + 'static,
{
    let samples: Arc<Mutex<Vec<LoadSample>>> = Arc::default();
    let places = Arc::new(Semaphore::new(limit));
    let start = Instant::now();
    runtime.block_on(async {
        let mut number = 0;
        while start.elapsed() < duration {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
            let (samples, request) = (Arc::clone(&samples), request(number));
            number += 1;
            tokio::spawn(async move {
                let due = start.elapsed();
                let outcome = request.await;
                let latency = start.elapsed().saturating_sub(due);
                let sample = LoadSample { due, latency, service: latency, outcome };
                samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
                drop(place);
            });
        }
        let all = u32::try_from(limit).unwrap_or(u32::MAX);
        let _ = places.acquire_many(all).await;
    });
    let samples = std::mem::take(&mut *samples.lock().unwrap_or_else(PoisonError::into_inner));
    LoadRun { samples, duration: start.elapsed() }
}

#[cfg(test)]
mod tests;
