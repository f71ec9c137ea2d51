//! Checks of patterns.

use kubewright_value::{Map, Step, Value};

use super::super::pattern::{self, PatternLint, PatternLintKind};
use super::{PolicyChecks, code};
use kubewright_dialect_kit::fields::{Located, article, child_path};

/// Checks a pattern.
pub(super) fn check_pattern(findings: &mut PolicyChecks<'_>, pattern: &Located<Value>) {
    let mark = findings.diagnostics.len();
    check_anchors(findings, &pattern.value, &mut pattern.path.clone());
    check_metadata_values(findings, pattern, &[]);
    check_metadata_values(findings, pattern, &["spec", "template"]);
    // A part with an error gets no warning.
    let places: Vec<_> =
        findings.diagnostics.iter().skip(mark).map(|found| found.location.position).collect();
    for lint in pattern::lint_pattern(&pattern.value) {
        let path = [pattern.path.as_slice(), &lint.at].concat();
        let document = findings.document;
        if ![document.locate(&path), document.locate_key(&path)]
            .iter()
            .any(|at| places.contains(&at.position))
        {
            warn(findings, &lint, &path);
        }
    }
}

/// Warns of image patterns whose registry is not fully given.
pub(super) fn images(findings: &mut PolicyChecks<'_>, value: &Value, path: &[Step]) {
    let mut map = Map::new();
    map.insert("image".into(), value.clone());
    for lint in
        pattern::lint_pattern(&map.into()).iter().filter(|lint| lint.kind == PatternLintKind::OpenImage)
    {
        warn(findings, lint, &[path, lint.at.get(1..).unwrap_or_default()].concat());
    }
}

fn warn(findings: &mut PolicyChecks<'_>, lint: &PatternLint, path: &[Step]) {
    let code = match lint.kind {
        PatternLintKind::IgnoredElements => &code::IGNORED_ELEMENTS,
        PatternLintKind::EmptyList => &code::EMPTY_LIST,
        PatternLintKind::UnusableAnchor => &code::DEAD_ANCHOR,
        PatternLintKind::IgnoredTag => &code::IGNORED_FIELD,
        PatternLintKind::LiteralKey => &code::WILDCARD_KEY,
        PatternLintKind::OpenImage => &code::OPEN_REGISTRY,
    };
    match lint.kind {
        PatternLintKind::UnusableAnchor | PatternLintKind::LiteralKey | PatternLintKind::IgnoredTag => {
            findings.at_key(code, path, lint.message.as_str(), "");
        }
        _ => findings.at(code, path, lint.message.as_str(), ""),
    }
}

/// Walks a pattern for anchors, as deep as the document is.
fn check_anchors(findings: &mut PolicyChecks<'_>, pattern: &Value, path: &mut Vec<Step>) {
    match pattern {
        Value::Object(map) => {
            for (key, value) in map.iter() {
                path.push(Step::Key(key.clone()));
                anchor(findings, key, value, path);
                check_anchors(findings, value, path);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                check_anchors(findings, item, path);
                path.pop();
            }
        }
        _ => {}
    }
}

fn anchor(findings: &mut PolicyChecks<'_>, key: &str, value: &Value, path: &[Step]) {
    match AnchorKey::of(key) {
        Some(AnchorKey::Add) => {
            let help =
                "`+()` adds missing fields and belongs to `mutate`; use `=()` to check existing fields";
            findings.at_key(&code::BAD_ANCHOR, path, format!("a check cannot have `{key}`"), help);
        }
        Some(AnchorKey::Exists) if value.as_array().is_none_or(<[_]>::is_empty) => {
            let message = format!("`{key}` needs a list with at least one element");
            findings.at_key(
                &code::BAD_ANCHOR,
                path,
                message,
                "each element describes one element of the list",
            );
        }
        None if looks_like_anchor(key) => {
            let message = format!("`{key}` is not an anchor, and no object has such a key");
            let help = "anchors are `()`, `=()`, `X()`, `^()` and `<()`";
            findings.at_key(&code::DEAD_ANCHOR, path, message, help);
        }
        _ => {}
    }
}

/// Labels and annotations are texts, so they must be compared with texts.
fn check_metadata_values(findings: &mut PolicyChecks<'_>, pattern: &Located<Value>, keys: &[&str]) {
    let mut path = pattern.path.clone();
    path.extend(keys.iter().copied().chain(["metadata"]).map(Step::from));
    for key in ["labels", "annotations"] {
        let path = child_path(&path, key);
        let map = findings.value(&path).and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        for (name, value) in map.iter().filter(|(_, value)| value.as_str().is_none()) {
            let message = format!("`{name}` is compared with {}, and {key} are texts", article(value.kind()));
            findings.at(
                &code::LABEL_NOT_TEXT,
                &child_path(&path, name.as_str()),
                message,
                "put it in quotes",
            );
        }
    }
}

/// How a key in brackets is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnchorKey {
    Add,
    Exists,
    Other,
}

impl AnchorKey {
    /// Returns the anchor that `key` is.
    pub(super) fn of(key: &str) -> Option<Self> {
        let key = key.trim_matches(' ');
        let (anchor, rest) = match key.chars().next()? {
            '+' => (Self::Add, key.get(1..)?),
            '^' => (Self::Exists, key.get(1..)?),
            '=' | '<' | 'X' => (Self::Other, key.get(1..)?),
            _ => (Self::Other, key),
        };
        let name = rest.strip_prefix('(')?.strip_suffix(')')?;
        (!name.is_empty()).then_some(anchor)
    }
}

fn looks_like_anchor(key: &str) -> bool {
    let Some((mark, name)) = key.trim().strip_suffix(')').and_then(|key| key.split_once('(')) else {
        return false;
    };
    let is_mark = mark.len() <= 2 && !mark.contains(['$', '{']);
    is_mark && !name.is_empty()
}
