//! Expressions of a rule about Pods in a rule for the objects that make Pods.

use kubewright_jmespath::JmesPathChange;
use kubewright_value::Text;

use super::super::source::Workload;

/// What a Pod has of its own in the template of its controller; its name and namespace are the controller's.
const IN_TEMPLATE: [&str; 2] = ["labels", "annotations"];

/// How authors keep the rewriting away from a path.
const QUOTED: [&str; 3] = ["\"request\"", "\"object\"", "\"oldObject\""];

/// Returns what the paths in an expression are rewritten for. An author who writes `request."object"` means the
/// object itself.
pub(super) fn rebase_target(text: &str, to: Workload) -> Workload {
    if QUOTED.iter().any(|quoted| text.contains(quoted)) { Workload::Pod } else { to }
}

/// Returns how a path to a part of a Pod begins in the object that makes the Pod.
pub(super) fn rebased_path(keys: &[&str], to: Workload) -> JmesPathChange {
    if to == Workload::Pod {
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
pub(super) fn rebase_expression_text(text: &str, to: Workload) -> String {
    if to == Workload::Pod {
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
