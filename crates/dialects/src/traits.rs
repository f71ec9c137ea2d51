//! Traits: bundles of patches with parameters, and the resources that they are rendered with.

mod admission;
mod compile;
mod diagnostics;
mod evaluate;
pub mod functions;
mod manifest;
mod render;
pub mod schema;
mod source;
mod variables;

pub use manifest::{Manifest, Origin, Plane, Writer};
pub use render::{Applied, Instance, RenderOptions, Rendering, Trait, raise, render};
pub use variables::Context;

use kubewright_engine::{Code, Diagnostic};
use kubewright_value::Document;

use source::Resource;

/// Returns whether `document` is a Trait or one of the resources that traits are rendered with.
#[must_use]
pub fn is_known(document: &Document) -> bool {
    source::is_known(document)
}

/// Returns everything that is wrong with `document` on its own.
#[must_use]
pub fn check(document: &Document) -> Vec<Diagnostic> {
    let (resource, mut diagnostics) = source::read(document);
    diagnostics.extend(match &resource {
        Some(Resource::Trait(found)) => compile::compile_trait(found, document, &[]).1,
        Some(Resource::ComponentType(found)) => compile::compile_type(found, document, &[]).1,
        _ => Vec::new(),
    });
    diagnostics
}

/// Returns why the type `component_type` does not take the traits of `component`.
#[must_use]
pub fn check_traits(component_type: &Document, component: &Document) -> Vec<Diagnostic> {
    admission::check_traits(component_type, component)
}

/// Returns the codes of every mistake here.
#[must_use]
pub fn codes() -> &'static [&'static Code] {
    diagnostics::CODES
}
