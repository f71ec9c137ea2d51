//! Mistakes in `Object{...}` that can be seen before any object: fields that do not exist, names that are not those of
//! their place, and atomic parts.

use kubewright_cel::{StructureField, StructureFieldValue};
use kubewright_cel_rules::{CelMutation, ExpressionProblem};
use kubewright_engine::{Code, nearest_word};
use kubewright_k8s::kind_of_resource;
use kubewright_k8s::structured::{StructuredShape, StructuredType};
use kubewright_value::suggest::did_you_mean;

use crate::diagnostics as code;
use crate::source::CelPolicySource;

/// Returns the mistakes in the structures that `mutations` write, as far as the kinds of the objects are known.
pub(crate) fn check_structures(
    policy: &CelPolicySource,
    mutations: &[CelMutation],
) -> Vec<ExpressionProblem> {
    let kinds = matched_types(policy);
    let mut problems = Vec::new();
    for mutation in mutations {
        for field in mutation.structure_fields() {
            if let Some((code, message, help)) = field_problem(&field, &kinds) {
                problems.push(mutation.problem_at(&field, code, message, help));
            }
        }
    }
    problems
}

/// Returns the types of the matched objects; empty where one of them is not known.
fn matched_types(policy: &CelPolicySource) -> Vec<StructuredType> {
    let mut found = Vec::new();
    for rule in policy.constraints.iter().flat_map(|constraints| &constraints.rules) {
        for resource in &rule.resources {
            for group in &rule.groups {
                for version in &rule.versions {
                    let version = match group.as_str() {
                        "" => version.to_string(),
                        group => format!("{group}/{version}"),
                    };
                    let kind = kind_of_resource(&resource.value);
                    match kind.and_then(|kind| StructuredType::of_kind(&version, kind)) {
                        Some(kind) => found.push(kind),
                        None => return Vec::new(),
                    }
                }
            }
        }
    }
    found
}

fn field_problem(
    field: &StructureField,
    kinds: &[StructuredType],
) -> Option<(&'static Code, String, String)> {
    let StructureField { structure, name, value, .. } = field;
    let place = format!("{structure}.{name}");
    let mut path = place.split('.');
    if path.next() != Some("Object") {
        return None;
    }
    if let StructureFieldValue::Structure(found) = value
        && *found != place
    {
        let message = format!("`{found}` is in the place of `{place}`");
        return Some((&code::MISPLACED_STRUCTURE, message, format!("write `{place}{{...}}`")));
    }
    let path: Vec<&str> = path.collect();
    let found: Vec<PatchedType> = kinds.iter().map(|kind| follow(*kind, &path)).collect();
    if found.is_empty() {
        return None;
    }
    let is_unknown = |one: &PatchedType| matches!(one, PatchedType::Unknown(_));
    if found.iter().all(is_unknown) {
        let known = found.into_iter().find_map(|one| match one {
            PatchedType::Unknown(kind) => Some(kind),
            _ => None,
        })?;
        let near = nearest_word(name, known.fields());
        let message = format!("`{structure}` has no field `{name}`");
        return Some((&code::UNKNOWN_PATCH_FIELD, message, near.map(did_you_mean).unwrap_or_default()));
    }
    let is_written = !matches!(value, StructureFieldValue::Other);
    let is_atomic = |one: &PatchedType| matches!(one, PatchedType::Atomic);
    if is_written && found.iter().all(is_atomic) {
        let message = format!("`{place}` is atomic, and the patch of it is refused");
        let help = "use `patchType: JSONPatch`, or `evaluation.useServerSideApply: true` in a MutatingPolicy";
        return Some((&code::ATOMIC_PATCH, message, help.to_owned()));
    }
    None
}

enum PatchedType {
    /// The field is not declared in this structure.
    Unknown(StructuredType),
    Atomic,
    Other,
}

/// Follows a path of fields; lists and maps on the way add nothing to it.
fn follow(kind: StructuredType, path: &[&str]) -> PatchedType {
    let mut here = kind;
    for (index, name) in path.iter().enumerate() {
        let owner = loop {
            here = match here.shape() {
                StructuredShape::AtomicList(item)
                | StructuredShape::Set(item)
                | StructuredShape::KeyedList(item, _) => item,
                StructuredShape::Structure(_) => break here,
                _ => return PatchedType::Other,
            };
        };
        here = match owner.field(name) {
            Some(field) => field,
            // An earlier step is reported where it is written.
            None if index + 1 == path.len() => return PatchedType::Unknown(owner),
            None => return PatchedType::Other,
        };
    }
    match here.shape() {
        StructuredShape::AtomicList(_) | StructuredShape::Map(_, true) | StructuredShape::Structure(true) => {
            PatchedType::Atomic
        }
        StructuredShape::KeyedList(item, _) if item.shape() == StructuredShape::Structure(true) => {
            PatchedType::Atomic
        }
        _ => PatchedType::Other,
    }
}
