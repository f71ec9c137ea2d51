//! A file that is open in the editor or belongs to the project, cut into chunks.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, Dialect, Rule};
use kubewright_value::yaml::{self, StreamChunk};
use kubewright_value::{Document, Position, Source, json};

use crate::chunk::{ChunkPart, FileChunk};

/// A file.
#[derive(Debug)]
pub(crate) struct EditedFile {
    /// Its text, with its name from the working directory.
    pub(crate) source: Arc<Source>,
    /// The version of the text in the editor; nothing for a file that is not open.
    pub(crate) version: Option<i32>,
    /// Its YAML documents.
    pub(crate) chunks: Vec<FileChunk>,
    /// The problems of its text.
    pub(crate) problems: Vec<Diagnostic>,
}

impl EditedFile {
    /// Reads a text.
    pub(crate) fn new(source: Arc<Source>, version: Option<i32>, dialects: &[Box<dyn Dialect>]) -> Self {
        let mut file = Self { source: Source::new("", ""), version, chunks: Vec::new(), problems: Vec::new() };
        file.replace(source, dialects);
        file
    }

    /// Replaces the text. Chunks whose text is the same stay as they are.
    pub(crate) fn replace(&mut self, source: Arc<Source>, dialects: &[Box<dyn Dialect>]) {
        let mut by_text: HashMap<String, Vec<FileChunk>> = HashMap::new();
        for chunk in std::mem::take(&mut self.chunks).into_iter().rev() {
            by_text.entry(chunk.source.text.clone()).or_default().push(chunk);
        }
        let mut reused = |piece: &StreamChunk| {
            let text = source.text.get(piece.range.clone()).unwrap_or_default();
            let mut chunk = by_text.get_mut(text)?.pop()?;
            chunk.range = piece.range.clone();
            chunk.lines_before = piece.line.saturating_sub(1);
            Some(chunk)
        };
        let pieces = pieces_of(&source);
        self.chunks = pieces
            .iter()
            .map(|piece| reused(piece).unwrap_or_else(|| FileChunk::read(&source, piece, dialects)))
            .collect();
        self.problems = problems_of(&source, self.chunks.iter().zip(&pieces));
        self.source = source;
    }

    /// Returns its name from the working directory.
    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    /// Returns whether a rule language claims one of its documents.
    pub(crate) fn is_claimed(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.is_claimed)
    }

    /// Returns its objects.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &ChunkPart> {
        self.chunks.iter().flat_map(|chunk| &chunk.parts)
    }

    /// Returns its rules.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.chunks.iter().flat_map(FileChunk::rules)
    }

    /// Returns its documents with the positions of the file.
    pub(crate) fn documents(&self) -> Vec<Document> {
        if self.source.name.ends_with(".json") {
            return json::read(&self.source).into_iter().collect();
        }
        yaml::read(&self.source).documents
    }

    /// Returns the chunk that line `line` of the file, counted from 0, is in.
    pub(crate) fn chunk_at(&self, line: u32) -> Option<&FileChunk> {
        let count = self.chunks.partition_point(|chunk| chunk.lines_before <= line);
        self.chunks.get(count.checked_sub(1)?)
    }
}

impl FileChunk {
    /// Returns a position of this chunk in its file.
    pub(crate) fn in_file(&self, position: Position) -> Position {
        Position { line: position.line.saturating_add(self.lines_before), ..position }
    }
}

fn pieces_of(source: &Source) -> Vec<StreamChunk> {
    if source.name.ends_with(".json") {
        return vec![StreamChunk { range: 0..source.text.len(), line: 1 }];
    }
    yaml::split(&source.text)
}

/// Returns the problems of the chunks that have some, with the lines of the file.
fn problems_of<'c>(
    source: &Arc<Source>,
    chunks: impl Iterator<Item = (&'c FileChunk, &'c StreamChunk)>,
) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (_, piece) in chunks.filter(|(chunk, _)| chunk.has_problems && chunk.is_claimed) {
        if source.name.ends_with(".json") {
            problems.extend(json::read(source).err().map(Diagnostic::from));
        } else {
            problems.extend(yaml::read_chunk(source, piece).problems.into_iter().map(Diagnostic::from));
        }
    }
    problems
}
