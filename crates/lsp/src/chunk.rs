//! One YAML document of a file, with everything that follows from its text alone.
//!
//! Positions in it count from its own first line, so a chunk whose text is unchanged stays as it is when lines before it
//! come and go.

use std::sync::Arc;

use kubewright_dialects::{DocumentRole, document_role, is_exception_document, list_documents};
use kubewright_engine::{Diagnostic, Dialect, Rule};
use kubewright_report::ObjectRow;
use kubewright_value::yaml::{self, StreamChunk};
use kubewright_value::{Document, Map, Source, Text, Value, json};

use crate::outline::Outline;

/// A piece of a file.
#[derive(Debug)]
pub(crate) struct FileChunk {
    /// Its text, with the name of the file.
    pub(crate) source: Arc<Source>,
    /// How many lines are before it in the file.
    pub(crate) lines_before: u32,
    /// The objects in it; those of a list each.
    pub(crate) parts: Vec<ChunkPart>,
    /// The structure of its lines, also where it is no YAML.
    pub(crate) outline: Outline,
    /// Whether a rule language claims it, or would if it were YAML.
    pub(crate) is_claimed: bool,
    /// Whether its text has problems, which are read with the file because they name lines.
    pub(crate) has_problems: bool,
    /// What the rules of the project say about its objects; nothing before they were asked.
    pub(crate) judged: Option<JudgedChunk>,
}

/// An object of a chunk.
#[derive(Debug)]
pub(crate) struct ChunkPart {
    /// The object.
    pub(crate) document: Document,
    /// What it is to the rule languages.
    pub(crate) role: DocumentRole,
    /// Whether it makes exceptions from rules.
    pub(crate) is_exception: bool,
    /// What compiling it gave; nothing before that.
    pub(crate) compiled: Option<CompiledPart>,
}

/// What compiling an object gave.
#[derive(Debug, Default)]
pub(crate) struct CompiledPart {
    /// The rules that can run.
    pub(crate) rules: Vec<Arc<Rule>>,
    /// What is wrong with it.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The auxiliary documents beside which it was compiled.
    pub(crate) auxiliaries: Arc<Vec<Document>>,
    /// Which of all compilations this was.
    pub(crate) number: u64,
}

/// What the rules of the project say about the objects of a chunk, with its own positions.
#[derive(Debug)]
pub(crate) struct JudgedChunk {
    /// The number of the engine that judged.
    pub(crate) engine_number: u64,
    /// A row for each object.
    pub(crate) rows: Vec<ObjectRow>,
}

impl FileChunk {
    /// Reads a piece of a text.
    pub(crate) fn read(file: &Source, chunk: &StreamChunk, dialects: &[Box<dyn Dialect>]) -> Self {
        let text = file.text.get(chunk.range.clone()).unwrap_or_default();
        let source = Source::new(file.name.clone(), text);
        let (documents, has_problems) = read_text(&source);
        let outline = Outline::of(&source.text);
        let items = documents.into_iter().flat_map(|document| match list_documents(&document) {
            Some(items) => items.collect(),
            None => vec![document.clone()],
        });
        let parts: Vec<ChunkPart> = items
            .map(|document| ChunkPart {
                role: document_role(dialects, &document),
                is_exception: is_exception_document(&document),
                document,
                compiled: None,
            })
            .collect();
        let is_rule = |part: &ChunkPart| part.is_exception || part.role != DocumentRole::Other;
        let is_claimed = match parts.is_empty() {
            true => has_problems && is_meant_for(dialects, &outline, &source),
            false => parts.iter().any(is_rule),
        };
        Self {
            source,
            lines_before: chunk.line.saturating_sub(1),
            parts,
            outline,
            is_claimed,
            has_problems,
            judged: None,
        }
    }

    /// Returns the kind of its first object, as far as its lines say it.
    pub(crate) fn kind(&self) -> &str {
        self.outline.text_at(&self.source.text, "kind")
    }

    /// Returns the `apiVersion` of its first object, as far as its lines say it.
    pub(crate) fn api_version(&self) -> &str {
        self.outline.text_at(&self.source.text, "apiVersion")
    }

    /// Returns the compiled rules.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.parts.iter().filter_map(|part| part.compiled.as_ref()).flat_map(|compiled| &compiled.rules)
    }
}

/// Returns the documents of a text, and whether it has problems.
pub(crate) fn read_text(source: &Arc<Source>) -> (Vec<Document>, bool) {
    if source.name.ends_with(".json") {
        return match json::read(source) {
            Ok(document) => (vec![document], false),
            Err(_) => (Vec::new(), true),
        };
    }
    let read = yaml::read(source);
    (read.documents, !read.problems.is_empty())
}

/// Returns whether a text that cannot be read names a kind of a rule language.
fn is_meant_for(dialects: &[Box<dyn Dialect>], outline: &Outline, source: &Arc<Source>) -> bool {
    let text = |key| Value::from(Text::new(outline.text_at(&source.text, key)));
    let value = Map::from([("apiVersion", text("apiVersion")), ("kind", text("kind"))]);
    let document = Document::made(value.into(), Arc::clone(source));
    is_exception_document(&document) || document_role(dialects, &document) != DocumentRole::Other
}
