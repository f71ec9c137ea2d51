//! The evaluation of `creates` and `removes`.

use kubewright_engine::TraceVerdict;
use kubewright_interpolate::RenderedValue;
use kubewright_patch::path::charge_copy;
use kubewright_value::{Document, Value};

use super::trace::TraceEntry;
use super::{Evaluator, StepResult};
use crate::compile::program::{RemovalProgram, TemplateProgram};
use crate::diagnostics as code;
use crate::manifest::{Manifest, manifest_label};
use crate::variables::VariableScope;

impl Evaluator<'_> {
    /// Renders `templates` and appends the manifests.
    pub(super) fn creates(&mut self, templates: &[TemplateProgram], manifests: &mut Vec<Manifest>) {
        for (number, template) in templates.iter().enumerate() {
            if self.is_spent {
                break;
            }
            self.run.trace.open();
            let made = self.create(template);
            let document: &Document = self.document;
            self.run.trace.close(|| {
                let name = template
                    .id
                    .as_ref()
                    .map_or_else(|| format!("create {}", number + 1), ToString::to_string);
                let (found, verdict) = match &made {
                    Ok(made) if made.is_empty() => ("nothing is made".to_owned(), TraceVerdict::No),
                    Ok(made) => {
                        (made.iter().map(Manifest::label).collect::<Vec<_>>().join(", "), TraceVerdict::Done)
                    }
                    Err(failure) => (failure.message.clone(), TraceVerdict::Error),
                };
                let location = Some(document.locate(&template.path));
                TraceEntry { what: name, found, wanted: String::new(), verdict, location }
            });
            manifests.extend(self.record_failure(made).into_iter().flatten());
        }
    }

    fn create(&mut self, template: &TemplateProgram) -> StepResult<Vec<Manifest>> {
        if let Some(condition) = &template.include_when {
            let holds =
                self.evaluate_condition(condition, "`includeWhen`", &VariableScope::of(self.context))?;
            let document: &Document = self.document;
            self.run.trace.add(|| TraceEntry {
                what: "includeWhen".to_owned(),
                found: holds.to_string(),
                wanted: String::new(),
                verdict: if holds { TraceVerdict::Yes } else { TraceVerdict::No },
                location: Some(document.locate(&condition.path)),
            });
            if !holds {
                return Ok(Vec::new());
            }
        }
        let items = self.items(template.each.as_ref())?;
        let mut made = Vec::new();
        for item in items.iter() {
            let names = VariableScope::within(self.context, template.each.as_ref(), item);
            let object = match self.content(&template.content, &names)? {
                RenderedValue::Value(object @ Value::Object(_)) => object,
                other => {
                    let found = match other {
                        RenderedValue::Omitted => "nothing",
                        RenderedValue::Value(value) => value.kind().name(),
                    };
                    let message = format!("the template gives {found}, expected an object");
                    return Err(self.diagnostic_at(&code::NO_MANIFEST, &template.content.path, message));
                }
            };
            // A short loop can create more than memory holds, so each object is charged.
            if items.is_loop() {
                let charged = charge_copy(&object, &mut self.budget);
                charged.map_err(|exhausted| self.exhausted(&template.content.path, exhausted))?;
            }
            made.push(Manifest::made(object, template.plane, self.writer(template.part)));
        }
        Ok(made)
    }

    /// Removes the manifests that `removals` select. All of them see the same manifests.
    pub(super) fn removes(&mut self, removals: &[RemovalProgram], manifests: &mut Vec<Manifest>) {
        let mut dropped = vec![false; manifests.len()];
        for (number, removal) in removals.iter().enumerate() {
            if self.is_spent {
                break;
            }
            self.run.trace.open();
            let found = self.removal(removal, manifests);
            let document: &Document = self.document;
            self.run.trace.close(|| {
                let (found, verdict) = match &found {
                    Ok(found) if found.is_empty() => ("nothing is removed".to_owned(), TraceVerdict::No),
                    Ok(found) => {
                        let labels = found.iter().filter_map(|at| manifests.get(*at));
                        let labels =
                            labels.map(|manifest| manifest_label(&manifest.object)).collect::<Vec<_>>();
                        (labels.join(", "), TraceVerdict::Done)
                    }
                    Err(failure) => (failure.message.clone(), TraceVerdict::Error),
                };
                let location = Some(document.locate(&removal.path));
                TraceEntry {
                    what: format!("remove {}", number + 1),
                    found,
                    wanted: String::new(),
                    verdict,
                    location,
                }
            });
            for at in self.record_failure(found).into_iter().flatten() {
                if let Some(mark) = dropped.get_mut(at) {
                    *mark = true;
                }
            }
        }
        let mut marks = dropped.into_iter();
        manifests.retain(|_| !marks.next().unwrap_or_default());
    }

    fn removal(&mut self, removal: &RemovalProgram, manifests: &[Manifest]) -> StepResult<Vec<usize>> {
        let items = self.items(removal.each.as_ref())?;
        let (mut found, mut others) = (Vec::new(), 0);
        for item in items.iter() {
            let names = VariableScope::within(self.context, removal.each.as_ref(), item);
            let targets = self.targets(&removal.target, &names, manifests)?;
            others = targets.others;
            found.extend(targets.kept);
        }
        self.others(&removal.target, others);
        Ok(found)
    }
}
