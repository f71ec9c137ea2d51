//! A file that is open in the editor or belongs to the project, cut into chunks.

use std::collections::{HashMap, VecDeque};
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
    /// The problems of its text, in documents that a rule language claims.
    pub(crate) problems: Vec<Diagnostic>,
    /// The problems of its text in other documents, which count if the file is one of the project's rules.
    pub(crate) other_problems: Vec<Diagnostic>,
}

impl EditedFile {
    /// Reads a text.
    pub(crate) fn new(source: Arc<Source>, version: Option<i32>, dialects: &[Box<dyn Dialect>]) -> Self {
        let mut file = Self {
            source: Source::new("", ""),
            version,
            chunks: Vec::new(),
            problems: Vec::new(),
            other_problems: Vec::new(),
        };
        file.replace(source, dialects);
        file
    }

    /// Replaces the text. Chunks whose text is the same stay as they are.
    pub(crate) fn replace(&mut self, source: Arc<Source>, dialects: &[Box<dyn Dialect>]) {
        let pieces = pieces_of(&source);
        let text_of = |piece: &StreamChunk| source.text.get(piece.range.clone()).unwrap_or_default();
        let mut known: VecDeque<FileChunk> = std::mem::take(&mut self.chunks).into();
        // Most edits change one chunk, so those before and after it are found by their order.
        let mut chunks = Vec::with_capacity(pieces.len());
        while let Some(piece) = pieces.get(chunks.len())
            && known.front().is_some_and(|chunk| chunk.source.text == text_of(piece))
        {
            chunks.extend(known.pop_front().map(|chunk| chunk.moved_to(piece)));
        }
        let mut tail = Vec::new();
        while let Some(piece) = pieces.get(chunks.len()..).and_then(|rest| rest.iter().rev().nth(tail.len()))
            && known.back().is_some_and(|chunk| chunk.source.text == text_of(piece))
        {
            tail.extend(known.pop_back().map(|chunk| chunk.moved_to(piece)));
        }
        let mut moved: HashMap<String, FileChunk> =
            known.into_iter().map(|chunk| (chunk.source.text.clone(), chunk)).collect();
        let middle = pieces.get(chunks.len()..pieces.len() - tail.len()).unwrap_or_default();
        for piece in middle {
            let same = moved.remove(text_of(piece)).map(|chunk| chunk.moved_to(piece));
            chunks.push(same.unwrap_or_else(|| FileChunk::read(&source, piece, dialects)));
        }
        chunks.extend(tail.into_iter().rev());
        let (claimed, others): (Vec<_>, Vec<_>) = chunks
            .iter()
            .zip(&pieces)
            .filter(|(chunk, _)| chunk.has_problems)
            .partition(|(chunk, _)| chunk.is_claimed);
        self.problems = problems_of(&source, claimed);
        self.other_problems = problems_of(&source, others);
        (self.chunks, self.source) = (chunks, source);
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
    /// Returns this chunk at its place in another text of the file.
    fn moved_to(self, piece: &StreamChunk) -> Self {
        Self { lines_before: piece.line.saturating_sub(1), ..self }
    }

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

/// Returns the problems of chunks, with the lines of the file.
fn problems_of(source: &Arc<Source>, chunks: Vec<(&FileChunk, &StreamChunk)>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (_, piece) in chunks {
        if source.name.ends_with(".json") {
            problems.extend(json::read(source).err().map(Diagnostic::from));
        } else {
            problems.extend(yaml::read_chunk(source, piece).problems.into_iter().map(Diagnostic::from));
        }
    }
    problems
}
