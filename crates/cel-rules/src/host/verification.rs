//! Functions that verify signatures and attestations of images.
//!
//! Attestors and attestations are values: the entries of the policy, as they are written.

use std::cell::RefCell;

use kubewright_cel::{CelErrorKind, CelFailure};
use kubewright_engine::{ImageLookup, ImagePart, Query};
use kubewright_golib::image::ImageReference;
use kubewright_signatures::envelope::signed_statements;
use kubewright_signatures::identity::WantedIdentity;
use kubewright_signatures::notation::notation_signatures;
use kubewright_signatures::payload::image_signatures;
use kubewright_signatures::{
    HashFunction, ImageSigner, LogTrust, PublicVerifier, SIGNATURE_COST, SignatureArtifact,
    SignerCertificate, read_material,
};
use kubewright_value::{Budget, Exhausted, Limits, Text, Value};

use super::super::scope::ExpressionScope;

/// What the expressions of a policy verified so far.
#[derive(Debug, Default)]
pub struct VerifiedImages(RefCell<VerifiedContent>);

#[derive(Debug, Default)]
struct VerifiedContent {
    /// Images, and whether an attestor signed them or a statement about them.
    images: Vec<(Text, bool)>,
    /// Image, type of statement, and what it says.
    payloads: Vec<(Text, Text, Value)>,
}

impl VerifiedImages {
    /// Returns whether `image` was verified with success; `None` if it was not tried.
    #[must_use]
    pub fn result_for(&self, image: &str) -> Option<bool> {
        let content = self.0.borrow();
        let mut own = content.images.iter().filter(|(known, _)| known == image).map(|(_, is_good)| *is_good);
        own.clone().next().map(|_| own.any(|is_good| is_good))
    }

    fn note(&self, image: &str, is_good: bool) {
        self.0.borrow_mut().images.push((image.into(), is_good));
    }
}

/// An image whose digest is known.
struct SignedImage {
    repository: String,
    digest: Text,
}

/// An attestor, ready to verify with.
enum ReadyAttestor {
    Sigstore { signer: Box<ImageSigner>, trust: LogTrust, repository: Text, annotations: Vec<(Text, Text)> },
    Notary { trusted: Vec<SignerCertificate> },
}

impl ExpressionScope<'_> {
    /// Returns how many of `attestors` signed `image`.
    pub(super) fn verify_image(&self, image: &str, attestors: &Value) -> Result<Value, CelFailure> {
        let target = self.signed_image(image)?;
        let mut count = 0_i64;
        for attestor in attestors.as_array().unwrap_or_default() {
            count += i64::from(self.is_image_signed(&target, attestor)?);
        }
        self.note_verified(image, count > 0);
        Ok(count.into())
    }

    /// Returns how many of `attestors` signed a statement like `attestation` about `image`.
    pub(super) fn verify_attestation(
        &self,
        image: &str,
        attestation: &Value,
        attestors: &Value,
    ) -> Result<Value, CelFailure> {
        let target = self.signed_image(image)?;
        let kind = attestation_type(attestation)?;
        let mut count = 0_i64;
        for attestor in attestors.as_array().unwrap_or_default() {
            if let Some(payload) = self.signed_payload(&target, &kind, attestor)? {
                count += 1;
                if let Some(verified) = self.verified {
                    verified.0.borrow_mut().payloads.push((image.into(), kind.clone(), payload));
                }
            }
        }
        self.note_verified(image, count > 0);
        Ok(count.into())
    }

    /// Returns what a statement says that was verified before.
    pub(super) fn payload(&self, image: &str, attestation: &Value) -> Result<Value, CelFailure> {
        let kind = attestation_type(attestation)?;
        let found = self.verified.and_then(|verified| {
            let content = verified.0.borrow();
            let mut own = content.payloads.iter();
            own.find(|(known, of, _)| known == image && *of == kind).map(|(_, _, payload)| payload.clone())
        });
        found.ok_or_else(|| {
            CelFailure::value(format!(
                "there is no verified attestation `{kind}` of {image}: verify it first"
            ))
        })
    }

    fn note_verified(&self, image: &str, is_good: bool) {
        if let Some(verified) = self.verified {
            verified.note(image, is_good);
        }
    }

    fn is_image_signed(&self, target: &SignedImage, attestor: &Value) -> Result<bool, CelFailure> {
        let budget = &mut Budget::new(Limits::default());
        match self.ready(attestor)? {
            ReadyAttestor::Sigstore { signer, trust, repository, annotations } => {
                let mut artifacts = self.artifacts(target, ImagePart::Signatures, &repository)?;
                if artifacts.is_empty() {
                    artifacts = self.artifacts(target, ImagePart::Referrers, &repository)?;
                }
                for signature in image_signatures(&artifacts).0 {
                    let has = |(name, wanted): &(Text, Text)| {
                        signature.annotations.get(name).and_then(Value::as_str) == Some(wanted.as_str())
                    };
                    let is_wanted = signature.digest == target.digest && annotations.iter().all(has);
                    if is_wanted && self.prove(&signer, &signature.item, &trust, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            ReadyAttestor::Notary { trusted } => {
                let artifacts = self.artifacts(target, ImagePart::Referrers, "")?;
                for signature in notation_signatures(&artifacts).0 {
                    self.charge_signature()?;
                    let is_own = signature.digest == target.digest;
                    if is_own && signature.verify(&trusted, self.now_seconds()).is_ok() {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn signed_payload(
        &self,
        target: &SignedImage,
        kind: &str,
        attestor: &Value,
    ) -> Result<Option<Value>, CelFailure> {
        let ReadyAttestor::Sigstore { signer, trust, repository, .. } = self.ready(attestor)? else {
            return Err(CelFailure::value("statements that refer to an image are not verified with Notary"));
        };
        let budget = &mut Budget::new(Limits::default());
        let mut artifacts = self.artifacts(target, ImagePart::Attestations, &repository)?;
        if artifacts.is_empty() {
            artifacts = self.artifacts(target, ImagePart::Referrers, &repository)?;
        }
        for signed in signed_statements(&artifacts).0 {
            if signed.statement.predicate_type != kind || !signed.statement.is_about(&target.digest) {
                continue;
            }
            for item in &signed.items {
                if self.prove(&signer, item, &trust, budget)? {
                    return Ok(Some(signed.statement.predicate.clone()));
                }
            }
        }
        Ok(None)
    }

    fn prove(
        &self,
        signer: &ImageSigner,
        item: &kubewright_signatures::SignedItem,
        trust: &LogTrust,
        budget: &mut Budget,
    ) -> Result<bool, CelFailure> {
        self.charge_signature()?;
        let proof = signer.verify(item, trust, self.now_seconds(), budget);
        proof.map(|proof| proof.is_ok()).map_err(limit_failure)
    }

    /// A signature costs as much as text of some kilobytes.
    fn charge_signature(&self) -> Result<(), CelFailure> {
        let bytes = usize::try_from(SIGNATURE_COST).unwrap_or(usize::MAX);
        self.within(|budget| budget.produce(bytes)).map_err(limit_failure)
    }

    fn now_seconds(&self) -> Option<i64> {
        self.inputs.now.and_then(|now| i64::try_from(now / 1_000_000_000).ok())
    }

    fn signed_image(&self, image: &str) -> Result<SignedImage, CelFailure> {
        let reference = ImageReference::parse(image)
            .map_err(|problem| CelFailure::value(format!("`{image}` is not an image: {problem}")))?;
        let repository = reference.repository();
        if !reference.digest.is_empty() {
            return Ok(SignedImage { repository, digest: reference.digest });
        }
        let data = self.image_data(image)?;
        let digest: Text = data.str_at(&["digest"]).into();
        if digest.is_empty() {
            return Err(CelFailure::value(format!("the digest of {image} is not known")));
        }
        Ok(SignedImage { repository, digest })
    }

    /// Returns what the registry knows about an image, in the words of the world.
    pub(super) fn image_data(&self, image: &str) -> Result<Value, CelFailure> {
        let reference =
            ImageReference::parse(image).map_or_else(|_| image.to_owned(), |parsed| parsed.to_string());
        let query = Query::Image(ImageLookup { reference: reference.into(), ..self.image_lookup() });
        self.known(query)?.ok_or_else(|| CelFailure::value(format!("the registry has no image {image}")))
    }

    fn artifacts(
        &self,
        target: &SignedImage,
        part: ImagePart,
        repository: &str,
    ) -> Result<Vec<SignatureArtifact>, CelFailure> {
        let query = Query::Image(ImageLookup {
            reference: format!("{}@{}", target.repository, target.digest).into(),
            part,
            repository: repository.into(),
            ..self.image_lookup()
        });
        match self.known(query)? {
            Some(answer) => read_material(&answer).map_err(CelFailure::value),
            None => Ok(Vec::new()),
        }
    }

    fn image_lookup(&self) -> ImageLookup {
        let credentials = self.extra.get("credentials").unwrap_or(&Value::Null);
        let secrets = credentials.get("secrets").and_then(Value::as_array).unwrap_or_default();
        ImageLookup {
            namespace: self.world.home().cloned().unwrap_or_default(),
            secrets: secrets.iter().filter_map(|name| name.as_str().map(Text::from)).collect(),
            is_insecure: credentials.get("allowInsecureRegistry").and_then(Value::as_bool) == Some(true),
            ..ImageLookup::default()
        }
    }

    fn ready(&self, attestor: &Value) -> Result<ReadyAttestor, CelFailure> {
        let name = attestor.str_at(&["name"]);
        let wrong = |why: String| CelFailure::value(format!("attestor `{name}`: {why}"));
        if let Some(notary) = attestor.get("notary") {
            let text = text_of(notary.get("certs")).map_err(wrong)?;
            return Ok(ReadyAttestor::Notary {
                trusted: SignerCertificate::all_of_pem(&text).map_err(wrong)?,
            });
        }
        let cosign =
            attestor.get("cosign").ok_or_else(|| wrong("it has neither `cosign` nor `notary`".to_owned()))?;
        Ok(ReadyAttestor::Sigstore {
            signer: Box::new(read_signer(cosign).map_err(wrong)?),
            trust: read_trust(cosign).map_err(wrong)?,
            repository: cosign.str_at(&["source", "repository"]).into(),
            annotations: pairs(cosign.get("annotations")),
        })
    }
}

fn read_signer(cosign: &Value) -> Result<ImageSigner, String> {
    if let Some(key) = cosign.get("key").filter(|key| !key.is_null()) {
        if key.get("data").is_none() {
            return Err("only the `data` of a key is used, and not `kms` or `expression`".to_owned());
        }
        let hash = HashFunction::named(&key.str_at(&["hashAlgorithm"]).to_lowercase());
        let keys = PublicVerifier::all_of_pem(key.str_at(&["data"]))?;
        let key = keys.into_iter().next().ok_or("there is no key")?;
        return Ok(ImageSigner::Key { key, hash: hash.ok_or("the hash algorithm is not known")? });
    }
    if let Some(certificate) = cosign.get("certificate").filter(|value| !value.is_null()) {
        let read = |key: &str| match certificate.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            some => SignerCertificate::all_of_pem(&text_of(some)?),
        };
        let own = read("cert")?.into_iter().next();
        return Ok(ImageSigner::Certificate { certificate: own, chain: read("certChain")? });
    }
    let keyless = cosign.get("keyless").ok_or("there is no key, certificate or identity")?;
    let identities = keyless.get("identities").and_then(Value::as_array).unwrap_or_default();
    let identities: Result<Vec<WantedIdentity>, String> = identities.iter().map(read_identity).collect();
    let roots = match keyless.str_at(&["roots"]) {
        "" => Vec::new(),
        text => SignerCertificate::all_of_pem(text)?,
    };
    Ok(ImageSigner::Keyless {
        identities: identities?,
        roots,
        extensions: pairs(keyless.get("additionalExtensions")),
    })
}

fn read_identity(identity: &Value) -> Result<WantedIdentity, String> {
    let text = |key: &str| Text::from(identity.str_at(&[key]));
    if ["subjectExpression", "issuerExpression"].iter().any(|key| identity.get(key).is_some()) {
        return Err("identities that are expressions are not used".to_owned());
    }
    let found = WantedIdentity {
        issuer: text("issuer"),
        issuer_pattern: text("issuerRegExp"),
        subject: text("subject"),
        subject_pattern: text("subjectRegExp"),
        is_glob: false,
    };
    let is_named = |one: &Text, other: &Text| !one.is_empty() || !other.is_empty();
    match is_named(&found.issuer, &found.issuer_pattern) && is_named(&found.subject, &found.subject_pattern) {
        true => Ok(found),
        false => Err("an identity needs a subject and an issuer".to_owned()),
    }
}

fn read_trust(cosign: &Value) -> Result<LogTrust, String> {
    let log = cosign.get("ctlog").unwrap_or(&Value::Null);
    let is_set = |key: &str| log.get(key).and_then(Value::as_bool) == Some(true);
    let keys = |key: &str| match log.str_at(&[key]) {
        "" => Ok(Vec::new()),
        text => PublicVerifier::all_of_pem(text),
    };
    Ok(LogTrust {
        ignores_log: is_set("insecureIgnoreTlog"),
        log_keys: keys("rekorPubKey")?,
        ignores_certificate_log: is_set("insecureIgnoreSCT"),
        certificate_log_keys: keys("ctLogPubKey")?,
    })
}

/// Returns the text of a field that is a text or has a `value`.
fn text_of(field: Option<&Value>) -> Result<String, String> {
    let text = field.and_then(|field| field.as_str().or_else(|| field.get("value")?.as_str()));
    text.map(str::to_owned).ok_or_else(|| "only a `value` is used, and not an `expression`".to_owned())
}

fn pairs(map: Option<&Value>) -> Vec<(Text, Text)> {
    let map = map.and_then(Value::as_object);
    let pair = |(key, value): (&Text, &Value)| Some((key.clone(), value.as_str()?.into()));
    map.into_iter().flat_map(|map| map.iter()).filter_map(pair).collect()
}

fn attestation_type(attestation: &Value) -> Result<Text, CelFailure> {
    let kind = attestation.at(&["intoto", "type"]).and_then(Value::as_str);
    kind.map(Text::from).ok_or_else(|| {
        CelFailure::value(
            "only attestations with `intoto.type` are verified: `referrer` needs another signature",
        )
    })
}

fn limit_failure(limit: Exhausted) -> CelFailure {
    CelFailure::new(CelErrorKind::Limit, limit.to_string())
}
