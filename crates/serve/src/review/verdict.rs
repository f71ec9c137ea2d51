//! What the API server is told: the words of the rules' languages, joined, and the patch.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_engine::{Decision, Outcome, ResponseParts};
use kubewright_patch as patch;
use kubewright_value::{Text, Value, json};

use super::{Review, may_patch};
use crate::Snapshot;

/// How long a warning may be; the API server cuts longer ones, or drops them all.
const WARNING: usize = 256;
/// How long all warnings together may be.
const WARNINGS: usize = 4096;
/// How long a message may be.
const MESSAGE: usize = 32 << 10;

/// What the API server is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the request may go on.
    pub is_allowed: bool,
    /// The HTTP status of a refusal; 0 for the usual one, 403.
    pub code: u16,
    /// The machine-readable reason of a refusal; empty for the usual one.
    pub reason: String,
    /// Why the request is refused, or what was done to it.
    pub message: String,
    /// What the one who asks is warned of.
    pub warnings: Vec<String>,
    /// What goes to the audit log.
    pub annotations: Vec<(Text, Text)>,
    /// What changes.
    pub patch: Vec<patch::JsonPatchOperation>,
}

impl Verdict {
    /// Returns that the request may go on.
    #[must_use]
    pub fn allowed() -> Self {
        Self { is_allowed: true, ..Self::default() }
    }

    /// Returns that the request is refused.
    #[must_use]
    pub fn refused(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ..Self::default() }
    }

    /// Returns what `decision` comes to.
    #[must_use]
    pub(super) fn of(snapshot: &Snapshot, review: &Review, decision: &Decision) -> Self {
        let mut verdict = Self { is_allowed: decision.is_allowed, ..Self::default() };
        let mut rest: Vec<&Outcome> = decision.outcomes.iter().collect();
        while let Some(first) = rest.first() {
            let dialect = first.rule.dialect;
            let own: Vec<&Outcome> =
                rest.iter().filter(|outcome| outcome.rule.dialect == dialect).copied().collect();
            rest.retain(|outcome| outcome.rule.dialect != dialect);
            if let Some(language) = snapshot.language(dialect) {
                let refuses = own.iter().any(|outcome| outcome.is_refusal);
                verdict.join(language.response(&review.request, &own), refuses);
            }
        }
        if !verdict.is_allowed && verdict.message.is_empty() {
            let refusal = decision.outcomes.iter().find(|outcome| outcome.is_refusal);
            let message = refusal.map(|outcome| format!("{}: {}", outcome.rule.short(), outcome.message));
            verdict.message = message.unwrap_or_default();
        }
        cut(&mut verdict.message, MESSAGE);
        cut(&mut verdict.reason, MESSAGE);
        verdict.bound_warnings();
        if may_patch(review, decision) && !decision.object.is_same(&review.request.object) {
            verdict.patch = decision.patch(&review.request.object);
        }
        verdict
    }

    /// Returns the AdmissionReview that answers the request `uid`.
    #[must_use]
    pub fn written(&self, uid: &str) -> String {
        let mut text = String::with_capacity(160);
        text.push_str(
            "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":",
        );
        quote(&mut text, uid);
        text.push_str(if self.is_allowed { ",\"allowed\":true" } else { ",\"allowed\":false" });
        if !self.is_allowed || !self.message.is_empty() {
            self.write_status(&mut text);
        }
        if !self.patch.is_empty() {
            text.push_str(",\"patchType\":\"JSONPatch\",\"patch\":\"");
            STANDARD.encode_string(written_patch(&self.patch), &mut text);
            text.push('"');
        }
        if !self.warnings.is_empty() {
            text.push_str(",\"warnings\":");
            json::write(&mut text, &Value::from(self.warnings.clone()));
        }
        if !self.annotations.is_empty() {
            text.push_str(",\"auditAnnotations\":");
            let annotations = self.annotations.iter().map(|(key, value)| (key.clone(), value.clone().into()));
            json::write(&mut text, &Value::object(annotations.collect()));
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
            quote(text, &self.message);
        }
        let reason = match self.reason.as_str() {
            "" if !self.is_allowed && code == 403 => "Forbidden",
            reason => reason,
        };
        if !reason.is_empty() {
            text.push_str(",\"reason\":");
            quote(text, reason);
        }
        text.push('}');
    }

    /// Adds what one language says.
    fn join(&mut self, reply: ResponseParts, refuses: bool) {
        let ResponseParts { message, reason, code, warnings, annotations } = reply;
        self.warnings.extend(warnings);
        self.annotations.extend(annotations);
        // What was done to an object matters less than why it is refused.
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
        let mut left = WARNINGS;
        for warning in &mut self.warnings {
            // A warning is one line of a header.
            if warning.contains(|c: char| c.is_control()) {
                *warning = warning.replace(|c: char| c.is_control(), " ");
            }
            cut_characters(warning, WARNING);
        }
        self.warnings.retain(|warning| {
            let fits = !warning.is_empty() && warning.len() <= left;
            left -= if fits { warning.len() } else { 0 };
            fits
        });
    }
}

/// Returns `patch` as JSON, made one operation after the other.
fn written_patch(patch: &[patch::JsonPatchOperation]) -> String {
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

fn quote(text: &mut String, value: &str) {
    // The writer takes values; short texts are not copied to the heap.
    json::write(text, &Value::from(value));
}

/// Shortens `text` to `most` bytes.
fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let mut end = most.saturating_sub(3);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
}

/// Shortens `text` to `most` characters.
fn cut_characters(text: &mut String, most: usize) {
    if text.len() > most
        && let Some((end, _)) = text.char_indices().nth(most.saturating_sub(1))
        && text.chars().nth(most).is_some()
    {
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests;
