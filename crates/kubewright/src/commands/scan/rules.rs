//! The rules of a scan: those of the cluster, and those of files.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_cluster::{ApiResource, Error};
use kubewright_dialects::{DialectOptions, all_dialects};
use kubewright_engine::{
    ClusterSupport, Diagnostic, Engine, EvaluationMode, GENERATED_LABEL, Rule, RuleAction, WatchedResource,
};
use kubewright_files as files;
use kubewright_graph::References;
use kubewright_patterns::{self as patterns, Pattern};
use kubewright_serve::admitted_exceptions;
use kubewright_value::{Document, Source, Value, yaml};

use super::cluster::ScanCluster;
use super::rule_kinds::{RuleResourceRole, rule_resources};
use crate::arguments::ScanRuleArguments;
use crate::codes::{self, RULES_NOT_LISTED};
use crate::failure::CommandFailure;
use crate::output::Paint;
use crate::pattern_inputs::{compile_patterns, is_name_of_shipped, shipped};
use crate::rule_inputs::print_diagnostics;
use crate::rules::{dialect_options, take_exceptions};

/// The compiled rules of a scan.
pub(super) struct ScanRuleSet {
    /// The rules that judge objects as they are stored.
    pub(super) judging: Engine,
    /// The rules that would change objects. They run apart, so that no other rule sees their changes.
    pub(super) changing: Engine,
    /// All of them.
    pub(super) all: Vec<Arc<Rule>>,
    /// The patterns.
    pub(super) patterns: Vec<Pattern>,
    /// References of custom kinds, which patterns rely on.
    pub(super) references: References,
    /// What could not be read or compiled.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The cluster-wide shared entries.
    pub(super) shared: Vec<(WatchedResource, Value)>,
    /// The options of the dialects.
    pub(super) options: DialectOptions,
}

/// The documents that rules are compiled from.
#[derive(Default)]
struct ScanDocuments {
    rules: Vec<Document>,
    exceptions: Vec<Document>,
    shared: Vec<(WatchedResource, Value)>,
    diagnostics: Vec<Diagnostic>,
}

impl ScanRuleSet {
    /// Reads and compiles the rules that `arguments` name.
    ///
    /// # Errors
    /// When there are none.
    pub(super) fn read(
        cluster: &ScanCluster,
        arguments: &ScanRuleArguments,
    ) -> Result<Self, CommandFailure> {
        let mut options = dialect_options(&arguments.options, None);
        options.modrule.targets.clone_from(&arguments.targets);
        let mut documents = ScanDocuments::default();
        documents.read_files(arguments);
        if !arguments.no_cluster_rules {
            documents.read_cluster(cluster, arguments, &options);
        }
        options.exceptions = std::mem::take(&mut documents.exceptions);
        let set = Self::compile(documents, options, arguments);
        if set.all.is_empty() && set.patterns.is_empty() {
            print_diagnostics(&set.diagnostics, Paint::OFF);
            return Err(no_rules(arguments));
        }
        Ok(set)
    }

    fn compile(documents: ScanDocuments, options: DialectOptions, arguments: &ScanRuleArguments) -> Self {
        let ScanDocuments { rules, shared, mut diagnostics, .. } = documents;
        let (about_sets, rules): (Vec<Document>, Vec<Document>) = rules.into_iter().partition(|document| {
            patterns::is_pattern_document(document) || References::is_one(document)
        });
        let loaded = kubewright_dialects::load_documents(&all_dialects(&options), &rules);
        diagnostics.extend(loaded.diagnostics);
        let is_named = |diagnostic: &Diagnostic| arguments.rules.contains(&diagnostic.location.source.name);
        diagnostics.extend(loaded.unclaimed.into_iter().filter(is_named));
        let (references, wrong) = patterns::read_references(&about_sets);
        diagnostics.extend(wrong);
        let mut patterns = compile_patterns(&about_sets, &references, &mut diagnostics);
        patterns.sort_by(|one, other| one.name.cmp(&other.name));
        let mut rules = loaded.rules;
        rules.retain(|rule| rule.evaluation_modes.contains(EvaluationMode::Background));
        let all = Engine::new(rules).rules().to_vec();
        let (changing, judging) = all.iter().cloned().partition(|rule| rule.action == RuleAction::Mutate);
        let (changing, judging) = (Engine::sharing(changing), Engine::sharing(judging));
        Self { judging, changing, all, patterns, references, diagnostics, shared, options }
    }
}

impl ScanDocuments {
    /// Reads the rules, patterns and exceptions that `arguments` name.
    fn read_files(&mut self, arguments: &ScanRuleArguments) {
        let (names, paths): (Vec<String>, Vec<String>) =
            arguments.rules.iter().cloned().partition(|path| is_name_of_shipped(path));
        let found = files::find_files(&paths);
        self.diagnostics.extend(found.problems);
        let documents = files::read_documents(&found.inputs, &mut self.diagnostics);
        self.rules.extend(files::objects_of(documents, &mut self.diagnostics));
        let is_wanted = |document: &Document| {
            let name = document.value.str_at(&["metadata", "name"]);
            arguments.built_in_patterns || names.iter().any(|wanted| wanted == name)
        };
        self.rules.extend(shipped().into_iter().filter(is_wanted));
        let found = files::find_files(&arguments.exceptions);
        self.diagnostics.extend(found.problems);
        let exceptions = files::read_documents(&found.inputs, &mut self.diagnostics);
        self.exceptions.extend(take_exceptions(exceptions));
    }

    /// Reads the rules of the cluster, and exceptions from them that count.
    fn read_cluster(
        &mut self,
        cluster: &ScanCluster,
        arguments: &ScanRuleArguments,
        options: &DialectOptions,
    ) {
        let dialects = all_dialects(options);
        let mut exceptions = Vec::new();
        for one in rule_resources(&cluster.resources, &dialects) {
            if one.role == RuleResourceRole::Exception && arguments.exceptions_from.is_empty() {
                continue;
            }
            let address = one.resource.address();
            let objects = match cluster.list(&address.all()) {
                Ok(objects) => objects,
                Err(error) => {
                    self.diagnostics.push(rules_not_listed(&one.resource.full_name(), &error));
                    continue;
                }
            };
            match one.role {
                RuleResourceRole::Rule => {
                    let written = objects.iter().filter(|object| !is_generated(object));
                    self.rules.extend(written.map(|object| cluster_document(&one.resource, object)));
                }
                RuleResourceRole::Exception => {
                    exceptions.extend(objects.iter().map(|object| cluster_document(&one.resource, object)));
                }
                RuleResourceRole::Shared(watched) => {
                    self.shared.extend(objects.into_iter().map(|object| (watched, object)));
                }
            }
        }
        let languages: Vec<&dyn ClusterSupport> =
            dialects.iter().filter_map(|dialect| dialect.cluster_support()).collect();
        let admitted =
            admitted_exceptions(&exceptions, &arguments.exceptions_from, &languages, now_nanoseconds());
        self.exceptions.extend(admitted.documents);
    }
}

/// Returns whether a ValidatingAdmissionPolicy or its binding was made from a rule that the cluster has as well.
fn is_generated(object: &Value) -> bool {
    object.at(&["metadata", "labels", GENERATED_LABEL]).is_some()
}

/// Returns an object of the cluster as a document, written as a person would read it.
fn cluster_document(resource: &ApiResource, object: &Value) -> Document {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
    let name = match object.str_at(&["metadata", "namespace"]) {
        "" => format!("{}/{}", resource.full_name(), object.str_at(&["metadata", "name"])),
        namespace => format!("{}/{namespace}/{}", resource.full_name(), object.str_at(&["metadata", "name"])),
    };
    let source = Source::new(name, yaml::write(&object));
    match yaml::read(&source).documents.into_iter().next() {
        Some(document) => document,
        None => Document::made(object, source),
    }
}

fn rules_not_listed(resource: &str, error: &Error) -> Diagnostic {
    let message = format!("the rules in `{resource}` could not be read: {error}");
    codes::about_path(&RULES_NOT_LISTED, resource, message)
        .help("allow `list` on it, or use rules of files alone with `--no-cluster-rules --rules PATH`")
}

fn no_rules(arguments: &ScanRuleArguments) -> CommandFailure {
    let place = match (arguments.no_cluster_rules, arguments.rules.is_empty()) {
        (true, _) => "in what `--rules` names",
        (false, true) => "in the cluster",
        (false, false) => "in the cluster and in what `--rules` names",
    };
    CommandFailure::usage(format!("no rules found {place} that run in a background scan"))
        .help("name rules or patterns with `--rules PATH`, or look for all built-in ones with `--built-in-patterns`")
}

/// Returns the time in nanoseconds since 1970.
fn now_nanoseconds() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}
