//! A compiled component type, and what it does on its own.

use std::sync::Arc;

use kubewright_engine::{Diagnostic, TraceVerdict};
use kubewright_value::{Document, Location, Text, Value};

use super::super::compile::{self, program};
use super::super::evaluate::{Evaluator, Run, Said};
use super::super::manifest::Manifest;
use super::super::render::{Applied, RenderOptions, Rendering, check, finish, has_failed};
use super::super::schema::Sections;
use super::super::source::{self, Resource};
use super::super::variables::Context;

/// A compiled ComponentType or ClusterComponentType. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct ComponentType(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    document: Document,
    found: source::ComponentType,
    program: program::ComponentType,
    /// Where each of its resources stands.
    parts: Arc<[Location]>,
}

impl ComponentType {
    /// Compiles `document`, in which expressions may also use the variables `more`. Nothing where it is no component type.
    #[must_use]
    pub fn compile(document: &Document, more: &[Text]) -> (Option<Self>, Vec<Diagnostic>) {
        let (resource, mut diagnostics) = source::read(document);
        let Some(Resource::ComponentType(found)) = resource else { return (None, diagnostics) };
        let (program, wrong) = compile::compile_type(&found, document, more);
        diagnostics.extend(wrong);
        let parts = program.resources.iter().map(|resource| document.locate(&resource.path)).collect();
        (Some(Self(Arc::new(Inner { document: document.clone(), found, program, parts }))), diagnostics)
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

    /// Returns what it was read from.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.0.document
    }

    /// Returns the schemas of what it can be given.
    #[must_use]
    pub fn sections(&self) -> &Sections {
        &self.0.found.sections
    }

    /// Renders its resources alone, if its rules hold, with everything that its expressions see in `context`.
    #[must_use]
    pub fn render(&self, context: &Context, options: &RenderOptions) -> Rendering {
        let mut run = Run::new(options.trace);
        let writers = vec![self.applied()];
        let manifests = self.make(context, &writers, &mut run);
        finish(manifests, writers, run, options)
    }

    /// Returns what its rules about rendered manifests find wrong with `manifests`.
    #[must_use]
    pub fn judge(&self, manifests: &[Manifest], context: &Context) -> Vec<Diagnostic> {
        let mut run = Run::new(false);
        self.assert(manifests, context, &mut run);
        run.diagnostics
    }

    /// Returns the parameters and environment configs that it gives to each of its traits, null where it gives none; and
    /// what fails.
    #[must_use]
    pub fn bindings(&self, context: &Context) -> (Vec<(Value, Value)>, Vec<Diagnostic>) {
        let mut run = Run::new(false);
        let bound = self.bound(context, &mut run);
        (bound, run.diagnostics)
    }

    pub(crate) fn program(&self) -> &program::ComponentType {
        &self.0.program
    }

    pub(super) fn found(&self) -> &source::ComponentType {
        &self.0.found
    }

    pub(super) fn applied(&self) -> Applied {
        let start = self.document().locate(&[]);
        Applied::other(self.kind(), self.name().clone(), start, Arc::clone(&self.0.parts))
    }

    /// Makes its resources, which must be manifests by themselves. It is the first of `writers`.
    pub(super) fn make(&self, context: &Context, writers: &[Applied], run: &mut Run) -> Vec<Manifest> {
        run.story.open();
        let mut evaluator = Evaluator::new(self.document(), context, 0, run);
        let holds = evaluator.rules(&self.0.program.before);
        let manifests = if holds { evaluator.resources(&self.0.program) } else { Vec::new() };
        let mut found = Vec::new();
        check(&manifests, writers, &mut found);
        // What is there twice is told at the end, when traits had their chance.
        run.diagnostics.extend(found.into_iter().filter(Diagnostic::is_error));
        let failed = has_failed(run);
        run.story.close(|| Said {
            what: writers.first().map(ToString::to_string).unwrap_or_default(),
            found: String::new(),
            wanted: String::new(),
            verdict: if failed { TraceVerdict::Error } else { TraceVerdict::Done },
            location: Some(self.document().locate(&[])),
        });
        manifests
    }

    pub(super) fn assert(&self, manifests: &[Manifest], context: &Context, run: &mut Run) {
        Evaluator::new(self.document(), context, 0, run).assertions(&self.0.program.after, manifests);
    }

    pub(super) fn bound(&self, context: &Context, run: &mut Run) -> Vec<(Value, Value)> {
        let mut evaluator = Evaluator::new(self.document(), context, 0, run);
        let mut both = |given: &program::Given| {
            let parameters = evaluator.bound(given.parameters.as_ref());
            let configs = evaluator.bound(given.environment_configs.as_ref());
            (parameters.unwrap_or_default(), configs.unwrap_or_default())
        };
        self.0.program.traits.iter().map(&mut both).collect()
    }
}
