//! The admission request for a document of a manifest.

use std::path::Path;

use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_value::{Document, Value};

/// Returns the request of `user` with `operation` on `object`, which is both the old and the new object.
pub(crate) fn request_about(
    object: &Value,
    operation: Operation,
    namespace: &str,
    user: &UserInfo,
) -> AdmissionRequest {
    let mut request = AdmissionRequest::for_object(object.clone(), Operation::Create, namespace);
    request.set_operation(operation);
    request.set_user(user);
    request
}

/// Returns whether `document` has no kind.
pub(crate) fn is_payload(document: &Document) -> bool {
    document.value.get("kind").and_then(Value::as_str).is_none_or(str::is_empty)
}

/// Returns the request of `user` about a document without a kind, named after its file.
pub(crate) fn of_payload(document: &Document, user: &UserInfo) -> AdmissionRequest {
    let file = Path::new(&document.source.name).file_name().unwrap_or_default();
    let mut request = AdmissionRequest::for_payload(document.value.clone(), &file.to_string_lossy());
    request.set_user(user);
    request
}
