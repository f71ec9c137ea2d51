//! Running a trait over manifests: what it creates, then what it patches, then what it removes.
//!
//! Everything that fails is a diagnostic with its place in the trait. A failure ends the patch or template in which
//! it is, not its neighbours, so that all mistakes of a trait are told at once.

mod create;
mod patch;
mod rules;
mod target;
#[cfg(test)]
mod tests;
mod trace;
mod value;

use kubewright_engine::Diagnostic;
use kubewright_interpolate::{Rendered, Template as Structure};
use kubewright_value::{Budget, Document, Limits, Value};

use super::compile::program::{ComponentTypeProgram, TraitProgram};
use super::manifest::{Manifest, ManifestWriter};
use super::variables::{RenderContext, VariableScope};
use kubewright_dialect_kit::fields::Placed;
pub(crate) use trace::{RenderTrace, TraceEntry};

/// What one instance may spend.
const INSTANCE_LIMITS: Limits = Limits { steps: 20_000_000, bytes: 256 << 20, depth: 256 };

/// What is kept from the first instance to the last.
#[derive(Debug, Default)]
pub(crate) struct RenderRun {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) trace: RenderTrace,
}

impl RenderRun {
    /// Returns an empty run, which keeps its trace if `is_traced`.
    pub(crate) fn new(is_traced: bool) -> Self {
        Self {
            trace: if is_traced { RenderTrace::recording() } else { RenderTrace::default() },
            ..Self::default()
        }
    }
}

/// A trait or component type with what it is given.
pub(crate) struct Evaluator<'r> {
    /// Where it was read from.
    document: &'r Document,
    context: &'r RenderContext,
    /// Its number among the instances.
    instance: u32,
    budget: Budget,
    /// Whether the budget is used up. Nothing more is tried then: an expression may do a lot before it is charged.
    is_spent: bool,
    run: &'r mut RenderRun,
}

/// What cannot be done, and why.
type StepResult<T> = Result<T, Box<Diagnostic>>;

impl<'r> Evaluator<'r> {
    pub(crate) fn new(
        document: &'r Document,
        context: &'r RenderContext,
        instance: u32,
        run: &'r mut RenderRun,
    ) -> Self {
        Self { document, context, instance, budget: Budget::new(INSTANCE_LIMITS), is_spent: false, run }
    }

    /// Applies `program` to `manifests`.
    pub(crate) fn apply(&mut self, program: &TraitProgram, manifests: &mut Vec<Manifest>) {
        self.creates(&program.creates, manifests);
        for (number, patch) in program.patches.iter().enumerate() {
            if self.is_spent {
                break;
            }
            let done = self.patch(number, patch, manifests);
            self.record_failure(done);
        }
        self.removes(&program.removes, manifests);
    }

    /// Returns the resources of `program`.
    pub(crate) fn resources(&mut self, program: &ComponentTypeProgram) -> Vec<Manifest> {
        let mut manifests = Vec::new();
        self.creates(&program.resources, &mut manifests);
        manifests
    }

    /// Returns what a component type gives to one of its traits; nothing where it gives nothing or that fails.
    pub(crate) fn render_binding(&mut self, given: Option<&Placed<Structure>>) -> Option<Value> {
        let names = VariableScope::of(self.context);
        let rendered = given.map(|given| self.content(given, &names)).transpose();
        match self.record_failure(rendered)?? {
            Rendered::Value(value) => Some(value),
            Rendered::Omitted => None,
        }
    }

    /// Keeps a failure, and returns what was made.
    fn record_failure<T>(&mut self, outcome: StepResult<T>) -> Option<T> {
        outcome.map_err(|diagnostic| self.run.diagnostics.push(*diagnostic)).ok()
    }

    fn writer(&self, part: u32) -> ManifestWriter {
        ManifestWriter { instance: self.instance, part }
    }
}
