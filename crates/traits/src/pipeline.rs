//! Components with their types, traits and environments, as files hold them: one rendering for each component in each
//! environment.
//!
//! Mistakes in the files are reported once, when they are read: references to missing resources, and traits that a
//! component type does not allow. A release is a component in an environment with all its references resolved. Types
//! and traits are compiled once and shared.
//!
//! A component is released by its ReleaseBindings. A component without any is rendered for every Environment, without
//! overrides; see [`ResourceLibrary::releases_in`] for files without environments.

mod component_type;
mod finish;
mod kinds;
mod member;
mod read;
mod release;
#[cfg(test)]
mod tests;

pub use component_type::CompiledComponentType;
pub use release::ComponentRelease;

use std::collections::BTreeSet;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Source, Text};

use super::diagnostics as code;
use super::named_resources::NamedResources;
use super::render::{RenderOptions, Rendering};
use super::source::SecretReference;
use super::variables::RenderContext;
use member::{EnvironmentPlane, LibraryComponent};
use read::LibraryReader;

/// The resources of some files, ready to render.
#[derive(Debug, Default)]
pub struct ResourceLibrary {
    releases: Vec<ComponentRelease>,
    /// Components without a ReleaseBinding.
    unbound: Vec<Arc<LibraryComponent>>,
    /// Environments with their data planes.
    places: Vec<Arc<EnvironmentPlane>>,
    has_environments: bool,
    /// The data plane for an environment that no file describes.
    bare_plane: Option<super::source::DataPlane>,
    secrets: NamedResources<SecretReference>,
    /// Whether any expression reads the operations of endpoints.
    reads_endpoints: bool,
}

impl ResourceLibrary {
    /// Reads the resources among `documents`; expressions may use the variables `more` besides the usual ones.
    #[must_use]
    pub fn read(documents: &[Document], more: &[Text]) -> (Self, Vec<Diagnostic>) {
        LibraryReader::new(more).read(documents)
    }

    /// Returns the releases: by component as the files have them, and for each in the order of its ReleaseBindings, or of
    /// the environments where it has none.
    #[must_use]
    pub fn releases(&self) -> &[ComponentRelease] {
        &self.releases
    }

    /// Returns the releases in `environment`, and a diagnostic if there is no such environment.
    ///
    /// Where no file describes an environment, components without a ReleaseBinding are rendered in one that has the
    /// name and nothing else; its data plane is the one of the files, if they hold one.
    #[must_use]
    pub fn releases_in(&self, environment: &str) -> (Vec<ComponentRelease>, Vec<Diagnostic>) {
        let is_there = |release: &&ComponentRelease| release.environment() == environment;
        let mut found: Vec<ComponentRelease> = self.releases.iter().filter(is_there).cloned().collect();
        if !self.has_environments {
            let place = Arc::new(EnvironmentPlane::bare(environment, self.bare_plane.as_ref()));
            found.extend(self.unbound.iter().map(|member| ComponentRelease::new(member, &place, None)));
        } else if self.places.iter().all(|place| place.name() != environment) {
            let known: BTreeSet<&str> = self.places.iter().map(|place| place.name()).collect();
            let help = match nearest_word(environment, known.iter().copied()) {
                Some(near) => did_you_mean(near),
                None if known.is_empty() => "add the Environment to the files that are read".to_owned(),
                None => {
                    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                    format!("the files hold {}", known.join(", "))
                }
            };
            let source = Source::new("environment", environment);
            let location = Document::made(environment.into(), source).locate(&[]);
            let message = format!("there is no Environment `{environment}`");
            return (found, vec![Diagnostic::new(&code::NOT_FOUND, message, location).help(help)]);
        }
        (found, Vec::new())
    }

    /// Returns a diagnostic for each component that is in no environment.
    #[must_use]
    pub fn unreleased(&self) -> Vec<Diagnostic> {
        let members = if self.has_environments { &[][..] } else { &self.unbound };
        members.iter().map(|member| member.unreleased()).collect()
    }

    /// Returns the variables of the component. Entries of `given` replace the computed ones.
    #[must_use]
    pub fn context(
        &self,
        release: &ComponentRelease,
        given: &RenderContext,
    ) -> (RenderContext, Vec<Diagnostic>) {
        release.context(self, given)
    }

    /// Renders `release`: the rules and resources of the component type, its traits, the component's traits, the rules
    /// about what came out; then labels, and the order of the original. `given` is as for [`ResourceLibrary::context`].
    #[must_use]
    pub fn render(
        &self,
        release: &ComponentRelease,
        given: &RenderContext,
        options: &RenderOptions,
    ) -> Rendering {
        release.render(self, given, options)
    }
}
