//! The mutating phase of an ImageValidatingPolicy: tags are replaced by digests, so that what is verified is what runs.
//!
//! Nothing is recorded: the validating phase verifies for itself. A tag whose digest cannot be found out stays as it is,
//! and the validating phase says what that means; at admission it is an error, because there it could have been found.

use std::cell::Cell;

use kubewright_cel_rules::{CheckResult, ExpressionSubject, SpentCost, VerifiedImages};
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_dialect_kit::trace;
use kubewright_engine::{Applies, Effect, EvalError, Evaluation, QueryAnswer, RuleProgram};
use kubewright_golib::image::ImageReference;
use kubewright_patch as patch;
use kubewright_value::{Text, Value};

use super::evaluate::{ImagePolicyProgram, LISTS, pod_spec_keys};
use crate::vpol::exceptions::ExceptionEffect;

/// Puts digests behind the tags of the images that a policy is about.
pub(super) struct DigestMutation(pub(super) ImagePolicyProgram);

impl RuleProgram for DigestMutation {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        self.0.applies(object, evaluation)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if object.is_null() {
            return Ok(Effect::NotReported("what is deleted keeps its tags".into()));
        }
        let mut notes = TraceNotes::of(evaluation.tracer);
        let spent = Cell::new(SpentCost::within(evaluation.budget));
        let digests = self.digests(object, &spent, evaluation, &mut notes);
        spent.get().charge(evaluation.budget);
        trace::emit_notes(&mut notes, evaluation.tracer, &self.0.base.document);
        let digests = digests.map_err(ImagePolicyProgram::evaluation_error)?;
        let before = object.clone();
        for (image, digest) in &digests {
            pin_image(object, image, digest);
        }
        let operations = patch::diff_values(&before, object);
        Ok(match operations.is_empty() {
            true => Effect::NotReported("no tag is replaced by a digest".into()),
            false => Effect::Patch { operations, message: "mutated image digest".into() },
        })
    }
}

impl DigestMutation {
    /// Returns the images that are named by tags, with their digests.
    fn digests(
        &self,
        object: &Value,
        spent: &Cell<SpentCost>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vec<(Text, Text)>, EvalError> {
        let verified = VerifiedImages::default();
        let subject: ExpressionSubject<'_> = self.0.subject(object, spent, &verified);
        match self.0.check_conditions(&subject, evaluation, notes) {
            CheckResult::Holds => {}
            CheckResult::NotAsked => return Ok(Vec::new()),
            other => return self.0.base.effect(other).map(|_| Vec::new()),
        }
        if let ExceptionEffect::Wholly(_) = self.0.exceptions(&subject, evaluation, notes)? {
            return Ok(Vec::new());
        }
        let mut digests: Vec<(Text, Text)> = Vec::new();
        for image in self.0.container_images(object, &subject, evaluation, notes)? {
            if !image.contains('@')
                && !digests.iter().any(|(known, _)| *known == image)
                && let Some(digest) = self.digest(&image, evaluation)?
            {
                digests.push((image, digest));
            }
        }
        Ok(digests)
    }

    /// Returns the digest that the tag of `image` stands for, where that is known.
    fn digest(&self, image: &str, evaluation: &Evaluation<'_>) -> Result<Option<Text>, EvalError> {
        let Ok(reference) = ImageReference::parse(image) else { return Ok(None) };
        let query = self.0.image_query(&reference, evaluation);
        let is_admission = evaluation.request.is_admission();
        match evaluation.world.get(&query) {
            QueryAnswer::Found(found) => match found.str_at(&["digest"]) {
                "" => Ok(None),
                digest => Ok(Some(digest.into())),
            },
            answer if is_admission => Err(ImagePolicyProgram::unfetched(image, query, answer)),
            _ => Ok(None),
        }
    }
}

fn pin_image(object: &mut Value, image: &str, digest: &str) {
    let Some(keys) = pod_spec_keys(object) else { return };
    let mut spec = object;
    for key in keys {
        let Some(next) = spec.as_object_mut().and_then(|map| map.get_mut(key)) else { return };
        spec = next;
    }
    for list in LISTS {
        let containers = spec.as_object_mut().and_then(|map| map.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let written = container.as_object_mut().and_then(|map| map.get_mut("image"));
            if let Some(written) = written.filter(|written| written.as_str() == Some(image)) {
                *written = format!("{image}@{digest}").into();
            }
        }
    }
}
