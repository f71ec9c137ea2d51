//! `kubewright test` of a library of policies beside reading the files that its tests name, and whether it keeps its limit.
//!
//! Both are processes of their own with the allocator of the binary. What is read is each test file and each file that one
//! of its texts names, once, as YAML with positions. The ratio is that of instructions under valgrind, and that of CPU time
//! where valgrind is not installed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use kubewright_bench::instructions::process_instructions;
use kubewright_bench::process::mean_cpu_time;
use kubewright_load::BenchLimits;
use kubewright_value::{Source, Value, yaml};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many times the cost of reading the test may cost.
const MAX_TIMES_READING: f64 = 2.5;

/// The names of test files.
const TEST_FILES: [&str; 2] = ["kyverno-test.yaml", "kubewright-test.yaml"];

/// Measures `kubewright test` of a library of policies.
#[derive(Parser)]
struct LibraryArguments {
    /// The folder of the library
    library: PathBuf,
    /// The binary; the one beside this program if not given
    #[arg(long)]
    binary: Option<PathBuf>,
    /// How often each is run for its CPU time
    #[arg(long, default_value_t = 20)]
    rounds: u32,
}

/// The cost of one process.
struct LibraryCost {
    name: &'static str,
    time: Duration,
    instructions: Option<u64>,
}

fn main() -> ExitCode {
    // `--read FILE…` is what the test is compared with.
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [flag, files @ ..] = words.as_slice()
        && flag == "--read"
    {
        return read_all(files);
    }
    match run(&LibraryArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-library: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether the test keeps its limit.
fn run(arguments: &LibraryArguments) -> Result<bool, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = arguments.binary.clone().unwrap_or_else(|| this.with_file_name("kubewright"));
    let mut tests = Vec::new();
    find_tests(&arguments.library, &mut tests)?;
    let files = named_files(&tests)?;
    if tests.is_empty() {
        return Err(format!("no tests in `{}`", arguments.library.display()));
    }
    let bytes: u64 = files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    println!("{} tests, {} files, {} KB\n", tests.len(), files.len(), bytes / 1024);
    let read: Vec<OsString> = std::iter::once("--read".into())
        .chain(files.iter().map(|file| file.as_os_str().to_owned()))
        .collect();
    let test: Vec<OsString> = vec!["test".into(), "--quiet".into(), arguments.library.clone().into()];
    let reading = LibraryCost::of("reading", &this, &read, arguments.rounds)?;
    let testing = LibraryCost::of("`kubewright test`", &binary, &test, arguments.rounds)?;
    println!("| work | CPU ms | million instructions |\n|---|---:|---:|");
    [&testing, &reading].iter().for_each(|cost| cost.print());
    let by_time = testing.time.as_secs_f64() / reading.time.as_secs_f64().max(1e-9);
    let by_instructions = testing.instructions.zip(reading.instructions);
    let by_instructions = by_instructions.map(|(test, read)| test as f64 / read.max(1) as f64);
    println!("\nby CPU time {by_time:.1} × reading");
    let (ratio, unit) = match by_instructions {
        Some(ratio) => (ratio, "instructions"),
        None => (by_time, "CPU time"),
    };
    let mut limits = BenchLimits::default();
    limits.add(
        &format!("`test` of {} files, {unit}", tests.len()),
        &format!("<= {MAX_TIMES_READING} × reading"),
        format!("{ratio:.1} ×"),
        ratio <= MAX_TIMES_READING,
    );
    Ok(limits.print())
}

impl LibraryCost {
    fn of(name: &'static str, binary: &Path, words: &[OsString], rounds: u32) -> Result<Self, String> {
        // Some tests of a public library may fail on purpose.
        let time = mean_cpu_time(binary, words, rounds, &[0, 1, 2])?;
        Ok(Self { name, time, instructions: process_instructions(binary, words, &[0, 1, 2]) })
    }

    fn print(&self) {
        let counted =
            self.instructions.map_or_else(|| "-".to_owned(), |count| format!("{:.1}", count as f64 / 1e6));
        println!("| {} | {:.1} | {counted} |", self.name, self.time.as_secs_f64() * 1e3);
    }
}

/// Reads `files` one after the other.
fn read_all(files: &[OsString]) -> ExitCode {
    for file in files {
        let Ok(text) = std::fs::read_to_string(file) else {
            eprintln!("bench-library: cannot read `{}`", file.display());
            return ExitCode::from(2);
        };
        let name = file.to_string_lossy();
        std::hint::black_box(yaml::read(&Source::new(&*name, &text)));
    }
    ExitCode::SUCCESS
}

/// Adds the test files in `folder` and below.
fn find_tests(folder: &Path, tests: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            find_tests(&path, tests)?;
        } else if TEST_FILES.contains(&name) {
            tests.push(path);
        }
    }
    Ok(())
}

/// Returns the test files and all files that their texts name, each once.
fn named_files(tests: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let (mut seen, mut files) = (BTreeSet::new(), Vec::new());
    for test in tests {
        let text = std::fs::read_to_string(test).map_err(|error| format!("{}: {error}", test.display()))?;
        let folder = test.parent().unwrap_or(Path::new("."));
        let mut names = vec![test.clone()];
        for document in yaml::read(&Source::new("test.yaml", &text)).documents {
            each_text(&document.value, &mut |name| names.push(folder.join(name)));
        }
        for name in names.into_iter().filter(|name| name.is_file()) {
            let real = name.canonicalize().map_err(|error| format!("{}: {error}", name.display()))?;
            if seen.insert(real) {
                files.push(name);
            }
        }
    }
    Ok(files)
}

fn each_text(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, take)),
        Value::Object(map) => map.values().for_each(|item| each_text(item, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
