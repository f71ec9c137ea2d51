//! The path of a text in its value.

use kubewright_value::{Step, Text};

/// The place of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct TemplatePath {
    /// The steps to the text; for a key, the last one is the key.
    pub(in super::super) path: Vec<Step>,
    /// Whether it is a key.
    pub(in super::super) is_key: bool,
    /// As messages print it: `/spec/a`, for a key the object that has it.
    pub(in super::super) text: Text,
}

impl TemplatePath {
    pub(super) fn of(path: &[Step], is_key: bool) -> Self {
        let shown = match path.split_last() {
            Some((_, object)) if is_key => object,
            _ => path,
        };
        Self { path: path.to_vec(), is_key, text: join_template_path(shown).into() }
    }
}

/// Returns a path as messages print it.
pub(super) fn join_template_path(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        out.push('/');
        match step {
            Step::Key(key) => out.push_str(&key.replace('/', r"\/")),
            Step::Index(index) => out.push_str(&index.to_string()),
        }
    }
    out
}
