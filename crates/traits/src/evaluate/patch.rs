//! What patches do to the manifests that they are about.

use std::borrow::Cow;

use kubewright_cel::{CelBindings, CelCost};
use kubewright_engine::{Diagnostic, TraceNode, TraceVerdict};
use kubewright_interpolate::{RenderedPiece as Given, RenderedValue};
use kubewright_patch::Pointer;
use kubewright_patch::path::{
    PatchPath, PathChange, PathError, PathOp, PathPatchError, PathPatchErrorKind, PathPiece, PathSegment,
};
use kubewright_value::{Document, Location, Position, Step, Text, Value};

use super::story::Said;
use super::target::{counted, described, why_none};
use super::value::cut;
use super::{Evaluator, Outcome};
use crate::compile::program::{Operate, Patch, PathProgram};
use crate::diagnostics as code;
use crate::manifest::{Manifest, label};
use crate::place::{SplitKey, Subject, escaped, split_key};
use crate::variables::Names;
use kubewright_dialect_kit::fields::locate_within;

/// How many places are named in a trace.
const TOLD: usize = 20;

/// How many characters of a path, and of what is wrong there, are shown in a message.
const SHOWN: usize = 1000;

/// An operation whose expressions are rendered.
struct Ready<'p> {
    operate: &'p Operate,
    path: Cow<'p, PatchPath>,
    /// Null for `remove`.
    value: Value,
}

/// What a patch met in all rounds of its loop.
#[derive(Default)]
struct Hits {
    rounds: usize,
    candidates: usize,
    kept: usize,
    /// Those that the target cannot mean, in the last round.
    others: usize,
    /// The name that was asked for last.
    name: Option<Text>,
}

impl Evaluator<'_> {
    /// Does patch `number`.
    pub(super) fn patch(&mut self, number: usize, patch: &Patch, manifests: &mut [Manifest]) -> Outcome<()> {
        self.run.story.open();
        let mut hits = Hits::default();
        let done = self.rounds(patch, manifests, &mut hits);
        self.others(&patch.target, hits.others);
        let is_told = self.run.story.has_failure();
        let document: &Document = self.document;
        self.run.story.close(|| {
            let (found, verdict) = match &done {
                Err(_) if is_told => ("fails".to_owned(), TraceVerdict::Error),
                Err(failure) => (failure.message.clone(), TraceVerdict::Error),
                Ok(()) if hits.rounds == 0 => ("`forEach` goes through nothing".to_owned(), TraceVerdict::No),
                Ok(()) if hits.kept == 0 => ("hits nothing".to_owned(), TraceVerdict::No),
                Ok(()) if hits.rounds > 1 => {
                    let hits = format!(
                        "hits {} in {}",
                        counted(hits.kept, "manifest"),
                        counted(hits.rounds, "round")
                    );
                    (hits, TraceVerdict::Done)
                }
                Ok(()) => (format!("hits {}", counted(hits.kept, "manifest")), TraceVerdict::Done),
            };
            let location = Some(document.locate(&patch.path));
            Said {
                what: format!("patch {}: {}", number + 1, described(&patch.target)),
                found,
                wanted: String::new(),
                verdict,
                location,
            }
        });
        done?;
        if hits.kept == 0 && hits.rounds > 0 {
            self.missed(patch, manifests, &hits);
        }
        Ok(())
    }

    fn rounds(&mut self, patch: &Patch, manifests: &mut [Manifest], hits: &mut Hits) -> Outcome<()> {
        let items = self.items(patch.each.as_ref())?;
        for (round, item) in items.iter().enumerate() {
            hits.rounds += 1;
            let names = Names::within(self.context, patch.each.as_ref(), item);
            if items.is_loop() {
                self.run.story.open();
            }
            let done = self.round(patch, &names, manifests, hits);
            if items.is_loop() {
                self.run.story.close(|| Said {
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

    /// Does all operations to all targets, for one item of the loop.
    fn round(
        &mut self,
        patch: &Patch,
        names: &Names<'_>,
        manifests: &mut [Manifest],
        hits: &mut Hits,
    ) -> Outcome<()> {
        let targets = self.targets(&patch.target, names, manifests)?;
        hits.candidates += targets.candidates;
        hits.kept += targets.kept.len();
        hits.others = targets.others;
        hits.name = targets.name;
        // Where nothing is of the kind, nothing is evaluated; where no condition holds, values still have to be right.
        if targets.candidates == 0 {
            return Ok(());
        }
        let mut ready = Vec::with_capacity(patch.operations.len());
        for operate in &patch.operations {
            ready.extend(self.ready(operate, names)?);
        }
        for at in targets.kept {
            let Some(manifest) = manifests.get_mut(at) else { continue };
            self.run.story.open();
            let done = ready.iter().try_for_each(|operation| self.operate(operation, manifest));
            self.run.story.close(|| Said {
                what: label(&manifest.object),
                found: counted(ready.len(), "operation"),
                wanted: String::new(),
                verdict: if done.is_ok() { TraceVerdict::Done } else { TraceVerdict::Error },
                location: None,
            });
            done?;
        }
        Ok(())
    }

    /// Renders the path and value of an operation; nothing when the value is left out, and the operation with it.
    fn ready<'p>(&mut self, operate: &'p Operate, names: &Names<'_>) -> Outcome<Option<Ready<'p>>> {
        let path = self.path(operate, names)?;
        let value = match &operate.value {
            None => Value::Null,
            Some(content) => match self.content(content, names)? {
                RenderedValue::Value(value) => value,
                RenderedValue::Omitted => {
                    let document: &Document = self.document;
                    self.run.story.say(|| Said {
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
        Ok(Some(Ready { operate, path, value }))
    }

    fn path<'p>(&mut self, operate: &'p Operate, names: &Names<'_>) -> Outcome<Cow<'p, PatchPath>> {
        let place = &operate.path.path;
        match &operate.path.value {
            PathProgram::Fixed(path) => Ok(Cow::Borrowed(path)),
            PathProgram::Broken(error) => Err(self.no_path(place, error, (error.position, error.length))),
            PathProgram::Whole(template) => {
                let mut cost = CelCost::default();
                let pieces = template.render_pieces(&CelBindings::new().with_variables(names), &mut cost);
                self.paid(&cost, place)?;
                let pieces = pieces.map_err(|error| self.failed(place, &error))?;
                let text: String = pieces.iter().map(written).collect();
                PatchPath::parse(&text).map(Cow::Owned).map_err(|error| {
                    let mut wrong = self.no_path(place, &error, (Position::START, 1));
                    wrong.message = format!("`{text}` is no path: {}", error.message);
                    wrong
                })
            }
            PathProgram::Pieces(template, shape, form) => {
                let mut cost = CelCost::default();
                let given = template.render_pieces(&CelBindings::new().with_variables(names), &mut cost);
                self.paid(&cost, place)?;
                let given = given.map_err(|error| self.failed(place, &error))?;
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
                    self.no_path(place, &error, at)
                })
            }
        }
    }

    fn operate(&mut self, ready: &Ready<'_>, manifest: &mut Manifest) -> Outcome<()> {
        let Ready { operate, path, value } = ready;
        if let Some(split) = split_key(Subject::of_manifest(&manifest.object), path) {
            return Err(self.key_is_split(operate, path, manifest, &split));
        }
        let applied = path.apply(operate.op, value, &mut manifest.object, &mut self.budget);
        let document: &Document = self.document;
        self.run.story.say(|| told(operate, path, value, &applied, document));
        let applied = applied.map_err(|error| self.not_done(operate, path, manifest, &error))?;
        let is_append = matches!(path.segments().last(), Some(PathSegment::Append));
        manifest.note(operate.op, applied, is_append, self.writer(operate.part));
        Ok(())
    }

    fn no_path(&self, place: &[Step], error: &PathError, at: (Position, u32)) -> Box<Diagnostic> {
        let location = locate_within(self.document, place, at.0, at.1);
        let help = error.help.clone().unwrap_or_default();
        Box::new(Diagnostic::new(&code::BAD_PATH, error.message.clone(), location).help(help))
    }

    fn not_done(
        &self,
        operate: &Operate,
        path: &PatchPath,
        manifest: &Manifest,
        error: &PathPatchError,
    ) -> Box<Diagnostic> {
        let location = self.segment(operate, path, error.segment);
        let message = format!(
            "`{} {}` cannot be done to {}: {}",
            operate.op.name(),
            cut(path.text(), SHOWN),
            manifest.label(),
            cut(&error.message, SHOWN)
        );
        let code = if error.kind == PathPatchErrorKind::Limit { &code::LIMIT } else { &code::CANNOT_PATCH };
        let failure = Diagnostic::new(code, message, location).about(&manifest.object, path.text());
        Box::new(failure.help(error.help.clone().unwrap_or_default()))
    }

    /// Says that `path` goes into a label, annotation or the like.
    fn key_is_split(
        &self,
        operate: &Operate,
        path: &PatchPath,
        manifest: &Manifest,
        split: &SplitKey,
    ) -> Box<Diagnostic> {
        let location = self.segment(operate, path, split.segment);
        let message = format!(
            "`{} {}` cannot be done to {}: {}",
            operate.op.name(),
            cut(path.text(), SHOWN),
            manifest.label(),
            cut(&split.message, SHOWN)
        );
        let failure =
            Diagnostic::new(&code::PARTED_KEY, message, location).about(&manifest.object, path.text());
        let help = match &operate.path.value {
            PathProgram::Fixed(_) => escaped(&operate.written, path, split.segment),
            _ => "`/` in a key is written `~1`".to_owned(),
        };
        Box::new(failure.help(help))
    }

    /// Returns where segment `number` of `path` is written.
    fn segment(&self, operate: &Operate, path: &PatchPath, number: usize) -> Location {
        let (position, length) = match &operate.path.value {
            PathProgram::Fixed(_) => path.position(number),
            PathProgram::Pieces(_, Some(shape), _) => shape.position(number),
            _ => (Position::START, u32::try_from(operate.written.chars().count()).unwrap_or(1)),
        };
        locate_within(self.document, &operate.path.path, position, length)
    }

    /// Says that a patch hit nothing, and why. A condition about parameters alone is a switch, and may be off.
    fn missed(&mut self, patch: &Patch, manifests: &[Manifest], hits: &Hits) {
        let target = &patch.target;
        let (reason, help, path) = if hits.candidates == 0 {
            let (reason, help) = why_none(target, hits.name.as_deref(), manifests);
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
            let reason = format!("`where` holds for no {}", described(target));
            (reason, String::new(), &condition.path)
        };
        let location = self.document.locate_key(path);
        let message = format!("the patch hits nothing: {reason}");
        self.run.diagnostics.push(Diagnostic::new(&code::HITS_NOTHING, message, location).help(help));
    }
}

/// Returns what a trace says of an operation.
fn told(
    operate: &Operate,
    path: &PatchPath,
    value: &Value,
    applied: &Result<PathChange, PathPatchError>,
    document: &Document,
) -> Said {
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
            (found, places(path, applied), TraceVerdict::Done)
        }
    };
    Said { what, found, wanted, verdict, location }
}

/// Returns where an operation was done, unless that is its path.
fn places(path: &PatchPath, applied: &PathChange) -> String {
    let mut told: Vec<String> =
        applied.places.iter().take(TOLD).map(|place| Pointer::from_steps(place).to_string()).collect();
    if told.iter().all(|place| place == path.text()) {
        return String::new();
    }
    if applied.places.len() > TOLD {
        told.push("…".to_owned());
    }
    format!("at {}", told.join(", "))
}

fn written<'p>(piece: &'p Given<'_>) -> &'p str {
    match piece {
        Given::Literal(text) => text,
        Given::Evaluated(text) => text,
    }
}
