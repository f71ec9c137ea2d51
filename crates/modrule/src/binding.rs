//! What happens when a pod is bound to a node: a pod that asks for it learns the node's name.
//!
//! KubeMod writes the pod from inside its webhook; here the write is described, and the caller does it.

use kubewright_k8s::ObjectName;
use kubewright_value::{Map, Text, Value};

/// Asks for the node's name.
const WANTS_NODE: &str = "ref.kubemod.io/inject-node-ref";
/// Receives it.
const NODE_NAME: &str = "ref.kubemod.io/nodename";
/// Receives it too, because KubeMod's document says so and its program does otherwise.
const DOCUMENTED_NODE_NAME: &str = "ref.kubemod.io/node";

/// What a Binding says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The pod that is bound.
    pub pod: ObjectName,
    /// The node it is bound to.
    pub node: Text,
}

impl Binding {
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
pub fn bind(binding: &Binding, pod: &Value) -> Option<Value> {
    let annotations = pod.at(&["metadata", "annotations"])?;
    (annotations.get(WANTS_NODE).and_then(Value::as_str) == Some("true")).then_some(())?;
    let annotations = Map::from([(NODE_NAME, binding.node.clone().into())]);
    Some(Map::from([("metadata", Map::from([("annotations", annotations.into())]).into())]).into())
}

/// Returns what [`bind`] does, and the node's name under the annotation that KubeMod's document names besides.
pub(super) fn bind_in_cluster(binding: &Binding, pod: &Value) -> Option<Value> {
    let mut change = bind(binding, pod)?;
    let annotations = change.as_object_mut()?.get_mut("metadata")?.as_object_mut()?.get_mut("annotations")?;
    annotations.as_object_mut()?.insert(DOCUMENTED_NODE_NAME.into(), binding.node.clone().into());
    Some(change)
}
