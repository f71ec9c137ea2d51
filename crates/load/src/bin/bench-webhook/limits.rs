//! What was promised, and whether it was kept. Limits are ratios to the server that does nothing, measured in the same
//! run, so that they mean the same on a fast machine and on a slow one.

use std::time::Duration;

use kubewright_load::BenchLimits;

use crate::measure::{Figures, Load};

/// The CPU time of a request that is allowed, where requests never run out. At a rate that leaves the machine idle between
/// them, waking up costs more than the work.
const MAX_CPU_RATIO_ALLOWED: f64 = 1.6;
/// The same of one that is denied, which is logged and answered with a message.
const MAX_CPU_RATIO_DENIED: f64 = 2.0;
/// The rate at which the next counts.
const LATENCY_RATE: f64 = 2_000.0;
/// For all but one of a hundred requests.
const MAX_P99_RATIO: f64 = 1.5;

/// Adds the limits of a load, if it has any; the first of `figures` is the server that does nothing, the last the one that
/// counts.
pub(crate) fn add_load_limits(
    limits: &mut BenchLimits,
    (title, is_allowed): (&str, bool),
    load: Load,
    figures: &[Figures],
) {
    let [nothing, .., ours] = figures else { return };
    match load {
        Load::Saturation(count) => {
            let most = if is_allowed { MAX_CPU_RATIO_ALLOWED } else { MAX_CPU_RATIO_DENIED };
            let ratio = ours.cpu_each() / nothing.cpu_each().max(1e-9);
            limits.add(
                &format!("CPU a request, {title}, {count} at a time"),
                &format!("≤ {most} × a server that does nothing"),
                format!("{ratio:.2} × ({:.1} and {:.1} µs)", ours.cpu_each(), nothing.cpu_each()),
                ratio <= most,
            );
        }
        Load::Rate(LATENCY_RATE) => {
            let [nothing, ours] = [nothing, ours].map(Figures::middle_p99);
            limits.add(
                &format!("p99 of the middle round, {title}, {LATENCY_RATE}/s"),
                &format!("≤ {MAX_P99_RATIO} × a server that does nothing"),
                format!("{:.2} × ({ours:.2?} and {nothing:.2?})", duration_ratio(ours, nothing)),
                duration_ratio(ours, nothing) <= MAX_P99_RATIO,
            );
        }
        Load::Rate(_) => {}
    }
    let wrong = ours.wrong.0;
    let what = format!("requests that went wrong, {title}, {load:?}");
    if wrong > 0 || load == Load::Rate(LATENCY_RATE) {
        limits.add(&what, "0", wrong.to_string(), wrong == 0);
    }
}

/// Returns how many times `other` is in `one`.
pub(crate) fn duration_ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(1e-9)
}
