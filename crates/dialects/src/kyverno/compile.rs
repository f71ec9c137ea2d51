//! A policy as it is written to rules that can run, with everything that is wrong with them.

mod body;
mod exceptions;
mod lint;

use std::sync::Arc;

use kubewright_engine::{About, Compiled, Diagnostic, Phase, Program, RuleId};
use kubewright_value::{Document, Step, Text};

use super::evaluate::{Actions, Check, Judge};
use super::matching::Matcher;
use super::message::Message;
use super::source::{self, Match, Policy, Rule, Workload};
use super::{Kyverno, autogen, check};
use body::Parts;

/// Compiles `document`. A rule with an error becomes one that cannot answer, so that nobody takes it for passed.
pub(super) fn compile(dialect: &Kyverno, document: &Document) -> Compiled {
    let (policy, diagnostics) = source::read(document);
    let Some(policy) = policy else { return Compiled { rules: Vec::new(), diagnostics } };
    let mut compiler = Compiler { dialect, document: Arc::new(document.clone()), policy: &policy, diagnostics };
    let rules = compiler.rules();
    let mut diagnostics = compiler.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.location.position);
    Compiled { rules, diagnostics }
}

struct Compiler<'d> {
    dialect: &'d Kyverno,
    document: Arc<Document>,
    policy: &'d Policy,
    diagnostics: Vec<Diagnostic>,
}

/// A rule that is to be made: as it was written, or for controllers.
struct Variant<'r> {
    rule: &'r Rule,
    name: Text,
    matching: Match,
    exclude: Option<Match>,
    workload: Workload,
}

impl Compiler<'_> {
    fn rules(&mut self) -> Vec<kubewright_engine::Rule> {
        let policy = self.policy;
        let generated = autogen::generate(policy);
        self.diagnostics.extend(check::policy(policy, &self.document));
        let mut rules = Vec::new();
        for (i, rule) in policy.rules.iter().enumerate() {
            let before = self.diagnostics.len();
            let parts = self.parts(rule);
            self.lint(rule, &parts);
            let errors = self.diagnostics.iter().skip(before).filter(|diagnostic| diagnostic.is_error());
            let broken = errors.map(|diagnostic| diagnostic.message.clone()).next();
            let mut variants = vec![Variant {
                rule,
                name: rule.name.value.clone(),
                matching: rule.matching.clone(),
                exclude: rule.exclude.clone(),
                workload: Workload::Pod,
            }];
            variants.extend(generated.rules.iter().filter(|generated| generated.rule == i).map(|generated| {
                let about = |matching: &Match| matching.about(&generated.kinds);
                Variant {
                    rule,
                    name: generated.name.clone(),
                    matching: about(&rule.matching),
                    exclude: rule.exclude.as_ref().map(about),
                    workload: generated.workload,
                }
            }));
            for variant in variants {
                let position = u32::try_from(rules.len()).unwrap_or(u32::MAX);
                rules.push(self.rule(&variant, &parts, broken.as_deref(), position));
            }
        }
        for broken in &policy.broken {
            let position = u32::try_from(rules.len()).unwrap_or(u32::MAX);
            rules.extend(self.broken(broken, position));
        }
        rules
    }

    fn rule(
        &mut self,
        variant: &Variant<'_>,
        parts: &Parts,
        broken: Option<&str>,
        position: u32,
    ) -> kubewright_engine::Rule {
        let Variant { rule, workload, .. } = *variant;
        let mut body = parts.body.build(workload);
        if let Some(reason) = broken {
            body.check = Check::Impossible(format!("the rule is not valid: {reason}").into());
            body.preconditions = None;
            body.entries = Vec::new();
        }
        let written = rule.validate.message.as_ref().map(|message| message.value.clone()).unwrap_or_default();
        let id = self.id(&variant.name);
        let matcher = Matcher::compile(&variant.matching, variant.exclude.as_ref(), self.policy.namespace.as_ref());
        let settings = &self.policy.settings;
        let judge = Judge {
            id: Arc::clone(&id),
            document: Arc::clone(&self.document),
            home: self.policy.namespace.clone(),
            body,
            message: Message::new(
                variant.name.clone(),
                written,
                parts.message.rebased(workload),
                self.dialect.functions.clone(),
            ),
            exceptions: self.exceptions(&variant.name),
            actions: Actions {
                overrides: [
                    rule.validate.failure_action_overrides.clone(),
                    settings.failure_action_overrides.clone(),
                ],
                rule: rule.validate.failure_action,
                policy: settings.failure_action,
            },
            allows_existing_violations: rule.validate.allows_existing_violations,
            is_scored: self.policy.annotations.is_scored,
            matcher,
        };
        self.finish(judge, position, &rule.name.path, rule.report_properties.clone())
    }

    fn finish(
        &self,
        judge: Judge,
        position: u32,
        path: &[Step],
        properties: Vec<(Text, Text)>,
    ) -> kubewright_engine::Rule {
        let annotations = &self.policy.annotations;
        kubewright_engine::Rule {
            id: Arc::clone(&judge.id),
            scope: judge.matcher.scope(),
            phase: Phase::Judge,
            tier: 0,
            precedence: 0,
            position,
            about: Arc::new(About {
                severity: annotations.severity.clone(),
                category: annotations.category.clone(),
                properties,
            }),
            refuses_on_error: self.policy.settings.is_fail_closed,
            is_exclusive: self.policy.settings.applies_one_rule,
            location: self.document.locate(path),
            program: Program::OnRequest(Box::new(judge)),
        }
    }

    fn id(&self, rule: &Text) -> Arc<RuleId> {
        RuleId { dialect: super::NAME, policy: self.policy.key(), rule: rule.clone() }.into()
    }
}

impl Policy {
    /// Returns `name`, or `namespace/name` of a namespaced policy.
    pub(super) fn key(&self) -> Text {
        match &self.namespace {
            None => self.name.value.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name.value).into(),
        }
    }
}

impl Match {
    /// Returns the same match about `kinds` wherever it is about Pods.
    fn about(&self, kinds: &[Text]) -> Self {
        let mut matching = self.clone();
        let filters = matching.any.iter_mut().chain(&mut matching.all).chain(&mut matching.flat);
        for filter in filters {
            if let Some(pod) = filter.kinds.iter().find(|kind| kind.value == "Pod").cloned() {
                let named = |kind: &Text| crate::fields::Placed { value: kind.clone(), path: pod.path.clone() };
                filter.kinds = kinds.iter().map(named).collect();
            }
        }
        matching
    }
}
