//! The kinds that an entry of `targets` names: one, or all that match its wildcards.

use kubewright_engine::EvalError;
use kubewright_golib::glob;
use kubewright_k8s::{BUILT_IN_KINDS, GroupVersionKind, resource_name};
use kubewright_value::{Map, Text, Value};

use super::look_up;
use crate::context::VariableContext;

/// Where the kinds are listed that a cluster has beside the built-in ones.
const DEFINITIONS_URL: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Kinds of which there are no objects that could be changed.
const UNLISTED_KINDS: [&str; 3] = ["Binding", "ComponentStatus", "Event"];

/// A kind of targets.
pub(super) struct TargetKind {
    pub(super) kind: GroupVersionKind,
    resource: Text,
    /// Whether a wildcard led to it.
    pub(super) is_one_of_many: bool,
}

/// Returns the kinds that `api_version` and `kind` name; both may have wildcards.
pub(super) fn target_kinds(
    api_version: &str,
    kind: &str,
    context: &mut VariableContext<'_>,
) -> Result<Vec<TargetKind>, EvalError> {
    if glob::has_wildcard(kind) || glob::has_wildcard(api_version) {
        return matching_kinds(api_version, kind, context);
    }
    let made = Map::from([("apiVersion", Value::from(api_version)), ("kind", kind.into())]);
    let mut found = GroupVersionKind::of(&made.into());
    if api_version.is_empty() {
        let known = BUILT_IN_KINDS.iter().find(|(_, _, kinds)| kinds.contains(&kind));
        let (group, version, _) = known
            .ok_or_else(|| EvalError::new(format!("the target of kind `{kind}` has no `apiVersion`")))?;
        (found.group, found.version) = ((*group).into(), (*version).into());
    }
    Ok(vec![TargetKind { resource: resource_name(kind).into(), kind: found, is_one_of_many: false }])
}

/// Returns the built-in kinds that match, and those that definitions of the cluster add.
fn matching_kinds(
    api_version: &str,
    kind: &str,
    context: &mut VariableContext<'_>,
) -> Result<Vec<TargetKind>, EvalError> {
    let api_version = if api_version.is_empty() { "*" } else { api_version };
    let mut found = Vec::new();
    for (group, version, kinds) in BUILT_IN_KINDS {
        let written = written_version(group, version);
        if !glob::matches_wildcard(api_version, &written, context.budget())? {
            continue;
        }
        for one in *kinds {
            let is_listed = kind == *one || !UNLISTED_KINDS.contains(one);
            if is_listed && glob::matches_wildcard(kind, one, context.budget())? {
                found.push(TargetKind::of((group, version, one), &resource_name(one)));
            }
        }
    }
    // A kind that every cluster has is no custom one.
    if found.is_empty() || glob::has_wildcard(kind) {
        add_custom_kinds(api_version, kind, context, &mut found)?;
    }
    Ok(found)
}

fn add_custom_kinds(
    api_version: &str,
    kind: &str,
    context: &mut VariableContext<'_>,
    found: &mut Vec<TargetKind>,
) -> Result<(), EvalError> {
    let list = look_up(DEFINITIONS_URL, context)?.unwrap_or_default();
    for definition in list.get("items").and_then(Value::as_array).unwrap_or_default() {
        context.budget().step(1)?;
        let (group, one) =
            (definition.str_at(&["spec", "group"]), definition.str_at(&["spec", "names", "kind"]));
        if !glob::matches_wildcard(kind, one, context.budget())? {
            continue;
        }
        let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).unwrap_or_default();
        let is_served = |version: &&Value| version.get("served").and_then(Value::as_bool) != Some(false);
        for version in versions.iter().filter(is_served).map(|version| version.str_at(&["name"])) {
            if glob::matches_wildcard(api_version, &written_version(group, version), context.budget())? {
                let resource = definition.str_at(&["spec", "names", "plural"]);
                found.push(TargetKind::of((group, version, one), resource));
                break;
            }
        }
    }
    Ok(())
}

fn written_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

impl TargetKind {
    fn of((group, version, kind): (&str, &str, &str), resource: &str) -> Self {
        let kind = GroupVersionKind { group: group.into(), version: version.into(), kind: kind.into() };
        Self { kind, resource: resource.into(), is_one_of_many: true }
    }

    /// Returns the path of the object `name`, or of a list without one.
    pub(super) fn url(&self, namespace: &str, name: &str) -> Result<String, EvalError> {
        let GroupVersionKind { group, version, .. } = &self.kind;
        for part in [group, version, &self.resource, namespace, name] {
            if part.contains(['/', '?', '#', '%', ' ']) {
                return Err(EvalError::new(format!("`{part}` is not a name of a target")));
            }
        }
        let root = match group.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let namespace = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        Ok(format!("{root}{namespace}/{}{name}", self.resource))
    }

    /// Returns an object with its type, which the elements of a list do not have.
    pub(super) fn typed(&self, mut object: Value) -> Value {
        let is_typed = object.get("kind").is_some();
        if let Some(map) = object.as_object_mut().filter(|_| !is_typed) {
            let GroupVersionKind { group, version, kind } = &self.kind;
            map.insert("apiVersion".into(), written_version(group, version).into());
            map.insert("kind".into(), kind.clone().into());
        }
        object
    }
}
