//! A policy as it is written to rules that can run, with everything that is wrong with them.

mod body;
mod exceptions;
mod lint;

use std::sync::Arc;

use kubewright_engine::{
    AdmissionPhase, CompiledPolicy, Diagnostic, EvaluationModes, NativeRule, Needs, Recompile, RuleAction,
    RuleId, RuleMetadata,
};
use kubewright_value::{Document, Step, Text, Value};

use super::autogen::Generated;
use super::cluster::webhook::Planned;
use super::cluster::{admission_policy, needs};
use super::evaluate::{Actions, Body, Check, Judge};
use super::matching::{Matcher, Overrides};
use super::message::Message;
use super::source::{self, Broken, Match, Policy, Rule, Workload};
use super::template::Template;
use super::{Kyverno, autogen, cel, check};
use crate::secrets::names_secrets;
use body::{Parts, PatternPlace};

/// Compiles `document`. A rule with an error becomes one that cannot answer, so that it never counts as passed.
pub(super) fn compile(dialect: &Kyverno, document: &Document) -> CompiledPolicy {
    let (policy, mut diagnostics) = source::read(document);
    let Some(mut policy) = policy else {
        let native = admission_policy::is_enforceable(document).then(|| Err(admission_policy::unreadable()));
        return CompiledPolicy { native, ..CompiledPolicy::of_diagnostics(diagnostics) };
    };
    // Before the check sorts out rules with errors: what those need is watched as well.
    let needs = needs::of(&policy, &dialect.exceptions);
    diagnostics.extend(check::check(document, &mut policy));
    diagnostics.extend(autogen::warnings(document, &policy));
    let generated = autogen::generate(&policy);
    let planned = Planned { document, policy: &policy, generated: &generated };
    let webhooks = planned.webhooks(None);
    let native = admission_policy::of(document, &policy, &dialect.exceptions, &dialect.functions);
    let native = native.map(|admission_policy| NativeRule {
        remaining_webhooks: planned.webhooks(Some(&admission_policy.rule)),
        admission_policy,
    });
    let mut compiler = Compiler {
        dialect,
        document: Arc::new(document.clone()),
        policy: &policy,
        diagnostics,
        gate: Arc::default(),
        needs,
        recompile: Recompile::default(),
    };
    let rules = compiler.rules(&generated);
    compiler.report_not_generated(&native);
    let Compiler { mut diagnostics, needs, recompile, .. } = compiler;
    diagnostics.sort_by_key(|diagnostic| diagnostic.location.position);
    let native = admission_policy::is_enforceable(document).then_some(native);
    CompiledPolicy { rules, webhooks, needs, recompile, native, diagnostics, set_programs: Vec::new() }
}

struct Compiler<'d> {
    dialect: &'d Kyverno,
    document: Arc<Document>,
    policy: &'d Policy,
    diagnostics: Vec<Diagnostic>,
    /// What must hold before a request is asked about at all.
    gate: Arc<cel::Conditions>,
    needs: Needs,
    recompile: Recompile,
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
    fn rules(&mut self, generated: &[Generated]) -> Vec<kubewright_engine::Rule> {
        let policy = self.policy;
        let before = self.diagnostics.len();
        let (gate, problems) = cel::conditions(&self.dialect.cel, &policy.settings.match_conditions);
        self.report_cel(problems);
        let fatal = self.first_error(before);
        self.gate = Arc::new(gate);
        // In the order of the rules.
        let mut generated = generated.iter().peekable();
        let mut rules = Vec::new();
        for (i, rule) in policy.rules.iter().enumerate() {
            let before = self.diagnostics.len();
            let parts = kubewright_lang::compile_rule(|| self.parts(rule));
            self.lint(rule, &parts);
            let broken = fatal.clone().or_else(|| self.first_error(before));
            let mut variants = vec![Variant {
                rule,
                name: rule.name.value.clone(),
                matching: rule.matching.clone(),
                exclude: rule.exclude.clone(),
                workload: Workload::Pod,
            }];
            while let Some(generated) = generated.next_if(|generated| generated.rule == i) {
                variants.push(Variant {
                    rule,
                    name: generated.name.clone(),
                    matching: generated.matching.clone(),
                    exclude: generated.exclude.clone(),
                    workload: generated.workload,
                });
            }
            for variant in variants {
                let position = u32::try_from(rules.len()).unwrap_or(u32::MAX);
                rules.push(self.rule(&variant, &parts, broken.as_deref(), position));
            }
        }
        for broken in &policy.broken {
            if let Some(rule) = &broken.rule {
                let parts = self.parts(rule);
                self.lint(rule, &parts);
            }
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
        let mut body = parts.body.build(workload, PatternPlace::Object);
        if let Some(reason) = broken {
            body.check = Check::Impossible(format!("the rule is not valid: {reason}").into());
            body.preconditions = None;
            body.entries = Vec::new();
        }
        let written = rule.validate.message.as_ref().map(|message| message.value.clone()).unwrap_or_default();
        let id = self.id(&variant.name);
        let matcher =
            Matcher::compile(&variant.matching, variant.exclude.as_ref(), self.policy.namespace.as_ref());
        let settings = &self.policy.settings;
        let mut message = Message::new(variant.name.clone(), written, parts.message.rebased(workload));
        if matches!(body.check, Check::PodSecurity(_) | Check::Cel(_)) {
            message.passed = format!("Validation rule '{}' passed.", variant.name).into();
        }
        let judge = Judge {
            id: Arc::clone(&id),
            document: Arc::clone(&self.document),
            body,
            message,
            exceptions: self.exceptions(&variant.name),
            actions: Actions {
                overrides: [
                    Overrides::compile(&rule.validate.failure_action_overrides),
                    Overrides::compile(&settings.failure_action_overrides),
                ],
                rule: rule.validate.failure_action,
                policy: settings.failure_action,
            },
            allows_existing_violations: rule.validate.allows_existing_violations,
            is_scored: self.policy.annotations.is_scored,
            gate: Arc::clone(&self.gate),
            skips_background_requests: rule.skips_background_requests,
            matcher,
        };
        self.finish(judge, position, &rule.name.path, rule.report_properties.clone())
    }

    /// Returns the rule that stands for one that is not valid, where it is known what it is about. It refuses as the
    /// rule itself would where it cannot answer.
    fn broken(&mut self, broken: &Broken, position: u32) -> Option<kubewright_engine::Rule> {
        let matching = broken.matching.as_ref()?;
        let matcher = Matcher::compile(matching, broken.exclude.as_ref(), self.policy.namespace.as_ref());
        let reason = format!("the rule is not valid: {}", broken.message);
        let settings = &self.policy.settings;
        // What excuses a part of it would have to know which part it is.
        let mut exceptions = self.exceptions(&broken.name);
        exceptions.retain(|exception| exception.pod_security.is_empty());
        let check = match broken.is_unsupported {
            true => Check::Foreign(reason.into()),
            false => Check::Impossible(reason.into()),
        };
        let judge = Judge {
            id: self.id(&broken.name),
            document: Arc::clone(&self.document),
            matcher,
            body: Body { entries: Vec::new(), preconditions: None, check },
            message: Message::new(broken.name.clone(), Text::default(), Template::empty()),
            exceptions,
            actions: Actions {
                overrides: [
                    Overrides::compile(&broken.failure_action_overrides),
                    Overrides::compile(&settings.failure_action_overrides),
                ],
                rule: broken.failure_action,
                policy: settings.failure_action,
            },
            allows_existing_violations: false,
            is_scored: true,
            gate: Arc::clone(&self.gate),
            skips_background_requests: false,
        };
        Some(self.finish(judge, position, &broken.path, Vec::new()))
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
            action: RuleAction::Validate,
            phase: AdmissionPhase::Validating,
            tier: 0,
            precedence: 0,
            position,
            metadata: Arc::new(RuleMetadata {
                severity: annotations.severity.clone(),
                category: annotations.category.clone(),
                properties,
                emits_warning: self.policy.settings.emits_warning,
            }),
            refuses_on_error: self.policy.settings.is_fail_closed,
            is_exclusive: self.policy.settings.applies_one_rule,
            reads_secrets: self.reads_secrets(path),
            home: self.policy.namespace.clone(),
            evaluation_modes: EvaluationModes {
                admission: self.policy.settings.is_admission,
                background: self.policy.settings.is_background,
            },
            location: self.document.locate(path),
            program: Box::new(judge),
        }
    }

    /// Returns whether the rule whose name stands at `path` names Secrets.
    fn reads_secrets(&self, path: &[Step]) -> bool {
        let rules = self.document.value.at(&["spec", "rules"]).and_then(Value::as_array);
        let rule = match path.get(2) {
            Some(Step::Index(number)) => rules.and_then(|rules| rules.get(*number)),
            _ => None,
        };
        rule.is_some_and(names_secrets)
    }

    fn first_error(&self, mark: usize) -> Option<String> {
        let mut errors = self.diagnostics.iter().skip(mark).filter(|diagnostic| diagnostic.is_error());
        errors.next().map(|diagnostic| diagnostic.message.clone())
    }

    fn id(&self, rule: &Text) -> Arc<RuleId> {
        RuleId { dialect: super::NAME, policy: self.policy.key(), rule: rule.clone() }.into()
    }
}

impl Policy {
    /// Returns `name`, or `namespace/name` of a namespaced policy.
    pub(crate) fn key(&self) -> Text {
        match &self.namespace {
            None => self.name.value.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name.value).into(),
        }
    }
}
