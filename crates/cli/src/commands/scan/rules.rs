//! The rules of a scan: those of the cluster, and those of files.

use std::sync::Arc;

use kubewright_cluster::{ApiResource, Error};
use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::{Diagnostic, GENERATED_LABEL, Rule, WatchedResource};
use kubewright_files as files;
use kubewright_graph::References;
use kubewright_patterns::{self as patterns, Pattern};
use kubewright_scan::{ScanRuleOptions, ScanRules};
use kubewright_value::{Document, Source, Value, yaml};

use super::cluster::ScanCluster;
use crate::arguments::ScanRuleArguments;
use crate::codes::{self, RULES_NOT_LISTED};
use crate::failure::CommandFailure;
use crate::output::Paint;
use crate::pattern_inputs::{compile_patterns, is_name_of_shipped, shipped};
use crate::rule_inputs::print_diagnostics;
use crate::rules::{dialect_options, take_exceptions};
use kubewright_scan_controller::rule_kinds::{RuleResourceRole, rule_resources};
use kubewright_value::CompactSort as _;

/// The compiled rules of a scan.
pub(in crate::commands) struct ScanRuleSet {
    /// The rules, and the patterns in the form of a scan that goes on.
    pub(in crate::commands) compiled: Arc<ScanRules>,
    /// The rules.
    pub(in crate::commands) all: Vec<Arc<Rule>>,
    /// The patterns.
    pub(super) patterns: Vec<Pattern>,
    /// References of custom kinds, which patterns rely on.
    pub(super) references: References,
    /// What could not be read or compiled.
    pub(in crate::commands) diagnostics: Vec<Diagnostic>,
    /// The cluster-wide shared entries.
    pub(in crate::commands) shared: Vec<(WatchedResource, Value)>,
    /// The options of the dialects.
    pub(in crate::commands) options: DialectOptions,
    /// Whether all rules of the cluster were read.
    pub(super) is_complete: bool,
}

/// The documents that rules are compiled from.
#[derive(Default)]
pub(in crate::commands) struct ScanDocuments {
    /// Rules, patterns, bindings and references.
    pub(in crate::commands) rules: Vec<Document>,
    /// Exceptions that count.
    pub(in crate::commands) exceptions: Vec<Document>,
    /// The cluster-wide shared entries.
    pub(in crate::commands) shared: Vec<(WatchedResource, Value)>,
    /// What could not be read.
    pub(in crate::commands) diagnostics: Vec<Diagnostic>,
}

impl ScanRuleSet {
    /// Reads and compiles the rules that `arguments` name.
    ///
    /// # Errors
    /// When there are none.
    pub(super) fn read(cluster: &ScanCluster, arguments: &ScanRuleArguments) -> Result<Self, CommandFailure> {
        let set = Self::load(cluster, arguments);
        if set.all.is_empty() && set.patterns.is_empty() {
            print_diagnostics(&set.diagnostics, Paint::OFF);
            return Err(no_scan_rules(arguments));
        }
        Ok(set)
    }

    /// Reads and compiles the rules that `arguments` name; there may be none.
    pub(in crate::commands) fn load(cluster: &ScanCluster, arguments: &ScanRuleArguments) -> Self {
        let mut options = dialect_options(&arguments.options, None);
        options.modrule.targets.clone_from(&arguments.targets);
        let mut documents = ScanDocuments::default();
        // A rule of a file replaces the one of the cluster with the same name.
        if !arguments.no_cluster_rules {
            documents.read_cluster(cluster, arguments, &options);
        }
        documents.read_files(arguments, &mut options);
        Self::compile(documents, options, arguments)
    }

    fn compile(documents: ScanDocuments, options: DialectOptions, arguments: &ScanRuleArguments) -> Self {
        let ScanDocuments { rules, exceptions, shared, mut diagnostics } = documents;
        let is_complete = !diagnostics.iter().any(|diagnostic| diagnostic.code == &RULES_NOT_LISTED);
        diagnostics.extend(unclaimed_diagnostics(&rules, &options, arguments));
        let scan_options = ScanRuleOptions {
            now: options.inputs.now.unwrap_or_default(),
            dialects: options.clone(),
            exception_namespaces: arguments.exceptions_from.clone(),
            // Like `apply`, where no cluster says which bindings there are.
            runs_unbound_policies: arguments.no_cluster_rules,
            runs_admission_rules: arguments.admission_rules,
            ..ScanRuleOptions::default()
        };
        let (compiled, wrong) = ScanRules::compile(&rules, &exceptions, &scan_options);
        diagnostics.extend(wrong);
        let (references, _) = patterns::read_references(&rules);
        let mut patterns = compile_patterns(&rules, &references, &mut Vec::new());
        patterns.compact_sort_by(|one, other| one.name.cmp(&other.name));
        let all = compiled.all_rules();
        let compiled = Arc::new(compiled);
        Self { compiled, all, patterns, references, diagnostics, shared, options, is_complete }
    }
}

/// Returns the diagnostics of files that were named as rules and are none.
fn unclaimed_diagnostics(
    documents: &[Document],
    options: &DialectOptions,
    arguments: &ScanRuleArguments,
) -> Vec<Diagnostic> {
    let dialects = all_dialects(options);
    let is_claimed = |document: &Document| {
        dialects.iter().any(|dialect| dialect.claims(document) || dialect.is_auxiliary(document))
    };
    let unclaimed = documents.iter().filter(|document| !is_claimed(document)).cloned();
    let loaded = load_documents(&dialects, &unclaimed.collect::<Vec<_>>());
    let is_named = |diagnostic: &Diagnostic| arguments.rules.contains(&diagnostic.location.source.name);
    loaded.diagnostics.into_iter().chain(loaded.unclaimed.into_iter().filter(is_named)).collect()
}

impl ScanDocuments {
    /// Reads the rules and patterns that `arguments` name, and adds the exceptions to `options`.
    pub(super) fn read_files(&mut self, arguments: &ScanRuleArguments, options: &mut DialectOptions) {
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
        options.exceptions.extend(take_exceptions(exceptions));
    }

    /// Reads the rules of the cluster, and exceptions from them that count.
    pub(in crate::commands) fn read_cluster(
        &mut self,
        cluster: &ScanCluster,
        arguments: &ScanRuleArguments,
        options: &DialectOptions,
    ) {
        let dialects = all_dialects(options);
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
                    let written = objects.iter().filter(|object| !is_written_for_rule(object));
                    self.rules.extend(written.map(|object| listed_document(&one.resource, object)));
                }
                RuleResourceRole::Exception => {
                    self.exceptions
                        .extend(objects.iter().map(|object| listed_document(&one.resource, object)));
                }
                RuleResourceRole::Shared(watched) => {
                    self.shared.extend(objects.into_iter().map(|object| (watched, object)));
                }
            }
        }
    }
}

/// Returns whether a ValidatingAdmissionPolicy or its binding was made from a rule that the cluster has as well.
fn is_written_for_rule(object: &Value) -> bool {
    object.at(&["metadata", "labels", GENERATED_LABEL]).is_some()
}

/// Returns an object of the cluster as a document, written as a person would read it.
fn listed_document(resource: &ApiResource, object: &Value) -> Document {
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

fn no_scan_rules(arguments: &ScanRuleArguments) -> CommandFailure {
    if arguments.no_cluster_rules && arguments.rules.is_empty() {
        return CommandFailure::usage("`--no-cluster-rules` leaves no rules")
            .help("name rules or patterns with `--rules PATH`, or look for all built-in ones with `--built-in-patterns`");
    }
    let place = match (arguments.no_cluster_rules, arguments.rules.is_empty()) {
        (true, _) => "in what `--rules` names",
        (false, true) => "in the cluster",
        (false, false) => "in the cluster and in what `--rules` names",
    };
    CommandFailure::usage(format!("no rules found {place} that run in a background scan"))
        .help("name rules or patterns with `--rules PATH`, or look for all built-in ones with `--built-in-patterns`")
}
