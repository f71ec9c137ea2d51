//! Requests that a proxy asks about.

use kubewright_value::{Text, Value, json};

use super::super::{CheckResponse, ENVOY_RESPONSE_TYPE, HTTP_RESPONSE_TYPE, envoy_request, http_request};
use crate::{CelBindings, CelCost, CelEnvironment, CelKind, CelProgram, Val};

const HTTP: &str = r#"{"attributes": {"method": "GET", "path": "/a", "header": {"Content-Type": ["x", "y"]},
    "query": {"q": ["1"]}, "body": "aGk="}}"#;

const ENVOY: &str = r#"{"attributes": {"request": {"http": {"method": "GET", "headers": {"x": "y"}, "size": "12"}},
    "contextExtensions": {"a": "b"}}}"#;

/// Returns the answer, or what the expression results in otherwise.
fn answered(
    environment: &CelEnvironment,
    object: Val<'static>,
    text: &str,
    kind: CelKind,
) -> Result<CheckResponse, String> {
    let program = CelProgram::compile(text, environment).map_err(|errors| errors[0].message.clone())?;
    let found = program.evaluate(&CelBindings::new().with_val("object", object), &mut CelCost::default());
    let found = found.map_err(|error| error.message)?;
    let answer = CheckResponse::of(&found).ok_or_else(|| format!("{found:?}"))?;
    assert_eq!(program.result_type().kind, kind, "{text}");
    Ok(answer)
}

fn http(text: &str) -> Result<CheckResponse, String> {
    let request = http_request(&json::parse(HTTP).unwrap());
    answered(&CelEnvironment::http_check(), request, text, HTTP_RESPONSE_TYPE)
}

fn envoy(text: &str) -> Result<CheckResponse, String> {
    let request = envoy_request(&json::parse(ENVOY).unwrap());
    answered(&CelEnvironment::envoy_check(), request, text, ENVOY_RESPONSE_TYPE)
}

#[track_caller]
fn reads(found: Result<CheckResponse, String>, want: &str) {
    assert_eq!(found.map_err(Text::from), Err(Text::new(want)));
}

#[test]
fn http_request_is_allowed_or_denied_with_a_reason() {
    assert!(http("http.Allowed().Response()").unwrap().is_allowed);
    let denied = http("http.Denied('not allowed').Response()").unwrap();
    assert_eq!((denied.is_allowed, denied.reason.as_str()), (false, "not allowed"));
    assert!(
        http("object.attributes.method == 'GET' ? http.Allowed().Response() : http.Denied('').Response()")
            .is_ok()
    );
    reads(http("null"), "null");
    reads(http("json.Unmarshal('[1]')[0]"), "1.0");
    let text = "object.attributes.method == 'PUT' ? http.Allowed().Response() : null";
    reads(http(text), "null");
    reads(http("envoy.Allowed()"), "unknown name `envoy`");
}

#[test]
fn unset_request_fields_are_empty() {
    reads(http("object.attributes.path"), r#""/a""#);
    reads(http("object.attributes.host"), r#""""#);
    reads(http("has(object.attributes.host)"), "false");
    reads(http("object.attributes.contentLength"), "0");
    reads(http("object.attributes.body"), r#"b"hi""#);
    reads(http("object.attributes.Header('content-TYPE')"), r#"["x", "y"]"#);
    reads(http("object.attributes.Header('other')"), "[]");
    reads(http("object.attributes.QueryParam('q')"), r#"["1"]"#);
    reads(http("object.foo"), "a value of type `http.CheckRequest` has no field `foo`");
}

#[test]
fn envoy_request_is_denied_with_a_status() {
    let denied =
        envoy("envoy.Denied(403).WithBody('no').WithHeader('a', 'b').Response().WithMessage('m')").unwrap();
    assert_eq!((denied.is_allowed, denied.status), (false, 403));
    let header = json::parse(r#"{"key": "a", "value": "b"}"#).unwrap();
    let details = [("body", Value::from("no")), ("headers", header), ("message", Value::from("m"))];
    assert_eq!(denied.details, details);
    let allowed = envoy(
        "envoy.Allowed().WithHeader(envoy.Header('a', '').KeepEmptyValue()).WithoutQueryParam('q').Response()",
    );
    assert!(allowed.unwrap().is_allowed);
}

#[test]
fn envoy_messages_are_read_from_json() {
    reads(envoy("object.attributes.request.http.headers['x']"), r#""y""#);
    reads(envoy("object.attributes.request.http.size"), "12");
    reads(envoy("object.attributes.context_extensions.a"), r#""b""#);
    reads(envoy("object.attributes.source.principal"), r#""""#);
    reads(envoy("has(object.attributes.source)"), "false");
    reads(envoy("object.attributes.metadata_context.filter_metadata"), "{}");
    reads(envoy("has(object.attributes.request.http)"), "true");
    reads(envoy("object.attributes.source.address.socket_address.port_value"), "0u");
}
