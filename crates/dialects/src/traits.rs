//! Traits: bundles of patches with parameters, and the resources that they are rendered with.

mod admission;
mod cases;
mod compile;
pub mod context;
mod diagnostics;
mod evaluate;
pub mod functions;
mod manifest;
mod pipeline;
mod render;
pub mod schema;
mod shelf;
mod source;
mod variables;

pub use cases::{Held, Part, holds};
pub use manifest::{Manifest, Origin, Plane, Writer};
pub use pipeline::{ComponentType, Library, Release};
pub use render::{Applied, Instance, RenderOptions, Rendering, Trait, raise, render};
pub use variables::Context;

use kubewright_engine::{Code, Compiled, Diagnostic, Dialect};
use kubewright_value::{Document, Value};

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

/// The dialect. A trait is no rule by itself: with its parameters it is rendered over a set of manifests.
pub struct Traits;

impl Dialect for Traits {
    fn name(&self) -> &'static str {
        "trait"
    }

    fn claims(&self, document: &Document) -> bool {
        is_known(document)
    }

    fn is_meant(&self, document: &Document) -> bool {
        let kind = document.value.get("kind").and_then(Value::as_str);
        matches!(kind, Some("Trait" | "ClusterTrait")) && document.value.get("spec").is_some()
    }

    fn compile(&self, document: &Document, _beside: &[Document]) -> Compiled {
        Compiled { diagnostics: check(document), without_parameters: 1, ..Compiled::default() }
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}
