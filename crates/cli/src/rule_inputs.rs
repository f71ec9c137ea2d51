//! The inputs of commands that evaluate rules on objects: rules, manifests, and fixtures in place of a cluster.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, Engine, EvaluationMode, Rule, RuleAction};
use kubewright_files::{self as files, Input, ObjectFilter};
use kubewright_k8s::{Operation, UserInfo};
use kubewright_report::WhyInputs;
use kubewright_report::text::listed_paths;

use crate::arguments::{ObjectArguments, RuleArguments, misplaced_manifests};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::CommandFailure;
use crate::fixtures::{self, FileWorld, FixtureAnswers, FixtureValues, OldObjects};
use crate::manifest_inputs::{CLUSTER_PREFIX, find_inputs};
use crate::output::{Columns, DiagnosticCounts, Paint, capture_diagnostics, print_stderr, snippet};
use crate::review::Reviewer;
use crate::rules;
use crate::since;
use crate::watch::{FileStamp, stamp};
use crate::why_words;
use kubewright_value::CompactSort as _;

/// How many diagnostics are shown beside results.
const MAX_SHOWN_DIAGNOSTICS: usize = 100;

/// Loaded rules and fixtures, and the manifests to review.
pub(crate) struct RuleInputs {
    /// The rules.
    pub(crate) engine: Arc<Engine>,
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
    /// What was read and searched before the manifests were looked for.
    fixed_paths: Vec<PathBuf>,
    /// The folders in which manifests were looked for, as they were.
    folders: Vec<(PathBuf, Option<FileStamp>)>,
    /// What was wrong before the manifests were looked for.
    opened_with: Vec<Diagnostic>,
    /// The files that were read for rules, if those of one do not change how those of others work.
    separable: Option<Vec<String>>,
    why_inputs: Option<Arc<WhyInputs>>,
}

/// Validating rules of a few files, before and after these files changed.
pub(crate) struct ReplacedRules {
    /// Their rules before, and those that change objects.
    pub(crate) before: Engine,
    /// Their rules now, and those that change objects.
    pub(crate) after: Engine,
    /// The files.
    pub(crate) files: HashSet<String>,
}

impl RuleInputs {
    /// Returns these inputs, for which a cluster is asked for what files do not say.
    #[cfg(feature = "serve")]
    pub(crate) fn with_live(self, live: Option<Arc<dyn fixtures::LiveWorld>>) -> Self {
        Self { world: self.world.live(live), ..self }
    }

    /// Loads rules and fixtures, and finds the manifests.
    ///
    /// # Errors
    /// When the arguments are invalid.
    pub(crate) fn open(rules: &RuleArguments, objects: &ObjectArguments) -> Result<Self, CommandFailure> {
        require_inputs(rules, objects)?;
        let files = objects.values.iter().chain(&objects.userinfo);
        let judged: Vec<String> = objects.resources.iter().chain(&objects.payloads).cloned().collect();
        let paths = rules.rules.iter().chain(&rules.exceptions).chain(&judged);
        let paths = paths.chain(&objects.world).chain(&objects.old).chain(files);
        if paths.filter(|path| *path == "-").count() > 1 {
            return Err(CommandFailure::usage(
                "`-` is given more than once; standard input can be read only once",
            ));
        }
        let inputs = Self::open_with(LoadedEngine::load(rules, objects)?, objects)?;
        Ok(Self { why_inputs: Some(Arc::new(why_words::why_inputs(rules, objects))), ..inputs })
    }

    /// Reads fixtures for rules that are loaded, and finds the manifests.
    ///
    /// # Errors
    /// When there is no cluster to read, or git cannot say what changed.
    pub(crate) fn open_with(loaded: LoadedEngine, objects: &ObjectArguments) -> Result<Self, CommandFailure> {
        let LoadedEngine { engine, mut diagnostics, separable } = loaded;
        let judged: Vec<String> = objects.resources.iter().chain(&objects.payloads).cloned().collect();
        let mut values = read_values_fixture(objects, &mut diagnostics);
        values.set(objects.set.iter().flat_map(|setting| setting.0.iter().cloned()));
        let world = read_any_world(objects, values, &mut diagnostics)?;
        let user = fixtures::read_fixture_file(
            objects.userinfo.as_deref(),
            fixtures::read_user_info,
            &mut diagnostics,
        );
        let namespace = objects.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let old = OldObjects::read(&objects.old, &namespace, &mut diagnostics);
        let (fixed_paths, opened_with) = (files::watched_paths(), diagnostics.clone());
        let mut found = find_inputs(&judged, &objects.inputs, objects.namespace.as_deref())?;
        diagnostics.extend(found.problems);
        let folders = searched_folders(&fixed_paths);
        let world = world.with(&found.inputs, &namespace).asking(&objects.allow_registry)?;
        if let Some(reference) = &objects.selection.since {
            since::keep_changed(&mut found.inputs, reference)?;
        }
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
            fixed_paths,
            folders,
            opened_with,
            separable,
            why_inputs: None,
        })
    }

    /// Loads the rules of `changed` files again, where nothing else has to be loaded again because of that: they are
    /// validating rules, before and now, and independent of other files.
    pub(crate) fn replace_rules(
        &mut self,
        changed: &[PathBuf],
        rules: &RuleArguments,
        objects: &ObjectArguments,
    ) -> Option<ReplacedRules> {
        let known = self.separable.as_ref().filter(|_| !objects.selection.is_partial(&objects.only))?;
        let changed: Vec<Input> =
            changed.iter().filter(|path| !path.is_dir()).cloned().map(Input::File).collect();
        let files: HashSet<String> = changed.iter().map(Input::name).collect();
        let now: Vec<String> = files::find_files(&rules.rules).inputs.iter().map(Input::name).collect();
        if now != *known || files.is_empty() || !files.iter().all(|name| known.contains(name)) {
            return None;
        }
        let loaded = rules::load_separate_rules(&changed, rules, objects.namespace.as_deref())?;
        let chosen = rules::choose_rules(loaded.rules, &[], &objects.selection).ok()?;
        let after: Vec<Arc<Rule>> = chosen.into_iter().map(Arc::new).collect();
        let is_of_file = |rule: &&Arc<Rule>| files.contains(&rule.location.source.name);
        let (before, others): (Vec<_>, Vec<_>) = self.engine.rules().iter().partition(is_of_file);
        let is_validating = |rule: &Arc<Rule>| rule.action == RuleAction::Validate && !rule.matches_current;
        let is_known = |rule: &Arc<Rule>| others.iter().any(|other| other.id == rule.id);
        if !before.iter().copied().chain(&after).all(is_validating) || after.iter().any(is_known) {
            return None;
        }
        let changing = others.iter().filter(|rule| rule.action != RuleAction::Validate);
        let changing: Vec<Arc<Rule>> = changing.map(|rule| Arc::clone(rule)).collect();
        let with = |own: Vec<Arc<Rule>>| Engine::sharing(changing.iter().cloned().chain(own).collect());
        let replaced = ReplacedRules {
            before: with(before.iter().map(|rule| Arc::clone(rule)).collect()),
            after: with(after.clone()),
            files,
        };
        let all = others.into_iter().cloned().chain(after).collect();
        self.engine = Arc::new(Engine::sharing(all));
        let order: Vec<String> = now;
        for list in [&mut self.opened_with, &mut self.diagnostics] {
            list.retain(|one| !replaced.files.contains(&one.location.source.name));
            list.extend(loaded.diagnostics.iter().cloned());
            list.compact_sort_by_cached_key(|one| {
                let place = order.iter().position(|name| *name == one.location.source.name);
                (place.unwrap_or(usize::MAX), one.location.position)
            });
        }
        Some(replaced)
    }

    /// Returns what was read and searched for rules and fixtures.
    pub(crate) fn fixed_paths(&self) -> &[PathBuf] {
        &self.fixed_paths
    }

    /// Looks for the manifests again, before a watched command runs again.
    ///
    /// # Errors
    /// When git cannot say what changed.
    pub(crate) fn find_again(&mut self, objects: &ObjectArguments) -> Result<(), CommandFailure> {
        self.world.forget_manifests();
        let has_folders = !self.folders.is_empty() && objects.selection.since.is_none();
        if has_folders && self.folders.iter().all(|(path, known)| stamp(path) == *known) {
            // The same files are there, whatever is in them now.
            for input in &self.manifests {
                if let Input::File(path) = input {
                    files::watch_path(path);
                }
            }
            self.folders.iter().for_each(|(path, _)| files::watch_path(path));
            return Ok(());
        }
        let judged: Vec<String> = objects.resources.iter().chain(&objects.payloads).cloned().collect();
        let mut found = find_inputs(&judged, &objects.inputs, objects.namespace.as_deref())?;
        self.diagnostics = [self.opened_with.clone(), found.problems].concat();
        self.folders = searched_folders(&self.fixed_paths);
        self.world.set_manifests(&found.inputs);
        if let Some(reference) = &objects.selection.since {
            since::keep_changed(&mut found.inputs, reference)?;
        }
        self.manifests = found.inputs;
        Ok(())
    }

    /// Loads other rules for the same manifests and fixtures.
    ///
    /// # Errors
    /// When a rule is asked for by name that is not there.
    pub(crate) fn load_other(
        &mut self,
        rules: &RuleArguments,
        objects: &ObjectArguments,
    ) -> Result<Engine, CommandFailure> {
        let loaded = rules::load_rule_files(&with_exceptions(rules, objects), objects.namespace.as_deref());
        self.diagnostics.extend(loaded.diagnostics);
        Ok(Engine::new(rules::choose_rules(loaded.rules, &objects.only, &objects.selection)?))
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
            written_rules: count_written_rules(self.engine.rules()),
            columns,
            why_inputs: self.why_inputs.as_ref(),
        }
    }
}

/// Compiled rules, which may be used again for other objects.
#[derive(Clone)]
pub(crate) struct LoadedEngine {
    engine: Arc<Engine>,
    /// What could not be read or compiled.
    diagnostics: Vec<Diagnostic>,
    /// As in [`RuleInputs`].
    separable: Option<Vec<String>>,
}

impl LoadedEngine {
    /// Loads the rules that are chosen.
    ///
    /// # Errors
    /// When a rule is asked for by name that is not there.
    pub(crate) fn load(rules: &RuleArguments, objects: &ObjectArguments) -> Result<Self, CommandFailure> {
        let loaded = rules::load_rule_files(&with_exceptions(rules, objects), objects.namespace.as_deref());
        let diagnostics = loaded.diagnostics;
        let separable = loaded.is_separable.then_some(loaded.names);
        let chosen =
            rules::choose_rules(loaded.rules, &objects.only, &objects.selection).inspect_err(|_| {
                // The missing rule may be one that did not compile.
                print_diagnostics(&diagnostics, Paint::OFF);
            })?;
        Ok(Self { engine: Arc::new(Engine::new(chosen)), diagnostics, separable })
    }
}

/// Returns the folders that were searched and are not among `fixed`, as they are.
fn searched_folders(fixed: &[PathBuf]) -> Vec<(PathBuf, Option<FileStamp>)> {
    let fixed: HashSet<&PathBuf> = fixed.iter().collect();
    let searched = files::watched_paths().into_iter().filter(|path| !fixed.contains(path) && path.is_dir());
    searched.map(|path| (path.clone(), stamp(&path))).collect()
}

/// Refuses a command without rules or manifests, which neither its arguments nor a project name.
fn require_inputs(rules: &RuleArguments, objects: &ObjectArguments) -> Result<(), CommandFailure> {
    rules::require_rules(rules)?;
    if objects.resources.is_empty()
        && objects.payloads.is_empty()
        && let Some(help) = misplaced_manifests(&rules.rules)
    {
        return Err(CommandFailure::usage("no manifests are given: they follow `-r`").help(help));
    }
    if objects.payloads.is_empty() { require_manifests(&objects.resources) } else { Ok(()) }
}

/// Refuses a command without manifests.
///
/// # Errors
/// When there are none.
pub(crate) fn require_manifests(resources: &[String]) -> Result<(), CommandFailure> {
    if resources.is_empty() {
        return Err(CommandFailure::usage("no manifests are given")
            .help("name them with `-r`, or write `resources` into kubewright.yaml"));
    }
    Ok(())
}

/// Returns how many rules there are, those at one place counted once: autogen derives several from one.
pub(crate) fn count_written_rules(rules: &[Arc<Rule>]) -> usize {
    let places = rules.iter().map(|rule| (&rule.location.source.name, rule.location.position));
    places.collect::<HashSet<_>>().len()
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

/// Reads what rules may look up, in files and in the cluster.
fn read_any_world(
    arguments: &ObjectArguments,
    values: FixtureValues,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<FileWorld, CommandFailure> {
    let (live, written): (Vec<String>, Vec<String>) =
        arguments.world.iter().cloned().partition(|path| path.starts_with(CLUSTER_PREFIX));
    if live.is_empty() {
        return Ok(read_world(&written, values, diagnostics));
    }
    let found = find_inputs(&live, &arguments.inputs, arguments.namespace.as_deref())?;
    diagnostics.extend(found.problems);
    let mut inputs = found.inputs;
    let named = files::find_files(&written);
    diagnostics.extend(named.problems);
    inputs.extend(named.inputs);
    let documents = files::read_documents(&inputs, diagnostics);
    let mut answers = FixtureAnswers::default();
    let objects = fixtures::fixture_objects(documents, &mut answers, diagnostics);
    Ok(FileWorld::new(objects, answers, values))
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
    if capture_diagnostics(diagnostics) {
        return diagnostics.iter().any(Diagnostic::is_error);
    }
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
