//! Lints of patches that are valid and do not do what they say: fields that no object has, elements that are never
//! patched, lists that are replaced, and wildcards that are written into objects.

use kubewright_golib::glob;
use kubewright_k8s::fields::{self, ANY_ITEM, FieldValue};
use kubewright_k8s::{FieldMerge, MergeType, is_built_in_group};
use kubewright_value::{Map, Step, Text, Value};

use super::super::matching::kind::kind_parts;
use super::super::source::{Mutate, MutatePatch, RuleSource};
use super::{PolicyChecks, code};
use kubewright_dialect_kit::fields::Located;

/// What elements of a list are told apart by.
const NAME: &str = "name";

/// Warns of patches of `rule` that do not do what they say.
pub(super) fn lint_mutate(findings: &mut PolicyChecks<'_>, rule: &RuleSource, mutate: &Mutate) {
    let kinds = patched_kinds(rule, mutate);
    lint_patch(findings, &mutate.patch, &kinds);
}

fn lint_patch(findings: &mut PolicyChecks<'_>, patch: &MutatePatch, kinds: &[PatchedKind]) {
    match patch {
        MutatePatch::StrategicMerge(patch) => PatchLint { findings, kinds }.patch(patch),
        MutatePatch::Json6902(_) => {}
        MutatePatch::Foreach(loops) => loops.iter().for_each(|one| lint_patch(findings, &one.patch, kinds)),
    }
}

/// A kind that a rule changes.
struct PatchedKind {
    kind: Text,
    merge: Option<&'static MergeType>,
}

/// Returns the kinds that a rule changes; none where one of them is not known.
fn patched_kinds(rule: &RuleSource, mutate: &Mutate) -> Vec<PatchedKind> {
    let of_targets = mutate.targets.iter().map(|target| {
        let version = target.api_version.as_ref().map(|text| text.value.as_str()).unwrap_or_default();
        let kind = target.kind.as_ref().map(|text| text.value.as_str()).unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        known_kind(group, kind)
    });
    let about = &rule.matching;
    let filters = about.any.iter().chain(&about.all).chain(&about.flat);
    let of_match = filters.flat_map(|filter| &filter.kinds).map(|kind| {
        let [group, _, kind, subresource] = kind_parts(&kind.value);
        known_kind(if group == "*" { "" } else { group }, kind).filter(|_| subresource.is_empty())
    });
    let kinds: Option<Vec<PatchedKind>> =
        if mutate.targets.is_empty() { of_match.collect() } else { of_targets.collect() };
    kinds.unwrap_or_default()
}

fn known_kind(group: &str, kind: &str) -> Option<PatchedKind> {
    if !is_built_in_group(group) || !fields::is_known_kind(kind) {
        return None;
    }
    let groups = ["", "apps", "batch", "networking.k8s.io", "admissionregistration.k8s.io", "storage.k8s.io"];
    let merge = groups.iter().find_map(|group| {
        MergeType::of_kind(&format!("{group}/v1"), kind).filter(|known| known.name != "Object")
    });
    Some(PatchedKind { kind: kind.into(), merge })
}

struct PatchLint<'l, 'd> {
    findings: &'l mut PolicyChecks<'d>,
    kinds: &'l [PatchedKind],
}

impl PatchLint<'_, '_> {
    fn patch(&mut self, patch: &Located<Value>) {
        if let Some(map) = patch.value.as_object() {
            self.map(map, &mut patch.path.clone(), &mut Vec::new());
        }
    }

    /// Walks an object at `path` of the document and at `keys` of the patched object; as deep as the document is.
    fn map(&mut self, map: &Map, path: &mut Vec<Step>, keys: &mut Vec<Text>) {
        for (written, value) in map.iter().filter(|(key, _)| !key.starts_with('$') && !key.contains("{{")) {
            let (anchor, key) = split_anchor(written);
            path.push(Step::Key(written.clone()));
            keys.push(key.into());
            if self.is_unknown(keys) {
                let message = format!("no {} has a field `{key}` there", self.kind_names());
                let help = "the API server drops fields that it does not know";
                self.findings.at_key(&code::PATCH_MISSES, path, message, help);
            } else if anchor == "(" || anchor == "<(" {
                self.written_below(value, path);
            } else {
                self.value(value, path, keys);
            }
            keys.pop();
            path.pop();
        }
    }

    fn value(&mut self, value: &Value, path: &mut Vec<Step>, keys: &mut Vec<Text>) {
        match value {
            Value::Object(map) => self.map(map, path, keys),
            Value::Array(items) => self.list(items, path, keys),
            _ => {}
        }
    }

    fn list(&mut self, items: &[Value], path: &mut Vec<Step>, keys: &mut Vec<Text>) {
        let is_of_maps = !items.is_empty() && items.iter().all(|item| item.as_object().is_some());
        let has_templates = items.iter().any(has_anchor);
        if is_of_maps && has_templates && self.is_never_named(keys) {
            let message = "elements without a `name` are left alone, so this never applies";
            self.findings.at(
                &code::PATCH_NEVER_APPLIES,
                path,
                message,
                "use `foreach` with `patchesJson6902`",
            );
        } else if is_of_maps && !has_templates && self.is_replaced(keys) {
            let message = "the list is replaced as a whole: what the object has there is lost";
            let help = "append to it with `patchesJson6902`, or write `+()` around the key";
            self.findings.at(&code::LIST_REPLACED, path, message, help);
        }
        keys.push(ANY_ITEM.into());
        for (index, item) in items.iter().enumerate() {
            path.push(Step::Index(index));
            self.value(item, path, keys);
            path.pop();
        }
        keys.pop();
    }

    /// Warns of wildcards below a condition that are not conditions themselves.
    fn written_below(&mut self, value: &Value, path: &mut Vec<Step>) {
        let Value::Object(map) = value else { return };
        for (key, value) in map.iter() {
            path.push(Step::Key(key.clone()));
            let is_anchored = !split_anchor(key).0.is_empty();
            match value {
                Value::String(text) if !is_anchored && is_pattern(text) => {
                    let message =
                        format!("`{text}` is written into the object: only keys in brackets are compared");
                    self.findings.at(&code::PATTERN_WRITTEN, path, message, format!("write `({key})`"));
                }
                value => self.written_below(value, path),
            }
            path.pop();
        }
    }

    /// Returns whether no kind has the field at the end of `keys`, of which all others exist.
    fn is_unknown(&self, keys: &[Text]) -> bool {
        let path: Vec<&str> = keys.iter().map(Text::as_str).collect();
        let last = path.len().saturating_sub(1);
        let misses = |kind: &PatchedKind| {
            fields::unknown_field_of_kind(&kind.kind, &path).is_some_and(|unknown| unknown.at == last)
        };
        !self.kinds.is_empty() && self.kinds.iter().all(misses)
    }

    /// Returns whether the elements of the list at `keys` have no name, whatever the kind.
    fn is_never_named(&self, keys: &[Text]) -> bool {
        let is_nameless = |kind: &PatchedKind| {
            let by_other = matches!(kind.merge_at(keys), Some(FieldMerge::Keyed(by, _))
                if by.first().is_some_and(|key| key.name != NAME));
            by_other || element_fields(&kind.kind, keys).is_some_and(|fields| !fields.contains(&NAME))
        };
        !self.kinds.is_empty() && self.kinds.iter().all(is_nameless)
    }

    fn is_replaced(&self, keys: &[Text]) -> bool {
        let is_known = |kind: &PatchedKind| {
            kind.merge.is_some()
                && kind.merge_at(keys).is_none()
                && element_fields(&kind.kind, keys).is_some()
        };
        !self.kinds.is_empty() && self.kinds.iter().all(is_known)
    }

    fn kind_names(&self) -> String {
        self.kinds.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>().join(" or ")
    }
}

impl PatchedKind {
    /// Returns how the list at `keys` is merged.
    fn merge_at(&self, keys: &[Text]) -> Option<FieldMerge> {
        let mut here = self.merge;
        let mut found = None;
        for key in keys.iter().filter(|key| *key != ANY_ITEM) {
            found = here.and_then(|here| here.field(key));
            here = match found {
                Some(FieldMerge::Object(below) | FieldMerge::Keyed(_, Some(below))) => Some(below),
                _ => None,
            };
        }
        found
    }
}

/// Returns the fields of the elements of the list at `keys`, where they are known.
fn element_fields(kind: &str, keys: &[Text]) -> Option<Vec<&'static str>> {
    let mut here = fields::fields_of(kind)?;
    for key in keys.iter().filter(|key| *key != ANY_ITEM) {
        let field = here.iter().find(|field| field.name == key.as_str())?;
        let FieldValue::Object(below) = field.value else { return None };
        here = fields::fields_of(below)?;
    }
    Some(here.iter().map(|field| field.name).collect())
}

/// Returns the opening of an anchor of mutate rules, and the key in it; an empty text for an ordinary key.
fn split_anchor(key: &str) -> (&str, &str) {
    let trimmed = key.trim();
    let split = ["(", "<(", "+("].into_iter().find_map(|open| {
        Some((open, trimmed.strip_prefix(open)?.strip_suffix(')').filter(|inner| !inner.is_empty())?))
    });
    split.unwrap_or(("", key))
}

fn has_anchor(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(key, value)| !split_anchor(key).0.is_empty() || has_anchor(value))
        }
        Value::Array(items) => items.iter().any(has_anchor),
        _ => false,
    }
}

/// Returns whether a text is a pattern and hardly a value.
fn is_pattern(text: &str) -> bool {
    glob::has_wildcard(text) || text.starts_with(['!', '>', '<']) || text.contains(" | ")
}
