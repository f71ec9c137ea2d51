//! The checks of a rule as CEL, ready to be written.

use kubewright_k8s::Operation;
use kubewright_value::{Map, Text, Value};

use super::policy::{Converter, make_names_unique};
use super::rebase::{self, TemplateReach};
use super::{ConversionNote, ConversionResult, RuleExpressions, expressions, refuse_conversion};
use kubewright_cel_rules::source::NamedExpression;
use kubewright_dialect_kit::fields::child_path;
use kubewright_k8s::PodTemplatePath;
use kubewright_kyverno::matching::kind::kind_parts;
use kubewright_kyverno::source::{self, Match, Method, RuleSource};

/// The checks of a rule, ready to be written.
#[derive(Debug, Clone)]
pub(super) struct ConvertedChecks {
    pub(super) variables: Vec<(Text, String)>,
    pub(super) conditions: Vec<(Text, String)>,
    pub(super) validations: Vec<Value>,
    pub(super) audit_annotations: Option<Value>,
    pub(super) params: Option<(Value, Value)>,
    /// The operations that the rule evaluates.
    pub(super) operations: Vec<Operation>,
    /// The part of its paths that moves into the template of a controller.
    pub(super) reach: TemplateReach,
    /// The same of its preconditions, where they agree.
    pub(super) early_reach: Option<TemplateReach>,
    /// The expression for "the old object already violated the rule", where there is one.
    pub(super) was_violated: Option<String>,
}

/// The fields of validations and annotations that hold expressions.
pub(super) const EXPRESSION_FIELDS: [&str; 3] = ["expression", "messageExpression", "valueExpression"];

impl ConvertedChecks {
    /// Returns the checks for the objects that make Pods.
    pub(super) fn moved(&self, to: PodTemplatePath) -> Option<Self> {
        let change = |text: &str| rebase::rebase_expression(text, to, self.reach);
        let moved = self.changed(&change, &|name, text| match name {
            "preconditions" => rebase::rebase_expression(text, to, self.early_reach?),
            _ => change(text),
        })?;
        Some(Self { validations: self.with_messages_moved(moved.validations, to)?, ..moved })
    }

    /// A pattern moves into the template as a whole, the message of its rule does not: a template has no name.
    fn with_messages_moved(&self, moved: Vec<Value>, to: PodTemplatePath) -> Option<Vec<Value>> {
        const KEY: &str = "messageExpression";
        let one = |(written, moved): (&Value, Value)| {
            let Some(text) = written.get(KEY).and_then(Value::as_str) else { return Some(moved) };
            let reach =
                if self.reach == TemplateReach::Everything { TemplateReach::Description } else { self.reach };
            let mut map = moved.as_object()?.clone();
            map.insert(KEY.into(), rebase::rebase_expression(text, to, reach)?.into());
            Some(map.into())
        };
        self.validations.iter().zip(moved).map(one).collect()
    }

    /// Returns the same with every expression changed, those evaluated first by `early`.
    fn changed(
        &self,
        change: &dyn Fn(&str) -> Option<String>,
        early: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Option<Self> {
        let pairs = |list: &[(Text, String)], change: &dyn Fn(&str, &str) -> Option<String>| {
            let one = |(name, text): &(Text, String)| Some((name.clone(), change(name, text)?));
            list.iter().map(one).collect::<Option<Vec<_>>>()
        };
        let objects = |list: &[Value]| {
            list.iter().map(|one| rewrite_expressions(one, change)).collect::<Option<Vec<_>>>()
        };
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
    /// Returns the checks of a rule.
    pub(super) fn checks(
        &self,
        rule: &RuleSource,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<ConvertedChecks> {
        let mut checks = match &rule.validate.method {
            Method::Cel(cel) => self.cel(rule, cel, notes)?,
            _ => self.expressions(rule, notes)?,
        };
        let gate = self.policy.settings.match_conditions.iter();
        let gate =
            gate.map(|condition| (condition.name.value.clone(), condition.expression.value.to_string()));
        checks.conditions = gate.chain(checks.conditions).collect();
        make_names_unique(&mut checks.conditions);
        Ok(checks)
    }

    fn cel(
        &self,
        rule: &RuleSource,
        cel: &source::Cel,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<ConvertedChecks> {
        if rule.preconditions.is_some() {
            return refuse_conversion(
                "`preconditions` beside `cel`",
                &child_path(&rule.path, "preconditions"),
            );
        }
        if !rule.context.is_empty() {
            return refuse_conversion("`context` beside `cel`", &child_path(&rule.path, "context"));
        }
        let written = self.document.value.follow(&cel.path);
        let part = |key: &str| written.and_then(|cel| cel.get(key)).filter(|value| !value.is_null()).cloned();
        let pairs = |list: &[NamedExpression]| {
            let pair = |one: &NamedExpression| (one.name.value.clone(), one.expression.value.to_string());
            list.iter().map(pair).collect::<Vec<_>>()
        };
        let params = part("paramKind").zip(part("paramRef"));
        if params.is_some() && self.target.is_successor() {
            return refuse_conversion(
                "`paramKind`: a ValidatingPolicy has no parameters",
                &child_path(&cel.path, "paramKind"),
            );
        }
        let mut validations: Vec<Value> =
            part("expressions").and_then(|list| list.as_array().map(<[Value]>::to_vec)).unwrap_or_default();
        if self.target.is_successor() {
            let message = rule.validate.message.as_ref().map(|message| &message.value);
            let message = message.filter(|message| !message.contains("{{") && !message.is_empty());
            validations = validations.into_iter().map(|one| with_default_message(one, message)).collect();
        }
        let checks = ConvertedChecks {
            variables: pairs(&cel.variables),
            conditions: pairs(&rule.cel_preconditions),
            validations,
            audit_annotations: part("auditAnnotations"),
            params,
            operations: Operation::ALL.to_vec(),
            reach: TemplateReach::Description,
            early_reach: Some(TemplateReach::Description),
            // A rule in CEL also refuses updates of objects that violated it before.
            was_violated: Some("false".to_owned()),
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
        Ok(checks)
    }

    fn expressions(
        &self,
        rule: &RuleSource,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<ConvertedChecks> {
        if !rule.cel_preconditions.is_empty() {
            return refuse_conversion(
                "`celPreconditions` without `cel`",
                &child_path(&rule.path, "celPreconditions"),
            );
        }
        let expressions: RuleExpressions = expressions::translate_rule(rule, &self.functions)?;
        let reach = match &rule.validate.method {
            Method::Pattern(_) | Method::AnyPattern(_) => Some(TemplateReach::Everything),
            Method::Deny(Some(conditions)) => rebase::template_reach(&conditions.value),
            Method::Foreach(_) => {
                let written = self.document.value.follow(&rule.validate.path);
                written.map_or(Some(TemplateReach::Description), rebase::template_reach)
            }
            _ => Some(TemplateReach::Description),
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
        Ok(ConvertedChecks {
            variables: expressions.variables,
            conditions: expressions.conditions,
            validations: expressions.validations.iter().map(validation_value).collect(),
            audit_annotations: None,
            params: None,
            operations,
            was_violated: expressions.was_violated,
            reach: reach.unwrap_or(TemplateReach::Description),
            early_reach: match &rule.preconditions {
                Some(conditions) if reach.is_some() => rebase::template_reach(&conditions.value),
                _ => reach,
            },
        })
    }

    /// Lets updates of objects through that were as bad before, as the source does.
    pub(super) fn forgive(
        &self,
        rule: &RuleSource,
        checks: &mut ConvertedChecks,
        notes: &mut Vec<ConversionNote>,
    ) {
        let filters = || rule.matching.flat.iter().chain(&rule.matching.any).chain(&rule.matching.all);
        // The old object is evaluated as a creation by an unknown user.
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
                checks.validations =
                    checks.validations.iter().map(|one| with_alternative(one, &also)).collect();
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
fn with_alternative(validation: &Value, also: &str) -> Value {
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

fn rewrite_expressions(object: &Value, change: &dyn Fn(&str) -> Option<String>) -> Option<Value> {
    let mut map = object.as_object()?.clone();
    for key in EXPRESSION_FIELDS {
        if let Some(text) = map.get(key).and_then(Value::as_str) {
            let changed = change(text)?;
            map.insert(key.into(), changed.into());
        }
    }
    Some(map.into())
}

/// Returns whether a match covers CONNECT requests.
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

fn validation_value(validation: &super::CelValidation) -> Value {
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

/// Returns a validation that has `message` unless it has its own.
fn with_default_message(validation: Value, message: Option<&Text>) -> Value {
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
