//! Full mode: the manifests are those of a component type, for the components among the files.

use kubewright_dialects::traits;
use kubewright_value::{Document, Value};

use crate::arguments::Render;
use crate::failure::{Exit, Failure};
use crate::output::ColorChoice;

/// Returns whether components are among `documents`.
pub(super) fn is_meant(documents: &[Document]) -> bool {
    let is_component = |document: &Document| {
        document.value.get("kind").and_then(Value::as_str) == Some("Component") && traits::is_known(document)
    };
    documents.iter().any(is_component)
}

/// Renders the components among `documents`.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(super) fn full(_: &Render, _: &[Document], _: ColorChoice) -> Result<Exit, Failure> {
    Err(Failure::usage("there is a Component among the manifests, and components are not rendered yet"))
}
