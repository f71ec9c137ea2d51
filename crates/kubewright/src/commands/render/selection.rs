//! One component of many: `--component` leaves the others out before anything is read from them, so that a mistake in
//! one of them is not in the way.

use std::collections::BTreeSet;

use kubewright_engine::nearest_word;
use kubewright_traits as traits;
use kubewright_value::Document;

use crate::failure::Failure;

/// The namespace of a component that names none.
const DEFAULT: &str = "default";

/// Leaves of `documents` the component `wanted`, which is `NAME` or `NAMESPACE/NAME`, and what belongs to no other one.
///
/// # Errors
/// When there is no such component.
pub(super) fn leave(documents: &mut Vec<Document>, wanted: &str) -> Result<(), Failure> {
    let (namespace, name) = match wanted.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, wanted),
    };
    let is_in = |document: &Document, otherwise: Option<&str>| {
        let own =
            Some(text(document, &["metadata", "namespace"])).filter(|own| !own.is_empty()).or(otherwise);
        own.zip(namespace).is_none_or(|(own, namespace)| own == namespace)
    };
    let mut names = BTreeSet::new();
    let mut is_there = false;
    documents.retain(|document| {
        if !traits::is_trait_resource(document) {
            return true;
        }
        match text(document, &["kind"]) {
            "Component" => {
                let own = text(document, &["metadata", "name"]);
                let is_it = own == name && is_in(document, Some(DEFAULT));
                is_there |= is_it;
                names.insert(own.to_owned());
                is_it
            }
            // A file that leaves the namespace out fits every namespace.
            "Workload" | "ReleaseBinding" | "ComponentReleaseBinding" => {
                text(document, &["spec", "owner", "componentName"]) == name && is_in(document, None)
            }
            _ => true,
        }
    });
    if is_there {
        return Ok(());
    }
    let failure = Failure::usage(format!("there is no component `{wanted}` to render"));
    let known = || names.iter().map(String::as_str);
    Err(failure.help(match nearest_word(name, known()).filter(|near| *near != name) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the components are {}", known().collect::<Vec<_>>().join(", ")),
    }))
}

/// Returns the text under `keys`, empty where there is none.
fn text<'d>(document: &'d Document, keys: &[&str]) -> &'d str {
    document.value.str_at(keys)
}
