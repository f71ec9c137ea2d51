//! Binding a pod to a node: a pod with the right annotation gets the node's name.
//!
//! KubeMod writes the pod from inside its webhook; here the write is described, and the caller does it.

use kubewright_k8s::ObjectName;
use kubewright_value::{Map, Text, Value};

/// Requests the node's name.
const INJECT_NODE_ANNOTATION: &str = "ref.kubemod.io/inject-node-ref";
/// Receives it.
const NODE_NAME_ANNOTATION: &str = "ref.kubemod.io/nodename";
/// Receives it too: KubeMod's documentation names this annotation, its program the other one.
const DOCUMENTED_NODE_ANNOTATION: &str = "ref.kubemod.io/node";

/// The fields of a Binding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PodBinding {
    /// The pod that is bound.
    pub pod: ObjectName,
    /// The node it is bound to.
    pub node: Text,
}

impl PodBinding {
    /// Reads a `Binding` object; anything else is none.
    #[must_use]
    pub fn read(object: &Value) -> Option<Self> {
        let text = |keys: &[&str]| {
            object.at(keys).and_then(Value::as_str).filter(|text| !text.is_empty()).map(Text::new)
        };
        (object.get("kind").and_then(Value::as_str) == Some("Binding")).then_some(())?;
        let pod = ObjectName {
            group: Text::default(),
            kind: "Pod".into(),
            namespace: text(&["metadata", "namespace"])?,
            name: text(&["metadata", "name"])?,
        };
        Some(Self { pod, node: text(&["target", "name"])? })
    }
}

/// Returns the annotations that `pod` should get, to be merged into it, or nothing.
#[must_use]
pub fn binding_annotations(binding: &PodBinding, pod: &Value) -> Option<Value> {
    let annotations = pod.at(&["metadata", "annotations"])?;
    (annotations.get(INJECT_NODE_ANNOTATION).and_then(Value::as_str) == Some("true")).then_some(())?;
    let annotations = Map::from([(NODE_NAME_ANNOTATION, binding.node.clone().into())]);
    Some(Map::from([("metadata", Map::from([("annotations", annotations.into())]).into())]).into())
}

/// Returns [`binding_annotations`], and the node's name under the documented annotation too.
pub(super) fn cluster_binding_annotations(binding: &PodBinding, pod: &Value) -> Option<Value> {
    let mut change = binding_annotations(binding, pod)?;
    let annotations = change.as_object_mut()?.get_mut("metadata")?.as_object_mut()?.get_mut("annotations")?;
    annotations.as_object_mut()?.insert(DOCUMENTED_NODE_ANNOTATION.into(), binding.node.clone().into());
    Some(change)
}
