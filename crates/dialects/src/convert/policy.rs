//! A policy, rule by rule: what each is about and what it checks, in CEL.

use kubewright_engine::Operation;
use kubewright_lang::jmespath::{Functions, Inputs};
use kubewright_value::{Document, Map, Step, Text, Value};

use super::constraints::Constraints;
use super::matching::{self, Matching};
use super::rebase::{self, Reach};
use super::resources::{self, Found};
use super::{Conversion, Expressions, Inexpressible, Note, Refused, Target, Written};
use super::{decision, expressions, listed, vap, vpol};
use crate::Options;
use crate::fields::child;
use crate::kyverno::autogen::{self, Generated};
use crate::kyverno::matching::kind::parts;
use crate::kyverno::source::{self, Action, ActionOverride, Exception, Match, Method, Policy, Rule};
use crate::workload::Workload;

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
    pub(super) action: Action,
    /// Whether Kyverno itself would have written it.
    pub(super) is_native: bool,
}

/// What all writers know of the policy.
pub(super) struct Origin<'p> {
    pub(super) document: &'p Document,
    pub(super) policy: &'p Policy,
    /// Whether every rule is written by itself because there are several.
    pub(super) rules: usize,
}

/// A rule with what belongs to it.
struct Subject<'r> {
    rule: &'r Rule,
    generated: Vec<&'r Generated>,
    /// All that there are, for this rule or not.
    all_exceptions: &'r [Exception],
    exceptions: Vec<&'r Exception>,
    /// Whether it is rewritten for controllers, or was.
    is_for_controllers: bool,
}

type Made<T> = Result<T, Inexpressible>;

/// Converts the policy in `document`.
pub(super) fn convert(document: &Document, target: Target, options: &Options) -> Option<Conversion> {
    let (mut policy, exceptions) = crate::kyverno::read_policy(document, options)?;
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
    let converter = Converter { document, policy: &policy, target, functions: functions(options), rules };
    let generated = autogen::generate(&policy);
    let mut drafted: Vec<(Text, Vec<Draft>)> = Vec::new();
    for (place, rule) in policy.rules.iter().enumerate() {
        let subject = Subject {
            rule,
            generated: generated.iter().filter(|generated| generated.rule == place).collect(),
            all_exceptions: &exceptions,
            exceptions: made_for(&exceptions, &policy, &rule.name.value),
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
    Some(conversion)
}

fn is_called(policy: &Policy, rule: usize, name: &Text) -> bool {
    policy.rules.get(rule).is_some_and(|rule| rule.name.value == *name)
}

/// Returns the exceptions from `rule`.
fn made_for<'e>(exceptions: &'e [Exception], policy: &Policy, rule: &Text) -> Vec<&'e Exception> {
    exceptions.iter().filter(|exception| exception.is_for(&policy.key(), rule)).collect()
}

fn functions(options: &Options) -> Functions {
    let inputs = Inputs { now: options.now, random_seed: options.random_seed };
    Functions::kubernetes().with_inputs(inputs)
}

struct Converter<'c> {
    document: &'c Document,
    policy: &'c Policy,
    target: Target,
    functions: Functions,
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
        if action == Action::Enforce && rule.validate.allows_existing_violations {
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
        Ok(drafts)
    }

    /// Refuses what holds for the whole policy and has no equivalent.
    fn policy_wide(&self, rule: &Rule) -> Made<()> {
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
    fn action(&self, rule: &Rule) -> Made<Action> {
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

    /// Lets updates of objects through that were as bad before, as the source does.
    fn forgive(&self, rule: &Rule, checks: &mut Checks, notes: &mut Vec<Note>) {
        let filters = || rule.matching.flat.iter().chain(&rule.matching.any).chain(&rule.matching.all);
        // The object as it was is taken for one that nobody in particular creates.
        let forgives_some = filters().any(|filter| {
            let is_about =
                |operation| filter.operations.is_empty() || filter.operations.contains(&operation);
            filter.subjects.is_empty() && is_about(Operation::Create) && is_about(Operation::Update)
        });
        if !forgives_some {
            return;
        }
        let is_told_by_match = filters().any(|filter| {
            filter.selector.is_some() || !filter.annotations.is_empty() || !filter.subjects.is_empty()
        });
        match checks.was_violated.take().filter(|_| !is_told_by_match) {
            Some(was_violated) => {
                let also = format!("(request.operation == \"UPDATE\" && ({was_violated}))");
                checks.validations = checks.validations.iter().map(|one| or_also(one, &also)).collect();
            }
            None => self.note(
                notes,
                rule,
                &rule.name.path,
                "an update of an object that violated the rule before is refused from now on",
            ),
        }
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
        exceptions: &[&Exception],
        operations: &[Operation],
        rule: &Rule,
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
    fn tell_guesses(&self, rule: &Rule, notes: &mut Vec<Note>) {
        let filters = rule.matching.flat.iter().chain(&rule.matching.any).chain(&rule.matching.all);
        for kind in filters.flat_map(|filter| &filter.kinds) {
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

    fn note(&self, notes: &mut Vec<Note>, rule: &Rule, path: &[Step], what: impl Into<String>) {
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
        generated: &Generated,
        checks: &Checks,
        draft: &Draft,
    ) -> Made<Draft> {
        let rule = subject.rule;
        let rewritten =
            Rule { matching: generated.matching.clone(), exclude: generated.exclude.clone(), ..rule.clone() };
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

    /// Returns what a rule checks.
    fn checks(&self, rule: &Rule, notes: &mut Vec<Note>) -> Made<Checks> {
        let mut checks = match &rule.validate.method {
            Method::Cel(cel) => self.cel(rule, cel)?,
            _ => self.expressions(rule, notes)?,
        };
        let gate = self.policy.settings.match_conditions.iter();
        let gate =
            gate.map(|condition| (condition.name.value.clone(), condition.expression.value.to_string()));
        checks.conditions = gate.chain(checks.conditions).collect();
        unique(&mut checks.conditions);
        Ok(checks)
    }

    fn cel(&self, rule: &Rule, cel: &source::Cel) -> Made<Checks> {
        if rule.preconditions.is_some() {
            return refuse("`preconditions` beside `cel`", &child(&rule.path, "preconditions"));
        }
        if !rule.context.is_empty() {
            return refuse("`context` beside `cel`", &child(&rule.path, "context"));
        }
        let written = self.document.value.follow(&cel.path);
        let part = |key: &str| written.and_then(|cel| cel.get(key)).filter(|value| !value.is_null()).cloned();
        let pairs = |list: &[crate::cel::source::NamedExpression]| {
            let pair = |one: &crate::cel::source::NamedExpression| {
                (one.name.value.clone(), one.expression.value.to_string())
            };
            list.iter().map(pair).collect::<Vec<_>>()
        };
        let params = part("paramKind").zip(part("paramRef"));
        if params.is_some() && self.target == Target::ValidatingPolicy {
            return refuse(
                "`paramKind`: a ValidatingPolicy has no parameters",
                &child(&cel.path, "paramKind"),
            );
        }
        let mut validations: Vec<Value> =
            part("expressions").and_then(|list| list.as_array().map(<[Value]>::to_vec)).unwrap_or_default();
        if self.target == Target::ValidatingPolicy {
            let message = rule.validate.message.as_ref().map(|message| &message.value);
            let message = message.filter(|message| !message.contains("{{") && !message.is_empty());
            validations = validations.into_iter().map(|one| with_message(one, message)).collect();
        }
        let mut checks = Checks {
            variables: pairs(&cel.variables),
            conditions: pairs(&rule.cel_preconditions),
            validations,
            audit_annotations: part("auditAnnotations"),
            params,
            operations: Operation::ALL.to_vec(),
            reach: Reach::Description,
            early_reach: Some(Reach::Description),
            was_violated: None,
        };
        // What Kyverno writes itself forgives nothing.
        if self.target == Target::ValidatingPolicy {
            checks.was_violated = checks.violated_before();
        }
        Ok(checks)
    }

    fn expressions(&self, rule: &Rule, notes: &mut Vec<Note>) -> Made<Checks> {
        if !rule.cel_preconditions.is_empty() {
            return refuse("`celPreconditions` without `cel`", &child(&rule.path, "celPreconditions"));
        }
        let expressions: Expressions = expressions::expressions(rule, &self.functions)?;
        let reach = match &rule.validate.method {
            Method::Pattern(_) | Method::AnyPattern(_) => Some(Reach::Everything),
            Method::Deny(Some(conditions)) => rebase::reach_of(&conditions.value),
            Method::Foreach(_) => {
                let written = self.document.value.follow(&rule.validate.path);
                written.map_or(Some(Reach::Description), rebase::reach_of)
            }
            _ => Some(Reach::Description),
        };
        let mut operations = vec![Operation::Create, Operation::Update];
        if expressions.judges_deletions {
            operations.push(Operation::Delete);
            if !has_operations(&rule.matching) {
                self.note(
                    notes,
                    rule,
                    &rule.name.path,
                    "deletions are judged too, as the source judges them; `operations` in its `match` would say \
                     what is meant",
                );
            }
        }
        if is_about_connections(&rule.matching) {
            operations.push(Operation::Connect);
        }
        Ok(Checks {
            variables: expressions.variables,
            conditions: expressions.conditions,
            validations: expressions.validations.iter().map(validation).collect(),
            audit_annotations: None,
            params: None,
            operations,
            was_violated: expressions.was_violated,
            reach: reach.unwrap_or(Reach::Description),
            early_reach: match &rule.preconditions {
                Some(conditions) if reach.is_some() => rebase::reach_of(&conditions.value),
                _ => reach,
            },
        })
    }
}

/// What a rule checks, ready to be written.
#[derive(Debug, Clone)]
struct Checks {
    variables: Vec<(Text, String)>,
    conditions: Vec<(Text, String)>,
    validations: Vec<Value>,
    audit_annotations: Option<Value>,
    params: Option<(Value, Value)>,
    /// The operations for which it says anything.
    operations: Vec<Operation>,
    /// What of its paths is in the template of a controller.
    reach: Reach,
    /// The same of its preconditions, where they agree.
    early_reach: Option<Reach>,
    /// Whether the object was as bad before an update, where that can be said.
    was_violated: Option<String>,
}

/// The fields of validations and annotations that hold expressions.
const EXPRESSIONS: [&str; 3] = ["expression", "messageExpression", "valueExpression"];

impl Checks {
    /// Returns what is checked of the objects that make Pods.
    fn moved(&self, to: Workload) -> Option<Self> {
        let change = |text: &str| rebase::rebased(text, to, self.reach);
        self.changed(&change, &|name, text| match name {
            "preconditions" => rebase::rebased(text, to, self.early_reach?),
            _ => change(text),
        })
    }

    /// Returns whether the object as it was violates what is checked, where its expressions look at the object alone.
    fn violated_before(&self) -> Option<String> {
        let written = self.validations.iter().map(|one| one.get("expression").and_then(Value::as_str));
        let of_old = |text: &str| rebase::of_old_object(text).map(|text| format!("({text})"));
        let held: Option<Vec<String>> = written.map(|text| of_old(text?)).collect();
        let asked: Option<Vec<String>> = self.conditions.iter().map(|(_, text)| of_old(text)).collect();
        let violated = format!("!({})", held?.join(" && "));
        Some(asked?.into_iter().chain([violated]).collect::<Vec<_>>().join(" && "))
    }

    /// Returns the same with every expression changed, and those that are asked before others by `early`.
    fn changed(
        &self,
        change: &dyn Fn(&str) -> Option<String>,
        early: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Option<Self> {
        let pairs = |list: &[(Text, String)], change: &dyn Fn(&str, &str) -> Option<String>| {
            let one = |(name, text): &(Text, String)| Some((name.clone(), change(name, text)?));
            list.iter().map(one).collect::<Option<Vec<_>>>()
        };
        let objects =
            |list: &[Value]| list.iter().map(|one| in_object(one, change)).collect::<Option<Vec<_>>>();
        let annotations = match &self.audit_annotations {
            Some(list) => Some(objects(list.as_array().unwrap_or_default())?.into()),
            None => None,
        };
        Some(Self {
            variables: pairs(&self.variables, &|_, text| change(text))?,
            conditions: pairs(&self.conditions, early)?,
            validations: objects(&self.validations)?,
            audit_annotations: annotations,
            ..self.clone()
        })
    }
}

/// Returns a validation that also holds where `also` does.
fn or_also(validation: &Value, also: &str) -> Value {
    let Some(text) = validation.get("expression").and_then(Value::as_str) else { return validation.clone() };
    let Some(map) = validation.as_object() else { return validation.clone() };
    let mut map = map.clone();
    let text = match text.contains("&&") || text.contains('?') {
        true => format!("({text}) ||\n{also}"),
        false => format!("{text} ||\n{also}"),
    };
    map.insert("expression".into(), text.into());
    map.into()
}

fn in_object(object: &Value, change: &dyn Fn(&str) -> Option<String>) -> Option<Value> {
    let mut map = object.as_object()?.clone();
    for key in EXPRESSIONS {
        if let Some(text) = map.get(key).and_then(Value::as_str) {
            let changed = change(text)?;
            map.insert(key.into(), changed.into());
        }
    }
    Some(map.into())
}

/// Gives conditions that have one name names of their own.
fn unique(conditions: &mut [(Text, String)]) {
    let mut taken: Vec<Text> = Vec::new();
    for (name, _) in conditions {
        let mut number = 1;
        let wanted = name.clone();
        while taken.contains(name) {
            number += 1;
            *name = format!("{wanted}-{number}").into();
        }
        taken.push(name.clone());
    }
}

/// Returns whether somebody may connect to what a match is about.
fn is_about_connections(matching: &Match) -> bool {
    let mut filters = matching.flat.iter().chain(&matching.any).chain(&matching.all);
    filters.any(|filter| {
        filter.operations.contains(&Operation::Connect)
            || filter.kinds.iter().any(|kind| !matches!(parts(&kind.value), [.., ""]))
    })
}

fn has_operations(matching: &Match) -> bool {
    let mut filters = matching.flat.iter().chain(&matching.any).chain(&matching.all);
    filters.any(|filter| !filter.operations.is_empty())
}

fn named((name, expression): &(Text, String)) -> Value {
    Map::from([("name", Value::from(name.clone())), ("expression", expression.clone().into())]).into()
}

fn validation(validation: &super::Validation) -> Value {
    let mut map = Map::from([("expression", Value::from(validation.expression.clone()))]);
    for (key, text) in
        [("message", &validation.message), ("messageExpression", &validation.message_expression)]
    {
        if let Some(text) = text {
            map.insert(key.into(), text.clone().into());
        }
    }
    map.into()
}

/// Returns a validation that says `message` where it has no words of its own.
fn with_message(validation: Value, message: Option<&Text>) -> Value {
    let has_words = ["message", "messageExpression"].iter().any(|key| validation.get(key).is_some());
    match (validation.as_object(), message) {
        (Some(map), Some(message)) if !has_words => {
            let mut map = map.clone();
            map.insert("message".into(), message.clone().into());
            map.into()
        }
        _ => validation,
    }
}

fn refuse<T>(why: &str, path: &[Step]) -> Made<T> {
    Err(Inexpressible { why: why.to_owned(), path: path.to_vec() })
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
