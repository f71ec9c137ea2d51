//! Traits: bundles of patches with parameters, and the resources that they are rendered with.

mod admission;
pub mod context;
mod diagnostics;
mod expressions;
pub mod functions;
pub mod schema;
mod source;

use kubewright_engine::{Code, Diagnostic};
use kubewright_value::Document;

/// Returns whether `document` is a Trait or one of the resources that traits are rendered with.
#[must_use]
pub fn is_known(document: &Document) -> bool {
    source::is_known(document)
}

/// Returns everything that is wrong with `document` on its own.
#[must_use]
pub fn check(document: &Document) -> Vec<Diagnostic> {
    let (resource, mut diagnostics) = source::read(document);
    if let Some(resource) = resource {
        diagnostics.extend(expressions::check(&resource, document));
    }
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
