//! A reader of OpenAPI 3 and Swagger 2, in YAML or JSON.

use kubewright_patch::Pointer;
use kubewright_value::{Source, Value, yaml};

use super::EndpointOffer;

const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/// The maximum length of a chain of references.
const MAX_REFERENCES: usize = 8;

/// Returns the operations of all paths.
pub(super) fn read_openapi(content: &str) -> Result<Vec<EndpointOffer>, String> {
    let reading = yaml::read(&Source::new("schema", content));
    if let Some(problem) = reading.problems.first() {
        return Err(problem.message.clone());
    }
    let root = reading.documents.first().map(|document| &document.value).unwrap_or(&Value::Null);
    if root.get("openapi").is_none() && root.get("swagger").is_none() {
        return Err("it is not an OpenAPI document: neither `openapi` nor `swagger` is there".to_owned());
    }
    let paths = match root.get("paths") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(paths) => paths.as_object().ok_or("`paths` is not an object")?,
    };
    let mut offers = Vec::new();
    for (path, item) in paths.iter().filter(|(path, _)| path.starts_with('/')) {
        let Some(item) = resolve_path_item(root, item).as_object() else { continue };
        for method in METHODS.into_iter().filter(|method| item.contains_key(method)) {
            let (path, method) = (Some(path.to_string()), method.to_ascii_uppercase());
            offers.push(EndpointOffer { kind: "HTTP", service: None, path, method });
        }
    }
    Ok(offers)
}

/// Resolves the reference of `item` within the document; external references are ignored.
fn resolve_path_item<'v>(root: &'v Value, item: &'v Value) -> &'v Value {
    let mut found = item;
    for _ in 0..MAX_REFERENCES {
        let Some(reference) = found.get("$ref").and_then(Value::as_str) else { return found };
        let pointer = reference.strip_prefix('#').and_then(|text| Pointer::parse(text).ok());
        let Some(pointer) = pointer else { return &Value::Null };
        let mut tokens = pointer.tokens().iter();
        let Some(next) = tokens.try_fold(root, |value, token| value.get(token)) else { return &Value::Null };
        found = next;
    }
    &Value::Null
}
