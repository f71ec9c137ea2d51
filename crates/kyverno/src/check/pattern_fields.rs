//! Misspelt keys of patterns: no object of the matched kinds has the field, and almost every letter is that of one they have.
//!
//! A pattern with such a key refuses every object, or with an anchor none. Only built-in kinds are looked at, because only
//! their fields are known; and only keys that hardly can be meant otherwise, because clusters may be newer than the schema.

use kubewright_golib::glob;
use kubewright_k8s::fields::{self, ANY_ITEM, UnknownField};
use kubewright_k8s::is_built_in_group;
use kubewright_value::suggest::{did_you_mean, nearest_misspelling};
use kubewright_value::{Map, Step, Text, Value};

use super::super::matching::kind::kind_parts;
use super::super::source::{Method, RuleSource};
use super::{PolicyChecks, code};

/// Warns of misspelt keys in the patterns of `rule`.
pub(super) fn check_pattern_fields(findings: &mut PolicyChecks<'_>, rule: &RuleSource) {
    let (Method::Pattern(pattern) | Method::AnyPattern(pattern)) = &rule.validate.method else { return };
    let kinds = built_in_kinds(rule);
    if kinds.is_empty() {
        return;
    }
    let mut check = PatternFieldCheck { findings, kinds: &kinds };
    let mut path = pattern.path.clone();
    match &rule.validate.method {
        Method::AnyPattern(_) => {
            for (index, item) in pattern.value.as_array().unwrap_or_default().iter().enumerate() {
                path.push(Step::Index(index));
                check.value(item, &mut path, &mut Vec::new());
                path.pop();
            }
        }
        _ => check.value(&pattern.value, &mut path, &mut Vec::new()),
    }
}

/// Returns the kinds that a rule is about; none where one of them is not built in, or anything may match.
fn built_in_kinds(rule: &RuleSource) -> Vec<Text> {
    let about = &rule.matching;
    let filters = || about.any.iter().chain(&about.all).chain(&about.flat);
    if filters().any(|filter| filter.kinds.is_empty()) {
        return Vec::new();
    }
    let kinds = filters().flat_map(|filter| &filter.kinds).map(|kind| {
        let [group, _, name, subresource] = kind_parts(&kind.value);
        let is_known = (group == "*" || is_built_in_group(group)) && fields::is_known_kind(name);
        (is_known && subresource.is_empty()).then(|| Text::new(name))
    });
    kinds.collect::<Option<Vec<Text>>>().unwrap_or_default()
}

struct PatternFieldCheck<'l, 'd> {
    findings: &'l mut PolicyChecks<'d>,
    kinds: &'l [Text],
}

impl PatternFieldCheck<'_, '_> {
    /// Walks the value at `path` of the document and at `keys` of the objects; as deep as the document is.
    fn value(&mut self, value: &Value, path: &mut Vec<Step>, keys: &mut Vec<Text>) {
        match value {
            Value::Object(map) => self.map(map, path, keys),
            Value::Array(items) => {
                keys.push(ANY_ITEM.into());
                for (index, item) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    self.value(item, path, keys);
                    path.pop();
                }
                keys.pop();
            }
            _ => {}
        }
    }

    fn map(&mut self, map: &Map, path: &mut Vec<Step>, keys: &mut Vec<Text>) {
        for (written, value) in map.iter().filter(|(written, _)| is_plain(written)) {
            path.push(Step::Key(written.clone()));
            keys.push(anchored_key(written).into());
            match self.unknown(keys) {
                Some(unknown) => self.report(&unknown, path, keys),
                None => self.value(value, path, keys),
            }
            keys.pop();
            path.pop();
        }
    }

    /// Returns what each kind has in the place of the last of `keys`, if none has that field and all have those before it.
    fn unknown(&self, keys: &[Text]) -> Option<Vec<UnknownField>> {
        let path: Vec<&str> = keys.iter().map(Text::as_str).collect();
        let last = path.len().saturating_sub(1);
        let missing =
            |kind: &Text| fields::unknown_field_of_kind(kind, &path).filter(|unknown| unknown.at == last);
        self.kinds.iter().map(missing).collect()
    }

    fn report(&mut self, unknown: &[UnknownField], path: &[Step], keys: &[Text]) {
        let Some(key) = keys.last() else { return };
        let known = unknown.iter().flat_map(|unknown| unknown.known.iter().copied());
        let Some(near) = nearest_misspelling(key, known) else { return };
        let message = format!("no {} has a field `{key}` there", self.kinds.join(" or "));
        self.findings.at_key(&code::MISSPELT_FIELD, path, message, did_you_mean(near));
    }
}

/// Returns whether a key names a field: no variable, reference or wildcard makes it another one.
fn is_plain(key: &str) -> bool {
    !key.contains("{{") && !key.contains("$(") && !glob::has_wildcard(key)
}

/// Returns the key without its anchor.
fn anchored_key(key: &str) -> &str {
    let key = key.trim();
    let opened = ["(", "=(", "X(", "^(", "<(", "+("].into_iter().find_map(|open| key.strip_prefix(open));
    opened.and_then(|inner| inner.strip_suffix(')')).unwrap_or(key)
}
