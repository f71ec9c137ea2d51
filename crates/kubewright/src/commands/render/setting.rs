//! `--set parameters.a.b=1`: one value at a path, written as Helm users write it.
//!
//! Keys are parted by dots; `\.` is a dot in a key and `[0]` an item of a list. A value is a number, a boolean, a list, a map or text; `{a,b}` is a list.
//! A comma starts another setting only where one of the names that values can be set in and `=` follow, so that values
//! may have commas in them.

use std::str::FromStr;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_value::{Map, Step, Text, Value, yaml};

use super::context::NAMES;

/// How long a list may be that a setting makes.
const LONGEST: usize = 10_000;
/// How many steps a path may have.
const DEEPEST: usize = 100;

/// Values at paths.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RenderSetting(pub(super) Vec<One>);

/// One value at one path, of which the first step is a name.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands) struct One {
    pub(in crate::commands) root: Text,
    pub(in crate::commands) path: Vec<Step>,
    /// Nothing takes away what is there.
    pub(in crate::commands) value: Value,
}

impl One {
    /// Reads the setting of `path` to `value`.
    ///
    /// # Errors
    /// When nothing can be set there, or the value cannot be read.
    pub(in crate::commands) fn read(path: &str, value: &str) -> Result<Self, String> {
        at(path, value, &typed)
    }
}

impl FromStr for RenderSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, typed)
    }
}

impl RenderSetting {
    /// Reads settings whose values are text.
    pub(crate) fn text(text: &str) -> Result<Self, String> {
        parse(text, |value| Ok(value.into()))
    }
}

/// Adds which option helps: where a value is missing, or was text and taken for something else.
pub(super) fn remedy(problem: &mut Diagnostic) {
    let option = match problem.location.source.name.as_str() {
        "(no parameters given)" => "; --set and --params give parameters",
        "(no environment configs given)" => "; --set and --env-configs give them",
        name if name.contains("--set") && problem.help.starts_with("quote it") => {
            ", or say it with --set-string"
        }
        _ => return,
    };
    problem.help.push_str(option);
}

/// Sets each of `settings` in `value`.
///
/// # Errors
/// When there is something in the way.
pub(super) fn place<'a>(value: &mut Value, settings: impl Iterator<Item = &'a One>) -> Result<(), String> {
    for one in settings {
        set(value, &one.path, &one.value).map_err(|why| format!("cannot set `{}`: {why}", written(one)))?;
    }
    Ok(())
}

fn parse(text: &str, read: impl Fn(&str) -> Result<Value, String>) -> Result<RenderSetting, String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        match parts.last_mut() {
            Some(last) if !is_start(part) => {
                last.push(',');
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts.iter().map(|part| one(part, &read)).collect::<Result<_, _>>().map(RenderSetting)
}

/// Returns whether `text` starts with a path of one of the known names and `=`.
fn is_start(text: &str) -> bool {
    let Some((path, _)) = text.split_once('=') else { return false };
    let root = path.trim().split(['.', '[']).next().unwrap_or_default();
    NAMES.contains(&root) && path.trim() != root
}

fn one(text: &str, read: &impl Fn(&str) -> Result<Value, String>) -> Result<One, String> {
    let (path, value) = text.split_once('=').ok_or_else(|| format!("expected PATH=VALUE, found `{text}`"))?;
    at(path.trim(), value, read)
}

fn at(path: &str, value: &str, read: &impl Fn(&str) -> Result<Value, String>) -> Result<One, String> {
    let mut steps = steps(path)?.into_iter();
    let Some(Step::Key(root)) = steps.next() else { return Err(format!("`{path}` has no path")) };
    if !NAMES.contains(&root.as_str()) {
        return Err(match nearest_word(&root, NAMES) {
            Some(near) => format!("there is no `{root}` to set; did you mean `{near}`?"),
            None => format!("there is no `{root}` to set; a path starts with one of {}", NAMES.join(", ")),
        });
    }
    let path: Vec<Step> = steps.collect();
    if path.len() > DEEPEST {
        return Err(format!("a path has at most {DEEPEST} steps, this one has {}", path.len()));
    }
    if path.is_empty() {
        return Err(format!("`{root}` is a map; name a key in it, as in `{root}.key={value}`"));
    }
    Ok(One { root, path, value: read(value)? })
}

/// Reads a path.
fn steps(text: &str) -> Result<Vec<Step>, String> {
    let wrong = |why: &str| format!("`{text}` is no path: {why}");
    let mut steps: Vec<Step> = Vec::new();
    let mut key = String::new();
    let mut letters = text.chars().peekable();
    // Whether what is read now is a key, and not what follows an index.
    let mut is_key = true;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => key.push(letters.next().ok_or_else(|| wrong("it ends in `\\`"))?),
            '.' | '[' => {
                if is_key {
                    if key.is_empty() {
                        return Err(wrong("a key in it is empty"));
                    }
                    steps.push(std::mem::take(&mut key).as_str().into());
                }
                is_key = letter == '.';
                if letter == '[' {
                    let digits: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                    let index: usize =
                        digits.parse().map_err(|_| wrong(&format!("`[{digits}]` is no place in a list")))?;
                    if index >= LONGEST {
                        return Err(wrong(&format!("a list has at most {LONGEST} items here")));
                    }
                    steps.push(index.into());
                    if letters.peek().is_some_and(|next| !['.', '['].contains(next)) {
                        return Err(wrong("expected `.` after `]`"));
                    }
                }
            }
            letter => key.push(letter),
        }
    }
    if is_key {
        if key.is_empty() {
            return Err(wrong("a key in it is empty"));
        }
        steps.push(key.as_str().into());
    }
    Ok(steps)
}

/// Reads a value: what starts with a bracket, a brace or a quote is YAML, and so are numbers and booleans. Anything else
/// is text, also what only some readers of YAML take for something else, such as `yes`, `0644` and `1.10`.
fn typed(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let inside = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inside {
        Some(inside) if inside.trim().is_empty() => return Ok(Map::new().into()),
        Some(inside) if !inside.contains(':') => {
            return Ok(Value::array(inside.split(',').map(|item| scalar(item.trim())).collect()));
        }
        _ => {}
    }
    if !text.starts_with(['[', '{', '"', '\'']) {
        return Ok(scalar(text));
    }
    yaml::parse(text).map_err(|error| format!("`{text}` is no YAML: {}", error.message))
}

fn scalar(text: &str) -> Value {
    match text.to_ascii_lowercase().as_str() {
        "true" => true.into(),
        "false" => false.into(),
        "null" => Value::Null,
        _ => match yaml::parse(text) {
            Ok(Value::Number(number)) if number.to_string() == text => number.into(),
            _ => text.into(),
        },
    }
}

fn set(value: &mut Value, path: &[Step], new: &Value) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else {
        *value = new.clone();
        return Ok(());
    };
    match step {
        Step::Key(key) => {
            if value.is_null() {
                *value = Map::new().into();
            }
            let kind = value.kind();
            let map = value.as_object_mut().ok_or_else(|| format!("`{key}` would stand in a {kind}"))?;
            if rest.is_empty() && new.is_null() {
                map.remove(key);
                return Ok(());
            }
            if !map.contains_key(key) {
                map.insert(key.clone(), Value::Null);
            }
            map.get_mut(key).map_or(Ok(()), |inner| set(inner, rest, new))
        }
        Step::Index(index) => {
            if value.is_null() {
                *value = Value::array(Vec::new());
            }
            let kind = value.kind();
            let items = value.as_array_mut().ok_or_else(|| format!("`[{index}]` would stand in a {kind}"))?;
            if items.len() <= *index {
                items.resize(index + 1, Value::Null);
            }
            items.get_mut(*index).map_or(Ok(()), |inner| set(inner, rest, new))
        }
    }
}

fn written(one: &One) -> String {
    let mut text = one.root.to_string();
    for step in &one.path {
        match step {
            Step::Key(key) => text.push_str(&format!(".{}", key.replace('.', "\\."))),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

#[cfg(test)]
mod tests;
