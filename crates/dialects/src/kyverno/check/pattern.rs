//! What can be seen in a pattern before it meets an object.

use kubewright_lang::glob;
use kubewright_value::{Kind, Map, Step, Text, Value};

use super::{Findings, code};
use crate::fields::{Placed, article, child};

/// Checks a pattern.
pub(super) fn check(findings: &mut Findings<'_>, pattern: &Placed<Value>) {
    walk(findings, &pattern.value, &mut pattern.path.clone(), Around::default());
    let template = ["spec", "template"];
    metadata(findings, pattern, &[]);
    metadata(findings, pattern, &template);
}

/// What stands around a node.
#[derive(Debug, Clone, Copy, Default)]
struct Around<'p> {
    /// The key that the node stands under, and the one above it, without anchors.
    key: &'p str,
    above: &'p str,
    /// Whether every element of a list counts.
    takes_all: bool,
}

impl Around<'_> {
    fn is_labels(self) -> bool {
        self.above == "metadata" && matches!(self.key, "labels" | "annotations")
    }
}

/// Walks a pattern, as deep as the document is.
fn walk(findings: &mut Findings<'_>, pattern: &Value, path: &mut Vec<Step>, around: Around<'_>) {
    match pattern {
        Value::Object(map) => {
            for (key, value) in map.iter() {
                path.push(Step::Key(key.clone()));
                entry(findings, key, value, path, around);
                path.pop();
            }
        }
        Value::Array(items) => {
            elements(findings, items, path, around);
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                walk(findings, item, path, Around { key: "", ..around });
                path.pop();
            }
        }
        Value::String(text) if around.key == "image" => registry(findings, text, path),
        _ => {}
    }
}

fn entry(findings: &mut Findings<'_>, key: &Text, value: &Value, path: &mut Vec<Step>, around: Around<'_>) {
    let anchor = Anchor::of(key);
    let name = anchor.map_or(key.as_str(), |(_, name)| name);
    match anchor {
        Some((Anchor::Add, _)) => {
            let help = "`+()` adds what is missing and belongs to `mutate`; use `=()` to check what is there";
            findings.at_key(&code::BAD_ANCHOR, path, format!("a check cannot have `{key}`"), help);
        }
        Some((Anchor::Exists, _)) if value.as_array().is_none_or(<[_]>::is_empty) => {
            let message = format!("`{key}` needs a list with at least one element");
            findings.at_key(
                &code::BAD_ANCHOR,
                path,
                message,
                "each element says what one of the list must be",
            );
        }
        None if looks_like_anchor(key) => {
            let message = format!("`{key}` is no anchor, and no object has such a key");
            let help = "anchors are `()`, `=()`, `X()`, `^()` and `<()`";
            findings.at_key(&code::DEAD_ANCHOR, path, message, help);
        }
        _ => {}
    }
    if glob::has_wildcard(name) && !name.contains("{{") && !around.is_labels() {
        let message = format!("`{name}` is the key `{name}` itself, not a wildcard");
        let help = "keys have wildcards only in `metadata.labels` and `metadata.annotations`";
        findings.at_key(&code::WILDCARD_KEY, path, message, help);
    }
    let takes_all = matches!(anchor, Some((Anchor::Exists, _)));
    walk(findings, value, path, Around { key: name, above: around.key, takes_all });
}

fn elements(findings: &mut Findings<'_>, items: &[Value], path: &[Step], around: Around<'_>) {
    let [first, _, ..] = items else { return };
    if around.takes_all || first.kind() == Kind::Array {
        return;
    }
    let help =
        "for alternatives use `anyPattern`, or `a | b` in a text; for one of several elements use `^()`";
    let message = "only the first element is looked at: every element of the object must be like it";
    findings.at(&code::IGNORED_ELEMENTS, &child(path, 1), message, help);
}

/// Reports `registry.example*`, which `registry.example.evil/x` fits as well.
pub(super) fn registry(findings: &mut Findings<'_>, text: &str, path: &[Step]) {
    let open = text.split(['|', '&']).map(str::trim).filter_map(|atom| atom.strip_suffix('*')).find(|host| {
        let host = host.strip_prefix('!').unwrap_or(host).trim_end_matches('*');
        let is_host = host.contains('.') && !host.contains(['/', ':', '*', '{', '}', '@']);
        is_host && !host.ends_with('.')
    });
    if let Some(host) = open {
        let message = format!("`{host}*` is also the start of `{host}.somebody.else/image`");
        findings.at(&code::OPEN_REGISTRY, path, message, format!("write `{host}/*`"));
    }
}

/// Labels and annotations are texts, and so must be what they are compared with.
fn metadata(findings: &mut Findings<'_>, pattern: &Placed<Value>, keys: &[&str]) {
    let mut path = pattern.path.clone();
    path.extend(keys.iter().copied().chain(["metadata"]).map(Step::from));
    for key in ["labels", "annotations"] {
        let path = child(&path, key);
        let map = findings.value(&path).and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        for (name, value) in map.iter().filter(|(_, value)| value.as_str().is_none()) {
            let message = format!("`{name}` is compared with {}, and {key} are texts", article(value.kind()));
            findings.at(&code::LABEL_NOT_TEXT, &child(&path, name.as_str()), message, "put it in quotes");
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Add,
    Exists,
    Other,
}

impl Anchor {
    /// Returns the anchor of a key, and the key in it.
    fn of(key: &str) -> Option<(Self, &str)> {
        let key = key.trim_matches(' ');
        let (anchor, rest) = match key.chars().next()? {
            '+' => (Self::Add, key.get(1..)?),
            '^' => (Self::Exists, key.get(1..)?),
            '=' | '<' | 'X' => (Self::Other, key.get(1..)?),
            _ => (Self::Other, key),
        };
        let name = rest.strip_prefix('(')?.strip_suffix(')')?;
        (!name.is_empty()).then_some((anchor, name))
    }
}

fn looks_like_anchor(key: &str) -> bool {
    let Some((mark, name)) = key.trim().strip_suffix(')').and_then(|key| key.split_once('(')) else {
        return false;
    };
    let is_mark = mark.len() <= 2 && !mark.contains(['$', '{']);
    is_mark && !name.is_empty()
}
