//! What was promised, and whether it was kept.

use std::time::Duration;

use kubewright_load::BenchLimits;

use crate::measure::{Figures, Load};

/// Microseconds of MAX_CPU_MICROSECONDS a request, where requests never run out. At a rate that leaves the machine idle between them,
/// waking up costs more than the work, and a server that does nothing needs as much.
const MAX_CPU_MICROSECONDS: f64 = 60.0;
/// The rate at which the next counts.
const LATENCY_RATE: f64 = 2_000.0;
/// For all but one of a hundred requests.
const MAX_P99_LATENCY: Duration = Duration::from_millis(3);

/// Adds the limits of a load, if it has any; the last of `figures` is the server that counts.
pub(crate) fn add_load_limits(limits: &mut BenchLimits, title: &str, load: Load, figures: &[Figures]) {
    let Some(figures) = figures.last() else { return };
    match load {
        Load::Saturation(count) => {
            let (cpu, what) = (figures.cpu_each(), format!("CPU a request, {title}, {count} at a time"));
            limits.add(
                &what,
                &format!("≤ {MAX_CPU_MICROSECONDS} µs"),
                format!("{cpu:.1} µs"),
                cpu <= MAX_CPU_MICROSECONDS,
            );
        }
        Load::Rate(LATENCY_RATE) => {
            let p99 = figures.latencies.at(0.99);
            limits.add(
                &format!("p99, {title}, {LATENCY_RATE}/s"),
                "< 3 ms",
                format!("{p99:.2?}"),
                p99 < MAX_P99_LATENCY,
            );
        }
        Load::Rate(_) => {}
    }
    let wrong = figures.wrong.0;
    let what = format!("requests that went wrong, {title}, {load:?}");
    if wrong > 0 || load == Load::Rate(LATENCY_RATE) {
        limits.add(&what, "0", wrong.to_string(), wrong == 0);
    }
}
