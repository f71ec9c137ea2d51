//! Instructions instead of seconds, where valgrind is installed: the same number whatever else the machine does.
//!
//! A benchmark that is called with `--instructions` runs itself under valgrind, once for each subject without rounds and
//! once with `ROUNDS`, and prints the difference for one round.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::clock::BenchSubject;

/// The number of counted rounds.
const ROUNDS: usize = 200;

/// The mode of a benchmark.
pub enum BenchMode {
    /// Measure time.
    Time,
    /// Count instructions.
    Instructions,
    /// Run one subject so many times, and nothing else; this is what is counted.
    Run(usize, usize),
}

impl BenchMode {
    /// Returns the mode in the command line.
    #[must_use]
    pub fn of_arguments() -> Self {
        let words: Vec<String> = std::env::args().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
        match words.iter().position(|word| word == "--run") {
            Some(at) => Self::Run(number(at + 1), number(at + 2)),
            None if words.iter().any(|word| word == "--instructions") => Self::Instructions,
            None => Self::Time,
        }
    }
}

/// Runs the subject of [`BenchMode::Run`].
pub fn run_subject(subjects: &[BenchSubject<'_>], subject: usize, rounds: usize) {
    if let Some(subject) = subjects.get(subject) {
        for _ in 0..rounds {
            std::hint::black_box((subject.work)());
        }
    }
}

/// Prints a table of instructions for one round of each subject, with its ratio to the last one.
pub fn print_instructions(title: &str, subjects: &[BenchSubject<'_>]) {
    let count = |subject: usize| instructions_of_round(&subject.to_string(), ROUNDS);
    let counts: Option<Vec<u64>> = (0..subjects.len()).map(count).collect();
    let Some(counts) = counts else {
        println!("\nno instructions counted: valgrind is not installed");
        return;
    };
    println!("\n{title}, instructions\n\n| work | instructions | times the last row |\n|---|---:|---:|");
    let base = counts.last().copied().unwrap_or(1).max(1);
    for (subject, count) in subjects.iter().zip(&counts) {
        println!("| {} | {count} | {:.2} |", subject.name, *count as f64 / base as f64);
    }
}

/// Returns the instructions of one round of `subject`: this program with `--run SUBJECT ROUNDS` less the same without
/// rounds. Nothing where valgrind is not installed.
#[must_use]
pub fn instructions_of_round(subject: &str, rounds: usize) -> Option<u64> {
    let with = collected(subject, rounds)?;
    let without = collected(subject, 0)?;
    Some(with.saturating_sub(without) / (rounds as u64).max(1))
}

fn collected(subject: &str, rounds: usize) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    process_instructions(&program, &["--run", subject, &rounds.to_string()], &[0])
}

/// Returns the instructions of a whole run of `program`, which may end with one of `codes`. Nothing where it ends otherwise, or
/// valgrind is not installed.
#[must_use]
pub fn process_instructions(program: &Path, words: &[impl AsRef<OsStr>], codes: &[i32]) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(words)
        .output()
        .ok()
        .filter(|output| output.status.code().is_some_and(|code| codes.contains(&code)))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}
