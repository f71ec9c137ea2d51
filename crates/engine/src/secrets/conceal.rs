//! What of a decision may be shown that has read a Secret.

use std::sync::Arc;

use kubewright_value::{Text, Value};

use super::SECRET_MARK;
use crate::{Decision, Outcome, Request, Status, TraceNode};

/// What is said where nothing that a rule says may be shown.
const HIDDEN: &str = "(hidden: what the rule says depends on the values of a Secret)";

/// Replaces every text of `decision` that may depend on the values of a Secret. `others` are the decisions about the
/// same request with other values.
pub(crate) fn conceal(decision: &mut Decision, others: &[Decision; 2], request: &Request) {
    decision.is_unfinished |= others.iter().any(|other| other.is_unfinished);
    let mut places = [0; 2];
    for outcome in &mut decision.outcomes {
        let [one, two] = [0, 1].map(|number| {
            let (other, place) = (others.get(number)?, places.get_mut(number)?);
            next_of(&other.outcomes, outcome, place)
        });
        conceal_outcome(outcome, one.zip(two), request);
    }
}

/// Returns the outcome of the same rule. Outcomes stand in the same order, though some may be missing.
fn next_of<'o>(outcomes: &'o [Outcome], outcome: &Outcome, place: &mut usize) -> Option<&'o Outcome> {
    let rest = outcomes.get(*place..)?;
    let found = rest.iter().position(|other| Arc::ptr_eq(&other.rule, &outcome.rule))?;
    *place += found + 1;
    rest.get(found)
}

fn conceal_outcome(outcome: &mut Outcome, others: Option<(&Outcome, &Outcome)>, request: &Request) {
    let trace = outcome.trace.take();
    let alike = others.filter(|(one, two)| one.status == outcome.status && two.status == outcome.status);
    let shown = alike.and_then(|(one, two)| Some((one, same_parts(&outcome.template, one, two)?)));
    match shown {
        Some((one, message)) => {
            outcome.denial = with_message(one.denial.clone(), &one.message, &message);
            outcome.message = message;
            outcome.path.clone_from(&one.path);
        }
        None => conceal_texts(outcome, request),
    }
    outcome.trace = trace.map(|mut trace| {
        let of = |outcome: &Outcome| outcome.trace.as_deref().cloned();
        let [one, two] = match others {
            Some((one, two)) => [of(one), of(two)],
            None => [None, None],
        };
        conceal_trace(&mut trace, one.as_ref().zip(two.as_ref()));
        trace.wanted = outcome.message.to_string();
        trace
    });
}

/// Returns what two outcomes with other values say alike, with a mark in place of what each expression of `template`
/// makes of the values; nothing where the two cannot be told apart by the author's words.
fn same_parts(template: &str, one: &Outcome, two: &Outcome) -> Option<Text> {
    if one.path != two.path {
        return None;
    }
    if one.message == two.message {
        return Some(one.message.clone());
    }
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
fn with_message(denial: Option<String>, old: &str, new: &str) -> Option<String> {
    denial.map(|denial| if old.is_empty() { denial } else { denial.replace(old, new) })
}

/// Replaces the texts of an outcome that depends on values.
fn conceal_texts(outcome: &mut Outcome, request: &Request) {
    let message: Text = match outcome.status {
        // That an object is fine, or that a rule is not about it, is said without its values.
        Status::Pass => return,
        Status::Skip if !outcome.is_judged => return,
        Status::Skip | Status::Error => HIDDEN.into(),
        Status::Fail | Status::Warn if outcome.template.is_empty() => HIDDEN.into(),
        Status::Fail | Status::Warn => masked(&outcome.template, request).into(),
    };
    outcome.denial = with_message(outcome.denial.take(), &outcome.message, &message);
    outcome.message = message;
}

/// Returns the author's words with a mark in place of every expression, but for those that name parts of the request
/// which are never secret.
fn masked(template: &str, request: &Request) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (expression, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        text.push_str(before);
        match public(expression.trim(), request) {
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
fn public(expression: &str, request: &Request) -> Option<Text> {
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

/// Replaces what the nodes of a trace found and compared with by what `others` say alike, or by a mark.
fn conceal_trace(trace: &mut TraceNode, others: Option<(&TraceNode, &TraceNode)>) {
    let others = others.filter(|(one, two)| one.what == trace.what && two.what == trace.what);
    let shown = |real: &mut String, part: fn(&TraceNode) -> &String| match others {
        Some((one, two)) if part(one) == part(two) => real.clone_from(part(one)),
        _ if real.is_empty() => {}
        _ => SECRET_MARK.clone_into(real),
    };
    shown(&mut trace.found, |node| &node.found);
    shown(&mut trace.wanted, |node| &node.wanted);
    for (number, child) in trace.children.iter_mut().enumerate() {
        let below = others.and_then(|(one, two)| one.children.get(number).zip(two.children.get(number)));
        conceal_trace(child, below);
    }
}
