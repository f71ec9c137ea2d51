//! `test`: runs the cases of test files. What is merely doubtful in a rule is for `lint` to say.

mod coverage;
mod file;
mod judge;
mod run;
mod show;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kubewright_engine::Diagnostic;

use crate::arguments::{Test, TestFormat};
use crate::failure::{Exit, Failure};
use crate::load::{self, Input};
use crate::output::{ColorChoice, standard_output};
use crate::session::complain;
use coverage::Coverage;
use file::TestFile;
use run::Bench;
use show::FileResult;

/// The JSON schema of test files.
const SCHEMA: &str = include_str!("../../../../docs/kubewright-test.schema.json");

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run(arguments: &Test, color: ColorChoice) -> Result<Exit, Failure> {
    if arguments.schema {
        let mut out = standard_output();
        write!(out, "{SCHEMA}")?;
        out.flush()?;
        return Ok(Exit::Clean);
    }
    let started = Instant::now();
    let found = load::find_tests(&arguments.paths);
    let mut problems = found.problems;
    let mut coverage = Coverage::default();
    let mut files = Vec::new();
    for input in &found.inputs {
        files.extend(test(input, arguments, &mut coverage, &mut problems));
    }
    problems.retain(Diagnostic::is_error);
    let coverage = arguments.coverage.then_some(&coverage);
    let elapsed = started.elapsed();
    match arguments.output {
        TestFormat::Table => show::table(&files, coverage, arguments.quiet, elapsed, color.paint_output())?,
        TestFormat::Json => show::document(&files, coverage)?,
        TestFormat::Junit => show::junit(&files)?,
    }
    let (_, failed) = show::count(&files);
    Ok(match (complain(&problems, color.paint_errors()), failed) {
        (true, _) => Exit::BadInput,
        (false, 0) => Exit::Clean,
        (false, _) => Exit::Violations,
    })
}

/// Runs one test file; nothing when it cannot be read.
fn test(
    input: &Input,
    arguments: &Test,
    coverage: &mut Coverage,
    problems: &mut Vec<Diagnostic>,
) -> Vec<FileResult> {
    let folder = match input {
        Input::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
        Input::Standard => PathBuf::new(),
    };
    let mut results = Vec::new();
    for document in load::documents(std::slice::from_ref(input), problems) {
        let file = match file::read(&document) {
            Ok(file) => file,
            Err(wrong) => {
                problems.extend(wrong);
                continue;
            }
        };
        let mut bench = Bench::new(&file, &folder, &arguments.options, problems);
        let cases = file.cases.iter().map(|case| bench.run(case)).collect();
        coverage.add(bench.rules(), &bench.exercised);
        let trace = trace_words(&file, &folder);
        let name = match &file.name {
            Some(name) if input.name() == "-" => format!("- ({name})"),
            _ => input.name(),
        };
        results.push(FileResult { file: name, trace, results: cases });
    }
    results
}

/// Returns the words that make `trace` look at what the file names.
fn trace_words(file: &TestFile, folder: &Path) -> String {
    let here = |paths: &[String]| -> String {
        paths.iter().map(|path| run::relative(folder, path)).collect::<Vec<_>>().join(" ")
    };
    let mut words = format!("{} -r {}", here(&file.rules), here(&file.resources));
    for world in &file.world {
        words.push_str(&format!(" --world {}", run::relative(folder, world)));
    }
    if let Some(namespace) = &file.namespace {
        words.push_str(&format!(" --namespace {namespace}"));
    }
    words
}

#[cfg(test)]
mod tests;
