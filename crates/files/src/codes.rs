//! The diagnostic codes of files and folders.

use kubewright_engine::{Code, Diagnostic};
use kubewright_value::{Location, Position, Source};

kubewright_engine::codes! {
    /// The codes of files and folders.
    pub static FILE_CODES;

    UNREADABLE "KW-F001" Error "a file or folder cannot be read";
    NOTHING_FOUND "KW-F002" Error "no rules or objects were found";
    NOT_AN_OBJECT "KW-F003" Warning "a document is not a Kubernetes object";
    OUTSIDE_PROJECT "KW-F004" Error "a file refers to a file outside of the project";
    NOT_A_DOCUMENT "KW-F005" Error "a file is neither YAML nor JSON with rules or objects";
    UNUSUAL_LIST "KW-F006" Warning "kubectl treats this object as a list";
    NESTED_LISTS "KW-F007" Error "lists are nested too deep";
    LEFT_OUT "KW-F008" Warning "a manifest that kubectl would apply is skipped";
    BROKEN_LINK "KW-F009" Warning "a link in a folder leads nowhere";
    UNTYPED_ITEM "KW-F010" Error "an item of a list is not a Kubernetes object";
    NOT_A_TEXT "KW-F011" Warning "a name is not a text";
    TEMPLATE "KW-F012" Error "a template is not a manifest";
    NOT_RENDERED "KW-F013" Error "a chart or kustomization cannot be rendered";
    NOT_LISTED "KW-F014" Warning "a kind of the cluster cannot be listed";
}

/// Returns a diagnostic about a whole file or folder.
#[must_use]
pub fn about_path(code: &'static Code, path: &str, message: impl Into<String>) -> Diagnostic {
    let location = Location { source: Source::new(path, ""), position: Position::START, length: 1 };
    Diagnostic::new(code, message, location)
}
