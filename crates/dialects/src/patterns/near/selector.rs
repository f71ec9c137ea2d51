//! Requirements of label selectors, and the labels that differ from them.

use std::fmt;

use kubewright_graph::{EdgeTypeSpec, GraphNode};
use kubewright_value::{Map, Text, Value};

use super::LabelDifference;

/// Returns the field below `spec` of `node` whose selector makes edges of the type called `relationship`.
pub(super) fn selector_field(relationship: &str, node: &GraphNode) -> Option<&'static str> {
    EdgeTypeSpec::named(relationship)?.selector_field(&node.kind)
}

/// Returns the labels that selectors look at: those of the Pods that a workload makes, or its own.
pub(super) fn pod_labels_of(node: &GraphNode) -> Option<&Map> {
    let object = node.object.as_ref()?;
    let of_template = object.at(&["spec", "template", "metadata", "labels"]);
    let of_job = || object.at(&["spec", "jobTemplate", "spec", "template", "metadata", "labels"]);
    let own = || object.at(&["metadata", "labels"]);
    of_template.or_else(of_job).or_else(own).and_then(Value::as_object)
}

/// One condition of a selector.
#[derive(Debug, Clone)]
pub(super) struct NearRequirement {
    label: Text,
    operator: NearOperator,
    values: Vec<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NearOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// Reads a selector, a plain map or `{matchLabels, matchExpressions}`; what makes no sense is left out.
pub(super) fn read_near_requirements(selector: &Map) -> Vec<NearRequirement> {
    let is_structured = selector.contains_key("matchLabels") || selector.contains_key("matchExpressions");
    let equal = match is_structured {
        true => selector.get("matchLabels").and_then(Value::as_object),
        false => Some(selector),
    };
    let mut all = Vec::new();
    for (label, value) in equal.into_iter().flat_map(Map::iter) {
        if let Some(value) = value.as_str() {
            let values = vec![value.into()];
            all.push(NearRequirement { label: label.clone(), operator: NearOperator::In, values });
        }
    }
    let expressions = selector.get("matchExpressions").filter(|_| is_structured).and_then(Value::as_array);
    for expression in expressions.unwrap_or_default() {
        let text = |field: &str| expression.get(field).and_then(Value::as_str);
        let operator = match text("operator") {
            Some("In") => NearOperator::In,
            Some("NotIn") => NearOperator::NotIn,
            Some("Exists") => NearOperator::Exists,
            Some("DoesNotExist") => NearOperator::DoesNotExist,
            _ => continue,
        };
        let values = expression.get("values").and_then(Value::as_array).unwrap_or_default();
        let values = values.iter().filter_map(Value::as_str).map(Text::new).collect();
        all.push(NearRequirement { label: text("key").unwrap_or_default().into(), operator, values });
    }
    all
}

impl NearRequirement {
    /// Returns in what `labels` do not meet it.
    pub(super) fn differs(&self, labels: Option<&Map>) -> Option<LabelDifference> {
        let found = labels.and_then(|labels| labels.get(&self.label)).and_then(Value::as_str);
        let is_listed = found.is_some_and(|found| self.values.iter().any(|value| value == found));
        let is_met = match self.operator {
            NearOperator::In => is_listed,
            NearOperator::NotIn => !is_listed,
            NearOperator::Exists => found.is_some(),
            NearOperator::DoesNotExist => found.is_none(),
        };
        (!is_met).then(|| LabelDifference {
            label: self.label.clone(),
            wanted: self.to_string(),
            found: found.map(Text::new),
        })
    }
}

/// As selectors are written on a command line.
impl fmt::Display for NearRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = &self.label;
        match (self.operator, self.values.as_slice()) {
            (NearOperator::In, [value]) => write!(f, "{label}={value}"),
            (NearOperator::NotIn, [value]) => write!(f, "{label}!={value}"),
            (NearOperator::In, values) => write!(f, "{label} in ({})", values.join(", ")),
            (NearOperator::NotIn, values) => write!(f, "{label} notin ({})", values.join(", ")),
            (NearOperator::Exists, _) => write!(f, "{label}"),
            (NearOperator::DoesNotExist, _) => write!(f, "!{label}"),
        }
    }
}
