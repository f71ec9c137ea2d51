//! Rules, from files to an engine's list.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_dialects::{DialectOptions, Inputs, KeySource};
use kubewright_engine::{
    Diagnostic, Dialect, KindScope, NamespaceScope, Rule, RuleId, RuleMetadata, SetProgram, nearest_word,
};
use kubewright_files as files;
use kubewright_graph::References;
use kubewright_k8s::{AdmissionRequest, BUILT_IN_KINDS, Operation, WorkloadKind};
use kubewright_modrule::ModRuleOptions;
use kubewright_report::Severity;
use kubewright_report::ignores::fits_rule;
use kubewright_report::suppression::matches_name;
use kubewright_report::text::listed_paths;
use kubewright_traits::{self as traits, TraitOptions};
use kubewright_value::suggest::{did_you_mean, nearest_misspelling};
use kubewright_value::{Document, Step, Text};

use crate::arguments::{RuleArguments, RuleOptions, RuleSelection};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::CommandFailure;
use crate::fixtures::is_rule;
use crate::suppressions::nearest_help;
use kubewright_value::CompactSort as _;

/// The rules that can run, and what is wrong with the others.
#[derive(Debug, Default)]
pub(crate) struct LoadedRuleFiles {
    /// In the order in which they stand.
    pub(crate) rules: Vec<Rule>,
    /// In the order in which they stand.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// How many parts are no rules until they have parameters: those of traits.
    pub(crate) traits: usize,
    /// How many patterns there are, which are about many objects together.
    pub(crate) patterns: usize,
    /// How many documents teach references of kinds.
    pub(crate) references: usize,
    /// How many files hold rules, patterns or references, or something that is wrong.
    pub(crate) files: usize,
    /// The names of all files that were read for rules.
    pub(crate) names: Vec<String>,
    /// Whether no document changes how rules of other files work, as exceptions and bindings do.
    pub(crate) is_separable: bool,
}

/// Rules of a few files, which are independent of all others.
pub(crate) struct SeparateRules {
    /// The rules.
    pub(crate) rules: Vec<Rule>,
    /// What is wrong with them.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads and compiles the rules of `inputs` alone; nothing where documents in them change how other rules work.
pub(crate) fn load_separate_rules(
    inputs: &[files::Input],
    arguments: &RuleArguments,
    namespace: Option<&str>,
) -> Option<SeparateRules> {
    let mut diagnostics = Vec::new();
    let documents = files::read_documents(inputs, &mut diagnostics);
    let dialects = kubewright_dialects::all_dialects(&dialect_options(&arguments.options, namespace));
    if !are_separable(&dialects, &documents) {
        return None;
    }
    let loaded = kubewright_dialects::load_documents(&dialects, &documents);
    diagnostics.extend(loaded.diagnostics);
    let is_named = |diagnostic: &Diagnostic| arguments.rules.contains(&diagnostic.location.source.name);
    diagnostics.extend(loaded.unclaimed.into_iter().filter(is_named));
    Some(SeparateRules { rules: loaded.rules, diagnostics })
}

/// Returns whether no document changes how rules of other files work.
fn are_separable(dialects: &[Box<dyn Dialect>], documents: &[Document]) -> bool {
    let is_auxiliary = |document: &Document| {
        let is_of_dialect = dialects.iter().any(|dialect| dialect.is_auxiliary(document));
        let is_list = document.value.str_at(&["kind"]).ends_with("List");
        is_of_dialect
            || is_list
            || kubewright_dialects::is_exception_document(document)
            || References::is_one(document)
            || traits::is_trait_resource(document)
    };
    !documents.iter().any(is_auxiliary)
}

/// Reads and compiles the rules that `arguments` name. `namespace` is where rules belong that name none.
pub(crate) fn load_rule_files(arguments: &RuleArguments, namespace: Option<&str>) -> LoadedRuleFiles {
    let paths = &arguments.rules;
    let found = files::find_files(paths);
    let mut diagnostics = found.problems;
    let exceptions = files::find_files(&arguments.exceptions);
    let are_exceptions_missing = !exceptions.problems.is_empty();
    diagnostics.extend(exceptions.problems);
    let mut documents = files::read_documents(&found.inputs, &mut diagnostics);
    if arguments.further_exceptions.iter().any(|path| paths.contains(path)) {
        documents.retain(|document| !kubewright_dialects::is_exception_document(document));
    }
    let mut options = dialect_options(&arguments.options, namespace);
    let documents_of_exceptions = files::read_documents(&exceptions.inputs, &mut diagnostics);
    options.exceptions = self::take_exceptions(documents_of_exceptions);
    // What is wrong with these files is said where they are read for what they are.
    let further = files::find_files(&arguments.further_exceptions).inputs;
    options.exceptions.extend(self::take_exceptions(files::read_documents(&further, &mut Vec::new())));
    if options.exceptions.is_empty() && !arguments.exceptions.is_empty() && !are_exceptions_missing {
        let message = format!("no exceptions found in {}", listed_paths(&arguments.exceptions));
        let problem = codes::about_path(&NOTHING_FOUND, &arguments.exceptions.join(" "), message);
        diagnostics.push(problem.help("an exception is a document such as a PolicyException"));
    }
    let dialects = kubewright_dialects::all_dialects(&options);
    let is_separable = options.exceptions.is_empty() && are_separable(&dialects, &documents);
    let loaded = kubewright_dialects::load_documents(&dialects, &documents);
    diagnostics.extend(loaded.diagnostics);
    let mut named: BTreeSet<String> = documents
        .iter()
        .filter(|document| is_rule_document(&dialects, document) || References::is_one(document))
        .map(|document| document.source.name.clone())
        .collect();
    let references = documents.iter().filter(|document| References::is_one(document)).count();
    if documents.iter().any(traits::is_trait_resource) {
        let objects = files::objects_of(documents, &mut Vec::new());
        diagnostics.extend(traits::lint_together(&objects));
    }
    let ids = loaded.rules.iter().map(|rule| &*rule.id);
    diagnostics.extend(kubewright_dialects::check_all_exceptions(&options.exceptions, ids));
    let is_named = |diagnostic: &Diagnostic| paths.contains(&diagnostic.location.source.name);
    diagnostics.extend(loaded.unclaimed.into_iter().filter(is_named));
    let names: Vec<String> = found.inputs.iter().map(files::Input::name).collect();
    diagnostics.compact_sort_by_cached_key(|diagnostic| {
        let place = names.iter().position(|name| *name == diagnostic.location.source.name);
        (place.unwrap_or(usize::MAX), diagnostic.location.position)
    });
    if loaded.rules.is_empty() && !diagnostics.iter().any(Diagnostic::is_error) {
        let message = format!("no rules found in {}", listed_paths(paths));
        let help = match loaded.set_programs.first() {
            None => "",
            Some(SetProgram::Pattern) => {
                "patterns are looked for in a set of objects: `kubewright detect FILE -r RESOURCES`"
            }
            Some(SetProgram::Trait) => {
                "traits are rendered with their parameters: `kubewright render --trait FILE -f MANIFESTS`"
            }
        };
        diagnostics.push(codes::about_path(&NOTHING_FOUND, &paths.join(" "), message).help(help));
    }
    named.extend(diagnostics.iter().map(|diagnostic| diagnostic.location.source.name.clone()));
    let count = |wanted| loaded.set_programs.iter().filter(|program| **program == wanted).count();
    let mut rules = loaded.rules;
    kubewright_dialects::run_in_given_order(rules.iter_mut());
    let (patterns, traits) = (count(SetProgram::Pattern), count(SetProgram::Trait));
    LoadedRuleFiles {
        rules,
        diagnostics,
        traits,
        patterns,
        references,
        files: names.iter().filter(|name| named.contains(*name)).count(),
        names,
        is_separable,
    }
}

/// Returns whether a rule language reads `document`, alone or beside its rules.
fn is_rule_document(dialects: &[Box<dyn Dialect>], document: &Document) -> bool {
    dialects.iter().any(|dialect| dialect.claims(document) || dialect.is_auxiliary(document))
}

/// Returns the exceptions among `documents`; lists are replaced by their items.
pub(crate) fn take_exceptions(documents: Vec<Document>) -> Vec<Document> {
    let objects = files::objects_of(documents, &mut Vec::new());
    objects.into_iter().filter(kubewright_dialects::is_exception_document).collect()
}

/// Refuses a command without rules, which neither its arguments nor a project name.
///
/// # Errors
/// When there are none.
pub(crate) fn require_rules(rules: &RuleArguments) -> Result<(), CommandFailure> {
    if rules.rules.is_empty() {
        return Err(CommandFailure::usage("no rules are given")
            .help("name files or folders with rules, or write `rules` into kubewright.yaml"));
    }
    Ok(())
}

/// Returns the rules of `rules` that are called by one of `only` and that `selection` does not leave out, with the severities
/// that it gives them.
///
/// # Errors
/// When a name fits no rule.
pub(crate) fn choose_rules(
    mut rules: Vec<Rule>,
    only: &[String],
    selection: &RuleSelection,
) -> Result<Vec<Rule>, CommandFailure> {
    for rule in &mut rules {
        if let Some(severity) = severity_in_project(&rule.id, &selection.severities) {
            let metadata =
                RuleMetadata { severity: severity.name().into(), ..RuleMetadata::clone(&rule.metadata) };
            rule.metadata = Arc::new(metadata);
        }
    }
    let all: Vec<Arc<RuleId>> = rules.iter().map(|rule| Arc::clone(&rule.id)).collect();
    let mut rules = select_rules(rules, only)?;
    for name in &selection.skipped {
        if !all.iter().any(|id| fits_rule(id, name)) {
            return Err(unknown_rule(name, all.iter().map(|id| &**id)));
        }
        rules.retain(|rule| !fits_rule(&rule.id, name));
    }
    let is_wanted = |category: &str| selection.categories.iter().any(|name| matches_category(name, category));
    if let Some(name) = selection.categories.iter().find(|name| {
        !rules.is_empty() && !rules.iter().any(|rule| matches_category(name, &rule.metadata.category))
    }) {
        let known: Vec<&str> = rules.iter().map(|rule| rule.metadata.category.as_str()).collect();
        let failure = CommandFailure::usage(format!("no rule has the category `{name}`"));
        return Err(failure.help(nearest_help(name, known)));
    }
    rules.retain(|rule| selection.categories.is_empty() || is_wanted(&rule.metadata.category));
    let least = selection.severity;
    rules.retain(|rule| least.is_none_or(|least| Severity::of_rule(&rule.metadata.severity) >= least));
    Ok(rules)
}

/// Returns the severity that a project gives to a rule; the last entry that fits counts.
pub(crate) fn severity_in_project(id: &RuleId, severities: &[(String, Severity)]) -> Option<Severity> {
    severities.iter().rev().find(|(name, _)| fits_rule(id, name)).map(|(_, severity)| *severity)
}

/// Returns whether a category is called `name`, in any case of letters, with `*` and `?` in the name.
pub(crate) fn matches_category(name: &str, category: &str) -> bool {
    matches_name(&name.to_lowercase(), &category.to_lowercase())
}

/// Returns the rules of `rules` that are called by one of `names`, or are of the policy that is; all of them when there
/// are no names.
///
/// # Errors
/// When a name fits no rule.
pub(crate) fn select_rules(rules: Vec<Rule>, names: &[String]) -> Result<Vec<Rule>, CommandFailure> {
    let mut is_chosen = vec![names.is_empty(); rules.len()];
    for name in names {
        let mut chosen: Vec<bool> = rules.iter().map(|rule| is_rule_called(&rule.id, name)).collect();
        if !chosen.contains(&true) {
            chosen = rules.iter().map(|rule| is_of_policy(&rule.id, name)).collect();
        }
        if !chosen.contains(&true) && name.contains(['*', '?']) {
            chosen = rules.iter().map(|rule| fits_rule(&rule.id, name)).collect();
        }
        if !chosen.contains(&true) {
            return Err(unknown_rule(name, rules.iter().map(|rule| &*rule.id)));
        }
        is_chosen.iter_mut().zip(chosen).for_each(|(known, chosen)| *known |= chosen);
    }
    Ok(rules.into_iter().zip(is_chosen).filter(|(_, is_chosen)| *is_chosen).map(|(rule, _)| rule).collect())
}

/// Returns whether `name` is that of the rule's policy, perhaps with the rule language before it.
pub(crate) fn is_of_policy(id: &RuleId, name: &str) -> bool {
    !id.policy.is_empty()
        && (name == id.policy
            || name.strip_prefix(id.dialect).and_then(|rest| rest.strip_prefix('/')) == Some(&id.policy))
}

/// Returns whether `name` is the rule's full id, `policy/rule` or `rule`, or that of the rule it was made from.
pub(crate) fn is_rule_called(id: &RuleId, name: &str) -> bool {
    if is_rule(&id.rule, name) {
        return true;
    }
    let Some((before, rule)) = name.rsplit_once('/') else { return false };
    is_rule(&id.rule, rule) && (before == id.policy || before == format!("{}/{}", id.dialect, id.policy))
}

/// Returns the name nearest to `name`, in the same form.
pub(crate) fn nearest_name<'a>(name: &str, ids: impl Iterator<Item = &'a RuleId>) -> Option<String> {
    let names: Vec<String> =
        ids.flat_map(|id| [id.rule.to_string(), id.policy.to_string(), id.short(), id.to_string()]).collect();
    nearest_word(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns why the scope of `rule` leaves out `request`.
pub(crate) fn out_of_scope_reason(rule: &Rule, request: &AdmissionRequest) -> String {
    let (scope, places) = (&rule.scope, &rule.scope.places);
    if let KindScope::Named(kinds) = &scope.kinds
        && !kinds.contains(&request.kind.kind)
    {
        return other_kind_reason(rule, kinds, request);
    }
    if !scope.operations.contains(request.operation) {
        let place = places.operations.as_ref().unwrap_or(&rule.location);
        return format!("it is about {} only ({place})", scope.operations);
    }
    match (&scope.namespaces, &places.namespaces) {
        (NamespaceScope::Named(names), Some((why, place))) => {
            let why = if why.is_empty() { String::new() } else { format!(", {why}") };
            format!("it is about {} only{why} ({place})", listed_namespaces(names))
        }
        (NamespaceScope::Named(names), None) => {
            format!("it is about {} only ({})", listed_namespaces(names), rule.location)
        }
        (NamespaceScope::Any, _) => format!("it is about other objects ({})", rule.location),
    }
}

/// Returns how to try `rule`, whose scope leaves out `request`, on the same object; empty where no argument does it.
pub(crate) fn out_of_scope_help(rule: &Rule, request: &AdmissionRequest) -> String {
    let scope = &rule.scope;
    let is_kind = match &scope.kinds {
        KindScope::Named(kinds) => kinds.contains(&request.kind.kind),
        KindScope::Any => true,
    };
    let other = Operation::ALL.into_iter().find(|one| scope.operations.contains(*one));
    match other {
        Some(other) if is_kind && !scope.operations.contains(request.operation) => {
            format!("`--operation {other}` tries it")
        }
        _ => String::new(),
    }
}

fn other_kind_reason(rule: &Rule, kinds: &[Text], request: &AdmissionRequest) -> String {
    let is_about_pods = kinds.iter().any(|kind| kind == "Pod" || WorkloadKind::named(kind).is_some());
    if let Some((controllers, place)) = &rule.scope.places.pod_controllers
        && is_about_pods
        && WorkloadKind::named(&request.kind.kind).is_some()
    {
        let names: Vec<&str> =
            controllers.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        return match names.as_slice() {
            [] | ["none"] => format!("it is about kind `Pod` only: autogen is off ({place})"),
            names => format!("autogen is limited to {} ({place})", names.join(", ")),
        };
    }
    let names: Vec<_> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    let misspelt =
        kinds.iter().find_map(|kind| misspelt_kind(kind, &request.kind.kind).map(|near| (kind, near)));
    let place = written_at(rule, misspelt.as_ref().map(|(kind, _)| *kind).or(kinds.first()));
    let near = misspelt.map_or_else(String::new, |(_, near)| format!("; {}", did_you_mean(near)));
    format!("it is about kind {} only{place}{near}", names.join(", "))
}

fn listed_namespaces(names: &[Text]) -> String {
    let one = |name: &Text| match name.as_str() {
        "" => "objects without a namespace".to_owned(),
        name => format!("namespace `{name}`"),
    };
    names.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// Returns the path in the object of what puts it out of the scope of `rule`.
pub(crate) fn out_of_scope_subject(rule: &Rule, request: &AdmissionRequest) -> Vec<Step> {
    let keys: &[&str] = match (&rule.scope.kinds, &rule.scope.namespaces) {
        (KindScope::Named(kinds), _) if !kinds.contains(&request.kind.kind) => &["kind"],
        (_, NamespaceScope::Named(_)) if rule.scope.operations.contains(request.operation) => {
            &["metadata", "namespace"]
        }
        _ => &["metadata", "name"],
    };
    keys.iter().map(|key| Step::from(*key)).collect()
}

/// Returns the kind that `kind` is a misspelling of: that of the object, or one that is known; nothing for a known kind.
fn misspelt_kind(kind: &str, of_object: &str) -> Option<String> {
    let known = BUILT_IN_KINDS.iter().flat_map(|(.., kinds)| kinds.iter().copied());
    nearest_misspelling(kind, known.chain([of_object])).map(str::to_owned)
}

/// The lines of a rule in which a kind is looked for.
const MAX_RULE_LINES: u32 = 200;

/// Returns ` (FILE:LINE:COLUMN)` of the first line of a rule that has `kind` in it, or else of its resources; empty where
/// there are none.
fn written_at(rule: &Rule, kind: Option<&Text>) -> String {
    let (source, start) = (&rule.location.source, rule.location.position.line);
    let Some(kind) = kind else { return String::new() };
    let find = |line: u32| {
        let text = source.line(line)?;
        Some((line, text.get(..text.find(kind.as_str())?)?.chars().count() + 1))
    };
    match (start..start.saturating_add(MAX_RULE_LINES)).find_map(find) {
        Some((line, column)) => format!(" ({}:{line}:{column})", source.name),
        None => rule.scope.places.kinds.as_ref().map_or_else(String::new, |place| format!(" ({place})")),
    }
}

fn unknown_rule<'a>(name: &str, ids: impl Iterator<Item = &'a RuleId> + Clone) -> CommandFailure {
    let failure = CommandFailure::usage(format!("there is no rule `{name}`"));
    match nearest_name(name, ids.clone()) {
        Some(near) => failure.help(did_you_mean(near)),
        None => {
            let known: Vec<String> = ids.take(10).map(|id| format!("`{id}`")).collect();
            failure.help(if known.is_empty() {
                "no rule could be loaded".to_owned()
            } else {
                format!("the rules are {}", known.join(", "))
            })
        }
    }
}

/// The seed of random numbers: without a cluster, what is done twice has the same result twice.
const OFFLINE_SEED: u64 = 0;

/// From when on certificates are valid that are made without a cluster: 2020-01-01, in nanoseconds since 1970.
const OFFLINE_VALID_FROM: i128 = 1_577_836_800_000_000_000;

/// Returns the options of the dialects. Random numbers and keys that follow from them are the same in every run; a server
/// chooses its own.
pub(crate) fn dialect_options(options: &RuleOptions, namespace: Option<&str>) -> DialectOptions {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i128::try_from(since.as_nanos()).ok());
    let usual = DialectOptions::default().modrule;
    let cluster_rules_namespace = options.cluster_rules_namespace.as_deref();
    DialectOptions {
        inputs: Inputs {
            now,
            random_seed: Some(OFFLINE_SEED),
            keys: Some(KeySource { seed: [0; 32], valid_from: OFFLINE_VALID_FROM }),
        },
        exceptions: Vec::new(),
        modrule: ModRuleOptions {
            cluster_rules_namespace: cluster_rules_namespace
                .map_or(usual.cluster_rules_namespace.clone(), Into::into),
            default_namespace: namespace.map(Into::into),
            allowed_functions: options.allowed_functions.clone(),
            compatible_with: options.compatible_with.clone(),
            ..usual
        },
        traits: TraitOptions { checks_idempotence: options.checks_idempotence },
        rules_only: false,
    }
}
