//! Runs a `kyverno-test.yaml`: policies and resources once, then row by row.

mod cases;
mod chain;
mod comparison;
mod file;
mod objects;
mod policies;
mod rows;
mod world;

use std::path::Path;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, Dialect};
use kubewright_files::relative_path;
use kubewright_report::TestCaseResult;
use kubewright_value::Document;

use super::coverage::Coverage;
use super::library::FileCache;
use crate::review::is_late;
use crate::rules;
pub(in crate::commands) use cases::{RowCases, with_cases};
use chain::DecisionChain;
use comparison::ExpectedObjects;
use objects::TestObjects;
use rows::KyvernoTestRun;

/// The result of a Kyverno test file.
pub(super) struct KyvernoTestOutcome {
    pub(super) name: Option<String>,
    /// The arguments of `trace` for its policies and resources, if a case fails.
    pub(super) trace: String,
    pub(super) results: Vec<TestCaseResult>,
    pub(super) coverage: Coverage,
}

/// Inputs of running a test file.
pub(in crate::commands) struct CaseSetup<'a> {
    /// The folder of the test file; its paths are relative to it.
    pub(in crate::commands) folder: &'a Path,
    pub(in crate::commands) library: &'a FileCache,
    pub(in crate::commands) options: &'a DialectOptions,
    /// The dialects without exceptions.
    pub(in crate::commands) dialects: &'a [Box<dyn Dialect>],
    /// Whether the places of rows that hold are shown.
    pub(in crate::commands) has_places: bool,
    /// Whether coverage is recorded.
    pub(in crate::commands) has_coverage: bool,
}

/// Returns whether this is a Kyverno test file, valid or not.
pub(in crate::commands) fn is_kyverno_test(document: &Document) -> bool {
    file::has_kyverno_test_kind(document)
}

/// Runs the test in `document`; `None` if it is invalid.
pub(super) fn run_kyverno_test(
    document: &Document,
    setup: &CaseSetup<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<KyvernoTestOutcome> {
    let mut file = match file::read_kyverno_test(document) {
        Ok(file) => file,
        Err(wrong) => {
            problems.extend(wrong);
            return None;
        }
    };
    let (folder, library) = (setup.folder, setup.library);
    let books = library.read_files(folder, &file.policies, problems);
    let exceptions = library.read_files(folder, &file.exceptions, problems);
    let exceptions = exceptions.iter().filter_map(|loan| loan.get());
    let exceptions =
        rules::take_exceptions(exceptions.flat_map(|book| book.documents.iter().cloned()).collect());
    let own = (!exceptions.is_empty()).then(|| {
        kubewright_dialects::all_dialects(&DialectOptions {
            exceptions: exceptions.clone(),
            ..setup.options.clone()
        })
    });
    let dialects = own.as_deref().unwrap_or(setup.dialects);
    let policies = policies::load_policies(
        books.iter().filter_map(|loan| loan.get()),
        (dialects, &library.regexes),
        problems,
    );
    let ids = policies.iter().flat_map(|policy| policy.engine.rules()).map(|rule| &*rule.id);
    problems.extend(kubewright_dialects::check_all_exceptions(&exceptions, ids));
    let resources = library.read_files(folder, &file.resources, problems);
    let others = library.read_files(folder, &file.others, problems);
    let payloads = std::mem::take(&mut file.payloads).into_iter().map(|payload| {
        let loans = library.read_files(folder, std::slice::from_ref(&payload.path), problems);
        (payload, loans)
    });
    let payloads: Vec<_> = payloads.collect();
    let objects = TestObjects::new(&resources, &payloads, &others, problems);
    let (world, user) = world::build_test_world(&mut file, setup, &objects, problems);
    let chain = DecisionChain::new(&policies, &world, user.as_ref(), setup.has_places);
    let mut bench = KyvernoTestRun::new(&policies, &objects, chain, document, setup);
    let mut results = Vec::new();
    for row in file.rows.iter().take_while(|_| !is_late()) {
        let expected = ExpectedObjects::read(&row.expected_files, setup, problems);
        results.extend(bench.run(row, expected.as_ref()));
    }
    let mut coverage = Coverage::default();
    for policy in policies.iter().filter(|_| setup.has_coverage) {
        coverage.add(policy.engine.rules(), &bench.exercised);
    }
    let trace = match results.iter().all(|result| result.is_ok) {
        true => String::new(),
        // Parts of the file are used up.
        false => file::read_kyverno_test(document)
            .map_or_else(|_| String::new(), |file| kyverno_trace_command(&file, setup, document)),
    };
    Some(KyvernoTestOutcome { trace, name: file.name, results, coverage })
}

/// Returns the `trace` arguments for the files that `file`, which was read from `document`, names.
fn kyverno_trace_command(
    file: &file::KyvernoTestDocument,
    setup: &CaseSetup<'_>,
    document: &Document,
) -> String {
    let (folder, name) = (setup.folder, &document.source.name);
    let here = |paths: &[String]| -> String {
        paths.iter().map(|path| relative_path(folder, path)).collect::<Vec<_>>().join(" ")
    };
    let mut judged = file.resources.clone();
    judged.extend(file.payloads.iter().map(|payload| payload.path.clone()));
    let mut words = format!("{} -r {}", here(&file.policies), here(&judged));
    let others = file.others.iter().chain(&file.cluster_resources).chain(&file.context);
    for world in others {
        words.push_str(&format!(" --world {}", relative_path(folder, world)));
    }
    if file.has_answers {
        words.push_str(&format!(" --world {name}"));
    }
    if file.values.is_some() {
        words.push_str(&format!(" --values {name}"));
    }
    let options = [("--values", &file.variables), ("--userinfo", &file.user)];
    for (option, path) in options {
        if let Some(path) = path {
            words.push_str(&format!(" {option} {}", relative_path(folder, path)));
        }
    }
    for path in &file.exceptions {
        words.push_str(&format!(" --exceptions {}", relative_path(folder, path)));
    }
    words
}

#[cfg(test)]
mod tests;
