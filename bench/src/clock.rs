//! CPU time, and rounds that alternate between what is compared.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// A subject of a measurement.
pub struct BenchSubject<'a> {
    /// The name in the table.
    pub name: &'a str,
    /// The work of one round; what it returns is not optimised away.
    pub work: Box<dyn Fn() -> usize + 'a>,
}

impl<'a> BenchSubject<'a> {
    /// Returns a subject called `name`.
    pub fn new(name: &'a str, work: impl Fn() -> usize + 'a) -> Self {
        Self { name, work: Box::new(work) }
    }
}

/// How long one round of a small subject should take, because the system counts CPU time in ticks.
const ROUND_WINDOW: Duration = Duration::from_millis(120);

/// Runs all `subjects` in turn, `rounds` times, and returns the median time of each.
#[must_use]
pub fn medians(subjects: &[BenchSubject<'_>], rounds: usize) -> Vec<Duration> {
    let mut times = vec![Vec::with_capacity(rounds); subjects.len()];
    let repeats: Vec<u32> = subjects.iter().map(repeats).collect();
    for _ in 0..rounds {
        for ((subject, times), repeats) in subjects.iter().zip(&mut times).zip(&repeats) {
            let start = cpu_time_now();
            for _ in 0..*repeats {
                black_box((subject.work)());
            }
            times.push(cpu_time_now().saturating_sub(start) / *repeats);
        }
    }
    times.iter_mut().map(|times| median(times)).collect()
}

/// Prints a table of megabytes a second, with each row's ratio to the last one.
pub fn print_table(title: &str, bytes: usize, subjects: &[BenchSubject<'_>], medians: &[Duration]) {
    println!("\n{title}\n");
    println!("| reader | MB/s | ns | ratio |");
    println!("|---|---:|---:|---:|");
    let base = medians.last().map_or(0.0, Duration::as_secs_f64);
    for (subject, time) in subjects.iter().zip(medians) {
        let seconds = time.as_secs_f64().max(1e-12);
        let speed = bytes as f64 / 1e6 / seconds;
        println!("| {} | {speed:.1} | {:.0} | {:.2} |", subject.name, seconds * 1e9, base / seconds);
    }
}

/// Prints a table of nanoseconds, with each row's ratio to the last one.
pub fn print_ratios(title: &str, subjects: &[BenchSubject<'_>], medians: &[Duration]) {
    println!("\n{title}\n");
    println!("| work | ns | times the last row |");
    println!("|---|---:|---:|");
    let base = medians.last().map_or(0.0, Duration::as_secs_f64).max(1e-12);
    for (subject, time) in subjects.iter().zip(medians) {
        let seconds = time.as_secs_f64();
        println!("| {} | {:.0} | {:.2} |", subject.name, seconds * 1e9, seconds / base);
    }
}

/// Returns how often the work fits into a round, at least once.
fn repeats(subject: &BenchSubject<'_>) -> u32 {
    let start = Instant::now();
    let mut count: u32 = 0;
    while start.elapsed() < ROUND_WINDOW {
        black_box((subject.work)());
        count += 1;
    }
    count
}

/// Returns the middle one of the times, which are sorted for that.
#[must_use]
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns the CPU time of this thread, or wall time if the system does not report it.
#[must_use]
pub fn cpu_time_now() -> Duration {
    thread_cpu_time().unwrap_or_else(|| {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    })
}

/// Returns the CPU time of all threads of this process, also of those that have ended. The system counts it in ticks of
/// ten milliseconds.
#[must_use]
pub fn process_now() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// The first field of `schedstat` is the nanoseconds this thread has run.
fn thread_cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
