//! The results of test files.

use std::time::Duration;

use kubewright_k8s::Operation;
use kubewright_value::{Position, Text};

use crate::{Annotation, AnnotationLevel, Severity};

/// The results of all test files.
#[derive(Debug, Clone, Copy)]
pub struct TestResults<'a> {
    /// The results of each test file.
    pub files: &'a [TestFileResult],
    /// What the cases exercised, where that was asked for.
    pub coverage: Option<&'a CoverageSummary>,
}

/// The results of one test file.
#[derive(Debug)]
pub struct TestFileResult {
    /// The name of the file.
    pub file: String,
    /// The folder, or the file where it has a name of its own.
    pub title: String,
    /// The arguments that run `trace` on its rules and resources; may be empty if all cases hold.
    pub trace_arguments: String,
    /// The results of its cases.
    pub results: Vec<TestCaseResult>,
    /// How long they took.
    pub elapsed: Duration,
}

/// What came of one case.
#[derive(Debug, Default)]
pub struct TestCaseResult {
    /// The name of the case.
    pub case: String,
    /// Whether its author gave it a name.
    pub is_named: bool,
    /// The rule, where the case is about one.
    pub rule: Option<CaseRule>,
    /// The rule in words.
    pub rule_text: String,
    /// The kind of the object; may be empty.
    pub kind: Text,
    /// The namespace of the object; may be empty.
    pub namespace: Text,
    /// The name of the object; may be empty.
    pub resource: Text,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub actual: String,
    /// Whether the case holds.
    pub is_ok: bool,
    /// Whether it fails because the rule needs what is not supported yet.
    pub is_unsupported: bool,
    /// Why it fails, one reason a line.
    pub message: String,
    /// Where the object was read.
    pub place: String,
    /// The operation of the request.
    pub operation: Option<Operation>,
    /// A command that shows more, where that is not a `trace` of a rule.
    pub hint: Option<String>,
}

/// A rule as results name it.
#[derive(Debug, Clone)]
pub struct CaseRule {
    /// The dialect.
    pub dialect: &'static str,
    /// The name of the policy.
    pub policy: Text,
    /// The name of the rule; nothing for all rules of the policy.
    pub rule: Option<Text>,
    /// The sort of rule, where that is known.
    pub sort: Option<Text>,
    /// How it validates, where the dialect has a word for it.
    pub method: Option<&'static str>,
    /// The argument of `trace --rule`.
    pub traced: String,
    /// The severity that its author gave it; may be empty.
    pub severity: Text,
    /// The category that its author gave it; may be empty.
    pub category: Text,
}

/// Which rules, and which branches of rules, the cases exercised.
#[derive(Debug, Default)]
pub struct CoverageSummary {
    /// How many rules there are.
    pub rules: usize,
    /// How many of them a case exercised.
    pub exercised_rules: usize,
    /// How many branches there are.
    pub branches: usize,
    /// How many of them a case exercised.
    pub exercised_branches: usize,
    /// What no case exercised: rules, and branches of rules that a case exercised.
    pub uncovered: Vec<UncoveredBranch>,
    /// Every rule with its branches, by file and line.
    pub by_rule: Vec<CoveredRule>,
}

/// A rule, and which of its branches the cases exercised.
#[derive(Debug, Default)]
pub struct CoveredRule {
    /// Its id.
    pub rule: String,
    /// The file that it is written in.
    pub file: String,
    /// The line at which it starts.
    pub line: u32,
    /// Whether a case exercised it.
    pub is_exercised: bool,
    /// Its branches, by line.
    pub branches: Vec<RuleBranchCoverage>,
}

/// A branch of a rule, and whether a case exercised it.
#[derive(Debug)]
pub struct RuleBranchCoverage {
    /// What it is, in the words of the rule.
    pub what: String,
    /// The line at which it is written.
    pub line: u32,
    /// Whether a case exercised it.
    pub is_exercised: bool,
}

impl CoverageSummary {
    /// Returns how much of the rules and their branches was exercised, in per cent.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share is shown to a person")]
    pub fn percent(&self) -> f64 {
        let all = self.rules + self.branches;
        let exercised = self.exercised_rules + self.exercised_branches;
        if all == 0 { 100.0 } else { exercised as f64 * 100.0 / all as f64 }
    }
}

impl CoveredRule {
    /// Returns how many branches were exercised.
    #[must_use]
    pub fn exercised_branches(&self) -> usize {
        self.branches.iter().filter(|branch| branch.is_exercised).count()
    }
}

/// A rule or branch that no case exercised.
#[derive(Debug)]
pub struct UncoveredBranch {
    /// The rule.
    pub rule: String,
    /// The branch of it; nothing for the whole rule.
    pub branch: Option<String>,
    /// Where it is written.
    pub place: String,
}

impl TestFileResult {
    /// Returns the cases that fail.
    pub fn failed(&self) -> impl Iterator<Item = &TestCaseResult> {
        self.results.iter().filter(|result| !result.is_ok)
    }

    fn annotations(&self) -> Vec<Annotation<'_>> {
        self.failed().map(|result| result.annotation(&self.file)).collect()
    }
}

impl TestResults<'_> {
    /// Returns how many cases hold, and how many fail.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let failed = self.files.iter().map(|file| file.failed().count()).sum();
        let all: usize = self.files.iter().map(|file| file.results.len()).sum();
        (all - failed, failed)
    }

    /// Returns every case that fails, at the start of its test file.
    pub(crate) fn annotations(&self) -> Vec<Annotation<'_>> {
        self.files.iter().flat_map(TestFileResult::annotations).collect()
    }
}

impl TestCaseResult {
    /// Returns `Kind namespace/name` of the object; may be empty.
    pub(crate) fn subject(&self) -> String {
        match (self.kind.as_str(), self.namespace.as_str()) {
            ("", _) => self.resource.to_string(),
            (kind, "") => format!("{kind} {}", self.resource),
            (kind, namespace) => format!("{kind} {namespace}/{}", self.resource),
        }
    }

    /// Returns the file and line of the part of the object that the result is about, where they are known.
    pub(crate) fn object_place(&self) -> Option<(&str, u64)> {
        // `FILE:LINE`, which the path of a field may follow.
        let place = self.place.split_whitespace().next()?;
        let (file, last) = place.rsplit_once(':')?;
        let last: u64 = last.parse().ok()?;
        match file.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
            Some((file, Ok(line))) => Some((file, line)),
            _ => Some((file, last)),
        }
    }

    fn annotation<'a>(&self, file: &'a str) -> Annotation<'a> {
        let subject = self.subject();
        let end = if self.place.is_empty() { String::new() } else { format!("\n{}", self.place) };
        let text = match subject.as_str() {
            "" => format!("{}{end}", self.message),
            subject => format!("{subject}: {}{end}", self.message),
        };
        let title = if self.rule_text.is_empty() { self.case.clone() } else { self.rule_text.clone() };
        Annotation {
            level: AnnotationLevel::Error,
            severity: Severity::High,
            identity: format!("{}\n{subject}", self.case),
            file: file.into(),
            position: Position::START,
            title,
            text,
        }
    }
}
