//! The checks across documents: duplicate trait names, and references to unknown traits.
//!
//! A trait may be in another repository, so an unknown name is reported only if a similar one exists.

use std::collections::HashMap;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Text};

use crate::diagnostics as code;
use crate::source::{self, OpenChoreoResource, TraitName, TraitUse};
use kubewright_dialect_kit::fields::child_path;

/// The traits of some documents.
#[derive(Default)]
struct KnownTraits<'d> {
    traits: HashMap<(bool, Text, Option<Text>), &'d Document>,
    /// Whether it is a ClusterTrait, and the name.
    names: Vec<(bool, Text)>,
}

/// Returns warnings about `documents` as a set.
pub(crate) fn lint_document_set(documents: &[Document]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut known = KnownTraits::default();
    let mut uses: Vec<(&Document, Vec<TraitUse>)> = Vec::new();
    for document in documents {
        match source::read_openchoreo_document(document).0 {
            Some(OpenChoreoResource::Trait(found)) => diagnostics.extend(known.add(found, document)),
            Some(OpenChoreoResource::Component(found)) => uses.push((document, found.traits)),
            Some(OpenChoreoResource::ComponentType(found)) => uses.push((document, found.traits)),
            _ => {}
        }
    }
    for (document, uses) in &uses {
        diagnostics.extend(uses.iter().filter_map(|used| known.unknown_trait_warning(used, document)));
    }
    diagnostics
}

impl<'d> KnownTraits<'d> {
    /// Adds a trait, and returns a warning if its name is a duplicate.
    fn add(&mut self, found: source::TraitDefinition, document: &'d Document) -> Option<Diagnostic> {
        let source::TraitDefinition { is_cluster, metadata, .. } = found;
        let name = metadata.name.clone();
        self.names.push((is_cluster, name.clone()));
        let earlier = self.traits.insert((is_cluster, metadata.name, metadata.namespace), document)?;
        if earlier.value == document.value {
            return None;
        }
        let place = earlier.locate(&[]);
        let message = format!("another {} is called `{name}`, at {place}", trait_kind(is_cluster));
        let location = document.locate(&["metadata".into(), "name".into()]);
        let help = "give one of the two another name; a component can mean only one";
        Some(Diagnostic::new(&code::TRAIT_TWICE, message, location).help(help))
    }

    /// Returns a warning if `used` names an unknown trait and a similar one exists.
    fn unknown_trait_warning(&self, used: &TraitUse, document: &Document) -> Option<Diagnostic> {
        let TraitName { is_cluster, name } = &used.name;
        let is_called = |cluster: bool| self.names.iter().any(|known| *known == (cluster, name.clone()));
        if is_called(*is_cluster) {
            return None;
        }
        let same_kind = self.names.iter().filter(|(cluster, _)| cluster == is_cluster);
        let help = if is_called(!is_cluster) {
            format!("there is a {0} of that name: write `kind: {0}`", trait_kind(!is_cluster))
        } else {
            let near = nearest_word(name, same_kind.map(|(_, name)| name.as_str()))?;
            did_you_mean(near)
        };
        let message = format!("no {} is called `{name}`", trait_kind(*is_cluster));
        let location = document.locate(&child_path(&used.path, "name"));
        Some(Diagnostic::new(&code::UNKNOWN_TRAIT, message, location).help(help))
    }
}

fn trait_kind(is_cluster: bool) -> &'static str {
    if is_cluster { "ClusterTrait" } else { "Trait" }
}
