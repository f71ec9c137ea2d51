//! `verifyImages`: who signed the images of an object, and whether they are named by their digests.
//!
//! A rule runs twice. In the mutating phase ([`ImageChecks::verify`]) signatures and attestations are verified, tags are
//! replaced by digests, and the result is recorded in an annotation of the object ([`record`]). In the validating phase
//! ([`ImageChecks::validate`]) the object must have digests and a record. Both are one rule with one name.
//!
//! Nothing is fetched here: what a registry says comes from the world.

mod attestations;
mod compile;
mod extract;
mod lookup;
mod record;
mod signers;

use kubewright_engine::{EvalError, TraceVerdict as Seen};
use kubewright_golib::glob;
use kubewright_k8s::Operation;
use kubewright_value::{Step, Text, Value};

use super::conditions::ConditionSet;
use super::context::VariableContext;
use super::evaluate::{CheckVerdict, PathOrigin, Rooted, RuleViolation};
use super::source::RegistryCredentials;
use super::source::images::SignatureFormat;
use super::template::VariableTemplate;
use attestations::CompiledAttestation;
pub(super) use compile::{ImageParts, compile_images};
use extract::{CompiledExtractor, ObjectImage};
use kubewright_dialect_kit::fields::child_path;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
pub(super) use record::forget;
use record::{ImageRecords, RecordStatus};
use signers::SignerSet;

/// The compiled image checks of a rule.
#[derive(Clone)]
pub(super) struct ImageChecks {
    entries: Vec<ImageEntry>,
    extractors: Vec<(Text, Vec<CompiledExtractor>)>,
    /// The current time in seconds since 1970, if it is known.
    now: Option<i64>,
}

#[derive(Clone)]
struct ImageEntry {
    path: Vec<Step>,
    format: SignatureFormat,
    references: Vec<Text>,
    skipped: Vec<Text>,
    sets: Vec<SignerSet>,
    attestations: Vec<CompiledAttestation>,
    annotations: Vec<(Text, Text)>,
    repository: Text,
    uses_referrers: bool,
    mutates_digest: bool,
    verifies_digest: bool,
    is_required: bool,
    deny: Option<ImageDeny>,
    credentials: RegistryCredentials,
}

/// What is refused although it is verified.
#[derive(Clone)]
struct ImageDeny {
    message: VariableTemplate,
    conditions: Option<Rooted<ConditionSet>>,
}

/// Why an image is not verified.
enum ImageProblem {
    /// It is not signed as the rule demands.
    Unproven(String),
    /// That could not be found out.
    Error(EvalError),
}

/// What the mutating phase finds out about a rule.
pub(super) enum ImagePhase {
    /// No image is of interest.
    Nothing,
    /// All images are verified, or need not be.
    Pass(Text),
    /// All images are left out on purpose.
    Skip,
    Fail(RuleViolation),
    Error(EvalError),
}

/// The name of a rule in records.
#[derive(Clone, Copy)]
pub(super) struct RecordKey<'a> {
    pub(super) policy: &'a str,
    pub(super) rule: &'a str,
}

impl ImageChecks {
    /// Verifies the images of `object`, replaces tags by digests, and records the results in it.
    pub(super) fn verify<'a>(
        &'a self,
        object: &mut Value,
        key: RecordKey<'_>,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> ImagePhase {
        if context.is_deletion() {
            return ImagePhase::Nothing;
        }
        let images = match extract::object_images(object, &self.extractors, context) {
            Ok(images) => images,
            Err(error) => return ImagePhase::Error(error),
        };
        let mut round = VerificationRound::default();
        for entry in &self.entries {
            for image in &images {
                if let Err(error) = self.verify_one(entry, image, (object, key), &mut round, context, notes) {
                    return ImagePhase::Error(error);
                }
            }
        }
        let is_admission = context.request().is_admission();
        if let Err(error) = round.records.write(object, (key, is_admission), context.budget()) {
            return ImagePhase::Error(error);
        }
        round.into_phase()
    }

    fn verify_one<'a>(
        &'a self,
        entry: &'a ImageEntry,
        image: &ObjectImage,
        (object, key): (&mut Value, RecordKey<'_>),
        round: &mut VerificationRound,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Result<(), EvalError> {
        let name = image.reference.to_string();
        if !matches_any(&entry.references, &name, context)? {
            return Ok(());
        }
        if matches_any(&entry.skipped, &name, context)? {
            round.skip(&name);
            notes.say(|| skipped_note(entry, image, &name));
            return Ok(());
        }
        if image.is_unchanged(context)
            && let Some(old) = known_old_object(context)
            && record::status_in(old, key, &name, context.budget())? == Some(RecordStatus::Pass)
        {
            round.records.add(&name, RecordStatus::Pass);
            return Ok(());
        }
        notes.open();
        let verified = self.prove(entry, image, context, notes);
        notes.close(|| entry_note(entry, &name, &verified));
        match verified {
            Ok(proven) => round.settle(entry, image, proven, object),
            Err(ImageProblem::Unproven(message)) => round.fail(&name, message, entry, image),
            Err(ImageProblem::Error(error)) => return Err(error),
        }
        Ok(())
    }

    /// Verifies signatures and attestations, and finds the digest where one is needed.
    fn prove<'a>(
        &'a self,
        entry: &'a ImageEntry,
        image: &ObjectImage,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Result<ProvenImage, ImageProblem> {
        let is_checked = !entry.sets.is_empty() || !entry.attestations.is_empty();
        let needs_digest = is_checked || (entry.mutates_digest && image.reference.digest.is_empty());
        if !needs_digest {
            return Ok(ProvenImage { digest: image.reference.digest.clone(), message: None });
        }
        let target = lookup::VerificationTarget::find(entry, image, context)?;
        if !entry.sets.is_empty() {
            signers::verify_signatures(self, entry, &target, context, notes)?;
        }
        if !entry.attestations.is_empty() {
            attestations::verify_attestations(self, entry, &target, context, notes)?;
        }
        let name = &target.name;
        let message = match (entry.sets.is_empty(), entry.attestations.is_empty()) {
            (_, false) => Some(format!("verified image attestations for {name}")),
            (false, true) => Some(format!("verified image signatures for {name}")),
            (true, true) => None,
        };
        Ok(ProvenImage { digest: target.digest, message })
    }

    /// Checks that the images of `object` have digests and records, and that nothing denies them.
    pub(super) fn validate<'a>(
        &'a self,
        object: &Value,
        key: RecordKey<'_>,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        if context.is_deletion() {
            return CheckVerdict::Nothing("images are not checked on DELETE".into());
        }
        match self.validate_images(object, key, context, notes) {
            Ok(verdict) => verdict,
            Err(error) => CheckVerdict::Error(error),
        }
    }

    fn validate_images<'a>(
        &'a self,
        object: &Value,
        key: RecordKey<'_>,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Result<CheckVerdict, EvalError> {
        let images = extract::object_images(object, &self.extractors, context)?;
        let (mut passed, mut skipped) = (0_usize, Vec::new());
        for entry in &self.entries {
            let mut is_concerned = false;
            let skipped_before = skipped.len();
            for image in &images {
                let name = image.reference.to_string();
                if !matches_any(&entry.references, &name, context)? {
                    continue;
                }
                if matches_any(&entry.skipped, &name, context)? {
                    notes.say(|| skipped_note(entry, image, &name));
                    skipped.push(name);
                    continue;
                }
                is_concerned = true;
                let problem = validate_image(entry, image, &name, (object, key), context)?;
                notes.say(|| image_note(entry, &name, problem.as_deref()));
                if let Some(message) = problem {
                    return Ok(CheckVerdict::Fail(violation(message, entry, image)));
                }
                passed += 1;
            }
            if !is_concerned && skipped.len() == skipped_before {
                say_unmatched(entry, &images, notes);
            }
            if let Some(violation) = entry.denied(context, notes)?.filter(|_| is_concerned) {
                return Ok(CheckVerdict::Fail(violation));
            }
        }
        let list = skipped.join(", ");
        Ok(match (passed, skipped.is_empty()) {
            (0, true) => CheckVerdict::Nothing("no image matches".into()),
            (0, false) => CheckVerdict::Skip(format!("image skipped, skipped images: {list}").into()),
            (_, true) => CheckVerdict::Pass("image verified".into()),
            (_, false) => CheckVerdict::Pass(format!("image verified, skipped images: {list}").into()),
        })
    }

    /// Returns the branches for coverage: every entry.
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let entry =
            |(index, entry): (usize, &ImageEntry)| (format!("verifyImages[{index}]"), entry.path.clone());
        self.entries.iter().enumerate().map(entry).collect()
    }
}

fn validate_image(
    entry: &ImageEntry,
    image: &ObjectImage,
    name: &str,
    (object, key): (&Value, RecordKey<'_>),
    context: &mut VariableContext<'_>,
) -> Result<Option<String>, EvalError> {
    if entry.verifies_digest && image.reference.digest.is_empty() {
        return Ok(Some(format!("missing digest for {name}")));
    }
    if entry.is_required
        && !image.is_unchanged(context)
        && record::status_in(object, key, name, context.budget())? != Some(RecordStatus::Pass)
    {
        return Ok(Some(format!("unverified image {name}")));
    }
    Ok(None)
}

impl ImageEntry {
    /// Returns the violation where the conditions of `validate.deny` hold.
    fn denied<'a>(
        &'a self,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Result<Option<RuleViolation>, EvalError> {
        let Some(deny) = &self.deny else { return Ok(None) };
        let is_denied = match &deny.conditions {
            Some(conditions) => {
                let verdict = conditions.value.evaluate(context, notes);
                verdict.map_err(|unresolved| unresolved.into_error("failed to check deny conditions"))?.holds
            }
            None => true,
        };
        if !is_denied {
            return Ok(None);
        }
        let message = deny.message.resolve_text(context);
        let message = message.map_err(|unresolved| unresolved.into_error("failed to resolve the message"))?;
        let at = deny.conditions.as_ref().map_or_else(|| self.path.clone(), |one| one.path.clone());
        Ok(Some(RuleViolation { at, ..RuleViolation::new(message.to_string()) }))
    }
}

/// An image that is verified as far as its entry demands.
struct ProvenImage {
    digest: Text,
    /// What was verified; nothing where only the digest was looked up.
    message: Option<String>,
}

/// What the mutating phase has found out so far.
#[derive(Default)]
struct VerificationRound {
    records: ImageRecords,
    passed: Vec<String>,
    has_skipped: bool,
    failed: Option<RuleViolation>,
}

impl VerificationRound {
    fn skip(&mut self, name: &str) {
        self.records.add(name, RecordStatus::Skip);
        self.has_skipped = true;
    }

    fn fail(&mut self, name: &str, message: String, entry: &ImageEntry, image: &ObjectImage) {
        self.records.add(name, RecordStatus::Fail);
        self.failed.get_or_insert_with(|| violation(message, entry, image));
    }

    /// Records a proven image, and replaces its tag by its digest.
    fn settle(&mut self, entry: &ImageEntry, image: &ObjectImage, proven: ProvenImage, object: &mut Value) {
        let mut reference = image.reference.clone();
        let is_pinned = entry.mutates_digest
            && reference.digest.is_empty()
            && !proven.digest.is_empty()
            && image.pin(object, &proven.digest);
        if is_pinned {
            reference.digest = proven.digest;
        }
        if let Some(message) = proven.message {
            self.records.add(&reference.to_string(), RecordStatus::Pass);
            self.passed.push(message);
        } else if is_pinned {
            self.passed.push("mutated image digest".to_owned());
        }
    }

    fn into_phase(self) -> ImagePhase {
        let Self { passed, has_skipped, failed, .. } = self;
        match (failed, passed.is_empty(), has_skipped) {
            (Some(violation), _, _) => ImagePhase::Fail(violation),
            (None, false, _) => ImagePhase::Pass(passed.join("; ").into()),
            (None, true, true) => ImagePhase::Skip,
            (None, true, false) => ImagePhase::Nothing,
        }
    }
}

fn violation(message: String, entry: &ImageEntry, image: &ObjectImage) -> RuleViolation {
    RuleViolation {
        path: image.path.clone(),
        from: PathOrigin::Object,
        at: entry.path.clone(),
        ..RuleViolation::new(message)
    }
}

fn matches_any(globs: &[Text], image: &str, context: &mut VariableContext<'_>) -> Result<bool, EvalError> {
    for glob in globs {
        if glob::matches_wildcard(glob, image, context.budget())? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn entry_note(entry: &ImageEntry, name: &str, verified: &Result<ProvenImage, ImageProblem>) -> TraceNote {
    let (wanted, verdict) = match verified {
        Ok(proven) => (proven.message.clone().unwrap_or_default(), Seen::Yes),
        Err(ImageProblem::Unproven(message)) => (message.clone(), Seen::No),
        Err(ImageProblem::Error(error)) => (error.message.clone(), Seen::Error),
    };
    TraceNote { wanted, verdict, ..image_note(entry, name, None) }
}

fn image_note(entry: &ImageEntry, name: &str, problem: Option<&str>) -> TraceNote {
    TraceNote {
        what: format!("image {name}"),
        found: problem.unwrap_or_default().to_owned(),
        verdict: if problem.is_some() { Seen::No } else { Seen::Yes },
        at: entry.path.clone(),
        ..TraceNote::default()
    }
}

/// Says which images the references of an entry do not match.
fn say_unmatched(entry: &ImageEntry, images: &[ObjectImage], notes: &mut TraceNotes) {
    let note = |found: String, subject: Vec<Step>| TraceNote {
        what: format!("imageReferences {}", entry.references.join(", ")),
        found,
        verdict: Seen::No,
        at: child_path(&entry.path, "imageReferences"),
        subject,
        ..TraceNote::default()
    };
    if images.is_empty() {
        notes.say(|| note("no image".to_owned(), Vec::new()));
    }
    for image in images {
        notes.say(|| note(image.reference.to_string(), image.path.clone()));
    }
}

fn skipped_note(entry: &ImageEntry, image: &ObjectImage, name: &str) -> TraceNote {
    TraceNote {
        what: format!("skipImageReferences {}", entry.skipped.join(", ")),
        found: format!("{name}, which is not verified"),
        verdict: Seen::No,
        at: child_path(&entry.path, "skipImageReferences"),
        subject: image.path.clone(),
        ..TraceNote::default()
    }
}

/// Returns the object before an update; nothing where it is not known.
fn known_old_object<'a>(context: &VariableContext<'a>) -> Option<&'a Value> {
    let request = context.request();
    let is_known = request.operation == Operation::Update && !request.is_old_object_assumed;
    is_known.then_some(&request.old_object)
}

impl ObjectImage {
    /// Returns whether the request is an update that leaves the image as it is.
    fn is_unchanged(&self, context: &VariableContext<'_>) -> bool {
        let old = known_old_object(context).and_then(|old| old.follow(&self.path));
        old.is_some_and(|old| old.as_str() == Some(self.written.as_str()))
    }
}

#[cfg(test)]
mod tests;
