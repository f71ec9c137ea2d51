//! What templates make, and what is taken away again.

use kubewright_engine::TraceVerdict;
use kubewright_interpolate::RenderedValue;
use kubewright_patch::path::charge_copy;
use kubewright_value::{Document, Value};

use super::story::Said;
use super::{Evaluator, Outcome};
use crate::compile::program::{Removal, Template};
use crate::diagnostics as code;
use crate::manifest::{Manifest, label};
use crate::variables::Names;

impl Evaluator<'_> {
    /// Makes what `templates` make, behind what is there.
    pub(super) fn creates(&mut self, templates: &[Template], manifests: &mut Vec<Manifest>) {
        for (number, template) in templates.iter().enumerate() {
            if self.is_spent {
                break;
            }
            self.run.story.open();
            let made = self.create(template);
            let document: &Document = self.document;
            self.run.story.close(|| {
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
                Said { what: name, found, wanted: String::new(), verdict, location }
            });
            manifests.extend(self.keep(made).into_iter().flatten());
        }
    }

    fn create(&mut self, template: &Template) -> Outcome<Vec<Manifest>> {
        if let Some(condition) = &template.include_when {
            let holds = self.truth(condition, "`includeWhen`", &Names::of(self.context))?;
            let document: &Document = self.document;
            self.run.story.say(|| Said {
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
            let names = Names::within(self.context, template.each.as_ref(), item);
            let object = match self.content(&template.content, &names)? {
                RenderedValue::Value(object @ Value::Object(_)) => object,
                other => {
                    let found = match other {
                        RenderedValue::Omitted => "nothing",
                        RenderedValue::Value(value) => value.kind().name(),
                    };
                    let message = format!("the template gives {found}, expected an object");
                    return Err(self.wrong(&code::NO_MANIFEST, &template.content.path, message));
                }
            };
            // A short loop can make more than can be written.
            if items.is_loop() {
                let charged = charge_copy(&object, &mut self.budget);
                charged.map_err(|exhausted| self.exhausted(&template.content.path, exhausted))?;
            }
            made.push(Manifest::made(object, template.plane, self.writer(template.part)));
        }
        Ok(made)
    }

    /// Drops what `removals` are about. All of them look at the same manifests.
    pub(super) fn removes(&mut self, removals: &[Removal], manifests: &mut Vec<Manifest>) {
        let mut dropped = vec![false; manifests.len()];
        for (number, removal) in removals.iter().enumerate() {
            if self.is_spent {
                break;
            }
            self.run.story.open();
            let found = self.removal(removal, manifests);
            let document: &Document = self.document;
            self.run.story.close(|| {
                let (found, verdict) = match &found {
                    Ok(found) if found.is_empty() => ("nothing is removed".to_owned(), TraceVerdict::No),
                    Ok(found) => {
                        let labels = found.iter().filter_map(|at| manifests.get(*at));
                        let labels = labels.map(|manifest| label(&manifest.object)).collect::<Vec<_>>();
                        (labels.join(", "), TraceVerdict::Done)
                    }
                    Err(failure) => (failure.message.clone(), TraceVerdict::Error),
                };
                let location = Some(document.locate(&removal.path));
                Said {
                    what: format!("remove {}", number + 1),
                    found,
                    wanted: String::new(),
                    verdict,
                    location,
                }
            });
            for at in self.keep(found).into_iter().flatten() {
                if let Some(mark) = dropped.get_mut(at) {
                    *mark = true;
                }
            }
        }
        let mut marks = dropped.into_iter();
        manifests.retain(|_| !marks.next().unwrap_or_default());
    }

    fn removal(&mut self, removal: &Removal, manifests: &[Manifest]) -> Outcome<Vec<usize>> {
        let items = self.items(removal.each.as_ref())?;
        let (mut found, mut others) = (Vec::new(), 0);
        for item in items.iter() {
            let names = Names::within(self.context, removal.each.as_ref(), item);
            let targets = self.targets(&removal.target, &names, manifests)?;
            others = targets.others;
            found.extend(targets.kept);
        }
        self.others(&removal.target, others);
        Ok(found)
    }
}
