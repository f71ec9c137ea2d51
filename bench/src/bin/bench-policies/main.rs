//! The memory that compiled policies take, and whether it keeps its limits.
//!
//! Each number of policies is compiled by a process of its own, with the allocator of the binary; what the process holds
//! before it reads them is not counted as theirs, but is within the limit.

use std::process::{Command, ExitCode};

use kubewright_dialects::{DialectOptions, all_dialects, compile_within_budget};
use kubewright_engine::Engine;
use kubewright_golib::compile_budget::CompileBudget;
use kubewright_load::{BenchLimits, generated_policies};
use kubewright_value::{Source, yaml};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many policies are compiled, and how many MB the process may then have.
const LIMITS: [(usize, f64); 2] = [(1_000, 45.0), (10_000, 200.0)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, count] = words.as_slice()
        && flag == "--compile"
    {
        return compile_policies(count.parse().unwrap_or(0));
    }
    match measure_policies() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-policies: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all limits were kept.
fn measure_policies() -> Result<bool, String> {
    let mut limits = BenchLimits::default();
    println!("| policies | rules | MB before | MB after | KB a policy |\n|---:|---:|---:|---:|---:|");
    for (count, most) in LIMITS {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let output = Command::new(program)
            .args(["--compile", &count.to_string()])
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [rules, before, after] = numbers.as_slice() else {
            return Err(format!("no figures: {text}{}", String::from_utf8_lossy(&output.stderr)));
        };
        let each = (after - before) * 1024.0 / count as f64;
        println!("| {count} | {rules} | {before:.1} | {after:.1} | {each:.1} |");
        limits.add(
            &format!("{count} policies, memory after compiling"),
            &format!("< {most} MB"),
            format!("{after:.1} MB"),
            *after < most,
        );
    }
    Ok(limits.print())
}

/// Compiles policies one after another as the webhook does, and prints the number of rules and the memory before and
/// after, in MB.
fn compile_policies(count: usize) -> ExitCode {
    let texts = generated_policies(count);
    let before = resident_megabytes();
    let dialects = all_dialects(&DialectOptions::default());
    let mut budget = CompileBudget::default();
    let mut rules = Vec::new();
    for text in texts.split("---\n").filter(|text| !text.is_empty()) {
        for document in yaml::read(&Source::new("policy.yaml", text)).documents {
            let dialect = dialects.iter().find(|dialect| dialect.claims(&document));
            let compiled =
                dialect.map(|dialect| compile_within_budget(&**dialect, &document, &[], &mut budget));
            rules.extend(compiled.map(|compiled| compiled.rules).unwrap_or_default());
        }
    }
    let engine = Engine::new(rules);
    println!("{} {before:.1} {:.1}", engine.rules().len(), resident_megabytes());
    if engine.rules().len() < count { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Returns the memory that this process has.
fn resident_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace()
        .next()
        .and_then(|number| number.parse().ok())
        .map_or(0.0, |kilobytes: f64| kilobytes / 1024.0)
}
