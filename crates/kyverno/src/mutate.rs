//! Rules that change objects: by a patch that looks like the object, by operations, or element by element.
//!
//! A patch is applied to a copy, so a rule that fails has changed nothing.

mod loops;
pub(crate) mod operations;
pub(crate) mod overlay;
mod resolve;
pub(crate) mod targets;
mod wording;

pub(crate) use loops::MutationLoop;

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_engine::{Effect, EvalError, TraceNode, TraceVerdict, object_reference};
use kubewright_k8s::{FieldMerge, MergeKey, MergeType, PodTemplatePath};
use kubewright_patch::Pointer;
use kubewright_patch::strategic::{
    ElementKey, ListKeys, MergeEffect, MergeSchema, MergeStep, ObjectPatch, PatchEntry, SchemaMerge,
    StrategicMerge, StrategicPatch,
};
use kubewright_value::{Location, Step, Text, Value};

use crate::context::{Unresolved, VariableContext};
use crate::template::VariableTemplate;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use operations::OperationList;
use overlay::OverlayNode;
use resolve::{OverlayResolver, OverlayStop};
use targets::MutationTarget;

/// What a rule changes.
pub(crate) struct Mutation {
    pub(crate) patch: MutationPatch,
    /// The objects that are changed in place of the one under review.
    pub(crate) targets: Vec<MutationTarget>,
    /// Whether the rule is also for objects that are deleted; only one with targets can be.
    pub(crate) is_for_deletions: bool,
}

/// How an object is changed.
pub(crate) enum MutationPatch {
    StrategicMerge(StrategicOverlay),
    Json6902 {
        operations: OperationList,
        path: Vec<Step>,
        /// Where each operation is written.
        places: Vec<Location>,
    },
    Foreach(Vec<MutationLoop>),
}

/// A patch that looks like the object.
pub(crate) struct StrategicOverlay {
    pub(crate) source: OverlaySource,
    /// Below which part of the object it is merged.
    pub(crate) workload: PodTemplatePath,
    /// The path in the document.
    pub(crate) path: Vec<Step>,
}

/// Where the patch itself comes from.
pub(crate) enum OverlaySource {
    /// It is the same for every object.
    Constant(Arc<OverlayNode>),
    /// It has variables in it, and is made for each object.
    Variable(VariableTemplate),
}

/// An object after a patch.
pub(crate) struct PatchedObject {
    pub(crate) object: Value,
    /// Whether a part of the patch was for the object: it has that part now, and perhaps had it before.
    pub(crate) is_fitting: bool,
}

impl Mutation {
    /// Returns the changed form of `object`, which may be the same.
    pub(crate) fn apply<'a>(
        &'a self,
        object: &Value,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Result<PatchedObject, EvalError> {
        let changed = self.patch.apply(object, context, notes, 0)?;
        match changed.object.str_at(&["kind"]) {
            "" if !object.str_at(&["kind"]).is_empty() => {
                let shown = kubewright_value::bounded::shortened_json(&changed.object, 200);
                let message =
                    format!("failed to unmarshal patched resource: Object 'Kind' is missing in '{shown}'");
                Err(EvalError::new(message))
            }
            _ => Ok(changed),
        }
    }

    /// Returns the effect of a rule that left an object as it was. `is_target` is whether the object is not that of the
    /// request.
    pub(crate) fn unchanged(&self, patched: &PatchedObject, is_target: bool) -> Effect {
        let message = Text::new_static(match self.patch {
            MutationPatch::Foreach(_) => "0 elements processed",
            _ => "no patches applied",
        });
        match patched.is_fitting {
            false => Effect::Skip { message, exceptions: Vec::new() },
            true => Effect::Settled {
                message,
                applied: mutated_message(&patched.object),
                reference: is_target.then(|| object_reference(&patched.object)),
            },
        }
    }

    /// Returns the parts that a test can leave out.
    pub(crate) fn branches(&self, into: &mut Vec<(String, Vec<Step>)>) {
        for (index, target) in self.targets.iter().enumerate() {
            into.push((format!("targets[{index}]"), target.path.clone()));
        }
        self.patch.branches(into);
    }
}

impl MutationPatch {
    /// Returns the changed form of `object`, which is in so many loops.
    fn apply<'a>(
        &'a self,
        object: &Value,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
        nesting: usize,
    ) -> Result<PatchedObject, EvalError> {
        match self {
            Self::StrategicMerge(overlay) => overlay.apply(object, context, notes),
            Self::Json6902 { operations, path, places } => {
                let changed = operations.apply(object, context).map_err(|(failed, error)| {
                    let place = places.get(failed).cloned();
                    place.into_iter().fold(error, EvalError::at)
                });
                notes.say(|| operations_note(path, object, &changed));
                changed.map(|object| PatchedObject { object, is_fitting: true })
            }
            Self::Foreach(loops) => loops::run_loops(loops, object, context, notes, nesting),
        }
    }

    fn branches(&self, into: &mut Vec<(String, Vec<Step>)>) {
        match self {
            Self::StrategicMerge(overlay) => {
                if let OverlaySource::Constant(node) = &overlay.source {
                    node.branches(&mut overlay.path.clone(), into);
                }
            }
            Self::Json6902 { .. } => {}
            Self::Foreach(loops) => {
                for (index, one) in loops.iter().enumerate() {
                    into.push((format!("foreach[{index}]"), one.path.clone()));
                    one.patch.branches(into);
                }
            }
        }
    }
}

impl StrategicOverlay {
    fn apply(
        &self,
        object: &Value,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<PatchedObject, EvalError> {
        let node = match &self.source {
            OverlaySource::Constant(node) => Cow::Borrowed(node.as_ref()),
            OverlaySource::Variable(template) => {
                let resolved = template.resolve(context).map_err(unresolved_variable)?;
                context.budget().transient(|budget| overlay::charge_overlay(&resolved, budget))?;
                Cow::Owned(OverlayNode::compile(&resolved))
            }
        };
        let keys = self.workload.keys();
        let place: Vec<Step> = keys.iter().map(|key| Step::from(*key)).collect();
        let mark = notes.mark();
        let mut resolver =
            OverlayResolver { budget: context.budget(), notes, at: Vec::new(), place, is_there: false };
        let resolved = resolver.node(&node, object.at(keys));
        let is_there = resolver.is_there;
        notes.rebase(mark, &self.path);
        let unchanged = |is_fitting| Ok(PatchedObject { object: object.clone(), is_fitting });
        let patch = match resolved {
            Ok(Some(patch)) => keys.iter().rev().fold(patch, |patch, key| below_key(key, patch)),
            Ok(None) => return unchanged(is_there),
            Err(OverlayStop::Condition | OverlayStop::Global) => return unchanged(false),
            Err(OverlayStop::NotAList(found, path)) => return Err(wording::not_a_list(&found, path)),
            Err(OverlayStop::Exhausted(exhausted)) => return Err(exhausted.into()),
        };
        let object = self.merge(object, &patch, context, notes)?;
        Ok(PatchedObject { object, is_fitting: true })
    }

    fn merge(
        &self,
        object: &Value,
        patch: &StrategicPatch,
        context: &mut VariableContext<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Value, EvalError> {
        let mut merged = object.clone();
        let is_traced = notes.is_on();
        let added = self.workload.keys().len();
        let mut tell = |step: MergeStep<'_>| notes.say(|| merge_note(&step, &self.path, added));
        let merge = StrategicMerge::new(&KubernetesLists, context.budget());
        let done = match is_traced {
            true => merge.observed(&mut tell).merge(&mut merged, patch),
            false => merge.merge(&mut merged, patch),
        };
        match done {
            Ok(true) => Ok(merged),
            Ok(false) => Ok(object.clone()),
            Err(error) => Err(wording::strategic_error(&error)),
        }
    }
}

/// The lists of Kubernetes' built-in kinds.
struct KubernetesLists;

impl MergeSchema for KubernetesLists {
    type Type = &'static MergeType;

    fn of_kind(&self, api_version: &str, kind: &str) -> Option<&'static MergeType> {
        MergeType::of_kind(api_version, kind)
    }

    fn field(&self, of: &'static MergeType, name: &str) -> SchemaMerge<&'static MergeType> {
        let key = |key: &MergeKey| ElementKey { name: key.name, default: key.default };
        match of.field(name) {
            Some(FieldMerge::Object(below)) => SchemaMerge::Object(below),
            Some(FieldMerge::Set) => SchemaMerge::Set,
            Some(FieldMerge::Keyed(keys, element)) => match keys {
                [first, rest @ ..] => {
                    let keys = ListKeys { first: key(first), second: rest.first().map(key) };
                    SchemaMerge::Keyed(keys, element)
                }
                [] => SchemaMerge::Replace,
            },
            None => SchemaMerge::Replace,
        }
    }
}

/// Returns the message of a rule that changed the object into `changed`.
pub(crate) fn mutated_message(changed: &Value) -> Text {
    let metadata = |key: &str| changed.str_at(&["metadata", key]);
    let (kind, name) = (changed.str_at(&["kind"]), metadata("name"));
    match metadata("namespace") {
        "" => format!("mutated {kind}/{name}").into(),
        namespace => format!("mutated {kind}/{name} in namespace {namespace}").into(),
    }
}

/// Returns the error of a variable in a patch.
fn unresolved_variable(unresolved: Unresolved) -> EvalError {
    unresolved.within("variable substitution failed: ").into()
}

fn below_key(key: &str, patch: StrategicPatch) -> StrategicPatch {
    let entry = PatchEntry { key: key.into(), written: key.into(), patch };
    StrategicPatch::Object(ObjectPatch { directive: None, entries: vec![entry] })
}

/// Returns the trace text of a change, whose path in the patch begins with so many `added` keys.
fn merge_note(step: &MergeStep<'_>, path: &[Step], added: usize) -> TraceNote {
    let what = match step.effect {
        MergeEffect::Set => "set",
        MergeEffect::Removed => "remove",
        MergeEffect::Inserted => "insert",
        MergeEffect::Replaced => "replace",
    };
    let show = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), TraceNode::show);
    TraceNote {
        what: format!("{what} {}", Pointer::from_steps(step.at)),
        found: show(step.before),
        wanted: show(step.after),
        verdict: TraceVerdict::Done,
        at: [path, step.from.get(added..).unwrap_or_default()].concat(),
        ..TraceNote::default()
    }
}

fn operations_note(path: &[Step], before: &Value, changed: &Result<Value, EvalError>) -> TraceNote {
    let note = TraceNote::new("patchesJson6902".to_owned(), TraceVerdict::Done, path.to_vec());
    let error = match changed {
        Ok(after) => {
            let count = kubewright_patch::diff_values(before, after).len();
            let found = if count == 1 { "1 change".to_owned() } else { format!("{count} changes") };
            return TraceNote { found, ..note };
        }
        Err(error) => error,
    };
    let reason = error.reason.as_deref().cloned().unwrap_or_default();
    TraceNote {
        found: if reason.text.is_empty() { error.message.clone() } else { reason.text },
        verdict: TraceVerdict::Error,
        subject: reason.path,
        help: reason.help,
        elsewhere: error.location.clone(),
        ..note
    }
}

#[cfg(test)]
mod tests;
