//! Label selectors, with wildcards in `matchLabels`.
//!
//! Where a key or a value has wildcards, it is enough that one label fits both.

use std::fmt;

pub use kubewright_k8s::{LabelOperator, LabelRequirement};

use kubewright_golib::glob::WildcardPattern;
use kubewright_k8s::LabelSelector;
use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value};

use crate::fields::{DocumentFields, DocumentReader};

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SelectorSource {
    /// The path of the selector in the document.
    pub path: Vec<Step>,
    /// With wildcards in keys and values.
    pub labels: Vec<(Text, Text)>,
    /// `matchExpressions`
    pub expressions: Vec<LabelRequirement>,
}

impl SelectorSource {
    /// Returns whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.expressions.is_empty()
    }
}

/// As `tier=web, exposure NotIn public`.
impl fmt::Display for SelectorSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expressions = self.expressions.iter().map(|requirement| {
            let (key, operator) = (&requirement.key, requirement.operator.name());
            format!("{key} {operator} {}", requirement.values.join(", ")).trim_end().to_owned()
        });
        let labels = self.labels.iter().map(|(key, value)| format!("{key}={value}"));
        f.write_str(&labels.chain(expressions).collect::<Vec<_>>().join(", "))
    }
}

/// Reads the selector at `key`.
pub fn read_selector<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<SelectorSource> {
    let selector = reader.object(fields, key)?;
    reader.only(&selector, &["matchLabels", "matchExpressions"]);
    let labels = reader.pairs(&selector, "matchLabels");
    let items = reader.objects(&selector, "matchExpressions").unwrap_or_default();
    let expressions = items.iter().filter_map(|item| read_label_requirement(reader, item)).collect();
    Some(SelectorSource { path: selector.path, labels, expressions })
}

fn read_label_requirement<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<LabelRequirement> {
    reader.only(item, &["key", "operator", "values"]);
    let values = reader.plain(item, "values");
    let key = reader.required_string(item, "key");
    let operator = reader.required_string(item, "operator")?;
    let words = LabelOperator::ALL.map(|operator| (operator.name(), operator));
    let operator = reader.one_of(&operator, "operator", &words)?;
    Some(LabelRequirement { key: key?.value, operator, values })
}

/// A label selector whose `matchLabels` may have wildcards, ready to be compared with labels.
#[derive(Debug, Clone)]
pub struct WildcardSelector {
    exact: LabelSelector,
    wild: Vec<(WildcardPattern, WildcardPattern)>,
    expressions: LabelSelector,
    /// Whether Kubernetes refuses the selector, so that nothing fits it.
    is_invalid: bool,
}

impl WildcardSelector {
    /// Compiles the wildcards of `selector`.
    #[must_use]
    pub fn compile(selector: &SelectorSource) -> Self {
        let (mut exact, mut wild) = (LabelSelector::default(), Vec::new());
        for (key, value) in &selector.labels {
            let (key_glob, value_glob) = (WildcardPattern::parse(key), WildcardPattern::parse(value));
            match (key_glob.as_exact(), value_glob.as_exact()) {
                (Some(_), Some(_)) => {
                    exact.requirements.push(LabelRequirement::equals(key.clone(), value.clone()));
                }
                _ => wild.push((key_glob, value_glob)),
            }
        }
        let expressions = LabelSelector { requirements: selector.expressions.clone() };
        let is_invalid = selector.expressions.iter().any(|requirement| !requirement.is_valid());
        Self { exact, wild, expressions, is_invalid }
    }

    /// Returns the key of the first condition without wildcards that `labels` do not meet.
    #[must_use]
    pub fn unmet_key(&self, labels: Option<&Map>) -> Option<&Text> {
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        let all = self.exact.requirements.iter().chain(&self.expressions.requirements);
        all.into_iter().find(|one| !one.holds(label(&one.key))).map(|one| &one.key)
    }

    /// Returns whether `labels` match the selector. A label that is not a text counts as absent.
    pub fn matches(&self, labels: Option<&Map>, budget: &mut Budget) -> Result<bool, Exhausted> {
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        if self.is_invalid || !self.exact.matches(label) {
            return Ok(false);
        }
        for (key, value) in &self.wild {
            if !has_pair(labels, key, value, budget)? {
                return Ok(false);
            }
        }
        budget.step(self.expressions.requirements.len() as u64)?;
        Ok(self.expressions.matches(label))
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
