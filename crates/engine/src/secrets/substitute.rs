//! Values that stand in for those of a Secret.

use kubewright_value::{Map, Text, Value, json};

use super::SECRET_MARK;
use kubewright_k8s::AdmissionRequest;

/// The annotation in which kubectl keeps a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A text that takes the place of every value of a Secret.
pub(crate) struct Substitute {
    text: &'static str,
    /// The same in base64, as it stands below `data`.
    encoded: &'static str,
}

/// Two of them, unlike in length, letters and digits, so that whatever a rule makes of a value comes out differently.
pub(crate) static SUBSTITUTES: [Substitute; 2] = [
    Substitute { text: SECRET_MARK, encoded: "KHNlY3JldCk=" },
    Substitute { text: "9 Other Words, Zebra_07.", encoded: "OSBPdGhlciBXb3JkcywgWmVicmFfMDcu" },
];

impl Substitute {
    /// Returns `request` with the substitute in place of the values of the Secret that it is about.
    pub(crate) fn in_request(&self, request: &AdmissionRequest) -> AdmissionRequest {
        AdmissionRequest {
            object: self.in_secret(&request.object),
            old_object: self.in_secret(&request.old_object),
            ..request.clone()
        }
    }

    /// Returns an answer of the world with the substitute in place of the values of the Secrets in it.
    pub(crate) fn in_answer(&self, answer: &Value) -> Value {
        if let Some(items) = answer.as_array() {
            return Value::array(items.iter().map(|item| self.in_listed(item)).collect());
        }
        let Some(items) = answer.get("items").and_then(Value::as_array) else {
            return self.in_secret(answer);
        };
        let mut changed = answer.clone();
        if let Some(members) = changed.as_object_mut() {
            members.insert(
                "items".into(),
                Value::array(items.iter().map(|item| self.in_listed(item)).collect()),
            );
        }
        changed
    }

    /// An item of a list need not say its kind; one that says another kind is no Secret.
    fn in_listed(&self, item: &Value) -> Value {
        match item.get("kind").and_then(Value::as_str) {
            None | Some("Secret") => self.in_secret(item),
            Some(_) => item.clone(),
        }
    }

    fn in_secret(&self, secret: &Value) -> Value {
        let mut changed = secret.clone();
        let Some(members) = changed.as_object_mut() else {
            return if secret.is_null() { changed } else { self.text.into() };
        };
        for (part, text) in [("data", self.encoded), ("stringData", self.text)] {
            if let Some(values) = members.get_mut(part) {
                *values = replace_values(values, text);
            }
        }
        if let Some(annotation) = members
            .get_mut("metadata")
            .and_then(Value::as_object_mut)
            .and_then(|metadata| metadata.get_mut("annotations"))
            .and_then(Value::as_object_mut)
            .and_then(|annotations| annotations.get_mut(LAST_APPLIED))
        {
            *annotation = self.in_copy(annotation).into();
        }
        changed
    }

    fn in_copy(&self, annotation: &Value) -> String {
        match annotation.as_str().map(json::parse) {
            Some(Ok(copy)) => json::to_string(&self.in_secret(&copy)),
            _ => self.text.to_owned(),
        }
    }
}

/// Returns `values` with `text` in place of every value; the keys stay.
fn replace_values(values: &Value, text: &'static str) -> Value {
    match values {
        Value::Object(map) => {
            let all: Map = map.iter().map(|(key, _)| (Text::clone(key), Value::from(text))).collect();
            all.into()
        }
        Value::Null => Value::Null,
        _ => text.into(),
    }
}
