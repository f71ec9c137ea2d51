//! Paths into objects, as a declared reference writes them: `spec.rules[*].backend`, `metadata.annotations['a.b/c']`.

use std::fmt;

use kubewright_value::{Text, Value};

/// How many steps a path may have.
const MAX_STEPS: usize = 32;

/// The steps of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path(Vec<PathStep>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Key(Text),
    Index(usize),
    All,
}

impl Path {
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
                    (PathStep::Key(key.into()), after)
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

    /// Calls `found` with every value at the end of the path, and where it stands.
    pub(crate) fn visit<'v>(&self, value: &'v Value, found: &mut impl FnMut(&'v Value, &str)) {
        walk(&self.0, value, &mut String::new(), found);
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.0.iter().for_each(|step| push(&mut text, step));
        f.write_str(&text)
    }
}

/// No deeper than a path has steps.
fn walk<'v>(
    steps: &[PathStep],
    value: &'v Value,
    place: &mut String,
    found: &mut impl FnMut(&'v Value, &str),
) {
    let Some((step, rest)) = steps.split_first() else { return found(value, place) };
    let length = place.len();
    let mut go = |step: &PathStep, child: Option<&'v Value>, place: &mut String| {
        if let Some(child) = child.filter(|child| !child.is_null()) {
            push(place, step);
            walk(rest, child, place, found);
            place.truncate(length);
        }
    };
    match (step, value) {
        (PathStep::Key(key), _) => go(step, value.get(key), place),
        (PathStep::Index(index), _) => go(step, value.item(*index), place),
        (PathStep::All, Value::Array(items)) => {
            items.iter().enumerate().for_each(|(at, item)| go(&PathStep::Index(at), Some(item), place));
        }
        (PathStep::All, Value::Object(map)) => {
            map.iter().for_each(|(key, item)| go(&PathStep::Key(key.clone()), Some(item), place));
        }
        (PathStep::All, _) => {}
    }
}

fn push(text: &mut String, step: &PathStep) {
    match step {
        PathStep::Key(key) if key.contains(['.', '[', '/', '\'']) => text.push_str(&format!("['{key}']")),
        PathStep::Key(key) => {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(key);
        }
        PathStep::Index(index) => text.push_str(&format!("[{index}]")),
        PathStep::All => text.push_str("[*]"),
    }
}

/// Reads what stands behind an opening bracket, and returns what follows the closing one.
fn bracket(inside: &str) -> Option<(PathStep, &str)> {
    if let Some(quote) = inside.chars().next().filter(|first| matches!(first, '\'' | '"')) {
        let (key, after) = inside.get(1..)?.split_once(quote)?;
        return Some((PathStep::Key(key.into()), after.strip_prefix(']')?));
    }
    let (text, after) = inside.split_once(']')?;
    match text {
        "*" => Some((PathStep::All, after)),
        digits => digits.parse().ok().map(|index| (PathStep::Index(index), after)),
    }
}
