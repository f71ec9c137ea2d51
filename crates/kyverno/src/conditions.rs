//! Conditions: `preconditions`, `deny.conditions` and those of exceptions.
//!
//! Under `any` one condition must hold, under `all` each; with both, both must. The older form is a list, of
//! which each must hold. Without conditions the result is true, but that of an empty `any` is false.

mod lint;
mod quick;

use kubewright_engine::{EvalError, TraceNode, TraceVerdict as Looked};
use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::{Step, Text, Value};

pub(super) use lint::{ConditionLint, ConditionLintKind};
pub(super) use quick::QuickInput;

use super::context::{Unresolved, VariableContext};
use super::operator::{ComparedOperand, ConditionOperator};
use super::tainted::Tainted;
use super::template::{VariableProblem, VariableTemplate};
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use kubewright_k8s::PodTemplatePath;

/// Compiled conditions.
#[derive(Debug, Clone)]
pub(super) struct ConditionSet {
    /// All of them must hold.
    groups: Vec<ConditionGroup>,
    /// The separator of messages.
    separator: &'static str,
}

/// The result of conditions.
#[derive(Debug, Clone)]
pub(super) struct ConditionVerdict<'c> {
    /// Whether they hold.
    pub(super) holds: bool,
    /// The messages of the conditions that decided: of those that hold, or of those that do not.
    pub(super) messages: Vec<&'c ConditionMessage>,
    /// The last condition that decided.
    decided: Option<&'c CompiledCondition>,
    separator: &'static str,
}

/// The message of a condition.
#[derive(Debug, Clone)]
pub(super) struct ConditionMessage {
    /// As it is written.
    pub(super) text: Text,
    /// With its variables.
    pub(super) template: VariableTemplate,
}

#[derive(Debug, Clone, Default)]
struct ConditionGroup {
    /// Absent is not the same as empty.
    any: Option<Vec<CompiledCondition>>,
    all: Vec<CompiledCondition>,
    at: Vec<Step>,
    /// Whether it is the older list form, without `any` and `all`.
    is_list: bool,
}

#[derive(Debug, Clone)]
struct CompiledCondition {
    key: ConditionOperand,
    /// `None` for an unknown operator.
    operator: Option<ConditionOperator>,
    value: ConditionOperand,
    message: Option<ConditionMessage>,
    /// Whether an exception is made for an object for which it holds.
    is_excuse: bool,
    written: ConditionText,
    at: Vec<Step>,
}

/// A condition as it is written.
#[derive(Debug, Clone)]
struct ConditionText {
    what: String,
    operator: Text,
}

/// The key or the value of a condition.
#[derive(Debug, Clone)]
struct ConditionOperand {
    template: VariableTemplate,
    /// The constant value when it has no variables.
    constant: Option<ComparedOperand>,
}

impl ConditionSet {
    /// Returns the conditions in `value`, and the problems of their variables.
    /// Places are relative to `value`.
    pub(super) fn compile(
        value: &Located<Value>,
        functions: &JmesPathFunctions,
    ) -> (Self, Vec<VariableProblem>) {
        let mut reader = ConditionReader { functions, problems: Vec::new() };
        let (groups, separator) = match &value.value {
            Value::Array(items) if items.iter().any(is_group) => {
                let group = |(place, item)| reader.group(item, vec![Step::Index(place)]);
                (items.iter().enumerate().map(group).collect(), ";")
            }
            Value::Array(items) => {
                let all = reader.list(items, &[]);
                (vec![ConditionGroup { all, is_list: true, ..ConditionGroup::default() }], ";")
            }
            object @ Value::Object(_) => (vec![reader.group(object, Vec::new())], "; "),
            _ => (Vec::new(), "; "),
        };
        (Self { groups, separator }, reader.problems)
    }

    /// Returns the same conditions for the objects that make Pods.
    pub(super) fn rebased(&self, to: PodTemplatePath) -> Self {
        let mut rebased = self.clone();
        for condition in rebased.groups.iter_mut().flat_map(ConditionGroup::conditions_mut) {
            condition.key.template = condition.key.template.rebased(to);
            condition.value.template = condition.value.template.rebased(to);
            if let Some(message) = &mut condition.message {
                message.template = message.template.rebased(to);
            }
        }
        rebased
    }

    /// Returns the same conditions as those of an exception.
    pub(super) fn excusing(mut self) -> Self {
        for condition in self.groups.iter_mut().flat_map(ConditionGroup::conditions_mut) {
            condition.is_excuse = true;
        }
        self
    }

    /// Returns whether the conditions hold.
    ///
    /// # Errors
    /// When a variable of a condition that matters has no value.
    pub(super) fn evaluate(
        &self,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<ConditionVerdict<'_>, Unresolved> {
        let mut verdict =
            ConditionVerdict { holds: true, messages: Vec::new(), decided: None, separator: self.separator };
        for group in &self.groups {
            let mut found = group.evaluate(context, notes)?;
            if !found.holds {
                return Ok(ConditionVerdict { separator: self.separator, ..found });
            }
            verdict.messages.append(&mut found.messages);
            verdict.decided = found.decided.or(verdict.decided);
        }
        Ok(verdict)
    }

    /// Returns every condition as it is written, with its path in the value.
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        self.conditions().map(|condition| (condition.written.what.clone(), condition.at.clone())).collect()
    }

    /// Returns the templates of all keys, values and messages, for checks.
    pub(super) fn templates(&self) -> impl Iterator<Item = &VariableTemplate> {
        self.conditions().flat_map(|condition| {
            let message = condition.message.as_ref().map(|message| &message.template);
            [&condition.key.template, &condition.value.template].into_iter().chain(message)
        })
    }

    fn conditions(&self) -> impl Iterator<Item = &CompiledCondition> {
        self.groups.iter().flat_map(|group| group.any.iter().flatten().chain(&group.all))
    }
}

impl ConditionVerdict<'_> {
    /// Returns the path of the deciding condition.
    pub(super) fn at(&self) -> &[Step] {
        self.decided.map(|condition| condition.at.as_slice()).unwrap_or_default()
    }

    /// Returns the path that the deciding condition reads, where it is one.
    pub(super) fn looked_at(&self) -> Option<LookedAt> {
        self.decided?.looked_at()
    }

    /// Returns the messages as they are written, joined.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.messages.iter().map(|message| message.text.as_str()).collect();
        texts.join(self.separator)
    }

    /// Returns the messages with their variables resolved, joined.
    ///
    /// # Errors
    /// When a variable has no value.
    pub(super) fn resolve(&self, context: &mut VariableContext<'_>) -> Result<String, Unresolved> {
        let texts: Result<Vec<Text>, Unresolved> =
            self.messages.iter().map(|message| message.template.resolve_text(context)).collect();
        Ok(texts?.join(self.separator))
    }
}

/// A part of the object, or of the element of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LookedAt {
    pub(super) is_element: bool,
    pub(super) path: Vec<Step>,
}

impl LookedAt {
    /// Returns the path that an expression reads first: `spec.replicas` for `request.object.spec.replicas || `1``.
    pub(super) fn of(expression: &str) -> Option<Self> {
        let roots = [("request.object.", false), ("request.oldObject.", false), ("element.", true)];
        let (path, is_element) = roots
            .into_iter()
            .find_map(|(root, is_element)| Some((expression.trim().strip_prefix(root)?, is_element)))?;
        let end = path.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        let path = path.get(..end.unwrap_or(path.len()))?;
        let keys = path.split('.').filter(|key| !key.is_empty()).map(Step::from);
        Some(Self { is_element, path: keys.collect() })
    }
}

impl ConditionGroup {
    fn evaluate(
        &self,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<ConditionVerdict<'_>, Unresolved> {
        let mut said = ConditionMessages::default();
        let any = match &self.any {
            Some(conditions) => self.one_of(conditions, &mut said, context, notes)?,
            None => true,
        };
        // Looked at even when nothing of `any` holds, for the messages and for errors.
        let all = self.each_of(&mut said, context, notes)?;
        let holds = any && all;
        let (messages, decided) = match holds {
            true => (said.held, said.last_held),
            false => (said.failed, said.last_failed),
        };
        Ok(ConditionVerdict { holds, messages, decided, separator: "" })
    }

    fn one_of<'c>(
        &self,
        conditions: &'c [CompiledCondition],
        said: &mut ConditionMessages<'c>,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, Unresolved> {
        notes.open();
        let found = evaluate_until(conditions, true, said, context, notes);
        notes.close(|| TraceNote::new("any".to_owned(), looked(&found), child_path(&self.at, "any")));
        found
    }

    fn each_of<'c>(
        &'c self,
        said: &mut ConditionMessages<'c>,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, Unresolved> {
        if self.all.is_empty() || self.is_list {
            return evaluate_until(&self.all, false, said, context, notes);
        }
        notes.open();
        let found = evaluate_until(&self.all, false, said, context, notes);
        notes.close(|| TraceNote::new("all".to_owned(), looked(&found), child_path(&self.at, "all")));
        found
    }

    fn conditions_mut(&mut self) -> impl Iterator<Item = &mut CompiledCondition> {
        self.any.iter_mut().flatten().chain(&mut self.all)
    }
}

/// The result of conditions, with the deciding one.
#[derive(Default)]
struct ConditionMessages<'c> {
    held: Vec<&'c ConditionMessage>,
    failed: Vec<&'c ConditionMessage>,
    last_held: Option<&'c CompiledCondition>,
    last_failed: Option<&'c CompiledCondition>,
}

/// Looks at conditions until one is `wanted`; returns whether one was found, or else whether none was needed.
fn evaluate_until<'c>(
    conditions: &'c [CompiledCondition],
    wanted: bool,
    said: &mut ConditionMessages<'c>,
    context: &mut VariableContext<'_>,
    notes: &mut TraceNotes,
) -> Result<bool, Unresolved> {
    let mut rest = conditions.iter();
    let mut outcome = Ok(!wanted);
    for condition in rest.by_ref() {
        let found = condition.evaluate(context, notes);
        match &found {
            Ok(true) => {
                said.held.extend(&condition.message);
                said.last_held = Some(condition);
            }
            Ok(false) => {
                said.failed.extend(&condition.message);
                said.last_failed = Some(condition);
            }
            Err(_) => {}
        }
        if found.as_ref().map_or(true, |holds| *holds == wanted) {
            outcome = found;
            break;
        }
    }
    for condition in rest {
        let what = || condition.written.what.clone();
        notes.say(|| TraceNote::new(what(), Looked::NotLooked, condition.at.clone()));
    }
    outcome
}

impl CompiledCondition {
    /// Returns the path that the key reads, where it is one.
    fn looked_at(&self) -> Option<LookedAt> {
        let variables = self.key.template.variables();
        let [only] = variables.as_slice() else { return None };
        LookedAt::of(only.text())
    }

    fn evaluate(
        &self,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, Unresolved> {
        let (mut found, mut wanted) = (String::new(), String::new());
        let shown = notes.is_on().then_some((&mut found, &mut wanted));
        let outcome = self.compare(context, shown);
        let outcome = outcome.map_err(|unresolved| unresolved.below(&self.at));
        notes.say(|| {
            let (cause, help) = outcome.as_ref().err().map(Unresolved::cause).unwrap_or_default();
            let help = match (&outcome, context.empty_list_help(&self.key.template)) {
                (Ok(false), listed) => listed,
                _ => help.to_owned(),
            };
            let subject = match &outcome {
                Ok(_) => self
                    .looked_at()
                    .filter(|found| !found.is_element)
                    .map(|found| found.path)
                    .unwrap_or_default(),
                Err(unresolved) => unresolved.subject(),
            };
            TraceNote {
                found: if cause.is_empty() { found } else { cause.to_owned() },
                wanted: match &outcome {
                    Ok(true) => format!("holds: {wanted}"),
                    Ok(false) => format!("does not hold: {wanted}"),
                    Err(_) => String::new(),
                },
                subject,
                help,
                ..TraceNote::new(self.written.what.clone(), looked(&outcome), self.at.clone())
            }
        });
        outcome
    }

    /// Returns both sides for a trace, with their types where text is compared with a number or a boolean.
    fn shown(&self, key: Option<&Tainted>, value: Option<&Tainted>) -> (String, String) {
        let (key, value) = (self.key.plain(key), self.value.plain(value));
        let (found, wanted) = (TraceNode::show(&key), TraceNode::show(&value));
        let operator = &self.written.operator;
        match (scalar_type(&key), scalar_type(&value)) {
            (Some(one), Some(other)) if one != other => {
                (format!("{found} ({one})"), format!("{operator} {wanted} ({other})"))
            }
            _ => (found, format!("{operator} {wanted}")),
        }
    }

    fn compare(
        &self,
        context: &mut VariableContext<'_>,
        shown: Option<(&mut String, &mut String)>,
    ) -> Result<bool, Unresolved> {
        let of_key = |error: Unresolved| error.within("failed to substitute variables in condition key: ");
        let of_value =
            |error: Unresolved| error.within("failed to substitute variables in condition value: ");
        let key = self.key.resolve(context).map_err(of_key)?;
        let value = self.value.resolve(context).map_err(of_value)?;
        if let Some((found, wanted)) = shown {
            (*found, *wanted) = self.shown(key.as_ref(), value.as_ref());
        }
        let Some(operator) = self.operator else {
            let message = format!("unknown operator `{}`", self.written.operator);
            return Err(Unresolved::error(EvalError::new(message)));
        };
        let (mut of_key, mut of_value) = (None, None);
        let key = self.key.operand(key, &mut of_key);
        let value = self.value.operand(value, &mut of_value);
        let compare = if self.is_excuse { ConditionOperator::excuses } else { ConditionOperator::holds };
        Ok(compare(operator, key, value, context.budget())?)
    }
}

impl ConditionOperand {
    /// Returns the value; nothing when it is constant.
    fn resolve(&self, context: &mut VariableContext<'_>) -> Result<Option<Tainted>, Unresolved> {
        match &self.constant {
            Some(_) => Ok(None),
            None => self.template.resolve(context).map(Some),
        }
    }

    #[inline]
    fn operand<'s>(
        &'s self,
        resolved: Option<Tainted>,
        place: &'s mut Option<ComparedOperand>,
    ) -> &'s ComparedOperand {
        match (&self.constant, resolved) {
            (Some(constant), None) => constant,
            (_, resolved) => {
                place.insert(ComparedOperand::of(resolved.unwrap_or(Tainted::Trusted(Value::Null))))
            }
        }
    }

    fn plain(&self, resolved: Option<&Tainted>) -> Value {
        match resolved {
            Some(mixed) => mixed.plain().into_owned(),
            None => self.template.constant().cloned().unwrap_or_default(),
        }
    }
}

struct ConditionReader<'f> {
    functions: &'f JmesPathFunctions,
    problems: Vec<VariableProblem>,
}

impl ConditionReader<'_> {
    fn group(&mut self, value: &Value, at: Vec<Step>) -> ConditionGroup {
        let mut list = |key: &str| {
            let items = value.get(key).and_then(Value::as_array)?;
            Some(self.list(items, &child_path(&at, key)))
        };
        ConditionGroup { any: list("any"), all: list("all").unwrap_or_default(), at, is_list: false }
    }

    fn list(&mut self, items: &[Value], at: &[Step]) -> Vec<CompiledCondition> {
        items.iter().enumerate().map(|(place, item)| self.condition(item, child_path(at, place))).collect()
    }

    fn condition(&mut self, item: &Value, at: Vec<Step>) -> CompiledCondition {
        let field = |name: &str| item.get(name).unwrap_or(&Value::Null);
        let operator = field("operator").as_str().map(Text::from).unwrap_or_default();
        let what = format!("{} {operator} {}", condition_text(field("key")), condition_text(field("value")));
        let message =
            field("message").as_str().filter(|text| !text.is_empty()).map(|text| ConditionMessage {
                text: text.into(),
                template: self.template(field("message"), &child_path(&at, "message")),
            });
        CompiledCondition {
            key: self.side(field("key"), &child_path(&at, "key")),
            operator: ConditionOperator::named(&operator),
            value: self.side(field("value"), &child_path(&at, "value")),
            message,
            is_excuse: false,
            written: ConditionText { what, operator },
            at,
        }
    }

    fn side(&mut self, value: &Value, at: &[Step]) -> ConditionOperand {
        let template = self.template(value, at);
        let constant =
            template.constant().map(|value| ComparedOperand::compile(&Tainted::Trusted(value.clone())));
        ConditionOperand { template, constant }
    }

    fn template(&mut self, value: &Value, at: &[Step]) -> VariableTemplate {
        let (template, problems) = VariableTemplate::parse(value, self.functions);
        self.problems.extend(problems.into_iter().map(|problem| VariableProblem {
            path: at.iter().chain(&problem.path).cloned().collect(),
            ..problem
        }));
        template
    }
}

/// Returns the type of a value that is neither a list nor an object, nor null.
fn scalar_type(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(_) => Some("a string"),
        Value::Bool(_) => Some("a boolean"),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
        _ => Some("a number"),
    }
}

fn is_group(item: &Value) -> bool {
    item.get("any").is_some() || item.get("all").is_some()
}

/// Returns the condition as its author wrote it.
fn condition_text(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => text.to_string(),
        other => TraceNode::show(other),
    }
}

fn looked(outcome: &Result<bool, Unresolved>) -> Looked {
    match outcome {
        Ok(true) => Looked::Yes,
        Ok(false) => Looked::No,
        Err(_) => Looked::Error,
    }
}

#[cfg(test)]
mod tests;
