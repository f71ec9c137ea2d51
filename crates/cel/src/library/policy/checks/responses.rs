//! Responses to a proxy about a request.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::super::{CelLibrary, MacroSet, json_argument, opaque_argument, text_argument};
use super::message::CheckMessageVal;
use super::{ENVOY_RESPONSE_TYPE, HTTP_ATTRIBUTES, HTTP_RESPONSE_TYPE};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Opaque, Val};

/// The library of responses to HTTP requests.
pub const HTTP_CHECKS: CelLibrary = CelLibrary {
    name: "http checks",
    functions: add_http_check_functions,
    macros: MacroSet::NONE,
    types: &[],
};

/// The library of responses to Envoy requests.
pub const ENVOY_CHECKS: CelLibrary = CelLibrary {
    name: "envoy checks",
    functions: add_envoy_check_functions,
    macros: MacroSet::NONE,
    types: &[],
};

const HTTP_OK: CelKind = CelKind::Opaque("http.CheckResponseOk");
const HTTP_DENIED: CelKind = CelKind::Opaque("http.CheckResponseDenied");
const OK: CelKind = CelKind::Opaque("envoy.service.auth.v3.OkHttpResponse");
const DENIED: CelKind = CelKind::Opaque("envoy.service.auth.v3.DeniedHttpResponse");
const RESPONSE: CelKind = ENVOY_RESPONSE_TYPE;
const HEADER: CelKind = CelKind::Opaque("envoy.config.core.v3.HeaderValueOption");
const PARAMETER: CelKind = CelKind::Opaque("envoy.config.core.v3.QueryParameter");
const STRING: CelKind = CelKind::String;

/// A response to the proxy, or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckResponse {
    kind: CelKind,
    /// Whether the request is allowed.
    pub is_allowed: bool,
    /// The reason of a denial, if one was given.
    pub reason: Text,
    /// The HTTP status for the caller; 0 if none was given.
    pub status: i64,
    /// Other fields: body, headers, parameters, message and metadata.
    pub details: Vec<(&'static str, Value)>,
}

impl CheckResponse {
    /// Returns the response that an expression resulted in.
    #[must_use]
    pub fn of(value: &Val<'_>) -> Option<Self> {
        let found = value.as_opaque::<Self>()?;
        [HTTP_RESPONSE_TYPE, ENVOY_RESPONSE_TYPE].contains(&found.kind).then(|| found.clone())
    }

    fn new(kind: CelKind, is_allowed: bool) -> Self {
        Self { kind, is_allowed, reason: Text::default(), status: 0, details: Vec::new() }
    }
}

impl Opaque for CheckResponse {
    fn type_name(&self) -> &'static str {
        self.kind.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

fn add_http_check_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("http.Allowed", &[], HTTP_OK, |_, _| {
            Ok(Val::opaque(CheckResponse::new(HTTP_OK, true)))
        })
        .help("allows the request"),
    );
    functions.add(
        CelOverload::function("http.Denied", &[STRING], HTTP_DENIED, |arguments, _| {
            let reason = Text::new(text_argument(arguments, 0)?);
            Ok(Val::opaque(CheckResponse { reason, ..CheckResponse::new(HTTP_DENIED, false) }))
        })
        .help("denies the request, with a reason"),
    );
    for parameters in [&[HTTP_OK], &[HTTP_DENIED]] {
        functions.add(
            CelOverload::method("Response", parameters, HTTP_RESPONSE_TYPE, |arguments, _| {
                finish_response(arguments, HTTP_RESPONSE_TYPE)
            })
            .help("the response to the proxy"),
        );
    }
    functions.add(
        CelOverload::method("Header", &[HTTP_ATTRIBUTES, STRING], CelKind::List, |arguments, _| {
            request_values(arguments, "header", &canonical_header_name(text_argument(arguments, 1)?))
        })
        .help("the values of a header of the request; its name is not case-sensitive"),
    );
    functions.add(
        CelOverload::method("QueryParam", &[HTTP_ATTRIBUTES, STRING], CelKind::List, |arguments, _| {
            request_values(arguments, "query", text_argument(arguments, 1)?)
        })
        .help("the values of a parameter of the request"),
    );
}

/// Adds methods that set a field, given as an object or as its name and value.
macro_rules! details {
    ($functions:ident: $($name:literal $receiver:ident $given:ident => $detail:literal $help:literal;)*) => {$(
        for parameters in [&[$receiver, $given][..], &[$receiver, STRING, STRING]] {
            $functions.add(
                CelOverload::method($name, parameters, $receiver, |arguments, call| {
                    add_response_detail(arguments, call, $detail, name_value_argument(arguments)?)
                })
                .help($help),
            );
        }
    )*};
}

fn add_envoy_check_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("envoy.Allowed", &[], OK, |_, _| Ok(Val::opaque(CheckResponse::new(OK, true))))
            .help("allows the request"),
    );
    functions.add(
        CelOverload::function("envoy.Denied", &[CelKind::Int], DENIED, |arguments, _| {
            let code = arguments.first().and_then(Val::as_int).ok_or_else(CelFailure::mismatch)?;
            let is_held = i32::try_from(code).is_ok();
            let status = if is_held { Ok(code) } else { Err(CelFailure::value("integer overflow")) }?;
            Ok(Val::opaque(CheckResponse { status, ..CheckResponse::new(DENIED, false) }))
        })
        .help("denies the request, with a status"),
    );
    functions.add(
        CelOverload::function("envoy.Header", &[STRING, STRING], HEADER, |arguments, _| {
            make_named_value(arguments, HEADER)
        })
        .help("a header, by its name and value"),
    );
    functions.add(
        CelOverload::function("envoy.QueryParam", &[STRING, STRING], PARAMETER, |arguments, _| {
            make_named_value(arguments, PARAMETER)
        })
        .help("a parameter, by its name and value"),
    );
    for parameters in [&[HEADER][..], &[HEADER, CelKind::Bool]] {
        functions.add(
            CelOverload::method("KeepEmptyValue", parameters, HEADER, |arguments, call| {
                let is_kept = arguments.get(1).is_none_or(|value| value.as_bool() == Some(true));
                add_response_detail(arguments, call, "keepEmptyValue", Value::Bool(is_kept))
            })
            .help("keeps a header that is empty"),
        );
    }
    details! { functions:
        "WithHeader" OK HEADER => "headers" "adds a header to the request";
        "WithHeader" DENIED HEADER => "headers" "adds a header to the response";
        "WithResponseHeader" OK HEADER => "responseHeadersToAdd" "adds a header to the response";
        "WithQueryParam" OK PARAMETER => "queryParametersToSet" "sets a parameter of the request";
    }
    functions.add(
        CelOverload::method("WithBody", &[DENIED, STRING], DENIED, |arguments, call| {
            add_response_detail(arguments, call, "body", json_argument(arguments, 1)?)
        })
        .help("the body that the caller gets"),
    );
    functions.add(
        CelOverload::method("WithoutHeader", &[OK, STRING], OK, |arguments, call| {
            add_response_detail(arguments, call, "headersToRemove", json_argument(arguments, 1)?)
        })
        .help("removes a header from the request"),
    );
    functions.add(
        CelOverload::method("WithoutQueryParam", &[OK, STRING], OK, |arguments, call| {
            add_response_detail(arguments, call, "queryParametersToRemove", json_argument(arguments, 1)?)
        })
        .help("removes a parameter from the request"),
    );
    for parameters in [&[OK], &[DENIED]] {
        functions.add(
            CelOverload::method("Response", parameters, RESPONSE, |arguments, _| {
                finish_response(arguments, RESPONSE)
            })
            .help("the response to the proxy"),
        );
    }
    functions.add(
        CelOverload::method("WithMessage", &[RESPONSE, STRING], RESPONSE, |arguments, call| {
            add_response_detail(arguments, call, "message", json_argument(arguments, 1)?)
        })
        .help("a message for the proxy"),
    );
    functions.add(
        CelOverload::method("WithMetadata", &[RESPONSE, CelKind::Map], RESPONSE, |arguments, call| {
            add_response_detail(arguments, call, "metadata", json_argument(arguments, 1)?)
        })
        .help("metadata for the proxy"),
    );
}

fn finish_response<'a>(arguments: &[Val<'a>], kind: CelKind) -> Result<Val<'a>, CelFailure> {
    Ok(Val::opaque(CheckResponse { kind, ..opaque_argument::<CheckResponse>(arguments, 0)?.clone() }))
}

/// Returns the response with one more field.
fn add_response_detail<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
    detail: &'static str,
    value: Value,
) -> Result<Val<'a>, CelFailure> {
    let mut answer = opaque_argument::<CheckResponse>(arguments, 0)?.clone();
    call.make(answer.details.len() + 1)?;
    answer.details.push((detail, value));
    Ok(Val::opaque(answer))
}

/// Returns a header or parameter, which is represented like a response.
fn make_named_value<'a>(arguments: &[Val<'a>], kind: CelKind) -> Result<Val<'a>, CelFailure> {
    let details = vec![("key", json_argument(arguments, 0)?), ("value", json_argument(arguments, 1)?)];
    Ok(Val::opaque(CheckResponse { details, ..CheckResponse::new(kind, true) }))
}

/// Returns a name and its value, as an object.
fn name_value_argument(arguments: &[Val<'_>]) -> Result<Value, CelFailure> {
    let details = match arguments {
        [_, Val::Opaque(_)] => opaque_argument::<CheckResponse>(arguments, 1)?.details.clone(),
        _ => vec![("key", json_argument(arguments, 1)?), ("value", json_argument(arguments, 2)?)],
    };
    let entries = details.into_iter().map(|(name, value)| (Text::new_static(name), value));
    Ok(Value::object(entries.collect::<Map>()))
}

fn request_values<'a>(arguments: &[Val<'a>], field: &str, name: &str) -> Result<Val<'a>, CelFailure> {
    let found = opaque_argument::<CheckMessageVal>(arguments, 0)?.get(field).and_then(|map| map.get(name));
    Ok(match found {
        Some(Value::Array(_)) => found.cloned().map_or(Val::Null, Val::from),
        _ => Val::list(Vec::new()),
    })
}

/// Returns the canonical name of a header: `Content-Type` for `content-type`. An invalid name is unchanged.
fn canonical_header_name(name: &str) -> String {
    let is_token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    if !name.bytes().all(is_token) {
        return name.to_owned();
    }
    let mut is_first = true;
    let cased = name.chars().map(|c| {
        let made = if is_first { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        is_first = c == '-';
        made
    });
    cased.collect()
}
