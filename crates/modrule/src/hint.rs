//! Where a path of a rule leaves the object, and which key was probably meant. Only for traces.

use kubewright_engine::nearest_word;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Step, Value};

/// How many names are listed where none is near.
const MAX_LISTED_NAMES: usize = 5;

/// How far a path leads in an object.
pub(super) struct PathReach {
    /// The path to the last part that is there.
    pub(super) reached: Vec<Step>,
    /// What to do where the path leads further; empty where it does not.
    pub(super) help: String,
}

/// Returns how far the keys at the beginning of the JSONPath `path` lead in `object`. `[*]` and filters are followed into the
/// first item.
pub(super) fn follow_keys(path: &str, object: &Value) -> PathReach {
    let mut rest = path.trim().trim_start_matches(['$', '@']);
    let (mut here, mut reached) = (object, Vec::new());
    while let Some((part, after)) = next_part(rest) {
        rest = after;
        let found = match part {
            PathPart::Key(key) => here.get(key).map(|value| (Step::from(key), value)),
            PathPart::Items => {
                let first = here.as_array().and_then(<[Value]>::first);
                first.map(|value| (Step::Index(0), value))
            }
        };
        match (found, part) {
            (Some((step, value)), _) => {
                reached.push(step);
                here = value;
            }
            (None, PathPart::Key(key)) => return PathReach { reached, help: missing_key_help(key, here) },
            (None, PathPart::Items) => break,
        }
    }
    PathReach { reached, help: String::new() }
}

/// A field that a template reads and the object does not have.
pub(super) struct MissingTemplateField {
    /// The path to the last part of it that is there.
    pub(super) reached: Vec<Step>,
    /// Which field it is, and what to do.
    pub(super) help: String,
}

/// Returns the first field below `.Target` that the text of a template reads and `target` does not have.
pub(super) fn missing_template_field(template: &str, target: &Value) -> Option<MissingTemplateField> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    template.split(".Target").skip(1).find_map(|rest| {
        let end = rest.find(|c: char| !is_path(c)).unwrap_or(rest.len());
        let path = rest.get(..end)?.trim_end_matches('.');
        let reach = follow_keys(path, target);
        let remedy = match reach.help.ends_with('?') {
            true => "",
            false => "; `default` of Sprig gives it a value",
        };
        (!reach.help.is_empty()).then(|| MissingTemplateField {
            help: format!("the template reads `.Target{path}`, and {}{remedy}", reach.help),
            reached: reach.reached,
        })
    })
}

/// Returns what the items of the list have under `name`, where a filter selects none of them.
pub(super) fn names_of_items(list: &Value) -> String {
    let items = list.as_array().unwrap_or_default();
    let names = items.iter().filter_map(|item| item.get("name").and_then(Value::as_str));
    let names: Vec<String> = names.take(MAX_LISTED_NAMES).map(|name| format!("`{name}`")).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("the names there are {}", names.join(", ")),
    }
}

fn missing_key_help(key: &str, parent: &Value) -> String {
    let Some(map) = parent.as_object() else {
        return format!("there is no `{key}`, because its parent is of type {}", parent.kind());
    };
    let keys = || map.iter().map(|(key, _)| key.as_str());
    match nearest_word(key, keys()) {
        Some(near) => format!("there is no `{key}`; {}", did_you_mean(near)),
        None => {
            let listed: Vec<String> = keys().take(MAX_LISTED_NAMES).map(|key| format!("`{key}`")).collect();
            format!("there is no `{key}`; there is {}", listed.join(", "))
        }
    }
}

/// A part of a path.
#[derive(Clone, Copy)]
enum PathPart<'p> {
    Key(&'p str),
    /// `[*]`, or a filter.
    Items,
}

/// Returns the first part of a path and what is behind it; nothing at its end or at anything else.
fn next_part(path: &str) -> Option<(PathPart<'_>, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (key, after) = rest.split_at_checked(end)?;
        return match key {
            "" => None,
            "*" => Some((PathPart::Items, after)),
            key => Some((PathPart::Key(key), after)),
        };
    }
    let rest = path.strip_prefix('[')?.trim_start();
    for quote in ['"', '\''] {
        if let Some(inner) = rest.strip_prefix(quote) {
            let (key, after) = inner.split_once(quote)?;
            return Some((PathPart::Key(key), after.trim_start().strip_prefix(']')?));
        }
    }
    let is_items = rest.starts_with('*') || rest.starts_with('?');
    let (_, after) = rest.split_once(']').filter(|_| is_items)?;
    Some((PathPart::Items, after))
}

#[cfg(test)]
mod tests {
    use kubewright_value::yaml;

    use super::*;

    #[test]
    fn the_key_that_was_meant_is_named() {
        let object =
            yaml::parse("spec: {template: {spec: {containers: [{name: api}, {name: log}]}}}").expect("YAML");
        let help = |path: &str| follow_keys(path, &object).help;
        let missing = "there is no `container`; did you mean `containers`?";
        assert_eq!(help("$.spec.template.spec.container[*].image"), missing);
        assert_eq!(help("$['spec'][\"template\"].spec.container"), missing);
        assert_eq!(help("$.spec.template.spec.containers[*].image"), "there is no `image`; there is `name`");
        assert_eq!(help("$.spec.template"), "");
        assert_eq!(help("$.spec..image"), "");
        assert_eq!(follow_keys("$.spec.template.nothing", &object).reached.len(), 2);
        let list = object.at(&["spec", "template", "spec", "containers"]).expect("a list");
        assert_eq!(names_of_items(list), "the names there are `api`, `log`");
    }
}
