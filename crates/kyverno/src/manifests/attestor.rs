//! Who must have signed: sets of signers, of which some are enough, and sets in sets.

use kubewright_engine::{EvalError, EvalErrorKind, Evaluation, Query, QueryAnswer, TraceVerdict as Seen};
use kubewright_golib::pem;
use kubewright_k8s::ObjectName;
use kubewright_value::{Step, Text, Value, json};

use super::difference;
use super::message::{decode_base64_lines, decode_signature};
use super::{PublicKey, SignedContent, SignedObject};
use crate::source::manifests::{Attestor, AttestorSet, Signer};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};

/// The cost of checking one signature; a budget allows a hundred of them.
const SIGNATURE_COST: u64 = 50_000;

/// The entry of a Secret that holds a public key.
const SECRET_KEY: &str = "cosign.pub";

/// Some signers, of which `count` are enough.
pub(super) struct Set {
    count: usize,
    entries: Vec<AttestorEntry>,
}

struct AttestorEntry {
    path: Vec<Step>,
    annotations: Vec<(Text, Text)>,
    by: AttestorKey,
}

enum AttestorKey {
    Key(PublicKey),
    Secret(Query),
    Set(Set),
    OutOfReach(&'static str),
}

/// Whether a signer, or enough of a set, has signed, and the reason in Kyverno's wording.
pub(super) enum Vote {
    For(String),
    Against(String),
}

impl Set {
    pub(super) fn compile(source: &AttestorSet) -> Self {
        let entries = source.entries.iter().map(AttestorEntry::compile).collect();
        Self { count: source.count, entries }
    }

    /// Evaluates one signer after the other until there are enough.
    pub(super) fn vote(
        &self,
        case: &SignedObject<'_>,
        path: &str,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vote, EvalError> {
        let (mut verified, mut failed, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for (i, entry) in self.entries.iter().enumerate() {
            match entry.vote(case, &format!("{path}.entries[{i}]"), evaluation, notes) {
                Ok(Vote::For(reason)) => verified.push(reason),
                Ok(Vote::Against(reason)) => failed.push(reason),
                Err(error) if error.kind == EvalErrorKind::Limit => return Err(error),
                Err(error) => errors.push(error),
            }
            if verified.len() >= self.count && !verified.is_empty() {
                return Ok(Vote::For(self.summary("succeeded", verified.len(), &verified)));
            }
        }
        match combined(errors) {
            Some(error) => Err(error),
            None => Ok(Vote::Against(self.summary("failed", verified.len(), &failed))),
        }
    }

    fn summary(&self, result: &str, verified: usize, reasons: &[String]) -> String {
        let (count, reasons) = (self.count, reasons.join(","));
        format!(
            "manifest verification {result}; verifiedCount {verified}; requiredCount {count}; message {reasons}"
        )
    }

    pub(super) fn branches(&self, into: &mut Vec<(String, Vec<Step>)>) {
        for entry in &self.entries {
            match &entry.by {
                AttestorKey::Set(set) => set.branches(into),
                by => into.push((by.title(), entry.path.clone())),
            }
        }
    }
}

/// Returns the errors as one. Unanswered queries come first, because they can still be answered.
fn combined(mut errors: Vec<EvalError>) -> Option<EvalError> {
    if let Some(i) = errors.iter().position(|error| matches!(error.kind, EvalErrorKind::Query(_))) {
        return Some(errors.swap_remove(i));
    }
    let messages: Vec<String> = errors.into_iter().map(|error| error.message).collect();
    (!messages.is_empty()).then(|| EvalError::new(messages.join("; ")))
}

impl AttestorEntry {
    fn compile(source: &Attestor) -> Self {
        let by = match &source.by {
            Signer::Key(key) => AttestorKey::Key(key.clone()),
            Signer::Secret { namespace, name } => AttestorKey::Secret(Query::Object(ObjectName {
                kind: "Secret".into(),
                namespace: namespace.clone(),
                name: name.clone(),
                ..ObjectName::default()
            })),
            Signer::Set(set) => AttestorKey::Set(Set::compile(set)),
            Signer::OutOfReach { field } => AttestorKey::OutOfReach(field),
        };
        Self { path: source.path.clone(), annotations: source.annotations.clone(), by }
    }

    fn vote(
        &self,
        case: &SignedObject<'_>,
        path: &str,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vote, EvalError> {
        notes.open();
        let vote = self.cast(case, path, evaluation, notes);
        notes.close(|| {
            let (found, verdict) = match &vote {
                Ok(Vote::For(_)) => (String::new(), Seen::Yes),
                Ok(Vote::Against(reason)) => (reason.clone(), Seen::No),
                Err(error) => (error.message.clone(), Seen::Error),
            };
            TraceNote { what: self.by.title(), found, verdict, at: self.path.clone(), ..TraceNote::default() }
        });
        vote
    }

    fn cast(
        &self,
        case: &SignedObject<'_>,
        path: &str,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vote, EvalError> {
        self.check_annotations(case.object)?;
        let path = &format!("{path}.{}", self.by.field());
        match &self.by {
            AttestorKey::Set(set) => set.vote(case, path, evaluation, notes).map_err(|error| EvalError {
                message: format!("failed to verify signature; {path}: {}", error.message),
                ..error
            }),
            AttestorKey::OutOfReach(field) => {
                Err(EvalError::new(format!("{path}: `{field}` is out of reach offline")))
            }
            AttestorKey::Key(key) => verify(key, case, path, evaluation),
            AttestorKey::Secret(query) => {
                verify(&of_secret(query, path, evaluation)?, case, path, evaluation)
            }
        }
    }

    fn check_annotations(&self, object: &Value) -> Result<(), EvalError> {
        for (name, wanted) in &self.annotations {
            let found = object.at(&["metadata", "annotations"]).and_then(|map| map.get(name));
            let found = found.and_then(Value::as_str).unwrap_or_default();
            if found != wanted {
                return Err(EvalError::new(format!(
                    "annotations mismatch: {found} does not match expected value {wanted} for key {name}"
                )));
            }
        }
        Ok(())
    }
}

impl AttestorKey {
    /// Returns the field of the signer.
    fn field(&self) -> &'static str {
        match self {
            Self::Key(_) | Self::Secret(_) | Self::OutOfReach("kms" | "repository") => "keys",
            Self::Set(_) => "attestor",
            Self::OutOfReach(field) => field,
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Key(key) => format!("signed with key {key}"),
            Self::Secret(query) => format!("signed with the key in {query}"),
            Self::Set(set) => format!("{} of {} signers", set.count, set.entries.len()),
            Self::OutOfReach(field) => format!("signed as `{field}` says"),
        }
    }
}

/// Checks whether one of the signatures is by `key`, and the object as it was signed.
fn verify(
    key: &PublicKey,
    case: &SignedObject<'_>,
    path: &str,
    evaluation: &mut Evaluation<'_>,
) -> Result<Vote, EvalError> {
    let (text, differences) = match &case.content {
        SignedContent::Absent(problem) => return Ok(Vote::Against(format!("{path}: {problem}"))),
        SignedContent::Broken(problem) => return Err(EvalError::new(format!("{path}: {problem}"))),
        SignedContent::Signed { text, differences } => (text, differences),
    };
    if case.signatures.is_empty() {
        return Ok(Vote::Against(format!("{path}: failed to verify signature: signature not found")));
    }
    let mut trials = Vec::new();
    let count = case.signatures.len();
    for (i, written) in case.signatures.iter().enumerate() {
        evaluation.budget.step(SIGNATURE_COST)?;
        let Some(signature) = decode_signature(written) else {
            trials.push(trial(i, count, "base64 decoding signature: illegal base64 data"));
            continue;
        };
        if !key.has_signed(text, &signature) {
            trials.push(trial(i, count, "invalid signature when validating ASN.1 encoded signature"));
            continue;
        }
        if differences.is_empty() {
            // Kyverno has exactly this spelling.
            return Ok(Vote::For("singed by a valid signer: ".to_owned()));
        }
        let shown = difference::manifest_differences_text(differences, evaluation.budget)?;
        return Ok(Vote::Against(format!("{path}: failed to verify signature. diff found; {shown}")));
    }
    let trials: Vec<Value> = trials.into_iter().map(Value::from).collect();
    let trials = json::to_string(&Value::array(trials));
    Err(EvalError::new(format!(
        "{path}: failed to verify signature: verification failed for {count} signature. all trials: {trials}"
    )))
}

fn trial(index: usize, count: usize, problem: &str) -> String {
    let number = index + 1;
    let error = format!("cosign.VerifyBlobCmd.Exec() returned an error: {problem}");
    format!("[publickey 1/1] [signature {number}/{count}] error: {error}")
}

/// Returns the key in a Secret.
fn of_secret(query: &Query, path: &str, evaluation: &Evaluation<'_>) -> Result<PublicKey, EvalError> {
    let wrong = |problem: &str| EvalError::new(format!("{path}: {query}: {problem}"));
    let secret = match evaluation.world.get(query) {
        QueryAnswer::Found(secret) => secret,
        QueryAnswer::Absent => return Err(wrong("not found among what rules may look up")),
        QueryAnswer::Unknown => return Err(EvalError::unanswered(query.clone())),
        QueryAnswer::Failed(why) => return Err(EvalError::failed(query, &why)),
        QueryAnswer::Refused(why) => return Err(EvalError::refused(query, &why)),
    };
    let plain = secret.at(&["stringData", SECRET_KEY]).and_then(Value::as_str).map(str::to_owned);
    let encoded = || {
        let text = secret.at(&["data", SECRET_KEY]).and_then(Value::as_str)?;
        String::from_utf8(decode_base64_lines(text)?).ok()
    };
    let text = plain.or_else(encoded).ok_or_else(|| wrong("it has no `cosign.pub`"))?;
    let blocks = pem::all_blocks(&text).map_err(|problem| wrong(&problem))?;
    let block = blocks.first().ok_or_else(|| wrong("there is no PEM block in it"))?;
    PublicKey::read(block).map_err(|problem| wrong(&problem))
}
