//! Traits: bundles of patches with parameters, and the resources that they are rendered with.

mod admission;
mod cases;
mod compile;
pub mod context;
mod diagnostics;
mod evaluate;
pub mod functions;
mod lint;
mod manifest;
mod named_resources;
mod pipeline;
mod place;
mod render;
pub mod schema;
mod source;
mod variables;

pub use cases::{AssertionResult, TraitPart, evaluate_assertion};
pub use manifest::{Manifest, ManifestOrigin, ManifestWriter, Plane, manifest_label, manifest_sort_key};
pub use pipeline::{CompiledComponentType, ComponentRelease, ResourceLibrary};
pub use render::{
    AppliedInstance, CompiledTrait, Instance, RenderOptions, Rendering, is_about_values,
    raise_strict_warnings, render_traits,
};
pub use variables::RenderContext;

use kubewright_engine::{Code, CompiledPolicy, Diagnostic, Dialect, SetProgram};
use kubewright_value::{Document, Value};

use source::OpenChoreoResource;

/// The `apiVersion` of traits; the guide leaves out the group, and both are read.
pub const API_VERSION: &str = "openchoreo.dev/v1alpha1";
/// The API group, with its `/`, of traits and of the resources they are rendered with.
pub const GROUP: &str = "openchoreo.dev/";

/// Returns whether `document` is a Trait or one of the resources that traits are rendered with.
#[must_use]
pub fn is_trait_resource(document: &Document) -> bool {
    source::is_openchoreo_document(document)
}

/// Returns the errors of `document`, checked on its own.
#[must_use]
pub fn check_trait_document(document: &Document) -> Vec<Diagnostic> {
    examine_document(document, CheckDepth::Mistakes)
}

/// Returns the errors of `document`, checked on its own, and warnings about what is probably a mistake.
#[must_use]
pub fn lint_trait_document(document: &Document) -> Vec<Diagnostic> {
    examine_document(document, CheckDepth::Doubts)
}

/// Returns warnings about `documents` as a set: duplicate trait names, and references to unknown traits.
#[must_use]
pub fn lint_together(documents: &[Document]) -> Vec<Diagnostic> {
    lint::lint_document_set(documents)
}

/// How thoroughly a document is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CheckDepth {
    /// Errors only.
    Mistakes,
    /// Errors, and warnings about probable mistakes.
    Doubts,
    /// All of these, and operations that are not idempotent.
    Idempotence,
}

fn examine_document(document: &Document, depth: CheckDepth) -> Vec<Diagnostic> {
    let (resource, mut diagnostics) = source::read_openchoreo_document(document);
    match &resource {
        Some(OpenChoreoResource::Trait(found)) => {
            let (program, wrong) = compile::compile_trait(found, document, &[]);
            diagnostics.extend(wrong);
            let has_mistakes = diagnostics.iter().any(Diagnostic::is_error);
            if depth >= CheckDepth::Doubts {
                diagnostics.extend(lint::lint_trait(&program, &found.sections, document, has_mistakes));
            }
            if depth >= CheckDepth::Idempotence {
                diagnostics.extend(lint::idempotence(&program, document));
            }
        }
        Some(OpenChoreoResource::ComponentType(found)) => {
            let (program, wrong) = compile::compile_type(found, document, &[]);
            diagnostics.extend(wrong);
            let has_mistakes = diagnostics.iter().any(Diagnostic::is_error);
            if depth >= CheckDepth::Doubts {
                diagnostics.extend(lint::lint_component_type(
                    &program,
                    &found.sections,
                    document,
                    has_mistakes,
                ));
            }
        }
        _ => {}
    }
    diagnostics
}

/// Returns why `component_type` does not allow the traits of `component`.
#[must_use]
pub fn check_component_traits(component_type: &Document, component: &Document) -> Vec<Diagnostic> {
    admission::check_allowed_traits(component_type, component)
}

/// The options of the dialect.
#[derive(Debug, Clone, Default)]
pub struct TraitOptions {
    /// Whether patches are reported that change more each time they are applied.
    pub checks_idempotence: bool,
}

/// The dialect. A trait is not a rule: it is rendered, with its parameters, over a set of manifests.
pub struct Traits {
    depth: CheckDepth,
}

impl Traits {
    /// Returns the dialect with `options`.
    #[must_use]
    pub fn new(options: &TraitOptions) -> Self {
        Self { depth: if options.checks_idempotence { CheckDepth::Idempotence } else { CheckDepth::Doubts } }
    }
}

impl Dialect for Traits {
    fn name(&self) -> &'static str {
        "trait"
    }

    fn claims(&self, document: &Document) -> bool {
        is_trait_resource(document)
    }

    fn looks_like(&self, document: &Document) -> bool {
        let kind = document.value.get("kind").and_then(Value::as_str);
        matches!(kind, Some("Trait" | "ClusterTrait")) && document.value.get("spec").is_some()
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        let set_programs = vec![SetProgram::Trait];
        CompiledPolicy {
            diagnostics: examine_document(document, self.depth),
            set_programs,
            ..CompiledPolicy::default()
        }
    }

    fn codes(&self) -> &'static [&'static Code] {
        diagnostics::CODES
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
