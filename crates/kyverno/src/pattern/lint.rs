//! Lints of patterns that do not do what they seem to.

use kubewright_golib::glob;
use kubewright_value::{Step, Value};

use super::compile::DEPTH;
use super::node::{MetadataRole, PatternAnchor};
use super::written::TaintedText;

/// Something in a pattern that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternLint {
    pub(crate) kind: PatternLintKind,
    /// The place in the pattern.
    pub(crate) at: Vec<Step>,
    pub(crate) message: String,
}

/// The kind of the lint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternLintKind {
    /// Elements of a list after the first.
    IgnoredElements,
    /// `[]`, which nothing fits.
    EmptyList,
    /// An anchor without effect.
    UnusableAnchor,
    /// A label or annotation whose value is not a text.
    IgnoredTag,
    /// A wildcard in a key that is not of labels or annotations.
    LiteralKey,
    /// Wildcards that allow more registries than intended.
    OpenImage,
}

/// Looks through `pattern`.
pub(crate) fn lint_pattern(pattern: &Value) -> Vec<PatternLint> {
    let mut linter = PatternLinter { at: Vec::new(), found: Vec::new() };
    linter.value(pattern, MetadataRole::Plain, true);
    linter.found
}

struct PatternLinter {
    at: Vec<Step>,
    found: Vec<PatternLint>,
}

impl PatternLinter {
    fn value(&mut self, value: &Value, role: MetadataRole, is_used: bool) {
        if self.at.len() > DEPTH as usize {
            return;
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter() {
                    self.at.push(Step::Key(key.clone()));
                    self.entry(key, value, role, is_used);
                    self.at.pop();
                }
            }
            Value::Array(items) => self.list(items, is_used),
            Value::String(text) if is_used && self.is_image() => self.image(text),
            _ => {}
        }
    }

    fn list(&mut self, items: &[Value], is_used: bool) {
        let is_positional = matches!(items.first(), Some(Value::Array(_)));
        if items.is_empty() && is_used {
            self.say(
                PatternLintKind::EmptyList,
                "an empty list matches no list, not even an empty one".to_owned(),
            );
        }
        for (index, item) in items.iter().enumerate() {
            self.at.push(Step::Index(index));
            let is_used = is_used && (index == 0 || is_positional);
            if index == 1 && !is_positional {
                let message = "only the first element of a list counts, for every element of the object's list; put alternatives into one text with `|`, or into `anyPattern`";
                self.say(PatternLintKind::IgnoredElements, message.to_owned());
            }
            self.value(item, MetadataRole::Plain, is_used);
            self.at.pop();
        }
    }

    fn entry(&mut self, raw: &str, value: &Value, role: MetadataRole, is_used: bool) {
        let written = TaintedText::own(raw);
        let anchor = PatternAnchor::parse(&written);
        let key = anchor.as_ref().map_or_else(|| written.text(), |(_, key)| key.text());
        if role != MetadataRole::Tags && glob::has_wildcard(&key) && !key.contains("{{") {
            let message = format!(
                "the wildcard in the key `{key}` is taken literally: wildcards in keys work only under `metadata.labels` and `metadata.annotations`"
            );
            self.say(PatternLintKind::LiteralKey, message);
        }
        if role == MetadataRole::Tags && value.as_str().is_none() {
            let message = format!(
                "`{}` is left out, because labels and annotations are compared only with texts: put quotes around the value",
                raw.trim()
            );
            self.say(PatternLintKind::IgnoredTag, message);
        }
        self.anchor(raw, anchor.as_ref().map(|(anchor, _)| *anchor), value, is_used);
        let below = role.below(&key);
        match (anchor, value) {
            (Some((PatternAnchor::Negation, _)), _) => {}
            // Every element counts here.
            (Some((PatternAnchor::Existence, _)), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.at.push(Step::Index(index));
                    self.value(item, MetadataRole::Plain, is_used);
                    self.at.pop();
                }
            }
            _ => self.value(value, below, is_used),
        }
    }

    fn anchor(&mut self, raw: &str, anchor: Option<PatternAnchor>, value: &Value, is_used: bool) {
        let trimmed = raw.trim();
        let message = match anchor {
            None if trimmed.starts_with("+(") && trimmed.ends_with(')') => {
                format!("`{trimmed}` adds fields in mutate rules; in a pattern it is a key of that very name")
            }
            Some(_) if !is_used => {
                format!("`{trimmed}` is never looked at, because only the first element of a list counts")
            }
            Some(PatternAnchor::Existence) if value.as_array().is_none() => {
                format!("`{trimmed}` needs a list of objects, this is {}", article_for_value(value))
            }
            Some(PatternAnchor::Existence)
                if value
                    .as_array()
                    .is_some_and(|items| items.iter().any(|item| item.as_object().is_none())) =>
            {
                format!("`{trimmed}` needs a list of objects, and not every element is one")
            }
            _ => return,
        };
        self.say(PatternLintKind::UnusableAnchor, message);
    }

    /// Returns whether the text at this place is compared with the name of an image.
    fn is_image(&self) -> bool {
        let last = self.at.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key),
            Step::Index(_) => None,
        });
        last.is_some_and(|raw| {
            let written = TaintedText::own(raw);
            PatternAnchor::parse(&written).map_or_else(|| written.text(), |(_, key)| key.text()) == "image"
        })
    }

    fn image(&mut self, text: &str) {
        for atom in text.split(['|', '&']).map(str::trim) {
            let Some(prefix) = atom.strip_suffix('*').map(|prefix| prefix.trim_end_matches('*')) else {
                continue;
            };
            if atom.starts_with(['!', '<', '>']) || glob::has_wildcard(prefix) || atom.contains("{{") {
                continue;
            }
            let (host, path) =
                prefix.split_once('/').map_or((prefix, None), |(host, path)| (host, Some(path)));
            if !(host.contains(['.', ':']) || host == "localhost") {
                continue;
            }
            let message = match path {
                None if !host.ends_with(':') => format!(
                    "`{atom}` also matches images of other registries, such as `{prefix}.example.org/x`; end the name with `/`: `{prefix}/*`"
                ),
                Some(path) if !path.is_empty() && !path.ends_with('/') && !path.contains([':', '@']) => {
                    format!(
                        "`{atom}` also matches everything that only starts with it, such as `{prefix}-x/y`; end the name with `/`, `:` or `@`"
                    )
                }
                _ => continue,
            };
            self.say(PatternLintKind::OpenImage, message);
        }
    }

    fn say(&mut self, kind: PatternLintKind, message: String) {
        self.found.push(PatternLint { kind, at: self.at.clone(), message });
    }
}

fn article_for_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => format!("a {}", other.kind()),
    }
}
