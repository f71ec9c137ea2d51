//! Documents to the rules of a scan.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kubewright_dialects::{
    AdmittedExceptions, admitted_exceptions, all_dialects, compile_within_budget, is_missing_binding,
    list_documents,
};
use kubewright_engine::{
    CompiledPolicy, Diagnostic, Dialect, Engine, GENERATED_LABEL, Recompile, Rule, RuleAction, RuleId,
    SetProgram,
};
use kubewright_golib::compile_budget::CompileBudget;
use kubewright_k8s::Operation;
use kubewright_patterns::DetectionSettings;
use kubewright_value::Document;

use super::background::BackgroundPolicy;
use super::digest::{PolicyDigest, hash_creation, hash_document, is_about_policy};
use super::owners::OwnerRules;
use super::pattern_set::PatternSet;
use super::standing::standing_rule;
use super::{ScanRuleOptions, ScanRules};
use crate::ObjectKey;
use crate::clock_use::names_clock;
use crate::field_use::parts_read_by;

/// Compiles `documents`; see [`ScanRules::compile`].
pub(super) fn compile_rules(
    documents: &[Document],
    exceptions: &[Document],
    options: &ScanRuleOptions,
) -> (ScanRules, Vec<Diagnostic>) {
    let mut dialect_options = options.dialects.clone();
    dialect_options.inputs.now = Some(options.now);
    let AdmittedExceptions { documents: admitted, until } = {
        let dialects = all_dialects(&dialect_options);
        let languages: Vec<_> = dialects.iter().filter_map(|dialect| dialect.cluster_support()).collect();
        admitted_exceptions(exceptions, &options.exception_namespaces, &languages, options.now)
    };
    dialect_options.exceptions.extend(admitted);
    let dialects = all_dialects(&dialect_options);
    let mut auxiliaries = vec![Vec::new(); dialects.len()];
    let mut rules = Vec::new();
    let documents = documents.iter().flat_map(|document| match list_documents(document) {
        Some(items) => items.collect(),
        None => vec![document.clone()],
    });
    for document in documents.filter(|document| !is_written_from_rule(document)) {
        let dialect = dialects.iter().position(|dialect| dialect.is_auxiliary(&document));
        dialect.and_then(|dialect| auxiliaries.get_mut(dialect)).unwrap_or(&mut rules).push(document);
    }
    let mut compiler = RuleSetCompiler {
        dialects: &dialects,
        auxiliaries: &auxiliaries,
        exceptions: &dialect_options.exceptions,
        budget: CompileBudget::default(),
        compiled: ScanRules { expiry: until, ..ScanRules::default() },
        rules: Vec::new(),
        standing: Vec::new(),
        pattern_documents: Vec::new(),
        runs_unbound_policies: options.runs_unbound_policies,
        runs_admission_rules: options.runs_admission_rules,
        diagnostics: Vec::new(),
    };
    compiler.compile_all(&rules, &options.detection);
    compiler.finish()
}

/// Returns whether we wrote the document from a rule, which is judged itself.
fn is_written_from_rule(document: &Document) -> bool {
    document.value.str_at(&["metadata", "labels", GENERATED_LABEL]) == "true"
}

/// The label of rule objects whose results are in no report.
const REPORTS_DISABLED_LABEL: &str = "reports.kyverno.io/disabled";

/// The label of policies of the API server that are to be reported, with the value `true`.
const REPORTS_ENABLED_LABEL: &str = "reports.kyverno.io/enabled";

/// Returns whether the author of a policy asks for reports, also where nothing binds it yet.
fn asks_for_reports(document: &Document) -> bool {
    document.value.str_at(&["metadata", "labels", REPORTS_ENABLED_LABEL]) == "true"
}

/// Rules under construction.
struct RuleSetCompiler<'d> {
    dialects: &'d [Box<dyn Dialect>],
    /// The auxiliary documents of each dialect.
    auxiliaries: &'d [Vec<Document>],
    exceptions: &'d [Document],
    budget: CompileBudget,
    compiled: ScanRules,
    rules: Vec<Rule>,
    standing: Vec<Rule>,
    pattern_documents: Vec<&'d Document>,
    runs_unbound_policies: bool,
    runs_admission_rules: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'d> RuleSetCompiler<'d> {
    fn compile_all(&mut self, documents: &'d [Document], detection: &DetectionSettings) {
        let dialects = self.dialects.iter().zip(self.auxiliaries);
        for document in documents {
            let found = dialects.clone().find(|(dialect, _)| dialect.claims(document));
            if let Some((dialect, auxiliaries)) = found {
                self.add(dialect.as_ref(), document, auxiliaries);
            }
        }
        let ids: Vec<_> = self.rules.iter().map(|rule| Arc::clone(&rule.id)).collect();
        for (dialect, auxiliaries) in dialects {
            self.diagnostics.extend(dialect.check_auxiliaries(auxiliaries, &ids));
        }
        if !self.pattern_documents.is_empty() {
            // Only references are read of them, whatever their language.
            let auxiliaries = self.auxiliaries.concat();
            self.compiled.patterns = PatternSet::compile(&self.pattern_documents, &auxiliaries, detection);
            let reads = |document: &&Document| parts_read_by(&document.value).bookkeeping;
            self.compiled.do_patterns_read_bookkeeping = self.pattern_documents.iter().any(reads);
        }
    }

    fn add(&mut self, dialect: &dyn Dialect, document: &'d Document, auxiliaries: &[Document]) {
        let budget = &mut self.budget;
        // Compiling never panics; if it does, only this document is lost.
        let compiled =
            catch_unwind(AssertUnwindSafe(|| compile_within_budget(dialect, document, auxiliaries, budget)));
        let CompiledPolicy {
            mut rules,
            scan_rules,
            needs,
            recompile,
            diagnostics,
            set_programs,
            background,
            ..
        } = compiled.unwrap_or_default();
        let is_reported = document.value.at(&["metadata", "labels", REPORTS_DISABLED_LABEL]).is_none();
        let is_unbound = diagnostics.iter().any(|diagnostic| is_missing_binding(diagnostic.code));
        self.diagnostics.extend(diagnostics);
        if is_unbound && !self.runs_unbound_policies && !asks_for_reports(document) {
            return;
        }
        if is_reported && set_programs.contains(&SetProgram::Pattern) {
            self.pattern_documents.push(document);
        }
        let key = ObjectKey::of(&document.value);
        let related: Vec<&Document> = auxiliaries
            .iter()
            .chain(self.exceptions)
            .filter(|other| is_about_policy(&other.value, &key))
            .collect();
        let reads_clock = recompile == Recompile::Periodically || names_clock(&document.value);
        let mut standing = Vec::new();
        if !background.is_empty() {
            let is_writing = |rule: &mut Rule| background.iter().any(|program| *program.rule() == rule.id);
            let writing: Vec<Arc<Rule>> = rules.extract_if(.., is_writing).map(Arc::new).collect();
            let asked = |rule: &Arc<Rule>| {
                let program = background.iter().find(|program| *program.rule() == rule.id)?;
                standing_rule(rule, program, &document.value, reads_clock)
            };
            standing.extend(writing.iter().filter(|_| is_reported).filter_map(asked));
            let mut digest = PolicyDigest::default();
            let documents = std::iter::once(document).chain(related.iter().copied());
            digest.add(documents.map(|document| hash_document(&document.value)));
            self.compiled.background.push(BackgroundPolicy {
                key: key.clone(),
                document: document.clone(),
                digest: digest.0,
                rules: writing,
                programs: background,
            });
        }
        let is_scanned = |rule: &Rule| {
            let is_of_scan = rule.evaluation_modes.background || self.runs_admission_rules;
            rule.action.is_at_admission() && is_of_scan && rule.scope.operations.contains(Operation::Create)
        };
        let scanned = rules.into_iter().chain(scan_rules).filter(is_scanned).filter(|_| is_reported);
        let mut rules: Vec<Rule> = scanned.collect();
        rules.iter_mut().for_each(|rule| rule.evaluation_modes.background = true);
        if rules.is_empty() && standing.is_empty() {
            return;
        }
        self.compiled.needs.add(needs);
        // Of two documents with one name the rules of both count in the engine, so both count here.
        let policy = self.compiled.policies.entry(key.clone()).or_default();
        policy
            .digest
            .add(std::iter::once(document).chain(related).map(|document| hash_document(&document.value)));
        if !standing.is_empty() {
            // Which objects are older than it.
            policy.digest.add(std::iter::once(hash_creation(&document.value)));
        }
        let all = || rules.iter().chain(&standing);
        policy.scopes.extend(all().map(|rule| rule.scope.clone()));
        policy.rules.extend(all().map(|rule| RuleId::clone(&rule.id)));
        policy.parts.add(parts_read_by(&document.value));
        policy.reads_clock |= reads_clock;
        self.rules.extend(rules);
        self.standing.extend(standing);
    }

    fn finish(self) -> (ScanRules, Vec<Diagnostic>) {
        let Self { mut compiled, rules, standing, diagnostics, .. } = self;
        compiled.owners = OwnerRules::of(&rules);
        let (changing, judging) = rules.into_iter().partition(|rule| rule.action == RuleAction::Mutate);
        compiled.changing = Engine::new(changing);
        compiled.judging = Engine::new(judging);
        compiled.standing = Engine::new(standing);
        (compiled, diagnostics)
    }
}
