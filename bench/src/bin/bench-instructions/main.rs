//! Counts the instructions of the hot paths, and ends with 1 where one takes more than the committed floor.
//!
//! The counts are those of valgrind, so they do not depend on what else the machine does, and a slip of some percent is
//! seen. They depend on the compiler: the floor says which one it was counted with, and another one is given more room.

mod floor;
mod ratios;
mod workloads;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Parser;
use kubewright_bench::instructions::instructions_of_round;

use floor::InstructionFloor;
use ratios::are_ratios_kept;
use workloads::{Workload, all_workloads};

/// Counts the instructions of the hot paths and compares them with a committed floor.
#[derive(Debug, Parser)]
struct InstructionArguments {
    /// The file with the counts that must not be exceeded
    #[arg(long)]
    floor: PathBuf,
    /// Writes the counts to that file instead of comparing
    #[arg(long)]
    update: bool,
}

fn main() -> ExitCode {
    // `--run WORKLOAD ROUNDS` is what valgrind counts.
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, name, rounds] = words.as_slice()
        && flag == "--run"
    {
        return run_workload(name, rounds.parse().unwrap_or(0));
    }
    match count_workloads(&InstructionArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-instructions: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_workload(name: &str, rounds: usize) -> ExitCode {
    let Some(workload) = all_workloads().iter().find(|workload| workload.name == name) else {
        eprintln!("bench-instructions: no workload `{name}`");
        return ExitCode::from(2);
    };
    match (workload.prepare)() {
        Ok(work) => {
            for _ in 0..rounds {
                std::hint::black_box(work());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench-instructions: {name}: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether no workload takes more than the floor, or more than its multiple of another one.
fn count_workloads(arguments: &InstructionArguments) -> Result<bool, String> {
    let counts = all_workloads().iter().map(count_workload).collect::<Result<Vec<_>, _>>()?;
    let compiler = compiler_version();
    if arguments.update {
        let counted = InstructionFloor { compiler, instructions: counts };
        return std::fs::write(&arguments.floor, counted.to_text())
            .map(|()| true)
            .map_err(|error| format!("{}: {error}", arguments.floor.display()));
    }
    let text = std::fs::read_to_string(&arguments.floor)
        .map_err(|error| format!("{}: {error}", arguments.floor.display()))?;
    let floor =
        InstructionFloor::parse(&text).map_err(|error| format!("{}: {error}", arguments.floor.display()))?;
    let is_floor_kept = floor.compare(&compiler, &counts);
    Ok(are_ratios_kept(&counts) && is_floor_kept)
}

fn count_workload(workload: &Workload) -> Result<(String, u64), String> {
    let count = instructions_of_round(workload.name, workload.rounds)
        .ok_or_else(|| format!("`{}` could not be counted", workload.name))?;
    Ok((workload.name.to_owned(), count))
}

/// Returns the line of `rustc --version`.
fn compiler_version() -> String {
    let output =
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
