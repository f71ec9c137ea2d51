//! A CleanupPolicy as it is written to a rule that can run, and to what a controller must know about it.

use std::sync::Arc;

use kubewright_engine::{
    AdmissionPhase, BackgroundProgram, Code, CompiledPolicy, DeleteProgram, Diagnostic, EvaluationModes,
    Recompile, Rule, RuleAction, RuleId, RuleMetadata,
};
use kubewright_jmespath::JmesPathParseErrorKind;
use kubewright_k8s::Operations;
use kubewright_value::{Document, Step, Text};

use super::CleanupRule;
use crate::cluster::targets;
use crate::conditions::ConditionSet;
use crate::context::CompiledContextEntry;
use crate::evaluate::Rooted;
use crate::matching::MatchExclude;
use crate::source::{CleanupSource, read_cleanup_policy};
use crate::template::{TemplateProblemKind, TemplateVariable, VariableProblem};
use crate::{Kyverno, check, diagnostics as code};
use kubewright_dialect_kit::description::policy_text;
use kubewright_dialect_kit::fields::locate_within;
use kubewright_dialect_kit::secrets::names_secrets;
use kubewright_value::CompactSort as _;

/// The variables that such a policy has, besides those of its context.
const GIVEN: [&str; 3] = ["target", "images", "@"];

/// Compiles `document`.
pub(crate) fn compile_cleanup_policy(dialect: &Kyverno, document: &Document) -> CompiledPolicy {
    let (policy, diagnostics) = read_cleanup_policy(document);
    let Some(policy) = policy else { return CompiledPolicy::of_diagnostics(diagnostics) };
    let mut compiler = CleanupCompiler {
        dialect,
        document: Arc::new(document.clone()),
        policy: &policy,
        diagnostics,
        recompile: Recompile::OnChange,
    };
    compiler.diagnostics.extend(check::check_cleanup_policy(document, &policy));
    let rule = compiler.rule();
    let background = compiler.background(&rule);
    let CleanupCompiler { mut diagnostics, recompile, .. } = compiler;
    diagnostics.compact_sort_by_key(|diagnostic| diagnostic.location.position);
    CompiledPolicy { rules: vec![rule], recompile, background, diagnostics, ..CompiledPolicy::default() }
}

struct CleanupCompiler<'d> {
    dialect: &'d Kyverno,
    document: Arc<Document>,
    policy: &'d CleanupSource,
    diagnostics: Vec<Diagnostic>,
    recompile: Recompile,
}

impl CleanupCompiler<'_> {
    fn rule(&mut self) -> Rule {
        let policy = self.policy;
        let functions = &self.dialect.functions;
        let mut entries = Vec::with_capacity(policy.context.len());
        for entry in &policy.context {
            let (compiled, problems) = CompiledContextEntry::compile(entry, functions);
            self.report(&[], problems);
            entries.push(compiled);
        }
        let conditions = policy.conditions.as_ref().map(|written| {
            let (value, problems) = ConditionSet::compile(written, functions);
            self.report(&written.path, problems);
            Rooted { value, path: written.path.clone() }
        });
        self.check_variables(&entries, conditions.as_ref());
        let broken = self.diagnostics.iter().find(|found| found.is_error());
        let matcher =
            MatchExclude::compile(&policy.matching, policy.exclude.as_ref(), policy.namespace.as_ref());
        let mut scope = matcher.scope_in(&self.document);
        scope.operations = Operations::ALL;
        let id = Arc::new(RuleId { dialect: crate::NAME, policy: policy.key(), rule: Text::default() });
        let program = CleanupRule {
            id: Arc::clone(&id),
            document: Arc::clone(&self.document),
            matcher,
            entries,
            conditions,
            broken: broken.map(|found| format!("the policy is not valid: {}", found.message).into()),
        };
        Rule {
            id,
            scope,
            action: RuleAction::Delete,
            phase: AdmissionPhase::Validating,
            tier: 0,
            precedence: 0,
            position: 0,
            matches_current: false,
            metadata: Arc::new(RuleMetadata {
                severity: policy.severity.clone(),
                category: policy.category.clone(),
                title: policy_text(&self.document, "title"),
                description: policy_text(&self.document, "description"),
                ..RuleMetadata::default()
            }),
            refuses_on_error: false,
            is_exclusive: false,
            reads_secrets: names_secrets(&self.document.value),
            home: policy.namespace.clone(),
            evaluation_modes: EvaluationModes { admission: false, background: true },
            location: self.document.locate(&policy.name.path),
            program: Box::new(program),
        }
    }

    /// Reports variables that nothing gives a value: there is no request, only the object.
    fn check_variables(
        &mut self,
        entries: &[CompiledContextEntry],
        conditions: Option<&Rooted<ConditionSet>>,
    ) {
        let in_conditions = conditions.into_iter().flat_map(|conditions| {
            let all = conditions.value.templates().flat_map(|template| template.variables());
            all.map(|variable| (variable, conditions.path.clone())).collect::<Vec<_>>()
        });
        let in_entries = entries.iter().zip(&self.policy.context).flat_map(|(entry, written)| {
            let query = entry.query().into_iter().flat_map(|query| query.variables());
            let all = entry.variables().into_iter().chain(query);
            all.map(|variable| (variable, written.path.clone())).collect::<Vec<_>>()
        });
        let all: Vec<(&TemplateVariable, Vec<Step>)> = in_conditions.chain(in_entries).collect();
        for (variable, path) in all {
            let Some(roots) = variable.roots() else { continue };
            if roots.is_volatile {
                self.recompile = Recompile::Periodically;
            }
            let declared = |name: &Text| self.policy.context.iter().any(|entry| entry.name.value == *name);
            let unknown = roots.names.iter().find(|name| !GIVEN.contains(&name.as_str()) && !declared(name));
            if let Some(name) = unknown {
                let message = format!("`{name}` does not exist in a cleanup policy");
                let help = "the object is `target`; other names are declared in `context`";
                let location = self.document.locate(&path);
                let found = Diagnostic::new(&code::UNKNOWN_VARIABLE, message, location).help(help);
                self.diagnostics.push(found);
            }
        }
    }

    fn report(&mut self, path: &[Step], problems: Vec<VariableProblem>) {
        for problem in problems {
            let place = [path, &problem.path].concat();
            let location = match problem.is_key {
                true => self.document.locate_key(&place),
                false => locate_within(&self.document, &place, problem.position, problem.length),
            };
            let code: &'static Code = match problem.kind {
                TemplateProblemKind::Expression(JmesPathParseErrorKind::UnknownFunction) => {
                    &code::UNKNOWN_FUNCTION
                }
                _ => &code::BAD_JMESPATH,
            };
            self.diagnostics.push(Diagnostic::new(code, problem.message, location));
        }
    }

    fn background(&self, rule: &Rule) -> Vec<BackgroundProgram> {
        let is_broken = self.diagnostics.iter().any(Diagnostic::is_error);
        let schedule = self.policy.schedule.clone().filter(|_| !is_broken);
        let program = |schedule| {
            BackgroundProgram::Delete(DeleteProgram {
                rule: Arc::clone(&rule.id),
                targets: targets::matched_resources(&self.policy.matching, self.policy.exclude.as_ref()),
                namespace: self.policy.namespace.clone(),
                schedule,
                propagation: self.policy.propagation,
            })
        };
        schedule.map(program).into_iter().collect()
    }
}

impl CleanupSource {
    /// Returns `name`, or `namespace/name` of a namespaced policy.
    fn key(&self) -> Text {
        match &self.namespace {
            None => self.name.value.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name.value).into(),
        }
    }
}
