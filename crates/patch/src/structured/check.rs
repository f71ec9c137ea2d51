//! Whether a value has a type, and where it has atomic parts.

use std::collections::HashSet;
use std::fmt;

use kubewright_value::{Budget, Exhausted, Map, Value};

use super::key::{item_key, number_text};
use super::{ListRelation, MergeScalar, MergeShape, MergeType};

/// How many problems are reported.
const MAX_TYPE_PROBLEMS: usize = 20;

/// A part of a value that does not have its type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeProblem {
    /// The path, such as `.spec.containers[name="a"].args`; empty for the whole value.
    pub path: String,
    /// What is wrong, in the API server's words.
    pub message: String,
}

pub(super) fn write_problems(problems: &[TypeProblem], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if problems.len() > 1 {
        f.write_str("errors: ")?;
    }
    for (index, TypeProblem { path, message }) in problems.iter().enumerate() {
        let between = if index == 0 { "" } else { "; " };
        match path.as_str() {
            "" => write!(f, "{between}{message}")?,
            path => write!(f, "{between}{path}: {message}")?,
        }
    }
    Ok(())
}

/// Compares a value with a type.
pub(super) struct TypeChecker {
    path: String,
    problems: Vec<TypeProblem>,
    allows_duplicates: bool,
    allows_unknown: bool,
    refuses_nulls: bool,
}

impl TypeChecker {
    pub(super) fn of_patch(refuses_nulls: bool) -> Self {
        Self {
            path: String::new(),
            problems: Vec::new(),
            allows_duplicates: false,
            allows_unknown: false,
            refuses_nulls,
        }
    }

    /// Objects that are stored already may hold items twice.
    pub(super) fn of_live(allows_unknown: bool) -> Self {
        Self { allows_duplicates: true, allows_unknown, ..Self::of_patch(false) }
    }

    /// Returns what is wrong with `value`.
    pub(super) fn check<T: MergeType>(
        mut self,
        value: &Value,
        root: &T,
        budget: &mut Budget,
    ) -> Result<Vec<TypeProblem>, Exhausted> {
        self.visit(value, root, budget)?;
        Ok(self.problems)
    }

    fn visit<T: MergeType>(&mut self, value: &Value, kind: &T, budget: &mut Budget) -> Result<(), Exhausted> {
        budget.step(1)?;
        if value.is_null() && !self.refuses_nulls {
            return Ok(());
        }
        budget.enter()?;
        let visited = self.visit_shape(value, kind, budget);
        budget.leave();
        visited
    }

    fn visit_shape<T: MergeType>(
        &mut self,
        value: &Value,
        kind: &T,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        match kind.shape() {
            MergeShape::Anything => Ok(()),
            MergeShape::Scalar(scalar) => {
                if let Some(message) = scalar_problem(scalar, value) {
                    self.report(message);
                }
                Ok(())
            }
            MergeShape::List { item, relation } => match value {
                Value::Array(items) => self.visit_items(items, &item, &relation, budget),
                other => {
                    self.report(format!("expected list, got {}", go_text(other)));
                    Ok(())
                }
            },
            MergeShape::Map { value: inner, .. } => match value {
                Value::Object(map) => self.visit_fields(map, |_| Some(inner.clone()), budget),
                other => self.expected_map(other),
            },
            MergeShape::Structure { .. } => match value {
                Value::Object(map) => self.visit_fields(map, |key| kind.field(key), budget),
                other => self.expected_map(other),
            },
        }
    }

    fn expected_map(&mut self, found: &Value) -> Result<(), Exhausted> {
        self.report(format!("expected map, got {}", go_text(found)));
        Ok(())
    }

    fn visit_fields<T: MergeType>(
        &mut self,
        map: &Map,
        field: impl Fn(&str) -> Option<T>,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        for (key, value) in map.iter() {
            let end = self.path.len();
            self.path.push('.');
            self.path.push_str(key);
            match field(key) {
                Some(kind) => self.visit(value, &kind, budget)?,
                None if self.allows_unknown => {}
                None => self.report("field not declared in schema".to_owned()),
            }
            self.path.truncate(end);
        }
        Ok(())
    }

    fn visit_items<T: MergeType>(
        &mut self,
        items: &[Value],
        kind: &T,
        relation: &ListRelation,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        let mut known = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            let step = match relation {
                ListRelation::Atomic => format!("[{index}]"),
                relation => match item_key(item, relation) {
                    Ok(key) => key,
                    Err(message) => {
                        self.report(format!("element {index}: {message}"));
                        return Ok(());
                    }
                },
            };
            budget.produce(step.len())?;
            if *relation != ListRelation::Atomic && !known.insert(step.clone()) && !self.allows_duplicates {
                self.report(format!("duplicate entries for key {step}"));
            }
            let end = self.path.len();
            self.path.push_str(&step);
            self.visit(item, kind, budget)?;
            self.path.truncate(end);
        }
        Ok(())
    }

    fn report(&mut self, message: String) {
        if self.problems.len() < MAX_TYPE_PROBLEMS {
            self.problems.push(TypeProblem { path: self.path.clone(), message });
        }
    }
}

fn scalar_problem(scalar: MergeScalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (MergeScalar::Text | MergeScalar::Any, Value::String(_))
        | (MergeScalar::Number | MergeScalar::Any, Value::Number(_))
        | (MergeScalar::Boolean | MergeScalar::Any, Value::Bool(_)) => None,
        (MergeScalar::Text, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_literal(other)))
        }
        (MergeScalar::Boolean, other) => Some(format!("expected boolean, got {}", go_text(other))),
        (MergeScalar::Number, other) => {
            Some(format!("expected numeric (int or float), got {}", go_type(other)))
        }
        (MergeScalar::Any, other) => Some(format!("expected any scalar, got {}", go_text(other))),
    }
}

/// Returns a value as Go's `%v` shows it. Null is the number 0 there.
fn go_text(value: &Value) -> String {
    match value {
        Value::String(text) => format!("&{{{text}}}"),
        Value::Object(_) => "&{map[...]}".to_owned(),
        Value::Array(_) => "&{[...]}".to_owned(),
        plain => format!("&{{{}}}", go_literal(plain)),
    }
}

fn go_literal(value: &Value) -> String {
    match value {
        Value::Null => "0".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number_text(*number),
        Value::String(text) => format!("{:?}", text.as_str()),
        Value::Array(_) => "[]interface {}{...}".to_owned(),
        Value::Object(_) => "map[string]interface {}{...}".to_owned(),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "structpb.NullValue",
        Value::Bool(_) => "bool",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Returns the paths of the atomic parts of `patch`, list items by their index.
pub(super) fn find_atomics<T: MergeType>(
    patch: &Value,
    root: &T,
    budget: &mut Budget,
) -> Result<Vec<String>, Exhausted> {
    let mut found = Vec::new();
    collect_atomics(patch, root, &mut String::new(), &mut found, budget)?;
    Ok(found)
}

fn collect_atomics<T: MergeType>(
    value: &Value,
    kind: &T,
    path: &mut String,
    found: &mut Vec<String>,
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    budget.step(1)?;
    let end = path.len();
    match (value, kind.shape()) {
        (Value::Array(items), MergeShape::List { item, relation }) => {
            if relation == ListRelation::Atomic {
                note_atomic(path, found, budget)?;
            }
            for (index, value) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                collect_atomics(value, &item, path, found, budget)?;
                path.truncate(end);
            }
        }
        (Value::Object(map), MergeShape::Structure { is_atomic }) => {
            if is_atomic {
                note_atomic(path, found, budget)?;
            }
            for (key, value) in map.iter() {
                let Some(field) = kind.field(key) else { continue };
                path.push('.');
                path.push_str(key);
                collect_atomics(value, &field, path, found, budget)?;
                path.truncate(end);
            }
        }
        (Value::Object(_), MergeShape::Map { is_atomic: true, .. })
        | (Value::Array(_), MergeShape::Anything) => note_atomic(path, found, budget)?,
        _ => {}
    }
    Ok(())
}

fn note_atomic(path: &str, found: &mut Vec<String>, budget: &mut Budget) -> Result<(), Exhausted> {
    budget.produce(path.len())?;
    found.push(path.to_owned());
    Ok(())
}
