//! Patterns: an object that looks like the ones it accepts, with wildcards, operators and anchors in it.
//!
//! A pattern is compiled once and compared often. Only operators, wildcards and anchors that the author wrote count;
//! values from elsewhere are compared literally. Whether an object is skipped or refused is decided by types, never by
//! the text of a message.

mod compile;
pub mod leaf;
pub(super) mod lint;
pub mod node;
mod place;
mod quick;
mod stop;
mod walk;
mod written;

use std::sync::Arc;

use kubewright_engine::TraceNode;
use kubewright_value::{Budget, Exhausted, PositionHint, Step, Text, Value, bounded};

use super::tainted::{Tainted, TaintedPart};
use compile::PatternCompiler;
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_k8s::PodTemplatePath;
pub(super) use lint::{PatternLint, PatternLintKind, lint_pattern};
use node::{Exists, MapNode, PatternEntry, PatternNode};
use place::ComparedPath;
use stop::{ComparisonStop, Halt, MismatchReport};
use walk::PatternComparison;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct ValidatePattern {
    /// The root of its tree.
    pub node: Arc<PatternNode>,
    // As it is written, foreign parts included.
    source: Value,
    // Whether most objects fit it, so that a look at values alone is worth it.
    is_quick: bool,
}

/// The result of comparing an object with a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternVerdict {
    /// The object fits.
    Pass,
    /// The object is skipped because a condition does not hold.
    Skip {
        /// The condition, in Kyverno's wording.
        message: String,
        /// The path of the condition in the pattern.
        at: Vec<Step>,
    },
    /// The object does not match, but a condition names a key that it has nowhere.
    Error {
        /// The condition, in Kyverno's wording.
        message: String,
        /// The path of the condition in the pattern.
        at: Vec<Step>,
    },
    /// The object does not fit.
    Fail(Mismatch),
}

/// How an object is compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternCheck {
    /// Whether a mismatch has paths and values.
    pub(super) wants_places: bool,
    /// Whether a mismatch has a message. Without places it may be left out.
    pub(super) wants_message: bool,
    /// Whether a look at the values was taken before, and could not tell that the object fits.
    pub(super) may_not_fit: bool,
}

impl Default for PatternCheck {
    fn default() -> Self {
        Self { wants_places: true, wants_message: true, may_not_fit: false }
    }
}

/// A mismatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// As Kyverno prints it: `/spec/containers/0/image/`.
    pub text_path: String,
    /// In the object.
    pub path: Vec<Step>,
    /// In the pattern, with its anchors.
    pub at: Vec<Step>,
    /// The value in the pattern.
    pub wanted: String,
    /// The value in the object.
    pub found: String,
    /// The reason, in Kyverno's wording; empty where it is not wanted.
    pub message: String,
}

impl ValidatePattern {
    /// Compiles a `pattern`.
    #[must_use]
    pub fn compile(source: &Tainted) -> Self {
        Self::compile_with(source, PatternCompiler { has_doubles: false })
    }

    /// Compiles an entry of an `anyPattern`, in which all numbers are doubles: there `5` fits the text `5.0`.
    #[must_use]
    pub fn compile_entry(source: &Tainted) -> Self {
        Self::compile_with(source, PatternCompiler { has_doubles: true })
    }

    fn compile_with(source: &Tainted, compiler: PatternCompiler) -> Self {
        let node = Arc::new(compiler.compile(source));
        Self { is_quick: quick::is_quick(&node), node, source: source.plain().into_owned() }
    }

    /// Returns the pattern for Pod templates; it is not compiled again.
    #[must_use]
    pub fn under(self: Arc<Self>, to: PodTemplatePath) -> Self {
        let node = to.keys().iter().rev().fold(Arc::clone(&self.node), |node, key| {
            let entry = PatternEntry {
                position_hint: PositionHint::default(),
                raw: Text::new(key),
                key: Text::new(key),
                anchor: None,
                wild: None,
                wants_any: false,
                is_added: true,
                value: PatternNode::Shared(node),
            };
            Arc::new(PatternNode::Map(MapNode { rest: vec![entry], ..MapNode::default() }))
        });
        Self { node, source: self.source.clone(), is_quick: self.is_quick }
    }

    /// Compares `object` with the pattern.
    ///
    /// # Errors
    /// When that takes more than the budget has left.
    pub fn check(
        &self,
        object: &Value,
        budget: &mut Budget,
        notes: &mut TraceNotes,
    ) -> Result<PatternVerdict, Exhausted> {
        self.check_told(object, PatternCheck::default(), budget, notes)
    }

    /// Compares `object` with the pattern.
    ///
    /// # Errors
    /// When that takes more than the budget has left.
    pub(super) fn check_told(
        &self,
        object: &Value,
        check: PatternCheck,
        budget: &mut Budget,
        notes: &mut TraceNotes,
    ) -> Result<PatternVerdict, Exhausted> {
        let source = &self.source;
        if !notes.is_on() && self.is_quick {
            if !check.may_not_fit && self.surely_fits(object, budget)? {
                return Ok(PatternVerdict::Pass);
            }
        } else if !notes.is_on() {
            let mut walk = PatternComparison::new(budget, notes, source);
            match walk.node(&self.node, object, &ComparedPath::ROOT) {
                Ok(()) => return Ok(PatternVerdict::Pass),
                Err(Halt::Exhausted(exhausted)) => return Err(exhausted),
                Err(Halt::Stop(_)) => {}
            }
        }
        let verdict = self.explained(object, check, budget, notes)?;
        match &verdict {
            // It is an error for a reason that the walk saw elsewhere, and errors have a message.
            PatternVerdict::Error { message, .. } if message.is_empty() && !check.wants_message => {
                self.explained(object, PatternCheck { wants_message: true, ..check }, budget, notes)
            }
            _ => Ok(verdict),
        }
    }

    /// Compares `object` with the pattern by the walk that explains.
    fn explained(
        &self,
        object: &Value,
        check: PatternCheck,
        budget: &mut Budget,
        notes: &mut TraceNotes,
    ) -> Result<PatternVerdict, Exhausted> {
        let mut walk = PatternComparison::new(budget, notes, &self.source);
        walk.tells = true;
        walk.wants_places = check.wants_places;
        walk.wants_message = check.wants_message || check.wants_places || walk.notes.is_on();
        match walk.node(&self.node, object, &ComparedPath::ROOT) {
            Ok(()) => Ok(PatternVerdict::Pass),
            Err(Halt::Exhausted(exhausted)) => Err(exhausted),
            Err(Halt::Stop(stop)) => Ok(pattern_verdict(stop, &walk.sought)),
        }
    }

    /// Returns whether `object` fits by a look at its values alone; otherwise it may or may not.
    ///
    /// # Errors
    /// When that takes more than the budget has left.
    pub(super) fn surely_fits(&self, object: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        Ok(self.is_quick && quick::surely_fits(&self.node, object, budget)?)
    }

    /// Returns every anchor that can be looked at, as it is written, and its place in the pattern.
    #[must_use]
    pub fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let mut found = Vec::new();
        anchors(&self.node, &mut Vec::new(), &self.source, &mut found);
        found
    }
}

/// The memory of a compiled node, with its key and its place in the source.
const NODE_BYTES: usize =
    size_of::<PatternEntry>() + size_of::<leaf::text::TermComparison>() + 4 * size_of::<Tainted>();

/// How often a text is copied when it is compiled: as it is, without its operator, as wildcards, and on the way there.
const TEXT_COPIES: usize = 5;

/// Charges the compilation of `source`.
///
/// # Errors
/// When the budget is used up.
pub fn charge_pattern(source: &Tainted, budget: &mut Budget) -> Result<(), Exhausted> {
    let text = |parts: &[TaintedPart], budget: &mut Budget| {
        let length = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.text.len()));
        budget.produce(length.saturating_mul(TEXT_COPIES))
    };
    match source {
        Tainted::Trusted(value) | Tainted::Untrusted(value) => {
            bounded::charge_tree(value, NODE_BYTES, TEXT_COPIES, budget)
        }
        Tainted::Text(parts) => {
            budget.produce(NODE_BYTES)?;
            text(parts, budget)
        }
        Tainted::List(items) => items.iter().try_for_each(|item| charge_pattern(item, budget)),
        Tainted::Map(entries) => entries.iter().try_for_each(|(key, value)| {
            text(key, budget)?;
            charge_pattern(value, budget)
        }),
    }
}

fn pattern_verdict(stop: ComparisonStop, sought: &[(Text, bool)]) -> PatternVerdict {
    let kind = stop.kind;
    let Some(told) = stop.told else {
        return PatternVerdict::Error { message: String::new(), at: Vec::new() };
    };
    let MismatchReport { message, text_path, path, at, wanted, found, .. } = *told;
    if kind.is_skip() {
        return PatternVerdict::Skip { message, at };
    }
    let is_unsure = kind == stop::StopKind::Mismatch && sought.iter().any(|(_, is_there)| !is_there);
    match text_path {
        Some(text_path) if !is_unsure => {
            PatternVerdict::Fail(Mismatch { text_path, path, at, wanted, found, message })
        }
        _ => PatternVerdict::Error { message, at },
    }
}

fn anchors(node: &PatternNode, at: &mut Vec<Step>, source: &Value, found: &mut Vec<(String, Vec<Step>)>) {
    match node {
        PatternNode::Map(map) => {
            for entry in map.anchors.iter().chain(&map.rest) {
                if !entry.is_added {
                    at.push(Step::Key(entry.raw.clone()));
                }
                if entry.anchor.is_some() {
                    let value = source.follow(at).map(TraceNode::show).unwrap_or_default();
                    found.push((format!("{}: {value}", entry.raw), at.clone()));
                }
                anchors(&entry.value, at, source, found);
                if !entry.is_added {
                    at.pop();
                }
            }
        }
        PatternNode::Each(node) => pattern_below(std::slice::from_ref(node), at, source, found),
        PatternNode::InOrder(nodes)
        | PatternNode::Exists(Exists::AllOf(nodes) | Exists::AllOfThenInvalid(nodes)) => {
            pattern_below(nodes, at, source, found);
        }
        PatternNode::Shared(node) => anchors(node, at, source, found),
        PatternNode::Leaf(_)
        | PatternNode::EachScalar(_)
        | PatternNode::EmptyList
        | PatternNode::Exists(Exists::NotList(_))
        | PatternNode::Ignored
        | PatternNode::TooDeep => {}
    }
}

fn pattern_below<N: std::borrow::Borrow<PatternNode>>(
    nodes: &[N],
    at: &mut Vec<Step>,
    source: &Value,
    found: &mut Vec<(String, Vec<Step>)>,
) {
    for (index, node) in nodes.iter().enumerate() {
        at.push(Step::Index(index));
        anchors(node.borrow(), at, source, found);
        at.pop();
    }
}

#[cfg(test)]
mod tests;
