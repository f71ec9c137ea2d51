//! Completion: fields and values of documents, and functions, variables and fields inside of expressions.

use kubewright_k8s::{BUILT_IN_KINDS, resource_name};
use kubewright_schemas::{FieldSchema, field_schema, schema_names};
use kubewright_value::{Step, Value};
use lsp_types::{CompletionItem, CompletionItemKind, Documentation};
use serde_json::Value as Json;

use crate::chunk::FileChunk;
use crate::embedded::{EmbeddedLanguage, YamlExpression};
use crate::functions::LanguageWord;
use crate::hover::{ChunkPlace, api_version, schema_kind};
use crate::outline::{FlowPlace, OutlineEntry};
use crate::workspace::EditorWorkspace;

/// The maximum number of items.
const MAX_ITEMS: usize = 1_000;

/// The variables of expressions that are the object itself.
const OBJECT_ROOTS: [&str; 5] = ["object", "oldObject", "request.object", "request.oldObject", ".Target"];

impl EditorWorkspace {
    /// Returns what may be written at the place of a request.
    pub(crate) fn complete(&self, name: &str, params: &Json) -> Vec<CompletionItem> {
        let Some(place) = self.chunk_place(name, params) else { return Vec::new() };
        let mut items = match place.chunk.expression_at(place.line, place.byte) {
            Some((expression, offset)) => self.expression_items(place.chunk, &expression, offset),
            None => self.field_items(&place),
        };
        items.truncate(MAX_ITEMS);
        items
    }

    fn expression_items(
        &self,
        chunk: &FileChunk,
        expression: &YamlExpression,
        offset: usize,
    ) -> Vec<CompletionItem> {
        let lines: Vec<&str> = chunk.source.text.lines().collect();
        let text = expression.text(&lines);
        let path = dotted_path(text.get(..offset).unwrap_or(&text));
        let Some((before, _)) = path.rsplit_once('.') else {
            return language_items(expression.language, |_| true);
        };
        let fields = self.object_fields(chunk, before);
        if expression.language == EmbeddedLanguage::Cel && before == "variables" {
            return variable_items(chunk);
        }
        let mut items: Vec<CompletionItem> =
            fields.into_iter().map(|name| item(&name, CompletionItemKind::FIELD)).collect();
        if expression.language == EmbeddedLanguage::Cel {
            // A function that is called on a value has it before its name.
            items.extend(language_items(expression.language, |word| {
                word.is_function && word.signature.split('(').next().is_some_and(|head| head.contains('.'))
            }));
        }
        items
    }

    /// Returns the fields of the object at a path of an expression: those of its kind, and those of the example.
    fn object_fields(&self, chunk: &FileChunk, path: &str) -> Vec<String> {
        let Some(rest) = OBJECT_ROOTS.iter().find_map(|root| {
            let rest = path.strip_prefix(root)?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
        }) else {
            return match path {
                "request" => REQUEST_FIELDS.iter().map(|name| (*name).to_owned()).collect(),
                _ => Vec::new(),
            };
        };
        let steps = path_steps(rest);
        let kinds = chunk.named_kinds();
        let mut names: Vec<String> = Vec::new();
        for kind in &kinds {
            let version = BUILT_IN_KINDS.iter().find(|(.., known)| known.contains(&kind.as_str()));
            let version = version.map(|(group, version, _)| match *group {
                "" => (*version).to_owned(),
                group => format!("{group}/{version}"),
            });
            let field = version.and_then(|version| field_schema(&version, kind, &steps));
            names.extend(field.iter().flat_map(FieldSchema::fields).map(str::to_owned));
        }
        let example = self.example_object(&kinds);
        let part =
            example.as_ref().and_then(|example| example.value.follow(&steps)).and_then(Value::as_object);
        names.extend(part.into_iter().flat_map(|map| map.keys()).map(ToString::to_string));
        names.sort();
        names.dedup();
        names
    }

    fn field_items(&self, place: &ChunkPlace<'_>) -> Vec<CompletionItem> {
        let chunk = place.chunk;
        match chunk.outline.flow_place(&chunk.source.text, place.line, place.byte) {
            Some(FlowPlace::Key(path)) => return key_items(place, &path),
            Some(FlowPlace::Value(path)) => return self.value_items(chunk, &path),
            None => {}
        }
        let before = place.text.get(..place.byte).unwrap_or(place.text);
        let entry = chunk.outline.entry_at(place.line).filter(|entry| entry.line == place.line);
        if let Some(entry) = entry.filter(|entry| !entry.key.is_empty() && place.byte > entry.key.end) {
            return self.value_items(chunk, &entry.path);
        }
        if let Some(entry) = entry.filter(|entry| entry.key.is_empty()) {
            // An item without a key: a value of a list, or a key that is being written.
            let values = self.value_items(chunk, &entry.path);
            if !values.is_empty() {
                return values;
            }
        }
        let head = before.trim_start_matches([' ', '-']);
        let column = before.len() - head.len();
        let mut path = chunk.outline.parent_path(place.line, column);
        if before.trim_start().starts_with("- ") || before.trim() == "-" {
            let dash = before.find('-').unwrap_or(0);
            path = list_path(chunk, place.line, dash);
            path.push(Step::Index(0));
        }
        key_items(place, &path)
    }

    /// Returns the values of the field at `path`.
    fn value_items(&self, chunk: &FileChunk, path: &[Step]) -> Vec<CompletionItem> {
        let key = path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        let values = |names: Vec<String>| -> Vec<CompletionItem> {
            names.iter().map(|name| item(name, CompletionItemKind::VALUE)).collect()
        };
        let kinds = || BUILT_IN_KINDS.iter().flat_map(|(.., kinds)| kinds.iter().copied());
        match key {
            Some("kinds") => return values(kinds().map(str::to_owned).collect()),
            Some("resources") if path.contains(&Step::from("resourceRules")) => {
                return values(kinds().map(resource_name).collect());
            }
            Some("operator") if api_version(chunk).starts_with("kyverno.io/") => {
                return values(CONDITION_OPERATORS.iter().map(|name| (*name).to_owned()).collect());
            }
            Some("operations") => {
                return values(OPERATIONS.iter().map(|name| (*name).to_owned()).collect());
            }
            Some("kind") if path.len() == 1 => return values(schema_names().map(str::to_owned).collect()),
            Some("policyName" | "ruleNames" | "rule" | "policy") => return values(self.rule_words(key)),
            _ => {}
        }
        let field = field_schema(api_version(chunk), schema_kind(chunk), path);
        values(field.map(|field| field.values()).unwrap_or_default())
    }

    /// Returns the names of rules or policies.
    fn rule_words(&self, key: Option<&str>) -> Vec<String> {
        let names = self.names().into_iter().filter(|one| one.is_definition);
        let mut words: Vec<String> = names
            .filter_map(|one| match key {
                Some("policyName" | "policy") => one.rule.is_none().then_some(one.policy),
                Some("rule") => Some(match one.rule {
                    Some(rule) => format!("{}/{rule}", one.policy),
                    None => one.policy,
                }),
                _ => one.rule,
            })
            .collect();
        words.sort();
        words.dedup();
        words
    }
}

const REQUEST_FIELDS: [&str; 12] = [
    "object",
    "oldObject",
    "operation",
    "userInfo",
    "namespace",
    "name",
    "kind",
    "resource",
    "subResource",
    "uid",
    "dryRun",
    "options",
];

const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

const CONDITION_OPERATORS: [&str; 14] = [
    "Equals",
    "NotEquals",
    "AnyIn",
    "AllIn",
    "AnyNotIn",
    "AllNotIn",
    "GreaterThan",
    "GreaterThanOrEquals",
    "LessThan",
    "LessThanOrEquals",
    "DurationGreaterThan",
    "DurationGreaterThanOrEquals",
    "DurationLessThan",
    "DurationLessThanOrEquals",
];

/// Returns the path of the list that an item with its dash at `column` of `line` belongs to.
fn list_path(chunk: &FileChunk, line: u32, column: usize) -> Vec<Step> {
    let is_before = |entry: &&OutlineEntry| entry.line < line && !entry.key.is_empty() && !entry.is_flow;
    let before = chunk.outline.entries.iter().rev().filter(is_before);
    for entry in before {
        let is_parent = entry.key.start <= column && entry.value.is_empty();
        if is_parent {
            return entry.path.clone();
        }
        // An earlier item of the same list.
        if entry.key.start == column + 2
            && let Some(at) = entry.path.iter().rposition(|step| matches!(step, Step::Index(_)))
        {
            return entry.path.get(..at).unwrap_or_default().to_vec();
        }
    }
    Vec::new()
}

/// Returns the fields of the mapping at `path` that it does not have yet.
fn key_items(place: &ChunkPlace<'_>, path: &[Step]) -> Vec<CompletionItem> {
    let chunk = place.chunk;
    let (version, kind) = (api_version(chunk), schema_kind(chunk));
    let Some(field) = field_schema(version, kind, path) else { return root_items(chunk, path) };
    let names = field.fields().into_iter();
    let known: Vec<&str> = written_keys(place, path);
    names.filter(|name| !known.contains(name)).map(|name| key_item(&field, name)).collect()
}

/// Returns the keys that the mapping at `path` has at other places.
fn written_keys<'c>(place: &ChunkPlace<'c>, path: &[Step]) -> Vec<&'c str> {
    let entries = place.chunk.outline.entries.iter();
    let is_here = |entry: &OutlineEntry| {
        let is_key = (entry.key.start..=entry.key.end).contains(&place.byte);
        entry.line == place.line && (is_key || !entry.is_flow)
    };
    let own = entries.filter(|entry| !is_here(entry) && entry.path.len() == path.len() + 1);
    let own = own.filter(|entry| entry.path.starts_with(path));
    own.filter_map(|entry| match entry.path.last() {
        Some(Step::Key(key)) => Some(key.as_str()),
        _ => None,
    })
    .collect()
}

/// Returns the fields that every object has, while its kind is not written yet.
fn root_items(chunk: &FileChunk, path: &[Step]) -> Vec<CompletionItem> {
    if !path.is_empty() || !chunk.kind().is_empty() {
        return Vec::new();
    }
    let names = ["apiVersion", "kind", "metadata", "spec"];
    names.iter().map(|name| item(name, CompletionItemKind::PROPERTY)).collect()
}

fn key_item(parent: &FieldSchema, name: &str) -> CompletionItem {
    let field = parent.step(&Step::from(name));
    let description = field.as_ref().map_or("", FieldSchema::description);
    CompletionItem {
        detail: field.as_ref().map(|field| field.type_name().to_owned()),
        documentation: (!description.is_empty()).then(|| Documentation::String(description.to_owned())),
        insert_text: Some(match field.as_ref().map(FieldSchema::type_name) {
            Some("object" | "list" | "map") => format!("{name}:"),
            _ => format!("{name}: "),
        }),
        ..item(name, CompletionItemKind::PROPERTY)
    }
}

fn item(label: &str, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem { label: label.to_owned(), kind: Some(kind), ..CompletionItem::default() }
}

fn language_items(
    language: EmbeddedLanguage,
    is_wanted: impl Fn(&LanguageWord) -> bool,
) -> Vec<CompletionItem> {
    let mut items: Vec<CompletionItem> = Vec::new();
    for word in language.words().iter().filter(|word| is_wanted(word)) {
        if items.last().is_some_and(|last| last.label == word.name) {
            continue;
        }
        let kind = if word.is_function { CompletionItemKind::FUNCTION } else { CompletionItemKind::VARIABLE };
        items.push(CompletionItem {
            detail: Some(word.signature.clone()),
            documentation: (!word.help.is_empty()).then(|| Documentation::String(word.help.clone())),
            ..item(&word.name, kind)
        });
    }
    items
}

/// Returns the variables that a policy defines.
fn variable_items(chunk: &FileChunk) -> Vec<CompletionItem> {
    let entries = chunk.outline.entries.iter();
    let own = entries.filter(|entry| crate::names::is_at(entry, &["spec", "variables", "[]", "name"]));
    let names = own.filter_map(|entry| entry.value.first()).map(|piece| piece.text(&chunk.source.text));
    names.map(|name| item(name, CompletionItemKind::VARIABLE)).collect()
}

/// Returns the path that a text ends with: `object.spec.containers[0].im`.
fn dotted_path(text: &str) -> &str {
    let is_part = |one: char| one.is_alphanumeric() || "_.[]?'\"@".contains(one);
    let start = text.char_indices().rev().take_while(|(_, one)| is_part(*one)).last();
    start.and_then(|(at, _)| text.get(at..)).unwrap_or_default()
}

/// Returns the steps of `.spec.containers[0]`; an index and a projection are the first item.
fn path_steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').map(|part| part.trim_matches('?')).filter(|part| !part.is_empty()) {
        let (name, index) = part.split_once('[').map_or((part, None), |(name, rest)| (name, Some(rest)));
        if !name.is_empty() {
            steps.push(Step::from(name));
        }
        match index.map(|index| index.trim_matches(['[', ']', '\'', '"'])) {
            None => {}
            Some(key) if key.starts_with(char::is_alphabetic) => steps.push(Step::from(key)),
            Some(_) => steps.push(Step::Index(0)),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_expressions_are_read() {
        assert_eq!(dotted_path("size(object.spec.containers[0].im"), "object.spec.containers[0].im");
        assert_eq!(dotted_path("a == "), "");
        let steps: Vec<Step> = vec!["spec".into(), "containers".into(), 0.into(), "a-b".into()];
        assert_eq!(path_steps(".spec.containers[0]['a-b']"), steps[..3]);
        assert_eq!(path_steps(".spec.?containers[]"), steps[..3]);
    }
}
