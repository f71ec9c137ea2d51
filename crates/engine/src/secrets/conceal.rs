//! What of a decision may be shown that has read a Secret.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_value::{Location, Map, Text, Value};

use super::SECRET_MARK;
use crate::{Decision, Rule, RuleOutcome, RuleStatus, TraceNode};
use kubewright_k8s::AdmissionRequest;

/// What is said where nothing that a rule says may be shown.
const HIDDEN_MESSAGE: &str = "(hidden: what the rule says depends on the values of a Secret)";

/// Replaces every text of `decision` that may depend on the values of a Secret. `others` are the decisions about the
/// same request with other values, `rules` those that may have an outcome in it.
pub(crate) fn conceal(
    decision: &mut Decision,
    others: &[Decision; 2],
    request: &AdmissionRequest,
    rules: &[&Rule],
) {
    decision.is_unfinished |= others.iter().any(|other| other.is_unfinished);
    decision.shown_object = Some(same_value(&others[0].object, &others[1].object));
    let rules: HashMap<_, &Rule> = rules.iter().map(|rule| (Arc::as_ptr(&rule.id), *rule)).collect();
    let mut places = [0; 2];
    for outcome in &mut decision.outcomes {
        let [one, two] = [0, 1].map(|number| {
            let (other, place) = (others.get(number)?, places.get_mut(number)?);
            next_of(&other.outcomes, outcome, place)
        });
        let rule = rules.get(&Arc::as_ptr(&outcome.rule)).copied();
        conceal_outcome(outcome, one.zip(two), rule, request);
    }
}

/// Returns what two values have alike, with a mark in place of what they have not, and without members of one alone.
fn same_value(one: &Value, two: &Value) -> Value {
    if let (Some(members), Some(others)) = (one.as_object(), two.as_object()) {
        let same = members.iter().filter_map(|(key, member)| Some((key.clone(), member, others.get(key)?)));
        return same.map(|(key, one, two)| (key, same_value(one, two))).collect::<Map>().into();
    }
    match (one.as_array(), two.as_array()) {
        (Some(items), Some(others)) if items.len() == others.len() => {
            Value::array(items.iter().zip(others).map(|(one, two)| same_value(one, two)).collect())
        }
        _ if one == two => one.clone(),
        _ => SECRET_MARK.into(),
    }
}

/// Returns the outcome of the same rule. Outcomes stand in the same order, though some may be missing.
fn next_of<'o>(
    outcomes: &'o [RuleOutcome],
    outcome: &RuleOutcome,
    place: &mut usize,
) -> Option<&'o RuleOutcome> {
    let rest = outcomes.get(*place..)?;
    let found = rest.iter().position(|other| Arc::ptr_eq(&other.rule, &outcome.rule))?;
    *place += found + 1;
    rest.get(found)
}

/// Keeps the verdict of `outcome`; all else of it becomes what `others` have alike, or what `rule` says by itself.
fn conceal_outcome(
    outcome: &mut RuleOutcome,
    others: Option<(&RuleOutcome, &RuleOutcome)>,
    rule: Option<&Rule>,
    request: &AdmissionRequest,
) {
    let alike = others.filter(|(one, two)| one.status == outcome.status && two.status == outcome.status);
    let shown = alike.and_then(|(one, two)| Some((one, same_parts(one, two)?)));
    match shown {
        Some((one, message)) => {
            outcome.denial = replace_in_denial(one.denial.clone(), &one.message, &message);
            outcome.message = message;
            outcome.path.clone_from(&one.path);
        }
        None => {
            let template = alike.and_then(|(one, two)| same_template(one, two));
            conceal_texts(outcome, template, rule, request);
        }
    }
    // It is made of the same values, and the message is enough.
    outcome.reason = None;
    let own_place = || rule.map(|rule| rule.location.clone());
    outcome.location = alike.and_then(|(one, two)| same_place(one, two)).or_else(own_place);
    outcome.exceptions = alike
        .filter(|(one, two)| one.exceptions == two.exceptions)
        .map(|(one, _)| one.exceptions.clone())
        .unwrap_or_default();
    outcome.properties = alike
        .filter(|(one, two)| one.properties == two.properties)
        .map(|(one, _)| one.properties.clone())
        .unwrap_or_default();
    // The names of what is written may be made of values too; the objects themselves go where values may go.
    let titles = alike.filter(|(one, two)| one.written == two.written).map(|(one, _)| one.written.clone());
    outcome.written = titles.unwrap_or_else(|| vec![SECRET_MARK.into(); outcome.writes.len()]);
    conceal_reported(outcome, others);
    if let Some(trace) = &mut outcome.trace {
        outcome.message.as_str().clone_into(&mut trace.wanted);
        trace.children = match alike.map(|(one, two)| (one.trace.as_deref(), two.trace.as_deref())) {
            Some((Some(one), Some(two))) => same_nodes(&one.children, &two.children),
            _ => vec![hidden_node()],
        };
    }
}

/// Conceals what reports of stored objects say. An object that already is as the rule makes it with one value may not be
/// so with another, so a skip and a pass count as alike here.
fn conceal_reported(outcome: &mut RuleOutcome, others: Option<(&RuleOutcome, &RuleOutcome)>) {
    let applied = |other: &RuleOutcome| match &other.settled {
        Some(applied) => Some(applied.clone()),
        None => (other.status == RuleStatus::Pass).then(|| other.message.clone()),
    };
    let same = |(one, two): &(&RuleOutcome, &RuleOutcome)| applied(one) == applied(two);
    if outcome.settled.is_some() {
        outcome.settled = Some(others.filter(same).and_then(|(one, _)| applied(one)).unwrap_or_default());
    }
    let references = others.filter(|(one, two)| one.references == two.references);
    outcome.references = references.map(|(one, _)| one.references.clone()).unwrap_or_default();
}

fn same_template<'o>(one: &'o RuleOutcome, two: &RuleOutcome) -> Option<&'o str> {
    (one.template == two.template).then_some(one.template.as_str())
}

fn same_place(one: &RuleOutcome, two: &RuleOutcome) -> Option<Location> {
    let position = |outcome: &RuleOutcome| outcome.location.as_ref().map(|location| location.position);
    one.location.clone().filter(|_| position(one) == position(two))
}

/// Returns what two outcomes with other values say alike, with a mark in place of what each expression of their message
/// makes of the values; nothing where the two cannot be told apart by the author's words.
fn same_parts(one: &RuleOutcome, two: &RuleOutcome) -> Option<Text> {
    if one.path != two.path {
        return None;
    }
    if one.message == two.message {
        return Some(one.message.clone());
    }
    let template = same_template(one, two)?;
    let (mut first, mut second) = (one.message.as_str(), two.message.as_str());
    let mut text = String::new();
    let mut add = |one: &str, two: &str| text.push_str(if one == two { one } else { SECRET_MARK });
    let mut words = literals(template).filter(|literal| !literal.is_empty()).peekable();
    words.peek()?;
    for literal in words {
        let ((before_first, rest_first), (before_second, rest_second)) =
            first.split_once(literal).zip(second.split_once(literal))?;
        add(before_first, before_second);
        add(literal, literal);
        (first, second) = (rest_first, rest_second);
    }
    add(first, second);
    Some(text.into())
}

/// Returns the parts of `template` outside of `{{ }}`.
fn literals(template: &str) -> impl Iterator<Item = &str> {
    let parts = template.split("{{").enumerate();
    parts.map(|(number, part)| match number {
        0 => part,
        _ => part.split_once("}}").map_or("", |(_, literal)| literal),
    })
}

/// Returns the requester's words, which may have `old` in them, with `new` in its place.
fn replace_in_denial(denial: Option<String>, old: &str, new: &str) -> Option<String> {
    denial.map(|denial| if old.is_empty() { denial } else { denial.replace(old, new) })
}

/// Replaces the texts of an outcome that depends on values. Which of several messages of a rule it would be depends on
/// them too: it is `template`, which all other values lead to, or the only one that the rule has.
fn conceal_texts(
    outcome: &mut RuleOutcome,
    template: Option<&str>,
    rule: Option<&Rule>,
    request: &AdmissionRequest,
) {
    let template = template.unwrap_or_else(|| rule.map_or("", |rule| rule.program.message()));
    let message: Text = match outcome.status {
        // That the object is fine is said without its values.
        RuleStatus::Pass => Text::default(),
        RuleStatus::Skip | RuleStatus::Error => HIDDEN_MESSAGE.into(),
        RuleStatus::Fail | RuleStatus::Warn if template.is_empty() => HIDDEN_MESSAGE.into(),
        RuleStatus::Fail | RuleStatus::Warn => mask_expressions(template, request).into(),
    };
    let denial = outcome.denial.take();
    outcome.denial = denial.and_then(|_| rule?.program.denial(&message, request));
    outcome.message = message;
    outcome.path = Vec::new();
}

/// Returns the author's words with a mark in place of every expression, but for those that name parts of the request
/// which are never secret.
fn mask_expressions(template: &str, request: &AdmissionRequest) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (expression, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        text.push_str(before);
        match public_expression(expression.trim(), request) {
            Some(value) => text.push_str(&value),
            None => text.push_str(SECRET_MARK),
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

/// Returns what `expression` stands for, if it is a plain path to something that is never secret. The paths are those of
/// JMESPath and of Go templates.
fn public_expression(expression: &str, request: &AdmissionRequest) -> Option<Text> {
    let path = expression.strip_prefix('.').unwrap_or(expression);
    let path = path.strip_prefix("request.").unwrap_or(path);
    let keys: Vec<&str> = path.split('.').collect();
    match keys.as_slice() {
        ["namespace" | "Namespace"] => Some(request.namespace.clone()),
        ["name"] => Some(request.name.clone()),
        ["operation"] => Some(request.operation.name().into()),
        ["object" | "Target", below @ ..] => public_field(below, &request.object),
        ["oldObject", below @ ..] => public_field(below, &request.old_object),
        _ => None,
    }
}

fn public_field(keys: &[&str], object: &Value) -> Option<Text> {
    let is_public = matches!(
        keys,
        ["kind" | "apiVersion" | "type"]
            | ["metadata", "name" | "namespace" | "generateName" | "uid"]
            | ["metadata", "labels", _]
    );
    let found = object.at(keys).filter(|_| is_public)?;
    found.as_str().map(Text::from)
}

/// Returns what two traces with other values have alike, up to where they go different ways. Nothing is taken from the
/// real one: how many nodes it has, and which of them hold, depends on the values as well.
fn same_nodes(one: &[TraceNode], two: &[TraceNode]) -> Vec<TraceNode> {
    let same = |(one, two): (&TraceNode, &TraceNode)| {
        (one.what == two.what && one.verdict == two.verdict).then(|| same_node(one, two))
    };
    let mut nodes: Vec<TraceNode> = one.iter().zip(two).map_while(same).collect();
    if nodes.len() < one.len().max(two.len()) {
        nodes.push(hidden_node());
    }
    nodes
}

fn same_node(one: &TraceNode, two: &TraceNode) -> TraceNode {
    let shown = |one: &str, two: &str| if one == two { one } else { SECRET_MARK }.to_owned();
    TraceNode {
        what: one.what.clone(),
        found: shown(&one.found, &two.found),
        wanted: shown(&one.wanted, &two.wanted),
        verdict: one.verdict,
        location: one.location.clone(),
        children: same_nodes(&one.children, &two.children),
        ..TraceNode::default()
    }
}

fn hidden_node() -> TraceNode {
    TraceNode { what: HIDDEN_MESSAGE.to_owned(), ..TraceNode::default() }
}
