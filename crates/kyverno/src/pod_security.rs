//! `podSecurity`: the Pod Security Standards, with each check as of the requested version.
//!
//! The checks are those of Kubernetes; the messages are those of Kyverno. Kyverno runs
//! checks that the version did not have yet, and runs all of them for `privileged`; Kubernetes does neither.

mod check;
mod checks;
mod exclude;
mod finding;
mod pod;
mod reading;
mod version;

pub(super) use check::Control;
pub(super) use exclude::CompiledExclusion;
pub(super) use version::StandardsVersion;

use kubewright_engine::{EvalError, OutcomeReason, TraceNode, TraceVerdict as Seen};
use kubewright_golib::image::ImageReference;
use kubewright_value::{Budget, Exhausted, Step, Text, Value, json};

use super::evaluate::{CheckVerdict, PathOrigin, RuleViolation};
use super::message::RuleMessage;
use super::source::{self};
use check::PodSecurityCheck;
use finding::{ForbiddenValue, PodSecurityViolation, PodSpecRoot};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use kubewright_k8s::PodTemplatePath;
use pod::{Container, Pod};

/// How much is forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodSecurityLevel {
    /// Nothing.
    Privileged,
    /// Capabilities and settings that are known to give a Pod too many rights.
    Baseline,
    /// Everything that a hardened Pod does not need.
    Restricted,
}

impl PodSecurityLevel {
    /// All of them, with their names.
    pub(super) const ALL: [(&'static str, Self); 3] =
        [("privileged", Self::Privileged), ("baseline", Self::Baseline), ("restricted", Self::Restricted)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}

/// A level at a version, with its exclusions.
pub(super) struct Profile {
    level: PodSecurityLevel,
    version: StandardsVersion,
    /// As it is written; may be empty.
    version_text: Text,
    /// Those of the level that the version has.
    checks: Vec<PodSecurityCheck>,
    exclusions: Vec<CompiledExclusion>,
    /// The path in the document.
    path: Vec<Step>,
}

impl Profile {
    pub(super) fn compile(source: &source::PodSecurity) -> Self {
        let (level, version) = (source.level, source.version);
        Self {
            level,
            version,
            version_text: source.version_text.clone(),
            checks: PodSecurityCheck::ALL.into_iter().filter(|check| check.is_in(level, version)).collect(),
            exclusions: source.exclude.iter().map(CompiledExclusion::compile).collect(),
            path: source.path.clone(),
        }
    }

    /// Checks `object`. Returns nothing when it is only good because of `exceptions`.
    pub(super) fn check<'e>(
        &self,
        object: &Value,
        message: &RuleMessage,
        exceptions: impl Iterator<Item = &'e CompiledExclusion>,
        budget: &mut Budget,
        notes: &mut TraceNotes,
    ) -> Option<CheckVerdict> {
        match self.violations(object, exceptions, budget, notes) {
            Err(error) => Some(CheckVerdict::Error(error)),
            Ok(PodSpecLookup::Excepted) => None,
            Ok(PodSpecLookup::Violations { violations, .. }) if violations.is_empty() => {
                Some(CheckVerdict::Pass(message.passed.clone()))
            }
            Ok(PodSpecLookup::Violations { violations, workload, images }) => {
                let failure = self.failure(&violations, workload, message);
                let properties = self.properties(&violations, &images);
                Some(CheckVerdict::Fail(RuleViolation { properties, ..failure }))
            }
        }
    }

    fn violations<'o, 'e>(
        &self,
        object: &'o Value,
        exceptions: impl Iterator<Item = &'e CompiledExclusion>,
        budget: &mut Budget,
        notes: &mut TraceNotes,
    ) -> Result<PodSpecLookup<'o>, EvalError> {
        let workload = pod_template_owner(object).ok_or_else(|| {
            EvalError::new("Error while getting new resource: could not find correct resource type")
        })?;
        let pod = Pod::read(object, workload, budget)?;
        let mut violations = self.run(&pod);
        let images = violations.iter().map(|violation| (violation.check, violation.images(&pod))).collect();
        self.tell(&violations, PodSpecRoot(workload), notes);
        for (i, exclusion) in self.exclusions.iter().enumerate() {
            let seen = self.exempt(&mut violations, exclusion, &pod, budget)?;
            if notes.is_on() {
                let title = exclusion.title(i);
                let note =
                    self.exclusion_note(title, (exclusion, seen), (&violations, &pod, workload), budget)?;
                notes.say(|| note);
            }
        }
        if violations.is_empty() {
            return Ok(PodSpecLookup::Violations { violations, workload, images: Vec::new() });
        }
        for exclusion in exceptions {
            let seen = self.exempt(&mut violations, exclusion, &pod, budget)?;
            if notes.is_on() {
                let title = exclusion.title_of_exception();
                let mut note =
                    self.exclusion_note(title, (exclusion, seen), (&violations, &pod, workload), budget)?;
                // Its place is in another file.
                note.at.clear();
                note.children.iter_mut().for_each(|child| child.at.clear());
                notes.say(|| note);
            }
        }
        Ok(if violations.is_empty() {
            PodSpecLookup::Excepted
        } else {
            PodSpecLookup::Violations { violations, workload, images }
        })
    }

    /// Returns whether an exclusion excuses something, and otherwise why it does not.
    fn exclusion_note(
        &self,
        title: String,
        (exclusion, seen): (&CompiledExclusion, Seen),
        (violations, pod, workload): (&[PodSecurityViolation<'_>], &Pod<'_>, PodTemplatePath),
        budget: &mut Budget,
    ) -> Result<TraceNote, Exhausted> {
        let note = TraceNote::new(title, seen, exclusion.path());
        if seen != Seen::No {
            return Ok(note);
        }
        let own = violations.iter().filter(|one| one.check.control() == Some(exclusion.control()));
        let findings: Vec<_> = own.flat_map(|violation| &violation.findings).collect();
        let unmet = exclusion.unmet_note((&findings, pod), PodSpecRoot(workload), budget)?;
        Ok(TraceNote { children: vec![unmet], ..note })
    }

    fn run<'o>(&self, pod: &Pod<'o>) -> Vec<PodSecurityViolation<'o>> {
        self.checks.iter().filter_map(|check| check.run(pod, self.level, self.version)).collect()
    }

    /// Removes the violations that `exclusion` covers. Returns whether there were any.
    fn exempt<'o>(
        &self,
        violations: &mut Vec<PodSecurityViolation<'o>>,
        exclusion: &CompiledExclusion,
        pod: &Pod<'o>,
        budget: &mut Budget,
    ) -> Result<Seen, Exhausted> {
        let is_about = |check: &PodSecurityCheck| check.control() == Some(exclusion.control());
        if !violations.iter().any(|violation| is_about(&violation.check)) {
            return Ok(Seen::NotLooked);
        }
        let count = finding::count_findings(violations);
        let part = exclusion.part(pod, budget)?;
        for check in self.checks.iter().filter(|check| is_about(check)) {
            if let Some(found) = check.run(&part, self.level, self.version) {
                exclusion.take(violations, &found, budget)?;
            }
        }
        Ok(if finding::count_findings(violations) < count { Seen::Yes } else { Seen::No })
    }

    fn failure(
        &self,
        violations: &[PodSecurityViolation<'_>],
        workload: PodTemplatePath,
        message: &RuleMessage,
    ) -> RuleViolation {
        let root = PodSpecRoot(workload);
        let mut text = format!(
            "Validation rule '{}' failed. It violates PodSecurity \"{}:{}\": ",
            message.rule,
            self.level.name(),
            self.version_text
        );
        violations.iter().for_each(|violation| violation.write(&mut text, root));
        let first = violations.iter().flat_map(|violation| &violation.findings).next();
        RuleViolation {
            path: first.map(|finding| finding.place.steps(root)).unwrap_or_default(),
            from: PathOrigin::Object,
            at: self.path.clone(),
            reason: Some(Box::new(self.plain_reason(violations))),
            ..RuleViolation::new(text)
        }
    }

    /// Returns which checks are not met; the fields are in the trace.
    fn plain_reason(&self, violations: &[PodSecurityViolation<'_>]) -> OutcomeReason {
        let reasons: Vec<&str> = violations.iter().map(|violation| violation.reason).collect();
        let (level, version) = (self.level.name(), &self.version_text);
        let text = format!("it violates `{level}` of version `{version}`: {}", reasons.join(", "));
        OutcomeReason { text, ..OutcomeReason::default() }
    }

    /// Returns the properties of the row in reports, by Kyverno's names.
    fn properties(
        &self,
        violations: &[PodSecurityViolation<'_>],
        images: &[(PodSecurityCheck, Vec<&str>)],
    ) -> Vec<(Text, Text)> {
        let ids: Vec<&str> = violations.iter().map(|violation| violation.check.id()).collect();
        let control = |violation: &PodSecurityViolation<'_>| {
            let images = images.iter().find(|(check, _)| *check == violation.check);
            let images = images.map(|(_, images)| images.as_slice()).unwrap_or_default();
            let full = |image: &&str| {
                let parsed = ImageReference::parse(image);
                parsed.map_or_else(|_| json::quote(image), |image| json::quote(&image.to_string()))
            };
            let images: Vec<String> = images.iter().map(full).collect();
            let images =
                if images.is_empty() { "null".to_owned() } else { format!("[{}]", images.join(",")) };
            let name = violation.check.control().map_or("", Control::name);
            format!(r#"{{"ID":"{}","Name":"{name}","Images":{images}}}"#, violation.check.id())
        };
        let controls: Vec<String> = violations.iter().map(control).collect();
        vec![
            ("standard".into(), self.level.name().into()),
            ("version".into(), self.version_text.clone()),
            ("controls".into(), ids.join(",").into()),
            ("controlsJSON".into(), format!("[{}]", controls.join(",")).into()),
        ]
    }

    fn tell(&self, violations: &[PodSecurityViolation<'_>], root: PodSpecRoot, notes: &mut TraceNotes) {
        if !notes.is_on() {
            return;
        }
        let name = self.level.name();
        if self.checks.is_empty() {
            notes.say(|| TraceNote::new(format!("podSecurity {name}"), Seen::Yes, self.path.clone()));
        }
        for check in &self.checks {
            let violation = violations.iter().find(|violation| violation.check == *check);
            notes.say(|| TraceNote {
                what: check.title(),
                found: violation.map(|violation| violation.reason.to_owned()).unwrap_or_default(),
                wanted: format!("{name} {}", self.version),
                verdict: if violation.is_none() { Seen::Yes } else { Seen::No },
                at: self.path.clone(),
                children: violation.map(|violation| violation.notes(root, &self.path)).unwrap_or_default(),
                ..TraceNote::default()
            });
        }
    }

    /// Returns the branches for coverage. All checks run on every Pod, so they are one; each exclusion is another.
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let whole = (format!("podSecurity {}", self.level.name()), self.path.clone());
        let exclusions = self.exclusions.iter().enumerate();
        let exclusions = exclusions.map(|(i, exclusion)| (exclusion.title(i), exclusion.path()));
        std::iter::once(whole).chain(exclusions).collect()
    }
}

/// The violations that a rule finds in an object.
enum PodSpecLookup<'o> {
    Violations {
        violations: Vec<PodSecurityViolation<'o>>,
        workload: PodTemplatePath,
        /// The images of each check that was not met, whatever is excused.
        images: Vec<(PodSecurityCheck, Vec<&'o str>)>,
    },
    Excepted,
}

impl<'o> PodSecurityViolation<'o> {
    /// Returns the images of the containers that it is about.
    fn images(&self, pod: &Pod<'o>) -> Vec<&'o str> {
        let is_found = |container: &&Container<'o>| {
            self.findings.iter().any(|finding| finding.place.container() == Some(container.name))
        };
        pod.containers.iter().filter(is_found).map(|container| container.image).collect()
    }
}

impl PodSecurityViolation<'_> {
    /// Returns one note for each finding.
    fn notes(&self, root: PodSpecRoot, at: &[Step]) -> Vec<TraceNote> {
        let note = |finding: &finding::PodSecurityFinding<'_>| TraceNote {
            found: match &finding.bad {
                ForbiddenValue::Missing => "not set".to_owned(),
                ForbiddenValue::Field => "set, and forbidden".to_owned(),
                bad => TraceNode::show(&bad.to_value()),
            },
            subject: finding.place.steps(root),
            ..TraceNote::new(finding.place.text(root), Seen::No, at.to_vec())
        };
        self.findings.iter().map(note).collect()
    }
}

/// Returns where `object` describes a Pod.
fn pod_template_owner(object: &Value) -> Option<PodTemplatePath> {
    let kind = object.get("kind").and_then(Value::as_str)?;
    PodTemplatePath::of_kind(kind).filter(|workload| *workload != PodTemplatePath::Bare)
}

#[cfg(test)]
mod tests;
