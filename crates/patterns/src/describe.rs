//! Summaries of the resources and relationships of a pattern, for display.

use kubewright_value::Text;

use super::detect::rule_name;
use super::filter::{FilterCondition, Operands};
use super::operator::OPERATOR_NAMES;
use super::pattern::{KindRef, Pattern, RelationshipList, Role};
use super::points::Points;

/// A resource of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceSummary {
    /// Its kinds, in words.
    pub kinds: Vec<Text>,
    /// The conditions of its filter.
    pub conditions: Vec<String>,
}

/// A relationship of a pattern.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RelationshipSummary {
    /// Its id.
    pub id: Text,
    /// Its type.
    pub relationship: Text,
    /// The list that it is in.
    pub list: RelationshipList,
    /// The effect: `mandatory`, `veto`, `score`, `score-absent`, `one-of`.
    pub rule: &'static str,
    /// Whether the pattern wants it to exist.
    pub wanted: bool,
    /// The ids of the resources that it is between.
    pub between: (Text, Text),
    /// The points it can add.
    pub points: Points,
}

impl Pattern {
    /// Returns a summary of the resource `id`.
    #[must_use]
    pub fn resource(&self, id: &str) -> Option<ResourceSummary> {
        let role = self.roles.iter().find(|role| role.id == id)?;
        Some(ResourceSummary {
            kinds: role.kinds.iter().map(describe_kind).collect(),
            conditions: describe_conditions(role),
        })
    }

    /// Returns summaries of its relationships, in source order.
    pub fn described(&self) -> impl Iterator<Item = RelationshipSummary> {
        let id = |role: usize| self.roles.get(role).map(|role| role.id.clone()).unwrap_or_default();
        self.entries.iter().map(move |entry| RelationshipSummary {
            id: entry.id.clone(),
            relationship: entry.link.name().into(),
            list: entry.list,
            rule: rule_name(entry.rule),
            wanted: entry.rule.is_wanted(),
            between: entry.pairs.last().map_or_else(Default::default, |pair| (id(pair.0), id(pair.1))),
            points: if entry.rule.scores() { entry.weight.clone() } else { Points::zero() },
        })
    }
}

fn describe_kind(kind: &KindRef) -> Text {
    match kind {
        KindRef::Kind { kind: Some(kind), .. } => kind.clone(),
        KindRef::Kind { kind: None, .. } => "any kind".into(),
        KindRef::Category(category) => category.clone(),
    }
}

fn describe_conditions(role: &Role) -> Vec<String> {
    let filter = &role.filter;
    let all = filter.all.iter().map(describe_condition);
    let any: Vec<String> = filter.any.iter().map(describe_condition).collect();
    let any = (!any.is_empty()).then(|| any.join(" or "));
    let none = filter.none.iter().map(|one| format!("not: {}", describe_condition(one)));
    all.chain(any).chain(none).collect()
}

fn describe_condition(condition: &FilterCondition) -> String {
    let name = OPERATOR_NAMES
        .iter()
        .find(|(_, operator)| *operator == condition.operator)
        .map_or("", |(name, _)| *name);
    let operands = match &condition.operands {
        Operands::Written(operands) => {
            operands.iter().map(|operand| operand.text.as_str()).collect::<Vec<_>>().join(", ")
        }
        Operands::From(key) => key.text.to_string(),
    };
    format!("{} {name} {operands}", condition.key.text).trim_end().to_owned()
}
