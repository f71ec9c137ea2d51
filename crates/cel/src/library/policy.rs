//! The libraries of policies that are more than admission policies of the API server: images, documents,
//! checksums, certificates and times, and what only the world can answer.
//!
//! What the world is asked, by [`Host::ask`](crate::Host::ask), and what it answers:
//!
//! | question | arguments | answer |
//! |---|---|---|
//! | [`RESOURCE_GET`] | version, resource, namespace, name | the object; null when there is none |
//! | [`RESOURCE_LIST`] | version, resource, namespace, labels (an object, or null for all) | an object with `items` |
//! | [`RESOURCE_POST`] | version, resource, namespace, the object | the object as it was made |
//! | [`RESOURCE_NAME`] | version, kind | the resource, such as `pods` |
//! | [`GLOBAL_CONTEXT`] | name, projection (may be empty) | the value |
//! | [`HTTP_GET`] | URL, headers (an object), certificates in PEM or null | the response, with `statusCode` |
//! | [`HTTP_POST`] | URL, body, headers (an object), certificates in PEM or null | the response, with `statusCode` |
//! | [`IMAGE_DATA`] | image | what the registry knows about it |
//!
//! The version is as `apiVersion` has it, such as `apps/v1`; the resource is in the plural, such as `pods`; the
//! namespace is empty for what is in none. An error of the world becomes an error of the expression.

mod certificates;
mod checks;
mod contexts;
mod documents;
mod hashes;
mod http;
mod images;
mod jwt;
mod numbers;
mod random;
mod resources;
mod times;
mod transform;
mod users;
mod zip;

pub use certificates::CERTIFICATES;
pub use checks::{
    Answer, ENVOY_CHECKS, ENVOY_RESPONSE_TYPE, HTTP_CHECKS, HTTP_RESPONSE_TYPE, envoy_request, http_request,
};
pub use contexts::{CONTEXTS, GLOBAL_CONTEXT, IMAGE_DATA};
use documents::CHECK_DOCUMENTS;
pub use documents::DOCUMENTS;
pub use hashes::HASHES;
pub use http::{HTTP, HTTP_GET, HTTP_POST};
pub use images::IMAGES;
pub use jwt::TOKENS;
pub use numbers::NUMBERS;
pub use random::RANDOM;
pub use resources::{
    NAMESPACED_RESOURCES, RESOURCE_GET, RESOURCE_LIST, RESOURCE_NAME, RESOURCE_POST, RESOURCES,
};
pub use times::TIMES;
pub use transform::TRANSFORM;
pub use users::USERS;
pub use zip::ZIP;

use std::borrow::Cow;

use kubewright_value::{Map, Text, Value};

use super::{BINDINGS, ENCODERS, Library, MATH, REGEX, opaque, text};
use crate::cost::Exceeded;
use crate::environment::{Environment, Macros};
use crate::error::Failure;
use crate::function::Call;
use crate::val::Val;

/// What all policies have beyond admission policies, besides the resources of the cluster.
const LIBRARIES: [&Library; 16] = [
    &BINDINGS,
    &ENCODERS,
    &MATH,
    &REGEX,
    &CERTIFICATES,
    &CONTEXTS,
    &DOCUMENTS,
    &HASHES,
    &HTTP,
    &IMAGES,
    &NUMBERS,
    &RANDOM,
    &TIMES,
    &TRANSFORM,
    &USERS,
    &ZIP,
];

impl Environment {
    /// Returns the environment of policies, without variables: that of admission policies and the libraries of
    /// this module. `a.orValue(b)` is `a` where that is no optional.
    #[must_use]
    pub fn policy() -> Self {
        with_libraries().with(&RESOURCES).constant("resource", resources::everywhere())
    }

    /// Returns the same for policies that see one namespace only: `resource.get(version, resource, name)`.
    #[must_use]
    pub fn policy_in(namespace: impl Into<Text>) -> Self {
        with_libraries()
            .with(&NAMESPACED_RESOURCES)
            .constant("resource", resources::in_namespace(namespace.into()))
    }
}

fn with_libraries() -> Environment {
    let made = LIBRARIES.iter().fold(Environment::kubernetes(), |made, library| made.with(library));
    made.with_plain_or_value()
        .constant("globalContext", contexts::global())
        .constant("http", http::client())
        .constant("image", contexts::image_data())
        .constant("json", documents::json())
        .constant("yaml", documents::yaml())
        .object(users::NAME, users::FIELDS)
}

/// Asks the world; without one, the error says that nobody can answer.
fn ask<'a>(
    call: &Call<'_, 'a>,
    question: &str,
    arguments: &[Value],
    failed: &str,
) -> Result<Val<'a>, Failure> {
    let no_host = || Failure::value("there is no cluster to ask");
    let answer = call.host().ok_or_else(no_host).and_then(|host| host.ask(question, arguments));
    answer.map(Val::from).map_err(|failure| failure.within(failed))
}

/// Returns the argument at `index` as JSON.
fn json(arguments: &[Val<'_>], index: usize) -> Result<Value, Failure> {
    arguments.get(index).ok_or_else(Failure::mismatch)?.to_value().map_err(Failure::value)
}

/// Returns the argument at `index` as JSON, a map of texts to texts.
fn texts(arguments: &[Val<'_>], index: usize) -> Result<Value, Failure> {
    let found = json(arguments, index)?;
    let is_good = found.as_object().is_some_and(|map| map.values().all(|value| value.as_str().is_some()));
    if is_good { Ok(found) } else { Err(Failure::mismatch()) }
}

/// Returns the text that the argument at `index` is, holds or is written as.
fn held_text<'v>(arguments: &'v [Val<'_>], index: usize) -> Result<Cow<'v, str>, Failure> {
    let mut value = arguments.get(index).ok_or_else(Failure::mismatch)?;
    while let Val::Optional(Some(held)) = value {
        value = held;
    }
    if let Val::Opaque(object) = value
        && let Some(Value::String(text)) = object.to_json()
    {
        return Ok(Cow::Owned(text.to_string()));
    }
    let bad = || Failure::type_error(format!("a text is needed, found `{}`", value.type_name()));
    value.as_str().map(Cow::Borrowed).ok_or_else(bad)
}

/// Returns JSON with all numbers as doubles, which is what a reader without a type in mind makes of them.
///
/// A short text may stand for very many values, so each is counted.
fn with_doubles(value: &Value, call: &mut Call<'_, '_>) -> Result<Value, Exceeded> {
    call.make(1)?;
    Ok(match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(items) => {
            Value::array(items.iter().map(|item| with_doubles(item, call)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let entry = |(key, value): (&Text, &Value)| Ok((key.clone(), with_doubles(value, call)?));
            Value::object(map.iter().map(entry).collect::<Result<Map, Exceeded>>()?)
        }
        other => other.clone(),
    })
}

/// A value without parts of its own, whose methods are a library.
#[derive(Debug)]
struct Handle(&'static str);

impl crate::val::Opaque for Handle {
    fn type_name(&self) -> &'static str {
        self.0
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn equals(&self, _: &dyn crate::val::Opaque) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
