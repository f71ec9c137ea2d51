//! Filters that nothing passes, and relationships that are wanted and forbidden at once.

use kubewright_engine::Diagnostic;

use super::super::diagnostics as code;
use super::super::filter::{FilterCondition, Operands, RoleFilter};
use super::super::operator::ConditionOperator;
use super::super::pattern::{EdgeDirection, Pattern, PatternRelationship, RelationshipEffect};

pub(super) fn find_contradictions(pattern: &Pattern, diagnostics: &mut Vec<Diagnostic>) {
    for role in &pattern.roles {
        if let Some(why) = in_filter(&role.filter) {
            let location = role.location.clone();
            diagnostics.push(
                Diagnostic::new(&code::FILTER_CONTRADICTION, why, location)
                    .help("put conditions that exclude each other into `matchAny`"),
            );
        }
    }
    for (at, veto) in
        pattern.entries.iter().enumerate().filter(|(_, entry)| entry.rule == RelationshipEffect::Veto)
    {
        let wanted = pattern.entries.iter().enumerate().find(|(other, entry)| {
            let same_roles = entry.pairs.iter().all(|pair| has_role_pair(&veto.pairs, *pair))
                && entry.pairs.len() == veto.pairs.len();
            *other != at
                && entry.rule == RelationshipEffect::Mandatory
                && entry.list == veto.list
                && entry.link.name() == veto.link.name()
                && forbids(veto, entry)
                && same_roles
        });
        if let Some((_, wanted)) = wanted {
            let message = format!("`{}` forbids the relationship that `{}` requires", veto.id, wanted.id);
            diagnostics.push(
                Diagnostic::new(&code::CONTRADICTION, message, veto.location.clone())
                    .help("the pattern can never match; remove one of the two"),
            );
        }
    }
}

/// Returns whether wherever `wanted` holds, `veto` does too; the roles and types are the same.
fn forbids(veto: &PatternRelationship, wanted: &PatternRelationship) -> bool {
    let (Some(forbidden), Some(asked)) = (veto.link.options(), wanted.link.options()) else { return false };
    let is_any = forbidden.is_plain() && forbidden.direction == EdgeDirection::Any;
    (is_any || forbidden.is_same(asked)) && veto.at_least <= wanted.at_least
}

fn has_role_pair(pairs: &[(usize, usize)], (one, other): (usize, usize)) -> bool {
    pairs.contains(&(one, other)) || pairs.contains(&(other, one))
}

/// Returns why nothing can pass `filter`.
fn in_filter(filter: &RoleFilter) -> Option<String> {
    for (at, first) in filter.all.iter().enumerate() {
        if let Some(second) = filter.all.iter().skip(at + 1).find(|second| conditions_exclude(first, second))
        {
            return Some(format!("two conditions about `{}` exclude each other", second.key.text));
        }
        if filter.none.iter().any(|none| is_same_condition(first, none)) {
            return Some(format!(
                "the condition on `{}` is both in `matchAll` and in `matchNone`",
                first.key.text
            ));
        }
    }
    let dead = |any: &FilterCondition| filter.none.iter().any(|none| is_same_condition(any, none));
    if !filter.any.is_empty() && filter.any.iter().all(dead) {
        return Some("each condition of `matchAny` is also in `matchNone`".to_owned());
    }
    None
}

fn conditions_exclude(first: &FilterCondition, second: &FilterCondition) -> bool {
    use ConditionOperator::{Equals, Exists, NotEquals, NotExists};
    if first.key.steps != second.key.steps || first.each.is_some() || second.each.is_some() {
        return false;
    }
    let several = first.key.text.contains('*') || first.key.text.contains('@');
    match (first.operator, second.operator) {
        (Exists | Equals, NotExists) | (NotExists, Exists | Equals) => true,
        // A path that gives several values may have both; one that ends at an array too, so only well-known scalars count.
        (Equals, Equals) => {
            !several
                && is_scalar_path(&first.key.text)
                && operand_texts(first).iter().all(|text| !operand_texts(second).contains(text))
        }
        (Equals, NotEquals) | (NotEquals, Equals) => operand_texts(first) == operand_texts(second),
        _ => false,
    }
}

/// Returns whether the value at the path is one text in every object.
fn is_scalar_path(path: &str) -> bool {
    let path = path.trim_start_matches(['$', '.']);
    matches!(path, "metadata.name" | "metadata.namespace" | "kind" | "apiVersion")
        || path.starts_with("metadata.labels")
        || path.starts_with("metadata.annotations")
}

fn is_same_condition(first: &FilterCondition, second: &FilterCondition) -> bool {
    let written = |condition: &FilterCondition| matches!(condition.operands, Operands::Written(_));
    first.key.steps == second.key.steps
        && first.each.is_none()
        && second.each.is_none()
        && first.operator == second.operator
        && written(first)
        && written(second)
        && operand_texts(first) == operand_texts(second)
}

fn operand_texts(condition: &FilterCondition) -> Vec<&str> {
    match &condition.operands {
        Operands::Written(operands) => operands.iter().map(|operand| operand.text.as_str()).collect(),
        Operands::From(_) => Vec::new(),
    }
}
