//! Monitors the watch caches: their age and size as metrics, their problems in the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kubewright_cluster::Error;

use crate::log::LogLevel;
use crate::{ServerState, Stores};

/// How often the caches are checked.
const MONITOR_INTERVAL: Duration = Duration::from_secs(1);

/// How many checks in a row may fail before a problem is logged: connections are interrupted all the time.
const MAX_FAILED_CHECKS: u32 = 3;

/// Updates metrics and log for as long as the server runs.
pub async fn monitor_caches(state: Arc<ServerState>, stores: Arc<Stores>) {
    let mut known: BTreeMap<Arc<str>, (String, u32)> = BTreeMap::new();
    loop {
        if let Some(age) = stores.age() {
            state.metrics.synced_at(SystemTime::now() - age);
        }
        for (kind, count) in stores.counts() {
            state.metrics.objects_held(&kind, count as u64);
        }
        let problems: BTreeMap<Arc<str>, Error> = stores.problems().into_iter().collect();
        known.retain(|kind, (_, times)| {
            let is_over = !problems.contains_key(kind);
            if is_over && *times >= MAX_FAILED_CHECKS {
                state.log.line(LogLevel::Info, "watch recovered").text("kind", kind).write();
            }
            !is_over
        });
        for (kind, problem) in problems {
            let (text, times) = known.entry(Arc::clone(&kind)).or_default();
            let new = problem.to_string();
            *times = if *text != new && *times > MAX_FAILED_CHECKS {
                MAX_FAILED_CHECKS
            } else {
                times.saturating_add(1)
            };
            *text = new;
            if *times == MAX_FAILED_CHECKS {
                log_watch_problem(&state, &kind, &problem);
            }
        }
        tokio::time::sleep(MONITOR_INTERVAL).await;
    }
}

fn log_watch_problem(state: &ServerState, kind: &str, problem: &Error) {
    let line = match problem.is_not_found() {
        true => state.log.line(LogLevel::Info, "kind is not defined in the cluster"),
        false => state.log.line(LogLevel::Warn, "watch failed"),
    };
    line.text("kind", kind).shown("problem", problem).write();
}
