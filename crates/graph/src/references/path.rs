//! Paths into objects, as a declared reference writes them: `spec.rules[*].backend`, `metadata.annotations['a.b/c']`.

use std::fmt;

use kubewright_value::{Text, Value};

use crate::FieldStep;

/// How many steps a path may have.
const MAX_STEPS: usize = 32;

/// The steps of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReferencePath(Vec<ReferencePathStep>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ReferencePathStep {
    Key(Text),
    Index(usize),
    All,
}

impl ReferencePath {
    /// Reads a path.
    ///
    /// # Errors
    /// Says what is wrong, and before which character.
    pub(crate) fn parse(text: &str) -> Result<Self, (String, usize)> {
        let mut steps = Vec::new();
        let start = text.strip_prefix('$').unwrap_or(text);
        let mut rest = start.strip_prefix('.').unwrap_or(start);
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => {
                    bracket(inside).ok_or_else(|| ("expected `[*]`, `[0]` or `['key']`".to_owned(), at))?
                }
                None => {
                    let end = rest.find(['.', '[']).unwrap_or(rest.len());
                    let (key, after) = rest.split_at(end);
                    if key.is_empty() {
                        return Err(("expected a key".to_owned(), at));
                    }
                    (ReferencePathStep::Key(key.into()), after)
                }
            };
            steps.push(step);
            rest = match after.strip_prefix('.') {
                Some("") => return Err(("expected a key after the last `.`".to_owned(), text.len())),
                Some(after) => after,
                None => after,
            };
        }
        match steps.len() {
            0 => Err(("the path is empty".to_owned(), 0)),
            count if count > MAX_STEPS => Err((format!("more than {MAX_STEPS} steps"), 0)),
            _ => Ok(Self(steps)),
        }
    }

    /// Returns the fields that the path leads through; an element of an array stands for all of them.
    pub(crate) fn field_steps(&self) -> Vec<FieldStep<'_>> {
        self.0
            .iter()
            .map(|step| match step {
                ReferencePathStep::Key(key) => FieldStep::Name(key),
                ReferencePathStep::Index(_) | ReferencePathStep::All => FieldStep::Each,
            })
            .collect()
    }

    /// Calls `found` with every value at the end of the path, and the path of that value.
    pub(crate) fn visit<'v>(&self, value: &'v Value, found: &mut impl FnMut(&'v Value, &str)) {
        walk_reference_path(&self.0, value, &mut String::new(), found);
    }
}

impl fmt::Display for ReferencePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.0.iter().for_each(|step| push_path_step(&mut text, step));
        f.write_str(&text)
    }
}

/// No deeper than a path has steps.
fn walk_reference_path<'v>(
    steps: &[ReferencePathStep],
    value: &'v Value,
    place: &mut String,
    found: &mut impl FnMut(&'v Value, &str),
) {
    let Some((step, rest)) = steps.split_first() else { return found(value, place) };
    let length = place.len();
    let mut go = |step: &ReferencePathStep, child: Option<&'v Value>, place: &mut String| {
        if let Some(child) = child.filter(|child| !child.is_null()) {
            push_path_step(place, step);
            walk_reference_path(rest, child, place, found);
            place.truncate(length);
        }
    };
    match (step, value) {
        (ReferencePathStep::Key(key), _) => go(step, value.get(key), place),
        (ReferencePathStep::Index(index), _) => go(step, value.item(*index), place),
        (ReferencePathStep::All, Value::Array(items)) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, item)| go(&ReferencePathStep::Index(at), Some(item), place));
        }
        (ReferencePathStep::All, Value::Object(map)) => {
            map.iter().for_each(|(key, item)| go(&ReferencePathStep::Key(key.clone()), Some(item), place));
        }
        (ReferencePathStep::All, _) => {}
    }
}

fn push_path_step(text: &mut String, step: &ReferencePathStep) {
    match step {
        ReferencePathStep::Key(key) if key.contains(['.', '[', '/', '\'']) => {
            text.push_str(&format!("['{key}']"));
        }
        ReferencePathStep::Key(key) => {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(key);
        }
        ReferencePathStep::Index(index) => text.push_str(&format!("[{index}]")),
        ReferencePathStep::All => text.push_str("[*]"),
    }
}

/// Reads the content of a bracket, and returns the text after the closing one.
fn bracket(inside: &str) -> Option<(ReferencePathStep, &str)> {
    if let Some(quote) = inside.chars().next().filter(|first| matches!(first, '\'' | '"')) {
        let (key, after) = inside.get(1..)?.split_once(quote)?;
        return Some((ReferencePathStep::Key(key.into()), after.strip_prefix(']')?));
    }
    let (text, after) = inside.split_once(']')?;
    match text {
        "*" => Some((ReferencePathStep::All, after)),
        digits => digits.parse().ok().map(|index| (ReferencePathStep::Index(index), after)),
    }
}
