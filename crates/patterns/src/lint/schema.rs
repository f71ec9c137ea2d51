//! Paths that no object of a kind has, such as `spec.containers[*].redinessProbe`.
//!
//! A misspelt path in a negative condition finds everything, so paths into built-in kinds are compared with the field
//! schema.

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_k8s::fields::{self, UnknownField};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Text};

use super::super::criteria::CriterionOrigin;
use super::super::diagnostics as code;
use super::super::key::{FieldKey, KeyStep};
use super::super::pattern::Presence;
use super::super::source::{self, Definition, WrittenResource};
use super::super::types;
use super::all_named_kinds;
use kubewright_dialect_kit::fields::Located;

pub(super) fn check_paths(definition: &Definition, document: &Document, diagnostics: &mut Vec<Diagnostic>) {
    for resource in &definition.resources {
        for condition in resource.all.iter().chain(&resource.any).chain(&resource.none) {
            check_path(resource, &condition.key, document, diagnostics);
        }
    }
    for entry in &definition.entries {
        let [one, other] = entry.ids.as_slice() else { continue };
        let resource = |id: &Located<Text>| definition.resources.iter().find(|found| found.id == id.value);
        let source::WrittenLink::Typed { options, .. } = &entry.link else { continue };
        for criterion in &options.criteria {
            for (id, side) in [(one, &criterion.target), (other, &criterion.dependency)] {
                if let (Some(resource), CriterionOrigin::Paths(keys)) = (resource(id), &side.origin) {
                    keys.iter().for_each(|key| check_path(resource, key, document, diagnostics));
                }
            }
        }
    }
}

/// Reports a path that no kind of the resource has.
fn check_path(
    resource: &WrittenResource,
    text: &Located<Text>,
    document: &Document,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Ok(key) = FieldKey::parse(&text.value) else { return };
    let location = document.locate(&text.path);
    if resource.presence == Presence::Absent {
        if let Some(wrong) = wrong_in_absent(&key) {
            let message = format!("`{wrong}` in `{}` is not known of an absent object", key.text);
            let help = "only its name, namespace, kind and version are known";
            diagnostics.push(Diagnostic::new(&code::UNKNOWN_PATH, message, location).help(help));
        }
        return;
    }
    let Some(kinds) = all_named_kinds(&resource.kinds) else { return };
    // Wrong only if no kind of the list has it.
    let wrong: Option<Vec<_>> = kinds.iter().map(|kind| wrong_in(kind, &key)).collect();
    let Some((wrong, near)) = wrong.and_then(|wrong| wrong.into_iter().next()) else { return };
    let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    let message = format!("no {} has `{wrong}` in `{}`", kinds.join(" or "), key.text);
    let help = near.map(did_you_mean).unwrap_or_default();
    diagnostics.push(Diagnostic::new(&code::UNKNOWN_PATH, message, location).help(help));
}

/// Returns the first name of `key` that no object of the kind has, and one that it has.
fn wrong_in(kind: &str, key: &FieldKey) -> Option<(String, Option<&'static str>)> {
    let Some((KeyStep::PodTemplate, rest)) = key.steps.split_first() else {
        let path = field_path(&key.steps);
        return described(fields::unknown_field_of_kind(kind, &path)?, &path);
    };
    if types::has_no_pods(kind) {
        return Some(("podTemplate".to_owned(), None));
    }
    let path = field_path(rest);
    let unknown = match kind {
        "Pod" => fields::unknown_field_of_kind(kind, &path)?,
        _ => fields::unknown_field_of_type("PodTemplateSpec", &path)?,
    };
    described(unknown, &path)
}

/// Returns the first name of `key` that is not known of an absent object: all that is known is how it is named.
fn wrong_in_absent(key: &FieldKey) -> Option<String> {
    let path = field_path(&key.steps);
    let (first, rest) = path.split_first()?;
    match (*first, rest.first()) {
        ("apiVersion" | "kind", _) | ("metadata", None | Some(&("name" | "namespace"))) => None,
        ("metadata", Some(wrong)) => Some((*wrong).to_owned()),
        (wrong, _) => Some(wrong.to_owned()),
    }
}

/// Returns the steps of a path as the field schema takes them.
fn field_path(steps: &[KeyStep]) -> Vec<&str> {
    steps.iter().map(field_step).collect()
}

fn field_step(step: &KeyStep) -> &str {
    match step {
        KeyStep::Name(name) => name.as_str(),
        KeyStep::Index(_) | KeyStep::Each | KeyStep::Same | KeyStep::PodTemplate => fields::ANY_ITEM,
    }
}

/// Returns the name of the step that is not known, and the name that may have been meant.
fn described(unknown: UnknownField, path: &[&str]) -> Option<(String, Option<&'static str>)> {
    let wrong = *path.get(unknown.at)?;
    Some((wrong.to_owned(), nearest_word(wrong, unknown.known)))
}
