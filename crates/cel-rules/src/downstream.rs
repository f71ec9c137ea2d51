//! The objects that policies make because of others, as all dialects with such policies have them in common:
//! labels by which their policy, trigger and source are found again, and what a copy does not take over.

use kubewright_k8s::{AdmissionRequest, GroupVersionKind};
use kubewright_value::{Map, Text, Value};

/// The label that names the program which manages an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// A mark on sources, which copies do not carry.
const CLONE_SOURCE: &str = "clone-source";

/// What a copy does not take over from its source.
const OWN_METADATA: [&str; 5] = ["uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion"];

/// The policy and the rule that make an object.
#[derive(Debug, Clone)]
pub struct DownstreamOrigin {
    /// What the names of labels start with, such as `generate.example.com/`.
    pub prefix: &'static str,
    /// The program that is said to manage what is made.
    pub manager: &'static str,
    /// The name of the policy.
    pub policy: Text,
    /// The namespace of the policy; empty for one about the whole cluster.
    pub namespace: Text,
    /// The name of the rule; empty for a policy that is one rule, which then names its trigger too.
    pub rule: Text,
}

/// The object because of which others are made.
#[derive(Debug, Clone)]
pub struct DownstreamTrigger {
    kind: GroupVersionKind,
    namespace: Text,
    name: Text,
    uid: Text,
}

impl DownstreamTrigger {
    /// Returns what is known of `object`, which `request` is about.
    #[must_use]
    pub fn of(request: &AdmissionRequest, object: &Value) -> Self {
        Self {
            kind: request.kind.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
            uid: object.str_at(&["metadata", "uid"]).into(),
        }
    }
}

/// Puts the labels into the `metadata` of an object, which is a copy of `source` if there is one.
pub fn put_downstream_labels(
    metadata: &mut Map,
    origin: &DownstreamOrigin,
    trigger: &DownstreamTrigger,
    source: Option<&Value>,
) {
    let mut labels = texts_of(metadata.get("labels"));
    if let annotations @ Some(Value::Object(_)) = metadata.get("annotations") {
        let annotations = texts_of(annotations);
        metadata.insert("annotations".into(), annotations.into());
    }
    labels.remove(&format!("{}{CLONE_SOURCE}", origin.prefix));
    let mut put = |name: &str, value: &str| {
        labels.insert(format!("{}{name}", origin.prefix).into(), value.into());
    };
    put("policy-name", &origin.policy);
    put("policy-namespace", &origin.namespace);
    match origin.rule.as_str() {
        "" => put("trigger-name", &trigger.name),
        rule => put("rule-name", rule),
    }
    put("trigger-group", &trigger.kind.group);
    put("trigger-version", &trigger.kind.version);
    put("trigger-kind", &trigger.kind.kind);
    put("trigger-namespace", &trigger.namespace);
    put("trigger-uid", &trigger.uid);
    if let Some(source) = source {
        let kind = GroupVersionKind::of(source);
        put("source-group", &kind.group);
        put("source-version", &kind.version);
        put("source-kind", &kind.kind);
        put("source-namespace", source.str_at(&["metadata", "namespace"]));
        put("source-uid", source.str_at(&["metadata", "uid"]));
    }
    labels.insert(MANAGED_BY.into(), origin.manager.into());
    metadata.insert("labels".into(), labels.into());
}

/// Returns labels or annotations as the API server takes them: a variable may have given a number.
fn texts_of(map: Option<&Value>) -> Map {
    let entries = map.and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let text = |value: &Value| match value {
        Value::Number(number) => number.to_string().into(),
        Value::Bool(is_true) => is_true.to_string().into(),
        value => value.clone(),
    };
    entries.map(|(key, value)| (key.clone(), text(value))).collect()
}

/// Removes from the `metadata` of a copy into `namespace` what belongs to its source alone.
pub fn drop_own_metadata(metadata: &mut Map, namespace: &str) {
    for key in OWN_METADATA {
        metadata.remove(key);
    }
    // An owner in another namespace would make the garbage collector delete the copy.
    if metadata.str_at(&["namespace"]) != namespace {
        metadata.remove("ownerReferences");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_k8s::Operation;
    use kubewright_value::{json, yaml};

    fn origin(rule: &str) -> DownstreamOrigin {
        DownstreamOrigin {
            prefix: "p/",
            manager: "m",
            policy: "p".into(),
            namespace: Text::default(),
            rule: rule.into(),
        }
    }

    fn labelled(rule: &str, source: Option<&str>) -> String {
        let object = yaml::parse("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: u-1}}");
        let request = AdmissionRequest::for_object(object.expect("YAML"), Operation::Create, "shop");
        let trigger = DownstreamTrigger::of(&request, &request.object);
        let mut metadata = Map::from([("labels", Value::from(Map::from([(MANAGED_BY, "me".into())])))]);
        let source = source.map(|text| yaml::parse(text).expect("YAML"));
        put_downstream_labels(&mut metadata, &origin(rule), &trigger, source.as_ref());
        json::to_string(&metadata.into()).replace("\"p/", "\"")
    }

    #[test]
    fn labels_name_the_rule_and_the_trigger() {
        assert_eq!(
            labelled("r", None),
            r#"{"labels":{"app.kubernetes.io/managed-by":"m","policy-name":"p","policy-namespace":"","rule-name":"r","trigger-group":"apps","trigger-version":"v1","trigger-kind":"Deployment","trigger-namespace":"shop","trigger-uid":"u-1"}}"#
        );
    }

    #[test]
    fn labels_and_annotations_are_texts() {
        let text = yaml::parse("{labels: {a: 0, b: true, c: x}, annotations: {d: 1.5}}").expect("YAML");
        let mut metadata = text.as_object().expect("a map").clone();
        let request = AdmissionRequest::for_object(Value::Null, Operation::Create, "shop");
        let trigger = DownstreamTrigger::of(&request, &request.object);
        put_downstream_labels(&mut metadata, &origin("r"), &trigger, None);
        let text = |path: [&str; 2]| metadata.str_at(&path).to_owned();
        assert_eq!(["a", "b", "c"].map(|key| text(["labels", key])), ["0", "true", "x"]);
        assert_eq!(text(["annotations", "d"]), "1.5");
    }

    #[test]
    fn labels_name_the_source_of_a_copy_and_the_trigger_of_a_policy_that_is_one_rule() {
        let source = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default, uid: u-2}}";
        let labels = labelled("", Some(source));
        for label in [
            r#""trigger-name":"web""#,
            r#""source-group":"""#,
            r#""source-version":"v1""#,
            r#""source-kind":"Secret""#,
            r#""source-namespace":"default""#,
            r#""source-uid":"u-2""#,
        ] {
            assert!(labels.contains(label), "{label}: {labels}");
        }
        assert!(!labels.contains("rule-name"), "{labels}");
    }
}
