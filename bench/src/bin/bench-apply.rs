//! The instructions of `kubewright apply` for one object, as a ratio to a run in which no rule can match, and whether many
//! ModRules keep their limit.
//!
//! Runs on few and on many objects are compared, so that what a process does once, such as compiling the rules, does not
//! count. Instructions do not depend on what else the machine does.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use kubewright_bench::instructions::process_instructions;
use kubewright_bench::{rules, texts};
use kubewright_load::BenchLimits;

/// How many objects the two runs have.
const OBJECT_COUNTS: [usize; 2] = [20, 220];

/// What 50 ModRules that all look at the object may take in all, as a multiple of a run in which no rule can match.
const MAX_RATIO: f64 = 3.0;

/// Counts the instructions of `kubewright apply` with many ModRules.
#[derive(Debug, Parser)]
struct ApplyBenchArguments {
    /// The binary; without it, the one beside this program
    #[arg(long)]
    binary: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = ApplyBenchArguments::parse();
    let folder = std::env::temp_dir().join(format!("kubewright-bench-apply-{}", std::process::id()));
    let counted = count_rule_sets(&arguments, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    match counted {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-apply: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether the limit was kept.
fn count_rule_sets(arguments: &ApplyBenchArguments, folder: &Path) -> Result<bool, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = arguments.binary.clone().unwrap_or_else(|| this.with_file_name("kubewright"));
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let sets = [
        ("no rule can match", rules::bench_rules_text(0, 1)),
        ("5 rules set a label, 45 are about something else", rules::label_rules_text(5, 45)),
        ("5 rules render templates and patch through selects", rules::bench_rules_text(5, 0)),
        ("the same 5, and 45 that look at the object and do not match", rules::unmet_text(5, 45)),
    ];
    println!("| `apply` to one Deployment | instructions | times no match |\n|---|---:|---:|");
    let (mut base, mut ratio) = (None, 0.0);
    for (name, rules) in sets {
        let count = instructions_of_object(&binary, folder, &rules)?;
        ratio = count / *base.get_or_insert(count);
        println!("| {name} | {count:.0} | {ratio:.2} |");
    }
    let mut limits = BenchLimits::default();
    limits.add(
        "50 ModRules that look at every object, 5 of which match",
        &format!("<= {MAX_RATIO:.1} x a run without a match"),
        format!("{ratio:.2} x"),
        ratio <= MAX_RATIO,
    );
    Ok(limits.print())
}

/// Returns what `rules` take for each object.
fn instructions_of_object(binary: &Path, folder: &Path, rules: &str) -> Result<f64, String> {
    let (rule_file, object_file) = (folder.join("rules.yaml"), folder.join("objects.yaml"));
    std::fs::write(&rule_file, rules).map_err(|error| error.to_string())?;
    let count = |objects: usize| -> Result<u64, String> {
        std::fs::write(&object_file, texts::deployments(objects)).map_err(|error| error.to_string())?;
        let words = ["apply", "-q", &rule_file.to_string_lossy(), "-r", &object_file.to_string_lossy()];
        process_instructions(binary, &words, &[0])
            .ok_or_else(|| format!("`{}` could not be counted with valgrind", binary.display()))
    };
    let [few, many] = OBJECT_COUNTS;
    let difference = count(many)?.saturating_sub(count(few)?);
    Ok(difference as f64 / (many - few) as f64)
}
