//! Requests that a proxy asks about, and the answers to it: `http.Denied("no").Response()`.
//!
//! The request is the variable `object`. Its fields are those of the proxy's messages; what is not set there is
//! zero or empty.

mod answers;
mod record;

pub use answers::{Answer, ENVOY_CHECKS, HTTP_CHECKS};
use kubewright_value::Value;

use super::super::kubernetes::{FORMATS, LISTS, QUANTITIES, REGEX, URLS, VERSIONS};
use super::super::{OPTIONALS, SETS, STRICT_NETWORK, STRINGS};
use super::{
    BINDINGS, CHECK_DOCUMENTS, ENCODERS, HTTP, IMAGES, Library, MATH, RESOURCES, TOKENS, documents, http,
    jwt, resources,
};
use crate::environment::{Environment, Fields, Type};
use crate::val::{Kind, Val};

/// What an expression about a request over HTTP results in, unless it is null.
pub const HTTP_RESPONSE_TYPE: Kind = Kind::Opaque("http.CheckResponse");

/// What an expression about a request of Envoy results in, unless it is null.
pub const ENVOY_RESPONSE_TYPE: Kind = Kind::Opaque("envoy.service.auth.v3.CheckResponse");

const LIBRARIES: [&Library; 19] = [
    &OPTIONALS,
    &BINDINGS,
    &ENCODERS,
    &super::super::LISTS,
    &MATH,
    &SETS,
    &STRINGS,
    &STRICT_NETWORK,
    &FORMATS,
    &LISTS,
    &REGEX,
    &URLS,
    &QUANTITIES,
    &VERSIONS,
    &HTTP,
    &CHECK_DOCUMENTS,
    &RESOURCES,
    &IMAGES,
    &TOKENS,
];

const HTTP_REQUEST: Kind = Kind::Opaque("http.CheckRequest");
const HTTP_ATTRIBUTES: Kind = Kind::Opaque("http.CheckRequestAttributes");
const ENVOY_REQUEST: Kind = Kind::Opaque("envoy.service.auth.v3.CheckRequest");
const CONTEXT: Kind = Kind::Opaque("envoy.service.auth.v3.AttributeContext");
const PEER: Kind = Kind::Opaque("envoy.service.auth.v3.AttributeContext.Peer");
const REQUEST: Kind = Kind::Opaque("envoy.service.auth.v3.AttributeContext.Request");
const HTTP_CONTENT: Kind = Kind::Opaque("envoy.service.auth.v3.AttributeContext.HttpRequest");
const SESSION: Kind = Kind::Opaque("envoy.service.auth.v3.AttributeContext.TLSSession");
const ADDRESS: Kind = Kind::Opaque("envoy.config.core.v3.Address");
const METADATA: Kind = Kind::Opaque("envoy.config.core.v3.Metadata");
const SOCKET: Kind = Kind::Opaque("envoy.config.core.v3.SocketAddress");

/// The messages, each with its fields.
const MESSAGES: &[(Kind, Fields)] = &[
    (HTTP_REQUEST, &[("attributes", HTTP_ATTRIBUTES), ("mcp", Kind::Any)]),
    (
        HTTP_ATTRIBUTES,
        &[
            ("method", Kind::String),
            ("header", Kind::Map),
            ("host", Kind::String),
            ("protocol", Kind::String),
            ("contentLength", Kind::Int),
            ("body", Kind::Bytes),
            ("scheme", Kind::String),
            ("path", Kind::String),
            ("query", Kind::Map),
            ("fragment", Kind::String),
        ],
    ),
    (ENVOY_REQUEST, &[("attributes", CONTEXT)]),
    (
        CONTEXT,
        &[
            ("source", PEER),
            ("destination", PEER),
            ("request", REQUEST),
            ("context_extensions", Kind::Map),
            ("metadata_context", METADATA),
            ("route_metadata_context", METADATA),
            ("tls_session", SESSION),
        ],
    ),
    (
        PEER,
        &[
            ("address", ADDRESS),
            ("service", Kind::String),
            ("labels", Kind::Map),
            ("principal", Kind::String),
            ("certificate", Kind::String),
        ],
    ),
    (ADDRESS, &[("socket_address", SOCKET), ("pipe", Kind::Any), ("envoy_internal_address", Kind::Any)]),
    (SOCKET, &[("address", Kind::String), ("port_value", Kind::UInt), ("named_port", Kind::String)]),
    (REQUEST, &[("time", Kind::Timestamp), ("http", HTTP_CONTENT)]),
    (
        HTTP_CONTENT,
        &[
            ("id", Kind::String),
            ("method", Kind::String),
            ("headers", Kind::Map),
            ("path", Kind::String),
            ("host", Kind::String),
            ("scheme", Kind::String),
            ("query", Kind::String),
            ("fragment", Kind::String),
            ("size", Kind::Int),
            ("protocol", Kind::String),
            ("body", Kind::String),
            ("raw_body", Kind::Bytes),
        ],
    ),
    (METADATA, &[("filter_metadata", Kind::Map), ("typed_filter_metadata", Kind::Map)]),
    (SESSION, &[("sni", Kind::String)]),
];

impl Environment {
    /// Returns the environment of policies about requests over HTTP; `object` is what [`http_request`] returns.
    #[must_use]
    pub fn http_check() -> Self {
        check().with(&HTTP_CHECKS).variable_of("object", Type::of(HTTP_REQUEST))
    }

    /// Returns the environment of policies about requests of Envoy; `object` is what [`envoy_request`] returns.
    #[must_use]
    pub fn envoy_check() -> Self {
        check().with(&ENVOY_CHECKS).variable_of("object", Type::of(ENVOY_REQUEST))
    }
}

fn check() -> Environment {
    let made = LIBRARIES.iter().fold(Environment::standard(), |made, library| made.with(library));
    let made = made
        .without_mixed_literals()
        .with_forgiving_optionals()
        .constant("http", http::client())
        .constant("json", documents::json())
        .constant("resource", resources::everywhere())
        .object(jwt::TOKEN, jwt::TOKEN_FIELDS);
    MESSAGES.iter().fold(made, |made, (kind, fields)| made.object(kind.name(), fields))
}

/// Returns a request over HTTP as `object`: JSON with `attributes`, of which `body` is in base64.
#[must_use]
pub fn http_request(request: &Value) -> Val<'static> {
    record::message(HTTP_REQUEST, request.clone())
}

/// Returns a request of Envoy as `object`: the JSON form of its message.
#[must_use]
pub fn envoy_request(request: &Value) -> Val<'static> {
    record::message(ENVOY_REQUEST, request.clone())
}
