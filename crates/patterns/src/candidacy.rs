//! Whether an object can fill a resource of a pattern, condition by condition.

use std::collections::BTreeMap;

use kubewright_graph::{Graph, GraphNode, Id, Sort};
use kubewright_value::{Budget, Exhausted, Location, Text, Value, bounded};

use super::detect::{DetectionSettings, kinds_of};
use super::filter::{FilterCondition, Operands, RoleFilter};
use super::key::ElementFrame;
use super::operator::OPERATOR_NAMES;
use super::pattern::{KindRef, Pattern, Role};

/// An object that is of the kind of a resource.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Candidacy {
    /// The id of the resource.
    pub role: Text,
    /// Whether it is the leader.
    pub is_leader: bool,
    /// Whether the object passes the filter.
    pub passes: bool,
    /// Every condition of the filter.
    pub conditions: Vec<ConditionCheck>,
}

/// A condition that was evaluated.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConditionCheck {
    /// The list that it is in: `matchAll`, `matchAny`, `matchNone`.
    pub list: &'static str,
    /// The condition as text: `spec.replicas GREATER_THAN 1`.
    pub condition: String,
    /// The values at its path, as JSON.
    pub found: Vec<String>,
    /// Whether it holds.
    pub held: bool,
    /// Whether it discards the object.
    pub discards: bool,
    /// The location in the pattern.
    pub location: Location,
}

/// Returns for each resource of `pattern` of whose kind an object is, whether it passes the filter.
///
/// # Errors
/// When the budget is used up.
pub fn candidacies_of(
    pattern: &Pattern,
    id: Id,
    graph: &Graph,
    settings: &DetectionSettings,
    budget: &mut Budget,
) -> Result<Vec<Candidacy>, Exhausted> {
    let mut all = Vec::new();
    let Some(node) = graph.node(id) else { return Ok(all) };
    let Some(object) = node.whole_object().filter(|_| node.sort == Sort::Object) else { return Ok(all) };
    for (at, role) in pattern.roles.iter().enumerate() {
        if !is_of_role(role, node, graph, settings) {
            continue;
        }
        let (passes, conditions) = check_filter(&role.filter, &object, budget)?;
        all.push(Candidacy { role: role.id.clone(), is_leader: at == pattern.leader, passes, conditions });
    }
    Ok(all)
}

/// Returns how many objects of the kinds of the leader its filter leaves out, by kind.
///
/// # Errors
/// When the budget is used up.
pub fn count_filtered_leaders(
    pattern: &Pattern,
    graph: &Graph,
    settings: &DetectionSettings,
    budget: &mut Budget,
) -> Result<BTreeMap<Text, usize>, Exhausted> {
    let mut counts = BTreeMap::new();
    let Some(role) = pattern.roles.get(pattern.leader) else { return Ok(counts) };
    for id in graph.ids() {
        budget.step(1)?;
        let Some(node) = graph.node(id).filter(|node| node.sort == Sort::Object) else { continue };
        let Some(object) = role.object_of(node).filter(|_| is_of_role(role, node, graph, settings)) else {
            continue;
        };
        if !passes_filter(&role.filter, &object, budget)? {
            *counts.entry(node.kind.clone()).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Returns whether a node is of one of the kinds of `role`.
pub(crate) fn is_of_role(role: &Role, node: &GraphNode, graph: &Graph, settings: &DetectionSettings) -> bool {
    let version = node.api_version.rsplit_once('/').map_or(node.api_version.as_str(), |(_, version)| version);
    role.kinds.iter().any(|known| match known {
        KindRef::Kind { kind, group, version: wanted } => {
            kind.as_ref().is_none_or(|kind| *kind == node.kind)
                && group.as_ref().is_none_or(|group| group == node.group())
                && wanted.as_ref().is_none_or(|wanted| wanted == version)
        }
        KindRef::Category(category) => {
            let is_it = |(group, kind): &(Text, Text)| group == node.group() && *kind == node.kind;
            kinds_of(category, graph, settings).iter().any(is_it)
        }
    })
}

fn passes_filter(filter: &RoleFilter, object: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
    for frame in filter_frames(filter, object, budget)? {
        if filter.passes(object, &frame, budget, &mut false)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the choices of elements that the filter may mean.
fn filter_frames(
    filter: &RoleFilter,
    object: &Value,
    budget: &mut Budget,
) -> Result<Vec<ElementFrame>, Exhausted> {
    let mut anchors = Vec::new();
    filter.collect_anchors(&mut anchors);
    if anchors.is_empty() {
        Ok(vec![ElementFrame::default()])
    } else {
        ElementFrame::all(&anchors, object, budget)
    }
}

/// Returns whether an object passes, and every condition with the elements with which it does, or with the first.
fn check_filter(
    filter: &RoleFilter,
    object: &Value,
    budget: &mut Budget,
) -> Result<(bool, Vec<ConditionCheck>), Exhausted> {
    let frames = filter_frames(filter, object, budget)?;
    let (mut chosen, mut passes) = (frames.first().cloned().unwrap_or_default(), false);
    for frame in frames {
        if filter.passes(object, &frame, budget, &mut false)? {
            (chosen, passes) = (frame, true);
            break;
        }
    }
    let mut all = Vec::new();
    let mut some_of_any = filter.any.is_empty();
    for condition in &filter.any {
        some_of_any |= condition.holds(object, &chosen, budget, &mut false)?;
    }
    let lists = [("matchAll", &filter.all), ("matchNone", &filter.none), ("matchAny", &filter.any)];
    for (list, conditions) in lists {
        for condition in conditions {
            let held = condition.holds(object, &chosen, budget, &mut false)?;
            let values = condition.key.values(object, &chosen, budget)?;
            let found = values.into_iter().map(|value| bounded::to_json(value, budget));
            let found = found.collect::<Result<_, _>>()?;
            all.push(ConditionCheck {
                list,
                condition: condition_check_text(condition),
                found,
                held,
                discards: match list {
                    "matchAll" => !held,
                    "matchNone" => held,
                    _ => !some_of_any,
                },
                location: condition.location.clone(),
            });
        }
    }
    Ok((passes, all))
}

fn condition_check_text(condition: &FilterCondition) -> String {
    let name = OPERATOR_NAMES
        .iter()
        .find(|(_, operator)| *operator == condition.operator)
        .map_or("", |(name, _)| name);
    let values = match &condition.operands {
        Operands::Written(operands) => {
            operands.iter().map(|operand| operand.text.as_str()).collect::<Vec<_>>().join(", ")
        }
        Operands::From(key) => format!("values of {}", key.text),
    };
    let of = match &condition.each {
        None => "",
        Some(each) if each.holds => " of all",
        Some(_) => " of none",
    };
    format!("{} {name} {values}", condition.key.text).trim_end().to_owned() + of
}
