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

/// The parts of a Pod that its template has too, as expressions write them behind the object.
const TEMPLATE_PARTS: [&str; 5] =
    ["spec", "metadata.labels", "metadata.annotations", "metadata.?labels", "metadata.?annotations"];

/// Returns a text as messages show it after its path is rebased.
#[must_use]
pub fn rebase_text(text: &str, to: PodTemplatePath) -> String {
    if to == PodTemplatePath::Pod {
        return text.to_owned();
    }
    let mut rebased = String::with_capacity(text.len() + 32);
    let mut copied = 0;
    // How both `object.` and `oldObject.` end, so that one search finds them.
    for (at, end) in text.match_indices("bject.") {
        let (before, behind) = (text.get(..at).unwrap_or_default(), at + end.len());
        let is_object = before.ends_with('o') || before.ends_with("oldO");
        let part = text.get(behind..).unwrap_or_default();
        if is_object && TEMPLATE_PARTS.iter().any(|known| part.starts_with(known)) {
            rebased.push_str(text.get(copied..behind).unwrap_or_default());
            to.keys().iter().for_each(|key| rebased.extend([*key, "."]));
            copied = behind;
        }
    }
    rebased.push_str(text.get(copied..).unwrap_or_default());
    rebased
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, rebased: &str) {
        assert_eq!(rebase_text(text, PodTemplatePath::Template), rebased);
        assert_eq!(rebase_text(text, PodTemplatePath::Pod), text);
    }

    #[test]
    fn rebase_text_changes_what_a_pod_template_has() {
        check("object.spec.a == object.spec.b", "object.spec.template.spec.a == object.spec.template.spec.b");
        check("has(oldObject.spec)", "has(oldObject.spec.template.spec)");
        check("object.metadata.?labels['é']", "object.spec.template.metadata.?labels['é']");
        check("object.metadata.annotations", "object.spec.template.metadata.annotations");
    }

    #[test]
    fn rebase_text_leaves_everything_else() {
        for text in ["object.metadata.name", "object", "object.", "Object.spec", "namespaceObject.spec", "é"]
        {
            check(text, text);
        }
    }
}
