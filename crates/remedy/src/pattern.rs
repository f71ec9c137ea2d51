//! Changes that make an object fit a pattern, as `validate.pattern` writes them.
//!
//! Anchors are read as the rule language has them: `(key)` restricts, `=(key)` counts where the key is there, `X(key)` forbids,
//! `^(key)` wants one item. Where a pattern leaves several values open, `pick` chooses among them.

use kubewright_value::{Map, Step, Text, Value};

use crate::FieldChange;
use crate::leaf::{fits_leaf, fits_wildcard, fitting_values, text_of};

/// The maximum number of changes for one pattern.
const MAX_CHANGES: usize = 200;

/// What a pattern is compared with.
#[derive(Debug, Clone, Copy)]
pub struct PatternScope<'a> {
    /// The object, or the part of it that the pattern is about.
    pub value: &'a Value,
    /// The name of the object, for labels that must be there.
    pub name: &'a str,
    /// Which of several values is chosen, from 0.
    pub pick: usize,
}

/// Returns the changes that may make `scope` fit `pattern`; empty where none are known.
#[must_use]
pub fn pattern_changes(pattern: &Value, scope: PatternScope<'_>) -> Vec<FieldChange> {
    let mut fitting = Fitting { scope, path: Vec::new(), changes: Vec::new(), is_stuck: false };
    fitting.fit(pattern, Some(scope.value));
    if fitting.is_stuck || fitting.changes.len() > MAX_CHANGES { Vec::new() } else { fitting.changes }
}

struct Fitting<'a> {
    scope: PatternScope<'a>,
    path: Vec<Step>,
    changes: Vec<FieldChange>,
    /// Whether something does not fit that no change is known for.
    is_stuck: bool,
}

/// How a key of a pattern counts.
#[derive(PartialEq, Eq)]
enum KeyRole {
    Plain,
    Condition,
    IfPresent,
    Forbidden,
    SomeItem,
    Ignored,
}

impl Fitting<'_> {
    fn fit(&mut self, pattern: &Value, value: Option<&Value>) {
        match pattern {
            Value::Object(map) => self.fit_map(map, value),
            Value::Array(items) => self.fit_list(items, value),
            leaf if fits_leaf(leaf, value) => {}
            leaf => self.fit_leaf(leaf, value),
        }
    }

    fn fit_map(&mut self, pattern: &Map, value: Option<&Value>) {
        let at = |key: &str| value.and_then(|value| value.get(key));
        let restricts = |raw: &Text, sub: &Value| {
            let (role, key) = key_role(raw);
            role == KeyRole::Condition && !at(key).is_some_and(|value| fits(sub, Some(value)))
        };
        if pattern.iter().any(|(raw, sub)| restricts(raw, sub)) {
            return;
        }
        for (raw, sub) in pattern.iter() {
            let (role, key) = key_role(raw);
            let found = at(key);
            self.path.push(key.into());
            match (role, found) {
                (KeyRole::Plain, _) if key.contains(['*', '?']) => self.fit_wild_key(key, sub, value),
                (KeyRole::Plain, found) => self.fit(sub, found),
                (KeyRole::IfPresent, Some(found)) => self.fit(sub, Some(found)),
                (KeyRole::Forbidden, Some(_)) => self.remove(),
                (KeyRole::SomeItem, found) => self.fit_some_item(sub, found),
                _ => {}
            }
            self.path.pop();
        }
    }

    /// A key with wildcards is there, or nothing is known.
    fn fit_wild_key(&mut self, key: &str, sub: &Value, value: Option<&Value>) {
        let mut entries = value.and_then(Value::as_object).into_iter().flat_map(Map::iter);
        self.is_stuck |= !entries.any(|(own, value)| fits_wildcard(key, own) && fits(sub, Some(value)));
    }

    fn fit_list(&mut self, pattern: &[Value], value: Option<&Value>) {
        let Some(first) = pattern.first() else {
            self.is_stuck = true;
            return;
        };
        match value.and_then(Value::as_array) {
            Some(items) => {
                for (index, item) in items.iter().enumerate().rev() {
                    self.path.push(index.into());
                    match first {
                        Value::Object(_) | Value::Array(_) => self.fit(first, Some(item)),
                        leaf if !fits_leaf(leaf, Some(item)) => self.remove(),
                        _ => {}
                    }
                    self.path.pop();
                }
            }
            None => self.append(first, 0),
        }
    }

    /// Makes one item of the list fit each of the patterns.
    fn fit_some_item(&mut self, patterns: &Value, value: Option<&Value>) {
        let items = value.and_then(Value::as_array).unwrap_or_default();
        let mut count = items.len();
        for pattern in patterns.as_array().unwrap_or_default() {
            if !items.iter().any(|item| fits(pattern, Some(item))) {
                self.append(pattern, count);
                count += 1;
            }
        }
    }

    fn append(&mut self, pattern: &Value, index: usize) {
        match self.made(pattern, "") {
            Some(item) if index == 0 => self.set(Value::array(vec![item])),
            Some(item) => {
                self.path.push(index.into());
                self.set(item);
                self.path.pop();
            }
            None => self.is_stuck = true,
        }
    }

    fn fit_leaf(&mut self, leaf: &Value, value: Option<&Value>) {
        let key = match self.path.last() {
            Some(Step::Key(key)) => key.clone(),
            _ => Text::default(),
        };
        let mut values = fitting_values(leaf, value, &key);
        let is_label = self.path.iter().rev().nth(1) == Some(&Step::from("labels"));
        if values.is_empty() && is_label && value.is_none() && key.ends_with("name") {
            values.push(Some(self.scope.name.into()));
        }
        match values.get(self.scope.pick).or_else(|| values.first()).cloned() {
            Some(Some(new)) => self.set(new),
            Some(None) if value.is_some() => self.remove(),
            _ => self.is_stuck = true,
        }
    }

    /// Returns a value that fits `pattern`.
    fn made(&self, pattern: &Value, key: &str) -> Option<Value> {
        match pattern {
            Value::Object(map) => {
                let mut made = Map::new();
                for (raw, sub) in map.iter() {
                    let (role, key) = key_role(raw);
                    if matches!(role, KeyRole::Plain | KeyRole::SomeItem | KeyRole::Condition) {
                        made.insert(key.into(), self.made(sub, key)?);
                    }
                }
                Some(made.into())
            }
            Value::Array(items) => Some(Value::array(vec![self.made(items.first()?, key)?])),
            leaf => {
                let values = fitting_values(leaf, None, key);
                values.get(self.scope.pick).or_else(|| values.first()).cloned().flatten()
            }
        }
    }

    fn set(&mut self, value: Value) {
        // Labels and annotations are texts, whatever they look like.
        let is_text = |step: &Step| ["labels", "annotations"].map(Step::from).contains(step);
        let is_scalar = !matches!(value, Value::Object(_) | Value::Array(_));
        let value = if is_scalar && self.path.iter().any(is_text) { text_of(&value).into() } else { value };
        self.changes.push(FieldChange::Set { path: self.path.clone(), value });
    }

    fn remove(&mut self) {
        self.changes.push(FieldChange::Remove { path: self.path.clone() });
    }
}

/// Returns whether `value` fits `pattern`.
fn fits(pattern: &Value, value: Option<&Value>) -> bool {
    let nothing = Value::Null;
    let scope = PatternScope { value: value.unwrap_or(&nothing), name: "", pick: 0 };
    let mut fitting = Fitting { scope, path: Vec::new(), changes: Vec::new(), is_stuck: false };
    fitting.fit(pattern, value);
    !fitting.is_stuck && fitting.changes.is_empty()
}

fn key_role(raw: &str) -> (KeyRole, &str) {
    let forms = [
        ("=(", KeyRole::IfPresent),
        ("X(", KeyRole::Forbidden),
        ("^(", KeyRole::SomeItem),
        ("+(", KeyRole::Ignored),
        ("<(", KeyRole::Condition),
        ("(", KeyRole::Condition),
    ];
    for (start, role) in forms {
        if let Some(key) = raw.strip_prefix(start).and_then(|rest| rest.strip_suffix(')')) {
            return (role, key);
        }
    }
    (KeyRole::Plain, raw)
}

#[cfg(test)]
mod tests;
