//! What a rule checks, in CEL, ready to be written.

use kubewright_k8s::Operation;
use kubewright_value::{Map, Text, Value};

use super::policy::{Converter, Made, refuse, unique};
use super::rebase::{self, Reach};
use super::{Expressions, Note, Target, expressions};
use kubewright_cel_rules::source::NamedExpression;
use kubewright_dialect_kit::fields::child;
use kubewright_dialect_kit::workload::Workload;
use kubewright_kyverno::matching::kind::kind_parts;
use kubewright_kyverno::source::{self, Match, Method, RuleSource};

/// What a rule checks, ready to be written.
#[derive(Debug, Clone)]
pub(super) struct Checks {
    pub(super) variables: Vec<(Text, String)>,
    pub(super) conditions: Vec<(Text, String)>,
    pub(super) validations: Vec<Value>,
    pub(super) audit_annotations: Option<Value>,
    pub(super) params: Option<(Value, Value)>,
    /// The operations for which it says anything.
    pub(super) operations: Vec<Operation>,
    /// What of its paths is in the template of a controller.
    pub(super) reach: Reach,
    /// The same of its preconditions, where they agree.
    pub(super) early_reach: Option<Reach>,
    /// Whether the object was as bad before an update, where that can be said.
    pub(super) was_violated: Option<String>,
}

/// The fields of validations and annotations that hold expressions.
pub(super) const EXPRESSIONS: [&str; 3] = ["expression", "messageExpression", "valueExpression"];

impl Checks {
    /// Returns what is checked of the objects that make Pods.
    pub(super) fn moved(&self, to: Workload) -> Option<Self> {
        let change = |text: &str| rebase::rebased(text, to, self.reach);
        let moved = self.changed(&change, &|name, text| match name {
            "preconditions" => rebase::rebased(text, to, self.early_reach?),
            _ => change(text),
        })?;
        Some(Self { validations: self.with_messages_moved(moved.validations, to)?, ..moved })
    }

    /// A pattern moves into the template as a whole, the message of its rule does not: a template has no name.
    fn with_messages_moved(&self, moved: Vec<Value>, to: Workload) -> Option<Vec<Value>> {
        const KEY: &str = "messageExpression";
        let one = |(written, moved): (&Value, Value)| {
            let Some(text) = written.get(KEY).and_then(Value::as_str) else { return Some(moved) };
            let reach = if self.reach == Reach::Everything { Reach::Description } else { self.reach };
            let mut map = moved.as_object()?.clone();
            map.insert(KEY.into(), rebase::rebased(text, to, reach)?.into());
            Some(map.into())
        };
        self.validations.iter().zip(moved).map(one).collect()
    }

    /// Returns whether the object as it was violates what is checked, where its expressions look at the object alone.
    fn violated_before(&self) -> Option<String> {
        let written = self.validations.iter().map(|one| one.get("expression").and_then(Value::as_str));
        let of_old = |text: &str| rebase::of_old_object(text).map(|text| format!("({text})"));
        let held: Option<Vec<String>> = written.map(|text| of_old(text?)).collect();
        let asked: Option<Vec<String>> = self.conditions.iter().map(|(_, text)| of_old(text)).collect();
        let violated = match held?.as_slice() {
            [one] => format!("!{one}"),
            several => format!("!({})", several.join(" && ")),
        };
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

impl Converter<'_> {
    /// Returns what a rule checks.
    pub(super) fn checks(&self, rule: &RuleSource, notes: &mut Vec<Note>) -> Made<Checks> {
        let mut checks = match &rule.validate.method {
            Method::Cel(cel) => self.cel(rule, cel, notes)?,
            _ => self.expressions(rule, notes)?,
        };
        let gate = self.policy.settings.match_conditions.iter();
        let gate =
            gate.map(|condition| (condition.name.value.clone(), condition.expression.value.to_string()));
        checks.conditions = gate.chain(checks.conditions).collect();
        unique(&mut checks.conditions);
        Ok(checks)
    }

    fn cel(&self, rule: &RuleSource, cel: &source::Cel, notes: &mut Vec<Note>) -> Made<Checks> {
        if rule.preconditions.is_some() {
            return refuse("`preconditions` beside `cel`", &child(&rule.path, "preconditions"));
        }
        if !rule.context.is_empty() {
            return refuse("`context` beside `cel`", &child(&rule.path, "context"));
        }
        let written = self.document.value.follow(&cel.path);
        let part = |key: &str| written.and_then(|cel| cel.get(key)).filter(|value| !value.is_null()).cloned();
        let pairs = |list: &[NamedExpression]| {
            let pair = |one: &NamedExpression| (one.name.value.clone(), one.expression.value.to_string());
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
        if !has_operations(&rule.matching) {
            self.note(
                notes,
                rule,
                &rule.name.path,
                "deletions are judged too, and `object` is null there, as in the source; `operations` in its `match` \
                 would say what is meant",
            );
        }
        // What Kyverno writes itself forgives nothing.
        if self.target == Target::ValidatingPolicy {
            checks.was_violated = checks.violated_before();
        }
        Ok(checks)
    }

    fn expressions(&self, rule: &RuleSource, notes: &mut Vec<Note>) -> Made<Checks> {
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

    /// Lets updates of objects through that were as bad before, as the source does.
    pub(super) fn forgive(&self, rule: &RuleSource, checks: &mut Checks, notes: &mut Vec<Note>) {
        let filters = || rule.matching.flat.iter().chain(&rule.matching.any).chain(&rule.matching.all);
        // The object as it was is taken for one that nobody in particular creates.
        let forgives_some = filters().any(|filter| {
            let is_about = |operation| filter.operations.is_empty() || filter.operations.contains(&operation);
            filter.subjects.is_empty() && is_about(Operation::Create) && is_about(Operation::Update)
        });
        if !forgives_some {
            return;
        }
        let is_told_by_match = filters().any(|filter| {
            filter.selector.is_some() || !filter.annotations.is_empty() || !filter.subjects.is_empty()
        });
        match checks.was_violated.take().filter(|_| !is_told_by_match) {
            Some(was_violated) if was_violated == "false" => {}
            Some(was_violated) => {
                let is_update = "request.operation == \"UPDATE\"";
                let is_whole = !was_violated.contains("||") && !was_violated.contains('?');
                let also = match was_violated.as_str() {
                    "true" => is_update.to_owned(),
                    one if is_whole => format!("({is_update} && {one})"),
                    several => format!("({is_update} && ({several}))"),
                };
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

/// Returns whether somebody may connect to what a match is about.
fn is_about_connections(matching: &Match) -> bool {
    let mut filters = matching.flat.iter().chain(&matching.any).chain(&matching.all);
    filters.any(|filter| {
        filter.operations.contains(&Operation::Connect)
            || filter.kinds.iter().any(|kind| !matches!(kind_parts(&kind.value), [.., ""]))
    })
}

fn has_operations(matching: &Match) -> bool {
    let mut filters = matching.flat.iter().chain(&matching.any).chain(&matching.all);
    filters.any(|filter| !filter.operations.is_empty())
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
