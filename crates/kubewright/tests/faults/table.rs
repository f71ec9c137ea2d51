//! What became of the requests of each fault.

use std::time::Duration;

use kubewright_load::LoadRun;

use crate::load::{API_SERVER, UNJUDGED};

/// One fault.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) requests: usize,
    pub(crate) right: usize,
    /// Refused by the API server, which was away itself.
    pub(crate) by_api_server: usize,
    /// Let through by the API server, which had no webhook to call.
    pub(crate) unjudged: usize,
    /// Anything else.
    pub(crate) lost: usize,
    /// From the fault until all was well.
    pub(crate) recovery: Duration,
    /// What else was seen.
    pub(crate) notes: Vec<String>,
    /// What should not have been.
    pub(crate) problems: Vec<String>,
}

impl Row {
    /// Counts the requests of a run.
    pub(crate) fn of(run: &LoadRun) -> Self {
        let mut row = Self { requests: run.samples.len(), ..Self::default() };
        let mut reasons = std::collections::BTreeMap::<&str, usize>::new();
        for (_, reason) in run.wrong() {
            if reason.starts_with(API_SERVER) {
                row.by_api_server += 1;
            } else if reason.starts_with(UNJUDGED) {
                row.unjudged += 1;
            } else {
                row.lost += 1;
                *reasons.entry(reason).or_default() += 1;
            }
        }
        row.right = row.requests - row.by_api_server - row.unjudged - row.lost;
        let shown = |(reason, count): (&str, usize)| {
            format!("{count} × {}", reason.chars().take(250).collect::<String>())
        };
        row.notes.extend(reasons.into_iter().take(3).map(shown));
        row
    }

    /// Says how long it took from `fault`, counted from the start of `run`, until the last request that went wrong.
    pub(crate) fn recovered(mut self, run: &LoadRun, fault: Duration) -> Self {
        let ends = run.wrong().map(|(sample, _)| sample.due + sample.latency);
        self.recovery = ends.max().unwrap_or_default().saturating_sub(fault);
        self
    }

    /// Returns a line of the table.
    pub(crate) fn line(&self) -> String {
        let counts = [self.requests, self.right, self.by_api_server, self.unjudged, self.lost];
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        format!("| {} | {} | {:.2} |", self.name, counts.join(" | "), self.recovery.as_secs_f64())
    }

    /// Notes a problem unless `is_so`.
    pub(crate) fn expect(&mut self, is_so: bool, problem: impl Into<String>) {
        if !is_so {
            self.problems.push(problem.into());
        }
    }
}

/// Prints all and returns whether there were no problems.
pub(crate) fn print(rows: &[Row]) -> bool {
    eprintln!(
        "\n| fault | requests | right | refused by the API server itself | let through unjudged | lost | well again after s |"
    );
    eprintln!("|---|---:|---:|---:|---:|---:|---:|");
    rows.iter().for_each(|row| eprintln!("{}", row.line()));
    for row in rows {
        row.notes.iter().for_each(|note| eprintln!("{}: {note}", row.name));
        row.problems.iter().for_each(|problem| eprintln!("FAILED {}: {problem}", row.name));
    }
    rows.iter().all(|row| row.problems.is_empty())
}
