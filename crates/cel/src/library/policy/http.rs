//! HTTP requests, which the host makes.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::{
    CelLibrary, MacroSet, ask_host, json_argument, opaque_argument, text_argument, text_map_argument,
};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Opaque, Val};

/// The library of HTTP requests.
pub const HTTP: CelLibrary = CelLibrary {
    name: "http",
    functions: add_http_functions,
    macros: MacroSet::NONE,
    types: &["http.Context"],
};

/// The query for a GET request.
pub const HTTP_GET: &str = "http.get";

/// The query for a POST request.
pub const HTTP_POST: &str = "http.post";

const HTTP_CONTEXT: CelKind = CelKind::Opaque("http.Context");

/// An HTTP client, which trusts the given certificate authorities or those of the system.
#[derive(Debug, PartialEq)]
struct HttpContextVal {
    certificates: Option<Text>,
}

impl Opaque for HttpContextVal {
    fn type_name(&self) -> &'static str {
        HTTP_CONTEXT.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

pub(super) fn http_context() -> Val<'static> {
    Val::opaque(HttpContextVal { certificates: None })
}

fn add_http_functions(functions: &mut CelFunctions) {
    for name in ["get", "Get"] {
        for parameters in
            [&[HTTP_CONTEXT, CelKind::String][..], &[HTTP_CONTEXT, CelKind::String, CelKind::Map]]
        {
            functions.add(
                CelOverload::method(name, parameters, CelKind::Any, http_get_response)
                    .values(CelKind::String)
                    .help("the response of a GET request with headers, with `statusCode` added"),
            );
        }
    }
    for name in ["post", "Post"] {
        let plain = CelOverload::method(
            name,
            &[HTTP_CONTEXT, CelKind::String, CelKind::Any],
            CelKind::Any,
            http_post_response,
        );
        let with_headers = CelOverload::method(
            name,
            &[HTTP_CONTEXT, CelKind::String, CelKind::Any, CelKind::Map],
            CelKind::Any,
            http_post_response,
        );
        for overload in [plain, with_headers.values(CelKind::String)] {
            functions
                .add(overload.help("the response of a POST request with headers, with `statusCode` added"));
        }
    }
    for name in ["client", "Client"] {
        functions.add(
            CelOverload::method(name, &[HTTP_CONTEXT, CelKind::String], HTTP_CONTEXT, |arguments, _| {
                let given = text_argument(arguments, 1)?;
                let certificates = (!given.is_empty()).then(|| Text::new(given));
                Ok(Val::opaque(HttpContextVal { certificates }))
            })
            .help("an HTTP client that trusts these certificate authorities, in PEM"),
        );
    }
}

fn http_get_response<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let question =
        [url_argument(arguments)?, headers_argument(arguments, 2)?, certificates_argument(arguments)?];
    ask_host(call, HTTP_GET, &question, "request failed")
}

fn http_post_response<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let question = [
        url_argument(arguments)?,
        json_argument(arguments, 2)?,
        headers_argument(arguments, 3)?,
        certificates_argument(arguments)?,
    ];
    ask_host(call, HTTP_POST, &question, "request failed")
}

fn url_argument(arguments: &[Val<'_>]) -> Result<Value, CelFailure> {
    Ok(Value::from(Text::new(text_argument(arguments, 1)?)))
}

fn headers_argument(arguments: &[Val<'_>], index: usize) -> Result<Value, CelFailure> {
    if arguments.len() > index { text_map_argument(arguments, index) } else { Ok(Value::object(Map::new())) }
}

fn certificates_argument(arguments: &[Val<'_>]) -> Result<Value, CelFailure> {
    Ok(opaque_argument::<HttpContextVal>(arguments, 0)?.certificates.clone().map_or(Value::Null, Value::from))
}
