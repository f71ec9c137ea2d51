//! The compiled component type, and rendering of its own resources.

use std::sync::Arc;

use kubewright_engine::{Diagnostic, TraceVerdict};
use kubewright_value::{Document, Location, Text, Value};

use super::super::compile::{self, program};
use super::super::evaluate::{Evaluator, RenderRun, TraceEntry};
use super::super::manifest::Manifest;
use super::super::render::{
    AppliedInstance, RenderOptions, Rendering, check_rendered_manifests, finish_rendering, has_failed,
};
use super::super::schema::Sections;
use super::super::source::{self, OpenChoreoResource};
use super::super::variables::RenderContext;

/// A compiled ComponentType or ClusterComponentType. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct CompiledComponentType(Arc<SharedComponentType>);

#[derive(Debug)]
struct SharedComponentType {
    document: Document,
    found: source::ComponentTypeDefinition,
    program: program::ComponentTypeProgram,
    /// The place of each of its resources.
    parts: Arc<[Location]>,
}

impl CompiledComponentType {
    /// Compiles `document`, in which expressions may also use the variables `more`. Returns `None` for other kinds.
    #[must_use]
    pub fn compile(document: &Document, more: &[Text]) -> (Option<Self>, Vec<Diagnostic>) {
        let (resource, mut diagnostics) = source::read_openchoreo_document(document);
        let Some(OpenChoreoResource::ComponentType(found)) = resource else { return (None, diagnostics) };
        let (program, wrong) = compile::compile_type(&found, document, more);
        diagnostics.extend(wrong);
        let parts = program.resources.iter().map(|resource| document.locate(&resource.path)).collect();
        (
            Some(Self(Arc::new(SharedComponentType { document: document.clone(), found, program, parts }))),
            diagnostics,
        )
    }

    /// Returns `ComponentType` or `ClusterComponentType`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.0.found.is_cluster { "ClusterComponentType" } else { "ComponentType" }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &Text {
        &self.0.found.metadata.name
    }

    /// Returns its document.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.0.document
    }

    /// Returns the schemas of its parameters.
    #[must_use]
    pub fn sections(&self) -> &Sections {
        &self.0.found.sections
    }

    /// Renders its resources alone, if its rules hold, with the variables in `context`.
    #[must_use]
    pub fn render(&self, context: &RenderContext, options: &RenderOptions) -> Rendering {
        let mut run = RenderRun::new(options.trace);
        let writers = vec![self.applied()];
        let manifests = self.make(context, &writers, &mut run);
        finish_rendering(manifests, writers, run, options)
    }

    /// Returns the `postRenderValidations` that `manifests` violate.
    #[must_use]
    pub fn judge(&self, manifests: &[Manifest], context: &RenderContext) -> Vec<Diagnostic> {
        let mut run = RenderRun::new(false);
        self.assert(manifests, context, &mut run);
        run.diagnostics
    }

    /// Returns the parameters and environment configs for each of its traits, null if there are none, and the failures.
    #[must_use]
    pub fn bindings(&self, context: &RenderContext) -> (Vec<(Value, Value)>, Vec<Diagnostic>) {
        let mut run = RenderRun::new(false);
        let bound = self.bound(context, &mut run);
        (bound, run.diagnostics)
    }

    pub(crate) fn program(&self) -> &program::ComponentTypeProgram {
        &self.0.program
    }

    pub(super) fn found(&self) -> &source::ComponentTypeDefinition {
        &self.0.found
    }

    pub(super) fn applied(&self) -> AppliedInstance {
        let start = self.document().locate(&[]);
        AppliedInstance::other(self.kind(), self.name().clone(), start, Arc::clone(&self.0.parts))
    }

    /// Renders its resources, which must be complete manifests. It is the first of `writers`.
    pub(super) fn make(
        &self,
        context: &RenderContext,
        writers: &[AppliedInstance],
        run: &mut RenderRun,
    ) -> Vec<Manifest> {
        run.trace.open();
        let mut evaluator = Evaluator::new(self.document(), context, 0, run);
        let holds = evaluator.rules(&self.0.program.before);
        let manifests = if holds { evaluator.resources(&self.0.program) } else { Vec::new() };
        let mut found = Vec::new();
        check_rendered_manifests(&manifests, writers, &mut found);
        // Duplicates are reported after the traits, which may still rename or remove them.
        run.diagnostics.extend(found.into_iter().filter(Diagnostic::is_error));
        let failed = has_failed(run);
        run.trace.close(|| TraceEntry {
            what: writers.first().map(ToString::to_string).unwrap_or_default(),
            found: String::new(),
            wanted: String::new(),
            verdict: if failed { TraceVerdict::Error } else { TraceVerdict::Done },
            location: Some(self.document().locate(&[])),
        });
        manifests
    }

    pub(super) fn assert(&self, manifests: &[Manifest], context: &RenderContext, run: &mut RenderRun) {
        Evaluator::new(self.document(), context, 0, run).assertions(&self.0.program.after, manifests);
    }

    pub(super) fn bound(&self, context: &RenderContext, run: &mut RenderRun) -> Vec<(Value, Value)> {
        let mut evaluator = Evaluator::new(self.document(), context, 0, run);
        let mut both = |given: &program::TraitBinding| {
            let parameters = evaluator.render_binding(given.parameters.as_ref());
            let configs = evaluator.render_binding(given.environment_configs.as_ref());
            (parameters.unwrap_or_default(), configs.unwrap_or_default())
        };
        self.0.program.traits.iter().map(&mut both).collect()
    }
}
