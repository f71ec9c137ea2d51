//! The match constraints of a CEL policy: resource rules, selectors and conditions.

use kubewright_k8s::Operation;
use kubewright_value::{Map, Text, Value};

use kubewright_dialect_kit::selector::SelectorSource;

/// The match constraints of a policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MatchConstraints {
    pub(crate) rules: Vec<TargetResourceRule>,
    pub(crate) excluded: Vec<TargetResourceRule>,
    pub(crate) namespace_selector: Option<Value>,
    pub(crate) object_selector: Option<Value>,
    /// Further conditions, by name.
    pub(crate) conditions: Vec<(Text, String)>,
}

/// Resources with operations.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TargetResourceRule {
    pub(crate) groups: Vec<Text>,
    pub(crate) versions: Vec<Text>,
    pub(crate) resources: Vec<Text>,
    pub(crate) operations: Vec<Operation>,
    /// Empty means any.
    pub(crate) names: Vec<Text>,
}

impl MatchConstraints {
    /// Returns `matchConstraints`.
    pub(crate) fn value(&self) -> Value {
        let mut map = Map::new();
        put_optional(&mut map, "namespaceSelector", self.namespace_selector.clone());
        put_optional(&mut map, "objectSelector", self.object_selector.clone());
        for (key, rules) in [("resourceRules", &self.rules), ("excludeResourceRules", &self.excluded)] {
            if !rules.is_empty() {
                map.insert(key.into(), Value::array(rules.iter().map(TargetResourceRule::value).collect()));
            }
        }
        map.into()
    }
}

impl TargetResourceRule {
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
pub(crate) fn selector_value(selector: &SelectorSource) -> Value {
    let mut map = Map::new();
    if !selector.labels.is_empty() {
        let labels = selector.labels.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        map.insert("matchLabels".into(), labels.collect::<Map>().into());
    }
    let expressions = selector.expressions.iter().map(|requirement| {
        match_expression_value(&requirement.key, requirement.operator.name(), &requirement.values)
    });
    let expressions: Vec<Value> = expressions.collect();
    if !expressions.is_empty() {
        map.insert("matchExpressions".into(), expressions.into());
    }
    map.into()
}

/// Returns the selector of the namespaces that are called by `names`.
pub(crate) fn namespace_selector_value(names: &[Text]) -> Value {
    let named = match_expression_value("kubernetes.io/metadata.name", "In", names);
    Map::from([("matchExpressions", Value::array(vec![named]))]).into()
}

fn match_expression_value(key: &str, operator: &str, values: &[Text]) -> Value {
    let mut map = Map::from([("key", Value::from(key)), ("operator", operator.into())]);
    if !values.is_empty() {
        map.insert("values".into(), values.to_vec().into());
    }
    map.into()
}

/// Puts `value` into `map`, where there is one.
pub(crate) fn put_optional(map: &mut Map, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.into(), value);
    }
}
