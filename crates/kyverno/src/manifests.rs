//! `manifests`: an object must equal its signed manifest, in the format of k8s-manifest-sigstore.
//!
//! The object carries the signed text in its annotations ([`message`]), signatures of that text are checked with
//! the rule's keys ([`attestor`]), and the object is compared with the text ([`difference`]) except for
//! ignored fields ([`ignored`]). A signature that matches no key is an error; a missing one and a difference are failures.

mod attestor;
mod difference;
mod dry_run;
mod ignored;
mod key;
pub(super) mod message;
mod tar;

pub(super) use key::{PublicKey, other as other_key};

use kubewright_engine::{EvalError, Evaluation, TraceNode, TraceVerdict as Seen};
use kubewright_k8s::{GroupVersionKind, ObjectName, Operation};
use kubewright_value::{Budget, Step, Text, Value};

use super::evaluate::{CheckVerdict, PathOrigin, RuleViolation};
use super::source;
use attestor::{Set, Vote};
use difference::ManifestDifference;
use dry_run::DryRunCheck;
use ignored::Ignored;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use message::{NoMessage, SignatureAnnotations, SignedMessage};

/// The start of every error of such a rule.
const WRONG: &str = "error occurred during manifest verification";

/// A compiled rule on signatures.
pub(super) struct ManifestCheck {
    path: Vec<Step>,
    names: SignatureAnnotations,
    sets: Vec<Set>,
    ignored: Vec<Ignored>,
    dry_run: Option<DryRunCheck>,
    is_in_repository: bool,
}

/// An object whose signatures are checked.
struct SignedObject<'c> {
    object: &'c Value,
    content: SignedContent,
    signatures: Vec<&'c str>,
}

/// The signed message in an object.
enum SignedContent {
    Signed {
        /// The bytes that the signatures cover.
        text: Vec<u8>,
        /// How the object differs from it, where it may not.
        differences: Vec<ManifestDifference>,
    },
    /// Nothing, and why.
    Absent(String),
    /// Something that cannot be read.
    Broken(String),
}

impl ManifestCheck {
    pub(super) fn compile(source: &source::manifests::ManifestsSource) -> Self {
        let names = SignatureAnnotations::new(&source.domain);
        Self {
            path: source.path.clone(),
            sets: source.attestors.iter().map(Set::compile).collect(),
            ignored: Ignored::all(&names, &source.ignore_fields),
            dry_run: source.dry_run.as_ref().map(DryRunCheck::compile),
            is_in_repository: source.is_in_repository,
            names,
        }
    }

    /// Checks `object`.
    pub(super) fn check(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        if evaluation.request.operation == Operation::Delete {
            return CheckVerdict::Nothing("signatures are not checked on DELETE".into());
        }
        if evaluation.request.is_dry_run {
            return CheckVerdict::Pass("allowed because of DryRun request".into());
        }
        match self.verify(object, evaluation, notes) {
            Ok(verdict) => verdict,
            Err(error) => {
                CheckVerdict::Error(EvalError { message: format!("{WRONG}: {}", error.message), ..error })
            }
        }
    }

    fn verify(
        &self,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<CheckVerdict, EvalError> {
        let content = self.content(object, evaluation)?;
        self.tell(&content, notes);
        let signatures = message::signatures(object, &self.names);
        let case = SignedObject { object, content, signatures };
        let mut reasons = Vec::new();
        for (i, set) in self.sets.iter().enumerate() {
            match set.vote(&case, &format!(".attestors[{i}]"), evaluation, notes)? {
                Vote::For(reason) => reasons.push(reason),
                Vote::Against(message) => return Ok(CheckVerdict::Fail(self.failure(message, &case))),
            }
        }
        if reasons.is_empty() {
            return Err(EvalError::new("the rule names no attestor"));
        }
        Ok(CheckVerdict::Pass(format!("verified manifest signatures; {}", reasons.join(",")).into()))
    }

    fn failure(&self, message: String, case: &SignedObject<'_>) -> RuleViolation {
        let first = match &case.content {
            SignedContent::Signed { differences, .. } => differences.first(),
            _ => None,
        };
        let path =
            first.map(|difference| dotted_path_steps(case.object, &difference.key)).unwrap_or_default();
        RuleViolation { path, from: PathOrigin::Object, at: self.path.clone(), ..RuleViolation::new(message) }
    }

    fn content(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<SignedContent, EvalError> {
        const NONE: &str = "YAML manifest not found for this resource";
        let annotations = object.at(&["metadata", "annotations"]);
        if self.is_in_repository || annotations.is_some_and(|map| map.get(&self.names.bundle).is_some()) {
            return Ok(SignedContent::Broken(format!(
                "{NONE}: it is in an image, which is out of reach offline"
            )));
        }
        let message = match SignedMessage::of(object, &self.names, evaluation.budget) {
            Ok(message) => message,
            Err(NoMessage::Absent) => return Ok(SignedContent::Absent(format!("{NONE}: message not found"))),
            Err(NoMessage::Broken(problem)) => {
                return Ok(SignedContent::Broken(format!("{NONE}: {problem}")));
            }
            Err(NoMessage::Limit(error)) => return Err(error),
        };
        let candidates = candidates(&message.objects, object, evaluation.budget)?;
        let ignored = Ignored::of(&self.ignored, object);
        let mut closest: Option<Vec<ManifestDifference>> = None;
        for candidate in candidates {
            let mut found = difference::manifest_differences(candidate, object, &ignored, evaluation.budget)?;
            if let (false, Some(dry_run)) = (found.is_empty(), &self.dry_run)
                && let Some(stored) = dry_run.ask(candidate, object, evaluation)?
            {
                found = difference::manifest_differences(&stored, object, &ignored, evaluation.budget)?;
            }
            if closest.as_ref().is_none_or(|closest| found.len() < closest.len()) {
                closest = Some(found);
            }
        }
        Ok(match closest {
            Some(differences) => SignedContent::Signed { text: message.signed, differences },
            None => SignedContent::Absent(format!(
                "{NONE}: failed to find a YAML manifest in the gzipped message"
            )),
        })
    }

    fn tell(&self, content: &SignedContent, notes: &mut TraceNotes) {
        notes.say(|| {
            let (found, verdict, children) = match content {
                SignedContent::Signed { differences, .. } => {
                    let seen = if differences.is_empty() { Seen::Yes } else { Seen::No };
                    (String::new(), seen, differences.iter().take(20).map(ManifestDifference::note).collect())
                }
                SignedContent::Absent(problem) => (problem.clone(), Seen::No, Vec::new()),
                SignedContent::Broken(problem) => (problem.clone(), Seen::Error, Vec::new()),
            };
            let what = "the object is as it was signed".to_owned();
            TraceNote { what, found, verdict, at: self.path.clone(), children, ..TraceNote::default() }
        });
    }

    /// Returns the branches for coverage: the comparison, and every signer.
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let mut found = vec![("manifests".to_owned(), self.path.clone())];
        self.sets.iter().for_each(|set| set.branches(&mut found));
        found
    }
}

impl ManifestDifference {
    fn note(&self) -> TraceNote {
        let show =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), TraceNode::show);
        TraceNote {
            what: self.key.clone(),
            found: show(&self.after),
            wanted: show(&self.before),
            verdict: Seen::No,
            ..TraceNote::default()
        }
    }
}

/// Returns which of `signed` the object may be: the one with its name, otherwise all of its kind.
fn candidates<'s>(
    signed: &'s [Value],
    object: &Value,
    budget: &mut Budget,
) -> Result<Vec<&'s Value>, EvalError> {
    budget.step(u64::try_from(signed.len()).unwrap_or(u64::MAX))?;
    let kind = |value: &Value| GroupVersionKind::of(value).kind;
    let of_kind: Vec<&Value> = signed.iter().filter(|value| kind(value) == kind(object)).collect();
    let own = ObjectName::of(object);
    let name = |value: &Value| ObjectName { namespace: Text::default(), ..ObjectName::of(value) };
    let wanted = name(object);
    let named: Vec<&Value> = of_kind.iter().copied().filter(|value| name(value) == wanted).collect();
    let here = named.iter().copied().find(|value| ObjectName::of(value) == own);
    Ok(match here.or_else(|| named.first().copied()) {
        Some(one) => vec![one],
        None => of_kind,
    })
}

/// Returns the steps of a path with dots. Keys may have dots too, so the object decides where one ends.
fn dotted_path_steps(object: &Value, key: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut at, mut rest) = (object, key);
    while !rest.is_empty() {
        let ends = rest.char_indices().filter(|(_, c)| *c == '.').map(|(i, _)| i).chain([rest.len()]);
        let next = ends.into_iter().find_map(|end| {
            let name = rest.get(..end)?;
            let (step, value) = match at {
                Value::Array(items) => {
                    let index: usize = name.parse().ok()?;
                    (Step::Index(index), items.get(index)?)
                }
                _ => (Step::from(name), at.get(name)?),
            };
            Some((step, value, rest.get(end.saturating_add(1)..).unwrap_or_default()))
        });
        let Some((step, value, after)) = next else { break };
        steps.push(step);
        (at, rest) = (value, after);
    }
    steps
}

#[cfg(test)]
pub(super) mod tests;
