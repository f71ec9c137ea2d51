//! Runs a `kyverno-test.yaml`: policies and resources once, then row by row.

mod cases;
mod file;
mod objects;
mod policies;
mod rows;
mod world;

use std::path::Path;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, Dialect};
use kubewright_files::relative_path;
use kubewright_report::CaseResult;
use kubewright_value::Document;

use super::coverage::Coverage;
use super::library::Library;
use crate::rules;
pub(in crate::commands) use cases::{Cases, with_cases};
use objects::Objects;
use rows::Bench;

/// What came of a test file.
pub(super) struct Outcome {
    pub(super) name: Option<String>,
    /// The words that run `trace` on its policies and resources.
    pub(super) trace: String,
    pub(super) results: Vec<CaseResult>,
    pub(super) coverage: Coverage,
}

/// What a test file is run with.
pub(in crate::commands) struct CaseSetup<'a> {
    /// Where the test file is; what it names is relative to it.
    pub(in crate::commands) folder: &'a Path,
    pub(in crate::commands) library: &'a Library,
    pub(in crate::commands) options: &'a DialectOptions,
    /// The dialects without exceptions.
    pub(in crate::commands) dialects: &'a [Box<dyn Dialect>],
    /// Whether to find out which parts of rules are exercised.
    pub(in crate::commands) has_coverage: bool,
}

/// Returns whether this is a test file of Kyverno's, well written or not.
pub(in crate::commands) fn is_meant(document: &Document) -> bool {
    file::is_meant(document)
}

/// Runs the test that `document` holds; nothing when it cannot be read.
pub(super) fn run(
    document: &Document,
    setup: &CaseSetup<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Outcome> {
    let mut file = match file::read(document) {
        Ok(file) => file,
        Err(wrong) => {
            problems.extend(wrong);
            return None;
        }
    };
    let (folder, library) = (setup.folder, setup.library);
    let trace = trace_words(&file, folder, &document.source.name);
    let books = library.borrow(folder, &file.policies, problems);
    let exceptions = library.borrow(folder, &file.exceptions, problems);
    let exceptions = exceptions.iter().filter_map(|loan| loan.get());
    let exceptions = rules::exceptions(exceptions.flat_map(|book| book.documents.iter().cloned()).collect());
    let own = (!exceptions.is_empty()).then(|| {
        kubewright_dialects::all_dialects(&DialectOptions {
            exceptions: exceptions.clone(),
            ..setup.options.clone()
        })
    });
    let dialects = own.as_deref().unwrap_or(setup.dialects);
    let policies = policies::load(books.iter().filter_map(|loan| loan.get()), dialects, problems);
    let ids = policies.iter().flat_map(|policy| policy.engine.rules()).map(|rule| &*rule.id);
    problems.extend(kubewright_dialects::check_all_exceptions(&exceptions, ids));
    let resources = library.borrow(folder, &file.resources, problems);
    let others = library.borrow(folder, &file.others, problems);
    let payloads = std::mem::take(&mut file.payloads).into_iter().map(|payload| {
        let loans = library.borrow(folder, std::slice::from_ref(&payload.path), problems);
        (payload, loans)
    });
    let payloads: Vec<_> = payloads.collect();
    let objects = Objects::new(&resources, &payloads, &others, problems);
    let (world, user) = world::build(&mut file, setup, &objects, problems);
    let mut bench = Bench::new(&policies, &objects, &world, user.as_ref(), setup.has_coverage);
    let results = file.rows.iter().flat_map(|row| bench.run(row)).collect();
    let mut coverage = Coverage::default();
    for policy in policies.iter().filter(|_| setup.has_coverage) {
        coverage.add(policy.engine.rules(), &bench.exercised);
    }
    Some(Outcome { trace, name: file.name, results, coverage })
}

/// Returns the words that make `trace` look at what the file called `name` names.
fn trace_words(file: &file::TestFile, folder: &Path, name: &str) -> String {
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
