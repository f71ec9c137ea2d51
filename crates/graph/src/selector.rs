//! Label selectors, read once and compared as values, so that all who select the same share one selection.

use kubewright_k8s::selector::read_values;
use kubewright_k8s::{LabelOperator, LabelRequirement, LabelSelector};
use kubewright_value::{Map, Text, Value};

use crate::names::{NameTable, Symbol};

/// Conditions on labels: all of `all` and, if there are any, one of `any`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct GraphSelector {
    pub(crate) all: Vec<SelectorRequirement>,
    pub(crate) any: Vec<Vec<SelectorRequirement>>,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SelectorRequirement {
    /// The label; for [`NAME_FIELD`] the object's name.
    pub(crate) key: Text,
    pub(crate) operator: NodeOperator,
    pub(crate) values: Vec<Text>,
}

/// The key of a `matchFields` requirement on the name; never a valid label key.
const NAME_FIELD: &str = "@metadata.name";

/// How a label is compared: nodes are also selected by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeOperator {
    Label(LabelOperator),
    Greater,
    Less,
}

impl SelectorRequirement {
    fn of_label(requirement: LabelRequirement) -> Self {
        let LabelRequirement { key, operator, values } = requirement;
        Self { key, operator: NodeOperator::Label(operator), values: sorted_values(values) }
    }

    /// Whether the label must have one of the values.
    pub(crate) fn is_in(&self) -> bool {
        self.operator == NodeOperator::Label(LabelOperator::In)
    }
}

impl GraphSelector {
    /// Reads a plain map of labels; nothing but text can equal a label.
    pub(crate) fn of_map(labels: &Map) -> Option<Self> {
        LabelSelector::of_labels(labels).map(Self::of_label_selector)
    }

    /// Reads `{matchLabels, matchExpressions}`. One that the API server would refuse is none, and selects nothing.
    pub(crate) fn of_labels(value: &Value) -> Option<Self> {
        LabelSelector::read(value).map(Self::of_label_selector)
    }

    /// Reads a selector of either form, as fields called `selector` have it in kinds of one's own.
    pub(crate) fn of_either(value: &Value) -> Option<Self> {
        LabelSelector::read_either(value).map(Self::of_label_selector)
    }

    fn of_label_selector(selector: LabelSelector) -> Self {
        let all = selector.requirements.into_iter().map(SelectorRequirement::of_label).collect();
        Self { all, any: Vec::new() }.sorted()
    }

    /// Reads where a Pod must run: `nodeSelector` and the required terms of `nodeAffinity`. None if neither says anything.
    pub(crate) fn of_nodes(node_selector: Option<&Map>, terms: Option<&[Value]>) -> Option<Self> {
        let labels = node_selector.filter(|labels| !labels.is_empty());
        let all = labels.map_or_else(|| Some(Self::default()), Self::of_map)?.all;
        let any: Vec<Vec<SelectorRequirement>> =
            terms.unwrap_or_default().iter().filter_map(read_node_selector_term).collect();
        let says_nothing = all.is_empty() && any.is_empty();
        // Terms that are all empty or broken match no node.
        let is_impossible = any.is_empty() && terms.is_some_and(|terms| !terms.is_empty());
        (!says_nothing && !is_impossible).then(|| Self { all, any }.sorted())
    }

    /// Adds the condition that `key` has, or has not, the value `value`.
    pub(crate) fn and(mut self, key: &str, operator: LabelOperator, value: &str) -> Self {
        let values = vec![value.into()];
        self.all.push(SelectorRequirement {
            key: key.into(),
            operator: NodeOperator::Label(operator),
            values,
        });
        self.sorted()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.any.is_empty()
    }

    fn sorted(mut self) -> Self {
        self.all.sort_unstable();
        self.all.dedup();
        self
    }
}

/// A selector whose labels are symbols.
#[derive(Debug, Clone, Default)]
pub(crate) struct InternedSelector {
    all: Vec<InternedRequirement>,
    any: Vec<Vec<InternedRequirement>>,
}

#[derive(Debug, Clone)]
struct InternedRequirement {
    /// None for the object's name.
    key: Option<Symbol>,
    operator: NodeOperator,
    /// Sorted.
    values: Vec<Symbol>,
    /// The operand of `Gt` and `Lt`.
    bound: Option<i64>,
}

impl InternedSelector {
    pub(crate) fn of(selector: &GraphSelector, names: &mut NameTable) -> Self {
        let mut rules = |requirements: &[SelectorRequirement]| -> Vec<InternedRequirement> {
            requirements.iter().map(|requirement| InternedRequirement::of(requirement, names)).collect()
        };
        Self { all: rules(&selector.all), any: selector.any.iter().map(|term| rules(term)).collect() }
    }

    /// Returns how many conditions there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len() + self.any.iter().map(Vec::len).sum::<usize>()
    }

    /// Returns whether an object called `name`, with the labels that `label` knows, is selected.
    pub(crate) fn match_labels(
        &self,
        names: &NameTable,
        name: Symbol,
        label: impl Fn(Symbol) -> Option<Symbol>,
    ) -> bool {
        let holds = |rule: &InternedRequirement| rule.holds(rule.key.map_or(Some(name), &label), names);
        self.all.iter().all(holds)
            && (self.any.is_empty() || self.any.iter().any(|term| term.iter().all(holds)))
    }
}

impl InternedRequirement {
    fn of(requirement: &SelectorRequirement, names: &mut NameTable) -> Self {
        let mut values: Vec<Symbol> =
            requirement.values.iter().map(|value| names.intern_text(value)).collect();
        values.sort_unstable();
        Self {
            key: (requirement.key != NAME_FIELD).then(|| names.intern_text(&requirement.key)),
            operator: requirement.operator,
            values,
            bound: requirement.values.first().and_then(|value| value.parse().ok()),
        }
    }

    fn holds(&self, label: Option<Symbol>, names: &NameTable) -> bool {
        let is_listed = |label: Symbol| self.values.binary_search(&label).is_ok();
        match self.operator {
            NodeOperator::Label(operator) => operator.holds(label.map(is_listed)),
            NodeOperator::Greater => self.compares(label, names, |label, bound| label > bound),
            NodeOperator::Less => self.compares(label, names, |label, bound| label < bound),
        }
    }

    fn compares(&self, label: Option<Symbol>, names: &NameTable, holds: impl Fn(i64, i64) -> bool) -> bool {
        let label = label.and_then(|label| names.text(label).parse().ok());
        label.zip(self.bound).is_some_and(|(label, bound)| holds(label, bound))
    }
}

/// Reads a term of `nodeAffinity`; an empty one matches no node.
fn read_node_selector_term(term: &Value) -> Option<Vec<SelectorRequirement>> {
    let mut all = read_selector_requirements(term.get("matchExpressions"), false)?;
    all.extend(read_selector_requirements(term.get("matchFields"), true)?);
    (!all.is_empty()).then_some(all)
}

/// Reads a list of conditions; none if one of them is broken. With `are_fields` they are about the name.
fn read_selector_requirements(list: Option<&Value>, are_fields: bool) -> Option<Vec<SelectorRequirement>> {
    list.and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .map(|item| read_selector_requirement(item, are_fields))
        .collect()
}

fn read_selector_requirement(item: &Value, is_field: bool) -> Option<SelectorRequirement> {
    let operator = match item.get("operator")?.as_str()? {
        "Gt" => NodeOperator::Greater,
        "Lt" => NodeOperator::Less,
        name => NodeOperator::Label(LabelOperator::named(name)?),
    };
    let values = sorted_values(read_values(item));
    let key = item.get("key")?.as_str()?;
    match (is_field, key) {
        (true, "metadata.name") => Some(SelectorRequirement { key: NAME_FIELD.into(), operator, values }),
        (true, _) => None,
        (false, _) => Some(SelectorRequirement { key: key.into(), operator, values }),
    }
}

/// Returns the values so that selectors of the same are equal.
fn sorted_values(mut values: Vec<Text>) -> Vec<Text> {
    values.sort_unstable();
    values.dedup();
    values
}
