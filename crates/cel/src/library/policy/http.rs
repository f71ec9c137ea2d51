//! Requests over HTTP, made by the world.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::{Library, Macros, ask, json, opaque, text, texts};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Opaque, Val};

/// The library of requests.
pub const HTTP: Library =
    Library { name: "http", functions: add, macros: Macros::NONE, types: &["http.Context"] };

/// The question for what is at a URL.
pub const HTTP_GET: &str = "http.get";

/// The question for what a URL answers to a body.
pub const HTTP_POST: &str = "http.post";

const SELF: Kind = Kind::Opaque("http.Context");

/// Who makes requests, trusting the certificates it was given or those of the system.
#[derive(Debug, PartialEq)]
struct Client {
    certificates: Option<Text>,
}

impl Opaque for Client {
    fn type_name(&self) -> &'static str {
        SELF.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

pub(super) fn client() -> Val<'static> {
    Val::opaque(Client { certificates: None })
}

fn add(functions: &mut Functions) {
    for name in ["get", "Get"] {
        for parameters in [&[SELF, Kind::String][..], &[SELF, Kind::String, Kind::Map]] {
            functions.add(
                Overload::method(name, parameters, Kind::Any, get)
                    .values(Kind::String)
                    .help("what is at a URL, asked with headers; `statusCode` besides"),
            );
        }
    }
    for name in ["post", "Post"] {
        let plain = Overload::method(name, &[SELF, Kind::String, Kind::Any], Kind::Any, post);
        let with_headers =
            Overload::method(name, &[SELF, Kind::String, Kind::Any, Kind::Map], Kind::Any, post);
        for overload in [plain, with_headers.values(Kind::String)] {
            functions
                .add(overload.help("what a URL answers to a body, sent with headers; `statusCode` besides"));
        }
    }
    for name in ["client", "Client"] {
        functions.add(
            Overload::method(name, &[SELF, Kind::String], SELF, |arguments, _| {
                let given = text(arguments, 1)?;
                let certificates = (!given.is_empty()).then(|| Text::new(given));
                Ok(Val::opaque(Client { certificates }))
            })
            .help("makes requests to servers with certificates of these authorities, in PEM"),
        );
    }
}

fn get<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let question = [url(arguments)?, headers(arguments, 2)?, certificates(arguments)?];
    ask(call, HTTP_GET, &question, "request failed")
}

fn post<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let question = [url(arguments)?, json(arguments, 2)?, headers(arguments, 3)?, certificates(arguments)?];
    ask(call, HTTP_POST, &question, "request failed")
}

fn url(arguments: &[Val<'_>]) -> Result<Value, Failure> {
    Ok(Value::from(Text::new(text(arguments, 1)?)))
}

fn headers(arguments: &[Val<'_>], index: usize) -> Result<Value, Failure> {
    if arguments.len() > index { texts(arguments, index) } else { Ok(Value::object(Map::new())) }
}

fn certificates(arguments: &[Val<'_>]) -> Result<Value, Failure> {
    Ok(opaque::<Client>(arguments, 0)?.certificates.clone().map_or(Value::Null, Value::from))
}
