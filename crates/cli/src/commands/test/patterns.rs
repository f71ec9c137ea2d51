//! Cases about patterns: objects, a pattern, and the expected findings.
//!
//! Errors in a pattern are attributed to the cases that use it, so that a case can expect them.

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
use kubewright_report::{CaseRule, TestCaseResult};
use kubewright_value::{Document, Text, Value};

use super::coverage::Coverage;
use super::file::TestCaseFile;
use super::run::RuleTestRun;
use super::traits::file::CaseManifests;
use file::{PatternCase, PatternSubject};
use judge::JudgedPatternCase;
use parts::ExercisedPatterns;

/// The patterns and objects of a test file.
pub(super) struct PatternTestRun<'a> {
    folder: &'a Path,
    file: &'a TestCaseFile,
    references: References,
    known: Vec<LoadedPattern>,
    /// The objects of all cases.
    objects: Vec<Value>,
    /// Exercised parts of patterns, if coverage is recorded.
    exercised: Option<ExercisedPatterns>,
}

/// A pattern, and its diagnostics.
struct LoadedPattern {
    name: Text,
    document: Document,
    pattern: Option<Pattern>,
    wrong: Vec<Diagnostic>,
    is_used: bool,
}

impl<'a> PatternTestRun<'a> {
    /// Compiles the patterns among the rules of `bench`.
    pub(super) fn new(
        file: &'a TestCaseFile,
        folder: &'a Path,
        bench: &RuleTestRun<'_>,
        has_coverage: bool,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let (references, wrong) = patterns::read_references(&bench.patterns);
        problems.extend(wrong);
        let written = bench.patterns.iter().filter(|document| patterns::is_pattern_document(document));
        let known: Vec<LoadedPattern> =
            written.map(|document| LoadedPattern::compile(document, &references)).collect();
        let mut exercised = has_coverage.then(ExercisedPatterns::default);
        if let Some(exercised) = &mut exercised {
            known.iter().for_each(|known| exercised.count(known.pattern.as_ref(), &known.document));
        }
        let is_needed = file.pattern_cases().next().is_some();
        let objects =
            bench.objects.iter().filter(|_| is_needed).map(|document| document.value.clone()).collect();
        Self { folder, file, references, known, objects, exercised }
    }

    /// Runs one case.
    pub(super) fn run(&mut self, case: &PatternCase) -> TestCaseResult {
        let inline;
        let known = match &case.subject {
            PatternSubject::Inline(document) => {
                inline = LoadedPattern::compile(document, &self.references);
                &inline
            }
            PatternSubject::Named(name) => match self.find(name) {
                Ok(at) => {
                    self.known.iter_mut().skip(at).take(1).for_each(|known| known.is_used = true);
                    let Some(known) = self.known.get(at) else {
                        return empty_pattern_result(case, name, None);
                    };
                    known
                }
                Err(message) => return TestCaseResult { message, ..empty_pattern_result(case, name, None) },
            },
        };
        let (name, pattern) = (known.name.clone(), known.pattern.as_ref());
        let (graph, found) = match self.found(case, known) {
            Ok(done) => done,
            Err(message) => return TestCaseResult { message, ..empty_pattern_result(case, &name, pattern) },
        };
        let judged = JudgedPatternCase {
            case,
            pattern: known.pattern.as_ref(),
            wrong: &known.wrong,
            graph: &graph,
            found: &found,
        };
        let problems = judged.problems();
        let actual = match (&known.pattern, found.findings.len()) {
            (None, _) => "refused".to_owned(),
            (Some(_), count) => judge::finding_count_text(count),
        };
        if let (Some(exercised), Some(pattern)) = (&mut self.exercised, &known.pattern)
            && !case.is_inline()
        {
            exercised.case(pattern, &known.document, &found);
        }
        TestCaseResult {
            actual,
            is_ok: problems.is_empty(),
            message: problems.join("\n"),
            hint: self.hint(case),
            ..empty_pattern_result(case, &name, pattern)
        }
    }

    /// Adds the errors of patterns that no case uses.
    pub(super) fn finish(self, problems: &mut Vec<Diagnostic>) -> Coverage {
        let unused = self.known.into_iter().filter(|known| !known.is_used);
        problems.extend(unused.flat_map(|known| known.wrong));
        self.exercised.map(ExercisedPatterns::coverage).unwrap_or_default()
    }

    /// Returns the objects as a graph, and what is found in it.
    fn found(&self, case: &PatternCase, known: &LoadedPattern) -> Result<(Graph, PatternFindings), String> {
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
        let found = found.map_err(|error| format!("the search for the pattern was aborted: {error}"))?;
        Ok((graph, found))
    }

    /// Returns the objects that only this case has.
    fn objects_of(&self, case: &PatternCase) -> Result<Vec<Value>, String> {
        let objects = CaseManifests::read(&case.objects, self.folder);
        let objects =
            objects.map_err(|problem| format!("`objects`: {}", judge::pattern_diagnostic_line(&problem)))?;
        Ok(objects.into_iter().map(|document| document.value).collect())
    }

    fn find(&self, name: &str) -> Result<usize, String> {
        let is_called = |known: &LoadedPattern| known.name == name;
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

    /// Returns the `trace` command for the case, if its objects are in files.
    fn hint(&self, case: &PatternCase) -> Option<String> {
        let PatternSubject::Named(name) = &case.subject else { return None };
        if !case.objects.is_empty() || self.file.resources.is_empty() {
            return None;
        }
        let known = self.known.iter().find(|known| known.name == *name)?;
        let resources = self.file.resources.iter().map(|path| files::relative_path(self.folder, path));
        let resources: Vec<String> = resources.collect();
        Some(format!("kubewright trace {} -r {}", known.document.source.name, resources.join(" ")))
    }
}

impl LoadedPattern {
    fn compile(document: &Document, references: &References) -> Self {
        let (pattern, wrong) = patterns::compile_pattern_with(document, references.own_types());
        let name = document.value.str_at(&["metadata", "name"]);
        Self { name: name.into(), document: document.clone(), pattern, wrong, is_used: false }
    }
}

/// Returns an empty result.
fn empty_pattern_result(case: &PatternCase, name: &str, pattern: Option<&Pattern>) -> TestCaseResult {
    let rule_text = format!("pattern {name}");
    TestCaseResult {
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
            severity: pattern
                .map(|pattern| pattern.severity.name().to_lowercase().into())
                .unwrap_or_default(),
            category: pattern.map(|pattern| pattern.category.clone()).unwrap_or_default(),
        }),
        expected: judge::expected_findings_text(case),
        place: case.location.to_string(),
        ..TestCaseResult::default()
    }
}
