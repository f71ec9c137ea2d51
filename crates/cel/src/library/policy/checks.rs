//! Requests that a proxy asks to authorize, and the responses to it: `http.Denied("no").Response()`.
//!
//! The request is the variable `object`. Its fields are those of the proxy's messages; an unset field is
//! zero or empty.

mod message;
mod responses;

use kubewright_value::Value;
pub use responses::{CheckResponse, ENVOY_CHECKS, HTTP_CHECKS};

use super::super::kubernetes::{FORMATS, LISTS, QUANTITIES, REGEX, URLS, VERSIONS};
use super::super::{OPTIONALS, SETS, STRICT_NETWORK, STRINGS};
use super::{
    BINDINGS, CHECK_DOCUMENTS, CelLibrary, ENCODERS, HTTP, IMAGES, MATH, RESOURCES, TOKENS, documents, http,
    jwt, resources,
};
use crate::environment::{CelEnvironment, CelType, FieldTypes};
use crate::val::{CelKind, Val};

/// The type of the result of an expression about an HTTP request, unless it is null.
pub const HTTP_RESPONSE_TYPE: CelKind = CelKind::Opaque("http.CheckResponse");

/// The type of the result of an expression about an Envoy request, unless it is null.
pub const ENVOY_RESPONSE_TYPE: CelKind = CelKind::Opaque("envoy.service.auth.v3.CheckResponse");

const CHECK_LIBRARIES: [&CelLibrary; 19] = [
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

const HTTP_REQUEST: CelKind = CelKind::Opaque("http.CheckRequest");
const HTTP_ATTRIBUTES: CelKind = CelKind::Opaque("http.CheckRequestAttributes");
const ENVOY_REQUEST: CelKind = CelKind::Opaque("envoy.service.auth.v3.CheckRequest");
const CONTEXT: CelKind = CelKind::Opaque("envoy.service.auth.v3.AttributeContext");
const PEER: CelKind = CelKind::Opaque("envoy.service.auth.v3.AttributeContext.Peer");
const REQUEST: CelKind = CelKind::Opaque("envoy.service.auth.v3.AttributeContext.Request");
const HTTP_CONTENT: CelKind = CelKind::Opaque("envoy.service.auth.v3.AttributeContext.HttpRequest");
const SESSION: CelKind = CelKind::Opaque("envoy.service.auth.v3.AttributeContext.TLSSession");
const ADDRESS: CelKind = CelKind::Opaque("envoy.config.core.v3.Address");
const METADATA: CelKind = CelKind::Opaque("envoy.config.core.v3.Metadata");
const SOCKET: CelKind = CelKind::Opaque("envoy.config.core.v3.SocketAddress");

/// The messages, each with its fields.
const MESSAGES: &[(CelKind, FieldTypes)] = &[
    (HTTP_REQUEST, &[("attributes", HTTP_ATTRIBUTES), ("mcp", CelKind::Any)]),
    (
        HTTP_ATTRIBUTES,
        &[
            ("method", CelKind::String),
            ("header", CelKind::Map),
            ("host", CelKind::String),
            ("protocol", CelKind::String),
            ("contentLength", CelKind::Int),
            ("body", CelKind::Bytes),
            ("scheme", CelKind::String),
            ("path", CelKind::String),
            ("query", CelKind::Map),
            ("fragment", CelKind::String),
        ],
    ),
    (ENVOY_REQUEST, &[("attributes", CONTEXT)]),
    (
        CONTEXT,
        &[
            ("source", PEER),
            ("destination", PEER),
            ("request", REQUEST),
            ("context_extensions", CelKind::Map),
            ("metadata_context", METADATA),
            ("route_metadata_context", METADATA),
            ("tls_session", SESSION),
        ],
    ),
    (
        PEER,
        &[
            ("address", ADDRESS),
            ("service", CelKind::String),
            ("labels", CelKind::Map),
            ("principal", CelKind::String),
            ("certificate", CelKind::String),
        ],
    ),
    (
        ADDRESS,
        &[("socket_address", SOCKET), ("pipe", CelKind::Any), ("envoy_internal_address", CelKind::Any)],
    ),
    (SOCKET, &[("address", CelKind::String), ("port_value", CelKind::UInt), ("named_port", CelKind::String)]),
    (REQUEST, &[("time", CelKind::Timestamp), ("http", HTTP_CONTENT)]),
    (
        HTTP_CONTENT,
        &[
            ("id", CelKind::String),
            ("method", CelKind::String),
            ("headers", CelKind::Map),
            ("path", CelKind::String),
            ("host", CelKind::String),
            ("scheme", CelKind::String),
            ("query", CelKind::String),
            ("fragment", CelKind::String),
            ("size", CelKind::Int),
            ("protocol", CelKind::String),
            ("body", CelKind::String),
            ("raw_body", CelKind::Bytes),
        ],
    ),
    (METADATA, &[("filter_metadata", CelKind::Map), ("typed_filter_metadata", CelKind::Map)]),
    (SESSION, &[("sni", CelKind::String)]),
];

impl CelEnvironment {
    /// Returns the environment of policies about requests over HTTP; `object` is what [`http_request`] returns.
    #[must_use]
    pub fn http_check() -> Self {
        base_check_environment().with(&HTTP_CHECKS).variable_of("object", CelType::of(HTTP_REQUEST))
    }

    /// Returns the environment of policies about requests of Envoy; `object` is what [`envoy_request`] returns.
    #[must_use]
    pub fn envoy_check() -> Self {
        base_check_environment().with(&ENVOY_CHECKS).variable_of("object", CelType::of(ENVOY_REQUEST))
    }
}

fn base_check_environment() -> CelEnvironment {
    let made = CHECK_LIBRARIES.iter().fold(CelEnvironment::standard(), |made, library| made.with(library));
    let made = made
        .without_mixed_literals()
        .with_forgiving_optionals()
        .constant("http", http::http_context())
        .constant("json", documents::json_handle())
        .constant("resource", resources::unrestricted_resources())
        .object(jwt::TOKEN, jwt::TOKEN_FIELDS);
    MESSAGES.iter().fold(made, |made, (kind, fields)| made.object(kind.name(), fields))
}

/// Returns a request over HTTP as `object`: JSON with `attributes`, of which `body` is in base64.
#[must_use]
pub fn http_request(request: &Value) -> Val<'static> {
    message::check_message(HTTP_REQUEST, request.clone())
}

/// Returns a request of Envoy as `object`: the JSON form of its message.
#[must_use]
pub fn envoy_request(request: &Value) -> Val<'static> {
    message::check_message(ENVOY_REQUEST, request.clone())
}
