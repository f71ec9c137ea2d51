//! New names for rules and policies, in their documents, exceptions, bindings and tests at once.

use std::collections::BTreeMap;

use lsp_types::{Range, TextEdit};
use serde_json::{Value as Json, json};

use crate::protocol::document_address;
use crate::workspace::EditorWorkspace;

/// The maximum length of a name in Kubernetes.
const MAX_NAME_BYTES: usize = 253;

impl EditorWorkspace {
    /// Returns the range of the name at the place of a request; nothing where there is none.
    pub(crate) fn prepare_rename(&self, name: &str, params: &Json) -> Option<Range> {
        self.names_at(name, params).first().and_then(|one| self.name_range(one))
    }

    /// Returns the edits that give the name at the place of a request another one. A name that would change the structure of a
    /// text is refused.
    pub(crate) fn rename(&self, name: &str, params: &Json) -> Option<Json> {
        let new = params.get("newName")?.as_str().filter(|new| is_name(new))?;
        let mut edits: BTreeMap<String, Vec<TextEdit>> = BTreeMap::new();
        for one in self.names_at(name, params) {
            let (Some(range), Some(uri)) = (self.name_range(&one), document_address(&self.root, &one.file))
            else {
                continue;
            };
            let edit = TextEdit { range, new_text: new.to_owned() };
            let of_file = edits.entry(uri.as_str().to_owned()).or_default();
            if !of_file.contains(&edit) {
                of_file.push(edit);
            }
        }
        Some(json!({ "changes": edits }))
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-._".contains(one);
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.chars().all(is_plain)
}
