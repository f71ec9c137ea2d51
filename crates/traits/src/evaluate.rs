//! Running a trait over manifests: what it creates, then what it patches, then what it removes.
//!
//! Everything that fails is a diagnostic with its place in the trait. A failure ends the patch or template in which
//! it is, not its neighbours, so that all mistakes of a trait are told at once.

mod create;
mod patch;
mod rules;
mod story;
mod target;
#[cfg(test)]
mod tests;
mod value;

use kubewright_engine::Diagnostic;
use kubewright_interpolate::{RenderedValue, ValueTemplate as Structure};
use kubewright_value::{Budget, Document, Limits, Value};

use super::compile::program::{ComponentType, Trait};
use super::manifest::{Manifest, Writer};
use super::variables::{Context, Names};
use kubewright_dialect_kit::fields::Located;
pub(crate) use story::{Said, Story};

/// What one instance may spend.
const LIMITS: Limits = Limits { steps: 20_000_000, bytes: 256 << 20, depth: 256 };

/// What is kept from the first instance to the last.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) story: Story,
}

impl Run {
    /// Returns an empty run, which keeps its story if `is_told`.
    pub(crate) fn new(is_told: bool) -> Self {
        Self { story: if is_told { Story::told() } else { Story::default() }, ..Self::default() }
    }
}

/// A trait or component type with what it is given.
pub(crate) struct Evaluator<'r> {
    /// Where it was read from.
    document: &'r Document,
    context: &'r Context,
    /// Its number among the instances.
    instance: u32,
    budget: Budget,
    /// Whether the budget is used up. Nothing more is tried then: an expression may do a lot before it is charged.
    is_spent: bool,
    run: &'r mut Run,
}

/// What cannot be done, and why.
type Outcome<T> = Result<T, Box<Diagnostic>>;

impl<'r> Evaluator<'r> {
    pub(crate) fn new(document: &'r Document, context: &'r Context, instance: u32, run: &'r mut Run) -> Self {
        Self { document, context, instance, budget: Budget::new(LIMITS), is_spent: false, run }
    }

    /// Applies `program` to `manifests`.
    pub(crate) fn apply(&mut self, program: &Trait, manifests: &mut Vec<Manifest>) {
        self.creates(&program.creates, manifests);
        for (number, patch) in program.patches.iter().enumerate() {
            if self.is_spent {
                break;
            }
            let done = self.patch(number, patch, manifests);
            self.keep(done);
        }
        self.removes(&program.removes, manifests);
    }

    /// Returns the resources of `program`.
    pub(crate) fn resources(&mut self, program: &ComponentType) -> Vec<Manifest> {
        let mut manifests = Vec::new();
        self.creates(&program.resources, &mut manifests);
        manifests
    }

    /// Returns what a component type gives to one of its traits; nothing where it gives nothing or that fails.
    pub(crate) fn bound(&mut self, given: Option<&Located<Structure>>) -> Option<Value> {
        let names = Names::of(self.context);
        let rendered = given.map(|given| self.content(given, &names)).transpose();
        match self.keep(rendered)?? {
            RenderedValue::Value(value) => Some(value),
            RenderedValue::Omitted => None,
        }
    }

    /// Keeps a failure, and returns what was made.
    fn keep<T>(&mut self, outcome: Outcome<T>) -> Option<T> {
        outcome.map_err(|diagnostic| self.run.diagnostics.push(*diagnostic)).ok()
    }

    fn writer(&self, part: u32) -> Writer {
        Writer { instance: self.instance, part }
    }
}
