//! The evaluation of a trait over manifests: `creates`, then `patches`, then `removes`.
//!
//! Every failure is a diagnostic with its place in the trait. A failure ends its own patch or template and not the
//! others, so that one run reports all mistakes of a trait.

mod create;
mod patch;
mod rules;
mod target;
#[cfg(test)]
mod tests;
mod trace;
mod value;

use kubewright_engine::Diagnostic;
use kubewright_interpolate::{RenderedValue, ValueTemplate as Structure};
use kubewright_value::{Budget, Document, Limits, Value};

use super::compile::program::{ComponentTypeProgram, TraitProgram};
use super::manifest::{Manifest, ManifestWriter};
use super::variables::{RenderContext, VariableScope};
use kubewright_dialect_kit::fields::Located;
pub(crate) use trace::{RenderTrace, TraceEntry};

/// The budget of one instance.
const INSTANCE_LIMITS: Limits = Limits { steps: 20_000_000, bytes: 256 << 20, depth: 256 };

/// The state of a rendering across its instances.
#[derive(Debug, Default)]
pub(crate) struct RenderRun {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) trace: RenderTrace,
}

impl RenderRun {
    /// Returns an empty run, which records a trace if `is_traced`.
    pub(crate) fn new(is_traced: bool) -> Self {
        Self {
            trace: if is_traced { RenderTrace::recording() } else { RenderTrace::default() },
            ..Self::default()
        }
    }
}

/// The evaluation of one trait or component type with its variables.
pub(crate) struct Evaluator<'r> {
    /// The document it was read from.
    document: &'r Document,
    context: &'r RenderContext,
    /// The index among the instances.
    instance: u32,
    budget: Budget,
    /// Whether the budget is used up. Evaluation stops then, because an expression is charged only after it ran.
    is_spent: bool,
    run: &'r mut RenderRun,
}

/// A value, or the diagnostic that explains why there is none.
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

    /// Returns the values that a component type binds for one of its traits; `None` if there are none or they fail.
    pub(crate) fn render_binding(&mut self, given: Option<&Located<Structure>>) -> Option<Value> {
        let names = VariableScope::of(self.context);
        let rendered = given.map(|given| self.content(given, &names)).transpose();
        match self.record_failure(rendered)?? {
            RenderedValue::Value(value) => Some(value),
            RenderedValue::Omitted => None,
        }
    }

    /// Records a failure as a diagnostic, and returns the value.
    fn record_failure<T>(&mut self, outcome: StepResult<T>) -> Option<T> {
        outcome.map_err(|diagnostic| self.run.diagnostics.push(*diagnostic)).ok()
    }

    fn writer(&self, part: u32) -> ManifestWriter {
        ManifestWriter { instance: self.instance, part }
    }
}
