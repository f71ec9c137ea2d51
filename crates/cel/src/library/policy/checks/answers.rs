//! What a proxy is told about a request.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::super::{Library, Macros, json, opaque, text};
use super::record::Record;
use super::{ENVOY_RESPONSE_TYPE, HTTP_ATTRIBUTES, HTTP_RESPONSE_TYPE};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Opaque, Val};

/// The library of answers to requests over HTTP.
pub const HTTP_CHECKS: Library =
    Library { name: "http checks", functions: add_http, macros: Macros::NONE, types: &[] };

/// The library of answers to requests of Envoy.
pub const ENVOY_CHECKS: Library =
    Library { name: "envoy checks", functions: add_envoy, macros: Macros::NONE, types: &[] };

const HTTP_OK: Kind = Kind::Opaque("http.CheckResponseOk");
const HTTP_DENIED: Kind = Kind::Opaque("http.CheckResponseDenied");
const OK: Kind = Kind::Opaque("envoy.service.auth.v3.OkHttpResponse");
const DENIED: Kind = Kind::Opaque("envoy.service.auth.v3.DeniedHttpResponse");
const RESPONSE: Kind = ENVOY_RESPONSE_TYPE;
const HEADER: Kind = Kind::Opaque("envoy.config.core.v3.HeaderValueOption");
const PARAMETER: Kind = Kind::Opaque("envoy.config.core.v3.QueryParameter");
const S: Kind = Kind::String;

/// What the proxy is told, or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    kind: Kind,
    /// Whether the request may pass.
    pub is_allowed: bool,
    /// Why it may not, where a reason was given.
    pub reason: Text,
    /// The status that the caller gets; 0 where none was given.
    pub status: i64,
    /// What else the proxy is told: a body, headers, parameters, a message and metadata.
    pub details: Vec<(&'static str, Value)>,
}

impl Answer {
    /// Returns the answer that an expression resulted in.
    #[must_use]
    pub fn of(value: &Val<'_>) -> Option<Self> {
        let found = value.as_opaque::<Self>()?;
        [HTTP_RESPONSE_TYPE, ENVOY_RESPONSE_TYPE].contains(&found.kind).then(|| found.clone())
    }

    fn new(kind: Kind, is_allowed: bool) -> Self {
        Self { kind, is_allowed, reason: Text::default(), status: 0, details: Vec::new() }
    }
}

impl Opaque for Answer {
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

fn add_http(functions: &mut Functions) {
    functions.add(
        Overload::function("http.Allowed", &[], HTTP_OK, |_, _| Ok(Val::opaque(Answer::new(HTTP_OK, true))))
            .help("lets the request pass"),
    );
    functions.add(
        Overload::function("http.Denied", &[S], HTTP_DENIED, |arguments, _| {
            let reason = Text::new(text(arguments, 0)?);
            Ok(Val::opaque(Answer { reason, ..Answer::new(HTTP_DENIED, false) }))
        })
        .help("refuses the request, and says why"),
    );
    for parameters in [&[HTTP_OK], &[HTTP_DENIED]] {
        functions.add(
            Overload::method("Response", parameters, HTTP_RESPONSE_TYPE, |arguments, _| {
                finished(arguments, HTTP_RESPONSE_TYPE)
            })
            .help("what the proxy is told"),
        );
    }
    functions.add(
        Overload::method("Header", &[HTTP_ATTRIBUTES, S], Kind::List, |arguments, _| {
            values(arguments, "header", &canonical(text(arguments, 1)?))
        })
        .help("the values of a header of the request, in whatever case its name is"),
    );
    functions.add(
        Overload::method("QueryParam", &[HTTP_ATTRIBUTES, S], Kind::List, |arguments, _| {
            values(arguments, "query", text(arguments, 1)?)
        })
        .help("the values of a parameter of the request"),
    );
}

/// Adds methods that note a detail, given as an object or as its name and value.
macro_rules! details {
    ($functions:ident: $($name:literal $receiver:ident $given:ident => $detail:literal $help:literal;)*) => {$(
        for parameters in [&[$receiver, $given][..], &[$receiver, S, S]] {
            $functions.add(
                Overload::method($name, parameters, $receiver, |arguments, call| {
                    noted(arguments, call, $detail, pair(arguments)?)
                })
                .help($help),
            );
        }
    )*};
}

fn add_envoy(functions: &mut Functions) {
    functions.add(
        Overload::function("envoy.Allowed", &[], OK, |_, _| Ok(Val::opaque(Answer::new(OK, true))))
            .help("lets the request pass"),
    );
    functions.add(
        Overload::function("envoy.Denied", &[Kind::Int], DENIED, |arguments, _| {
            let code = arguments.first().and_then(Val::as_int).ok_or_else(Failure::mismatch)?;
            let is_held = i32::try_from(code).is_ok();
            let status = if is_held { Ok(code) } else { Err(Failure::value("integer overflow")) }?;
            Ok(Val::opaque(Answer { status, ..Answer::new(DENIED, false) }))
        })
        .help("refuses the request, with a status"),
    );
    functions.add(
        Overload::function("envoy.Header", &[S, S], HEADER, |arguments, _| named(arguments, HEADER))
            .help("a header, by its name and value"),
    );
    functions.add(
        Overload::function("envoy.QueryParam", &[S, S], PARAMETER, |arguments, _| {
            named(arguments, PARAMETER)
        })
        .help("a parameter, by its name and value"),
    );
    for parameters in [&[HEADER][..], &[HEADER, Kind::Bool]] {
        functions.add(
            Overload::method("KeepEmptyValue", parameters, HEADER, |arguments, call| {
                let is_kept = arguments.get(1).is_none_or(|value| value.as_bool() == Some(true));
                noted(arguments, call, "keepEmptyValue", Value::Bool(is_kept))
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
        Overload::method("WithBody", &[DENIED, S], DENIED, |arguments, call| {
            noted(arguments, call, "body", json(arguments, 1)?)
        })
        .help("the body that the caller gets"),
    );
    functions.add(
        Overload::method("WithoutHeader", &[OK, S], OK, |arguments, call| {
            noted(arguments, call, "headersToRemove", json(arguments, 1)?)
        })
        .help("takes a header from the request"),
    );
    functions.add(
        Overload::method("WithoutQueryParam", &[OK, S], OK, |arguments, call| {
            noted(arguments, call, "queryParametersToRemove", json(arguments, 1)?)
        })
        .help("takes a parameter from the request"),
    );
    for parameters in [&[OK], &[DENIED]] {
        functions.add(
            Overload::method("Response", parameters, RESPONSE, |arguments, _| finished(arguments, RESPONSE))
                .help("what the proxy is told"),
        );
    }
    functions.add(
        Overload::method("WithMessage", &[RESPONSE, S], RESPONSE, |arguments, call| {
            noted(arguments, call, "message", json(arguments, 1)?)
        })
        .help("a message for the proxy"),
    );
    functions.add(
        Overload::method("WithMetadata", &[RESPONSE, Kind::Map], RESPONSE, |arguments, call| {
            noted(arguments, call, "metadata", json(arguments, 1)?)
        })
        .help("metadata for the proxy"),
    );
}

fn finished<'a>(arguments: &[Val<'a>], kind: Kind) -> Result<Val<'a>, Failure> {
    Ok(Val::opaque(Answer { kind, ..opaque::<Answer>(arguments, 0)?.clone() }))
}

/// Returns the answer with one more detail.
fn noted<'a>(
    arguments: &[Val<'a>],
    call: &mut Call<'_, 'a>,
    detail: &'static str,
    value: Value,
) -> Result<Val<'a>, Failure> {
    let mut answer = opaque::<Answer>(arguments, 0)?.clone();
    call.make(answer.details.len() + 1)?;
    answer.details.push((detail, value));
    Ok(Val::opaque(answer))
}

/// A header or a parameter is noted like an answer.
fn named<'a>(arguments: &[Val<'a>], kind: Kind) -> Result<Val<'a>, Failure> {
    let details = vec![("key", json(arguments, 0)?), ("value", json(arguments, 1)?)];
    Ok(Val::opaque(Answer { details, ..Answer::new(kind, true) }))
}

/// Returns a name and its value, as an object.
fn pair(arguments: &[Val<'_>]) -> Result<Value, Failure> {
    let details = match arguments {
        [_, Val::Opaque(_)] => opaque::<Answer>(arguments, 1)?.details.clone(),
        _ => vec![("key", json(arguments, 1)?), ("value", json(arguments, 2)?)],
    };
    let entries = details.into_iter().map(|(name, value)| (Text::new_static(name), value));
    Ok(Value::object(entries.collect::<Map>()))
}

fn values<'a>(arguments: &[Val<'a>], field: &str, name: &str) -> Result<Val<'a>, Failure> {
    let found = opaque::<Record>(arguments, 0)?.get(field).and_then(|map| map.get(name));
    Ok(match found {
        Some(Value::Array(_)) => found.cloned().map_or(Val::Null, Val::from),
        _ => Val::list(Vec::new()),
    })
}

/// Returns the name of a header as servers keep it: `content-type` is `Content-Type`. What cannot be one stays.
fn canonical(name: &str) -> String {
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
