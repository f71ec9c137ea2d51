//! Which requests a policy in CEL is about, as it is written: resource rules, selectors and conditions.

use kubewright_k8s::Operation;
use kubewright_value::{Map, Text, Value};

use kubewright_dialect_kit::selector::Selector;

/// Which requests a policy is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Constraints {
    pub(crate) rules: Vec<ResourceRule>,
    pub(crate) excluded: Vec<ResourceRule>,
    pub(crate) namespace_selector: Option<Value>,
    pub(crate) object_selector: Option<Value>,
    /// What must hold besides, by name.
    pub(crate) conditions: Vec<(Text, String)>,
}

/// Some resources and what happens to them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResourceRule {
    pub(crate) groups: Vec<Text>,
    pub(crate) versions: Vec<Text>,
    pub(crate) resources: Vec<Text>,
    pub(crate) operations: Vec<Operation>,
    /// Empty means any.
    pub(crate) names: Vec<Text>,
}

impl Constraints {
    /// Returns `matchConstraints`.
    pub(crate) fn value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "namespaceSelector", self.namespace_selector.clone());
        put(&mut map, "objectSelector", self.object_selector.clone());
        for (key, rules) in [("resourceRules", &self.rules), ("excludeResourceRules", &self.excluded)] {
            if !rules.is_empty() {
                map.insert(key.into(), Value::array(rules.iter().map(ResourceRule::value).collect()));
            }
        }
        map.into()
    }
}

impl ResourceRule {
    fn value(&self) -> Value {
        let operations: Vec<&str> = self.operations.iter().map(|operation| operation.name()).collect();
        let mut map = Map::from([
            ("apiGroups", Value::from(self.groups.clone())),
            ("apiVersions", self.versions.clone().into()),
            ("resources", self.resources.clone().into()),
            ("operations", operations.into()),
        ]);
        if !self.names.is_empty() {
            map.insert("resourceNames".into(), self.names.clone().into());
        }
        map.into()
    }
}

/// Returns a selector as Kubernetes writes it.
pub(crate) fn selector(selector: &Selector) -> Value {
    let mut map = Map::new();
    if !selector.labels.is_empty() {
        let labels = selector.labels.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        map.insert("matchLabels".into(), labels.collect::<Map>().into());
    }
    let expressions = selector
        .expressions
        .iter()
        .map(|requirement| expression(&requirement.key, requirement.operator.name(), &requirement.values));
    let expressions: Vec<Value> = expressions.collect();
    if !expressions.is_empty() {
        map.insert("matchExpressions".into(), expressions.into());
    }
    map.into()
}

/// Returns the selector of the namespaces that are called by `names`.
pub(crate) fn namespaces_named(names: &[Text]) -> Value {
    let named = expression("kubernetes.io/metadata.name", "In", names);
    Map::from([("matchExpressions", Value::array(vec![named]))]).into()
}

fn expression(key: &str, operator: &str, values: &[Text]) -> Value {
    let mut map = Map::from([("key", Value::from(key)), ("operator", operator.into())]);
    if !values.is_empty() {
        map.insert("values".into(), values.to_vec().into());
    }
    map.into()
}

fn put(map: &mut Map, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.into(), value);
    }
}
