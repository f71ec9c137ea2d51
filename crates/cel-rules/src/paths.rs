//! The paths that expressions read, and where they lead in objects that make Pods.

use kubewright_cel::{ANY_STEP, CelPathChange, CelProgram};
use kubewright_value::{Step, Text};

use kubewright_k8s::PodTemplatePath;

/// The metadata that a Pod template has of its own; name and namespace are those of the controller.
const TEMPLATE_METADATA: [&str; 2] = ["labels", "annotations"];

/// Returns how a path to a part of a Pod begins in the object that makes the Pod.
pub(super) fn rebase_path(keys: &[&str], to: PodTemplatePath) -> CelPathChange {
    let object = match keys {
        [object @ ("object" | "oldObject"), "spec" | "metadata"] => *object,
        [object @ ("object" | "oldObject"), "spec", ..] => *object,
        [object @ ("object" | "oldObject"), "metadata", field, ..] if TEMPLATE_METADATA.contains(field) => {
            *object
        }
        _ => return None,
    };
    let path = std::iter::once(object).chain(to.keys().iter().copied());
    Some((1, path.map(Text::new).collect()))
}

/// Returns a text as messages show it after its path is rebased.
#[must_use]
pub fn rebase_text(text: &str, to: PodTemplatePath) -> String {
    if to == PodTemplatePath::Pod {
        return text.to_owned();
    }
    let below = to.keys().join(".");
    let mut text = text.to_owned();
    for object in ["object.", "oldObject."] {
        for part in
            ["spec", "metadata.labels", "metadata.annotations", "metadata.?labels", "metadata.?annotations"]
        {
            text = text.replace(&format!("{object}{part}"), &format!("{object}{below}.{part}"));
        }
    }
    text
}

/// Returns the part of the object that `program` reads: the common prefix of all its paths into the object.
pub(super) fn common_object_path(program: &CelProgram) -> Vec<Step> {
    let mut common: Option<Vec<Text>> = None;
    for read in program.reads().into_iter().filter(|read| read.variable == "object") {
        let keys = read.path.into_iter().take_while(|key| key != ANY_STEP);
        common = Some(match common {
            None => keys.collect(),
            Some(common) => {
                common.into_iter().zip(keys).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
            }
        });
    }
    common.unwrap_or_default().into_iter().map(Step::Key).collect()
}
