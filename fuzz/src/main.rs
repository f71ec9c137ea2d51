//! Fuzzes the readers and languages with mutated texts, and checks their invariants.
//!
//! ```text
//! cargo run --release -p kubewright-fuzz -- [TARGET…] [--seconds N] [--seed S]
//! cargo run --release -p kubewright-fuzz -- TARGET --input FILE
//! ```
//!
//! The same seed tries the same inputs. An input that fails is printed, written to `fuzz/artifacts/`, and
//! makes the exit code 1. To add a target, write one file in `targets/` and one line in `targets.rs`.

mod driver;
mod mutate;
mod random;
mod targets;

use std::process::ExitCode;
use std::time::Duration;

use targets::{FuzzTarget, TARGETS};

fn main() -> ExitCode {
    match FuzzArguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => run_targets(&arguments),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run_targets(arguments: &FuzzArguments) -> ExitCode {
    let mut failures = 0;
    for target in &arguments.targets {
        failures += match &arguments.input {
            Some(input) => u32::from(!driver::try_one(target, input)),
            None => driver::run_target(target, arguments.time, arguments.seed),
        };
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct FuzzArguments {
    targets: Vec<&'static FuzzTarget>,
    time: Duration,
    seed: u64,
    input: Option<Vec<u8>>,
}

impl FuzzArguments {
    fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let mut parsed = Self { targets: Vec::new(), time: Duration::from_secs(10), seed: 1, input: None };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seconds" => parsed.time = Duration::from_secs(parse_number_option(&word, words.next())?),
                "--seed" => parsed.seed = parse_number_option(&word, words.next())?,
                "--input" => {
                    let path = words.next().ok_or("`--input` needs a file")?;
                    parsed.input =
                        Some(std::fs::read(&path).map_err(|e| format!("cannot read `{path}`: {e}"))?);
                }
                name => parsed.targets.push(find_target(name)?),
            }
        }
        if parsed.targets.is_empty() {
            parsed.targets = TARGETS.iter().collect();
        }
        Ok(parsed)
    }
}

fn parse_number_option(option: &str, word: Option<String>) -> Result<u64, String> {
    let word = word.ok_or(format!("`{option}` needs a number"))?;
    word.parse().map_err(|_| format!("`{option}` needs a number, not `{word}`"))
}

fn find_target(name: &str) -> Result<&'static FuzzTarget, String> {
    let names = || TARGETS.iter().map(|target| format!("`{}`", target.name)).collect::<Vec<_>>().join(", ");
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .ok_or_else(|| format!("unknown target `{name}`; there are {}", names()))
}
