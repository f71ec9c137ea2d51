//! Rewrites expressions of a rule for Pods for the objects that make Pods.

use kubewright_jmespath::JmesPathChange;
use kubewright_value::Text;

use kubewright_k8s::PodTemplatePath;

/// The metadata that a Pod template has of its own; name and namespace are those of the controller.
const IN_TEMPLATE: [&str; 2] = ["labels", "annotations"];

/// The quotes with which authors exclude a path from rewriting.
const QUOTED: [&str; 3] = ["\"request\"", "\"object\"", "\"oldObject\""];

/// Returns the template path for which the paths in an expression are rewritten. `request."object"` always means the
/// object itself.
pub(super) fn rebase_target(text: &str, to: PodTemplatePath) -> PodTemplatePath {
    if QUOTED.iter().any(|quoted| text.contains(quoted)) { PodTemplatePath::Pod } else { to }
}

/// Returns how a path to a part of a Pod begins in the object that makes the Pod.
pub(super) fn rebased_path(keys: &[&str], to: PodTemplatePath) -> JmesPathChange {
    if to == PodTemplatePath::Pod {
        return None;
    }
    let object = match keys {
        ["request", object @ ("object" | "oldObject"), "spec", ..] => *object,
        ["request", object @ ("object" | "oldObject"), "metadata"] => *object,
        ["request", object @ ("object" | "oldObject"), "metadata", field, ..]
            if IN_TEMPLATE.contains(field) =>
        {
            *object
        }
        _ => return None,
    };
    let path = ["request", object].into_iter().chain(to.keys().iter().copied());
    Some((2, path.map(Text::new).collect()))
}

/// Returns the text of an expression as messages show it after [`rebased_path`].
pub(super) fn rebase_expression_text(text: &str, to: PodTemplatePath) -> String {
    if to == PodTemplatePath::Pod {
        return text.to_owned();
    }
    let below = to.keys().join(".");
    let mut text = text.to_owned();
    for object in ["request.object.", "request.oldObject."] {
        for part in ["spec", "metadata.labels", "metadata.annotations"] {
            text = text.replace(&format!("{object}{part}"), &format!("{object}{below}.{part}"));
        }
    }
    text
}
