//! `podSecurity`: the Pod Security Standards, each check as it was in the version that is asked for.
//!
//! What a check forbids is what Kubernetes forbids; what is said about it is what Kyverno says. Kyverno runs
//! checks that the version did not have yet, and runs all of them for `privileged`; Kubernetes does neither.

mod check;
mod checks;
mod exclude;
mod finding;
mod pod;
mod reading;
mod version;

pub(super) use check::Control;
pub(super) use exclude::Exclusion;
pub(super) use version::Version;

use kubewright_engine::{EvalError, TraceNode, Verdict as Seen};
use kubewright_value::{Budget, Exhausted, Step, Text, Value};

use super::evaluate::{Failure, From, Verdict};
use super::message::Message;
use super::source::{self, Workload};
use crate::notes::{Note, Notes};
use check::Check;
use finding::{Root, Violation};
use pod::Pod;

/// How much is forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Nothing.
    Privileged,
    /// What is known to give more rights than a Pod should have.
    Baseline,
    /// Everything that a hardened Pod does not need.
    Restricted,
}

impl Level {
    /// All of them, with their names.
    pub(super) const ALL: [(&'static str, Self); 3] =
        [("privileged", Self::Privileged), ("baseline", Self::Baseline), ("restricted", Self::Restricted)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}

/// A level at a version, and what is excluded from it.
pub(super) struct Profile {
    level: Level,
    version: Version,
    /// As it is written; may be empty.
    version_text: Text,
    /// Those of the level that the version has.
    checks: Vec<Check>,
    exclusions: Vec<Exclusion>,
    /// Where it stands in the document.
    path: Vec<Step>,
}

impl Profile {
    pub(super) fn compile(source: &source::PodSecurity) -> Self {
        let (level, version) = (source.level, source.version);
        Self {
            level,
            version,
            version_text: source.version_text.clone(),
            checks: Check::ALL.into_iter().filter(|check| check.is_in(level, version)).collect(),
            exclusions: source.exclude.iter().map(Exclusion::compile).collect(),
            path: source.path.clone(),
        }
    }

    /// Checks `object`. Returns nothing when it is only good because of `exceptions`.
    pub(super) fn check<'e>(
        &self,
        object: &Value,
        message: &Message,
        exceptions: impl Iterator<Item = &'e Exclusion>,
        budget: &mut Budget,
        notes: &mut Notes,
    ) -> Option<Verdict> {
        match self.violations(object, exceptions, budget, notes) {
            Err(error) => Some(Verdict::Error(error)),
            Ok(Found::Excepted) => None,
            Ok(Found::Violations(violations, _)) if violations.is_empty() => {
                Some(Verdict::Pass(message.passed.clone()))
            }
            Ok(Found::Violations(violations, workload)) => {
                Some(Verdict::Fail(self.failure(&violations, workload, message)))
            }
        }
    }

    fn violations<'o, 'e>(
        &self,
        object: &'o Value,
        exceptions: impl Iterator<Item = &'e Exclusion>,
        budget: &mut Budget,
        notes: &mut Notes,
    ) -> Result<Found<'o>, EvalError> {
        let workload = workload(object).ok_or_else(|| {
            EvalError::new("Error while getting new resource: could not find correct resource type")
        })?;
        let pod = Pod::read(object, workload, budget)?;
        let mut violations = self.run(&pod);
        self.tell(&violations, Root(workload), notes);
        for (i, exclusion) in self.exclusions.iter().enumerate() {
            let seen = self.exempt(&mut violations, exclusion, &pod, budget)?;
            notes.say(|| note(exclusion.title(i), seen, exclusion.path()));
        }
        if violations.is_empty() {
            return Ok(Found::Violations(violations, workload));
        }
        for exclusion in exceptions {
            let seen = self.exempt(&mut violations, exclusion, &pod, budget)?;
            // Its place is in another file.
            notes.say(|| note(exclusion.title_of_exception(), seen, Vec::new()));
        }
        Ok(if violations.is_empty() { Found::Excepted } else { Found::Violations(violations, workload) })
    }

    fn run<'o>(&self, pod: &Pod<'o>) -> Vec<Violation<'o>> {
        self.checks.iter().filter_map(|check| check.run(pod, self.level, self.version)).collect()
    }

    /// Takes out of `violations` what `exclusion` is about. Returns whether there was anything.
    fn exempt<'o>(
        &self,
        violations: &mut Vec<Violation<'o>>,
        exclusion: &Exclusion,
        pod: &Pod<'o>,
        budget: &mut Budget,
    ) -> Result<Seen, Exhausted> {
        let is_about = |check: &Check| check.control() == Some(exclusion.control());
        if !violations.iter().any(|violation| is_about(&violation.check)) {
            return Ok(Seen::NotLooked);
        }
        let count = finding::count(violations);
        let part = exclusion.part(pod, budget)?;
        for check in self.checks.iter().filter(|check| is_about(check)) {
            if let Some(found) = check.run(&part, self.level, self.version) {
                exclusion.take(violations, &found, budget)?;
            }
        }
        Ok(if finding::count(violations) < count { Seen::Yes } else { Seen::No })
    }

    fn failure(&self, violations: &[Violation<'_>], workload: Workload, message: &Message) -> Failure {
        let root = Root(workload);
        let mut text = format!(
            "Validation rule '{}' failed. It violates PodSecurity \"{}:{}\": ",
            message.rule,
            self.level.name(),
            self.version_text
        );
        violations.iter().for_each(|violation| violation.write(&mut text, root));
        let first = violations.iter().flat_map(|violation| &violation.findings).next();
        Failure {
            message: text,
            template: Text::default(),
            path: first.map(|finding| finding.place.steps(root)).unwrap_or_default(),
            from: From::Object,
            at: self.path.clone(),
        }
    }

    fn tell(&self, violations: &[Violation<'_>], root: Root, notes: &mut Notes) {
        if !notes.is_on() {
            return;
        }
        let name = self.level.name();
        if self.checks.is_empty() {
            notes.say(|| note(format!("podSecurity {name}"), Seen::Yes, self.path.clone()));
        }
        for check in &self.checks {
            let violation = violations.iter().find(|violation| violation.check == *check);
            notes.say(|| Note {
                what: check.title(),
                found: violation.map(|violation| violation.reason.to_owned()).unwrap_or_default(),
                wanted: format!("{name} {}", self.version),
                verdict: if violation.is_none() { Seen::Yes } else { Seen::No },
                at: self.path.clone(),
                children: violation.map(|violation| violation.notes(root, &self.path)).unwrap_or_default(),
            });
        }
    }

    /// Returns what can decide, for coverage. All checks run on every Pod, so they are one; what is excluded is not.
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let whole = (format!("podSecurity {}", self.level.name()), self.path.clone());
        let exclusions = self.exclusions.iter().enumerate();
        let exclusions = exclusions.map(|(i, exclusion)| (exclusion.title(i), exclusion.path()));
        std::iter::once(whole).chain(exclusions).collect()
    }
}

/// What a rule finds in an object.
enum Found<'o> {
    Violations(Vec<Violation<'o>>, Workload),
    Excepted,
}

impl Violation<'_> {
    /// Returns one note for each finding.
    fn notes(&self, root: Root, at: &[Step]) -> Vec<Note> {
        let note = |finding: &finding::Finding<'_>| Note {
            found: TraceNode::show(&finding.bad.to_value()),
            ..note(finding.place.text(root), Seen::No, at.to_vec())
        };
        self.findings.iter().map(note).collect()
    }
}

fn note(what: String, verdict: Seen, at: Vec<Step>) -> Note {
    Note { what, found: String::new(), wanted: String::new(), verdict, at, children: Vec::new() }
}

/// Returns where `object` describes a Pod.
fn workload(object: &Value) -> Option<Workload> {
    let kind = object.get("kind").and_then(Value::as_str)?;
    Workload::of_kind(kind).filter(|workload| *workload != Workload::Bare)
}

#[cfg(test)]
mod tests;
