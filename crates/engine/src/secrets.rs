//! Keeps what is in a Secret out of everything that rules say.
//!
//! Searching messages for values cannot do that: a rule can show a part of a value, its digest, or the value in other
//! letters. So where a decision has read a Secret, it is made twice more with other values in the Secret's place. What
//! both of these say alike does not depend on the values and is shown. Where they differ, or end otherwise than the
//! real decision, the message of a rule that has only one is shown as its author wrote it, with a mark in place of its
//! expressions. No text of the real decision is ever shown; only the verdict is real.

mod conceal;
mod substitute;

use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_value::{Text, Value};

use crate::{ApiCall, Query, QueryAnswer, RuleId, World};
use kubewright_k8s::{AdmissionRequest, ObjectName};

pub(crate) use conceal::conceal;
pub(crate) use substitute::{SUBSTITUTES, Substitute};

/// What is shown in place of a value of a Secret.
pub const SECRET_MARK: &str = "(secret)";

/// Returns whether `request` is about a Secret.
pub(crate) fn is_about_secret(request: &AdmissionRequest) -> bool {
    request.kind.kind == "Secret"
}

/// The world as rules see it: Secrets are found only by rules that name them, and it is noted that one was found.
pub(crate) struct SecretAccess<'w> {
    world: &'w dyn World,
    substitute: Option<&'static Substitute>,
    is_named: bool,
    was_read: &'w AtomicBool,
}

impl<'w> SecretAccess<'w> {
    /// Returns the view of a rule that names Secrets in its text, or does not, as `is_named` says.
    pub(crate) fn new(
        world: &'w dyn World,
        substitute: Option<&'static Substitute>,
        is_named: bool,
        was_read: &'w AtomicBool,
    ) -> Self {
        Self { world, substitute, is_named, was_read }
    }
}

impl World for SecretAccess<'_> {
    fn get(&self, query: &Query) -> QueryAnswer {
        let asks_for_secrets = asks_for_secrets(query);
        if asks_for_secrets && !self.is_named {
            return QueryAnswer::Refused(
                "a rule reads Secrets only where its own text names the resource `secrets`".into(),
            );
        }
        match self.world.get(query) {
            QueryAnswer::Found(value) if asks_for_secrets || holds_secret(&value) => {
                self.was_read.store(true, Ordering::Relaxed);
                QueryAnswer::Found(match self.substitute {
                    Some(substitute) => substitute.in_answer(&value),
                    None => value,
                })
            }
            answer => answer,
        }
    }

    fn overrides(&self, rule: &RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        self.world.overrides(rule, request)
    }
}

fn asks_for_secrets(query: &Query) -> bool {
    match query {
        Query::Object(ObjectName { group, kind, .. }) => group.is_empty() && kind == "Secret",
        Query::Api(ApiCall { path: Some(path), .. }) | Query::Http(ApiCall { path: Some(path), .. }) => {
            path.group.is_empty() && path.resource == "secrets"
        }
        Query::Api(_) | Query::Http(_) | Query::Image(_) | Query::Shared(_) => false,
    }
}

/// Returns whether an answer is a Secret or a list with one in it.
fn holds_secret(answer: &Value) -> bool {
    let is_secret = |object: &Value| object.get("kind").and_then(Value::as_str) == Some("Secret");
    let kind = answer.get("kind").and_then(Value::as_str);
    kind == Some("Secret")
        || kind == Some("SecretList")
        || answer_items(answer).is_some_and(|items| items.iter().any(is_secret))
}

/// Returns the objects of a list, as the API server answers it or as a global context entry holds it.
fn answer_items(answer: &Value) -> Option<&[Value]> {
    answer.as_array().or_else(|| answer.get("items").and_then(Value::as_array))
}

#[cfg(test)]
mod tests;
