//! Exclusions from a profile, by a rule or by an exception.
//!
//! Kyverno computes exclusions by running the checks once more on a part of the Pod: on the containers with the
//! images, or, without images, on the Pod with one empty container. Each finding there removes one finding.

use kubewright_golib::glob::WildcardPattern;
use kubewright_value::{Budget, Exhausted, Step, Text};

use super::check::Control;
use super::finding::{PodSecurityFinding, PodSecurityViolation};
use super::pod::{Container, Pod};
use crate::source;

/// One entry of an `exclude`.
pub(crate) struct CompiledExclusion {
    control: Control,
    /// The images of the containers it covers; empty for the Pod itself.
    images: Vec<WildcardPattern>,
    /// The only field it covers.
    field: Option<Text>,
    /// The values that are excused; none means all.
    values: Vec<WildcardPattern>,
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
