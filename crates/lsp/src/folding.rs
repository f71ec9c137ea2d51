//! Folding ranges and symbols, by the lines of a text.

use kubewright_value::Step;
use lsp_types::{DocumentSymbol, FoldingRange, Location, Range, SymbolInformation, SymbolKind};
use serde_json::Value as Json;

use crate::chunk::FileChunk;
use crate::file::EditedFile;
use crate::names::is_at;
use crate::outline::OutlineEntry;
use crate::protocol::document_address;
use crate::workspace::EditorWorkspace;

/// The maximum number of symbols that a search returns.
const MAX_SYMBOLS: usize = 500;

impl EditorWorkspace {
    /// Returns what can be folded: every entry of several lines, and every document.
    pub(crate) fn folding_ranges(&self, name: &str) -> Vec<FoldingRange> {
        let Some(file) = self.files.get(name) else { return Vec::new() };
        let mut ranges = Vec::new();
        for chunk in &file.chunks {
            let entries = chunk.outline.entries.iter().filter(|entry| entry.last_line > entry.line);
            ranges.extend(entries.map(|entry| FoldingRange {
                start_line: entry.line.saturating_add(chunk.lines_before),
                end_line: entry.last_line.saturating_add(chunk.lines_before),
                ..FoldingRange::default()
            }));
        }
        ranges
    }

    /// Returns the documents of a file with their rules, or the cases of a test.
    pub(crate) fn document_symbols(&self, name: &str) -> Vec<DocumentSymbol> {
        let Some(file) = self.files.get(name) else { return Vec::new() };
        file.chunks.iter().filter_map(|chunk| self.chunk_symbol(file, chunk)).collect()
    }

    fn chunk_symbol(&self, file: &EditedFile, chunk: &FileChunk) -> Option<DocumentSymbol> {
        let entries = &chunk.outline.entries;
        let first = entries.first()?;
        let last = entries.iter().map(|entry| entry.last_line).max()?;
        let named = entries.iter().find(|entry| is_at(entry, &["metadata", "name"]));
        let title =
            named.and_then(|entry| entry.value.first()).map_or("", |piece| piece.text(&chunk.source.text));
        let kind = chunk.kind();
        let title = if title.is_empty() { kind.to_owned() } else { format!("{kind} {title}") };
        let title = if title.is_empty() { file.name().to_owned() } else { title };
        let items = entries.iter().filter(|entry| {
            is_at(entry, &["spec", "rules", "[]", "name"]) || is_at(entry, &["cases", "[]", "name"])
        });
        let children: Vec<DocumentSymbol> = items
            .filter_map(|entry| {
                let text = entry.value.first()?.text(&chunk.source.text);
                let end = item_end(entries, entry);
                Some(self.symbol(file, chunk, (text, SymbolKind::FUNCTION), (entry.line, end)))
            })
            .collect();
        let mut symbol = self.symbol(file, chunk, (&title, SymbolKind::MODULE), (first.line, last));
        symbol.children = Some(children);
        Some(symbol)
    }

    fn symbol(
        &self,
        file: &EditedFile,
        chunk: &FileChunk,
        (name, kind): (&str, SymbolKind),
        (first, last): (u32, u32),
    ) -> DocumentSymbol {
        let (first, last) =
            (first.saturating_add(chunk.lines_before), last.saturating_add(chunk.lines_before));
        let start = self.unit.place(&file.source, first, 0);
        let end = self.unit.place(&file.source, last, usize::MAX);
        let line_end = self.unit.place(&file.source, first, usize::MAX);
        #[expect(deprecated, reason = "the field has to be set")]
        DocumentSymbol {
            name: name.to_owned(),
            detail: None,
            kind,
            tags: None,
            deprecated: None,
            range: Range { start, end },
            selection_range: Range { start, end: line_end },
            children: None,
        }
    }

    /// Returns the policies and rules whose names contain the words of a search.
    pub(crate) fn workspace_symbols(&self, params: &Json) -> Vec<SymbolInformation> {
        let query = params.get("query").and_then(Json::as_str).unwrap_or_default().to_lowercase();
        let names = self.names().into_iter().filter(|one| one.is_definition);
        let found = names.filter_map(|one| {
            let name = one.rule.clone().unwrap_or_else(|| one.policy.clone());
            if !name.to_lowercase().contains(&query) {
                return None;
            }
            let location =
                Location { uri: document_address(&self.root, &one.file)?, range: self.name_range(&one)? };
            let kind = if one.rule.is_some() { SymbolKind::FUNCTION } else { SymbolKind::MODULE };
            #[expect(deprecated, reason = "the field has to be set")]
            let symbol = SymbolInformation {
                name,
                kind,
                tags: None,
                deprecated: None,
                location,
                container_name: one.rule.is_some().then_some(one.policy),
            };
            Some(symbol)
        });
        found.take(MAX_SYMBOLS).collect()
    }
}

/// Returns the last line of the list item that an entry belongs to.
fn item_end(entries: &[OutlineEntry], entry: &OutlineEntry) -> u32 {
    let Some(item) = entry.path.iter().rposition(|step| matches!(step, Step::Index(_))) else {
        return entry.last_line;
    };
    let item = entry.path.get(..=item).unwrap_or_default();
    let inside = entries.iter().filter(|other| other.path.starts_with(item));
    inside.map(|other| other.last_line).max().unwrap_or(entry.last_line)
}
