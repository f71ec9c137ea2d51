//! `--component`: drops the other components before they are read, so that an error in one of them does not stop the
//! rendering.

use std::collections::BTreeSet;

use kubewright_engine::nearest_word;
use kubewright_traits as traits;
use kubewright_value::Document;
use kubewright_value::suggest::did_you_mean;

use crate::failure::CommandFailure;

/// The namespace of a component without one.
const DEFAULT: &str = "default";

/// Keeps the component `wanted` (`NAME` or `NAMESPACE/NAME`) of `documents`, and documents that belong to no other one.
///
/// # Errors
/// When there is no such component.
pub(super) fn retain_selected(documents: &mut Vec<Document>, wanted: &str) -> Result<(), CommandFailure> {
    let (namespace, name) = match wanted.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, wanted),
    };
    let is_in = |document: &Document, otherwise: Option<&str>| {
        let own = Some(text_under(document, &["metadata", "namespace"]))
            .filter(|own| !own.is_empty())
            .or(otherwise);
        own.zip(namespace).is_none_or(|(own, namespace)| own == namespace)
    };
    let mut names = BTreeSet::new();
    let mut is_there = false;
    documents.retain(|document| {
        if !traits::is_trait_resource(document) {
            return true;
        }
        match text_under(document, &["kind"]) {
            "Component" => {
                let own = text_under(document, &["metadata", "name"]);
                let is_it = own == name && is_in(document, Some(DEFAULT));
                is_there |= is_it;
                names.insert(own.to_owned());
                is_it
            }
            // A document without a namespace matches every namespace.
            "Workload" | "ReleaseBinding" | "ComponentReleaseBinding" => {
                text_under(document, &["spec", "owner", "componentName"]) == name && is_in(document, None)
            }
            _ => true,
        }
    });
    if is_there {
        return Ok(());
    }
    let failure = CommandFailure::usage(format!("there is no component `{wanted}` to render"));
    let known = || names.iter().map(String::as_str);
    Err(failure.help(match nearest_word(name, known()).filter(|near| *near != name) {
        Some(near) => did_you_mean(near),
        None => format!("the components are {}", known().collect::<Vec<_>>().join(", ")),
    }))
}

/// Returns the text at `keys`; empty if there is none.
fn text_under<'d>(document: &'d Document, keys: &[&str]) -> &'d str {
    document.value.str_at(keys)
}
