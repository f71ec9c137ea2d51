//! Exclusions from a profile, by a rule or by an exception.
//!
//! Kyverno computes exclusions by running the checks once more on a part of the Pod: on the containers with the
//! images, or, without images, on the Pod with one empty container. Each finding there removes one finding.

use std::borrow::Cow;

use kubewright_engine::TraceVerdict;
use kubewright_golib::glob::WildcardPattern;
use kubewright_value::{Budget, Exhausted, Step, Text};

use super::check::Control;
use super::finding::{PodSecurityFinding, PodSecurityViolation, PodSpecRoot};
use super::pod::{Container, Pod};
use crate::source;
use kubewright_dialect_kit::fields::child_path;
use kubewright_dialect_kit::notes::TraceNote;

/// One entry of an `exclude`.
pub(crate) struct CompiledExclusion {
    control: Control,
    /// The images of the containers it covers; empty for the Pod itself.
    images: Vec<WildcardPattern>,
    /// The only field it covers.
    field: Option<Text>,
    /// The values that are excused; none means all.
    values: Vec<WildcardPattern>,
    /// `images` and `values` as they are written.
    written: (Text, Text),
    path: Vec<Step>,
}

impl CompiledExclusion {
    pub(crate) fn compile(source: &source::ControlExclusion) -> Self {
        let globs = |texts: &[Text]| texts.iter().map(|text| WildcardPattern::parse(text)).collect();
        Self {
            control: source.control,
            images: globs(&source.images),
            field: source.restricted_field.as_ref().map(|field| field.value.clone()),
            values: globs(&source.values),
            written: (source.images.join(", ").into(), source.values.join(", ").into()),
            path: source.path.clone(),
        }
    }

    pub(super) fn control(&self) -> Control {
        self.control
    }

    pub(super) fn path(&self) -> Vec<Step> {
        self.path.clone()
    }

    /// Returns its name in traces.
    pub(super) fn title(&self, index: usize) -> String {
        format!("exclude[{index}] {}", self.control.name())
    }

    /// Returns its name in traces when it comes from an exception.
    pub(super) fn title_of_exception(&self) -> String {
        format!("exception excludes {}", self.control.name())
    }

    /// Returns why it excuses none of `findings`, which are about its control.
    pub(super) fn unmet_note(
        &self,
        (findings, pod): (&[&PodSecurityFinding<'_>], &Pod<'_>),
        root: PodSpecRoot,
        budget: &mut Budget,
    ) -> Result<TraceNote, Exhausted> {
        let is_of_container = !self.images.is_empty() && self.part(pod, budget)?.containers.is_empty();
        let field =
            self.field.as_ref().filter(|field| !findings.iter().any(|one| one.place.is_called(field)));
        let list = |texts: Vec<Cow<'_, str>>| texts.join(", ");
        let (key, wanted, found) = match field {
            _ if is_of_container => {
                let is_found = |container: &&Container<'_>| {
                    findings.iter().any(|one| one.place.container() == Some(container.name))
                };
                let containers = pod.containers.iter().filter(is_found);
                ("images", &self.written.0, list(containers.map(|one| one.image.into()).collect()))
            }
            Some(field) => {
                let names = findings.iter().map(|one| one.place.text(root).into());
                ("restrictedField", field, list(names.collect()))
            }
            None => {
                let values = findings.iter().flat_map(|one| one.bad.values());
                ("values", &self.written.1, list(values.collect()))
            }
        };
        Ok(TraceNote {
            what: format!("{key} {wanted}").trim_end().to_owned(),
            found: if found.is_empty() { "not set".to_owned() } else { found },
            verdict: TraceVerdict::No,
            at: child_path(&self.path, key),
            subject: findings.first().map(|one| one.place.steps(root)).unwrap_or_default(),
            ..TraceNote::default()
        })
    }

    /// Returns the part of `pod` that is excused.
    pub(super) fn part<'a>(&self, pod: &Pod<'a>, budget: &mut Budget) -> Result<Pod<'a>, Exhausted> {
        if self.images.is_empty() {
            return Ok(pod.without_containers());
        }
        let mut part = Pod::default();
        for container in &pod.containers {
            if any_glob_matches(&self.images, container.image, budget)? {
                part.containers.push(container.clone());
            }
        }
        Ok(part)
    }

    /// Removes from `violations` those that were `found` in the excluded part.
    pub(super) fn take(
        &self,
        violations: &mut Vec<PodSecurityViolation<'_>>,
        found: &PodSecurityViolation<'_>,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        for finding in &found.findings {
            if !self.is_about(finding, budget)? {
                continue;
            }
            let Some(at) = violations.iter().position(|violation| violation.check == found.check) else {
                return Ok(());
            };
            let Some(violation) = violations.get_mut(at) else { return Ok(()) };
            budget.step(violation.findings.len() as u64)?;
            let same = |other: &PodSecurityFinding<'_>| {
                let is_there = self.images.is_empty() || other.place.container() == finding.place.container();
                is_there && other.place.is_like(&finding.place)
            };
            if let Some(one) = violation.findings.iter().position(same) {
                // The last one takes its place, as in Kyverno, so that messages are the same.
                violation.findings.swap_remove(one);
            }
            if violation.findings.is_empty() {
                violations.remove(at);
            }
        }
        Ok(())
    }

    fn is_about(&self, finding: &PodSecurityFinding<'_>, budget: &mut Budget) -> Result<bool, Exhausted> {
        if self.field.as_ref().is_some_and(|field| !finding.place.is_called(field)) {
            return Ok(false);
        }
        if self.values.is_empty() {
            return Ok(true);
        }
        for value in finding.bad.values() {
            if !any_glob_matches(&self.values, &value, budget)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<'a> Pod<'a> {
    /// Returns the Pod with one empty container in place of its own.
    fn without_containers(&self) -> Self {
        Self {
            security: self.security.clone(),
            sysctls: self.sysctls.clone(),
            volumes: self.volumes.clone(),
            containers: vec![Container { name: "fake", ..Container::default() }],
            ..*self
        }
    }
}

fn any_glob_matches(globs: &[WildcardPattern], text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    for glob in globs {
        if glob.matches(text, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}
