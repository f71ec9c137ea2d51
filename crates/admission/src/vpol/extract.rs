//! The Pods that objects of any kind describe somewhere in their `spec`, each to be judged as a Pod.
//!
//! Such kinds embed the Kubernetes Pod template unchanged.

use kubewright_engine::EvalError;
use kubewright_k8s::{AdmissionRequest, GroupVersionKind};
use kubewright_value::text::{PathStyle, path_text};
use kubewright_value::{Budget, Map, Step, Text, Value};

/// How deep templates are looked for.
const MAX_DEPTH: usize = 64;

/// How many templates of one object are judged.
const MAX_TEMPLATES: usize = 1_000;

/// The description of a Pod in an object.
pub(crate) struct PodTemplate<'o> {
    value: &'o Value,
    pub(crate) path: Vec<Step>,
}

/// Returns the descriptions of Pods in the `spec` of `object`, in its order.
pub(crate) fn find_pod_templates<'o>(
    object: &'o Value,
    budget: &mut Budget,
) -> Result<Vec<PodTemplate<'o>>, EvalError> {
    let mut found = Vec::new();
    if let Some(spec) = object.get("spec").filter(|spec| spec.as_object().is_some()) {
        walk_for_templates(spec, &mut vec![Step::Key("spec".into())], &mut found, budget)?;
    }
    Ok(found)
}

impl<'o> PodTemplate<'o> {
    /// Returns the description of a Pod at `path` of `object`.
    pub(crate) fn at(object: &'o Value, path: &[&str]) -> Option<Self> {
        let value = object.at(path).filter(|value| value.as_object().is_some())?;
        Some(Self { value, path: path.iter().map(|key| Step::Key((*key).into())).collect() })
    }

    /// Returns the description with what `pod`, which was made from it by `request`, says.
    pub(crate) fn with_pod(&self, pod: &Value, request: &AdmissionRequest) -> Value {
        let mut template = self.value.as_object().cloned().unwrap_or_default();
        let mut metadata = pod.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let own = |key: &str| self.value.at(&["metadata", key]);
        for (key, given) in [("name", &request.name), ("namespace", &request.namespace)] {
            let found = metadata.get(key).and_then(Value::as_str);
            if found == Some(given.as_str()) && own(key).and_then(Value::as_str) != found {
                match own(key).cloned() {
                    Some(own) => drop(metadata.insert(key.into(), own)),
                    None => drop(metadata.remove(key)),
                }
            }
        }
        if !metadata.is_empty() || self.value.get("metadata").is_some() {
            template.insert("metadata".into(), metadata.into());
        }
        match pod.get("spec") {
            Some(spec) => drop(template.insert("spec".into(), spec.clone())),
            None => drop(template.remove("spec")),
        }
        template.into()
    }
}

impl PodTemplate<'_> {
    /// Returns the place as messages show it: `spec.jobs[0].template`.
    pub(crate) fn place(&self) -> String {
        path_text(&self.path, PathStyle::Dotted)
    }

    /// Returns the request for the Pod that would be made in place of `request`, which was `old` before.
    pub(crate) fn request(
        &self,
        request: &AdmissionRequest,
        old: Option<&PodTemplate<'_>>,
    ) -> AdmissionRequest {
        let pod = self.pod(request);
        let named = |key: &str| -> Text { pod.str_at(&["metadata", key]).into() };
        AdmissionRequest {
            kind: GroupVersionKind { group: Text::default(), version: "v1".into(), kind: "Pod".into() },
            name: named("name"),
            namespace: named("namespace"),
            object: pod,
            old_object: old.map_or(Value::Null, |old| old.pod(request)),
            ..request.clone()
        }
    }

    /// A Pod without a name gets that of the object around it.
    fn pod(&self, request: &AdmissionRequest) -> Value {
        let metadata = self.value.get("metadata").and_then(Value::as_object);
        let mut metadata = metadata.cloned().unwrap_or_default();
        for (key, text) in [("name", &request.name), ("namespace", &request.namespace)] {
            if metadata.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
                metadata.insert(key.into(), text.clone().into());
            }
        }
        let mut pod = Map::from([("apiVersion", "v1".into()), ("kind", "Pod".into())]);
        pod.insert("metadata".into(), metadata.into());
        if let Some(spec) = self.value.get("spec") {
            pod.insert("spec".into(), spec.clone());
        }
        pod.into()
    }
}

/// Templates do not contain templates, so the walk stops at one.
fn walk_for_templates<'o>(
    value: &'o Value,
    path: &mut Vec<Step>,
    found: &mut Vec<PodTemplate<'o>>,
    budget: &mut Budget,
) -> Result<(), EvalError> {
    budget.step(1)?;
    if path.len() > MAX_DEPTH || found.len() >= MAX_TEMPLATES {
        return Err(EvalError::limit("too many or too deep Pod templates"));
    }
    if is_pod_template(value) {
        found.push(PodTemplate { value, path: path.clone() });
        return Ok(());
    }
    for (key, value) in value.as_object().into_iter().flat_map(Map::iter) {
        path.push(Step::Key(key.clone()));
        walk_for_templates(value, path, found, budget)?;
        path.pop();
    }
    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
        path.push(Step::Index(index));
        walk_for_templates(value, path, found, budget)?;
        path.pop();
    }
    Ok(())
}

/// Returns whether `value` has containers with names and images, and metadata that is an object if there is any.
fn is_pod_template(value: &Value) -> bool {
    let is_container = |one: &Value| {
        let text = |key: &str| one.get(key).and_then(Value::as_str);
        text("name").is_some_and(|name| !name.is_empty()) && text("image").is_some()
    };
    let containers = value.at(&["spec", "containers"]).and_then(Value::as_array).unwrap_or_default();
    value.get("metadata").is_none_or(|metadata| metadata.as_object().is_some())
        && !containers.is_empty()
        && containers.iter().all(is_container)
}
