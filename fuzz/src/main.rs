//! Fuzzes the readers and languages with mutated texts, and checks their invariants.
//!
//! ```text
//! cargo run --profile quick -p kubewright-fuzz -- [TARGET…] [--seconds N] [--seed S]
//! cargo run --profile quick -p kubewright-fuzz -- TARGET --input FILE
//! cargo run --profile quick -p kubewright-fuzz -- [TARGET…] --guided PROGRAM [--seconds N] [--extra FOLDER]
//! cargo run --profile quick -p kubewright-fuzz -- [TARGET…] --minimise PROGRAM [--extra FOLDER]
//! cargo run --profile quick -p kubewright-fuzz -- [LANGUAGE…] --differential PROGRAM [--seconds N] [--seed S]
//! ```
//!
//! The same seed tries the same inputs. An input that fails is printed, written to `fuzz/artifacts/`, and makes the exit
//! code 1. PROGRAM is that of `fuzz/guided`, which `make fuzz-guided` builds, or that of `fuzz/reference`, which
//! `make fuzz-differential` builds. To add a target, write one file in `targets/` and one line in `targets.rs`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use kubewright_fuzz::corpus::{inputs_below, repository_folders, write_input_files};
use kubewright_fuzz::differential::{
    COMPARED_LANGUAGES, ComparedLanguage, ComparedStatistics, ReferenceProgram, compare_language,
    find_language,
};
use kubewright_fuzz::driver::{run_target, try_one};
use kubewright_fuzz::guided::{
    GuidedSettings, fuzz_guided, minimise_corpus, statistics_head, statistics_row,
};
use kubewright_fuzz::targets::{FuzzTarget, TARGETS, find_target};

fn main() -> ExitCode {
    let done = FuzzArguments::parse(std::env::args().skip(1)).and_then(|arguments| run(&arguments));
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Does what the arguments ask for, and returns the number of inputs that failed.
fn run(arguments: &FuzzArguments) -> Result<u32, String> {
    let targets = || named(&arguments.names, find_target, TARGETS);
    match &arguments.action {
        FuzzAction::Mutate => {
            targets()?.iter().map(|target| run_target(target, arguments.time, arguments.seed)).sum()
        }
        FuzzAction::Repeat(input) => {
            Ok(targets()?.iter().map(|target| u32::from(!try_one(target, input))).sum())
        }
        FuzzAction::Guide(program) => guide(arguments, &targets()?, program),
        FuzzAction::Minimise(program) => minimise(arguments, &targets()?, program),
        FuzzAction::Compare(program) => compare(arguments, program),
    }
}

fn guide(arguments: &FuzzArguments, targets: &[&FuzzTarget], program: &Path) -> Result<u32, String> {
    let mut settings = arguments.guided_settings(program);
    if let Some(folder) = &arguments.extra {
        let texts = settings.work.join("extra");
        write_input_files(&texts, &inputs_below(std::slice::from_ref(folder)))?;
        settings.extra = Some(texts);
    }
    println!("{}", statistics_head());
    let mut failures = 0;
    for target in targets {
        let found = fuzz_guided(target, &settings)?;
        println!("{}", statistics_row(target.name, &found));
        failures += u32::try_from(found.finds.len()).unwrap_or(u32::MAX);
    }
    Ok(failures)
}

/// The repository's own files are offered to every target, which keeps those that reach new code. What others wrote may
/// guide a run, but never becomes part of the repository.
fn minimise(arguments: &FuzzArguments, targets: &[&FuzzTarget], program: &Path) -> Result<u32, String> {
    let settings = arguments.guided_settings(program);
    let inputs = inputs_below(&repository_folders());
    for target in targets {
        let count = minimise_corpus(target, &settings, &inputs)?;
        println!("{:<20} {count:>6} inputs of {}", target.name, inputs.len());
    }
    Ok(0)
}

fn compare(arguments: &FuzzArguments, program: &Path) -> Result<u32, String> {
    let languages = named(&arguments.names, find_language, COMPARED_LANGUAGES)?;
    let mut program = ReferenceProgram::start(program)?;
    let mut differences = 0;
    for language in languages {
        let found = compare_language(language, &mut program, arguments.time, arguments.seed)?;
        print_comparison(language, &found);
        differences += u32::try_from(found.differences.len()).unwrap_or(u32::MAX);
    }
    Ok(differences)
}

fn print_comparison(language: &ComparedLanguage, found: &ComparedStatistics) {
    let known: u64 = found.known.values().sum();
    println!(
        "{:<16} {:>9} questions: {:>9} same values, {:>9} same errors, {:>6} not comparable, {known:>6} known differences, {} differences",
        language.name,
        found.questions,
        found.same_values,
        found.same_errors,
        found.unknown,
        found.differences.len()
    );
    for (name, count) in &found.known {
        println!("  known: {name}: {count}");
    }
    for (question, ours, theirs) in &found.differences {
        println!("  {:?} on {}\n    ours:   {ours:?}\n    theirs: {theirs:?}", question.text, question.data);
    }
}

/// Returns what the names stand for, or all of them without a name.
fn named<T>(
    names: &[String],
    find: fn(&str) -> Result<&'static T, String>,
    all: &'static [T],
) -> Result<Vec<&'static T>, String> {
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    names.iter().map(|name| find(name)).collect()
}

enum FuzzAction {
    Mutate,
    Repeat(Vec<u8>),
    Guide(PathBuf),
    Minimise(PathBuf),
    Compare(PathBuf),
}

struct FuzzArguments {
    names: Vec<String>,
    time: Duration,
    seed: u64,
    extra: Option<PathBuf>,
    action: FuzzAction,
}

impl FuzzArguments {
    fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let mut parsed = Self {
            names: Vec::new(),
            time: Duration::from_secs(10),
            seed: 1,
            extra: None,
            action: FuzzAction::Mutate,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seconds" => parsed.time = Duration::from_secs(parse_number_option(&word, words.next())?),
                "--seed" => parsed.seed = parse_number_option(&word, words.next())?,
                "--input" => {
                    let path = path_option(&word, words.next())?;
                    let input = std::fs::read(&path);
                    let input =
                        input.map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
                    parsed.action = FuzzAction::Repeat(input);
                }
                "--guided" => parsed.action = FuzzAction::Guide(path_option(&word, words.next())?),
                "--minimise" => parsed.action = FuzzAction::Minimise(path_option(&word, words.next())?),
                "--differential" => parsed.action = FuzzAction::Compare(path_option(&word, words.next())?),
                "--extra" => parsed.extra = Some(path_option(&word, words.next())?),
                option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
                _ => parsed.names.push(word),
            }
        }
        Ok(parsed)
    }

    fn guided_settings(&self, program: &Path) -> GuidedSettings {
        let work = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz-guided");
        GuidedSettings { program: program.to_owned(), work, time: self.time, extra: None }
    }
}

fn parse_number_option(option: &str, word: Option<String>) -> Result<u64, String> {
    let word = word.ok_or(format!("`{option}` needs a number"))?;
    word.parse().map_err(|_| format!("`{option}` needs a number, not `{word}`"))
}

fn path_option(option: &str, word: Option<String>) -> Result<PathBuf, String> {
    word.map(PathBuf::from).ok_or(format!("`{option}` needs a path"))
}
