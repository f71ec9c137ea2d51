//! Pods that are bound to nodes: what a rule language wants a pod to know of its node is written into the pod.
//!
//! It is written before the binding is answered, so that the pod knows it when it starts. The binding itself is never
//! refused, whatever goes wrong here.

use std::time::{Duration, Instant};

use kubewright_cluster::{CallLimits, Client, Error, GroupVersionResource, PatchType};
use kubewright_k8s::ObjectName;
use kubewright_value::{Map, Value};

use crate::Snapshot;

/// How often a write is tried.
const MAX_WRITE_TRIES: u32 = 5;

/// The pause after the first try; each further one is twice as long.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(50);

/// How long writing may go on after the binding was answered.
const MAX_WRITE_TIME: Duration = Duration::from_secs(20);

/// The result of annotating a pod that is being bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodBindingResult {
    /// No rule language wants an annotation.
    Unneeded,
    /// The pod was annotated.
    Annotated,
    /// The deadline passed; the write goes on in the background.
    Late,
    /// The pod could not be annotated, and why.
    Failed(String),
}

/// Writes what rule languages want the pod of `request`, the request of an AdmissionReview about `pods/binding`, to know
/// of its node, and returns the result. Returns at `deadline` at the latest; the write then goes on in the background.
/// The binding itself is always admitted.
pub async fn review_binding(
    snapshot: &Snapshot,
    client: Option<&Client>,
    request: &Value,
    deadline: Instant,
) -> PodBindingResult {
    match client {
        Some(client) if snapshot.languages().any(|language| language.observes_pod_bindings()) => {
            annotate_pod(snapshot, client, request, deadline).await
        }
        _ => PodBindingResult::Unneeded,
    }
}

async fn annotate_pod(
    snapshot: &Snapshot,
    client: &Client,
    request: &Value,
    deadline: Instant,
) -> PodBindingResult {
    if request.get("dryRun").and_then(Value::as_bool) == Some(true) {
        return PodBindingResult::Unneeded;
    }
    let Some((binding, pod)) = bound_pod(request) else { return PodBindingResult::Unneeded };
    let path = GroupVersionResource::new("", "v1", "pods").named(&pod.namespace, &pod.name);
    let in_time = |left: Duration| {
        client.limited(CallLimits { time: left, throttle_wait: Duration::ZERO, ..CallLimits::default() })
    };
    let found = in_time(deadline.saturating_duration_since(Instant::now())).get(&path).await;
    let found = match found {
        Ok(found) => found,
        Err(error) if error.is_not_found() => return PodBindingResult::Unneeded,
        Err(error) => return PodBindingResult::Failed(error.to_string()),
    };
    // A pod is bound once; a second binding is refused later, and must leave nothing behind.
    let is_bound =
        found.at(&["spec", "nodeName"]).and_then(Value::as_str).is_some_and(|node| !node.is_empty());
    if is_bound {
        return PodBindingResult::Unneeded;
    }
    let mut change = Value::Null;
    for wanted in snapshot.languages().filter_map(|language| language.pod_binding_patch(&binding, &found)) {
        merge_patch(&mut change, &wanted);
    }
    if change.is_null() {
        return PodBindingResult::Unneeded;
    }
    let client = in_time(MAX_WRITE_TIME);
    let writing = tokio::spawn(async move { patch_pod(&client, &path, &change).await });
    match tokio::time::timeout_at(deadline.into(), writing).await {
        Err(_) => PodBindingResult::Late,
        Ok(Ok(Ok(()))) => PodBindingResult::Annotated,
        Ok(Ok(Err(error))) => PodBindingResult::Failed(error.to_string()),
        Ok(Err(error)) => PodBindingResult::Failed(error.to_string()),
    }
}

/// Returns the Binding, complete with the name of its pod, and that name.
fn bound_pod(request: &Value) -> Option<(Value, ObjectName)> {
    let mut binding = request.get("object").filter(|object| !object.is_null())?.clone();
    let of_request = |key: &str| request.str_at(&[key]).to_owned();
    let metadata = binding.as_object_mut()?.get_or_insert(&"metadata".into())?;
    if metadata.is_null() {
        *metadata = Map::new().into();
    }
    let metadata = metadata.as_object_mut()?;
    for key in ["name", "namespace"] {
        if metadata.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
            metadata.insert(key.into(), of_request(key).into());
        }
    }
    let pod = ObjectName { kind: "Pod".into(), group: "".into(), ..ObjectName::of(&binding) };
    (!pod.name.is_empty() && !pod.namespace.is_empty()).then_some((binding, pod))
}

/// Writes to a pod that others may write too.
async fn patch_pod(client: &Client, path: &kubewright_k8s::ApiPath, change: &Value) -> Result<(), Error> {
    let mut pause = FIRST_RETRY_DELAY;
    let mut tries = 1;
    loop {
        match client.patch(path, PatchType::Merge, change).await {
            Ok(_) => return Ok(()),
            Err(error) if tries >= MAX_WRITE_TRIES || !is_write_retryable(&error) => return Err(error),
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause *= 2;
        tries += 1;
    }
}

/// Returns whether the same write may succeed later.
fn is_write_retryable(error: &Error) -> bool {
    match error.code() {
        Some(code) => matches!(code, 404 | 409 | 429) || code >= 500,
        None => !matches!(error, Error::Config(_)),
    }
}

/// Puts what `from` has into `into`; of two values the later one stays.
fn merge_patch(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(_), Value::Object(from)) if from.is_empty() => {}
        (into @ Value::Object(_), Value::Object(from)) => {
            for (key, value) in from.iter() {
                let Some(place) = into.as_object_mut().and_then(|map| map.get_or_insert(key)) else {
                    continue;
                };
                merge_patch(place, value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
