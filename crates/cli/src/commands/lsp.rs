//! `lsp`: the language server, with the project, fixes and tests of the command line behind it.

use std::path::{Path, PathBuf};

use clap::Parser as _;
use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, Engine, RuleId};
use kubewright_files as files;
use kubewright_k8s::{Operation, UserInfo};
use kubewright_lsp::{EditorHost, NewTest, ProjectOutline, ProposedFix, TracedOutcome, serve_editor};
use kubewright_report::{CoveredRule, ObjectRow};
use kubewright_value::Document;

use super::fix::ObjectFixer;
use super::test::{check_test_document, run_coverage, scaffold};
use super::trace::trace_text;
use crate::arguments::{CliCommand, CommandLine, LspArguments, RuleOptions, SuppressionArguments};
use crate::failure::{CommandFailure, ExitStatus};
use crate::fixtures::{FileWorld, FixtureValues, OldObjects};
use crate::output::{Columns, capture_output};
use crate::project::{ProjectFile, check_project_document};
use crate::review::Reviewer;
use crate::rule_inputs::read_world;
use crate::rules::dialect_options;
use crate::suppressions::Suppressions;

/// The namespace of objects that name none.
const NAMESPACE: &str = "default";

/// Runs the command.
///
/// # Errors
/// When the connection fails.
pub(crate) fn run_lsp(_arguments: &LspArguments) -> Result<ExitStatus, CommandFailure> {
    let host = ProjectHost::new()?;
    serve_editor(Box::new(host))
        .map_err(|error| CommandFailure::usage(format!("the connection to the editor failed: {error}")))?;
    Ok(ExitStatus::Clean)
}

/// The project that an editor has open.
struct ProjectHost {
    project: ProjectFile,
    world: FileWorld,
    old: OldObjects,
    user: UserInfo,
    suppressions: Suppressions,
}

impl ProjectHost {
    fn new() -> Result<Self, CommandFailure> {
        let suppressions = Suppressions::open(&SuppressionArguments::default(), &mut Vec::new())?;
        Ok(Self {
            project: ProjectFile::default(),
            world: FileWorld::default(),
            old: OldObjects::default(),
            user: UserInfo::default(),
            suppressions,
        })
    }

    fn reviewer<'a>(&'a self, engine: &'a Engine, columns: Columns) -> Reviewer<'a> {
        Reviewer {
            engine,
            world: &self.world,
            operation: Operation::Create,
            namespace: NAMESPACE,
            old: &self.old,
            user: &self.user,
            is_lenient: false,
            evaluation_mode: None,
            written_rules: 0,
            columns,
            why_inputs: None,
        }
    }

    /// Reads what rules may look up, and what does not count.
    fn read_inputs(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let world = read_world(&self.project.world, FixtureValues::default(), diagnostics);
        let manifests = files::find_files(&self.project.resources).inputs;
        self.world = world.with(&manifests, NAMESPACE);
        let suppressions = SuppressionArguments {
            baseline: self.project.baseline.clone(),
            ..SuppressionArguments::default()
        };
        if let Ok(suppressions) = Suppressions::open(&suppressions, diagnostics) {
            self.suppressions = suppressions;
        }
    }
}

impl EditorHost for ProjectHost {
    fn open_project(&mut self, root: &Path) -> ProjectOutline {
        let (found, captured) = capture_output(|| ProjectFile::around(root));
        let mut diagnostics = captured.diagnostics;
        let (folder, project) = found.unwrap_or_else(|_| (root.to_owned(), ProjectFile::default()));
        self.project = project;
        self.read_inputs(&mut diagnostics);
        let project = &self.project;
        ProjectOutline {
            root: folder,
            file: project.path.to_string_lossy().into_owned(),
            rules: project.rules.clone(),
            resources: project.resources.clone(),
            exceptions: project.exceptions.clone(),
            tests: project.tests.clone(),
            skipped_rules: project.skipped_rules.clone(),
            severities: project.severities.clone(),
            diagnostics,
        }
    }

    fn dialect_options(&self) -> DialectOptions {
        dialect_options(&RuleOptions::default(), None)
    }

    fn judge(&self, engine: &Engine, object: &Document) -> ObjectRow {
        let columns = Columns { all_outcomes: true, patch: true, ..Columns::default() };
        let mut row = self.reviewer(engine, columns).review(object);
        // The text of the file may be another one than at the last time.
        self.suppressions.forget_file(&object.source.name);
        self.suppressions.apply(object, &mut row);
        row
    }

    fn fixes(&self, engine: &Engine, object: &Document, rule: &RuleId) -> Vec<ProposedFix> {
        let columns = Columns { all_outcomes: true, objects: true, ..Columns::default() };
        let reviewer = self.reviewer(engine, columns);
        let fixer =
            ObjectFixer { reviewer, suppressions: &self.suppressions, choice: 0, has_mutations: false };
        let fixes = fixer.fixes_of(object, rule).into_iter();
        fixes.map(|(title, text)| ProposedFix { title, text }).collect()
    }

    fn trace(&self, engine: &Engine, object: &Document) -> Vec<TracedOutcome> {
        let columns = Columns { all_outcomes: true, trace: true, ..Columns::default() };
        let row = self.reviewer(engine, columns).review(object);
        let traced = row.outcomes.iter().map(|outcome| TracedOutcome {
            status: outcome.status,
            object: row.subject.clone(),
            text: trace_text(outcome, &row),
        });
        traced.collect()
    }

    fn check_own(&self, document: &Document) -> Option<Vec<Diagnostic>> {
        let name = Path::new(&document.source.name).file_name()?.to_str()?;
        if files::TEST_FILES.contains(&name) {
            return Some(check_test_document(document));
        }
        let [project, _] = files::PROJECT_FILES;
        (name == project).then(|| check_project_document(document))
    }

    fn new_test(&self, rule_files: &[String], row: &ObjectRow) -> NewTest {
        let first = rule_files.first().map(Path::new).unwrap_or(Path::new(""));
        let beside = first.parent().unwrap_or(Path::new(""));
        let [name, _] = files::TEST_FILES;
        let folder = match beside.join(name).exists() {
            true => beside.join(row.name.as_str()),
            false => beside.to_owned(),
        };
        let text = scaffold::test_of_row(&folder, rule_files, row);
        NewTest { file: folder.join(name).to_string_lossy().into_owned(), text }
    }

    fn run_tests(&self) -> Vec<CoveredRule> {
        let project = &self.project;
        let paths = project.test_paths();
        let words = ["kubewright", "test", "--coverage", "--"];
        let words = words.into_iter().chain(paths.iter().map(String::as_str));
        let Ok(CommandLine { command: Some(CliCommand::Test(arguments)), .. }) =
            CommandLine::try_parse_from(words)
        else {
            return Vec::new();
        };
        let (covered, _) = capture_output(|| run_coverage(&arguments));
        covered.map(|summary| summary.by_rule).unwrap_or_default()
    }

    fn function_example(&self, language: &str, name: &str) -> Option<(String, String)> {
        super::function_example(language, name)
    }
}

impl ProjectFile {
    /// Makes the folder of the project around `root` the working directory, and reads the project file; without one, `root` is.
    ///
    /// # Errors
    /// When the project file cannot be read, or has a mistake.
    fn around(root: &Path) -> Result<(PathBuf, Self), CommandFailure> {
        let enter = |folder: &Path| {
            std::env::set_current_dir(folder).map_err(|error| {
                CommandFailure::usage(format!("cannot open `{}`: {error}", folder.display()))
            })
        };
        enter(root)?;
        let Some(path) = Self::find_file() else { return Ok((root.to_owned(), Self::default())) };
        let above = path.parent().map_or(0, |parent| parent.components().count());
        let folder = root.ancestors().nth(above).unwrap_or(root).to_owned();
        enter(&folder)?;
        let project = Self::in_folder(Path::new(""))?.unwrap_or_default();
        Ok((folder, project))
    }
}
