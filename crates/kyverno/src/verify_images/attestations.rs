//! Attestations: signed statements about an image, and what they must say.

use kubewright_engine::{EvalError, ImagePart};
use kubewright_signatures::envelope::{SignedStatement, signed_statements};
use kubewright_signatures::{ImageSigner, LogTrust};
use kubewright_value::{Text, Value};

use super::lookup::VerificationTarget;
use super::signers::{ReadySigner, SignerSet};
use super::{ImageChecks, ImageEntry, ImageProblem};
use crate::conditions::ConditionSet;
use crate::context::VariableContext;
use crate::evaluate::Rooted;
use crate::source::images::SignatureFormat;
use kubewright_dialect_kit::notes::TraceNotes;

/// A statement that must exist.
#[derive(Clone)]
pub(super) struct CompiledAttestation {
    pub(super) predicate_type: Text,
    /// Who must have made it; the signers of the image where there are none.
    pub(super) sets: Vec<SignerSet>,
    pub(super) conditions: Option<Rooted<ConditionSet>>,
}

/// Verifies all attestations of `entry`.
pub(super) fn verify_attestations<'a>(
    checks: &'a ImageChecks,
    entry: &'a ImageEntry,
    target: &VerificationTarget,
    context: &mut VariableContext<'a>,
    notes: &mut TraceNotes,
) -> Result<(), ImageProblem> {
    let part = match (entry.format, entry.uses_referrers) {
        (SignatureFormat::Cosign, false) => ImagePart::Attestations,
        _ => ImagePart::Referrers,
    };
    if entry.format == SignatureFormat::Notary {
        return Err(ImageProblem::Unproven(format!(
            "failed to verify image {}: attestations of the type Notary are not verified",
            target.name
        )));
    }
    let artifacts = target.artifacts(part, &entry.repository, &entry.credentials, context)?;
    let (statements, problems) = signed_statements(&artifacts);
    let mut verification = StatementVerification { checks, target, statements, problems, notes };
    for (index, attestation) in entry.attestations.iter().enumerate() {
        let sets = if attestation.sets.is_empty() { &entry.sets } else { &attestation.sets };
        verification.attestation(attestation, sets, &format!(".attestations[{index}]"), context)?;
    }
    Ok(())
}

struct StatementVerification<'v, 'n> {
    checks: &'v ImageChecks,
    target: &'v VerificationTarget,
    statements: Vec<SignedStatement>,
    problems: Vec<String>,
    notes: &'n mut TraceNotes,
}

impl StatementVerification<'_, '_> {
    fn attestation<'a>(
        &mut self,
        attestation: &'a CompiledAttestation,
        sets: &[SignerSet],
        path: &str,
        context: &mut VariableContext<'a>,
    ) -> Result<(), ImageProblem> {
        if sets.is_empty() {
            return Err(unverified(0, 1, "no attestor is named"));
        }
        for (index, set) in sets.iter().enumerate() {
            let path = format!("{path}.attestors[{index}]");
            self.set(attestation, set, &path, context)?;
        }
        Ok(())
    }

    fn set<'a>(
        &mut self,
        attestation: &'a CompiledAttestation,
        set: &SignerSet,
        path: &str,
        context: &mut VariableContext<'a>,
    ) -> Result<(), ImageProblem> {
        let ready = set.ready(context)?;
        let required = set.required(ready.len());
        let (mut verified, mut reasons) = (0, Vec::new());
        for (index, (field, signer)) in ready.iter().enumerate() {
            let path = format!("{path}.entries[{index}].{field}");
            let proof = match signer {
                ReadySigner::Unusable(reason) => Err(reason.clone()),
                ReadySigner::Set { set } => match self.set(attestation, set, &path, context) {
                    Ok(()) => Ok(()),
                    Err(ImageProblem::Unproven(reason)) => Err(reason),
                    Err(error) => return Err(error),
                },
                ReadySigner::One { signer, trust, .. } => {
                    self.one(attestation, (signer, trust), &path, context)?
                }
            };
            match proof {
                Ok(()) => verified += 1,
                Err(reason) => reasons.push(format!("{path}: {reason}")),
            }
            if verified >= required {
                return Ok(());
            }
        }
        Err(unverified(verified, required, &reasons.join("; ")))
    }

    /// Checks the statements of the wanted type that `signer` made: there must be one, and each must satisfy the conditions.
    fn one<'a>(
        &mut self,
        attestation: &'a CompiledAttestation,
        (signer, trust): (&ImageSigner, &LogTrust),
        path: &str,
        context: &mut VariableContext<'a>,
    ) -> Result<Result<(), String>, ImageProblem> {
        let statements = self.signed_by(attestation, (signer, trust), context)?;
        let statements = match statements {
            Ok(statements) => statements,
            Err(reason) => return Ok(Err(reason)),
        };
        let Some(conditions) = &attestation.conditions else { return Ok(Ok(())) };
        for predicate in &statements {
            let result = context.with_predicate(predicate, |context| {
                conditions.value.evaluate(context, self.notes).map(|verdict| (verdict.holds, verdict.text()))
            });
            let (holds, text) = result.map_err(|unresolved| {
                ImageProblem::Error(unresolved.into_error(&format!("{path}: failed to check attestations")))
            })?;
            if !holds {
                let (name, kind) = (&self.target.name, &attestation.predicate_type);
                return Err(ImageProblem::Unproven(format!(
                    "{path}: attestation checks failed for {name} and predicate {kind}: {text}"
                )));
            }
        }
        Ok(Ok(()))
    }

    /// Returns the predicates of the wanted type that `signer` signed for this image.
    fn signed_by(
        &self,
        attestation: &CompiledAttestation,
        (signer, trust): (&ImageSigner, &LogTrust),
        context: &mut VariableContext<'_>,
    ) -> Result<Result<Vec<Value>, String>, ImageProblem> {
        let kind = &attestation.predicate_type;
        let wanted = self.statements.iter().filter(|one| {
            one.statement.predicate_type == *kind && one.statement.is_about(&self.target.digest)
        });
        let (mut found, mut reasons) = (Vec::new(), self.problems.clone());
        for one in wanted {
            let mut is_signed = false;
            for item in &one.items {
                let verified = signer.verify(item, trust, self.checks.now, context.budget());
                match verified.map_err(|limit| ImageProblem::Error(EvalError::from(limit)))? {
                    Ok(()) => is_signed = true,
                    Err(reason) => reasons.push(reason),
                }
            }
            if is_signed {
                found.push(one.statement.predicate.clone());
            }
        }
        if !found.is_empty() {
            return Ok(Ok(found));
        }
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
        Ok(Err(format!("no matching attestations of the type {kind}{reasons}")))
    }
}

fn unverified(verified: usize, required: usize, error: &str) -> ImageProblem {
    ImageProblem::Unproven(format!(
        "image attestations verification failed, verifiedCount: {verified}, requiredCount: {required}, error: {error}"
    ))
}
