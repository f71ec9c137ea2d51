//! Sets of signers, of which some are enough, and sets in sets.

use kubewright_engine::{EvalError, ImagePart, Query, QueryAnswer, TraceVerdict as Seen};
use kubewright_golib::glob;
use kubewright_signatures::identity::WantedIdentity;
use kubewright_signatures::notation::{NotationSignature, notation_signatures};
use kubewright_signatures::payload::{ImageSignature, image_signatures};
use kubewright_signatures::{
    HashFunction, ImageSigner, LogTrust, PublicVerifier, SIGNATURE_COST, SignerCertificate,
};
use kubewright_value::{Step, Text, Value};

use super::lookup::VerificationTarget;
use super::{ImageChecks, ImageEntry, ImageProblem};
use crate::context::VariableContext;
use crate::manifests::message::decode_base64_lines;
use crate::source::images::SignatureFormat;
use crate::template::VariableTemplate;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};

/// The entry of a Secret that holds a public key.
const SECRET_KEY: &str = "cosign.pub";

/// Some signers, of which `count` are enough.
#[derive(Clone)]
pub(super) struct SignerSet {
    /// All of them, where none is given.
    pub(super) count: Option<usize>,
    pub(super) entries: Vec<SetEntry>,
}

/// A signer, or a set of them.
#[derive(Clone)]
pub(super) struct SetEntry {
    pub(super) path: Vec<Step>,
    pub(super) annotations: Vec<(Text, Text)>,
    pub(super) repository: Text,
    pub(super) by: SetSigner,
}

/// Who signs, with variables.
#[derive(Clone)]
pub(super) enum SetSigner {
    Keys {
        text: VariableTemplate,
        hash: HashFunction,
        trust: LogTrust,
    },
    Secret {
        query: Query,
        hash: HashFunction,
        trust: LogTrust,
    },
    KeyService,
    Certificates {
        certificate: Option<VariableTemplate>,
        chain: Option<VariableTemplate>,
        trust: LogTrust,
    },
    Keyless {
        identity: WantedIdentity,
        roots: VariableTemplate,
        extensions: Vec<(Text, Text)>,
        trust: LogTrust,
    },
    Set(SignerSet),
}

/// One signer of a set, ready to verify with.
pub(super) enum ReadySigner<'s> {
    One {
        signer: Box<ImageSigner>,
        trust: &'s LogTrust,
        entry: &'s SetEntry,
    },
    Set {
        set: &'s SignerSet,
    },
    /// One that cannot verify anything, and why.
    Unusable(String),
}

/// Verifies that enough signers of every set have signed the image.
pub(super) fn verify_signatures<'a>(
    checks: &'a ImageChecks,
    entry: &'a ImageEntry,
    target: &VerificationTarget,
    context: &mut VariableContext<'a>,
    notes: &mut TraceNotes,
) -> Result<(), ImageProblem> {
    for (index, set) in entry.sets.iter().enumerate() {
        let mut verification = SignatureVerification { checks, entry, target, notes: &mut *notes };
        verification.set(set, &format!(".attestors[{index}]"), context)?.map_err(|reason| {
            ImageProblem::Unproven(format!("failed to verify image {}: {reason}", target.name))
        })?;
    }
    Ok(())
}

impl SignerSet {
    /// Returns the signers with their variables resolved; several keys in one text are several signers.
    pub(super) fn ready<'s, 'a>(
        &'s self,
        context: &mut VariableContext<'a>,
    ) -> Result<Vec<(&'static str, ReadySigner<'s>)>, ImageProblem> {
        let mut ready = Vec::new();
        for entry in &self.entries {
            let field = entry.by.field();
            match entry.signers(context) {
                Ok(signers) => ready.extend(signers.into_iter().map(|signer| (field, signer))),
                Err(ImageProblem::Unproven(reason)) => ready.push((field, ReadySigner::Unusable(reason))),
                Err(error) => return Err(error),
            }
        }
        Ok(ready)
    }

    /// Returns how many of `signers` are enough.
    pub(super) fn required(&self, signers: usize) -> usize {
        self.count.unwrap_or(signers).max(1)
    }
}

impl SetSigner {
    fn field(&self) -> &'static str {
        match self {
            Self::Keys { .. } | Self::Secret { .. } | Self::KeyService => "keys",
            Self::Certificates { .. } => "certificates",
            Self::Keyless { .. } => "keyless",
            Self::Set(_) => "attestor",
        }
    }
}

impl SetEntry {
    fn signers<'s>(
        &'s self,
        context: &mut VariableContext<'_>,
    ) -> Result<Vec<ReadySigner<'s>>, ImageProblem> {
        let one = |signer, trust| ReadySigner::One { signer: Box::new(signer), trust, entry: self };
        Ok(match &self.by {
            SetSigner::Keys { text, hash, trust } => {
                let text = resolved(text, context)?;
                keys(&text)?
                    .into_iter()
                    .map(|key| one(ImageSigner::Key { key, hash: *hash }, trust))
                    .collect()
            }
            SetSigner::Secret { query, hash, trust } => {
                let text = secret_key(query, context)?;
                keys(&text)?
                    .into_iter()
                    .map(|key| one(ImageSigner::Key { key, hash: *hash }, trust))
                    .collect()
            }
            SetSigner::KeyService => {
                vec![ReadySigner::Unusable("a key that stays in its service cannot be used".to_owned())]
            }
            SetSigner::Certificates { certificate, chain, trust } => {
                let certificate = certificates(certificate.as_ref(), context)?.into_iter().next();
                let chain = certificates(chain.as_ref(), context)?;
                vec![one(ImageSigner::Certificate { certificate, chain }, trust)]
            }
            SetSigner::Keyless { identity, roots, extensions, trust } => {
                let roots = certificates(Some(roots), context)?;
                let identities = vec![identity.clone()];
                vec![one(ImageSigner::Keyless { identities, roots, extensions: extensions.clone() }, trust)]
            }
            SetSigner::Set(set) => vec![ReadySigner::Set { set }],
        })
    }
}

fn keys(text: &str) -> Result<Vec<PublicVerifier>, ImageProblem> {
    PublicVerifier::all_of_pem(text).map_err(ImageProblem::Unproven)
}

fn certificates(
    text: Option<&VariableTemplate>,
    context: &mut VariableContext<'_>,
) -> Result<Vec<SignerCertificate>, ImageProblem> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let text = resolved(text, context)?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    SignerCertificate::all_of_pem(&text).map_err(ImageProblem::Unproven)
}

fn resolved(text: &VariableTemplate, context: &mut VariableContext<'_>) -> Result<Text, ImageProblem> {
    text.resolve_text(context).map_err(|unresolved| {
        ImageProblem::Error(unresolved.into_error("failed to substitute variables in attestors"))
    })
}

/// Returns the keys in a Secret.
fn secret_key(query: &Query, context: &VariableContext<'_>) -> Result<String, ImageProblem> {
    let secret = match context.world().get(query) {
        QueryAnswer::Found(secret) => secret,
        QueryAnswer::Absent => return Err(ImageProblem::Unproven(format!("{query} does not exist"))),
        QueryAnswer::Unknown => return Err(ImageProblem::Error(EvalError::unanswered(query.clone()))),
        QueryAnswer::Failed(why) => return Err(ImageProblem::Error(EvalError::failed(query, &why))),
        QueryAnswer::Refused(why) => return Err(ImageProblem::Error(EvalError::refused(query, &why))),
    };
    let plain = secret.at(&["stringData", SECRET_KEY]).and_then(Value::as_str).map(str::to_owned);
    let encoded = || {
        let text = secret.at(&["data", SECRET_KEY]).and_then(Value::as_str)?;
        String::from_utf8(decode_base64_lines(text)?).ok()
    };
    plain.or_else(encoded).ok_or_else(|| ImageProblem::Unproven(format!("{query} has no `{SECRET_KEY}`")))
}

/// Verifies the signatures of one image with the sets of one entry.
struct SignatureVerification<'v, 'n> {
    checks: &'v ImageChecks,
    entry: &'v ImageEntry,
    target: &'v VerificationTarget,
    notes: &'n mut TraceNotes,
}

impl SignatureVerification<'_, '_> {
    /// Tries one signer after the other until there are enough. The inner error is why there are not.
    fn set(
        &mut self,
        set: &SignerSet,
        path: &str,
        context: &mut VariableContext<'_>,
    ) -> Result<Result<(), String>, ImageProblem> {
        let ready = set.ready(context)?;
        let required = set.required(ready.len());
        let (mut verified, mut reasons) = (0, Vec::new());
        for (index, (field, signer)) in ready.iter().enumerate() {
            let path = format!("{path}.entries[{index}].{field}");
            let proof = match signer {
                ReadySigner::Unusable(reason) => Err(reason.clone()),
                ReadySigner::Set { set } => self.set(set, &path, context)?,
                ReadySigner::One { signer, trust, entry } => self.one(signer, trust, entry, context)?,
            };
            match proof {
                Ok(()) => verified += 1,
                Err(reason) if matches!(signer, ReadySigner::Set { .. }) => reasons.push(reason),
                Err(reason) => reasons.push(format!("{path}: {reason}")),
            }
            if verified >= required {
                return Ok(Ok(()));
            }
        }
        Ok(Err(reasons.join("; ")))
    }

    fn one(
        &mut self,
        signer: &ImageSigner,
        trust: &LogTrust,
        by: &SetEntry,
        context: &mut VariableContext<'_>,
    ) -> Result<Result<(), String>, ImageProblem> {
        let proof = match self.entry.format {
            SignatureFormat::Notary => self.notation(signer, by, context)?,
            SignatureFormat::Cosign | SignatureFormat::SigstoreBundle => {
                self.sigstore(signer, trust, by, context)?
            }
        };
        self.notes.say(|| TraceNote {
            what: format!("signed as `{}` says", by.by.field()),
            found: proof.as_ref().err().cloned().unwrap_or_default(),
            verdict: if proof.is_ok() { Seen::Yes } else { Seen::No },
            at: by.path.clone(),
            ..TraceNote::default()
        });
        Ok(proof)
    }

    fn sigstore(
        &self,
        signer: &ImageSigner,
        trust: &LogTrust,
        by: &SetEntry,
        context: &mut VariableContext<'_>,
    ) -> Result<Result<(), String>, ImageProblem> {
        let part = match (self.entry.format, self.entry.uses_referrers) {
            (SignatureFormat::Cosign, false) => ImagePart::Signatures,
            _ => ImagePart::Referrers,
        };
        let artifacts = self.target.artifacts(part, self.repository(by), &self.entry.credentials, context)?;
        let (signatures, mut reasons) = image_signatures(&artifacts);
        if signatures.is_empty() && reasons.is_empty() {
            return Ok(Err("no signatures found".to_owned()));
        }
        for signature in &signatures {
            let verified = signer.verify(&signature.item, trust, self.checks.now, context.budget());
            let proof = verified.map_err(|limit| ImageProblem::Error(limit.into()))?;
            let proof = match proof.and_then(|()| self.is_of_image(signature)) {
                Ok(()) => self.has_annotations(&signature.annotations, by, context)?,
                unproven => unproven,
            };
            match proof {
                Ok(()) => return Ok(Ok(())),
                Err(reason) => reasons.push(reason),
            }
        }
        Ok(Err(format!("no matching signatures: {}", reasons.join(", "))))
    }

    fn is_of_image(&self, signature: &ImageSignature) -> Result<(), String> {
        if signature.digest == self.target.digest {
            Ok(())
        } else {
            Err(format!("the signature is of {}", signature.digest))
        }
    }

    fn notation(
        &self,
        signer: &ImageSigner,
        by: &SetEntry,
        context: &mut VariableContext<'_>,
    ) -> Result<Result<(), String>, ImageProblem> {
        let trusted = trusted_certificates(signer);
        let repository = self.repository(by);
        let artifacts =
            self.target.artifacts(ImagePart::Referrers, repository, &self.entry.credentials, context)?;
        let (signatures, mut reasons) = notation_signatures(&artifacts);
        if signatures.is_empty() && reasons.is_empty() {
            return Ok(Err("no signatures found".to_owned()));
        }
        for signature in &signatures {
            let cost = context.budget().step(2 * SIGNATURE_COST);
            cost.map_err(|limit| ImageProblem::Error(limit.into()))?;
            match self.notation_proof(signature, &trusted) {
                Ok(()) => return self.has_annotations(&signature.annotations, by, context),
                Err(reason) => reasons.push(reason),
            }
        }
        Ok(Err(format!("no matching signatures: {}", reasons.join(", "))))
    }

    fn notation_proof(
        &self,
        signature: &NotationSignature,
        trusted: &[SignerCertificate],
    ) -> Result<(), String> {
        if signature.digest != self.target.digest {
            return Err(format!("the signature is of {}", signature.digest));
        }
        signature.verify(trusted, self.checks.now)
    }

    fn repository<'r>(&'r self, by: &'r SetEntry) -> &'r str {
        if by.repository.is_empty() { &self.entry.repository } else { &by.repository }
    }

    /// Checks the annotations that the rule demands; values may have wildcards.
    fn has_annotations(
        &self,
        found: &Value,
        by: &SetEntry,
        context: &mut VariableContext<'_>,
    ) -> Result<Result<(), String>, ImageProblem> {
        for (name, wanted) in self.entry.annotations.iter().chain(&by.annotations) {
            let value = found.get(name).and_then(Value::as_str).unwrap_or_default();
            let is_met = glob::matches_wildcard(wanted, value, context.budget());
            if !is_met.map_err(|limit| ImageProblem::Error(limit.into()))? || found.get(name).is_none() {
                return Ok(Err(format!(
                    "annotations mismatch: {value} does not match expected value {wanted} for key {name}"
                )));
            }
        }
        Ok(Ok(()))
    }
}

/// Returns the certificates that a Notary signature must lead to.
pub(super) fn trusted_certificates(signer: &ImageSigner) -> Vec<SignerCertificate> {
    match signer {
        ImageSigner::Certificate { certificate, chain } => certificate.iter().chain(chain).cloned().collect(),
        ImageSigner::Key { .. } | ImageSigner::Keyless { .. } => Vec::new(),
    }
}
