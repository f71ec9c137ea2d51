//! Compiles image checks: texts with variables, conditions, keys of logs.

use kubewright_engine::Query;
use kubewright_jmespath::JmesPathFunctions;
use kubewright_k8s::{ObjectName, PodTemplatePath};
use kubewright_signatures::identity::WantedIdentity;
use kubewright_signatures::{HashFunction, LogTrust, PublicVerifier};
use kubewright_value::{Step, Text, Value};

use super::attestations::CompiledAttestation;
use super::extract::CompiledExtractor;
use super::signers::{SetEntry, SetSigner, SignerSet};
use super::{ImageChecks, ImageDeny, ImageEntry};
use crate::conditions::ConditionSet;
use crate::evaluate::Rooted;
use crate::source::images::{
    AttestationSource, ImageDenySource, ImageEntrySource, ImageExtractor, ImageSignerSource, ImagesSource,
    SignatureLogs, SignerSetSource,
};
use crate::template::{TemplateVariable, VariableProblem, VariableQuery, VariableTemplate};
use kubewright_dialect_kit::fields::Located;

/// Compiled image checks, with what was wrong in their expressions and in keys.
pub(crate) struct ImageParts {
    pub(crate) checks: ImageChecks,
    /// The problems of expressions, each below a path of the document.
    pub(crate) problems: Vec<(Vec<Step>, Vec<VariableProblem>)>,
    /// Whether a signature is valid only for some time.
    pub(crate) is_timed: bool,
}

/// Compiles `source`; `now` is the current time in seconds since 1970, if it is known.
pub(crate) fn compile_images(
    source: &ImagesSource,
    functions: &JmesPathFunctions,
    now: Option<i64>,
) -> ImageParts {
    let mut compiler = ImageCompiler { functions, problems: Vec::new(), is_timed: false };
    let entries = source.entries.iter().map(|entry| compiler.entry(entry)).collect();
    let extractors = source.extractors.iter();
    let extractors = extractors
        .map(|(kind, list)| (kind.clone(), list.iter().map(|one| compiler.extractor(one)).collect()))
        .collect();
    let ImageCompiler { problems, is_timed, .. } = compiler;
    ImageParts { checks: ImageChecks { entries, extractors, now }, problems, is_timed }
}

struct ImageCompiler<'f> {
    functions: &'f JmesPathFunctions,
    problems: Vec<(Vec<Step>, Vec<VariableProblem>)>,
    is_timed: bool,
}

impl ImageCompiler<'_> {
    fn entry(&mut self, source: &ImageEntrySource) -> ImageEntry {
        ImageEntry {
            path: source.path.clone(),
            format: source.format,
            references: source.references.clone(),
            skipped: source.skipped.clone(),
            sets: source.attestors.iter().map(|set| self.set(set)).collect(),
            attestations: source.attestations.iter().map(|one| self.attestation(one)).collect(),
            annotations: source.annotations.clone(),
            repository: source.repository.clone(),
            uses_referrers: source.uses_referrers,
            mutates_digest: source.mutates_digest,
            verifies_digest: source.verifies_digest,
            is_required: source.is_required,
            deny: source.deny.as_ref().map(|deny| self.deny(deny)),
            credentials: source.credentials.clone(),
        }
    }

    fn attestation(&mut self, source: &AttestationSource) -> CompiledAttestation {
        CompiledAttestation {
            predicate_type: source.predicate_type.clone(),
            sets: source.attestors.iter().map(|set| self.set(set)).collect(),
            conditions: source.conditions.as_ref().map(|conditions| self.conditions(conditions)),
        }
    }

    fn deny(&mut self, source: &ImageDenySource) -> ImageDeny {
        let nothing = || Located { value: Text::new_static("images denied"), path: Vec::new() };
        let message = source.message.clone().unwrap_or_else(nothing);
        let conditions = source.conditions.as_ref().map(|conditions| self.conditions(conditions));
        ImageDeny { message: self.text(&message), conditions }
    }

    fn extractor(&mut self, source: &ImageExtractor) -> CompiledExtractor {
        let query = source.jmes_path.as_ref().map(|text| {
            let (query, problems) = VariableQuery::parse(&text.value, self.functions);
            self.problems.push((text.path.clone(), problems));
            query
        });
        CompiledExtractor { source: source.clone(), query }
    }

    fn set(&mut self, source: &SignerSetSource) -> SignerSet {
        let mut entries = Vec::with_capacity(source.entries.len());
        for entry in &source.entries {
            entries.push(SetEntry {
                path: entry.path.clone(),
                annotations: entry.annotations.clone(),
                repository: entry.repository.clone(),
                by: self.signer(&entry.by),
            });
        }
        SignerSet { count: source.count, entries }
    }

    fn signer(&mut self, source: &ImageSignerSource) -> SetSigner {
        let hash = |name: &str| HashFunction::named(name).unwrap_or_default();
        match source {
            ImageSignerSource::Keys { text, algorithm, log } => {
                SetSigner::Keys { text: self.text(text), hash: hash(algorithm), trust: log.trust() }
            }
            ImageSignerSource::Secret { namespace, name, algorithm, log } => {
                let query = Query::Object(ObjectName {
                    kind: "Secret".into(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                    ..ObjectName::default()
                });
                SetSigner::Secret { query, hash: hash(algorithm), trust: log.trust() }
            }
            ImageSignerSource::KeyService => SetSigner::KeyService,
            ImageSignerSource::Certificates { certificate, chain, log } => {
                self.is_timed = true;
                SetSigner::Certificates {
                    certificate: certificate.as_ref().map(|text| self.text(text)),
                    chain: chain.as_ref().map(|text| self.text(text)),
                    trust: log.trust(),
                }
            }
            ImageSignerSource::Keyless(keyless) => {
                self.is_timed = true;
                SetSigner::Keyless {
                    identity: WantedIdentity {
                        issuer: keyless.issuer.clone(),
                        issuer_pattern: keyless.issuer_pattern.clone(),
                        subject: keyless.subject.clone(),
                        subject_pattern: keyless.subject_pattern.clone(),
                        is_glob: true,
                    },
                    roots: self.text(&keyless.roots),
                    extensions: keyless.extensions.clone(),
                    trust: keyless.log.trust(),
                }
            }
            ImageSignerSource::Set(set) => SetSigner::Set(self.set(set)),
        }
    }

    fn text(&mut self, text: &Located<Text>) -> VariableTemplate {
        let (template, problems) = VariableTemplate::parse(&Value::from(text.value.clone()), self.functions);
        self.problems.push((text.path.clone(), problems));
        template
    }

    fn conditions(&mut self, conditions: &Located<Value>) -> Rooted<ConditionSet> {
        let (value, problems) = ConditionSet::compile(conditions, self.functions);
        self.problems.push((conditions.path.clone(), problems));
        Rooted { value, path: conditions.path.clone() }
    }
}

impl SignatureLogs {
    /// Returns what the rule trusts. A key that cannot be read is trusted in nothing, so that verifying fails.
    fn trust(&self) -> LogTrust {
        let keys = |text: &str| PublicVerifier::all_of_pem(text).unwrap_or_default();
        LogTrust {
            ignores_log: self.ignores_log,
            log_keys: keys(&self.log_key),
            ignores_certificate_log: self.ignores_certificate_log,
            certificate_log_keys: keys(&self.certificate_log_key),
        }
    }
}

impl ImageChecks {
    /// Returns the same checks for the objects that make Pods.
    pub(crate) fn rebased(&self, to: PodTemplatePath) -> Self {
        let mut rebased = self.clone();
        for entry in &mut rebased.entries {
            if let Some(deny) = &mut entry.deny {
                deny.message = deny.message.rebased(to);
                deny.conditions = deny.conditions.as_ref().map(|conditions| conditions.rebased(to));
            }
        }
        rebased
    }

    /// Returns the conditions that see what those of other rules see.
    pub(crate) fn deny_conditions(&self) -> impl Iterator<Item = &Rooted<ConditionSet>> {
        self.entries.iter().filter_map(|entry| entry.deny.as_ref()?.conditions.as_ref())
    }

    /// Returns the variables in keys, certificates and attestation conditions, with the path of the entry.
    pub(crate) fn variables(&self) -> Vec<(&[Step], Vec<&TemplateVariable>)> {
        let mut found = Vec::new();
        for entry in &self.entries {
            let sets = entry.attestations.iter().flat_map(|one| &one.sets).chain(&entry.sets);
            let mut variables = Vec::new();
            sets.for_each(|set| set.variables(&mut variables));
            variables.extend(entry.deny.iter().flat_map(|deny| deny.message.variables()));
            found.push((entry.path.as_slice(), variables));
        }
        found
    }
}

impl SignerSet {
    fn variables<'s>(&'s self, into: &mut Vec<&'s TemplateVariable>) {
        for entry in &self.entries {
            match &entry.by {
                SetSigner::Keys { text, .. } => into.extend(text.variables()),
                SetSigner::Keyless { roots, .. } => into.extend(roots.variables()),
                SetSigner::Certificates { certificate, chain, .. } => {
                    into.extend(certificate.iter().chain(chain).flat_map(|text| text.variables()));
                }
                SetSigner::Set(set) => set.variables(into),
                SetSigner::Secret { .. } | SetSigner::KeyService => {}
            }
        }
    }
}
