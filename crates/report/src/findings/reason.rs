//! Why a pattern was found, in words: which relationship holds between which objects through which field, or which
//! one is missing.

use kubewright_graph::{Edge, Id};
use kubewright_patterns::{Evidence, RelationshipList};
use kubewright_value::Text;

use super::{FindingRow, ReportedFindings, is_shipped};

/// The type of a relationship that consists of criteria alone.
const CUSTOM_RELATIONSHIP: &str = "custom";

/// Returns what speaks for a finding, one line for each relationship, those that are there first.
pub(crate) fn finding_reasons(findings: &ReportedFindings<'_>, row: &FindingRow<'_>) -> Vec<String> {
    let evidence = &row.finding.evidence;
    let there = evidence.iter().filter(|evidence| evidence.held && evidence.wanted);
    let missing = evidence.iter().filter(|evidence| !evidence.held && !evidence.wanted);
    let there = there.map(|evidence| present_relationship(findings, evidence));
    there.chain(missing.map(|evidence| absent_relationship(findings, row, evidence))).collect()
}

/// Returns the edge that a relationship is, if it is one.
pub(crate) fn edge_of<'s>(findings: &ReportedFindings<'s>, evidence: &Evidence) -> Option<Edge<'s>> {
    let graph = findings.context.graph;
    let end = if evidence.list == RelationshipList::Common { evidence.through } else { evidence.to };
    graph.between(evidence.from?, end?, graph.edge_type(&evidence.relationship)?)
}

/// Returns what nearly is in a relationship that is missing.
pub(crate) fn near_miss<'r>(row: &'r FindingRow<'_>, evidence: &Evidence) -> Option<&'r str> {
    row.near.iter().find(|(entry, _)| *entry == evidence.entry).map(|(_, near)| near.as_str())
}

/// As `Service shop/web EXPOSES Pod shop/web-0 (spec.selector)`.
fn present_relationship(findings: &ReportedFindings<'_>, evidence: &Evidence) -> String {
    let called = |id: Option<Id>| id.map(|id| findings.label(id)).unwrap_or_default();
    let (from, to) = (called(evidence.from), called(evidence.to));
    let name = &evidence.relationship;
    let via = evidence.via.as_str();
    if evidence.relationship == CUSTOM_RELATIONSHIP {
        return match evidence.description.as_str() {
            "" => format!("{from} and {to} meet the criteria ({via})"),
            description => description.trim_end_matches('.').to_owned(),
        };
    }
    match (evidence.list, evidence.through, edge_of(findings, evidence)) {
        (RelationshipList::Common, Some(through), _) => {
            let details: Vec<&str> =
                [name.as_str(), via].into_iter().filter(|part| !part.is_empty()).collect();
            format!("{from} and {to} share {} ({})", findings.label(through), details.join(", "))
        }
        (_, through, edge) => {
            let (from, to) =
                edge.map_or((from, to), |edge| (findings.label(edge.from), findings.label(edge.to)));
            let through = through.map(|through| format!("through {}", findings.label(through)));
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
fn absent_relationship(findings: &ReportedFindings<'_>, row: &FindingRow<'_>, evidence: &Evidence) -> String {
    let called = |role: &Text| {
        let bound = row.finding.roles.iter().find(|(own, _)| own == role);
        bound.map_or_else(|| format!("any `{role}`"), |(_, id)| findings.label(*id))
    };
    let (one, other) = &evidence.between;
    let missing = match evidence.description.as_str() {
        // Others mostly say what it would mean if it were there.
        description if !description.is_empty() && is_shipped(row.pattern) => {
            description.trim_end_matches('.').to_owned()
        }
        _ if evidence.relationship == CUSTOM_RELATIONSHIP => {
            format!("{} and {} do not meet the criteria", called(one), called(other))
        }
        _ => format!("no {} between {} and {}", evidence.relationship, called(one), called(other)),
    };
    match near_miss(row, evidence) {
        Some(near) => format!("{missing}; {near}"),
        None => missing,
    }
}
