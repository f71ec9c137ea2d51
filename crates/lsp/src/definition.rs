//! From a name to the document that it belongs to, and to all places that use it.

use lsp_types::Location;
use serde_json::Value as Json;

use crate::names::NameOccurrence;
use crate::protocol::{document_address, request_position};
use crate::workspace::EditorWorkspace;

impl EditorWorkspace {
    /// Returns where the name at the place of a request is defined.
    pub(crate) fn definitions(&self, name: &str, params: &Json) -> Vec<Location> {
        let same = self.names_at(name, params);
        same.iter().filter(|one| one.is_definition).filter_map(|one| self.name_location(one)).collect()
    }

    /// Returns where the name at the place of a request is used.
    pub(crate) fn references(&self, name: &str, params: &Json) -> Vec<Location> {
        let with_definition =
            params.pointer("/context/includeDeclaration").and_then(Json::as_bool).unwrap_or(true);
        let same = self.names_at(name, params);
        let wanted = same.iter().filter(|one| with_definition || !one.is_definition);
        wanted.filter_map(|one| self.name_location(one)).collect()
    }

    /// Returns the name at the place of a request, and then all others that are the same.
    pub(crate) fn names_at(&self, name: &str, params: &Json) -> Vec<NameOccurrence> {
        let Some((file, place)) = self.files.get(name).zip(request_position(params)) else {
            return Vec::new();
        };
        let line = file.source.line(place.line.saturating_add(1)).unwrap_or_default();
        self.same_names(name, place.line, self.unit.byte_in_line(line, place.character))
    }

    /// Returns the range of a name.
    pub(crate) fn name_range(&self, one: &NameOccurrence) -> Option<lsp_types::Range> {
        let source = &self.files.get(&one.file)?.source;
        let place = |byte| self.unit.place(source, one.line, byte);
        Some(lsp_types::Range { start: place(one.bytes.start), end: place(one.bytes.end) })
    }

    fn name_location(&self, one: &NameOccurrence) -> Option<Location> {
        Some(Location { uri: document_address(&self.root, &one.file)?, range: self.name_range(one)? })
    }
}
