//! The evaluation of patches.

use std::borrow::Cow;

use kubewright_cel::{CelBindings, CelCost};
use kubewright_engine::{Diagnostic, TraceNode, TraceVerdict};
use kubewright_interpolate::{RenderedPiece as Given, RenderedValue};
use kubewright_patch::Pointer;
use kubewright_patch::path::{
    PatchPath, PathChange, PathError, PathOp, PathPatchError, PathPatchErrorKind, PathPiece, PathSegment,
};
use kubewright_value::{Document, Location, Position, Step, Text, Value};

use super::target::{count_of, describe_target, explain_no_target};
use super::trace::TraceEntry;
use super::value::cut_text;
use super::{Evaluator, StepResult};
use crate::compile::program::{OperationProgram, PatchProgram, PathProgram};
use crate::diagnostics as code;
use crate::manifest::{Manifest, manifest_label};
use crate::place::{PatchSubject, SplitKey, escape_path_segment, split_key};
use crate::variables::VariableScope;
use kubewright_dialect_kit::fields::locate_within;

/// The maximum number of places of an operation in a trace.
const MAX_TRACED_PLACES: usize = 20;

/// The maximum length of a path or an error text in a message.
const MAX_SHOWN_PATH_CHARS: usize = 1000;

/// An operation with evaluated expressions.
struct RenderedOperation<'p> {
    operate: &'p OperationProgram,
    path: Cow<'p, PatchPath>,
    /// Null for `remove`.
    value: Value,
}

/// The matches of a patch over all items of its loop.
#[derive(Default)]
struct PatchHits {
    rounds: usize,
    candidates: usize,
    kept: usize,
    /// The manifests of another kind, group, version or plane, for the last item.
    others: usize,
    /// The target name for the last item.
    name: Option<Text>,
}

impl Evaluator<'_> {
    /// Applies patch `number`.
    pub(super) fn patch(
        &mut self,
        number: usize,
        patch: &PatchProgram,
        manifests: &mut [Manifest],
    ) -> StepResult<()> {
        self.run.trace.open();
        let mut hits = PatchHits::default();
        let done = self.run_rounds(patch, manifests, &mut hits);
        self.others(&patch.target, hits.others);
        let is_traced = self.run.trace.has_failure();
        let document: &Document = self.document;
        self.run.trace.close(|| {
            let (found, verdict) = match &done {
                Err(_) if is_traced => ("fails".to_owned(), TraceVerdict::Error),
                Err(failure) => (failure.message.clone(), TraceVerdict::Error),
                Ok(()) if hits.rounds == 0 => ("`forEach` goes through nothing".to_owned(), TraceVerdict::No),
                Ok(()) if hits.kept == 0 => ("hits nothing".to_owned(), TraceVerdict::No),
                Ok(()) if hits.rounds > 1 => {
                    let hits = format!(
                        "hits {} in {}",
                        count_of(hits.kept, "manifest"),
                        count_of(hits.rounds, "round")
                    );
                    (hits, TraceVerdict::Done)
                }
                Ok(()) => (format!("hits {}", count_of(hits.kept, "manifest")), TraceVerdict::Done),
            };
            let location = Some(document.locate(&patch.path));
            TraceEntry {
                what: format!("patch {}: {}", number + 1, describe_target(&patch.target)),
                found,
                wanted: String::new(),
                verdict,
                location,
            }
        });
        done?;
        if hits.kept == 0 && hits.rounds > 0 {
            self.report_no_hits(patch, manifests, &hits);
        }
        Ok(())
    }

    fn run_rounds(
        &mut self,
        patch: &PatchProgram,
        manifests: &mut [Manifest],
        hits: &mut PatchHits,
    ) -> StepResult<()> {
        let items = self.items(patch.each.as_ref())?;
        for (round, item) in items.iter().enumerate() {
            hits.rounds += 1;
            let names = VariableScope::within(self.context, patch.each.as_ref(), item);
            if items.is_loop() {
                self.run.trace.open();
            }
            let done = self.run_round(patch, &names, manifests, hits);
            if items.is_loop() {
                self.run.trace.close(|| TraceEntry {
                    what: format!("item {} of `forEach`", round + 1),
                    found: names
                        .item
                        .map(|(variable, item)| format!("{variable} = {}", TraceNode::show(item)))
                        .unwrap_or_default(),
                    wanted: String::new(),
                    verdict: if done.is_ok() { TraceVerdict::Done } else { TraceVerdict::Error },
                    location: None,
                });
            }
            done.map_err(|mut failure| {
                if items.is_loop() {
                    failure.label = format!("item {} of `forEach`", round + 1).into_boxed_str();
                }
                failure
            })?;
        }
        Ok(())
    }

    /// Applies all operations to all targets, for one item of the loop.
    fn run_round(
        &mut self,
        patch: &PatchProgram,
        names: &VariableScope<'_>,
        manifests: &mut [Manifest],
        hits: &mut PatchHits,
    ) -> StepResult<()> {
        let targets = self.targets(&patch.target, names, manifests)?;
        hits.candidates += targets.candidates;
        hits.kept += targets.kept.len();
        hits.others = targets.others;
        hits.name = targets.name;
        // Without a manifest of the kind nothing is evaluated; if only `where` is false, the values are still checked.
        if targets.candidates == 0 {
            return Ok(());
        }
        let mut ready = Vec::with_capacity(patch.operations.len());
        for operate in &patch.operations {
            ready.extend(self.render_operation(operate, names)?);
        }
        for at in targets.kept {
            let Some(manifest) = manifests.get_mut(at) else { continue };
            self.run.trace.open();
            let done = ready.iter().try_for_each(|operation| self.run_operation(operation, manifest));
            self.run.trace.close(|| TraceEntry {
                what: manifest_label(&manifest.object),
                found: count_of(ready.len(), "operation"),
                wanted: String::new(),
                verdict: if done.is_ok() { TraceVerdict::Done } else { TraceVerdict::Error },
                location: None,
            });
            done?;
        }
        Ok(())
    }

    /// Evaluates the path and value of an operation; `None` if the value is omitted, which skips the operation.
    fn render_operation<'p>(
        &mut self,
        operate: &'p OperationProgram,
        names: &VariableScope<'_>,
    ) -> StepResult<Option<RenderedOperation<'p>>> {
        let path = self.path(operate, names)?;
        let value = match &operate.value {
            None => Value::Null,
            Some(content) => match self.content(content, names)? {
                RenderedValue::Value(value) => value,
                RenderedValue::Omitted => {
                    let document: &Document = self.document;
                    self.run.trace.add(|| TraceEntry {
                        what: format!("{} {}: its value is left out", operate.op.name(), path.text()),
                        found: String::new(),
                        wanted: String::new(),
                        verdict: TraceVerdict::NotLooked,
                        location: Some(document.locate(&content.path)),
                    });
                    return Ok(None);
                }
            },
        };
        Ok(Some(RenderedOperation { operate, path, value }))
    }

    fn path<'p>(
        &mut self,
        operate: &'p OperationProgram,
        names: &VariableScope<'_>,
    ) -> StepResult<Cow<'p, PatchPath>> {
        let place = &operate.path.path;
        match &operate.path.value {
            PathProgram::Fixed(path) => Ok(Cow::Borrowed(path)),
            PathProgram::Broken(error) => {
                Err(self.path_failure(place, error, (error.position, error.length)))
            }
            PathProgram::Whole(template) => {
                let mut cost = CelCost::default();
                let pieces = template.render_pieces(&CelBindings::new().with_variables(names), &mut cost);
                self.spend_cost(&cost, place)?;
                let pieces = pieces.map_err(|error| self.expression_failure(place, &error))?;
                let text: String = pieces.iter().map(written_piece).collect();
                PatchPath::parse(&text).map(Cow::Owned).map_err(|error| {
                    let mut wrong = self.path_failure(place, &error, (Position::START, 1));
                    wrong.message = format!("`{text}` is not a path: {}", error.message);
                    wrong
                })
            }
            PathProgram::Pieces(template, shape, form) => {
                let mut cost = CelCost::default();
                let given = template.render_pieces(&CelBindings::new().with_variables(names), &mut cost);
                self.spend_cost(&cost, place)?;
                let given = given.map_err(|error| self.expression_failure(place, &error))?;
                let texts = given.iter().filter_map(|piece| match piece {
                    Given::Evaluated(text) => Some(text),
                    Given::Literal(_) => None,
                });
                if let Some(path) = form.as_ref().and_then(|form| form.fill(texts)) {
                    return Ok(Cow::Owned(path));
                }
                let piece = |given| match given {
                    &Given::Literal(text) => PathPiece::Literal(text),
                    Given::Evaluated(text) => PathPiece::Text(text),
                };
                let pieces: Vec<PathPiece<'_>> = given.iter().map(piece).collect();
                PatchPath::from_pieces(&pieces).map(Cow::Owned).map_err(|error| {
                    let at =
                        if shape.is_some() { (Position::START, 1) } else { (error.position, error.length) };
                    self.path_failure(place, &error, at)
                })
            }
        }
    }

    fn run_operation(&mut self, ready: &RenderedOperation<'_>, manifest: &mut Manifest) -> StepResult<()> {
        let RenderedOperation { operate, path, value } = ready;
        if let Some(split) = split_key(PatchSubject::of_manifest(&manifest.object), path) {
            return Err(self.split_key_failure(operate, path, manifest, &split));
        }
        let applied = path.apply(operate.op, value, &mut manifest.object, &mut self.budget);
        let document: &Document = self.document;
        self.run.trace.add(|| describe_operation(operate, path, value, &applied, document));
        let applied = applied.map_err(|error| self.operation_failure(operate, path, manifest, &error))?;
        let is_append = matches!(path.segments().last(), Some(PathSegment::Append));
        manifest.record_operation(operate.op, applied, is_append, self.writer(operate.part));
        Ok(())
    }

    fn path_failure(&self, place: &[Step], error: &PathError, at: (Position, u32)) -> Box<Diagnostic> {
        let location = locate_within(self.document, place, at.0, at.1);
        let help = error.help.clone().unwrap_or_default();
        Box::new(Diagnostic::new(&code::BAD_PATH, error.message.clone(), location).help(help))
    }

    fn operation_failure(
        &self,
        operate: &OperationProgram,
        path: &PatchPath,
        manifest: &Manifest,
        error: &PathPatchError,
    ) -> Box<Diagnostic> {
        let location = self.segment(operate, path, error.segment);
        let message = format!(
            "`{} {}` cannot be done to {}: {}",
            operate.op.name(),
            cut_text(path.text(), MAX_SHOWN_PATH_CHARS),
            manifest.label(),
            cut_text(&error.message, MAX_SHOWN_PATH_CHARS)
        );
        let code = if error.kind == PathPatchErrorKind::Limit { &code::LIMIT } else { &code::CANNOT_PATCH };
        let failure = Diagnostic::new(code, message, location).about(&manifest.object, path.text());
        Box::new(failure.help(error.help.clone().unwrap_or_default()))
    }

    /// Returns the error that `path` continues inside a label, annotation or the like.
    fn split_key_failure(
        &self,
        operate: &OperationProgram,
        path: &PatchPath,
        manifest: &Manifest,
        split: &SplitKey,
    ) -> Box<Diagnostic> {
        let location = self.segment(operate, path, split.segment);
        let message = format!(
            "`{} {}` cannot be done to {}: {}",
            operate.op.name(),
            cut_text(path.text(), MAX_SHOWN_PATH_CHARS),
            manifest.label(),
            cut_text(&split.message, MAX_SHOWN_PATH_CHARS)
        );
        let failure =
            Diagnostic::new(&code::PARTED_KEY, message, location).about(&manifest.object, path.text());
        let help = match &operate.path.value {
            PathProgram::Fixed(_) => escape_path_segment(&operate.written, path, split.segment),
            _ => "`/` in a key is written `~1`".to_owned(),
        };
        Box::new(failure.help(help))
    }

    /// Returns the location of segment `number` of `path`.
    fn segment(&self, operate: &OperationProgram, path: &PatchPath, number: usize) -> Location {
        let (position, length) = match &operate.path.value {
            PathProgram::Fixed(_) => path.position(number),
            PathProgram::Pieces(_, Some(shape), _) => shape.position(number),
            _ => (Position::START, u32::try_from(operate.written.chars().count()).unwrap_or(1)),
        };
        locate_within(self.document, &operate.path.path, position, length)
    }

    /// Reports that a patch matches nothing, and why. A `where` that reads only parameters is a switch, so it is not reported.
    fn report_no_hits(&mut self, patch: &PatchProgram, manifests: &[Manifest], hits: &PatchHits) {
        let target = &patch.target;
        let (reason, help, path) = if hits.candidates == 0 {
            let (reason, help) = explain_no_target(target, hits.name.as_deref(), manifests);
            (reason, help, &target.path)
        } else {
            let Some(condition) = &target.condition else { return };
            let looks = condition
                .value
                .programs()
                .any(|(program, _)| program.variable_names().any(|name| name == "resource"));
            if !looks {
                return;
            }
            let reason = format!("`where` holds for no {}", describe_target(target));
            (reason, String::new(), &condition.path)
        };
        let location = self.document.locate_key(path);
        let message = format!("the patch hits nothing: {reason}");
        self.run.diagnostics.push(Diagnostic::new(&code::HITS_NOTHING, message, location).help(help));
    }
}

/// Returns the trace entry of an operation.
fn describe_operation(
    operate: &OperationProgram,
    path: &PatchPath,
    value: &Value,
    applied: &Result<PathChange, PathPatchError>,
    document: &Document,
) -> TraceEntry {
    let what = format!("{} {}", operate.op.name(), path.text());
    let location = Some(document.locate(&operate.path.path));
    let (found, wanted, verdict) = match applied {
        Err(error) => (error.message.clone(), String::new(), TraceVerdict::Error),
        Ok(applied) if applied.places.is_empty() => {
            ("there is nothing to remove".to_owned(), String::new(), TraceVerdict::Yes)
        }
        Ok(applied) => {
            let found = match operate.op {
                PathOp::Remove => "removed".to_owned(),
                _ => TraceNode::show(value),
            };
            (found, describe_places(path, applied), TraceVerdict::Done)
        }
    };
    TraceEntry { what, found, wanted, verdict, location }
}

/// Returns the places an operation was applied to, unless they equal its path.
fn describe_places(path: &PatchPath, applied: &PathChange) -> String {
    let mut places: Vec<String> = applied
        .places
        .iter()
        .take(MAX_TRACED_PLACES)
        .map(|place| Pointer::from_steps(place).to_string())
        .collect();
    if places.iter().all(|place| place == path.text()) {
        return String::new();
    }
    if applied.places.len() > MAX_TRACED_PLACES {
        places.push("…".to_owned());
    }
    format!("at {}", places.join(", "))
}

fn written_piece<'p>(piece: &'p Given<'_>) -> &'p str {
    match piece {
        Given::Literal(text) => text,
        Given::Evaluated(text) => text,
    }
}
