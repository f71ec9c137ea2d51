//! Namespaces whose labels rules read and that no manifest describes.

use std::collections::BTreeSet;

use kubewright_engine::Diagnostic;
use kubewright_report::ObjectRow;
use kubewright_value::Text;

use crate::codes::{self, UNKNOWN_NAMESPACE};

/// How many namespaces a warning names.
const MAX_NAMED: usize = 5;

/// Collects them from the rows of objects.
#[derive(Debug, Default)]
pub(super) struct UnknownNamespaces(BTreeSet<Text>);

impl UnknownNamespaces {
    /// Looks at the row of an object.
    pub(super) fn see(&mut self, row: &ObjectRow) {
        if row.lacks_namespace {
            let name = if row.namespace.is_empty() { "default" } else { row.namespace.as_str() };
            self.0.insert(name.into());
        }
    }

    /// Returns a warning about them; `resources` are the manifests.
    pub(super) fn warning(&self, resources: &[String]) -> Option<Diagnostic> {
        let (noun, verb) = match self.0.len() {
            0 => return None,
            1 => ("namespace", "is"),
            _ => ("namespaces", "are"),
        };
        let named: Vec<String> = self.0.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
        let more = match self.0.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message =
            format!("rules read the labels of {noun} {}{more}, which {verb} not given", named.join(", "));
        let warning = codes::about_path(&UNKNOWN_NAMESPACE, &resources.join(" "), message);
        Some(warning.help(
            "add the manifest of the Namespace to -r or --world; until then it has the label \
             kubernetes.io/metadata.name alone",
        ))
    }
}
