//! Label selectors, with wildcards in `matchLabels`.
//!
//! Where a key or a value has wildcards, it is enough that one label fits both.

use kubewright_golib::glob::WildcardPattern;
use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value};

use crate::fields::{Fields, Reader};

/// A label selector.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    /// Where it stands in the document.
    pub path: Vec<Step>,
    /// With wildcards in keys and values.
    pub labels: Vec<(Text, Text)>,
    /// `matchExpressions`
    pub expressions: Vec<Requirement>,
}

impl Selector {
    /// Returns whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.expressions.is_empty()
    }
}

/// One of the `matchExpressions`.
#[derive(Debug, Clone)]
pub struct Requirement {
    /// The name of the label.
    pub key: Text,
    /// How the label is compared.
    pub operator: LabelOperator,
    /// What the label is compared with.
    pub values: Vec<Text>,
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label has none of the values, or is not there.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
}

/// Reads the selector at `key`.
pub fn read<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Option<Selector> {
    let selector = reader.object(fields, key)?;
    reader.only(&selector, &["matchLabels", "matchExpressions"]);
    let labels = reader.pairs(&selector, "matchLabels");
    let items = reader.objects(&selector, "matchExpressions").unwrap_or_default();
    let expressions = items.iter().filter_map(|item| requirement(reader, item)).collect();
    Some(Selector { path: selector.path, labels, expressions })
}

fn requirement<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Option<Requirement> {
    reader.only(item, &["key", "operator", "values"]);
    let values = reader.plain(item, "values");
    let key = reader.required_string(item, "key");
    let operator = reader.required_string(item, "operator")?;
    let words = [
        ("In", LabelOperator::In),
        ("NotIn", LabelOperator::NotIn),
        ("Exists", LabelOperator::Exists),
        ("DoesNotExist", LabelOperator::DoesNotExist),
    ];
    let operator = reader.one_of(&operator, "operator", &words)?;
    Some(Requirement { key: key?.value, operator, values })
}

/// A selector, ready to be compared with labels.
#[derive(Debug, Clone)]
pub struct LabelSelector {
    exact: Vec<(Text, Text)>,
    wild: Vec<(WildcardPattern, WildcardPattern)>,
    expressions: Vec<Requirement>,
    /// Whether Kubernetes refuses the selector, so that nothing fits it.
    is_invalid: bool,
}

impl LabelSelector {
    /// Compiles the wildcards of `selector`.
    #[must_use]
    pub fn compile(selector: &Selector) -> Self {
        let (mut exact, mut wild) = (Vec::new(), Vec::new());
        for (key, value) in &selector.labels {
            let (key_glob, value_glob) = (WildcardPattern::parse(key), WildcardPattern::parse(value));
            match (key_glob.as_exact(), value_glob.as_exact()) {
                (Some(_), Some(_)) => exact.push((key.clone(), value.clone())),
                _ => wild.push((key_glob, value_glob)),
            }
        }
        let expressions = selector.expressions.clone();
        let is_invalid = expressions.iter().any(|requirement| {
            matches!(requirement.operator, LabelOperator::In | LabelOperator::NotIn)
                == requirement.values.is_empty()
        });
        Self { exact, wild, expressions, is_invalid }
    }

    /// Returns whether `labels` are as the selector wants them. Labels that are no texts are none.
    pub fn matches(&self, labels: Option<&Map>, budget: &mut Budget) -> Result<bool, Exhausted> {
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        if self.is_invalid || !self.exact.iter().all(|(key, value)| label(key) == Some(value)) {
            return Ok(false);
        }
        for (key, value) in &self.wild {
            if !has_pair(labels, key, value, budget)? {
                return Ok(false);
            }
        }
        budget.step(self.expressions.len() as u64)?;
        Ok(self.expressions.iter().all(|requirement| holds(requirement, label(&requirement.key))))
    }
}

/// Returns whether one entry of `map` fits `key` and `value`.
pub fn has_pair(
    map: Option<&Map>,
    key: &WildcardPattern,
    value: &WildcardPattern,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    for (name, text) in map.into_iter().flat_map(Map::iter) {
        let Some(text) = text.as_str() else { continue };
        if key.matches(name, budget)? && value.matches(text, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds(requirement: &Requirement, label: Option<&str>) -> bool {
    let is_listed = label.is_some_and(|label| requirement.values.iter().any(|value| value == label));
    match requirement.operator {
        LabelOperator::In => is_listed,
        LabelOperator::NotIn => !is_listed,
        LabelOperator::Exists => label.is_some(),
        LabelOperator::DoesNotExist => label.is_none(),
    }
}
