//! What several documents say of each other: traits of one name, and names that no trait has.
//!
//! Traits may stand elsewhere, so a name is only doubted where a trait is at hand that was probably meant.

use std::collections::HashMap;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_value::{Document, Text};

use crate::diagnostics as code;
use crate::source::{self, Resource, TraitName, TraitUse};
use kubewright_dialect_kit::fields::child_path;

/// The traits of some documents.
#[derive(Default)]
struct Known<'d> {
    traits: HashMap<(bool, Text, Option<Text>), &'d Document>,
    /// Whether it is a ClusterTrait, and the name.
    names: Vec<(bool, Text)>,
}

/// Returns what is doubtful about `documents` as a whole.
pub(crate) fn together(documents: &[Document]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut known = Known::default();
    let mut uses: Vec<(&Document, Vec<TraitUse>)> = Vec::new();
    for document in documents {
        match source::read(document).0 {
            Some(Resource::Trait(found)) => diagnostics.extend(known.add(found, document)),
            Some(Resource::Component(found)) => uses.push((document, found.traits)),
            Some(Resource::ComponentType(found)) => uses.push((document, found.traits)),
            _ => {}
        }
    }
    for (document, uses) in &uses {
        diagnostics.extend(uses.iter().filter_map(|used| known.doubt(used, document)));
    }
    diagnostics
}

impl<'d> Known<'d> {
    /// Keeps a trait, and returns what is wrong if another one has its name.
    fn add(&mut self, found: source::Trait, document: &'d Document) -> Option<Diagnostic> {
        let source::Trait { is_cluster, metadata, .. } = found;
        let name = metadata.name.clone();
        self.names.push((is_cluster, name.clone()));
        let earlier = self.traits.insert((is_cluster, metadata.name, metadata.namespace), document)?;
        if earlier.value == document.value {
            return None;
        }
        let place = earlier.locate(&[]);
        let message = format!("another {} is called `{name}`, at {place}", kind(is_cluster));
        let location = document.locate(&["metadata".into(), "name".into()]);
        let help = "give one of the two another name; a component can mean only one";
        Some(Diagnostic::new(&code::TRAIT_TWICE, message, location).help(help))
    }

    /// Returns what is wrong if `used` names no trait, and another one was probably meant.
    fn doubt(&self, used: &TraitUse, document: &Document) -> Option<Diagnostic> {
        let TraitName { is_cluster, name } = &used.name;
        let is_called = |cluster: bool| self.names.iter().any(|known| *known == (cluster, name.clone()));
        if is_called(*is_cluster) {
            return None;
        }
        let same_kind = self.names.iter().filter(|(cluster, _)| cluster == is_cluster);
        let help = if is_called(!is_cluster) {
            format!("there is a {0} of that name: write `kind: {0}`", kind(!is_cluster))
        } else {
            let near = nearest_word(name, same_kind.map(|(_, name)| name.as_str()))?;
            format!("did you mean `{near}`?")
        };
        let message = format!("no {} is called `{name}`", kind(*is_cluster));
        let location = document.locate(&child_path(&used.path, "name"));
        Some(Diagnostic::new(&code::UNKNOWN_TRAIT, message, location).help(help))
    }
}

fn kind(is_cluster: bool) -> &'static str {
    if is_cluster { "ClusterTrait" } else { "Trait" }
}
