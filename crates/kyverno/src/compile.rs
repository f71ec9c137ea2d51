//! A policy as it is written to rules that can run, with everything that is wrong with them.

mod body;
mod exceptions;
mod generate;
mod lint;
mod mutation;

use std::cell::OnceCell;
use std::sync::Arc;

use kubewright_engine::{
    AdmissionPhase, BackgroundProgram, CompiledPolicy, Diagnostic, EvaluationModes, NativeRule, Needs,
    Recompile, RuleAction, RuleId, RuleMetadata, RuleProgram, RuleScope, StatusFields,
};
use kubewright_value::{Document, Map, Step, Text, Value};

use super::autogen::{AutogenRule, autogen_limit};
use super::cluster::autogen_status::{autogen_status, rule_counts};
use super::cluster::webhook::Planned;
use super::cluster::{admission_policy, needs};
use super::evaluate::{FailureActions, ImageMutation, LazyBody, ValidateRule};
use super::matching::{MatchExclude, Overrides};
use super::message::RuleMessage;
use super::source::{self, BrokenRule, Match, Method, PolicySource, RuleSource};
use super::template::VariableTemplate;
use super::{Kyverno, autogen, cel, check};
use body::{PatternPlace, SharedRuleParts};
use kubewright_dialect_kit::description::policy_text;
use kubewright_dialect_kit::secrets::names_secrets;
use kubewright_k8s::PodTemplatePath;
use kubewright_value::CompactSort as _;

/// Images are verified after all other rules have changed the object.
const IMAGES_TIER: i32 = 1000;

/// Compiles `document`. A rule with an error becomes one that cannot answer, so that it never counts as passed.
pub(super) fn compile_policy(dialect: &Kyverno, document: &Document) -> CompiledPolicy {
    let (policy, mut diagnostics) = source::read_policy_document(document);
    let Some(mut policy) = policy else {
        let native = admission_policy::is_enforceable(document).then(|| Err(admission_policy::unreadable()));
        return CompiledPolicy { native, ..CompiledPolicy::of_diagnostics(diagnostics) };
    };
    // Before rules with errors are sorted out: the objects that those read are watched too.
    let has_more = !dialect.rules_only;
    let needs = if has_more { needs::of(&policy, &dialect.exceptions) } else { Needs::default() };
    diagnostics.extend(check::check_policy(document, &mut policy, has_more));
    if has_more {
        diagnostics.extend(autogen::autogen_warnings(document, &policy));
    }
    let generated = autogen::autogen_rules(&policy);
    let planned = Planned { document, policy: &policy, generated: &generated };
    let (webhooks, native) = match has_more {
        true => (planned.webhooks(None), Some(native_rule(dialect, &planned))),
        false => (Vec::new(), None),
    };
    let mut compiler = PolicyCompiler {
        dialect,
        document: Arc::new(document.clone()),
        policy: &policy,
        diagnostics,
        gate: Arc::default(),
        metadata: OnceCell::new(),
        needs,
        recompile: Recompile::default(),
        background: Vec::new(),
    };
    let rules = compiler.rules(&generated);
    if let Some(native) = &native {
        compiler.report_not_generated(native);
    }
    let PolicyCompiler { mut diagnostics, needs, recompile, background, .. } = compiler;
    diagnostics.compact_sort_by_key(|diagnostic| diagnostic.location.position);
    let native = native.filter(|_| admission_policy::is_enforceable(document));
    let status = match has_more {
        true => policy_status(document.clone(), policy, generated),
        false => StatusFields::default(),
    };
    CompiledPolicy {
        rules,
        webhooks,
        needs,
        recompile,
        native,
        status,
        diagnostics,
        background,
        scan_rules: Vec::new(),
        set_programs: Vec::new(),
    }
}

/// Returns the ValidatingAdmissionPolicy of the policy, or why there is none.
fn native_rule(dialect: &Kyverno, planned: &Planned<'_>) -> Result<NativeRule, String> {
    let made = admission_policy::generated_admission_policy(dialect, planned.document, planned.policy);
    made.map(|admission_policy| NativeRule {
        remaining_webhooks: planned.webhooks(Some(&admission_policy.rule)),
        admission_policy,
    })
}

fn policy_status(document: Document, policy: PolicySource, generated: Vec<AutogenRule>) -> StatusFields {
    StatusFields::new(move || {
        let counts = rule_counts(&document, &policy, &generated);
        Map::from([("autogen", autogen_status(&document, &policy, &generated)), ("rulecount", counts)]).into()
    })
}

struct PolicyCompiler<'d> {
    dialect: &'d Kyverno,
    document: Arc<Document>,
    policy: &'d PolicySource,
    diagnostics: Vec<Diagnostic>,
    /// The webhook's match conditions.
    gate: Arc<cel::CelPreconditions>,
    /// That of rules without properties.
    metadata: OnceCell<Arc<RuleMetadata>>,
    needs: Needs,
    recompile: Recompile,
    background: Vec<BackgroundProgram>,
}

/// A rule that is to be made: as it was written, or for controllers.
struct Variant<'r> {
    rule: &'r RuleSource,
    name: Text,
    matching: Match,
    exclude: Option<Match>,
    workload: PodTemplatePath,
}

impl PolicyCompiler<'_> {
    fn rules(&mut self, generated: &[AutogenRule]) -> Vec<kubewright_engine::Rule> {
        let policy = self.policy;
        let before = self.diagnostics.len();
        let (gate, problems) =
            cel::compile_match_conditions(&self.dialect.cel, &policy.settings.match_conditions);
        self.report_cel(problems);
        let fatal = self.first_error(before);
        self.gate = Arc::new(gate);
        // In the order of the rules.
        let mut generated = generated.iter().peekable();
        let mut rules = Vec::new();
        for (i, rule) in policy.rules.iter().enumerate() {
            let before = self.diagnostics.len();
            let parts = kubewright_golib::compile_budget::with_rule_allowance(|| self.parts(rule));
            self.lint(rule, &parts);
            let broken = fatal.clone().or_else(|| self.first_error(before));
            if let Method::Generate(generate) = &rule.validate.method {
                let position = u32::try_from(rules.len()).unwrap_or(u32::MAX);
                rules.push(self.generate_rule(rule, generate, (parts.body, broken.as_deref()), position));
                continue;
            }
            let parts = SharedRuleParts { message: parts.message, body: Arc::new(parts.body) };
            let mut variants = vec![Variant {
                rule,
                name: rule.name.value.clone(),
                matching: rule.matching.clone(),
                exclude: rule.exclude.clone(),
                workload: PodTemplatePath::Pod,
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
            if let Method::Mutate(mutate) = &rule.validate.method
                && !mutate.targets.is_empty()
                && broken.is_none()
            {
                let program = self.mutate_program(rule, mutate);
                self.background.push(program);
            }
            for variant in variants {
                let position = u32::try_from(rules.len()).unwrap_or(u32::MAX);
                if broken.is_none() && matches!(rule.validate.method, Method::Images(_)) {
                    rules.push(self.image_mutation(&variant, &parts, position));
                }
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
        parts: &SharedRuleParts,
        broken: Option<&str>,
        position: u32,
    ) -> kubewright_engine::Rule {
        let judge = self.judge(variant, parts, broken);
        let properties = constant_properties(&judge, variant.rule);
        let action = if broken.is_some() { RuleAction::Validate } else { parts.body.check.action() };
        self.finish((judge, action), position, &variant.rule.name.path, properties)
    }

    /// Returns the rule that verifies images and pins digests, before anything is validated and after all other changes.
    fn image_mutation(
        &mut self,
        variant: &Variant<'_>,
        parts: &SharedRuleParts,
        position: u32,
    ) -> kubewright_engine::Rule {
        let (judge, program) = (self.judge(variant, parts, None), self.judge(variant, parts, None));
        let properties = constant_properties(&judge, variant.rule);
        let judged = (judge, parts.body.check.action());
        let rule = self.finish(judged, position, &variant.rule.name.path, properties);
        kubewright_engine::Rule {
            action: RuleAction::Mutate,
            phase: AdmissionPhase::Mutating,
            tier: IMAGES_TIER,
            matches_current: true,
            is_exclusive: false,
            program: Box::new(ImageMutation(program)),
            ..rule
        }
    }

    fn judge(
        &mut self,
        variant: &Variant<'_>,
        parts: &SharedRuleParts,
        broken: Option<&str>,
    ) -> ValidateRule {
        let Variant { rule, workload, .. } = *variant;
        let body = match broken {
            Some(reason) => LazyBody::impossible(format!("the rule is not valid: {reason}").into()),
            // A policy that is compiled for the moment meets few sorts of controllers.
            None if self.dialect.rules_only && workload != PodTemplatePath::Pod => {
                let parts = Arc::clone(&parts.body);
                LazyBody::later(move || parts.build(workload, PatternPlace::Object))
            }
            None => parts.body.build(workload, PatternPlace::Object).into(),
        };
        let written = rule.validate.message.as_ref().map(|message| message.value.clone()).unwrap_or_default();
        let id = self.id(&variant.name);
        let matcher = self.matcher(&variant.matching, variant.exclude.as_ref());
        let settings = &self.policy.settings;
        let mut message = RuleMessage::new(variant.name.clone(), written, parts.message.rebased(workload));
        if broken.is_none() && parts.body.check.names_rule_that_passes() {
            message.passed = format!("Validation rule '{}' passed.", variant.name).into();
        }
        ValidateRule {
            id: Arc::clone(&id),
            document: Arc::clone(&self.document),
            body,
            message,
            exceptions: self.exceptions(&variant.name),
            near_exceptions: self.near_exceptions(&variant.name),
            actions: FailureActions {
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
            properties: self.variable_properties(rule, workload),
            matcher,
        }
    }

    /// Returns the matcher of a rule. Where only rules are asked for, a policy is compiled for the moment.
    fn matcher(&self, matching: &Match, exclude: Option<&Match>) -> MatchExclude {
        let compile = match self.dialect.rules_only {
            true => MatchExclude::compile_alone,
            false => MatchExclude::compile,
        };
        compile(matching, exclude, self.policy.namespace.as_ref())
    }

    /// Returns the properties of rows in reports that have variables.
    fn variable_properties(
        &self,
        rule: &RuleSource,
        workload: PodTemplatePath,
    ) -> Vec<(Text, VariableTemplate)> {
        let read = |(name, text): &(Text, Text)| {
            let (template, _) = VariableTemplate::parse(&text.clone().into(), &self.dialect.functions);
            template.constant().is_none().then(|| (name.clone(), template.rebased(workload)))
        };
        rule.report_properties.iter().filter_map(read).collect()
    }

    /// Returns the substitute of an invalid rule, where its match is known. It refuses as the rule itself would on an
    /// error.
    fn broken(&mut self, broken: &BrokenRule, position: u32) -> Option<kubewright_engine::Rule> {
        let matching = broken.matching.as_ref()?;
        let matcher = self.matcher(matching, broken.exclude.as_ref());
        let reason = format!("the rule is not valid: {}", broken.message);
        if self.generates(&broken.path) {
            return Some(self.broken_generate_rule(broken, (matcher, reason), position));
        }
        let settings = &self.policy.settings;
        // An exception for a part of a rule needs to know which part that is.
        let mut exceptions = self.exceptions(&broken.name);
        exceptions.retain(|exception| exception.pod_security.is_empty());
        let judge = ValidateRule {
            id: self.id(&broken.name),
            document: Arc::clone(&self.document),
            matcher,
            body: LazyBody::impossible(reason.into()),
            message: RuleMessage::new(broken.name.clone(), Text::default(), VariableTemplate::empty()),
            exceptions,
            near_exceptions: Vec::new(),
            actions: FailureActions {
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
            properties: Vec::new(),
        };
        Some(self.finish((judge, RuleAction::Validate), position, &broken.path, Vec::new()))
    }

    fn finish(
        &self,
        (judge, action): (ValidateRule, RuleAction),
        position: u32,
        path: &[Step],
        properties: Vec<(Text, Text)>,
    ) -> kubewright_engine::Rule {
        let id = Arc::clone(&judge.id);
        let mut scope = judge.matcher.scope_in(&self.document);
        scope.places.pod_controllers =
            autogen_limit(self.policy).map(|limit| (limit.value.clone(), self.document.locate(&limit.path)));
        self.engine_rule((id, scope), position, path, (action, properties), Box::new(judge))
    }

    /// Returns the rule of `program`, whose name or place is at `path`.
    fn engine_rule(
        &self,
        (id, scope): (Arc<RuleId>, RuleScope),
        position: u32,
        path: &[Step],
        (action, properties): (RuleAction, Vec<(Text, Text)>),
        program: Box<dyn RuleProgram>,
    ) -> kubewright_engine::Rule {
        kubewright_engine::Rule {
            id,
            scope,
            action,
            // Objects are changed before anything else; others are written once the request is admitted.
            phase: match action {
                RuleAction::Mutate => AdmissionPhase::Mutating,
                _ => AdmissionPhase::Validating,
            },
            tier: 0,
            precedence: 0,
            position,
            matches_current: action == RuleAction::Mutate,
            metadata: self.rule_metadata(properties),
            refuses_on_error: self.policy.settings.is_fail_closed,
            is_exclusive: self.policy.settings.applies_one_rule,
            reads_secrets: self.reads_secrets(path),
            home: self.policy.namespace.clone(),
            evaluation_modes: EvaluationModes {
                admission: self.policy.settings.is_admission,
                background: self.policy.settings.is_background,
            },
            location: self.document.locate(path),
            program,
        }
    }

    /// Returns the metadata of a rule with these properties; rules without any share theirs.
    fn rule_metadata(&self, properties: Vec<(Text, Text)>) -> Arc<RuleMetadata> {
        let annotations = &self.policy.annotations;
        let made = |properties| {
            Arc::new(RuleMetadata {
                severity: annotations.severity.clone(),
                category: annotations.category.clone(),
                title: policy_text(&self.document, "title"),
                description: policy_text(&self.document, "description"),
                properties,
                emits_warning: self.policy.settings.emits_warning,
                ..RuleMetadata::default()
            })
        };
        match properties.is_empty() {
            true => Arc::clone(self.metadata.get_or_init(|| made(properties))),
            false => made(properties),
        }
    }

    /// Returns whether the rule whose name is at `path` names Secrets.
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

impl PolicySource {
    /// Returns `name`, or `namespace/name` of a namespaced policy.
    #[must_use]
    pub fn key(&self) -> Text {
        match &self.namespace {
            None => self.name.value.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name.value).into(),
        }
    }
}

/// Returns the properties of rows in reports that are the same for every object.
fn constant_properties(judge: &ValidateRule, rule: &RuleSource) -> Vec<(Text, Text)> {
    let is_constant = |(name, _): &&(Text, Text)| judge.properties.iter().all(|(other, _)| other != name);
    rule.report_properties.iter().filter(is_constant).cloned().collect()
}
