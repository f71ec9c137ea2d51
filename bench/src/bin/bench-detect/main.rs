//! `kubewright detect` on 100,000 and on 1,000,000 objects: how its CPU time grows, how much memory it takes for an object,
//! and whether it keeps its limits.
//!
//! The objects are documents in the files of a folder. The memory is that of the whole process at its peak, divided by the
//! number of objects: what a user sees, with the program, the texts that are being read and the findings. Beside it stands
//! how much of it the graph takes.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use kubewright_bench::cluster::each_cluster_object;
use kubewright_bench::patterns::repeat_patterns;
use kubewright_bench::process::{ProcessCost, measure_process};
use kubewright_graph::References;
use kubewright_load::BenchLimits;
use kubewright_patterns::shipped::shipped_patterns;
use kubewright_patterns::{ObjectTrimmer, SharedObjects};
use kubewright_value::json;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The log-log slope of CPU time against objects.
const MAX_SLOPE: f64 = 1.05;
/// The peak memory of the process for each object.
const MAX_BYTES_PER_OBJECT: f64 = 1_500.0;
/// How many patterns the graph is for where it is measured alone.
const PATTERN_COUNT: usize = 60;
/// How many objects a file has.
const OBJECTS_PER_FILE: usize = 20_000;

/// Measures `kubewright detect` on many objects.
#[derive(Parser)]
struct DetectBenchArguments {
    /// The binary; the one beside this program if not given
    #[arg(long)]
    binary: Option<PathBuf>,
    /// The two numbers of objects
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 1_000_000])]
    objects: Vec<usize>,
    /// How often the smaller number is measured; the larger one is measured once
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

fn main() -> ExitCode {
    // `--graph COUNT` prints the memory of a graph.
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, count] = words.as_slice()
        && flag == "--graph"
    {
        return print_graph_memory(count.parse().unwrap_or(0));
    }
    match run(&DetectBenchArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-detect: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all limits were kept.
fn run(arguments: &DetectBenchArguments) -> Result<bool, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = arguments.binary.clone().unwrap_or_else(|| this.with_file_name("kubewright"));
    let folder = std::env::temp_dir().join(format!("kubewright-bench-detect-{}", std::process::id()));
    let measured = measure_sizes(arguments, &binary, &folder);
    // What is left behind is in the folder for temporary files.
    let _ = fs::remove_dir_all(&folder);
    let measured = measured?;
    let mut limits = BenchLimits::default();
    if let [(few, small), .., (many, large)] = measured.as_slice() {
        let slope = (large.time.as_secs_f64() / small.time.as_secs_f64().max(1e-9)).ln()
            / (*many as f64 / (*few).max(1) as f64).ln();
        limits.add(
            &format!("log-log slope of CPU time from {few} to {many} objects"),
            &format!("<= {MAX_SLOPE}"),
            format!("{slope:.3}"),
            slope <= MAX_SLOPE,
        );
    }
    // Of fewer objects, what does not depend on their number is a large part.
    if let Some((count, cost)) = measured.last() {
        let bytes = bytes_per_object(*count, *cost);
        limits.add(
            &format!("peak memory for each of {count} objects"),
            &format!("<= {MAX_BYTES_PER_OBJECT} bytes"),
            format!("{bytes:.0} bytes"),
            bytes <= MAX_BYTES_PER_OBJECT,
        );
    }
    Ok(limits.print())
}

fn measure_sizes(
    arguments: &DetectBenchArguments,
    binary: &Path,
    folder: &Path,
) -> Result<Vec<(usize, ProcessCost)>, String> {
    let patterns = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/patterns");
    let patterns = patterns.to_string_lossy();
    let mut words: Vec<&str> = vec!["detect", &patterns];
    words.extend(shipped_patterns().iter().map(|shipped| shipped.name));
    words.push("-r");
    println!(
        "| objects | input, bytes an object | CPU | CPU µs an object | peak memory | bytes an object | of the graph and its objects |\n|---:|---:|---:|---:|---:|---:|---:|"
    );
    let mut measured = Vec::new();
    for (place, count) in arguments.objects.iter().enumerate() {
        let objects = folder.join(count.to_string());
        let bytes = write_objects(&objects, *count).map_err(|error| error.to_string())?;
        let path = objects.to_string_lossy();
        let given: Vec<&str> = words.iter().copied().chain([&*path]).collect();
        let rounds = if place + 1 < arguments.objects.len() { arguments.rounds } else { 1 };
        let cost = measure_process(binary, &given, rounds, &[0, 1])?;
        let _ = fs::remove_dir_all(&objects);
        println!(
            "| {count} | {} | {:.2} s | {:.1} | {} MiB | {:.0} | {} |",
            bytes / count.max(&1),
            cost.time.as_secs_f64(),
            cost.time.as_secs_f64() * 1e6 / (*count).max(1) as f64,
            cost.memory,
            bytes_per_object(*count, cost),
            graph_memory(*count)?,
        );
        measured.push((*count, cost));
    }
    Ok(measured)
}

/// Writes the objects of a cluster as documents, and returns how many bytes they have.
fn write_objects(folder: &Path, count: usize) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let (mut written, mut bytes) = (0, 0);
    let mut file: Option<BufWriter<File>> = None;
    let mut failure = None;
    each_cluster_object(count, &mut |text| {
        let mut write = || -> io::Result<()> {
            if written % OBJECTS_PER_FILE == 0 {
                let name = format!("objects-{:04}.yaml", written / OBJECTS_PER_FILE);
                file = Some(BufWriter::new(File::create(folder.join(name))?));
            }
            file.as_mut().map_or(Ok(()), |file| write!(file, "---\n{text}\n"))
        };
        if let Err(error) = write() {
            failure.get_or_insert(error);
        }
        written += 1;
        bytes += text.len() + 5;
    });
    drop(file);
    failure.map_or(Ok(bytes), Err)
}

fn bytes_per_object(count: usize, cost: ProcessCost) -> f64 {
    cost.memory as f64 * f64::from(1 << 20) / count.max(1) as f64
}

/// Returns how many bytes the graph takes for an object, measured in a process of its own.
fn graph_memory(count: usize) -> Result<usize, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program).args(["--graph", &count.to_string()]).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().parse().map_err(|_| format!("no memory of the graph: {text}"))
}

/// Prints by how many bytes an object the memory of this process grows when a graph is built as the command builds it, the
/// trimmed objects included.
fn print_graph_memory(count: usize) -> ExitCode {
    let patterns = match repeat_patterns(PATTERN_COUNT) {
        Ok(patterns) => patterns,
        Err(error) => {
            eprintln!("bench-detect: {error}");
            return ExitCode::from(2);
        }
    };
    let before = resident_bytes();
    let trimmer = ObjectTrimmer::new(&patterns, &References::default());
    let (mut objects, mut shared) = (Vec::with_capacity(count), SharedObjects::default());
    each_cluster_object(count, &mut |text| {
        let object = json::parse(text).unwrap_or_default();
        objects.push(shared.share(trimmer.trimmed(&object)));
    });
    drop(shared);
    let graph = trimmer.graph(objects);
    println!("{}", resident_bytes().saturating_sub(before) / count.max(1));
    drop(graph);
    ExitCode::SUCCESS
}

/// Returns the memory of this process.
fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) * 1024
}
