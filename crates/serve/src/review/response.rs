//! The AdmissionResponse: the one type and the one writer of everything that webhooks answer.
//!
//! Reviews are the hot path, so the AdmissionReview is written straight into a string; only values that come from
//! outside go through the JSON writer.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_engine::{Decision, ResponseParts, RuleOutcome};
use kubewright_k8s::AdmissionRequest;
use kubewright_patch as patch;
use kubewright_value::text::{TextLimit, shell_word, shorten_text};
use kubewright_value::{Text, Value, json};

use super::{AdmissionReview, may_patch};
use crate::Snapshot;

/// How long a warning may be; the API server truncates longer ones, or drops them all.
const MAX_WARNING_CHARACTERS: usize = 256;
/// How long all warnings together may be.
const MAX_WARNINGS_BYTES: usize = 4096;
/// How long a message may be.
const MAX_RESPONSE_MESSAGE_BYTES: usize = 32 << 10;

/// The response of an AdmissionReview.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdmissionResponse {
    /// Whether the request is admitted.
    pub is_allowed: bool,
    /// The HTTP status of a refusal; 0 for the usual one, 403.
    pub code: u16,
    /// The machine-readable reason of a refusal; empty for the usual one.
    pub reason: String,
    /// Why the request is refused, or what was done to it.
    pub message: String,
    /// The `details` of the status of a refusal, such as the causes of an invalid object; null for none.
    pub details: Value,
    /// What the API server shows to the client as warnings.
    pub warnings: Vec<String>,
    /// Annotations of the audit event.
    pub annotations: Vec<(Text, Text)>,
    /// The changes to the object.
    pub patch: Vec<patch::JsonPatchOperation>,
}

impl AdmissionResponse {
    /// Returns a response that admits the request.
    #[must_use]
    pub fn allowed() -> Self {
        Self { is_allowed: true, ..Self::default() }
    }

    /// Returns a response that refuses the request; a `code` of 0 is 403.
    #[must_use]
    pub fn refused(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ..Self::default() }
    }

    /// Returns the response that follows from `decision`: the words of the rules' languages, joined, and the patch.
    #[must_use]
    pub(super) fn of(snapshot: &Snapshot, review: &AdmissionReview, decision: &Decision) -> Self {
        let mut response = Self { is_allowed: decision.is_allowed, ..Self::default() };
        let mut rest: Vec<&RuleOutcome> = decision.outcomes.iter().collect();
        while let Some(first) = rest.first() {
            let dialect = first.rule.dialect;
            let own: Vec<&RuleOutcome> =
                rest.iter().filter(|outcome| outcome.rule.dialect == dialect).copied().collect();
            rest.retain(|outcome| outcome.rule.dialect != dialect);
            if let Some(language) = snapshot.language(dialect) {
                let refuses = own.iter().any(|outcome| outcome.is_refusal);
                response.join(language.response(&review.request, &own), refuses);
            }
        }
        if !response.is_allowed && response.message.is_empty() {
            let refusal = decision.outcomes.iter().find(|outcome| outcome.is_refusal);
            let message = refusal.map(|outcome| format!("{}: {}", outcome.rule.short(), outcome.message));
            response.message = message.unwrap_or_default();
        }
        truncate(&mut response.message, TextLimit::BytesInAll(MAX_RESPONSE_MESSAGE_BYTES));
        truncate(&mut response.reason, TextLimit::BytesInAll(MAX_RESPONSE_MESSAGE_BYTES));
        response.bound_warnings();
        if !response.is_allowed {
            response.annotations.extend(refusal_annotations(review, decision));
        }
        if may_patch(review, decision) && !decision.object.is_same(&review.request.object) {
            response.patch = decision.patch(&review.request.object);
        }
        response
    }

    /// Returns the AdmissionReview that answers the request `uid`.
    #[must_use]
    pub fn to_review(&self, uid: &str) -> String {
        let annotations =
            self.annotations.iter().map(|(key, value)| key.len() + value.len() + 8).sum::<usize>();
        let mut text = String::with_capacity(240 + self.message.len() + self.message.len() / 8 + annotations);
        text.push_str(
            "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":",
        );
        json::write_text(&mut text, uid);
        text.push_str(if self.is_allowed { ",\"allowed\":true" } else { ",\"allowed\":false" });
        if !self.is_allowed || !self.message.is_empty() {
            self.write_status(&mut text);
        }
        if !self.patch.is_empty() {
            text.push_str(",\"patchType\":\"JSONPatch\",\"patch\":\"");
            STANDARD.encode_string(patch_json(&self.patch), &mut text);
            text.push('"');
        }
        if !self.warnings.is_empty() {
            text.push_str(",\"warnings\":");
            json::write(&mut text, &Value::from(self.warnings.clone()));
        }
        if !self.annotations.is_empty() {
            text.push_str(",\"auditAnnotations\":");
            write_annotations(&mut text, &self.annotations);
        }
        text.push_str("}}");
        text
    }

    fn write_status(&self, text: &mut String) {
        let code = match (self.is_allowed, self.code) {
            (true, _) => 200,
            (false, 0) => 403,
            (false, code) => code,
        };
        text.push_str(",\"status\":{\"code\":");
        text.push_str(&code.to_string());
        if !self.message.is_empty() {
            text.push_str(",\"message\":");
            json::write_text(text, &self.message);
        }
        let reason = match self.reason.as_str() {
            "" if !self.is_allowed && code == 403 => "Forbidden",
            reason => reason,
        };
        if !reason.is_empty() {
            text.push_str(",\"reason\":");
            json::write_text(text, reason);
        }
        if !self.details.is_null() {
            text.push_str(",\"details\":");
            json::write(text, &self.details);
        }
        text.push('}');
    }

    /// Adds the response of one language.
    fn join(&mut self, reply: ResponseParts, refuses: bool) {
        let ResponseParts { message, reason, code, warnings, annotations } = reply;
        self.warnings.extend(warnings);
        self.annotations.extend(annotations);
        // A refusal must not be hidden behind messages about changes to the object.
        if message.is_empty() || refuses == self.is_allowed {
            return;
        }
        if !self.message.is_empty() {
            self.message.push('\n');
        }
        self.message.push_str(&message);
        if self.code == 0 {
            self.code = code;
        }
        if self.reason.is_empty() {
            self.reason = reason;
        }
    }

    fn bound_warnings(&mut self) {
        let mut left = MAX_WARNINGS_BYTES;
        for warning in &mut self.warnings {
            // A warning is one line of a header.
            if warning.contains(|c: char| c.is_control()) {
                *warning = warning.replace(|c: char| c.is_control(), " ");
            }
            truncate(warning, TextLimit::CharsInAll(MAX_WARNING_CHARACTERS));
        }
        self.warnings.retain(|warning| {
            let fits = !warning.is_empty() && warning.len() <= left;
            left -= if fits { warning.len() } else { 0 };
            fits
        });
    }
}

/// How many rules an annotation of a refusal names.
const MAX_NAMED_RULES: usize = 10;

/// The longest name for which an annotation has the command that shows why: names are checked only after admission.
const MAX_NAME_BYTES: usize = 253;

/// Returns the audit annotations of a refusal: the rules that refuse, and the command that shows why.
fn refusal_annotations(review: &AdmissionReview, decision: &Decision) -> Vec<(Text, Text)> {
    let mut rules = String::with_capacity(128);
    for outcome in decision.outcomes.iter().filter(|outcome| outcome.is_refusal).take(MAX_NAMED_RULES) {
        if !rules.is_empty() {
            rules.push(',');
        }
        rules.push_str(&outcome.rule.text());
    }
    let AdmissionRequest { kind, namespace, name, .. } = &review.request;
    truncate(&mut rules, TextLimit::BytesInAll(MAX_RESPONSE_MESSAGE_BYTES));
    let mut annotations = vec![("rules".into(), rules.into())];
    if name.len() <= MAX_NAME_BYTES {
        let mut address = String::with_capacity(kind.kind.len() + namespace.len() + name.len() + 2);
        for part in [kind.kind.as_str(), namespace, name].into_iter().filter(|part| !part.is_empty()) {
            address.push_str(if address.is_empty() { "" } else { "/" });
            address.push_str(part);
        }
        let why = ["kubewright why ", &shell_word(&address), " -r cluster:"].concat();
        annotations.push(("why".into(), why.into()));
    }
    annotations
}

/// Appends `annotations` as a JSON object. Of two with the same key the last one counts, in the place of the first.
fn write_annotations(text: &mut String, annotations: &[(Text, Text)]) {
    text.push('{');
    for (place, (key, _)) in annotations.iter().enumerate() {
        if annotations.iter().take(place).any(|(earlier, _)| earlier == key) {
            continue;
        }
        let value = annotations.iter().rev().find(|(later, _)| later == key).map(|(_, value)| value);
        text.push_str(if place > 0 { "," } else { "" });
        json::write_text(text, key);
        text.push(':');
        json::write_text(text, value.map(Text::as_str).unwrap_or_default());
    }
    text.push('}');
}

/// Returns `patch` as JSON, made one operation after the other.
fn patch_json(patch: &[patch::JsonPatchOperation]) -> String {
    let mut text = String::from("[");
    for operation in patch {
        if text.len() > 1 {
            text.push(',');
        }
        json::write(&mut text, &operation.to_value());
    }
    text.push(']');
    text
}

/// Shortens `text` to `limit`.
fn truncate(text: &mut String, limit: TextLimit) {
    if let Cow::Owned(short) = shorten_text(text, limit) {
        *text = short;
    }
}

#[cfg(test)]
mod tests;
