//! The paths that expressions read, and where they lead in objects that make Pods.

use kubewright_cel::{ANY_STEP, CelPathChange, CelProgram};
use kubewright_value::{Step, Text};

use kubewright_dialect_kit::workload::Workload;

/// What a Pod has of its own in the template of its controller; its name and namespace are the controller's.
const IN_TEMPLATE: [&str; 2] = ["labels", "annotations"];

/// Returns how a path to a part of a Pod begins in the object that makes the Pod.
pub(super) fn rebased(keys: &[&str], to: Workload) -> CelPathChange {
    let object = match keys {
        [object @ ("object" | "oldObject"), "spec" | "metadata"] => *object,
        [object @ ("object" | "oldObject"), "spec", ..] => *object,
        [object @ ("object" | "oldObject"), "metadata", field, ..] if IN_TEMPLATE.contains(field) => *object,
        _ => return None,
    };
    let path = std::iter::once(object).chain(to.keys().iter().copied());
    Some((1, path.map(Text::new).collect()))
}

/// Returns a text as messages show it after [`rebased`].
pub(super) fn rebased_text(text: &str, to: Workload) -> String {
    if to == Workload::Pod {
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

/// Returns the part of the object that `program` is about: what all its paths into the object have in common.
pub(super) fn about(program: &CelProgram) -> Vec<Step> {
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
