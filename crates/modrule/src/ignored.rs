//! Namespaces that all rules ignore.
//!
//! A label marks an ignored namespace. Two are ignored even without the label: the system namespace of
//! Kubernetes, without which a cluster does not run, and the namespace in which cluster rules live.

use kubewright_engine::{EvalError, Evaluation, IgnoredNamespace};
use kubewright_value::{Text, Value};

use super::CLUSTER_NAMESPACE;
use super::references::ReferenceSettings;

/// The label by which a namespace is ignored, or not.
pub(super) const IGNORE_LABEL: &str = "admission.kubemod.io/ignore";

/// The value of the label by which a namespace is ignored. Any other one means that it is not.
pub(super) const IGNORED_VALUE: &str = "true";

/// The namespaces that installations label, whichever namespace cluster rules live in.
pub(super) const IGNORED_BY_DEFAULT: [IgnoredNamespace; 2] = [
    IgnoredNamespace { name: "kube-system", is_created: false },
    IgnoredNamespace { name: CLUSTER_NAMESPACE, is_created: true },
];

/// Returns why the object of the request is ignored by all rules: its namespace, or the Namespace itself, is ignored.
///
/// # Errors
/// When the world does not know the namespace yet.
pub(super) fn ignored_reason(
    sight: &ReferenceSettings,
    cluster_namespace: &Text,
    evaluation: &Evaluation<'_>,
) -> Result<Option<Text>, EvalError> {
    let request = evaluation.request;
    let is_namespace = request.kind.kind == "Namespace" && request.kind.group.is_empty();
    let (name, label) = if is_namespace {
        (&request.name, ignore_label(&request.object))
    } else {
        (&request.namespace, sight.lenient(evaluation.namespace_if_there())?.and_then(ignore_label))
    };
    let is_default =
        IGNORED_BY_DEFAULT.iter().any(|ignored| name == ignored.name) || name == cluster_namespace;
    Ok(match label {
        Some(IGNORED_VALUE) => Some(format!("the namespace is labelled {IGNORE_LABEL}").into()),
        None if is_default => Some(
            format!("namespace `{name}` is ignored unless it is labelled {IGNORE_LABEL}: \"false\"").into(),
        ),
        _ => None,
    })
}

fn ignore_label(namespace: &Value) -> Option<&str> {
    namespace.at(&["metadata", "labels", IGNORE_LABEL]).and_then(Value::as_str)
}
