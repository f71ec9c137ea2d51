//! Runs targets under libFuzzer, which `fuzz/guided` is linked with, and tells what came of it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::corpus::{known_inputs, read_input_files, write_corpus, write_input_files};
use crate::dictionary::{dictionary_words, write_dictionary};
use crate::driver::{MAX_FAILURES, SLOW_INPUT, artifact_folder};
use crate::targets::FuzzTarget;

/// The most bytes of an input.
const MAX_GUIDED_INPUT_BYTES: usize = 16 << 10;

/// The seconds after which libFuzzer gives up waiting; the targets themselves notice sooner that an input took long.
const HANG_TIMEOUT_SECONDS: u32 = 60;

/// The memory after which an input counts as a failure.
const MAX_INPUT_MEGABYTES: u32 = 512;

/// The memory of a process under the address sanitizer, which needs a multiple and keeps freed memory for a while.
const MAX_SANITIZED_MEGABYTES: u32 = 2048;

/// What the targets of one run have in common.
pub struct GuidedSettings {
    /// The program of `fuzz/guided`.
    pub program: PathBuf,
    /// Where corpora, dictionaries and logs are kept between runs.
    pub work: PathBuf,
    /// The time for each target.
    pub time: Duration,
    /// A folder with more inputs, if there are any.
    pub extra: Option<PathBuf>,
}

/// What came of one target.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct GuidedStatistics {
    /// The inputs that were tried.
    pub runs: u64,
    /// The edges of the control flow that some input reached.
    pub edges: u64,
    /// The inputs that were kept because they reached something new.
    pub corpus: u64,
    /// The longest that an input took, in seconds.
    pub slowest_seconds: u64,
    /// The most memory that was used, in megabytes.
    pub peak_megabytes: u64,
    /// The inputs that failed, by the word of libFuzzer: `crash`, `timeout`, `oom` or `leak`.
    pub finds: Vec<(String, PathBuf)>,
}

impl GuidedStatistics {
    fn count(&self, kind: &str) -> usize {
        self.finds.iter().filter(|(found, _)| found == kind).count()
    }

    /// Adds what libFuzzer wrote about one of its runs.
    fn add_log(&mut self, log: &str) {
        for line in log.lines() {
            if let Some((name, value)) = line.strip_prefix("stat::").and_then(|line| line.split_once(':')) {
                self.add_final(name, value.trim().parse().unwrap_or(0));
            } else if line.starts_with('#') {
                let words: Vec<&str> = line.split_whitespace().collect();
                let after = |name: &str| {
                    let place = words.iter().position(|word| *word == name)?;
                    words.get(place + 1)?.split('/').next()?.parse::<u64>().ok()
                };
                self.edges = self.edges.max(after("cov:").unwrap_or(0));
                self.corpus = after("corp:").unwrap_or(self.corpus);
            }
        }
    }

    fn add_final(&mut self, name: &str, value: u64) {
        match name {
            "number_of_executed_units" => self.runs += value,
            "slowest_unit_time_sec" => self.slowest_seconds = self.slowest_seconds.max(value),
            "peak_rss_mb" => self.peak_megabytes = self.peak_megabytes.max(value),
            _ => {}
        }
    }
}

/// Returns the head of the table of which [`statistics_row`] is a row.
#[must_use]
pub fn statistics_head() -> String {
    format!(
        "{:<20} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "target", "runs", "edges", "corpus", "crashes", "timeouts", "memory", "slowest s", "peak MB"
    )
}

/// Returns the statistics of a target as a row.
#[must_use]
pub fn statistics_row(name: &str, found: &GuidedStatistics) -> String {
    let crashes = found.count("crash") + found.count("leak");
    format!(
        "{name:<20} {:>12} {:>8} {:>8} {crashes:>8} {:>8} {:>8} {:>9} {:>8}",
        found.runs,
        found.edges,
        found.corpus,
        found.count("timeout"),
        found.count("oom"),
        found.slowest_seconds,
        found.peak_megabytes
    )
}

/// Fuzzes a target for the time of the settings, also past inputs that fail.
///
/// # Errors
///
/// When its files cannot be written or the program cannot be run.
pub fn fuzz_guided(target: &FuzzTarget, settings: &GuidedSettings) -> Result<GuidedStatistics, String> {
    let folders = prepare_folders(target, settings)?;
    let mut statistics = GuidedStatistics::default();
    take_extra(target, settings, &folders, &mut statistics)?;
    let start = Instant::now();
    loop {
        let left = settings.time.saturating_sub(start.elapsed()).as_secs();
        if left == 0 || statistics.finds.len() >= MAX_FAILURES as usize {
            return Ok(statistics);
        }
        let mut command = libfuzzer(target, settings);
        command.args(&folders).arg(format!("-max_total_time={left}")).arg("-print_final_stats=1");
        // libFuzzer takes an empty dictionary for a mistake.
        if !dictionary_words(target).is_empty() {
            command.arg(format!("-dict={}", dictionary_file(target, settings).display()));
        }
        let (status, log) = run_logged(&mut command, &settings.work.join(format!("{}.log", target.name)))?;
        statistics.add_log(&log);
        if status.success() {
            return Ok(statistics);
        }
        let Some(artifact) = artifacts_of(&log).pop() else {
            return Err(format!("`{}` ended with {status}:\n{}", target.name, last_lines(&log)));
        };
        report_find(target, &artifact, &log, &mut statistics);
    }
}

/// Writes the smallest inputs that reach what all known inputs and `inputs` reach as the corpus of the repository, and
/// returns their number.
///
/// # Errors
///
/// When files cannot be written or the program cannot be run.
pub fn minimise_corpus(
    target: &FuzzTarget,
    settings: &GuidedSettings,
    inputs: &[Vec<u8>],
) -> Result<usize, String> {
    let folders = prepare_folders(target, settings)?;
    let (given, kept) = (target_folder(target, settings, "given"), target_folder(target, settings, "kept"));
    for folder in [&given, &kept] {
        drop(std::fs::remove_dir_all(folder));
    }
    write_input_files(&given, inputs)?;
    write_input_files(&kept, &[])?;
    let mut command = libfuzzer(target, settings);
    command.arg("-set_cover_merge=1").arg(&kept).args(&folders).arg(&given);
    let (status, log) = run_logged(&mut command, &settings.work.join(format!("{}.merge.log", target.name)))?;
    if !status.success() {
        return Err(format!("`{}` ended with {status}:\n{}", target.name, last_lines(&log)));
    }
    write_corpus(target, read_input_files(&kept)?)
}

/// Writes the dictionary and the known inputs of a target to `folder`, by the names that OSS-Fuzz knows.
///
/// # Errors
///
/// When a file cannot be written.
pub fn export_target(target: &FuzzTarget, folder: &Path) -> Result<(), String> {
    write_input_files(&folder.join(format!("{}_seed_corpus", target.name)), &known_inputs(target)?)?;
    let path = folder.join(format!("{}.dict", target.name));
    write_text(&path, &write_dictionary(&dictionary_words(target)))?;
    let options = format!(
        "[libfuzzer]\nmax_len = {MAX_GUIDED_INPUT_BYTES}\ntimeout = {HANG_TIMEOUT_SECONDS}\nmalloc_limit_mb = {MAX_INPUT_MEGABYTES}\nrss_limit_mb = {MAX_SANITIZED_MEGABYTES}\n"
    );
    write_text(&folder.join(format!("{}.options", target.name)), &options)
}

/// Returns the folders of inputs; libFuzzer writes what it keeps to the first.
fn prepare_folders(target: &FuzzTarget, settings: &GuidedSettings) -> Result<[PathBuf; 2], String> {
    // What grows from inputs of others is kept apart: it must not become part of the repository.
    let kind = if settings.extra.is_some() { "corpus-extra" } else { "corpus" };
    let (grown, seeds) = (target_folder(target, settings, kind), target_folder(target, settings, "seeds"));
    write_input_files(&grown, &[])?;
    write_input_files(&seeds, &known_inputs(target)?)?;
    write_input_files(&artifact_folder(), &[])?;
    write_text(&dictionary_file(target, settings), &write_dictionary(&dictionary_words(target)))?;
    Ok([grown, seeds])
}

/// Takes those of the further inputs that reach new code, when a target gets them for the first time. They are ten
/// thousands, and libFuzzer tries all inputs that it is given before it makes any, in each run.
fn take_extra(
    target: &FuzzTarget,
    settings: &GuidedSettings,
    folders: &[PathBuf; 2],
    statistics: &mut GuidedStatistics,
) -> Result<(), String> {
    let [grown, _] = folders;
    let Some(extra) = settings.extra.as_ref().filter(|_| is_empty_folder(grown)) else { return Ok(()) };
    let mut command = libfuzzer(target, settings);
    command.arg("-merge=1").args(folders).arg(extra);
    let (status, log) = run_logged(&mut command, &settings.work.join(format!("{}.extra.log", target.name)))?;
    for artifact in artifacts_of(&log) {
        report_find(target, &artifact, &log, statistics);
    }
    if status.success() {
        return Ok(());
    }
    Err(format!("`{}` ended with {status}:\n{}", target.name, last_lines(&log)))
}

fn is_empty_folder(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn target_folder(target: &FuzzTarget, settings: &GuidedSettings, kind: &str) -> PathBuf {
    settings.work.join(kind).join(target.name)
}

fn dictionary_file(target: &FuzzTarget, settings: &GuidedSettings) -> PathBuf {
    settings.work.join(format!("{}.dict", target.name))
}

/// Returns the command that all runs of a target begin with.
fn libfuzzer(target: &FuzzTarget, settings: &GuidedSettings) -> Command {
    let mut command = Command::new(&settings.program);
    command.env("KUBEWRIGHT_FUZZ_TARGET", target.name);
    // Freed memory that the address sanitizer keeps would count as that of an input.
    command.env("ASAN_OPTIONS", "quarantine_size_mb=64");
    command.arg(format!("-timeout={HANG_TIMEOUT_SECONDS}"));
    command.arg(format!("-rss_limit_mb={MAX_INPUT_MEGABYTES}"));
    command.arg(format!("-malloc_limit_mb={MAX_INPUT_MEGABYTES}"));
    command.arg(format!("-max_len={MAX_GUIDED_INPUT_BYTES}"));
    command.arg(format!("-artifact_prefix={}/{}-", artifact_folder().display(), target.name));
    command
}

fn run_logged(command: &mut Command, log: &Path) -> Result<(ExitStatus, String), String> {
    let failed = |error: std::io::Error| format!("cannot run `{}`: {error}", command.get_program().display());
    let file = std::fs::File::create(log).map_err(failed)?;
    let output = file.try_clone().map_err(failed)?;
    let program = command.get_program().to_owned();
    let status = command.stdin(Stdio::null()).stdout(output).stderr(file).status();
    let status = status.map_err(|error| format!("cannot run `{}`: {error}", program.display()))?;
    let text = std::fs::read(log).map_err(|error| format!("cannot read `{}`: {error}", log.display()))?;
    Ok((status, String::from_utf8_lossy(&text).into_owned()))
}

/// Counts a failed input and says how to repeat it.
fn report_find(target: &FuzzTarget, artifact: &Path, log: &str, statistics: &mut GuidedStatistics) {
    let kind = find_kind(target, artifact, log);
    let file = artifact.display();
    println!("{}: {kind}\n{}\n{}: written to {file}", target.name, last_lines(log), target.name);
    println!("repeat with: cargo run -p kubewright-fuzz -- {} --input {file}", target.name);
    statistics.finds.push((kind, artifact.to_owned()));
}

/// Returns what the name of a file says: libFuzzer writes `TARGET-crash-…`, `TARGET-oom-…` and so on.
fn find_kind(target: &FuzzTarget, artifact: &Path, log: &str) -> String {
    if log.contains(SLOW_INPUT) {
        return "timeout".to_owned();
    }
    let name = artifact.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let rest = name.strip_prefix(&format!("{}-", target.name)).unwrap_or(&name);
    rest.split('-').next().unwrap_or_default().to_owned()
}

/// Returns the failed inputs that a log names, in its order.
fn artifacts_of(log: &str) -> Vec<PathBuf> {
    let lines = log.lines().filter_map(|line| line.split_once("Test unit written to "));
    lines.map(|(_, path)| PathBuf::from(path.trim())).collect()
}

/// Returns the lines of a log that say what is wrong: the panic, or else the last ones.
fn last_lines(log: &str) -> String {
    const SHOWN_LINES: usize = 6;
    let lines: Vec<&str> = log.lines().collect();
    let start = lines.iter().position(|line| line.contains("panicked at"));
    let start = start.unwrap_or(lines.len().saturating_sub(SHOWN_LINES));
    lines.iter().skip(start).take(SHOWN_LINES).copied().collect::<Vec<_>>().join("\n")
}

fn write_text(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{GuidedStatistics, artifacts_of, last_lines};

    const LOG: &str = "INFO: Seed: 1\n#2\tINITED cov: 50 ft: 51 corp: 1/1b exec/s: 0 rss: 40Mb\n\
        #900\tNEW    cov: 70 ft: 90 corp: 12/340b lim: 4 exec/s: 100 rss: 41Mb\n\
        thread '<unnamed>' panicked at a.rs:1:2:\nattempt to add with overflow\n\
        artifact_prefix='a/t-'; Test unit written to a/t-crash-12\nstat::number_of_executed_units: 950\n\
        stat::slowest_unit_time_sec:    2\nstat::peak_rss_mb:              41\n";

    #[test]
    fn statistics_of_two_runs_are_added() {
        let mut found = GuidedStatistics::default();
        found.add_log(LOG);
        found.add_log(LOG);
        let expected = GuidedStatistics {
            runs: 1900,
            edges: 70,
            corpus: 12,
            slowest_seconds: 2,
            peak_megabytes: 41,
            finds: Vec::new(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_find_is_told_with_its_file_and_its_panic() {
        assert_eq!(artifacts_of(LOG), [Path::new("a/t-crash-12")]);
        assert!(last_lines(LOG).starts_with("thread '<unnamed>' panicked at a.rs:1:2:\nattempt to add"));
    }
}
