//! `test`: runs the cases of test files. Warnings about rules are left to `lint`.

mod coverage;
mod difference;
mod file;
mod judge;
mod kyverno;
mod library;
mod patterns;
mod run;
pub(super) mod scaffold;
mod traits;

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, Dialect, RuleId};
use kubewright_files::workers;
use kubewright_files::{self as files, Input};
use kubewright_report::{
    CaseRule, CoverageSummary, Report, Results, Severity, TestCaseResult, TestFileResult, TestResults,
};
use kubewright_value::Document;

use crate::arguments::TestArguments;
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{
    ColorChoice, TableOptions, chosen_or_table, is_captured, keep_apart, keep_inputs, print_stderr,
    standard_output,
};
use crate::review::is_late;
use crate::rule_inputs::print_diagnostics;
use crate::rules;
use coverage::Coverage;
use file::{AnyCase, TestCaseFile};
pub(super) use kyverno::{CaseSetup, RowCases, is_kyverno_test, with_cases};
pub(super) use library::FileCache;
use patterns::PatternTestRun;
use run::RuleTestRun;
use traits::TraitTestRun;

/// The JSON schema of test files.
pub(super) const SCHEMA: &str = include_str!("../../schemas/kubewright-test.schema.json");

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run_test(arguments: &TestArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if arguments.schema {
        let mut out = standard_output();
        write!(out, "{SCHEMA}")?;
        out.flush()?;
        return Ok(ExitStatus::Clean);
    }
    if !arguments.new.is_empty() {
        return scaffold::write_test(arguments, color);
    }
    let started = Instant::now();
    let outputs = chosen_or_table(&arguments.outputs);
    keep_apart(&outputs)?;
    let here = [".".to_owned()];
    let paths = if arguments.paths.is_empty() { &here[..] } else { &arguments.paths };
    let found = files::find_tests(paths, arguments.file_name.as_deref());
    let mut problems = found.problems;
    let options = kyverno_test_options(arguments);
    let shared = SharedTestInputs {
        library: FileCache::default(),
        dialects: kubewright_dialects::all_dialects(&options),
        options,
        has_places: outputs.iter().any(|output| output.format.columns.case_places),
    };
    let ran = workers::run_on_workers(&found.inputs, |input| test_one_file(input, arguments, &shared))?;
    let mut coverage = Coverage::default();
    let mut files = Vec::new();
    for part in ran {
        files.extend(part.files);
        coverage.merge(part.coverage);
        problems.extend(part.problems);
    }
    if arguments.selects_cases() {
        select_cases(&mut files, arguments, &mut problems);
    }
    let mut told = HashSet::new();
    problems.retain(|problem| problem.is_error() && told.insert(problem.to_string()));
    keep_inputs(&outputs)?;
    let coverage = arguments.coverage.then(|| coverage.summary());
    let tests = TestResults { files: &files, coverage: coverage.as_ref() };
    let report =
        Report { results: Results::Cases(tests), diagnostics: &problems, elapsed: started.elapsed() };
    let options =
        TableOptions { paint: color.paint_output(), is_quiet: arguments.quiet, ..TableOptions::default() };
    for output in &outputs {
        output.open(options)?.finish(&report)?;
    }
    let (_, failed) = tests.counts();
    if !arguments.watch && !is_captured() {
        // The process ends, and so its memory does not have to be freed piece by piece.
        std::mem::forget((shared, files));
    }
    let is_incomplete = print_diagnostics(&problems, color.paint_errors());
    let percent = coverage.as_ref().map(CoverageSummary::percent);
    let is_low = match (percent, arguments.min) {
        (Some(percent), Some(least)) if percent < least => {
            print_stderr(format_args!("coverage is {percent:.1} %, and --min asks for {least} %"));
            true
        }
        _ => false,
    };
    Ok(match (is_incomplete, failed) {
        (true, _) => ExitStatus::BadInput,
        (false, 0) if !is_low => ExitStatus::Clean,
        (false, _) => ExitStatus::Violations,
    })
}

/// Runs the cases and returns which rules and branches they exercise.
///
/// # Errors
/// When no thread can be started.
#[cfg(feature = "lsp")]
pub(super) fn run_coverage(arguments: &TestArguments) -> Result<CoverageSummary, CommandFailure> {
    let found = files::find_tests(&arguments.paths, None);
    let options = kyverno_test_options(arguments);
    let dialects = kubewright_dialects::all_dialects(&options);
    let shared = SharedTestInputs { library: FileCache::default(), dialects, options, has_places: false };
    let ran = workers::run_on_workers(&found.inputs, |input| test_one_file(input, arguments, &shared))?;
    let mut coverage = Coverage::default();
    ran.into_iter().for_each(|part| coverage.merge(part.coverage));
    Ok(coverage.summary())
}

/// Returns what is wrong with the fields of a test file.
#[cfg(feature = "lsp")]
pub(super) fn check_test_document(document: &Document) -> Vec<Diagnostic> {
    match is_kyverno_test(document) {
        true => Vec::new(),
        false => file::read_test_file(document).err().unwrap_or_default(),
    }
}

/// Keeps the results of the cases that the arguments select.
fn select_cases(files: &mut Vec<TestFileResult>, arguments: &TestArguments, problems: &mut Vec<Diagnostic>) {
    let had_cases = files.iter().any(|file| !file.results.is_empty());
    files.iter_mut().for_each(|file| file.results.retain(|result| is_selected(result, arguments)));
    files.retain(|file| !file.results.is_empty());
    if had_cases && files.is_empty() {
        let place = arguments.paths.join(" ");
        let problem = codes::about_path(&NOTHING_FOUND, &place, "no case matches the selection");
        problems.push(problem.help("names are compared as written in the cases; `*` matches any text"));
    }
}

/// Returns whether a case is selected by its names and by the severity and category of its rule. A case about all rules
/// together has none of these two.
fn is_selected(result: &TestCaseResult, arguments: &TestArguments) -> bool {
    let rule = result.rule.as_ref();
    let policy = rule.map_or("", |rule| rule.policy.as_str());
    let name = rule.and_then(|rule| rule.rule.as_ref()).map_or("", |name| name.as_str());
    let object = (result.namespace.as_str(), result.resource.as_str());
    let is_named = arguments.selector.as_ref().is_none_or(|selector| selector.fits(policy, name, object));
    let has_severity = |rule: &CaseRule| {
        arguments.severity.is_none_or(|least| severity_of_case(rule, &arguments.severities) >= least)
    };
    let has_category = |rule: &CaseRule| {
        let mut categories = arguments.categories.iter();
        categories.len() == 0 || categories.any(|name| rules::matches_category(name, &rule.category))
    };
    is_named && rule.is_none_or(|rule| has_severity(rule) && has_category(rule))
}

/// Returns the severity that the project gives to the rule of a case, or else its author.
fn severity_of_case(rule: &CaseRule, of_project: &[(String, Severity)]) -> Severity {
    let (dialect, name) = (rule.dialect, rule.rule.clone().unwrap_or_default());
    let id = RuleId { dialect, policy: rule.policy.clone(), rule: name };
    rules::severity_in_project(&id, of_project).unwrap_or_else(|| Severity::of_rule(&rule.severity))
}

/// Returns the options of dialects whose warnings nothing shows, and which no cluster asks.
fn kyverno_test_options(arguments: &TestArguments) -> DialectOptions {
    DialectOptions { rules_only: true, ..rules::dialect_options(&arguments.options, None) }
}

/// Inputs that all test files share.
struct SharedTestInputs {
    library: FileCache,
    options: DialectOptions,
    dialects: Vec<Box<dyn Dialect>>,
    /// Whether the places of cases that hold are shown.
    has_places: bool,
}

/// The result of running one test file.
#[derive(Default)]
struct TestFileRun {
    /// One result for each readable document.
    files: Vec<TestFileResult>,
    coverage: Coverage,
    problems: Vec<Diagnostic>,
}

/// Runs the tests of one file.
fn test_one_file(input: &Input, arguments: &TestArguments, shared: &SharedTestInputs) -> TestFileRun {
    let mut ran = TestFileRun::default();
    let documents = files::read_documents(std::slice::from_ref(input), &mut ran.problems);
    for document in documents.iter().filter(|document| !document.value.is_null()) {
        let (started, earlier) = (Instant::now(), ran.files.len());
        if kyverno::is_kyverno_test(document) {
            run_kyverno_format(document, input, arguments, shared, &mut ran);
        } else {
            run_own_format(document, input, arguments, &mut ran);
        }
        ran.files.iter_mut().skip(earlier).for_each(|file| file.elapsed = started.elapsed());
    }
    ran
}

/// Runs a test in our own format.
fn run_own_format(document: &Document, input: &Input, arguments: &TestArguments, ran: &mut TestFileRun) {
    let file = match file::read_test_file(document) {
        Ok(file) => file,
        Err(wrong) => return ran.problems.extend(wrong),
    };
    let folder = folder(input);
    let mut bench =
        RuleTestRun::new(&file, &folder, &arguments.options, arguments.coverage, &mut ran.problems);
    let mut traits = TraitTestRun::new(&file, &folder, &bench, arguments.coverage, &mut ran.problems);
    let mut patterns = PatternTestRun::new(&file, &folder, &bench, arguments.coverage, &mut ran.problems);
    let cases = file.cases.iter().take_while(|_| !is_late());
    let results = cases.map(|case| match case {
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
    let trace_arguments = test_trace_command(&file, &folder);
    ran.files.push(file_result(test_file_title(input, file.name.as_deref()), trace_arguments, results));
}

/// Runs a test in the format of `kyverno-test.yaml`.
fn run_kyverno_format(
    document: &Document,
    input: &Input,
    arguments: &TestArguments,
    shared: &SharedTestInputs,
    ran: &mut TestFileRun,
) {
    let setup = kyverno::CaseSetup {
        folder: &folder(input),
        library: &shared.library,
        options: &shared.options,
        dialects: &shared.dialects,
        has_places: shared.has_places,
        has_coverage: arguments.coverage,
    };
    let Some(outcome) = kyverno::run_kyverno_test(document, &setup, &mut ran.problems) else { return };
    ran.coverage.merge(outcome.coverage);
    let file = test_file_title(input, outcome.name.as_deref());
    ran.files.push(file_result(file, outcome.trace, outcome.results));
}

/// Returns the results of a test file. Its title is its folder, or its name if that is not a standard one.
fn file_result(file: String, trace_arguments: String, results: Vec<TestCaseResult>) -> TestFileResult {
    let folder = files::TEST_FILES.iter().find_map(|name| file.strip_suffix(name));
    let title = folder.map_or(file.as_str(), |folder| {
        let folder = folder.trim_end_matches('/').trim_end_matches(".kyverno-test").trim_end_matches('/');
        if folder.is_empty() { "." } else { folder }
    });
    TestFileResult { title: title.to_owned(), file, trace_arguments, results, elapsed: Duration::ZERO }
}

/// Returns the folder that paths in a test file are relative to.
fn folder(input: &Input) -> PathBuf {
    match input {
        Input::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
        Input::Text(source) => Path::new(&source.name).parent().map(Path::to_owned).unwrap_or_default(),
        _ => PathBuf::new(),
    }
}

fn test_file_title(input: &Input, name: Option<&str>) -> String {
    match name {
        Some(name) if input.name() == "-" => format!("- ({name})"),
        _ => input.name(),
    }
}

/// Returns the `trace` arguments for the files that the test names.
fn test_trace_command(file: &TestCaseFile, folder: &Path) -> String {
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
