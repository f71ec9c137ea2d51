//! The operations of an endpoint, read from its API description: an OpenAPI document or a protobuf file.

mod openapi;
mod proto;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Step, Value};

use super::super::diagnostics as code;
use super::super::source::Workload;
use super::insert_present;

/// The maximum length of a description; the API server accepts no longer object.
const MAX_DESCRIPTION_BYTES: usize = 2 * 1024 * 1024;

/// An operation of an endpoint; the fields are in the order in which expressions see them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct EndpointOffer {
    kind: &'static str,
    service: Option<String>,
    path: Option<String>,
    method: String,
}

/// Returns the operations of the endpoints of `workload`, by name; an endpoint without a description is left out.
pub(crate) fn list_endpoint_resources(workload: &Workload, document: &Document) -> (Value, Vec<Diagnostic>) {
    let mut map = Map::new();
    let mut diagnostics = Vec::new();
    for endpoint in &workload.endpoints {
        let Some((kind, Some(content))) = &endpoint.schema else { continue };
        match read_offers(&endpoint.kind, kind.as_deref(), content) {
            Ok(offers) if offers.is_empty() => {}
            Ok(offers) => {
                map.insert(endpoint.name.clone(), offers_value(offers));
            }
            Err(problem) => {
                let name = endpoint.name.as_str();
                let path = ["spec", "endpoints", name, "schema", "content"].map(Step::from);
                let message = format!("the description of the endpoint `{name}` cannot be read: {problem}");
                let location = document.locate_key(&path);
                let help = "`workload.toEndpointResources` gives nothing for it";
                diagnostics.push(Diagnostic::new(&code::UNREAD_DESCRIPTION, message, location).help(help));
            }
        }
    }
    (Value::object(map), diagnostics)
}

/// Returns the same for the variable `workload`, if its endpoints have a `schema`.
pub(super) fn describe_endpoints(workload: &Value) -> Value {
    let mut map = Map::new();
    let endpoints = workload.get("endpoints").and_then(Value::as_object);
    for (name, endpoint) in endpoints.into_iter().flat_map(Map::iter) {
        let word = |keys: &[&str]| endpoint.at(keys).and_then(Value::as_str);
        let Some(content) = word(&["schema", "content"]) else { continue };
        let found = read_offers(word(&["type"]).unwrap_or_default(), word(&["schema", "type"]), content);
        if let Some(offers) = found.ok().filter(|offers| !offers.is_empty()) {
            map.insert(name.clone(), offers_value(offers));
        }
    }
    Value::object(map)
}

/// Reads `content`. Its format is that of `schema`, or the usual one of the endpoint type.
fn read_offers(endpoint: &str, schema: Option<&str>, content: &str) -> Result<Vec<EndpointOffer>, String> {
    if content.trim().is_empty() {
        return Ok(Vec::new());
    }
    if content.len() > MAX_DESCRIPTION_BYTES {
        return Err(format!("it is longer than {MAX_DESCRIPTION_BYTES} bytes"));
    }
    let said = schema.map(|word| word.trim().to_ascii_lowercase()).filter(|word| !word.is_empty());
    let mut offers = match (said.as_deref(), endpoint) {
        (Some("openapi" | "oas" | "oas2" | "oas3" | "swagger" | "rest"), _) | (None, "HTTP" | "REST") => {
            openapi::read_openapi(content)?
        }
        (Some("proto" | "proto2" | "proto3" | "protobuf" | "grpc"), _) | (None, "gRPC") => {
            proto::read_proto(content)?
        }
        (Some(other), _) => return Err(format!("`{other}` is not read here")),
        (None, "GraphQL" | "Websocket") => {
            return Err(format!("descriptions of {endpoint} are not read here"));
        }
        (None, _) => Vec::new(),
    };
    offers.sort();
    offers.dedup();
    Ok(offers)
}

fn offers_value(offers: Vec<EndpointOffer>) -> Value {
    let value = |offer: EndpointOffer| {
        let mut map = Map::from([("kind", offer.kind.into())]);
        insert_present(&mut map, "service", offer.service);
        insert_present(&mut map, "method", Some(offer.method));
        insert_present(&mut map, "path", offer.path);
        Value::object(map)
    };
    Value::array(offers.into_iter().map(value).collect())
}
