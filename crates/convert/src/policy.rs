//! Converts a policy, rule by rule: match constraints and checks.

use std::collections::{HashMap, HashSet};

use kubewright_jmespath::{Inputs, JmesPathFunctions};
use kubewright_k8s::Operation;
use kubewright_value::{Document, Map, Step, Text, Value};

use super::SuccessorKind;
use super::changes::ConvertedChange;
use super::checks::{ConvertedChecks, EXPRESSION_FIELDS};
use super::constraints::MatchConstraints;
use super::matching::{self, MatchSource};
use super::resources::{self, KindLookup};
use super::{
    Conversion, ConversionNote, ConversionRefusal, ConversionResult, ConversionTarget, ConvertedPolicy,
    UnconvertedRule, refuse_conversion,
};
use super::{change_policy, cleanup, decision, listed, vap, vpol};
use kubewright_dialect_kit::fields::child_path;
use kubewright_k8s::PodTemplatePath;
use kubewright_kyverno::autogen::{self, AutogenRule};
use kubewright_kyverno::source::{
    ActionOverride, ExceptionSource, FailureAction, Method, PolicySource, RuleSource,
};
use kubewright_value::CompactSort as _;

/// How many characters an expression may have, for the API server and for us.
const MAX_CEL_CHARACTERS: usize = 100_000;

/// How many kinds of a rule are looked at for names that are guesses.
const MAX_GUESSED_KINDS: usize = 1000;

/// A rule, or its variant for controllers, ready to be written.
#[derive(Debug, Clone)]
pub(super) struct ConvertedRuleDraft {
    /// The rule it comes from.
    pub(super) rule: Text,
    /// `None` for the rule as it was written.
    pub(super) variant: Option<PodTemplatePath>,
    pub(super) constraints: MatchConstraints,
    pub(super) variables: Vec<Value>,
    pub(super) conditions: Vec<Value>,
    pub(super) validations: Vec<Value>,
    pub(super) audit_annotations: Option<Value>,
    pub(super) params: Option<(Value, Value)>,
    pub(super) action: FailureAction,
    /// Whether Kyverno itself would have written it.
    pub(super) is_native: bool,
    /// What it changes, where it checks nothing.
    pub(super) change: Option<ConvertedChange>,
}

/// The policy that is converted, for all writers.
pub(super) struct SourcePolicy<'p> {
    pub(super) document: &'p Document,
    pub(super) policy: &'p PolicySource,
    /// How many rules it has, those that cannot be written included.
    pub(super) rules: usize,
}

/// A rule with its generated rules and exceptions.
pub(super) struct ConvertedRule<'r> {
    pub(super) rule: &'r RuleSource,
    pub(super) generated: Vec<&'r AutogenRule>,
    /// All that there are, for this rule or not.
    all_exceptions: &'r [ExceptionSource],
    exceptions: Vec<&'r ExceptionSource>,
    /// Whether it is rewritten for controllers, or was.
    is_for_controllers: bool,
}

impl<'r> ConvertedRule<'r> {
    /// Returns `rewritten`, which was made of this rule for controllers and is called `name`.
    pub(super) fn of_controllers<'a>(
        &self,
        rewritten: &'a RuleSource,
        policy: &PolicySource,
        name: &Text,
    ) -> ConvertedRule<'a>
    where
        'r: 'a,
    {
        ConvertedRule {
            rule: rewritten,
            generated: Vec::new(),
            all_exceptions: self.all_exceptions,
            exceptions: exceptions_for(self.all_exceptions, policy, name),
            is_for_controllers: true,
        }
    }
}

/// Converts the policy in `document`.
pub(super) fn convert_document(
    document: &Document,
    target: ConversionTarget,
    exceptions: &[Document],
    inputs: Inputs,
) -> Option<Conversion> {
    let functions = JmesPathFunctions::kubernetes().with_inputs(inputs);
    let Some((policy, exceptions)) = kubewright_kyverno::read_policy(document, exceptions) else {
        let is_written = target.writes(SuccessorKind::DeletingPolicy);
        return is_written.then(|| cleanup::convert_cleanup_policy(document, &functions)).flatten();
    };
    Some(convert_source(document, policy, &exceptions, target, functions))
}

/// Converts `policy`, which was read from `document`.
pub(super) fn convert_source(
    document: &Document,
    mut policy: PolicySource,
    exceptions: &[ExceptionSource],
    target: ConversionTarget,
    functions: JmesPathFunctions,
) -> Conversion {
    let rules = policy.rules.len() + policy.broken.len();
    let mut conversion = Conversion {
        policy: policy.key(),
        rules,
        written: Vec::new(),
        refused: Vec::new(),
        notes: Vec::new(),
    };
    let broken = std::mem::take(&mut policy.broken);
    let refuse = |rule: &Text, reason: ConversionRefusal| UnconvertedRule {
        rule: rule.clone(),
        why: reason.why,
        location: document.locate(&reason.path),
    };
    conversion.refused.extend(broken.into_iter().map(|rule| {
        let why = format!("the rule is not valid: {}", rule.message);
        refuse(&rule.name, ConversionRefusal { why, path: rule.path })
    }));
    let converter = Converter { document, policy: &policy, target, functions, rules };
    let generated = autogen::autogen_rules(&policy);
    let mut drafted: Vec<(Text, Vec<ConvertedRuleDraft>)> = Vec::new();
    for (place, rule) in policy.rules.iter().enumerate() {
        let subject = ConvertedRule {
            rule,
            generated: generated.iter().filter(|generated| generated.rule == place).collect(),
            all_exceptions: exceptions,
            exceptions: exceptions_for(exceptions, &policy, &rule.name.value),
            is_for_controllers: generated.iter().any(|generated| generated.rule == place),
        };
        match converter.rule(&subject, &mut conversion.notes) {
            Ok(drafts) => drafted.push((rule.name.value.clone(), drafts)),
            Err(reason) => conversion.refused.push(refuse(&rule.name.value, reason)),
        }
    }
    converter.tell_order(&drafted, &mut conversion.notes);
    let origin = SourcePolicy { document, policy: &policy, rules };
    conversion.written = match target {
        ConversionTarget::ValidatingAdmissionPolicy { .. } => {
            let written = |(rule, drafts): (Text, Vec<ConvertedRuleDraft>)| ConvertedPolicy {
                covers_controllers: drafts.len() > 1
                    || !generated.iter().any(|generated| has_rule_name(&policy, generated.rule, &rule)),
                documents: drafts
                    .iter()
                    .flat_map(|draft| vap::admission_policy_documents(&origin, draft))
                    .collect(),
                rules: vec![rule],
            };
            drafted.into_iter().map(written).collect()
        }
        ConversionTarget::Successor(_) => write_successors(&origin, drafted),
    };
    conversion.refused.compact_sort_by_key(|refused| refused.location.position);
    conversion
}

/// Returns the policies that replace rules, in the order of the rules.
fn write_successors(
    origin: &SourcePolicy<'_>,
    drafted: Vec<(Text, Vec<ConvertedRuleDraft>)>,
) -> Vec<ConvertedPolicy> {
    let is_change = |(_, drafts): &(Text, Vec<ConvertedRuleDraft>)| {
        drafts.first().is_some_and(|draft| draft.change.is_some())
    };
    let (changes, checks): (Vec<_>, Vec<_>) = drafted.into_iter().partition(is_change);
    let changes =
        changes.into_iter().map(|(rule, drafts)| change_policy::write_change_policies(origin, rule, &drafts));
    let checks = if checks.is_empty() { Vec::new() } else { vpol::write_validating_policies(origin, checks) };
    let mut written: Vec<ConvertedPolicy> = changes.chain(checks).collect();
    let place = |written: &ConvertedPolicy| {
        let rules = &origin.policy.rules;
        rules.iter().position(|rule| written.rules.first() == Some(&rule.name.value))
    };
    written.compact_sort_by_key(place);
    written
}

fn has_rule_name(policy: &PolicySource, rule: usize, name: &Text) -> bool {
    policy.rules.get(rule).is_some_and(|rule| rule.name.value == *name)
}

/// Returns the exceptions from `rule`.
fn exceptions_for<'e>(
    exceptions: &'e [ExceptionSource],
    policy: &PolicySource,
    rule: &Text,
) -> Vec<&'e ExceptionSource> {
    exceptions.iter().filter(|exception| exception.is_for(&policy.key(), rule)).collect()
}

pub(super) struct Converter<'c> {
    pub(super) document: &'c Document,
    pub(super) policy: &'c PolicySource,
    pub(super) target: ConversionTarget,
    pub(super) functions: JmesPathFunctions,
    pub(super) rules: usize,
}

impl Converter<'_> {
    /// Returns the drafts that replace a rule, the rule itself first.
    fn rule(
        &self,
        subject: &ConvertedRule<'_>,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<Vec<ConvertedRuleDraft>> {
        let rule = subject.rule;
        match &rule.validate.method {
            Method::Mutate(mutate) => return self.mutate_rule(subject, mutate, notes),
            Method::Generate(generate) => return self.generate_rule(subject, generate, notes),
            Method::Images(_) => return self.image_rule(subject, notes),
            _ => {}
        }
        self.policy_wide(rule)?;
        if self.target.is_successor() && !self.target.writes(SuccessorKind::ValidatingPolicy) {
            return refuse_conversion("it checks objects, for which there is ValidatingPolicy", &rule.path);
        }
        let is_cel = matches!(rule.validate.method, Method::Cel(_));
        let is_native = is_cel && matches!(self.target, ConversionTarget::ValidatingAdmissionPolicy { .. });
        if is_native && let Some(reason) = decision::native_refusal(self.policy, rule, &subject.exceptions) {
            return Err(reason);
        }
        let action = self.action(rule)?;
        let mut checks = self.checks(rule, notes)?;
        if action == FailureAction::Enforce && rule.validate.allows_existing_violations {
            self.forgive(rule, &mut checks, notes);
        }
        let constraints = self.constraints(subject, is_native, &checks.operations)?;
        self.tell_guesses(rule, notes);
        let draft = ConvertedRuleDraft {
            rule: rule.name.value.clone(),
            variant: None,
            constraints,
            variables: checks.variables.iter().map(named_value).collect(),
            conditions: checks.conditions.iter().map(named_value).collect(),
            validations: checks.validations.clone(),
            audit_annotations: checks.audit_annotations.clone(),
            params: checks.params.clone(),
            action,
            is_native,
            change: None,
        };
        let mut drafts = vec![draft];
        self.controllers(subject, &checks, &mut drafts, notes)?;
        if drafts.iter().flat_map(draft_expressions).any(|text| text.chars().count() > MAX_CEL_CHARACTERS) {
            return refuse_conversion("it makes an expression that is too long", &rule.validate.path);
        }
        Ok(drafts)
    }

    /// Notes that rules which change an object one after the other become policies that do.
    fn tell_order(&self, drafted: &[(Text, Vec<ConvertedRuleDraft>)], notes: &mut Vec<ConversionNote>) {
        let is_mutation = |draft: &ConvertedRuleDraft| {
            draft.change.as_ref().is_some_and(|change| change.kind == SuccessorKind::MutatingPolicy)
        };
        let names = drafted.iter().filter(|(_, drafts)| drafts.first().is_some_and(is_mutation));
        let second = names.map(|(name, _)| name).nth(1);
        let rule = self.policy.rules.iter().find(|rule| Some(&rule.name.value) == second);
        if let Some(rule) = rule {
            self.note(
                notes,
                rule,
                &rule.name.path,
                "the rules of the policy change an object one after the other, their successors in the order of their \
                 names",
            );
        }
    }

    /// Refuses settings of the whole policy that have no equivalent.
    fn policy_wide(&self, rule: &RuleSource) -> ConversionResult<()> {
        let settings = &self.policy.settings;
        let spec = |key: &str| child_path(&child_path(&[], "spec"), key);
        let is_vap = matches!(self.target, ConversionTarget::ValidatingAdmissionPolicy { .. });
        let of_validate = |key: &str| child_path(&rule.validate.path, key);
        match &rule.validate.method {
            Method::PodSecurity(_) => {
                return refuse_conversion(
                    "`podSecurity`: the Pod Security Standards cannot be written in CEL",
                    &of_validate("podSecurity"),
                );
            }
            Method::Manifests(_) => {
                return refuse_conversion(
                    "`manifests`: CEL cannot check signatures",
                    &of_validate("manifests"),
                );
            }
            _ => {}
        }
        if is_vap && self.policy.namespace.is_some() {
            return refuse_conversion(
                "a ValidatingAdmissionPolicy matches the whole cluster, but a Policy only its namespace",
                &child_path(&[], "kind"),
            );
        }
        if is_vap && !settings.is_admission {
            return refuse_conversion(
                "`admission: false`: the API server evaluates policies at admission only",
                &spec("admission"),
            );
        }
        if settings.applies_one_rule && self.rules > 1 {
            return refuse_conversion(
                "`applyRules: One` ties the rules of the policy together",
                &spec("applyRules"),
            );
        }
        Ok(())
    }

    /// Returns the failure action, which must be the same in all namespaces.
    pub(super) fn action(&self, rule: &RuleSource) -> ConversionResult<FailureAction> {
        let own = rule.validate.failure_action.unwrap_or(self.policy.settings.failure_action);
        let overrides = rule.validate.failure_action_overrides.iter();
        let overrides = match rule.validate.failure_action {
            None => overrides.chain(&self.policy.settings.failure_action_overrides).collect(),
            // The rule's own action takes precedence over the policy's overrides.
            Some(_) => overrides.collect::<Vec<&ActionOverride>>(),
        };
        for other in overrides {
            let is_everywhere = other.namespaces.is_empty() && other.namespace_selector.is_none();
            if is_everywhere {
                return Ok(other.action);
            }
            if other.action != own {
                return refuse_conversion("`failureActionOverrides` for some namespaces", &other.path);
            }
        }
        Ok(own)
    }

    pub(super) fn constraints(
        &self,
        subject: &ConvertedRule<'_>,
        is_native: bool,
        operations: &[Operation],
    ) -> ConversionResult<MatchConstraints> {
        let rule = subject.rule;
        if is_native && let Some(constraints) = listed::listed_constraints(rule, &subject.exceptions) {
            return Ok(constraints);
        }
        let is_vap = matches!(self.target, ConversionTarget::ValidatingAdmissionPolicy { .. });
        let mut made = matching::write_constraints(&MatchSource {
            matching: &rule.matching,
            exclude: rule.exclude.as_ref(),
            operations,
            has_parts_of_pods: is_vap || !subject.is_for_controllers,
            path: &rule.path,
        })?;
        self.excuse(&subject.exceptions, operations, rule, &mut made)?;
        Ok(made)
    }

    /// Excludes the objects of exceptions.
    fn excuse(
        &self,
        exceptions: &[&ExceptionSource],
        operations: &[Operation],
        rule: &RuleSource,
        made: &mut MatchConstraints,
    ) -> ConversionResult<()> {
        for (place, exception) in exceptions.iter().enumerate() {
            if exception.conditions.is_some() || !exception.pod_security.is_empty() {
                return refuse_conversion("an exception with conditions of its own", &rule.path);
            }
            let excused = matching::write_constraints(&MatchSource {
                matching: &rule.matching,
                exclude: Some(&exception.matching),
                operations,
                has_parts_of_pods: true,
                path: &rule.path,
            });
            let excused =
                excused.map_err(|reason| ConversionRefusal { path: rule.path.clone(), ..reason })?;
            let conditions = excused.conditions.into_iter().filter(|(name, _)| name.starts_with("exclude-"));
            made.conditions.extend(
                conditions.map(|(name, test)| (format!("exception-{}-{name}", place + 1).into(), test)),
            );
        }
        Ok(())
    }

    /// Notes that the name of a resource is a guess.
    pub(super) fn tell_guesses(&self, rule: &RuleSource, notes: &mut Vec<ConversionNote>) {
        let filters = rule.matching.flat.iter().chain(&rule.matching.any).chain(&rule.matching.all);
        // Locating a kind takes longer the further down it is, and thousands of notes are of no use.
        for kind in filters.flat_map(|filter| &filter.kinds).take(MAX_GUESSED_KINDS) {
            if let KindLookup::Guessed(resource) = resources::find_resources(&kind.value) {
                notes.push(ConversionNote {
                    rule: rule.name.value.clone(),
                    what: "the API server may have another name for this resource than the one that is guessed here"
                        .to_owned(),
                    about: format!("`{}` of `{}`", resource.name, kind.value),
                    location: self.document.locate(&kind.path),
                });
            }
        }
    }

    pub(super) fn note(
        &self,
        notes: &mut Vec<ConversionNote>,
        rule: &RuleSource,
        path: &[Step],
        what: impl Into<String>,
    ) {
        let rule = rule.name.value.clone();
        let location = self.document.locate(path);
        notes.push(ConversionNote { rule, what: what.into(), about: String::new(), location });
    }

    /// Adds the drafts for controllers.
    fn controllers(
        &self,
        subject: &ConvertedRule<'_>,
        checks: &ConvertedChecks,
        drafts: &mut Vec<ConvertedRuleDraft>,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<()> {
        let (rule, Some(draft)) = (subject.rule, drafts.first().cloned()) else { return Ok(()) };
        if subject.generated.is_empty() {
            return Ok(());
        }
        if draft.is_native
            && self.target == (ConversionTarget::ValidatingAdmissionPolicy { has_autogen: false })
        {
            self.note(
                notes,
                rule,
                &rule.name.path,
                "Deployments and other controllers are not covered, as Kyverno leaves them out; `--autogen` adds them",
            );
            return Ok(());
        }
        for generated in &subject.generated {
            drafts.push(self.controller(subject, generated, checks, &draft)?);
        }
        if self.target.is_successor() && vpol::relies_on_autogen(drafts) {
            self.note(
                notes,
                rule,
                &rule.name.path,
                "ReplicationControllers, and ephemeral containers that are added later, are not judged any more: \
                 a ValidatingPolicy that covers controllers cannot name them",
            );
        }
        Ok(())
    }

    fn controller(
        &self,
        subject: &ConvertedRule<'_>,
        generated: &AutogenRule,
        checks: &ConvertedChecks,
        draft: &ConvertedRuleDraft,
    ) -> ConversionResult<ConvertedRuleDraft> {
        let rule = subject.rule;
        let rewritten = RuleSource {
            matching: generated.matching.clone(),
            exclude: generated.exclude.clone(),
            ..rule.clone()
        };
        let subject = subject.of_controllers(&rewritten, self.policy, &generated.name);
        let constraints = self.constraints(&subject, false, &checks.operations)?;
        let moved = checks.early_reach.and_then(|_| checks.moved(generated.workload)).ok_or_else(|| {
            ConversionRefusal {
                why: "an expression whose paths cannot be rewritten for controllers".to_owned(),
                path: rule.validate.path.clone(),
            }
        })?;
        Ok(ConvertedRuleDraft {
            variant: Some(generated.workload),
            constraints,
            variables: moved.variables.iter().map(named_value).collect(),
            conditions: moved.conditions.iter().map(named_value).collect(),
            validations: moved.validations,
            audit_annotations: moved.audit_annotations,
            ..draft.clone()
        })
    }
}

impl ConvertedRuleDraft {
    /// Returns every condition: those of the match, then those of the rule.
    pub(super) fn all_conditions(&self) -> Vec<Value> {
        let mut conditions = self.constraints.conditions.clone();
        let pair = |value: &Value| {
            let text = |key: &str| value.str_at(&[key]);
            (Text::new(text("name")), text("expression").to_owned())
        };
        conditions.extend(self.conditions.iter().map(pair));
        conditions.iter_mut().for_each(|(name, _)| *name = condition_name(name));
        make_names_unique(&mut conditions);
        conditions.iter().map(named_value).collect()
    }
}

/// Returns every expression of `draft`, in the order in which they are written.
pub(super) fn draft_expressions(draft: &ConvertedRuleDraft) -> impl Iterator<Item = &str> {
    let conditions = draft.constraints.conditions.iter().map(|(_, text)| text.as_str());
    let annotations = draft.audit_annotations.iter().flat_map(|list| list.as_array().unwrap_or_default());
    let objects =
        draft.conditions.iter().chain(&draft.variables).chain(&draft.validations).chain(annotations);
    let inside = objects
        .flat_map(|one| EXPRESSION_FIELDS.iter().filter_map(|key| one.get(key).and_then(Value::as_str)));
    conditions.chain(inside)
}

/// Returns `name` as the API server lets a condition be called; authors write sentences.
fn condition_name(name: &Text) -> Text {
    let (prefix, own) = name.rsplit_once('/').map_or(("", name.as_str()), |(prefix, own)| (prefix, own));
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    let is_good = (1..=63).contains(&own.len())
        && own.chars().all(is_known)
        && own.starts_with(is_edge)
        && own.ends_with(is_edge);
    if is_good && !prefix.contains('/') {
        return name.clone();
    }
    let letters: String = name.chars().map(|c| if is_known(c) { c } else { '-' }).take(60).collect();
    match letters.trim_matches(|c| !is_edge(c)) {
        "" => "condition".into(),
        letters => letters.into(),
    }
}

/// Gives conditions that have one name names of their own.
pub(super) fn make_names_unique(conditions: &mut [(Text, String)]) {
    let mut taken: HashSet<Text> = HashSet::new();
    let mut numbers: HashMap<Text, usize> = HashMap::new();
    for (name, _) in conditions {
        let wanted = name.clone();
        let number = numbers.entry(wanted.clone()).or_insert(1);
        while !taken.insert(name.clone()) {
            *number += 1;
            *name = format!("{wanted}-{number}").into();
        }
    }
}

pub(super) fn named_value((name, expression): &(Text, String)) -> Value {
    Map::from([("name", Value::from(name.clone())), ("expression", expression.clone().into())]).into()
}
