//! Why something was found, in words: which relationship is there between which objects through which field, or what
//! is missing.

use kubewright_dialects::patterns::{Evidence, RelationshipList};
use kubewright_graph::{Edge, Id};
use kubewright_value::Text;

use super::report::{Report, Row};
use crate::survey::is_shipped;

/// A relationship that is nothing but values that agree.
const CUSTOM: &str = "custom";

/// Returns what speaks for a finding, one line for each relationship, those that are there first.
pub(super) fn reasons(report: &Report<'_>, row: &Row<'_>) -> Vec<String> {
    let evidence = &row.finding.evidence;
    let there = evidence.iter().filter(|evidence| evidence.held && evidence.wanted);
    let missing = evidence.iter().filter(|evidence| !evidence.held && !evidence.wanted);
    let there = there.map(|evidence| present(report, evidence));
    there.chain(missing.map(|evidence| absent(report, row, evidence))).collect()
}

/// Returns the edge that a relationship is, if it is one.
pub(super) fn edge<'s>(report: &Report<'s>, evidence: &Evidence) -> Option<Edge<'s>> {
    let graph = &report.survey.graph;
    let end = if evidence.list == RelationshipList::Common { evidence.through } else { evidence.to };
    graph.between(evidence.from?, end?, graph.edge_type(&evidence.relationship)?)
}

/// Returns what nearly is in a relationship that is missing.
pub(super) fn near<'r>(row: &'r Row<'_>, evidence: &Evidence) -> Option<&'r str> {
    row.near.iter().find(|(entry, _)| *entry == evidence.entry).map(|(_, near)| near.as_str())
}

/// As `Service shop/web EXPOSES Pod shop/web-0 (spec.selector)`.
fn present(report: &Report<'_>, evidence: &Evidence) -> String {
    let called = |id: Option<Id>| id.map(|id| report.called(id)).unwrap_or_default();
    let (from, to) = (called(evidence.from), called(evidence.to));
    let name = &evidence.relationship;
    let via = evidence.via.as_str();
    if evidence.relationship == CUSTOM {
        return match evidence.description.as_str() {
            "" => format!("{from} and {to} meet the criteria ({via})"),
            description => description.trim_end_matches('.').to_owned(),
        };
    }
    match (evidence.list, evidence.through, edge(report, evidence)) {
        (RelationshipList::Common, Some(through), _) => {
            let details: Vec<&str> =
                [name.as_str(), via].into_iter().filter(|part| !part.is_empty()).collect();
            format!("{from} and {to} share {} ({})", report.called(through), details.join(", "))
        }
        (_, through, edge) => {
            let (from, to) =
                edge.map_or((from, to), |edge| (report.called(edge.from), report.called(edge.to)));
            let through = through.map(|through| format!("through {}", report.called(through)));
            let details: Vec<&str> =
                through.as_deref().into_iter().chain([via]).filter(|part| !part.is_empty()).collect();
            match details.is_empty() {
                true => format!("{from} {name} {to}"),
                false => format!("{from} {name} {to} ({})", details.join(", ")),
            }
        }
    }
}

/// As a pattern that ships says it, or as ``no EXPOSES between Service shop/legacy and any `pod` ``.
fn absent(report: &Report<'_>, row: &Row<'_>, evidence: &Evidence) -> String {
    let called = |role: &Text| {
        let bound = row.finding.roles.iter().find(|(own, _)| own == role);
        bound.map_or_else(|| format!("any `{role}`"), |(_, id)| report.called(*id))
    };
    let (one, other) = &evidence.between;
    let missing = match evidence.description.as_str() {
        // Others mostly say what it would mean if it were there.
        description if !description.is_empty() && is_shipped(row.pattern) => {
            description.trim_end_matches('.').to_owned()
        }
        _ if evidence.relationship == CUSTOM => {
            format!("{} and {} do not meet the criteria", called(one), called(other))
        }
        _ => format!("no {} between {} and {}", evidence.relationship, called(one), called(other)),
    };
    match near(row, evidence) {
        Some(near) => format!("{missing}; {near}"),
        None => missing,
    }
}
