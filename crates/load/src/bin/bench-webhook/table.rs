//! What was measured, as a Markdown table.

use std::time::Duration;

use crate::limits::duration_ratio;
use crate::measure::{Figures, Load, MeasuredServer};

pub(crate) fn print_table_head() {
    println!(
        "| load | server | requests/s | p50 ms | p99 ms | p99.9 ms | max ms | refused | wrong | CPU µs/request | memory MB |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
}

/// Prints a row for each server, and how many times the first the last one is.
pub(crate) fn print_table_rows(load: Load, subjects: &[MeasuredServer<'_>], figures: &[Figures]) {
    let name = match load {
        Load::Rate(rate) => format!("{rate:.0}/s"),
        Load::Saturation(limit) => format!("{limit} at a time"),
    };
    for (subject, figures) in subjects.iter().zip(figures) {
        let latencies = &figures.latencies;
        println!(
            "| {name} | {} | {:.0} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} |",
            subject.name,
            figures.rate(),
            milliseconds(latencies.at(0.5)),
            milliseconds(latencies.at(0.99)),
            milliseconds(latencies.at(0.999)),
            milliseconds(latencies.longest()),
            figures.refused,
            figures.wrong.0,
            figures.cpu_each(),
            megabytes(figures.memory),
        );
    }
    if let [first, .., last] = figures {
        println!(
            "| | *ratio* | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | | | {:.2} | {:.2} |",
            last.rate() / first.rate(),
            duration_ratio(last.latencies.at(0.5), first.latencies.at(0.5)),
            duration_ratio(last.latencies.at(0.99), first.latencies.at(0.99)),
            duration_ratio(last.latencies.at(0.999), first.latencies.at(0.999)),
            duration_ratio(last.latencies.longest(), first.latencies.longest()),
            last.cpu_each() / first.cpu_each().max(1e-9),
            last.memory as f64 / first.memory.max(1) as f64,
        );
    }
    for (subject, figures) in subjects.iter().zip(figures).filter(|(_, figures)| figures.wrong.0 > 0) {
        println!("{}: {}", subject.name, figures.wrong.1);
    }
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
