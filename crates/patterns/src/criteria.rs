//! Relationships by criteria: values of one object compared with values of another.

use std::collections::BTreeSet;

use kubewright_golib::regex::Regex;
use kubewright_k8s::LabelSelector;
use kubewright_value::{Budget, Exhausted, Map, Text, Value};

use super::key::{ArrayAnchor, ElementFrame, FieldKey, KeyStep, collect_anchors};
use super::operator::{ConditionOperand, ConditionOperator, scalar_text};

/// The comparisons that must hold between a target and a dependency.
#[derive(Debug, Clone)]
pub(crate) struct Criteria {
    pub(crate) basis: Basis,
    pub(crate) all: Vec<ValueCriterion>,
}

/// The relation that must hold besides the criteria.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Basis {
    Custom,
    /// The target owns the dependency, directly or through others.
    Owns,
    OwnedBy,
    /// The selector at the path of the target selects the dependency.
    Selects(FieldKey),
    SelectedBy(FieldKey),
}

/// A comparison of values of two objects. `P` is a path: text with its position in the source, a [`FieldKey`] once compiled.
#[derive(Debug, Clone)]
pub(crate) struct ValueCriterion<P = FieldKey> {
    pub(crate) target: CriterionSide<P>,
    pub(crate) dependency: CriterionSide<P>,
    pub(crate) operator: ConditionOperator,
}

/// The values of one of the two objects.
#[derive(Debug, Clone)]
pub(crate) struct CriterionSide<P = FieldKey> {
    pub(crate) origin: CriterionOrigin<P>,
    /// The value to compare with if the paths give nothing.
    pub(crate) default: Option<CriterionOrigin<P>>,
    pub(crate) transform: Option<Transform>,
}

/// The source of the values of a side.
#[derive(Debug, Clone)]
pub(crate) enum CriterionOrigin<P = FieldKey> {
    /// The values at each of several paths.
    Paths(Vec<P>),
    Value(Text),
}

impl<P> ValueCriterion<P> {
    /// Compiles every path, also after one fails, so that `compile` can report each.
    pub(crate) fn compile<Q>(&self, compile: &mut impl FnMut(&P) -> Option<Q>) -> Option<ValueCriterion<Q>> {
        let (target, dependency) = (self.target.compile(compile), self.dependency.compile(compile));
        Some(ValueCriterion { target: target?, dependency: dependency?, operator: self.operator })
    }
}

impl<P> CriterionSide<P> {
    fn compile<Q>(&self, compile: &mut impl FnMut(&P) -> Option<Q>) -> Option<CriterionSide<Q>> {
        let origin = self.origin.compile(compile)?;
        let default = match &self.default {
            Some(default) => Some(default.compile(compile)?),
            None => None,
        };
        Some(CriterionSide { origin, default, transform: self.transform.clone() })
    }
}

impl<P> CriterionOrigin<P> {
    fn compile<Q>(&self, compile: &mut impl FnMut(&P) -> Option<Q>) -> Option<CriterionOrigin<Q>> {
        match self {
            Self::Paths(paths) => {
                let compiled: Vec<Option<Q>> = paths.iter().map(compile).collect();
                compiled.into_iter().collect::<Option<Vec<Q>>>().map(CriterionOrigin::Paths)
            }
            Self::Value(text) => Some(CriterionOrigin::Value(text.clone())),
        }
    }
}

/// A transformation of values before they are compared.
#[derive(Debug, Clone)]
pub(crate) enum Transform {
    /// `apps/v1` becomes `apps`, and `v1` nothing.
    ApiGroup,
    Lowercase,
    Split {
        separator: Text,
        index: i64,
    },
    /// The first group, or the whole match.
    Regex(Regex),
}

impl Criteria {
    /// Adds the arrays of the dependency of which one element is meant.
    pub(crate) fn dependency_anchors(&self, anchors: &mut Vec<ArrayAnchor>) {
        self.all.iter().for_each(|criterion| criterion.dependency.collect_anchors(anchors));
        if let Basis::SelectedBy(key) = &self.basis {
            collect_anchors(key, anchors);
        }
    }

    /// Adds the arrays of the target of which one element is meant.
    pub(crate) fn target_anchors(&self, anchors: &mut Vec<ArrayAnchor>) {
        self.all.iter().for_each(|criterion| criterion.target.collect_anchors(anchors));
        if let Basis::Selects(key) = &self.basis {
            collect_anchors(key, anchors);
        }
    }

    /// Returns whether one of the criteria is that both objects are in one namespace.
    pub(crate) fn compares_namespaces(&self) -> bool {
        self.all.iter().any(|one| {
            let sides = [&one.target, &one.dependency];
            one.operator == ConditionOperator::Equals && sides.iter().all(|side| side.is_namespace())
        })
    }

    /// Returns whether they may be about the name or the uid of an object.
    pub(crate) fn read_name(&self) -> bool {
        let is_selector =
            matches!(&self.basis, Basis::Selects(key) | Basis::SelectedBy(key) if key.reads_name());
        let mut sides = self.all.iter().flat_map(|criterion| [&criterion.target, &criterion.dependency]);
        is_selector || sides.any(CriterionSide::reads_name)
    }

    /// Returns whether all criteria and the selector hold; who owns whom is for the graph to say.
    pub(crate) fn hold(
        &self,
        target: (&Value, &ElementFrame),
        dependency: (&Value, &ElementFrame),
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        for criterion in &self.all {
            let left = criterion.target.values(target.0, target.1, budget)?;
            let right = criterion.dependency.values(dependency.0, dependency.1, budget)?;
            let left: Vec<&Value> = left.iter().collect();
            let operands: Vec<ConditionOperand> = right.iter().filter_map(ConditionOperand::of).collect();
            if !criterion.operator.holds(&left, &operands, budget, &mut false)? {
                return Ok(false);
            }
        }
        match &self.basis {
            Basis::Custom | Basis::Owns | Basis::OwnedBy => Ok(true),
            Basis::Selects(key) => selector_matches(key, target, dependency.0, budget),
            Basis::SelectedBy(key) => selector_matches(key, dependency, target.0, budget),
        }
    }
}

impl ValueCriterion {
    /// Returns the path of the dependency, if its value comes from one.
    pub(crate) fn dependency_path(&self) -> Option<Text> {
        match &self.dependency.origin {
            CriterionOrigin::Paths(keys) => keys.first().map(|key| key.text.clone()),
            CriterionOrigin::Value(_) => None,
        }
    }
}

impl CriterionSide {
    /// Returns whether it may be about the name or the uid of the object.
    fn reads_name(&self) -> bool {
        std::iter::once(&self.origin).chain(&self.default).any(|origin| match origin {
            CriterionOrigin::Paths(keys) => keys.iter().any(FieldKey::reads_name),
            CriterionOrigin::Value(_) => false,
        })
    }

    /// Returns whether its value is the namespace of the object as it is.
    fn is_namespace(&self) -> bool {
        let is_path = |key: &FieldKey| matches!(key.steps.as_slice(), [KeyStep::Name(a), KeyStep::Name(b)] if a == "metadata" && b == "namespace");
        let CriterionOrigin::Paths(keys) = &self.origin else { return false };
        matches!(keys.as_slice(), [only] if is_path(only))
            && self.default.is_none()
            && self.transform.is_none()
    }

    fn collect_anchors(&self, anchors: &mut Vec<ArrayAnchor>) {
        for origin in [Some(&self.origin), self.default.as_ref()].into_iter().flatten() {
            if let CriterionOrigin::Paths(keys) = origin {
                keys.iter().for_each(|key| collect_anchors(key, anchors));
            }
        }
    }

    /// Returns the scalars of this side; an array of scalars counts as its elements.
    pub(crate) fn values(
        &self,
        object: &Value,
        frame: &ElementFrame,
        budget: &mut Budget,
    ) -> Result<Vec<Value>, Exhausted> {
        let mut found = self.origin.values(object, frame, budget)?;
        if let (true, Some(default)) = (found.is_empty(), &self.default) {
            found = default.values(object, frame, budget)?;
        }
        let Some(transform) = &self.transform else { return Ok(found) };
        let mut changed = Vec::with_capacity(found.len());
        for value in found {
            let Some(text) = scalar_text(&value) else { continue };
            budget.step(text.len() as u64)?;
            changed.extend(transform.of(&text, budget)?.map(Value::String));
        }
        Ok(changed)
    }
}

impl CriterionOrigin {
    fn values(
        &self,
        object: &Value,
        frame: &ElementFrame,
        budget: &mut Budget,
    ) -> Result<Vec<Value>, Exhausted> {
        let keys = match self {
            Self::Value(text) => return Ok(vec![Value::String(text.clone())]),
            Self::Paths(keys) => keys,
        };
        let mut scalars = Vec::new();
        for key in keys {
            for value in key.values(object, frame, budget)? {
                match value.as_array() {
                    Some(items) => {
                        budget.step(items.len() as u64)?;
                        scalars.extend(items.iter().filter(|item| scalar_text(item).is_some()).cloned());
                    }
                    None => scalars.push(value.clone()),
                }
            }
        }
        Ok(scalars)
    }
}

impl Transform {
    fn of(&self, text: &str, budget: &mut Budget) -> Result<Option<Text>, Exhausted> {
        Ok(match self {
            Self::ApiGroup => {
                Some(text.rsplit_once('/').map_or_else(Text::default, |(group, _)| group.into()))
            }
            Self::Lowercase => Some(text.to_lowercase().into()),
            Self::Split { separator, index } => {
                let parts: Vec<&str> = text.split(separator.as_str()).collect();
                let from_end = || parts.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
                let place = usize::try_from(*index).ok().or_else(from_end);
                place.and_then(|place| parts.get(place)).map(|part| (*part).into())
            }
            Self::Regex(regex) => {
                let groups = regex.groups(text, budget)?;
                groups.map(|groups| groups.get(1).unwrap_or_else(|| groups.whole()).into())
            }
        })
    }
}

/// Returns the texts under which a value can be found again by one that equals it.
pub(crate) fn index_texts(values: &[Value]) -> BTreeSet<Text> {
    // A number and a text are equal when their values are, however they are written.
    let normal = |value: &Value| {
        let text = scalar_text(value)?;
        Some(
            super::operator::parse_decimal(&text)
                .map_or(text, |number| number.normalized().to_string().into()),
        )
    };
    values.iter().filter_map(normal).collect()
}

/// Returns the labels of which a dependency must offer one to be selected, or by which one selects the target; none
/// if that cannot be known.
pub(crate) fn wanted_labels(
    criteria: &Criteria,
    target: &Value,
    frame: &ElementFrame,
    budget: &mut Budget,
) -> Result<Option<BTreeSet<Text>>, Exhausted> {
    match &criteria.basis {
        Basis::Selects(key) => {
            let first = selector_labels(key, target, frame, budget)?;
            Ok(if first.contains("") { None } else { Some(first) })
        }
        Basis::SelectedBy(_) => {
            let mut labels = label_pairs(target);
            labels.insert(Text::default());
            Ok(Some(labels))
        }
        _ => Ok(None),
    }
}

/// Returns what [`wanted_labels`] of a target must have one of, so that this dependency comes into question.
pub(crate) fn offered_labels(
    criteria: &Criteria,
    dependency: &Value,
    frame: &ElementFrame,
    budget: &mut Budget,
) -> Result<BTreeSet<Text>, Exhausted> {
    match &criteria.basis {
        Basis::Selects(_) => Ok(label_pairs(dependency)),
        Basis::SelectedBy(key) => selector_labels(key, dependency, frame, budget),
        _ => Ok(BTreeSet::new()),
    }
}

/// Returns one label that each selector at `key` wants; an empty text for one that names none.
fn selector_labels(
    key: &FieldKey,
    holder: &Value,
    frame: &ElementFrame,
    budget: &mut Budget,
) -> Result<BTreeSet<Text>, Exhausted> {
    let mut wanted = BTreeSet::new();
    for selector in key.values(holder, frame, budget)? {
        let Some(selector) = selector.as_object() else { continue };
        let has_parts = selector.contains_key("matchLabels") || selector.contains_key("matchExpressions");
        let pairs =
            if has_parts { selector.get("matchLabels").and_then(Value::as_object) } else { Some(selector) };
        let first = pairs.and_then(|pairs| pairs.iter().next());
        wanted.insert(first.map_or_else(Text::default, |(key, value)| label_pair(key, value)));
    }
    Ok(wanted)
}

fn label_pairs(object: &Value) -> BTreeSet<Text> {
    let labels = object.at(&["metadata", "labels"]).and_then(Value::as_object);
    labels.into_iter().flat_map(Map::iter).map(|(key, value)| label_pair(key, value)).collect()
}

fn label_pair(key: &str, value: &Value) -> Text {
    format!("{key}={}", value.as_str().unwrap_or_default()).into()
}

/// Returns whether the selector at `key` selects `object`. Nothing selects nothing; `{}` selects everything under a
/// name that ends in `Selector`, and nothing under the plain name `selector`.
fn selector_matches(
    key: &FieldKey,
    (holder, frame): (&Value, &ElementFrame),
    object: &Value,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    let labels = object.at(&["metadata", "labels"]).and_then(Value::as_object);
    for selector in key.values(holder, frame, budget)? {
        let Some(map) = selector.as_object() else { continue };
        if map.is_empty() {
            let last = key.steps.last();
            if matches!(last, Some(KeyStep::Name(name)) if name.ends_with("Selector")) {
                return Ok(true);
            }
            continue;
        }
        budget.step(map.len() as u64)?;
        if labels_match(selector, labels, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn labels_match(selector: &Value, labels: Option<&Map>, budget: &mut Budget) -> Result<bool, Exhausted> {
    let Some(selector) = LabelSelector::read_either(selector) else { return Ok(false) };
    let compared: usize = selector.requirements.iter().map(|requirement| requirement.values.len() + 1).sum();
    budget.step(compared as u64)?;
    Ok(selector.matches(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str)))
}

#[cfg(test)]
mod tests;
