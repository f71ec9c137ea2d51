//! What the program around the server knows: projects, worlds, fixes and tests.

use std::path::{Path, PathBuf};

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, Engine, RuleId, RuleStatus};
use kubewright_report::{CoveredRule, ObjectRow, Severity};
use kubewright_value::Document;

/// The command line behind the server. Nothing of it uses a network.
pub trait EditorHost {
    /// Makes `root` the working directory and reads the project that it belongs to.
    fn open_project(&mut self, root: &Path) -> ProjectOutline;

    /// Returns the options of the dialects, without exceptions.
    fn dialect_options(&self) -> DialectOptions;

    /// Judges one object of a manifest; outcomes that comments or a baseline suppress are skips.
    fn judge(&self, engine: &Engine, object: &Document) -> ObjectRow;

    /// Returns fixes of the failure of one rule, the best first.
    fn fixes(&self, engine: &Engine, object: &Document, rule: &RuleId) -> Vec<ProposedFix>;

    /// Returns what each rule did to an object, step by step.
    fn trace(&self, engine: &Engine, object: &Document) -> Vec<TracedOutcome>;

    /// Returns what is wrong with a document that this program reads itself, such as a test file; nothing for others.
    fn check_own(&self, document: &Document) -> Option<Vec<Diagnostic>>;

    /// Returns a test of what the rules of `rule_files` say about an object.
    fn new_test(&self, rule_files: &[String], row: &ObjectRow) -> NewTest;

    /// Runs the tests of the project and returns which branches of its rules they reach.
    fn run_tests(&self) -> Vec<CoveredRule>;

    /// Returns an example of a function, and its result; `language` is `cel`, `jmespath` or `gotemplate`.
    fn function_example(&self, language: &str, name: &str) -> Option<(String, String)>;
}

/// What a project says, with paths from the working directory.
#[derive(Debug, Clone, Default)]
pub struct ProjectOutline {
    /// The folder that paths start from, which is the working directory now.
    pub root: PathBuf,
    /// The project file; empty where there is none.
    pub file: String,
    /// The files and folders with rules.
    pub rules: Vec<String>,
    /// The files and folders with manifests.
    pub resources: Vec<String>,
    /// The files and folders with exceptions.
    pub exceptions: Vec<String>,
    /// The files and folders with tests; those of the rules where the project names none.
    pub tests: Vec<String>,
    /// The names of rules that are not run, with wildcards.
    pub skipped_rules: Vec<String>,
    /// The severities of rules, by names with wildcards; a later one wins.
    pub severities: Vec<(String, Severity)>,
    /// What is wrong with the project file.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a rule did to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedOutcome {
    /// How it ended.
    pub status: RuleStatus,
    /// The object, as users know it.
    pub object: String,
    /// The steps, each in a line.
    pub text: String,
}

/// A change of a text that makes a rule pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFix {
    /// What it changes.
    pub title: String,
    /// The whole text after it.
    pub text: String,
}

/// A test that is not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTest {
    /// The file, from the working directory.
    pub file: String,
    /// Its text.
    pub text: String,
}
