//! The libraries of ValidatingPolicies, beyond those of the API server's admission policies: images, documents,
//! checksums, certificates, times, and queries to the host (cluster, HTTP, registries).
//!
//! The queries to the host, made with [`Host::ask`](crate::Host::ask), and their answers:
//!
//! | query | arguments | answer |
//! |---|---|---|
//! | [`RESOURCE_GET`] | version, resource, namespace, name | the object; null when there is none |
//! | [`RESOURCE_LIST`] | version, resource, namespace, labels (an object, or null for all) | an object with `items` |
//! | [`RESOURCE_POST`] | version, resource, namespace, the object | the object as it was made |
//! | [`RESOURCE_NAME`] | version, kind | the resource, such as `pods` |
//! | [`GLOBAL_CONTEXT`] | name, projection (may be empty) | the value |
//! | [`HTTP_GET`] | URL, headers (an object), certificates in PEM or null | the response, with `statusCode` |
//! | [`HTTP_POST`] | URL, body, headers (an object), certificates in PEM or null | the response, with `statusCode` |
//! | [`IMAGE_DATA`] | image | what the registry knows about it |
//! | [`GENERATOR_APPLY`] | namespace (null where the policy has one), objects | true; the host collects the objects |
//!
//! The version is as `apiVersion` has it, such as `apps/v1`; the resource is in the plural, such as `pods`; the
//! namespace is empty for cluster-scoped resources. An error of the host becomes an error of the expression.

mod certificates;
mod checks;
mod contexts;
mod documents;
mod generator;
mod gzip;
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

pub use certificates::CERTIFICATES;
pub use checks::{
    CheckResponse, ENVOY_CHECKS, ENVOY_RESPONSE_TYPE, HTTP_CHECKS, HTTP_RESPONSE_TYPE, envoy_request,
    http_request,
};
pub use contexts::{CONTEXTS, GLOBAL_CONTEXT, IMAGE_DATA};
use documents::CHECK_DOCUMENTS;
pub use documents::DOCUMENTS;
pub use generator::{GENERATOR, GENERATOR_APPLY, NAMESPACED_GENERATOR};
pub use gzip::ZIP;
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

use std::borrow::Cow;

use kubewright_value::{Map, Text, Value};

use super::{BINDINGS, CelLibrary, ENCODERS, MATH, REGEX, opaque_argument, text_argument};
use crate::cost::CostExceeded;
use crate::environment::{CelEnvironment, MacroSet};
use crate::error::CelFailure;
use crate::function::CelCallContext;
use crate::val::Val;

/// The libraries that all policies have beyond admission policies, besides `resource`.
const POLICY_LIBRARIES: [&CelLibrary; 16] = [
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

impl CelEnvironment {
    /// Returns the environment of policies, without variables: that of admission policies and the libraries of
    /// this module. `a.orValue(b)` is `a` if `a` is not an optional.
    #[must_use]
    pub fn policy() -> Self {
        base_policy_environment().with(&RESOURCES).constant("resource", resources::unrestricted_resources())
    }

    /// Returns the environment of policies that see one namespace only: `resource.get(version, resource, name)`.
    #[must_use]
    pub fn policy_in(namespace: impl Into<Text>) -> Self {
        base_policy_environment()
            .with(&NAMESPACED_RESOURCES)
            .constant("resource", resources::resources_in_namespace(namespace.into()))
    }
}

fn base_policy_environment() -> CelEnvironment {
    let made = POLICY_LIBRARIES.iter().fold(CelEnvironment::kubernetes(), |made, library| made.with(library));
    made.with_plain_or_value()
        .constant("globalContext", contexts::global_context_handle())
        .constant("http", http::http_context())
        .constant("image", contexts::image_data_handle())
        .constant("json", documents::json_handle())
        .constant("yaml", documents::yaml_handle())
        .object(users::SERVICE_ACCOUNT_TYPE_NAME, users::SERVICE_ACCOUNT_FIELDS)
}

/// Sends a query to the host. It is an error if there is none.
fn ask_host<'a>(
    call: &CelCallContext<'_, 'a>,
    question: &str,
    arguments: &[Value],
    failed: &str,
) -> Result<Val<'a>, CelFailure> {
    let no_host = || CelFailure::value("there is no cluster to ask");
    let answer = call.host().ok_or_else(no_host).and_then(|host| host.ask(question, arguments));
    answer.map(Val::from).map_err(|failure| failure.within(failed))
}

/// Returns the argument at `index` as JSON.
fn json_argument(arguments: &[Val<'_>], index: usize) -> Result<Value, CelFailure> {
    arguments.get(index).ok_or_else(CelFailure::mismatch)?.to_value().map_err(CelFailure::value)
}

/// Returns the argument at `index`, a map of strings to strings, as JSON.
fn text_map_argument(arguments: &[Val<'_>], index: usize) -> Result<Value, CelFailure> {
    let found = json_argument(arguments, index)?;
    let is_good = found.as_object().is_some_and(|map| map.values().all(|value| value.as_str().is_some()));
    if is_good { Ok(found) } else { Err(CelFailure::mismatch()) }
}

/// Returns the string of the argument at `index`, which may be in an optional or a library's value.
fn inner_text_argument<'v>(arguments: &'v [Val<'_>], index: usize) -> Result<Cow<'v, str>, CelFailure> {
    let mut value = arguments.get(index).ok_or_else(CelFailure::mismatch)?;
    while let Val::Optional(Some(held)) = value {
        value = held;
    }
    if let Val::Opaque(object) = value
        && let Some(Value::String(text)) = object.to_json()
    {
        return Ok(Cow::Owned(text.to_string()));
    }
    let bad = || CelFailure::type_error(format!("a text is needed, found `{}`", value.type_name()));
    value.as_str().map(Cow::Borrowed).ok_or_else(bad)
}

/// Returns JSON with all numbers as doubles, as Go reads JSON without a type.
///
/// Each value is counted, since a short text may expand to very many values (YAML aliases).
fn numbers_to_doubles(value: &Value, call: &mut CelCallContext<'_, '_>) -> Result<Value, CostExceeded> {
    call.make(1)?;
    Ok(match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(items) => {
            Value::array(items.iter().map(|item| numbers_to_doubles(item, call)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let entry = |(key, value): (&Text, &Value)| Ok((key.clone(), numbers_to_doubles(value, call)?));
            Value::object(map.iter().map(entry).collect::<Result<Map, CostExceeded>>()?)
        }
        other => other.clone(),
    })
}

/// A value without content whose methods are a library, such as `http`.
#[derive(Debug)]
struct LibraryHandle(&'static str);

impl crate::val::Opaque for LibraryHandle {
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
