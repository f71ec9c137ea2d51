//! What a Secret holds must not be said: not in a log, not in a message, not in a metric, not in a trace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_engine::Request;
use kubewright_lang::patch;
use kubewright_value::{Text, Value, json};

/// What stands in the place of a value.
const MARK: &str = "(secret)";

/// How much is compared, bytes of a text by number of values, before a text is hidden as a whole.
const MOST: usize = 32 << 20;

/// Shorter values are in half of all words; they are no secrets.
const SHORTEST: usize = 3;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The values of the Secret that a request is about; none where it is about something else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    is_secret: bool,
    // Longest first, so that a value that is part of another one does not uncover the rest of it.
    values: Vec<String>,
}

impl Secrets {
    /// Returns the values in what `request` is about.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        if request.kind.kind != "Secret" {
            return Self::default();
        }
        let mut secrets = Self { is_secret: true, values: Vec::new() };
        for object in [&request.object, &request.old_object] {
            secrets.learn(object);
            let applied = object.at(&["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
            if let Some(applied) = applied {
                match json::parse(applied) {
                    Ok(object) => secrets.learn(&object),
                    Err(_) => secrets.add(applied.to_owned()),
                }
            }
        }
        secrets.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.values.dedup();
        secrets
    }

    /// Returns `text` with a mark in the place of every value.
    #[must_use]
    pub fn masked(&self, text: String) -> String {
        if text.len().saturating_mul(self.values.len()) > MOST {
            return MARK.to_owned();
        }
        self.values.iter().fold(text, |text, value| match text.contains(value) {
            true => text.replace(value, MARK),
            false => text,
        })
    }

    /// Returns `text` with a mark in the place of every value.
    #[must_use]
    pub fn masked_text(&self, text: Text) -> Text {
        if self.values.is_empty() { text } else { self.masked(text.to_string()).into() }
    }

    /// Returns `patch` as JSON, with a mark in the place of every value. Of a Secret no value is shown at all: a rule
    /// may have made it from what must not be said.
    #[must_use]
    pub fn masked_patch(&self, patch: &[patch::Operation]) -> Value {
        let shown = patch.iter().map(|operation| {
            let mut value = operation.to_value();
            if self.is_secret
                && let Some(members) = value.as_object_mut()
                && let Some(shown) = members.get_mut("value")
            {
                *shown = MARK.into();
            }
            value
        });
        let patch = Value::array(shown.collect());
        match self.values.is_empty() {
            true => patch,
            false => json::parse(&self.masked(json::to_string(&patch))).unwrap_or_else(|_| MARK.into()),
        }
    }

    fn learn(&mut self, object: &Value) {
        for part in ["data", "stringData"] {
            let Some(entries) = object.get(part).and_then(Value::as_object) else { continue };
            for value in entries.values().filter_map(Value::as_str) {
                if let Some(decoded) =
                    STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok())
                {
                    for line in decoded.lines().filter(|_| decoded.contains('\n')) {
                        self.add(line.to_owned());
                    }
                    // As rules say it that change only its letters.
                    for changed in [decoded.to_uppercase(), decoded.to_lowercase()] {
                        self.add(changed);
                    }
                    self.add(decoded);
                }
                self.add(STANDARD.encode(value));
                self.add(value.to_owned());
            }
        }
    }

    fn add(&mut self, value: String) {
        // As a rule says it that takes away what stands around it.
        let trimmed = value.trim();
        if trimmed.len() < value.len() && trimmed.len() >= SHORTEST {
            self.add(trimmed.to_owned());
        }
        // As it stands in JSON, where that is something else.
        let quoted = json::quote(&value);
        let quoted = quoted.trim_matches('"');
        if quoted != value && quoted.len() >= SHORTEST {
            self.values.push(quoted.to_owned());
        }
        if value.len() >= SHORTEST {
            self.values.push(value);
        }
    }
}

#[cfg(test)]
mod tests;
