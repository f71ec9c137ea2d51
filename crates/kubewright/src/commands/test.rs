//! `test`: runs the cases of test files. What is merely doubtful in a rule is for `lint` to say.

mod coverage;
mod difference;
mod file;
mod judge;
mod kyverno;
mod library;
mod patterns;
mod run;
mod traits;

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, Dialect};
use kubewright_files::workers;
use kubewright_files::{self as files, Input};
use kubewright_report::{CaseResult, Report, Results, TestFileResult, TestResults};
use kubewright_value::Document;

use crate::arguments::{CaseSelector, Test};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, TableOptions, chosen_or_table, keep_apart, keep_inputs, standard_output};
use crate::rule_inputs::complain;
use crate::rules;
use coverage::Coverage;
use file::{AnyCase, TestFile};
pub(super) use kyverno::{CaseSetup, Cases, is_meant, with_cases};
pub(super) use library::Library;
use patterns::PatternBench;
use run::Bench;
use traits::TraitBench;

/// The JSON schema of test files.
const SCHEMA: &str = include_str!("../../schemas/kubewright-test.schema.json");

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
    let outputs = chosen_or_table(&arguments.outputs);
    keep_apart(&outputs)?;
    let found = files::find_tests(&arguments.paths, arguments.file_name.as_deref());
    let mut problems = found.problems;
    let options = rules::dialect_options(&arguments.options, None);
    let shared = Shared {
        library: Library::default(),
        dialects: kubewright_dialects::all_dialects(&options),
        options,
    };
    let ran = workers::each(&found.inputs, |input| test(input, arguments, &shared))?;
    let mut coverage = Coverage::default();
    let mut files = Vec::new();
    for part in ran {
        files.extend(part.files);
        coverage.merge(part.coverage);
        problems.extend(part.problems);
    }
    if let Some(selector) = &arguments.selector {
        select(&mut files, selector, arguments, &mut problems);
    }
    let mut told = HashSet::new();
    problems.retain(|problem| problem.is_error() && told.insert(problem.to_string()));
    keep_inputs(&outputs)?;
    let coverage = arguments.coverage.then(|| coverage.summary());
    let tests = TestResults { files: &files, coverage: coverage.as_ref() };
    let report =
        Report { results: Results::Cases(tests), diagnostics: &problems, elapsed: started.elapsed() };
    let options =
        TableOptions { paint: color.paint_output(), is_quiet: arguments.quiet, has_differences: false };
    for output in &outputs {
        output.open(options)?.finish(&report)?;
    }
    let (_, failed) = tests.counts();
    Ok(match (complain(&problems, color.paint_errors()), failed) {
        (true, _) => Exit::BadInput,
        (false, 0) => Exit::Clean,
        (false, _) => Exit::Violations,
    })
}

/// Keeps the results of the cases that `selector` means.
fn select(
    files: &mut Vec<TestFileResult>,
    selector: &CaseSelector,
    arguments: &Test,
    problems: &mut Vec<Diagnostic>,
) {
    let is_meant = |result: &CaseResult| {
        let rule = result.rule.as_ref();
        let policy = rule.map_or("", |rule| rule.policy.as_str());
        let name = rule.and_then(|rule| rule.rule.as_ref()).map_or("", |name| name.as_str());
        selector.fits(policy, name, (&result.namespace, &result.resource))
    };
    let had_cases = files.iter().any(|file| !file.results.is_empty());
    files.iter_mut().for_each(|file| file.results.retain(is_meant));
    files.retain(|file| !file.results.is_empty());
    if had_cases && files.is_empty() {
        let place = arguments.paths.join(" ");
        let problem = codes::about_path(&NOTHING_FOUND, &place, "no case fits the selector");
        problems.push(problem.help("names are compared as the cases write them; `*` fits any text"));
    }
}

/// What all test files share.
struct Shared {
    library: Library,
    options: DialectOptions,
    dialects: Vec<Box<dyn Dialect>>,
}

/// What came of one input.
#[derive(Default)]
struct Ran {
    /// One for each document that could be read.
    files: Vec<TestFileResult>,
    coverage: Coverage,
    problems: Vec<Diagnostic>,
}

/// Runs the tests of one file.
fn test(input: &Input, arguments: &Test, shared: &Shared) -> Ran {
    let mut ran = Ran::default();
    let documents = files::read_documents(std::slice::from_ref(input), &mut ran.problems);
    for document in documents.iter().filter(|document| !document.value.is_null()) {
        if kyverno::is_meant(document) {
            theirs(document, input, arguments, shared, &mut ran);
        } else {
            ours(document, input, arguments, &mut ran);
        }
    }
    ran
}

/// Runs a test in our own format.
fn ours(document: &Document, input: &Input, arguments: &Test, ran: &mut Ran) {
    let file = match file::read(document) {
        Ok(file) => file,
        Err(wrong) => return ran.problems.extend(wrong),
    };
    let folder = folder(input);
    let mut bench = Bench::new(&file, &folder, &arguments.options, arguments.coverage, &mut ran.problems);
    let mut traits = TraitBench::new(&file, &folder, &bench, arguments.coverage, &mut ran.problems);
    let mut patterns = PatternBench::new(&file, &folder, &bench, arguments.coverage, &mut ran.problems);
    let results = file.cases.iter().map(|case| match case {
        AnyCase::Rules(case) => bench.run(case),
        AnyCase::Traits(case) => traits.run(case),
        AnyCase::Pattern(case) => patterns.run(case),
    });
    let results = results.collect();
    ran.coverage.merge(traits.finish(&mut ran.problems));
    ran.coverage.merge(patterns.finish(&mut ran.problems));
    if arguments.coverage {
        ran.coverage.add(bench.rules(), &bench.exercised);
    }
    let trace_arguments = trace_words(&file, &folder);
    ran.files.push(file_result(title(input, file.name.as_deref()), trace_arguments, results));
}

/// Runs a test in the format of `kyverno-test.yaml`.
fn theirs(document: &Document, input: &Input, arguments: &Test, shared: &Shared, ran: &mut Ran) {
    let setup = kyverno::CaseSetup {
        folder: &folder(input),
        library: &shared.library,
        options: &shared.options,
        dialects: &shared.dialects,
        has_coverage: arguments.coverage,
    };
    let Some(outcome) = kyverno::run(document, &setup, &mut ran.problems) else { return };
    ran.coverage.merge(outcome.coverage);
    let file = title(input, outcome.name.as_deref());
    ran.files.push(file_result(file, outcome.trace, outcome.results));
}

/// Returns the results of a test file. Its title is the folder, or the file where it has a name of its own.
fn file_result(file: String, trace_arguments: String, results: Vec<CaseResult>) -> TestFileResult {
    let folder = files::TEST_FILES.iter().find_map(|name| file.strip_suffix(name));
    let title = folder.map_or(file.as_str(), |folder| {
        let folder = folder.trim_end_matches('/').trim_end_matches(".kyverno-test").trim_end_matches('/');
        if folder.is_empty() { "." } else { folder }
    });
    TestFileResult { title: title.to_owned(), file, trace_arguments, results }
}

/// Returns where the paths of a test file start.
fn folder(input: &Input) -> PathBuf {
    match input {
        Input::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
        Input::Standard => PathBuf::new(),
    }
}

fn title(input: &Input, name: Option<&str>) -> String {
    match name {
        Some(name) if input.name() == "-" => format!("- ({name})"),
        _ => input.name(),
    }
}

/// Returns the words that make `trace` look at what the file names.
fn trace_words(file: &TestFile, folder: &Path) -> String {
    let here = |paths: &[String]| -> String {
        paths.iter().map(|path| files::relative_path(folder, path)).collect::<Vec<_>>().join(" ")
    };
    let mut words = format!("{} -r {}", here(&file.rules), here(&file.resources));
    for world in &file.world {
        words.push_str(&format!(" --world {}", files::relative_path(folder, world)));
    }
    if let Some(namespace) = &file.namespace {
        words.push_str(&format!(" --namespace {namespace}"));
    }
    words
}

#[cfg(test)]
mod tests;
