//! Cases about patterns: objects, a pattern, and what should be found in them.
//!
//! What is wrong with a pattern belongs to the cases that are about it, so that a case can expect it.

mod fate;
pub(super) mod file;
mod judge;
mod parts;
mod words;

use std::path::Path;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_files as files;
use kubewright_graph::{Graph, References};
use kubewright_patterns::{self as patterns, DetectionSettings, Pattern, PatternFindings};
use kubewright_report::{CaseResult, CaseRule};
use kubewright_value::{Document, Text, Value};

use super::coverage::Coverage;
use super::file::TestFile;
use super::run::Bench;
use super::traits::file::Given;
use file::{PatternCase, Subject};
use judge::Judged;
use parts::Exercised;

/// The patterns and objects of a test file.
pub(super) struct PatternBench<'a> {
    folder: &'a Path,
    file: &'a TestFile,
    references: References,
    known: Vec<Known>,
    /// The objects of all cases.
    objects: Vec<Value>,
    /// Which parts of patterns a case was about; nothing if nobody asks.
    exercised: Option<Exercised>,
}

/// A pattern, and what is wrong with it.
struct Known {
    name: Text,
    document: Document,
    pattern: Option<Pattern>,
    wrong: Vec<Diagnostic>,
    is_used: bool,
}

impl<'a> PatternBench<'a> {
    /// Compiles the patterns among the rules of `bench`.
    pub(super) fn new(
        file: &'a TestFile,
        folder: &'a Path,
        bench: &Bench<'_>,
        has_coverage: bool,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let (references, wrong) = patterns::read_references(&bench.patterns);
        problems.extend(wrong);
        let written = bench.patterns.iter().filter(|document| patterns::is_pattern_document(document));
        let known: Vec<Known> = written.map(|document| Known::compile(document, &references)).collect();
        let mut exercised = has_coverage.then(Exercised::default);
        if let Some(exercised) = &mut exercised {
            known.iter().for_each(|known| exercised.count(known.pattern.as_ref(), &known.document));
        }
        let is_needed = file.pattern_cases().next().is_some();
        let objects =
            bench.objects.iter().filter(|_| is_needed).map(|document| document.value.clone()).collect();
        Self { folder, file, references, known, objects, exercised }
    }

    /// Runs one case.
    pub(super) fn run(&mut self, case: &PatternCase) -> CaseResult {
        let inline;
        let known = match &case.subject {
            Subject::Inline(document) => {
                inline = Known::compile(document, &self.references);
                &inline
            }
            Subject::Named(name) => match self.find(name) {
                Ok(at) => {
                    self.known.iter_mut().skip(at).take(1).for_each(|known| known.is_used = true);
                    let Some(known) = self.known.get(at) else { return result(case, name) };
                    known
                }
                Err(message) => return CaseResult { message, ..result(case, name) },
            },
        };
        let name = known.name.clone();
        let (graph, found) = match self.found(case, known) {
            Ok(done) => done,
            Err(message) => return CaseResult { message, ..result(case, &name) },
        };
        let judged = Judged {
            case,
            pattern: known.pattern.as_ref(),
            wrong: &known.wrong,
            graph: &graph,
            found: &found,
        };
        let problems = judged.problems();
        let actual = match (&known.pattern, found.findings.len()) {
            (None, _) => "refused".to_owned(),
            (Some(_), count) => judge::findings(count),
        };
        if let (Some(exercised), Some(pattern)) = (&mut self.exercised, &known.pattern)
            && !case.is_inline()
        {
            exercised.case(pattern, &known.document, &found);
        }
        CaseResult {
            actual,
            is_ok: problems.is_empty(),
            message: problems.join("\n"),
            hint: self.hint(case),
            ..result(case, &name)
        }
    }

    /// Adds the mistakes of patterns that no case is about.
    pub(super) fn finish(self, problems: &mut Vec<Diagnostic>) -> Coverage {
        let unused = self.known.into_iter().filter(|known| !known.is_used);
        problems.extend(unused.flat_map(|known| known.wrong));
        self.exercised.map(Exercised::coverage).unwrap_or_default()
    }

    /// Returns the objects as a graph, and what is found in it.
    fn found(&self, case: &PatternCase, known: &Known) -> Result<(Graph, PatternFindings), String> {
        let mut objects = self.objects.clone();
        objects.extend(self.objects_of(case)?);
        let graph = Graph::build(objects, &self.references);
        let Some(pattern) = &known.pattern else { return Ok((graph, PatternFindings::default())) };
        let usual = DetectionSettings::default();
        let settings = DetectionSettings {
            per_leader: case.per_leader.unwrap_or(usual.per_leader),
            per_pattern: case.per_pattern.unwrap_or(usual.per_pattern),
            witnesses: case.witnesses.unwrap_or(usual.witnesses),
            namespaces: case.namespace.as_deref().map(|namespace| vec![namespace.into()]),
            passes_unreachable: case.passes_unreachable,
            traces: true,
            ..usual
        };
        let found =
            patterns::detect(pattern, &graph, &settings, &mut patterns::detection_budget(pattern, &graph));
        let found = found.map_err(|error| format!("looking for the pattern was given up: {error}"))?;
        Ok((graph, found))
    }

    /// Returns the objects that only this case has.
    fn objects_of(&self, case: &PatternCase) -> Result<Vec<Value>, String> {
        let objects = Given::read(&case.objects, self.folder);
        let objects = objects.map_err(|problem| format!("`objects`: {}", judge::told(&problem)))?;
        Ok(objects.into_iter().map(|document| document.value).collect())
    }

    fn find(&self, name: &str) -> Result<usize, String> {
        let is_called = |known: &Known| known.name == name;
        if let Some(at) = self.known.iter().position(is_called) {
            return match self.known.iter().filter(|known| is_called(known)).count() {
                1 => Ok(at),
                count => Err(format!("`{name}` is the name of {count} patterns")),
            };
        }
        let names = self.known.iter().map(|known| known.name.as_str());
        Err(match nearest_word(name, names) {
            Some(near) => format!("there is no pattern `{name}`; did you mean `{near}`?"),
            None => format!("there is no pattern `{name}` among `rules`"),
        })
    }

    /// Returns the command that shows what happens to each leader, where the objects stand in files.
    fn hint(&self, case: &PatternCase) -> Option<String> {
        let Subject::Named(name) = &case.subject else { return None };
        if !case.objects.is_empty() || self.file.resources.is_empty() {
            return None;
        }
        let known = self.known.iter().find(|known| known.name == *name)?;
        let resources = self.file.resources.iter().map(|path| files::relative_path(self.folder, path));
        let resources: Vec<String> = resources.collect();
        Some(format!("kubewright trace {} -r {}", known.document.source.name, resources.join(" ")))
    }
}

impl Known {
    fn compile(document: &Document, references: &References) -> Self {
        let (pattern, wrong) = patterns::compile_pattern_with(document, references.own_types());
        let name = document.value.str_at(&["metadata", "name"]);
        Self { name: name.into(), document: document.clone(), pattern, wrong, is_used: false }
    }
}

/// Returns a result that says nothing yet.
fn result(case: &PatternCase, name: &str) -> CaseResult {
    let rule_text = format!("pattern {name}");
    CaseResult {
        case: case.name.clone().unwrap_or_else(|| rule_text.clone()),
        is_named: case.name.is_some(),
        rule_text,
        rule: Some(CaseRule {
            dialect: "pattern",
            policy: name.into(),
            rule: None,
            sort: Some("pattern".into()),
            method: None,
            traced: String::new(),
        }),
        expected: judge::expected(case),
        place: case.location.to_string(),
        ..CaseResult::default()
    }
}
