//! Rules that change or make objects: the drafts of MutatingPolicies and GeneratingPolicies, and what those share with
//! rules that verify images.

use kubewright_k8s::{Operation, PodTemplatePath};
use kubewright_value::{Map, Text, Value};

use super::expressions::{
    MutationExpression, MutationExpressions, MutationSource, translate_generate, translate_mutation,
    translate_preconditions,
};
use super::policy::{ConvertedRule, ConvertedRuleDraft, Converter};
use super::rebase::{self, TemplateReach};
use super::{ConversionNote, ConversionRefusal, ConversionResult, SuccessorKind, refuse_conversion};
use kubewright_dialect_kit::fields::child_path;
use kubewright_kyverno::autogen::AutogenRule;
use kubewright_kyverno::source::{FailureAction, GenerateSource, Mutate, RuleSource};

/// What a policy does beside its conditions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConvertedChange {
    /// The kind of policy.
    pub(super) kind: SuccessorKind,
    /// The fields of its `spec` that say what it changes.
    pub(super) fields: Vec<(&'static str, Value)>,
}

/// The operations after which objects are changed, unless the rule names others.
const CHANGE_OPERATIONS: [Operation; 2] = [Operation::Create, Operation::Update];

impl Converter<'_> {
    /// Returns the drafts of a rule that changes the object, the rule itself first.
    pub(super) fn mutate_rule(
        &self,
        subject: &ConvertedRule<'_>,
        mutate: &Mutate,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<Vec<ConvertedRuleDraft>> {
        let rule = subject.rule;
        if !self.target.writes(SuccessorKind::MutatingPolicy) {
            let why = self.not_written(
                "`mutate` is not a check",
                "it changes objects, for which there is MutatingPolicy",
            );
            return refuse_conversion(why, &mutate.path);
        }
        let preconditions = self.sure_preconditions(rule)?;
        let source = MutationSource { written: rule, rule, mutate, workload: PodTemplatePath::Pod };
        let mut drafts = vec![self.mutation_draft(subject, &source, &preconditions)?];
        for generated in &subject.generated {
            drafts.push(self.generated_draft(subject, generated, mutate, &preconditions)?);
        }
        self.tell_guesses(rule, notes);
        Ok(drafts)
    }

    fn generated_draft(
        &self,
        subject: &ConvertedRule<'_>,
        generated: &AutogenRule,
        mutate: &Mutate,
        preconditions: &[(Text, String)],
    ) -> ConversionResult<ConvertedRuleDraft> {
        let rule = subject.rule;
        let rewritten = rewritten_rule(rule, generated);
        let preconditions = moved_conditions(rule, generated, preconditions)?;
        let subject = subject.of_controllers(&rewritten, self.policy, &generated.name);
        let source = MutationSource { written: rule, rule: &rewritten, mutate, workload: generated.workload };
        let draft = self.mutation_draft(&subject, &source, &preconditions)?;
        Ok(ConvertedRuleDraft { variant: Some(generated.workload), ..draft })
    }

    /// Returns the drafts of a rule with one `change` for all kinds of objects, the rule itself first.
    pub(super) fn change_drafts(
        &self,
        subject: &ConvertedRule<'_>,
        conditions: &[(Text, String)],
        change: &ConvertedChange,
    ) -> ConversionResult<Vec<ConvertedRuleDraft>> {
        let mut drafts = vec![self.change_draft(subject, conditions, change.clone())?];
        for generated in &subject.generated {
            let rewritten = rewritten_rule(subject.rule, generated);
            let moved = moved_conditions(subject.rule, generated, conditions)?;
            let subject = subject.of_controllers(&rewritten, self.policy, &generated.name);
            let draft = self.change_draft(&subject, &moved, change.clone())?;
            drafts.push(ConvertedRuleDraft { variant: Some(generated.workload), ..draft });
        }
        Ok(drafts)
    }

    /// Returns the preconditions of a rule that does more than check, by name.
    pub(super) fn sure_preconditions(&self, rule: &RuleSource) -> ConversionResult<Vec<(Text, String)>> {
        self.check_settings(rule)?;
        translate_preconditions(rule, &self.functions)
    }

    fn mutation_draft(
        &self,
        subject: &ConvertedRule<'_>,
        source: &MutationSource<'_>,
        preconditions: &[(Text, String)],
    ) -> ConversionResult<ConvertedRuleDraft> {
        let MutationExpressions { conditions, mutations } = translate_mutation(source, &self.functions)?;
        let mutations = mutations.iter().map(mutation_value).collect();
        let change = ConvertedChange {
            kind: SuccessorKind::MutatingPolicy,
            fields: vec![("mutations", Value::array(mutations))],
        };
        let conditions: Vec<(Text, String)> = preconditions.iter().cloned().chain(conditions).collect();
        self.change_draft(subject, &conditions, change)
    }

    /// Returns the draft of a rule that makes objects.
    pub(super) fn generate_rule(
        &self,
        subject: &ConvertedRule<'_>,
        generate: &GenerateSource,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<Vec<ConvertedRuleDraft>> {
        let rule = subject.rule;
        if !self.target.writes(SuccessorKind::GeneratingPolicy) {
            let why = self.not_written(
                "`generate` is not a check",
                "it makes objects, for which there is GeneratingPolicy",
            );
            return refuse_conversion(why, &child_path(&rule.path, "generate"));
        }
        let conditions = self.sure_preconditions(rule)?;
        let expressions = translate_generate(rule, generate, &self.functions)?;
        let entry = |text: String| Value::from(Map::from([("expression", Value::from(text))]));
        let mut fields = Vec::new();
        if let Some(evaluation) = self.generate_evaluation(generate) {
            fields.push(("evaluation", evaluation));
        }
        fields.push(("generate", Value::array(expressions.into_iter().map(entry).collect())));
        let change = ConvertedChange { kind: SuccessorKind::GeneratingPolicy, fields };
        self.tell_guesses(rule, notes);
        Ok(vec![self.change_draft(subject, &conditions, change)?])
    }

    fn generate_evaluation(&self, generate: &GenerateSource) -> Option<Value> {
        let of_policy = self.document.value.at(&["spec", "generateExisting"]).and_then(Value::as_bool);
        let switches = [
            ("synchronize", generate.synchronizes),
            ("generateExisting", generate.generates_existing.or(of_policy).unwrap_or(false)),
            ("orphanDownstreamOnPolicyDelete", generate.orphans_downstream),
        ];
        let mut evaluation = Map::new();
        for (key, _) in switches.into_iter().filter(|(_, is_on)| *is_on) {
            evaluation.insert(key.into(), Map::from([("enabled", Value::from(true))]).into());
        }
        (!evaluation.is_empty()).then(|| evaluation.into())
    }

    fn change_draft(
        &self,
        subject: &ConvertedRule<'_>,
        conditions: &[(Text, String)],
        change: ConvertedChange,
    ) -> ConversionResult<ConvertedRuleDraft> {
        let rule = subject.rule;
        let filters = rule.matching.flat.iter().chain(&rule.matching.any).chain(&rule.matching.all);
        for filter in filters {
            if filter.operations.iter().any(|operation| !CHANGE_OPERATIONS.contains(operation)) {
                return refuse_conversion("it runs on deletions or connections", &filter.path);
            }
        }
        Ok(ConvertedRuleDraft {
            rule: rule.name.value.clone(),
            variant: None,
            constraints: self.constraints(subject, false, &CHANGE_OPERATIONS)?,
            variables: Vec::new(),
            conditions: conditions.iter().map(super::policy::named_value).collect(),
            validations: Vec::new(),
            audit_annotations: None,
            params: None,
            action: FailureAction::Enforce,
            is_native: false,
            change: Some(change),
        })
    }

    /// Returns why a rule is not written: `of_checks` where only checks are.
    pub(super) fn not_written(&self, of_checks: &'static str, of_changes: &'static str) -> &'static str {
        let writes_checks =
            !self.target.is_successor() || self.target.writes(SuccessorKind::ValidatingPolicy);
        if writes_checks { of_checks } else { of_changes }
    }

    /// Refuses settings of the policy that a change has no equivalent for.
    fn check_settings(&self, rule: &RuleSource) -> ConversionResult<()> {
        let settings = &self.policy.settings;
        if settings.applies_one_rule && self.rules > 1 {
            return refuse_conversion("`applyRules: One` ties the rules of the policy together", &rule.path);
        }
        if !settings.match_conditions.is_empty() {
            return refuse_conversion("`webhookConfiguration.matchConditions` beside a change", &rule.path);
        }
        match rule.cel_preconditions.is_empty() {
            true => Ok(()),
            false => refuse_conversion(
                "`celPreconditions` without `cel`",
                &child_path(&rule.path, "celPreconditions"),
            ),
        }
    }
}

/// Returns `rule` about the objects of the rule that was generated from it.
fn rewritten_rule(rule: &RuleSource, generated: &AutogenRule) -> RuleSource {
    RuleSource { matching: generated.matching.clone(), exclude: generated.exclude.clone(), ..rule.clone() }
}

/// Returns `conditions` about the Pod that a controller describes.
fn moved_conditions(
    rule: &RuleSource,
    generated: &AutogenRule,
    conditions: &[(Text, String)],
) -> ConversionResult<Vec<(Text, String)>> {
    let moved = |(name, text): &(Text, String)| {
        let text = rebase::rebase_expression(text, generated.workload, TemplateReach::Description);
        text.map(|text| (name.clone(), text)).ok_or_else(|| ConversionRefusal {
            why: "an expression whose paths cannot be rewritten for controllers".to_owned(),
            path: rule.path.clone(),
        })
    };
    conditions.iter().map(moved).collect()
}

fn mutation_value(mutation: &MutationExpression) -> Value {
    let (kind, field, text) = match mutation {
        MutationExpression::Apply(text) => ("ApplyConfiguration", "applyConfiguration", text),
        MutationExpression::Json(text) => ("JSONPatch", "jsonPatch", text),
    };
    let expression = Map::from([("expression", Value::from(text.clone()))]);
    Map::from([("patchType", Value::from(kind)), (field, expression.into())]).into()
}
