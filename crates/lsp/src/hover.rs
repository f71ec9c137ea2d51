//! What is shown about the word under the cursor: a field, a function, or the value of an expression.

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram};
use kubewright_jmespath::{JmesPathExpression, JmesPathFunctions, JmesPathLanguage, JmesPathLookup};
use kubewright_schemas::field_schema;
use kubewright_value::{Budget, Map, Step, Value, bounded};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use serde_json::Value as Json;

use crate::chunk::FileChunk;
use crate::embedded::{EmbeddedLanguage, YamlExpression};
use crate::functions::LanguageWord;
use crate::outline::OutlineEntry;
use crate::protocol::request_position;
use crate::workspace::EditorWorkspace;

/// The maximum length of a value that is shown.
const MAX_SHOWN_BYTES: usize = 2_000;

/// The maximum number of forms of a function that are shown.
const MAX_OVERLOADS: usize = 6;

/// Where a request is about, in a chunk.
pub(crate) struct ChunkPlace<'w> {
    /// The chunk.
    pub(crate) chunk: &'w FileChunk,
    /// The line in the chunk, from 0.
    pub(crate) line: u32,
    /// The byte in the line.
    pub(crate) byte: usize,
    /// The line.
    pub(crate) text: &'w str,
}

impl EditorWorkspace {
    /// Returns where a request is about.
    pub(crate) fn chunk_place<'w>(&'w self, name: &str, params: &Json) -> Option<ChunkPlace<'w>> {
        let file = self.files.get(name)?;
        let place = request_position(params)?;
        let chunk = file.chunk_at(place.line)?;
        let line = place.line.saturating_sub(chunk.lines_before);
        let text = chunk.source.line(line.saturating_add(1)).unwrap_or_default();
        Some(ChunkPlace { chunk, line, byte: self.unit.byte_in_line(text, place.character), text })
    }

    /// Returns what is known about the word at the place of a request.
    pub(crate) fn hover(&self, name: &str, params: &Json) -> Option<Hover> {
        let place = self.chunk_place(name, params)?;
        let text = match place.chunk.expression_at(place.line, place.byte) {
            Some((expression, offset)) => self.expression_text(place.chunk, &expression, offset),
            None => field_text(&place),
        };
        let contents = MarkupContent { kind: MarkupKind::Markdown, value: text? };
        Some(Hover { contents: HoverContents::Markup(contents), range: None })
    }

    /// Returns the help of the word at `offset` of an expression, and the value of the whole.
    fn expression_text(
        &self,
        chunk: &FileChunk,
        expression: &YamlExpression,
        offset: usize,
    ) -> Option<String> {
        let lines: Vec<&str> = chunk.source.text.lines().collect();
        let text = expression.text(&lines);
        let word = word_at(&text, offset);
        let known = expression.language.words().iter().filter(|known| is_word(known, word));
        let mut shown: Vec<String> = known.take(MAX_OVERLOADS).map(word_text).collect();
        let example = self.host.function_example(expression.language.id(), word);
        if let Some((example, result)) = example.filter(|_| !shown.is_empty()) {
            shown.push(format!("for example `{example}` is `{result}`"));
        }
        if let Some((object, value)) = self.example_value(chunk, expression.language, &text) {
            shown.push(format!("on `{object}`:\n```json\n{value}\n```"));
        }
        if shown.is_empty() {
            shown.push(format!("an expression in {}", expression.language.title()));
        }
        Some(shown.join("\n\n"))
    }

    /// Returns the value of an expression on an object of the project that the rule is about, and that object.
    fn example_value(
        &self,
        chunk: &FileChunk,
        language: EmbeddedLanguage,
        text: &str,
    ) -> Option<(String, String)> {
        let example = self.example_object(&chunk.named_kinds())?;
        let value = match language {
            EmbeddedLanguage::Cel => cel_value(text, &example.value)?,
            EmbeddedLanguage::JmesPath => jmespath_value(text, &example.value)?,
            EmbeddedLanguage::GoTemplate => return None,
        };
        let name =
            format!("{} {}", example.value.str_at(&["kind"]), example.value.str_at(&["metadata", "name"]));
        Some((name, value))
    }
}

impl FileChunk {
    /// Returns the kinds that its rules name.
    pub(crate) fn named_kinds(&self) -> Vec<String> {
        let is_kind = |entry: &&OutlineEntry| {
            entry
                .path
                .iter()
                .any(|step| matches!(step, Step::Key(key) if key == "kinds" || key == "resources"))
        };
        let pieces = self.outline.entries.iter().filter(is_kind).flat_map(|entry| &entry.value);
        let words = pieces.flat_map(|piece| {
            let text = piece.text(&self.source.text);
            text.split(|one: char| !one.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>()
        });
        let built_in: Vec<&str> =
            kubewright_k8s::BUILT_IN_KINDS.iter().flat_map(|(.., kinds)| kinds.iter().copied()).collect();
        let mut kinds: Vec<String> = Vec::new();
        for word in words {
            let resource = |kind: &&&str| kubewright_k8s::resource_name(kind) == word;
            let kind = built_in.iter().find(resource).map_or(word.clone(), |kind| (*kind).to_owned());
            if kind.starts_with(char::is_uppercase) && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }
}

/// Returns the description of the field under the cursor.
fn field_text(place: &ChunkPlace<'_>) -> Option<String> {
    let chunk = place.chunk;
    let entry = chunk.outline.key_at(place.line, place.byte)?;
    let (api_version, kind) = (api_version(chunk), schema_kind(chunk));
    let field = field_schema(api_version, kind, &entry.path)?;
    let name = place.text.get(entry.key.clone()).unwrap_or_default();
    let mut text = format!("**{name}** · {}", field.type_name());
    if !field.description().is_empty() {
        text = format!("{text}\n\n{}", field.description());
    }
    let values = field.values();
    if !values.is_empty() && field.type_name() != "boolean" {
        let shown: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        text = format!("{text}\n\none of {}", shown.join(", "));
    }
    Some(text)
}

/// Returns the `apiVersion` of a chunk; that of our own files where they have none.
pub(crate) fn api_version(chunk: &FileChunk) -> &str {
    match chunk.api_version() {
        "" => chunk.outline.text_at(&chunk.source.text, "version"),
        version => version,
    }
}

/// Returns the name of the schema of a chunk.
pub(crate) fn schema_kind(chunk: &FileChunk) -> &str {
    let is_project = crate::project::is_project_name(&chunk.source.name);
    if is_project && chunk.kind().is_empty() { "Project" } else { chunk.kind() }
}

fn word_text(word: &LanguageWord) -> String {
    let help = if word.help.is_empty() { String::new() } else { format!("\n\n{}", word.help) };
    format!("`{}`{help}", word.signature)
}

fn is_word(known: &LanguageWord, word: &str) -> bool {
    let last = known.name.rsplit('.').next().unwrap_or_default();
    !word.is_empty() && (known.name == word || last == word)
}

/// Returns the word around a byte of a text.
pub(crate) fn word_at(text: &str, offset: usize) -> &str {
    let is_part = |one: char| one.is_alphanumeric() || one == '_' || one == '@';
    let before = text.get(..offset).unwrap_or(text);
    let start =
        before.rfind(|one| !is_part(one)).map_or(0, |at| at + before.get(at..).map_or(1, first_length));
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.find(|one| !is_part(one)).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

fn first_length(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

fn cel_value(text: &str, object: &Value) -> Option<String> {
    let request = request_value(object);
    let environment = CelEnvironment::policy().variable("object").variable("oldObject").variable("request");
    let program = CelProgram::compile(text, &environment).ok()?;
    let nothing = Value::Null;
    let bindings =
        CelBindings::new().with("object", object).with("oldObject", &nothing).with("request", &request);
    Some(match program.evaluate(&bindings, &mut CelCost::default()) {
        Ok(value) => match value.to_value() {
            Ok(value) => bounded::shortened_json(&value, MAX_SHOWN_BYTES),
            Err(_) => bounded::shortened_debug(&value, MAX_SHOWN_BYTES),
        },
        Err(error) => format!("error: {}", error.message),
    })
}

fn jmespath_value(text: &str, object: &Value) -> Option<String> {
    let functions = JmesPathFunctions::kubernetes();
    let expression =
        JmesPathExpression::parse_as(text.trim(), &functions, JmesPathLanguage::Forgiving).ok()?;
    let root: Value = Map::from([("request", request_value(object))]).into();
    Some(match expression.find(&root, &mut Budget::default()) {
        Ok(JmesPathLookup::Value(value)) => bounded::shortened_json(&value, MAX_SHOWN_BYTES),
        Ok(JmesPathLookup::Missing(key)) => format!("error: there is no `{key}`"),
        Err(error) => format!("error: {}", error.message),
    })
}

/// Returns a request that creates `object`.
fn request_value(object: &Value) -> Value {
    let namespace = object.str_at(&["metadata", "namespace"]);
    Map::from([
        ("operation", Value::from("CREATE")),
        ("namespace", namespace.into()),
        ("name", object.str_at(&["metadata", "name"]).into()),
        ("object", object.clone()),
        ("oldObject", Value::Null),
        ("userInfo", Map::new().into()),
    ])
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_around_a_byte_is_found() {
        let word = |offset| word_at("size(object.ä) > 1", offset);
        assert_eq!(
            [word(0), word(2), word(4), word(7), word(12), word(16)],
            ["size", "size", "size", "object", "ä", ""]
        );
    }
}
