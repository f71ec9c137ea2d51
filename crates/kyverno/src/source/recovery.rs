//! Recovers the scope of a rule with a mistake, so that it refuses the objects it was written for, and no others.
//!
//! The readable parts of `match` count. Where the kinds of an entry cannot be read, the kinds count that the entry names
//! anywhere. Without any kind the rule matches nothing: refusing everything would lock the cluster, and the mistake is
//! reported anyway. An unreadable part of `exclude` excludes nothing.

use kubewright_engine::nearest_word;
use kubewright_k8s::{kind_of_resource, resource_name};
use kubewright_value::{Document, Step, Text, Value};

use super::super::matching::kind;
use super::rule::RULE_FIELDS;
use super::{Match, ResourceFilter};
use kubewright_dialect_kit::fields::{Located, child_path};

/// Fields of an entry that cannot contain kinds.
const OTHER_FIELDS: [&str; 10] = [
    "subjects",
    "roles",
    "clusterRoles",
    "selector",
    "namespaceSelector",
    "annotations",
    "namespaces",
    "names",
    "name",
    "operations",
];

/// Returns the scope of the rule at `path`, of which `found` could be read; `None` where it names no kind.
pub(super) fn recover_match(document: &Document, path: &[Step], found: Option<Match>) -> Option<Match> {
    let path = found.as_ref().map_or_else(|| misspelt(document, path), |found| Some(found.path.clone()))?;
    let mut about = found.unwrap_or_default();
    for filter in about.any.iter_mut().chain(&mut about.all).chain(&mut about.flat) {
        if filter.is_faulty && filter.kinds.is_empty() {
            filter.kinds = kinds_below(document, &filter.path);
        }
    }
    with_kinds(about).or_else(|| {
        let kinds = kinds_below(document, &path);
        let filter = ResourceFilter { kinds, path: path.clone(), ..ResourceFilter::default() };
        with_kinds(Match { any: vec![filter], path, ..Match::default() })
    })
}

/// Returns the scope of a policy whose rules cannot be found: the kinds that every `match` in it names.
pub(super) fn anywhere(document: &Document, path: &[Step]) -> Option<Match> {
    let mut kinds = Vec::new();
    if let Some(value) = document.value.follow(path) {
        each_match(value, path, &mut kinds);
    }
    let filter = ResourceFilter { kinds, path: path.to_vec(), ..ResourceFilter::default() };
    with_kinds(Match { any: vec![filter], path: path.to_vec(), ..Match::default() })
}

fn each_match(value: &Value, path: &[Step], found: &mut Vec<Located<Text>>) {
    for (i, item) in value.as_array().unwrap_or_default().iter().enumerate() {
        each_match(item, &child_path(path, i), found);
    }
    for (key, item) in value.as_object().into_iter().flat_map(|fields| fields.iter()) {
        let path = child_path(path, key.as_str());
        match key.as_str() {
            "match" => collect_kinds(item, &path, false, found),
            _ => each_match(item, &path, found),
        }
    }
}

/// Returns the entries that name kinds; nothing where none does.
pub(super) fn with_kinds(mut about: Match) -> Option<Match> {
    about.any.retain(|filter| !filter.kinds.is_empty());
    about.all.retain(|filter| !filter.kinds.is_empty());
    about.flat = about.flat.filter(|filter| !filter.kinds.is_empty());
    let is_empty = about.any.is_empty() && about.all.is_empty() && about.flat.is_none();
    (!is_empty).then_some(about)
}

/// Returns the valid exclusions: an entry with a mistake could exclude more than its author wanted.
pub(super) fn recover_exclude(mut found: Match) -> Match {
    found.any.retain(|filter| !filter.is_faulty);
    found.flat = found.flat.filter(|filter| !filter.is_faulty);
    if found.all.iter().any(|filter| filter.is_faulty) {
        found.all.clear();
    }
    found
}

/// Returns the path of a misspelt `match`.
fn misspelt(document: &Document, rule: &[Step]) -> Option<Vec<Step>> {
    let fields = document.value.follow(rule)?.as_object()?;
    let is_it = |key: &&Text| {
        let is_unknown = !RULE_FIELDS.contains(&key.as_str());
        *key == "match" || (is_unknown && nearest_word(key, RULE_FIELDS.iter().copied()) == Some("match"))
    };
    fields.keys().find(is_it).map(|key| child_path(rule, key.as_str()))
}

/// Returns the kinds anywhere below `path`.
fn kinds_below(document: &Document, path: &[Step]) -> Vec<Located<Text>> {
    let mut found = Vec::new();
    if let Some(value) = document.value.follow(path) {
        collect_kinds(value, path, false, &mut found);
    }
    found
}

/// Adds the texts of `value` that are kinds. Its depth is that of a document.
fn collect_kinds(value: &Value, path: &[Step], is_kinds: bool, found: &mut Vec<Located<Text>>) {
    match value {
        Value::String(text) if is_kinds || is_builtin_kind(text) => {
            found.push(Located { value: text.clone(), path: path.to_vec() });
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect_kinds(item, &child_path(path, i), is_kinds, found);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields.iter().filter(|(key, _)| !OTHER_FIELDS.contains(&key.as_str())) {
                let is_kinds = key.to_lowercase().starts_with("kind");
                collect_kinds(item, &child_path(path, key.as_str()), is_kinds, found);
            }
        }
        _ => {}
    }
}

/// Returns whether it is one of the kinds that every cluster has.
fn is_builtin_kind(text: &str) -> bool {
    let [_, _, kind, _] = kind::kind_parts(text);
    kind_of_resource(&resource_name(kind)).is_some_and(|known| known == kind)
}
