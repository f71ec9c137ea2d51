//! Cases about a component: its type, its traits, its workload, in an environment.

use std::collections::BTreeMap;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_traits::{
    self as traits, CompiledComponentType, ComponentRelease, RenderOptions, Rendering, ResourceLibrary,
};
use kubewright_value::{Document, Text};

use super::super::coverage::Coverage;
use super::file::TraitCase;
use super::{RenderedCase, TraitTestRun, context_layers, cover, judge, refuse_errors};
use crate::commands::render::library::is_trait;

/// Documents that components are rendered with, except the resources of a case.
pub(super) struct CasePlatform {
    documents: Vec<Document>,
    /// With the resources of the file; read when a case first needs it.
    shared: Option<(ResourceLibrary, Vec<Diagnostic>)>,
    is_used: bool,
}

impl CasePlatform {
    /// Selects the documents that the renderer reads.
    pub(super) fn new(documents: &[Document]) -> Self {
        Self { documents: documents.to_vec(), shared: None, is_used: false }
    }

    /// Returns whether a case was about a component.
    pub(super) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Adds the component types to the coverage, not exercised yet.
    pub(super) fn count(&self, more: &[Text], coverage: &mut Coverage) {
        let types =
            self.documents.iter().filter_map(|document| CompiledComponentType::compile(document, more).0);
        types.for_each(|of| cover_component_type(&of, None, coverage));
    }

    /// Returns the diagnostics of the documents that are not traits.
    pub(super) fn mistakes(&self) -> impl Iterator<Item = Diagnostic> {
        self.documents.iter().filter(|document| !is_trait(document)).flat_map(traits::check_trait_document)
    }
}

impl TraitTestRun<'_> {
    /// Renders the component called `name`.
    pub(super) fn component(
        &mut self,
        case: &TraitCase,
        name: &str,
        environment: Option<&str>,
    ) -> Result<RenderedCase, String> {
        self.platform.is_used = true;
        let mut problems = Vec::new();
        let given = context_layers(&self.file.context, case, None, &mut problems).overrides(&mut problems);
        refuse_errors(&problems)?;
        let own = match &case.base {
            Some(base) => Some(self.read(self.objects(base, "base")?)),
            None => {
                if self.platform.shared.is_none() {
                    self.platform.shared = Some(self.read(self.base.clone()));
                }
                None
            }
        };
        let Some((library, wrong)) = own.as_ref().or(self.platform.shared.as_ref()) else {
            return Err("there is nothing to render".to_owned());
        };
        let mut wrong = wrong.clone();
        if case.is_strict {
            traits::raise_strict_warnings(&mut wrong);
        }
        if wrong.iter().any(Diagnostic::is_error) {
            let rendering = Rendering { diagnostics: wrong, ..Rendering::default() };
            return Ok(RenderedCase { rendering, again: None, context: given });
        }
        let release = release(library, name, environment)?;
        let options = RenderOptions { strict: case.is_strict, trace: self.coverage.is_some() };
        let mut rendering = library.render(&release, &given, &options);
        wrong.append(&mut rendering.diagnostics);
        rendering.diagnostics = wrong;
        let context = library.context(&release, &given).0;
        if let Some(coverage) = &mut self.coverage {
            cover_component_type(release.component_type(), Some(&rendering), coverage);
        }
        for of in release.traits() {
            cover(self.coverage.as_mut(), of, Some(&rendering));
        }
        Ok(RenderedCase { rendering, again: None, context })
    }

    /// Reads what a component is rendered with.
    fn read(&self, own: Vec<Document>) -> (ResourceLibrary, Vec<Diagnostic>) {
        let mut documents = self.platform.documents.clone();
        documents.extend(own.into_iter().filter(traits::is_trait_resource));
        ResourceLibrary::read(&documents, &self.more)
    }
}

/// Adds the parts of `of` to the coverage, exercised if the rendering used them.
fn cover_component_type(of: &CompiledComponentType, rendering: Option<&Rendering>, coverage: &mut Coverage) {
    let parts = of.parts(rendering.map_or(&[], |rendering| &rendering.trace));
    coverage.add_parts(&format!("type/{}", of.name()), of.document(), rendering.is_some(), parts);
}

/// Returns the only release of the component called `name`, in `environment` if given.
fn release(
    library: &ResourceLibrary,
    name: &str,
    environment: Option<&str>,
) -> Result<ComponentRelease, String> {
    let (releases, wrong) = match environment {
        Some(environment) => library.releases_in(environment),
        None => (library.releases().to_vec(), library.unreleased()),
    };
    let found: Vec<&ComponentRelease> =
        releases.iter().filter(|release| release.component() == name).collect();
    match found.as_slice() {
        [release] => return Ok((*release).clone()),
        [] => {}
        [first, ..] if environment.is_some() => {
            return Err(format!("{} components are called `{}`", found.len(), first.component()));
        }
        several => {
            let places: Vec<&str> = several.iter().map(|release| release.environment()).collect();
            let places = places.join(", ");
            return Err(format!("component `{name}` is released in {places}; select one with `environment`"));
        }
    }
    if let Some(problem) = wrong.first() {
        return Err(judge::diagnostic_with_help(problem));
    }
    let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for release in library.releases() {
        known.entry(release.component()).or_default().push(release.environment());
    }
    Err(match (known.get(name), environment) {
        (Some(places), Some(environment)) => {
            format!("component `{name}` is not released in `{environment}`, but in {}", places.join(", "))
        }
        _ => match nearest_word(name, known.keys().copied()) {
            Some(near) => format!("there is no component `{name}`; did you mean `{near}`?"),
            None => format!("there is no component `{name}`"),
        },
    })
}
