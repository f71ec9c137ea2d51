//! Reviews by the clock at rates for which a whole HTTP client would cost more than the server that it measures.
//!
//! One thread has a few connections on which it writes HTTP/2 as it needs it: requests that are due together and belong to
//! one connection leave in one write, answers are only collected, and judged when the run is over. What the server does not
//! take yet (its streams, its windows) waits, and the time of every request counts from when it should have left.

mod connection;
mod frames;
mod status;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustls::ClientConfig;

use crate::client::trusting_config;
use crate::open_loop::{MAX_SINGLE_RATE, TICK_INTERVAL};
use crate::{LoadError, LoadRun, LoadSample, LoadTarget, RequestOutcome, Reviews};
use connection::{FloodAnswer, FloodConnection, FloodRequest};

/// For how long nothing is read or sent where nothing is due.
const SWEEP_INTERVAL: Duration = Duration::from_micros(100);

/// How long a request may take before it counts as lost.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);

/// Reviews for one server on a few connections.
#[derive(Debug)]
pub struct Flood {
    target: LoadTarget,
    tls: Arc<ClientConfig>,
    path: String,
    reviews: Reviews,
    connections: usize,
    burst: usize,
}

impl Flood {
    /// Returns `reviews` for `path` of `target`, on so many connections, each of which is used for so many requests in turn.
    ///
    /// # Errors
    /// When the authorities of `target` are no certificates.
    pub fn new(
        target: LoadTarget,
        path: &str,
        reviews: Reviews,
        (connections, burst): (usize, usize),
    ) -> Result<Self, LoadError> {
        let tls = Arc::new(trusting_config(&target.authorities)?);
        let (connections, burst) = (connections.max(1), burst.max(1));
        Ok(Self { target, tls, path: path.to_owned(), reviews, connections, burst })
    }

    /// Connects, sends a review every `1 / rate` seconds for `duration`, and waits for the answers.
    ///
    /// # Errors
    /// When a connection cannot be made. One that breaks later is an outcome of its requests.
    pub fn run(&self, rate: f64, duration: Duration) -> Result<LoadRun, LoadError> {
        let connect = |_| FloodConnection::connect(&self.target, &self.tls, &self.path);
        let mut connections = (0..self.connections).map(connect).collect::<Result<Vec<_>, _>>()?;
        let total = (duration.as_secs_f64() * rate).ceil() as usize;
        let mut answers = Vec::with_capacity(total);
        let tick = if rate > MAX_SINGLE_RATE { TICK_INTERVAL } else { Duration::ZERO };
        let (mut next, mut next_tick) = (0, Duration::ZERO);
        let start = Instant::now();
        while answers.len() < total && start.elapsed() < duration + MAX_ANSWER_TIME {
            let now = start.elapsed();
            if now >= next_tick {
                next_tick = now + tick;
                while let Some(request) = self.due_request(next, rate, now).filter(|_| next < total) {
                    let turn = next / self.burst % connections.len();
                    connections.get_mut(turn).into_iter().for_each(|connection| connection.ask(request));
                    next += 1;
                }
            }
            for connection in &mut connections {
                connection.exchange(&self.reviews, start, &mut answers);
            }
            thread::sleep(SWEEP_INTERVAL);
        }
        let duration = start.elapsed();
        for connection in &mut connections {
            connection.give_up(&LoadError::Late(MAX_ANSWER_TIME), duration, &mut answers);
        }
        let samples = answers.into_iter().map(|answer| self.judge(answer)).collect();
        Ok(LoadRun { samples, duration })
    }

    /// Returns the request `number`, if it is due.
    fn due_request(&self, number: usize, rate: f64, now: Duration) -> Option<FloodRequest> {
        let due = Duration::from_secs_f64(number as f64 / rate);
        (due <= now).then_some(FloodRequest { number, due, left: now })
    }

    fn judge(&self, FloodAnswer { request, end, answer }: FloodAnswer) -> LoadSample {
        let (id, _) = self.reviews.get(request.number);
        let outcome: RequestOutcome = self.reviews.judge(&id, answer);
        let latency = end.saturating_sub(request.due);
        LoadSample { due: request.due, latency, service: end.saturating_sub(request.left), outcome }
    }
}

#[cfg(test)]
mod tests;
