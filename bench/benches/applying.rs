//! `kubewright apply` on 20,000 Deployments in one file, as a ratio to reading that file alone.
//!
//! `cargo bench -p kubewright-bench --bench applying` builds the binary and prints a Markdown table of CPU time over all
//! cores and of the most memory that was held.

use std::path::Path;

use kubewright_bench::clock::{BenchSubject, medians};
use kubewright_bench::process::{build_dist_binary, measure_process};
use kubewright_bench::{rules, texts};
use kubewright_value::yaml;

const OBJECT_COUNT: usize = 20_000;
const ROUNDS: usize = 5;

fn main() {
    let folder = std::env::temp_dir().join(format!("kubewright-bench-{}", std::process::id()));
    if let Err(error) = run_apply_benchmark(&folder) {
        println!("not measured: {error}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn run_apply_benchmark(folder: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let binary = build_dist_binary()?;
    std::fs::create_dir_all(folder).map_err(told)?;
    let objects = folder.join("objects.yaml");
    let text = texts::deployments(OBJECT_COUNT);
    std::fs::write(&objects, &text).map_err(told)?;

    let reading = BenchSubject::new("reading the file alone", || read_stream(&objects));
    let base = medians(&[reading], ROUNDS).first().copied().unwrap_or_default();
    println!("\n{OBJECT_COUNT} Deployments, {} MB, 50 rules of which 5 match\n", text.len() / 1_000_000);
    println!("| work | CPU ms | times reading | memory MB |\n|---|---:|---:|---:|");
    println!("| reading the file alone | {:.0} | 1.00 | |", base.as_secs_f64() * 1e3);
    let sets = [
        ("apply, 5 rules set a label, 45 are about something else", rules::label_rules_text(5, 45)),
        (
            "apply, 5 rules set an annotation by template and ports by select, 45 are about something else",
            rules::bench_rules_text(5, 45),
        ),
        ("apply, the same 5, and 45 look at every Deployment and do not match", rules::unmet_text(5, 45)),
    ];
    for (name, rules) in sets {
        let file = folder.join("rules.yaml");
        std::fs::write(&file, rules).map_err(told)?;
        let (rules, objects) = (file.to_string_lossy(), objects.to_string_lossy());
        let cost = measure_process(&binary, &["apply", "-q", &rules, "-r", &objects], ROUNDS, &[0])?;
        let ratio = cost.time.as_secs_f64() / base.as_secs_f64().max(1e-9);
        println!("| {name} | {:.0} | {ratio:.2} | {} |", cost.time.as_secs_f64() * 1e3, cost.memory);
    }
    Ok(())
}

/// Reads every document and drops it again.
fn read_stream(file: &Path) -> usize {
    let source = std::fs::read(file).ok().and_then(|bytes| yaml::decode("objects.yaml", bytes).ok());
    source.map_or(0, |source| {
        yaml::split(&source.text).iter().map(|chunk| yaml::read_chunk(&source, chunk).documents.len()).sum()
    })
}
