//! One load on several servers in turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_load::{Latencies, LoadClient, LoadRun, RequestOutcome, Reviews, at_rate, by_as_many_as};
use tokio::runtime::Runtime;

use crate::servers::RunningServer;

/// How long a request may take before it counts as lost.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Where reviews go.
pub(crate) const REVIEW_PATH: &str = "/validate?timeout=10s";

/// How requests leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Load {
    /// So many a second, by schedule.
    Rate(f64),
    /// As many as are answered, so many at a time.
    Saturation(usize),
}

/// A server under load.
pub(crate) struct MeasuredServer<'a> {
    pub(crate) name: &'a str,
    pub(crate) running: &'a RunningServer,
    pub(crate) reviews: Reviews,
    client: Arc<LoadClient>,
}

/// What was seen of a server under one load, over all rounds.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) requests: usize,
    pub(crate) duration: Duration,
    pub(crate) latencies: Latencies,
    /// The p99 of each round.
    p99_by_round: Vec<Duration>,
    pub(crate) refused: usize,
    /// How many went wrong, and how one of them did.
    pub(crate) wrong: (usize, String),
    pub(crate) cpu: Duration,
    pub(crate) memory: u64,
}

impl<'a> MeasuredServer<'a> {
    /// Returns `running` with so many connections.
    pub(crate) fn new(
        name: &'a str,
        running: &'a RunningServer,
        reviews: Reviews,
        connections: usize,
    ) -> Result<Self, String> {
        let client =
            LoadClient::new(running.target.clone(), connections).map_err(|error| error.to_string())?;
        Ok(Self { name, running, reviews, client: Arc::new(client) })
    }

    /// Waits until it answers as it should, which also makes the connections.
    pub(crate) fn await_answer(&self, runtime: &Runtime) -> Result<(), String> {
        let start = Instant::now();
        loop {
            match runtime.block_on(self.request(0)) {
                RequestOutcome::Wrong(reason) if start.elapsed() > REQUEST_TIMEOUT => {
                    return Err(format!("{} does not answer as it should: {reason}", self.name));
                }
                RequestOutcome::Wrong(_) | RequestOutcome::Refused => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                RequestOutcome::Right => return Ok(()),
            }
        }
    }

    pub(crate) fn run(&self, runtime: &Runtime, load: Load, duration: Duration) -> LoadRun {
        let request = |number| self.request(number);
        match load {
            Load::Rate(rate) => at_rate(runtime.handle(), rate, |due| due < duration, request),
            Load::Saturation(limit) => by_as_many_as(runtime.handle(), limit, duration, request),
        }
    }

    fn request(&self, number: usize) -> impl Future<Output = RequestOutcome> + Send + use<> {
        let (client, reviews) = (Arc::clone(&self.client), self.reviews.clone());
        let (id, body) = reviews.get(number);
        async move {
            let answer = client.post(REVIEW_PATH, body, REQUEST_TIMEOUT).await;
            reviews.judge(&id, answer)
        }
    }
}

/// Puts all `subjects` under `load` in turn, `rounds` times.
pub(crate) fn measure(
    runtime: &Runtime,
    subjects: &[MeasuredServer<'_>],
    load: Load,
    duration: Duration,
    rounds: usize,
) -> Vec<Figures> {
    let mut seen: Vec<(Vec<Duration>, Figures)> = subjects.iter().map(|_| Default::default()).collect();
    for _ in 0..rounds {
        for (subject, (times, figures)) in subjects.iter().zip(&mut seen) {
            let before = subject.running.server.usage();
            let run = subject.run(runtime, load, duration);
            let after = subject.running.server.usage();
            figures.add(&run);
            figures.cpu += after.cpu.saturating_sub(before.cpu);
            figures.memory = after.memory;
            let latencies: Vec<Duration> = run.samples.iter().map(|sample| sample.latency).collect();
            times.extend_from_slice(&latencies);
            figures.p99_by_round.push(Latencies::new(latencies).at(0.99));
        }
    }
    let finish = |(times, figures)| Figures { latencies: Latencies::new(times), ..figures };
    seen.into_iter().map(finish).collect()
}

impl Figures {
    fn add(&mut self, run: &LoadRun) {
        self.requests += run.samples.len();
        self.duration += run.duration;
        self.refused += run.refusals().count();
        self.wrong.0 += run.wrong().count();
        if let Some((_, reason)) = run.wrong().next() {
            reason.clone_into(&mut self.wrong.1);
        }
    }

    /// The answers of a second.
    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 / self.duration.as_secs_f64().max(1e-9)
    }

    /// The p99 of the middle round: one in which the machine had other work for a moment does not count.
    pub(crate) fn middle_p99(&self) -> Duration {
        Latencies::new(self.p99_by_round.clone()).at(0.5)
    }

    /// The server's CPU time for a request, in microseconds.
    pub(crate) fn cpu_each(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / (self.requests.max(1) as f64)
    }
}
