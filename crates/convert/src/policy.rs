//! A policy, rule by rule: what each is about and what it checks, in CEL.

use std::collections::{HashMap, HashSet};

use kubewright_jmespath::{Inputs, JmesPathFunctions};
use kubewright_k8s::Operation;
use kubewright_value::{Document, Map, Step, Text, Value};

use super::checks::{Checks, EXPRESSIONS};
use super::constraints::Constraints;
use super::matching::{self, Matching};
use super::resources::{self, Found};
use super::{Conversion, Inexpressible, Note, Refused, Target, Written};
use super::{decision, listed, vap, vpol};
use kubewright_dialect_kit::fields::child;
use kubewright_dialect_kit::workload::Workload;
use kubewright_kyverno::autogen::{self, AutogenRule};
use kubewright_kyverno::source::{
    ActionOverride, ExceptionSource, FailureAction, Method, PolicySource, RuleSource,
};

/// How many characters an expression may have, for the API server and for us.
const LONGEST: usize = 100_000;

/// How many kinds of a rule are looked at for names that are guesses.
const MOST_GUESSES: usize = 1000;

/// A rule that can be written, or what was made of it for controllers.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// The rule it comes from.
    pub(super) rule: Text,
    /// `None` for the rule as it was written.
    pub(super) variant: Option<Workload>,
    pub(super) constraints: Constraints,
    pub(super) variables: Vec<Value>,
    pub(super) conditions: Vec<Value>,
    pub(super) validations: Vec<Value>,
    pub(super) audit_annotations: Option<Value>,
    pub(super) params: Option<(Value, Value)>,
    pub(super) action: FailureAction,
    /// Whether Kyverno itself would have written it.
    pub(super) is_native: bool,
}

/// What all writers know of the policy.
pub(super) struct Origin<'p> {
    pub(super) document: &'p Document,
    pub(super) policy: &'p PolicySource,
    /// How many rules it has, those that cannot be written included.
    pub(super) rules: usize,
}

/// A rule with what belongs to it.
struct Subject<'r> {
    rule: &'r RuleSource,
    generated: Vec<&'r AutogenRule>,
    /// All that there are, for this rule or not.
    all_exceptions: &'r [ExceptionSource],
    exceptions: Vec<&'r ExceptionSource>,
    /// Whether it is rewritten for controllers, or was.
    is_for_controllers: bool,
}

pub(super) type Made<T> = Result<T, Inexpressible>;

/// Converts the policy in `document`.
pub(super) fn convert(
    document: &Document,
    target: Target,
    exceptions: &[Document],
    inputs: Inputs,
) -> Option<Conversion> {
    let (policy, exceptions) = kubewright_kyverno::read_policy(document, exceptions)?;
    let functions = JmesPathFunctions::kubernetes().with_inputs(inputs);
    Some(converted(document, policy, &exceptions, target, functions))
}

/// Converts `policy`, which was read from `document`.
pub(super) fn converted(
    document: &Document,
    mut policy: PolicySource,
    exceptions: &[ExceptionSource],
    target: Target,
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
    let refuse = |rule: &Text, reason: Inexpressible| Refused {
        rule: rule.clone(),
        why: reason.why,
        location: document.locate(&reason.path),
    };
    conversion.refused.extend(broken.into_iter().map(|rule| {
        let why = format!("the rule is not valid: {}", rule.message);
        refuse(&rule.name, Inexpressible { why, path: rule.path })
    }));
    let converter = Converter { document, policy: &policy, target, functions, rules };
    let generated = autogen::autogen_rules(&policy);
    let mut drafted: Vec<(Text, Vec<Draft>)> = Vec::new();
    for (place, rule) in policy.rules.iter().enumerate() {
        let subject = Subject {
            rule,
            generated: generated.iter().filter(|generated| generated.rule == place).collect(),
            all_exceptions: exceptions,
            exceptions: made_for(exceptions, &policy, &rule.name.value),
            is_for_controllers: generated.iter().any(|generated| generated.rule == place),
        };
        match converter.rule(&subject, &mut conversion.notes) {
            Ok(drafts) => drafted.push((rule.name.value.clone(), drafts)),
            Err(reason) => conversion.refused.push(refuse(&rule.name.value, reason)),
        }
    }
    let origin = Origin { document, policy: &policy, rules };
    conversion.written = match target {
        Target::ValidatingAdmissionPolicy { .. } => {
            let written = |(rule, drafts): (Text, Vec<Draft>)| Written {
                covers_controllers: drafts.len() > 1
                    || !generated.iter().any(|generated| is_called(&policy, generated.rule, &rule)),
                documents: drafts.iter().flat_map(|draft| vap::documents(&origin, draft)).collect(),
                rules: vec![rule],
            };
            drafted.into_iter().map(written).collect()
        }
        Target::ValidatingPolicy => vpol::written(&origin, drafted),
    };
    conversion.refused.sort_by_key(|refused| refused.location.position);
    conversion
}

fn is_called(policy: &PolicySource, rule: usize, name: &Text) -> bool {
    policy.rules.get(rule).is_some_and(|rule| rule.name.value == *name)
}

/// Returns the exceptions from `rule`.
fn made_for<'e>(
    exceptions: &'e [ExceptionSource],
    policy: &PolicySource,
    rule: &Text,
) -> Vec<&'e ExceptionSource> {
    exceptions.iter().filter(|exception| exception.is_for(&policy.key(), rule)).collect()
}

pub(super) struct Converter<'c> {
    pub(super) document: &'c Document,
    pub(super) policy: &'c PolicySource,
    pub(super) target: Target,
    pub(super) functions: JmesPathFunctions,
    rules: usize,
}

impl Converter<'_> {
    /// Returns what stands for a rule, the rule itself first.
    fn rule(&self, subject: &Subject<'_>, notes: &mut Vec<Note>) -> Made<Vec<Draft>> {
        let rule = subject.rule;
        self.policy_wide(rule)?;
        let is_cel = matches!(rule.validate.method, Method::Cel(_));
        let is_native = is_cel && matches!(self.target, Target::ValidatingAdmissionPolicy { .. });
        if is_native && let Some(reason) = decision::refusal(self.policy, rule, &subject.exceptions) {
            return Err(reason);
        }
        let action = self.action(rule)?;
        let mut checks = self.checks(rule, notes)?;
        if action == FailureAction::Enforce && rule.validate.allows_existing_violations {
            self.forgive(rule, &mut checks, notes);
        }
        let constraints = self.constraints(subject, is_native, &checks.operations)?;
        self.tell_guesses(rule, notes);
        let draft = Draft {
            rule: rule.name.value.clone(),
            variant: None,
            constraints,
            variables: checks.variables.iter().map(named).collect(),
            conditions: checks.conditions.iter().map(named).collect(),
            validations: checks.validations.clone(),
            audit_annotations: checks.audit_annotations.clone(),
            params: checks.params.clone(),
            action,
            is_native,
        };
        let mut drafts = vec![draft];
        self.controllers(subject, &checks, &mut drafts, notes)?;
        if drafts.iter().flat_map(texts).any(|text| text.chars().count() > LONGEST) {
            return refuse("it makes an expression that is too long", &rule.validate.path);
        }
        Ok(drafts)
    }

    /// Refuses what holds for the whole policy and has no equivalent.
    fn policy_wide(&self, rule: &RuleSource) -> Made<()> {
        let settings = &self.policy.settings;
        let spec = |key: &str| child(&child(&[], "spec"), key);
        let is_vap = matches!(self.target, Target::ValidatingAdmissionPolicy { .. });
        let of_validate = |key: &str| child(&rule.validate.path, key);
        match &rule.validate.method {
            Method::Unsupported { field } => {
                return refuse(&format!("`{field}` is no check"), &child(&rule.path, *field));
            }
            Method::PodSecurity(_) => {
                return refuse(
                    "`podSecurity`: the Pod Security Standards are no expressions",
                    &of_validate("podSecurity"),
                );
            }
            Method::Manifests(_) => {
                return refuse("`manifests`: CEL knows no signatures", &of_validate("manifests"));
            }
            _ => {}
        }
        if is_vap && self.policy.namespace.is_some() {
            return refuse(
                "a ValidatingAdmissionPolicy is about the whole cluster, and a Policy about its namespace",
                &child(&[], "kind"),
            );
        }
        if is_vap && !settings.is_admission {
            return refuse("`admission: false`: the API server asks at admission only", &spec("admission"));
        }
        if settings.applies_one_rule && self.rules > 1 {
            return refuse("`applyRules: One` ties the rules of the policy together", &spec("applyRules"));
        }
        Ok(())
    }

    /// Returns what a violation leads to, everywhere.
    fn action(&self, rule: &RuleSource) -> Made<FailureAction> {
        let own = rule.validate.failure_action.unwrap_or(self.policy.settings.failure_action);
        let overrides = rule.validate.failure_action_overrides.iter();
        let overrides = match rule.validate.failure_action {
            None => overrides.chain(&self.policy.settings.failure_action_overrides).collect(),
            // What the rule says counts more than what the policy overrides.
            Some(_) => overrides.collect::<Vec<&ActionOverride>>(),
        };
        for other in overrides {
            let is_everywhere = other.namespaces.is_empty() && other.namespace_selector.is_none();
            if is_everywhere {
                return Ok(other.action);
            }
            if other.action != own {
                return refuse("`failureActionOverrides` for some namespaces", &other.path);
            }
        }
        Ok(own)
    }

    fn constraints(
        &self,
        subject: &Subject<'_>,
        is_native: bool,
        operations: &[Operation],
    ) -> Made<Constraints> {
        let rule = subject.rule;
        if is_native && let Some(constraints) = listed::constraints(rule, &subject.exceptions) {
            return Ok(constraints);
        }
        let is_vap = matches!(self.target, Target::ValidatingAdmissionPolicy { .. });
        let mut made = matching::constraints(&Matching {
            matching: &rule.matching,
            exclude: rule.exclude.as_ref(),
            operations,
            has_parts_of_pods: is_vap || !subject.is_for_controllers,
            path: &rule.path,
        })?;
        if is_vap {
            self.excuse(&subject.exceptions, operations, rule, &mut made)?;
        }
        Ok(made)
    }

    /// Leaves out what exceptions are made for.
    fn excuse(
        &self,
        exceptions: &[&ExceptionSource],
        operations: &[Operation],
        rule: &RuleSource,
        made: &mut Constraints,
    ) -> Made<()> {
        for (place, exception) in exceptions.iter().enumerate() {
            if exception.conditions.is_some() || !exception.pod_security.is_empty() {
                return refuse("an exception with conditions of its own", &rule.path);
            }
            let excused = matching::constraints(&Matching {
                matching: &rule.matching,
                exclude: Some(&exception.matching),
                operations,
                has_parts_of_pods: true,
                path: &rule.path,
            });
            let excused = excused.map_err(|reason| Inexpressible { path: rule.path.clone(), ..reason })?;
            let conditions = excused.conditions.into_iter().filter(|(name, _)| name.starts_with("exclude-"));
            made.conditions.extend(
                conditions.map(|(name, test)| (format!("exception-{}-{name}", place + 1).into(), test)),
            );
        }
        Ok(())
    }

    /// Says that the name of a resource is a guess.
    fn tell_guesses(&self, rule: &RuleSource, notes: &mut Vec<Note>) {
        let filters = rule.matching.flat.iter().chain(&rule.matching.any).chain(&rule.matching.all);
        // Finding a place takes the longer the more stands before it, and nobody reads thousands of notes.
        for kind in filters.flat_map(|filter| &filter.kinds).take(MOST_GUESSES) {
            if let Found::Guessed(resource) = resources::find(&kind.value) {
                notes.push(Note {
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
        notes: &mut Vec<Note>,
        rule: &RuleSource,
        path: &[Step],
        what: impl Into<String>,
    ) {
        let rule = rule.name.value.clone();
        let location = self.document.locate(path);
        notes.push(Note { rule, what: what.into(), about: String::new(), location });
    }

    /// Adds what stands for the rule where it is about controllers.
    fn controllers(
        &self,
        subject: &Subject<'_>,
        checks: &Checks,
        drafts: &mut Vec<Draft>,
        notes: &mut Vec<Note>,
    ) -> Made<()> {
        let (rule, Some(draft)) = (subject.rule, drafts.first().cloned()) else { return Ok(()) };
        if subject.generated.is_empty() {
            return Ok(());
        }
        if draft.is_native && self.target == (Target::ValidatingAdmissionPolicy { has_autogen: false }) {
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
        if self.target == Target::ValidatingPolicy && vpol::is_left_to_itself(drafts) {
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
        subject: &Subject<'_>,
        generated: &AutogenRule,
        checks: &Checks,
        draft: &Draft,
    ) -> Made<Draft> {
        let rule = subject.rule;
        let rewritten = RuleSource {
            matching: generated.matching.clone(),
            exclude: generated.exclude.clone(),
            ..rule.clone()
        };
        let subject = Subject {
            rule: &rewritten,
            generated: Vec::new(),
            all_exceptions: subject.all_exceptions,
            exceptions: made_for(subject.all_exceptions, self.policy, &generated.name),
            is_for_controllers: true,
        };
        let constraints = self.constraints(&subject, false, &checks.operations)?;
        let moved = checks.early_reach.and_then(|_| checks.moved(generated.workload)).ok_or_else(|| {
            Inexpressible {
                why: "an expression whose paths cannot be rewritten for controllers".to_owned(),
                path: rule.validate.path.clone(),
            }
        })?;
        Ok(Draft {
            variant: Some(generated.workload),
            constraints,
            variables: moved.variables.iter().map(named).collect(),
            conditions: moved.conditions.iter().map(named).collect(),
            validations: moved.validations,
            audit_annotations: moved.audit_annotations,
            ..draft.clone()
        })
    }
}

impl Draft {
    /// Returns every condition: what the rule is about, then what it asks for.
    pub(super) fn all_conditions(&self) -> Vec<Value> {
        let mut conditions = self.constraints.conditions.clone();
        let pair = |value: &Value| {
            let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
            (Text::new(text("name")), text("expression").to_owned())
        };
        conditions.extend(self.conditions.iter().map(pair));
        conditions.iter_mut().for_each(|(name, _)| *name = written(name));
        unique(&mut conditions);
        conditions.iter().map(named).collect()
    }
}

/// Returns every expression of `draft`, in the order in which they are written.
pub(super) fn texts(draft: &Draft) -> impl Iterator<Item = &str> {
    let conditions = draft.constraints.conditions.iter().map(|(_, text)| text.as_str());
    let annotations = draft.audit_annotations.iter().flat_map(|list| list.as_array().unwrap_or_default());
    let objects =
        draft.conditions.iter().chain(&draft.variables).chain(&draft.validations).chain(annotations);
    let inside =
        objects.flat_map(|one| EXPRESSIONS.iter().filter_map(|key| one.get(key).and_then(Value::as_str)));
    conditions.chain(inside)
}

/// Returns `name` as the API server lets a condition be called; authors write sentences.
fn written(name: &Text) -> Text {
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
pub(super) fn unique(conditions: &mut [(Text, String)]) {
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

fn named((name, expression): &(Text, String)) -> Value {
    Map::from([("name", Value::from(name.clone())), ("expression", expression.clone().into())]).into()
}

pub(super) fn refuse<T>(why: &str, path: &[Step]) -> Made<T> {
    Err(Inexpressible { why: why.to_owned(), path: path.to_vec() })
}
