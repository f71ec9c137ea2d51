//! Whether an object surely fits a pattern.
//!
//! Nearly every object that is compared fits, so this looks at values alone: no places, no notes, no reasons. "Not surely"
//! says nothing: the walk that explains then decides.

use kubewright_value::{Budget, Exhausted, Map, Value};

use super::node::{Exists, MapNode, PatternAnchor, PatternEntry, PatternNode};

/// Returns whether `node` is worth [asking](surely_fits) about. Where conditions say what the pattern is about, most objects
/// are skipped and not fitting, and keys with wildcards depend on the object's.
pub(super) fn is_quick(node: &PatternNode) -> bool {
    match node {
        PatternNode::Map(map) => {
            !map.has_wild_keys && map.anchors.iter().chain(&map.rest).all(is_quick_entry)
        }
        PatternNode::Each(node) => is_quick(node),
        PatternNode::InOrder(nodes) | PatternNode::Exists(Exists::AllOf(nodes)) => nodes.iter().all(is_quick),
        PatternNode::Shared(node) => is_quick(node),
        PatternNode::Leaf(_) | PatternNode::EachScalar(_) | PatternNode::Ignored => true,
        PatternNode::EmptyList | PatternNode::TooDeep | PatternNode::Exists(_) => false,
    }
}

fn is_quick_entry(entry: &PatternEntry) -> bool {
    let is_condition = matches!(entry.anchor, Some(PatternAnchor::Condition | PatternAnchor::Global));
    !is_condition && is_quick(&entry.value)
}

/// Returns whether `object` surely fits `node`; otherwise it may or may not.
pub(super) fn surely_fits(
    node: &PatternNode,
    object: &Value,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    budget.step(1)?;
    match node {
        PatternNode::Leaf(leaf) | PatternNode::EachScalar(leaf) => {
            let Value::Array(items) = object else {
                return Ok(matches!(node, PatternNode::Leaf(_)) && leaf.fits(object, budget)?);
            };
            budget.step(items.len() as u64)?;
            every(items.iter(), |item| leaf.fits(item, budget))
        }
        PatternNode::Shared(node) => surely_fits(node, object, budget),
        PatternNode::Map(_) | PatternNode::Each(_) | PatternNode::InOrder(_) => {
            budget.enter()?;
            let fits = nested_fits(node, object, budget);
            budget.leave();
            fits
        }
        PatternNode::Exists(_) | PatternNode::Ignored => Ok(true),
        PatternNode::EmptyList | PatternNode::TooDeep => Ok(false),
    }
}

fn nested_fits(node: &PatternNode, object: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
    match (node, object) {
        (PatternNode::Map(node), Value::Object(map)) => map_fits(node, map, budget),
        (PatternNode::Each(node), Value::Array(items)) => {
            every(items.iter(), |item| surely_fits(node, item, budget))
        }
        (PatternNode::InOrder(nodes), Value::Array(items)) if items.len() >= nodes.len() => {
            every(nodes.iter().zip(&**items), |(node, item)| surely_fits(node, item, budget))
        }
        _ => Ok(false),
    }
}

fn map_fits(node: &MapNode, map: &Map, budget: &mut Budget) -> Result<bool, Exhausted> {
    every(node.anchors.iter().chain(&node.rest), |entry| {
        budget.step(1)?;
        match (entry.anchor, entry.position_hint.get(map, &entry.key)) {
            (None, value) if entry.wants_any => Ok(value.is_some_and(|value| !value.is_null())),
            (None, value) => surely_fits(&entry.value, value.unwrap_or(&Value::Null), budget),
            (Some(PatternAnchor::Condition), None) => Ok(false),
            (Some(_), None) => Ok(true),
            (Some(PatternAnchor::Negation), Some(_)) => Ok(false),
            (Some(PatternAnchor::Existence), Some(value)) => exist(&entry.value, value, budget),
            (Some(_), Some(value)) => surely_fits(&entry.value, value, budget),
        }
    })
}

/// Returns whether for each of the wanted elements one surely fits.
fn exist(node: &PatternNode, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
    let (PatternNode::Exists(Exists::AllOf(wanted)), Value::Array(items)) = (node, value) else {
        return Ok(false);
    };
    every(wanted.iter(), |node| {
        for item in &**items {
            if surely_fits(node, item, budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// Returns whether all of `items` fit.
fn every<T>(
    items: impl Iterator<Item = T>,
    mut fits: impl FnMut(T) -> Result<bool, Exhausted>,
) -> Result<bool, Exhausted> {
    for item in items {
        if !fits(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}
