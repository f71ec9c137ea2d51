//! The inputs of commands that evaluate rules on objects: rules, manifests, and fixtures in place of a cluster.

use kubewright_engine::{Diagnostic, Engine, EvaluationMode};
use kubewright_files::{self as files, Input, ObjectFilter};
use kubewright_k8s::{Operation, UserInfo};
use kubewright_report::text::listed_paths;

use crate::arguments::{ObjectArguments, RuleArguments};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::CommandFailure;
use crate::fixtures::{self, FileWorld, FixtureAnswers, FixtureValues, OldObjects};
use crate::output::{Columns, DiagnosticCounts, Paint, print_stderr, snippet};
use crate::review::Reviewer;
use crate::rules;

/// How many diagnostics are shown beside results.
const MAX_SHOWN_DIAGNOSTICS: usize = 100;

/// Loaded rules and fixtures, and the manifests to review.
pub(crate) struct RuleInputs {
    /// The rules.
    pub(crate) engine: Engine,
    /// What could not be read or compiled so far.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The manifests.
    pub(crate) manifests: Vec<Input>,
    world: FileWorld,
    operation: Operation,
    namespace: String,
    old: OldObjects,
    user: UserInfo,
    evaluation_mode: Option<EvaluationMode>,
}

impl RuleInputs {
    /// Loads rules and fixtures, and finds the manifests.
    ///
    /// # Errors
    /// When the arguments are invalid.
    pub(crate) fn open(rules: &RuleArguments, objects: &ObjectArguments) -> Result<Self, CommandFailure> {
        let files = objects.values.iter().chain(&objects.userinfo);
        let judged: Vec<String> = objects.resources.iter().chain(&objects.payloads).cloned().collect();
        let paths = rules.rules.iter().chain(&rules.exceptions).chain(&judged);
        let paths = paths.chain(&objects.world).chain(&objects.old).chain(files);
        if paths.filter(|path| *path == "-").count() > 1 {
            return Err(CommandFailure::usage(
                "`-` is given more than once; standard input can be read only once",
            ));
        }
        let loaded = rules::load_rule_files(&with_exceptions(rules, objects), objects.namespace.as_deref());
        let mut diagnostics = loaded.diagnostics;
        let chosen = rules::select_rules(loaded.rules, &objects.only).inspect_err(|_| {
            // The missing rule may be one that did not compile.
            print_diagnostics(&diagnostics, Paint::OFF);
        })?;
        let engine = Engine::new(chosen);
        let mut values = read_values_fixture(objects, &mut diagnostics);
        values.set(objects.set.iter().flat_map(|setting| setting.0.iter().cloned()));
        let world = read_world(&objects.world, values, &mut diagnostics);
        let user = fixtures::read_fixture_file(
            objects.userinfo.as_deref(),
            fixtures::read_user_info,
            &mut diagnostics,
        );
        let found = files::find_manifests(&judged);
        diagnostics.extend(found.problems);
        let namespace = objects.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let world = world.with(&found.inputs, &namespace).asking(&objects.allow_registry)?;
        let old = OldObjects::read(&objects.old, &namespace, &mut diagnostics);
        Ok(Self {
            engine,
            diagnostics,
            manifests: found.inputs,
            world,
            operation: Operation::named(&objects.operation.to_uppercase()).unwrap_or(Operation::Create),
            namespace,
            old,
            user: user.unwrap_or_default().renamed(objects.user.as_deref(), &objects.groups),
            evaluation_mode: objects.background.then_some(EvaluationMode::Background),
        })
    }

    /// Returns which documents the rules are about.
    pub(crate) fn wanted(&self) -> ObjectFilter {
        ObjectFilter::by(&self.engine)
    }

    /// Returns the reviewer of the manifests.
    pub(crate) fn reviewer(&self, columns: Columns) -> Reviewer<'_> {
        Reviewer {
            engine: &self.engine,
            world: &self.world,
            operation: self.operation,
            namespace: &self.namespace,
            old: &self.old,
            user: &self.user,
            is_lenient: false,
            evaluation_mode: self.evaluation_mode,
            columns,
        }
    }
}

/// Returns `rules` with all places that exceptions are read from. Standard input can be read only once.
fn with_exceptions(rules: &RuleArguments, objects: &ObjectArguments) -> RuleArguments {
    let mut rules = rules.clone();
    let within_rules = rules.rules.iter().filter(|_| objects.exceptions_within_policies);
    let within_resources = objects.resources.iter().filter(|_| objects.exceptions_within_resources);
    let further = within_rules.chain(within_resources).filter(|path| *path != "-").cloned().collect();
    rules.further_exceptions = further;
    rules
}

/// Reads what rules may look up.
pub(crate) fn read_world(
    paths: &[String],
    values: FixtureValues,
    diagnostics: &mut Vec<Diagnostic>,
) -> FileWorld {
    let found = files::find_files(paths);
    diagnostics.extend(found.problems);
    let documents = files::read_documents(&found.inputs, diagnostics);
    let mut answers = FixtureAnswers::default();
    let objects = fixtures::fixture_objects(documents, &mut answers, diagnostics);
    FileWorld::new(objects, answers, values).alone(paths.is_empty())
}

fn read_values_fixture(objects: &ObjectArguments, diagnostics: &mut Vec<Diagnostic>) -> FixtureValues {
    fixtures::read_fixture_file(objects.values.as_deref(), FixtureValues::read, diagnostics)
        .unwrap_or_default()
}

/// Returns the diagnostic of manifests without any object.
pub(crate) fn no_objects(paths: &[String]) -> Diagnostic {
    let message = format!("no objects found in {}", listed_paths(paths));
    codes::about_path(&NOTHING_FOUND, &paths.join(" "), message)
        .help("an object has an apiVersion and a kind; documents are separated by `---`")
}

/// Writes diagnostics to standard error; returns whether anything was left out because of one.
pub(crate) fn print_diagnostics(diagnostics: &[Diagnostic], paint: Paint) -> bool {
    // Hints are about how a rule is written, which is for `lint` to say.
    let doubtful = || diagnostics.iter().filter(|diagnostic| diagnostic.is_doubtful());
    for diagnostic in doubtful().take(MAX_SHOWN_DIAGNOSTICS) {
        print_stderr(snippet(diagnostic, paint));
    }
    if let Some(line) = closing_line(diagnostics) {
        print_stderr(line);
    }
    diagnostics.iter().any(Diagnostic::is_error)
}

/// Returns how many diagnostics there are, and where more is said about the worst; nothing where there is none.
fn closing_line(diagnostics: &[Diagnostic]) -> Option<String> {
    let doubtful = || diagnostics.iter().filter(|diagnostic| diagnostic.is_doubtful());
    let worst = doubtful().find(|diagnostic| diagnostic.is_error()).or_else(|| doubtful().next())?;
    let shown = doubtful().count();
    let more = if shown > MAX_SHOWN_DIAGNOSTICS {
        format!(", {MAX_SHOWN_DIAGNOSTICS} of them shown")
    } else {
        String::new()
    };
    let counts = DiagnosticCounts::of(&doubtful().cloned().collect::<Vec<_>>());
    Some(format!("{counts}{more}; `kubewright explain {}` says more", worst.code.id))
}
