//! Namespaced and cluster-scoped resources of one kind, with suggestions for missing ones.

use kubewright_engine::Diagnostic;
use kubewright_value::Location;
use kubewright_value::suggest::did_you_mean;

use super::super::diagnostics as code;
use super::super::named_resources::NamedResources;
use super::super::source::Metadata;

/// The namespaced and cluster-scoped resources of one kind; a name may occur in both.
pub(super) struct ScopedResources<T> {
    namespaced: NamedResources<T>,
    cluster: NamedResources<T>,
}

impl<T> Default for ScopedResources<T> {
    fn default() -> Self {
        Self { namespaced: NamedResources::default(), cluster: NamedResources::default() }
    }
}

impl<T> ScopedResources<T> {
    pub(super) fn put(&mut self, is_cluster: bool, metadata: &Metadata, item: T) -> bool {
        match is_cluster {
            true => self.cluster.put(metadata.name.clone(), None, item),
            false => self.namespaced.put(metadata.name.clone(), metadata.namespace.clone(), item),
        }
    }

    /// Returns the named resource, or a suggestion. `word` is the namespaced kind.
    pub(super) fn find(
        &self,
        word: &str,
        is_cluster: bool,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<&T, MissingResource> {
        let kind = |is_cluster| if is_cluster { format!("Cluster{word}") } else { word.to_owned() };
        let shelf = |is_cluster| if is_cluster { &self.cluster } else { &self.namespaced };
        let found = |is_cluster: bool| shelf(is_cluster).find(name, namespace.filter(|_| !is_cluster));
        found(is_cluster).ok_or_else(|| {
            let help = if found(!is_cluster).is_some() {
                format!("there is a {} of this name; write `kind: {0}`", kind(!is_cluster))
            } else if let Some(near) = shelf(is_cluster).nearest(name) {
                did_you_mean(near)
            } else {
                format!("add the {} to the files that are read", kind(is_cluster))
            };
            MissingResource { message: format!("there is no {} `{name}`", kind(is_cluster)), help }
        })
    }
}

/// A reference to a missing resource.
pub(super) struct MissingResource {
    pub(super) message: String,
    pub(super) help: String,
}

impl MissingResource {
    pub(super) fn at(self, location: Location) -> Diagnostic {
        Diagnostic::new(&code::NOT_FOUND, self.message, location).help(self.help)
    }
}
