//! `--set parameters.a.b=1`: one value at a path, in Helm's syntax.
//!
//! Keys are parted by dots; `\.` is a dot in a key and `[0]` an item of a list. A value is a number, a boolean, a list, a map or text; `{a,b}` is a list.
//! A comma starts another setting only if a known root and `=` follow, so that values may contain
//! commas.

use std::str::FromStr;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_value::text::{PathStyle, write_path};
use kubewright_value::{Map, Step, Text, Value, yaml};

use super::context::NAMES;

/// The maximum length of a list that a setting creates.
const MAX_LIST_ITEMS: usize = 10_000;
/// The maximum number of steps in a path.
const MAX_SETTING_STEPS: usize = 100;

/// Values at paths.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RenderSetting(pub(super) Vec<PathSetting>);

/// One value at one path, of which the first step is a name.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands) struct PathSetting {
    pub(in crate::commands) root: Text,
    pub(in crate::commands) path: Vec<Step>,
    /// Null removes the field.
    pub(in crate::commands) value: Value,
}

impl PathSetting {
    /// Reads the setting of `path` to `value`.
    ///
    /// # Errors
    /// When nothing can be set there, or the value cannot be read.
    pub(in crate::commands) fn read(path: &str, value: &str) -> Result<Self, String> {
        setting_at(path, value, &parse_setting_value)
    }
}

impl FromStr for RenderSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_setting(text, parse_setting_value)
    }
}

impl RenderSetting {
    /// Reads settings whose values are text.
    pub(crate) fn text(text: &str) -> Result<Self, String> {
        parse_setting(text, |value| Ok(value.into()))
    }
}

/// Adds the option that fixes a missing value, or one whose text was read as another type.
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
/// When a setting conflicts with an existing value.
pub(super) fn apply_settings<'a>(
    value: &mut Value,
    settings: impl Iterator<Item = &'a PathSetting>,
) -> Result<(), String> {
    for one in settings {
        set_setting(value, &one.path, &one.value)
            .map_err(|why| format!("cannot set `{}`: {why}", setting_text(one)))?;
    }
    Ok(())
}

fn parse_setting(text: &str, read: impl Fn(&str) -> Result<Value, String>) -> Result<RenderSetting, String> {
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
    parts.iter().map(|part| parse_path_setting(part, &read)).collect::<Result<_, _>>().map(RenderSetting)
}

/// Returns whether `text` starts with a path of one of the known names and `=`.
fn is_start(text: &str) -> bool {
    let Some((path, _)) = text.split_once('=') else { return false };
    let root = path.trim().split(['.', '[']).next().unwrap_or_default();
    NAMES.contains(&root) && path.trim() != root
}

fn parse_path_setting(
    text: &str,
    read: &impl Fn(&str) -> Result<Value, String>,
) -> Result<PathSetting, String> {
    let (path, value) = text.split_once('=').ok_or_else(|| format!("expected PATH=VALUE, found `{text}`"))?;
    setting_at(path.trim(), value, read)
}

fn setting_at(
    path: &str,
    value: &str,
    read: &impl Fn(&str) -> Result<Value, String>,
) -> Result<PathSetting, String> {
    let mut steps = parse_setting_path(path)?.into_iter();
    let Some(Step::Key(root)) = steps.next() else { return Err(format!("`{path}` has no path")) };
    if !NAMES.contains(&root.as_str()) {
        return Err(match nearest_word(&root, NAMES) {
            Some(near) => format!("there is no `{root}` to set; did you mean `{near}`?"),
            None => format!("there is no `{root}` to set; a path starts with one of {}", NAMES.join(", ")),
        });
    }
    let path: Vec<Step> = steps.collect();
    if path.len() > MAX_SETTING_STEPS {
        return Err(format!("a path has at most {MAX_SETTING_STEPS} steps, this one has {}", path.len()));
    }
    if path.is_empty() {
        return Err(format!("`{root}` is a map; name a key in it, as in `{root}.key={value}`"));
    }
    Ok(PathSetting { root, path, value: read(value)? })
}

/// Reads a path.
fn parse_setting_path(text: &str) -> Result<Vec<Step>, String> {
    let wrong = |why: &str| format!("`{text}` is not a path: {why}");
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
                        digits.parse().map_err(|_| wrong(&format!("`[{digits}]` is not a list index")))?;
                    if index >= MAX_LIST_ITEMS {
                        return Err(wrong(&format!("a list has at most {MAX_LIST_ITEMS} items here")));
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

/// Reads a value: text that starts with a bracket, a brace or a quote is YAML, as are numbers and booleans. Everything else
/// is text, also words that only some YAML readers take for another type, such as `yes`, `0644` and `1.10`.
fn parse_setting_value(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let inside = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inside {
        Some(inside) if inside.trim().is_empty() => return Ok(Map::new().into()),
        Some(inside) if !inside.contains(':') => {
            return Ok(Value::array(inside.split(',').map(|item| parse_plain_scalar(item.trim())).collect()));
        }
        _ => {}
    }
    if !text.starts_with(['[', '{', '"', '\'']) {
        return Ok(parse_plain_scalar(text));
    }
    yaml::parse(text).map_err(|error| format!("`{text}` is not YAML: {}", error.message))
}

fn parse_plain_scalar(text: &str) -> Value {
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

fn set_setting(value: &mut Value, path: &[Step], new: &Value) -> Result<(), String> {
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
            let map = value.as_object_mut().ok_or_else(|| format!("`{key}` would be a key of a {kind}"))?;
            if rest.is_empty() && new.is_null() {
                map.remove(key);
                return Ok(());
            }
            if !map.contains_key(key) {
                map.insert(key.clone(), Value::Null);
            }
            map.get_mut(key).map_or(Ok(()), |inner| set_setting(inner, rest, new))
        }
        Step::Index(index) => {
            if value.is_null() {
                *value = Value::array(Vec::new());
            }
            let kind = value.kind();
            let items =
                value.as_array_mut().ok_or_else(|| format!("`[{index}]` would be an item of a {kind}"))?;
            if items.len() <= *index {
                items.resize(index + 1, Value::Null);
            }
            items.get_mut(*index).map_or(Ok(()), |inner| set_setting(inner, rest, new))
        }
    }
}

fn setting_text(one: &PathSetting) -> String {
    let mut text = one.root.to_string();
    write_path(&mut text, &one.path, PathStyle::Escaped);
    text
}

#[cfg(test)]
mod tests;
