//! Lints of valid rules that are probably not what their authors intended, and of variables that cannot be read.

use kubewright_engine::{Code, Diagnostic, NativeRule, Recompile};
use kubewright_jmespath::PathRoots;
use kubewright_value::{Step, Value};

use super::body::{BodyParts, CheckParts, RuleParts};
use super::mutation::{MutationParts, MutationPatchParts};
use super::{PolicyCompiler, RuleSource};
use crate::check::{self, VariableUse};
use crate::conditions::{ConditionLint, ConditionLintKind, ConditionSet};
use crate::context::CompiledContextEntry;
use crate::diagnostics as code;
use crate::evaluate::Rooted;
use crate::source::Method;
use crate::template::{TemplateVariable, VariableQuery};
use kubewright_dialect_kit::fields::child_path;

impl PolicyCompiler<'_> {
    /// Looks through a rule and everything that was parsed in it.
    pub(super) fn lint(&mut self, rule: &RuleSource, parts: &RuleParts) {
        let mut found = LintedRule::default();
        let message = rule.validate.message.as_ref().map_or(&rule.validate.path, |message| &message.path);
        found.variables(parts.message.variables(), message, false);
        found.body(&parts.body, false);
        self.observe(found.roots.iter().copied());
        let is_background = self.policy.settings.is_background;
        self.diagnostics.extend(check::check_variables(&self.document, is_background, rule, &found.uses));
        for conditions in found.conditions.into_iter().filter(|_| !self.dialect.rules_only) {
            for lint in conditions.value.lint() {
                self.condition(conditions, &lint);
            }
        }
    }

    /// Records the effects of expressions on the policy as a whole: its needs, and when it is compiled again.
    pub(super) fn observe<'r>(&mut self, all: impl Iterator<Item = &'r PathRoots>) {
        for roots in all {
            let roles = [["request", "roles"], ["request", "clusterRoles"]];
            self.needs.role_bindings |= roles.iter().any(|path| roots.reads(path));
            if roots.is_volatile {
                self.recompile = Recompile::Periodically;
            }
        }
    }

    /// Reports why a policy that requests a ValidatingAdmissionPolicy has none.
    pub(super) fn report_not_generated(&mut self, native: &Result<NativeRule, String>) {
        let asking = self.policy.rules.iter().find_map(|rule| match &rule.validate.method {
            Method::Cel(cel) if cel.generates => Some(child_path(&cel.path, "generate")),
            _ => None,
        });
        let Some(path) = asking else { return };
        if let Err(reason) = native {
            let message = reason.trim_end_matches('.').to_owned();
            let help = "the webhook enforces the rule; leave `generate` out if that is intended";
            let location = self.document.locate(&path);
            self.diagnostics.push(Diagnostic::new(&code::NOT_GENERATED, message, location).help(help));
        }
    }

    fn condition(&mut self, conditions: &Rooted<ConditionSet>, lint: &ConditionLint) {
        let path = [conditions.path.as_slice(), &lint.at].concat();
        let (code, message, help): (&'static Code, String, String) = match &lint.kind {
            // Known already, and an error.
            ConditionLintKind::UnknownOperator { .. } => return,
            ConditionLintKind::Deprecated { instead } => {
                let instead: Vec<String> = instead.iter().map(|name| format!("`{name}`")).collect();
                let written = self.document.value.follow(&path).and_then(Value::as_str).unwrap_or_default();
                let message = format!("operator `{written}` is deprecated");
                (&code::DEPRECATED_OPERATOR, message, format!("use {}", instead.join(" or ")))
            }
            ConditionLintKind::Always(holds) => {
                let result = if *holds { "always" } else { "never" };
                let message = format!("the condition has no variable, and {result} holds");
                (&code::CONSTANT_CONDITION, message, "write a variable in `{{ }}`".to_owned())
            }
            ConditionLintKind::EmptyAny => {
                let message = "of no conditions none holds".to_owned();
                (&code::CONSTANT_CONDITION, message, "remove the empty `any`".to_owned())
            }
            ConditionLintKind::Unfit(does) => (
                &code::OPERATOR_TYPE,
                format!("the operator cannot use this value; it {does}"),
                String::new(),
            ),
        };
        let location = match lint.kind {
            ConditionLintKind::EmptyAny => self.document.locate_key(&path),
            _ => self.document.locate(&path),
        };
        let mut diagnostic = Diagnostic::new(code, message, location).help(help);
        if let ConditionLintKind::Deprecated { .. } = lint.kind {
            let written = self.document.value.follow(&path).and_then(Value::as_str).unwrap_or_default();
            diagnostic = diagnostic
                .upstream(format!("Operator {written} has been deprecated and will be removed soon."));
        }
        self.diagnostics.push(diagnostic);
    }
}

/// Everything in a rule that is looked at.
#[derive(Default)]
struct LintedRule<'p> {
    uses: Vec<VariableUse<'p>>,
    roots: Vec<&'p PathRoots>,
    conditions: Vec<&'p Rooted<ConditionSet>>,
}

impl<'p> LintedRule<'p> {
    /// Adds the variables below `path`.
    fn variables(&mut self, variables: Vec<&'p TemplateVariable>, path: &'p [Step], is_in_foreach: bool) {
        self.roots.extend(variables.iter().filter_map(|variable| variable.roots()));
        self.uses
            .extend(variables.into_iter().map(|variable| variable_use(variable, path, is_in_foreach, false)));
    }

    /// Adds an expression that is a field of its own, and the variables in it.
    fn query(&mut self, query: &'p VariableQuery, path: &'p [Step], is_in_foreach: bool) {
        self.variables(query.inner_variables(), path, is_in_foreach);
        self.roots.extend(query.variables().last().and_then(|variable| variable.roots()));
        self.uses.extend(
            query.variables().last().map(|variable| variable_use(variable, path, is_in_foreach, true)),
        );
    }

    /// Adds the variables of a rule or a loop; the recursion is bounded by the depth of the document.
    fn body(&mut self, body: &'p BodyParts, is_in_foreach: bool) {
        self.entries(&body.entries, is_in_foreach);
        if let Some(conditions) = &body.preconditions {
            self.conditions(conditions, is_in_foreach);
        }
        self.check(&body.check, is_in_foreach);
    }

    fn entries(&mut self, entries: &'p [(CompiledContextEntry, Vec<Step>)], is_in_foreach: bool) {
        for (entry, path) in entries {
            self.variables(entry.variables(), path, is_in_foreach);
            if let Some(query) = entry.query() {
                self.query(query, path, is_in_foreach);
            }
        }
    }

    fn check(&mut self, check: &'p CheckParts, is_in_foreach: bool) {
        match check {
            CheckParts::Both(both) => both.iter().for_each(|one| self.check(one, is_in_foreach)),
            CheckParts::Pattern(pattern) => {
                self.variables(pattern.template.variables(), &pattern.path, is_in_foreach);
            }
            CheckParts::AnyPattern(patterns) => {
                for pattern in patterns {
                    self.variables(pattern.template.variables(), &pattern.path, is_in_foreach);
                }
            }
            CheckParts::Deny(Some(conditions)) => self.conditions(conditions, is_in_foreach),
            CheckParts::Foreach(loops) => {
                for one in loops {
                    self.query(&one.list, &one.list_path, true);
                    self.body(&one.body, true);
                }
            }
            CheckParts::Generate(downstreams) => {
                for one in downstreams {
                    if let Some(each) = &one.each {
                        self.query(&each.list, &each.list_path, true);
                        self.entries(&each.entries, true);
                        if let Some(conditions) = &each.preconditions {
                            self.conditions(conditions, true);
                        }
                    }
                    self.variables(one.template.variables(), &one.path, one.each.is_some());
                }
            }
            CheckParts::Mutate(parts) => self.mutation(parts),
            CheckParts::Images(images) => {
                images.deny_conditions().for_each(|conditions| self.conditions(conditions, is_in_foreach));
                for (path, variables) in images.variables() {
                    self.variables(variables, path, is_in_foreach);
                }
            }
            CheckParts::Deny(None)
            | CheckParts::Cel(_)
            | CheckParts::PodSecurity(_)
            | CheckParts::Manifests(_)
            | CheckParts::Impossible(_) => {}
        }
    }

    fn mutation(&mut self, parts: &'p MutationParts) {
        for target in &parts.targets {
            for template in target.texts.iter().flatten() {
                self.variables(template.variables(), &target.path, false);
            }
            self.entries(&target.entries, false);
            if let Some(conditions) = &target.preconditions {
                self.conditions(conditions, false);
            }
        }
        self.mutation_patch(&parts.patch, false);
    }

    /// Adds the variables of a patch; the recursion is bounded by the depth of the document.
    fn mutation_patch(&mut self, patch: &'p MutationPatchParts, is_in_foreach: bool) {
        for (variables, path) in patch.variables() {
            self.variables(variables, path, is_in_foreach);
        }
        let MutationPatchParts::Foreach(loops) = patch else { return };
        for one in loops {
            self.query(&one.list, &one.list_path, true);
            self.entries(&one.entries, true);
            if let Some(conditions) = &one.preconditions {
                self.conditions(conditions, true);
            }
            self.mutation_patch(&one.patch, true);
        }
    }

    fn conditions(&mut self, conditions: &'p Rooted<ConditionSet>, is_in_foreach: bool) {
        let variables = conditions.value.templates().flat_map(|template| template.variables()).collect();
        self.variables(variables, &conditions.path, is_in_foreach);
        self.conditions.push(conditions);
    }
}

fn variable_use<'p>(
    variable: &'p TemplateVariable,
    path: &'p [Step],
    is_in_foreach: bool,
    is_bare: bool,
) -> VariableUse<'p> {
    let roots = variable.roots().map(|roots| roots.names.as_slice()).unwrap_or_default();
    VariableUse { text: variable.text(), roots, path, is_in_foreach, is_bare }
}
