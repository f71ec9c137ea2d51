//! The traces of patterns as one JSON document.

use std::collections::BTreeMap;

use kubewright_dialects::patterns::{
    Candidacy, ConditionCheck, LabelDifference, MissReason, NearMiss, NearMisses, Pattern, PatternFinding,
    PatternFindings, TraceStep,
};
use kubewright_graph::{Graph, Id};
use kubewright_value::{Map, Text, Value, json};

use super::story::Leader;
use crate::output::json_place;
use crate::review::Place;

/// Returns the whole document.
pub(super) fn document(traces: Vec<Value>, patterns: Vec<Value>) -> String {
    json::to_shown_pretty(
        &Map::from([("traces", Value::array(traces)), ("patterns", Value::array(patterns))]).into(),
    )
}

/// Returns what became of a leader.
pub(super) fn leader(leads: &Leader<'_>, place: Option<&Place>) -> Value {
    let (trace, graph) = (leads.trace, leads.graph);
    let steps = trace.steps.iter().zip(leads.near).map(|(step, near)| self::step(step, near.as_ref(), graph));
    let findings = leads.findings().map(|finding| self::finding(finding, graph));
    let mut item = head(leads.pattern, trace.leader, graph, place);
    let rest = [
        ("phase", Value::from(trace.phase.name())),
        ("reason", trace.reason.as_str().into()),
        ("points", trace.points.as_ref().map(|points| number(&points.to_string())).into()),
        ("minimum", number(&leads.pattern.minimum().to_string())),
        ("maximum", number(&leads.pattern.maximum().to_string())),
        ("roles", roles(&trace.roles, graph)),
        ("steps", steps.collect::<Vec<_>>().into()),
        ("findings", findings.collect::<Vec<_>>().into()),
    ];
    rest.into_iter().for_each(|(key, value)| drop(item.insert(key.into(), value)));
    item.into()
}

/// Returns why an object does not lead.
pub(super) fn left_out(
    pattern: &Pattern,
    id: Id,
    all: &[Candidacy],
    graph: &Graph,
    place: Option<&Place>,
) -> Value {
    let one = |candidacy: &Candidacy| -> Value {
        Map::from([
            ("role", Value::from(candidacy.role.clone())),
            ("leads", candidacy.is_leader.into()),
            ("passes", candidacy.passes.into()),
            ("conditions", candidacy.conditions.iter().map(condition).collect::<Vec<_>>().into()),
        ])
        .into()
    };
    let mut item = head(pattern, id, graph, place);
    item.insert("phase".into(), "filter".into());
    item.insert("candidacies".into(), all.iter().map(one).collect::<Vec<_>>().into());
    item.into()
}

/// Returns how many there were of a pattern.
pub(super) fn pattern(pattern: &Pattern, found: &PatternFindings, left_out: &BTreeMap<Text, usize>) -> Value {
    let left_out: Map = left_out.iter().map(|(kind, count)| (kind.clone(), Value::from(*count))).collect();
    Map::from([
        ("pattern", Value::from(pattern.name.clone())),
        ("leaders", found.leaders.into()),
        ("findings", found.findings.len().into()),
        ("truncated", found.truncated.into()),
        ("leftOut", left_out.into()),
    ])
    .into()
}

fn head(pattern: &Pattern, id: Id, graph: &Graph, place: Option<&Place>) -> Map {
    let mut item = Map::from([("pattern", Value::from(pattern.name.clone()))]);
    if let Some(node) = graph.node(id) {
        item.insert("kind".into(), node.kind.clone().into());
        item.insert("namespace".into(), node.namespace.clone().into());
        item.insert("name".into(), node.name.clone().into());
    }
    if let Some(place) = place {
        item.insert("file".into(), place.file.clone().into());
        item.insert("line".into(), u64::from(place.position.line).into());
    }
    item
}

fn step(step: &TraceStep, near: Option<&NearMisses>, graph: &Graph) -> Value {
    let (file, line, column) = json_place(Some(&step.location));
    let mut item = Map::from([
        ("entry", Value::from(step.entry.clone())),
        ("relationship", step.relationship.clone().into()),
        ("rule", step.rule.into()),
        ("held", step.held.into()),
        ("wanted", step.wanted.into()),
        ("points", number(&step.points.to_string())),
        ("with", object(step.with, graph)),
        ("through", object(step.through, graph)),
        ("via", step.via.clone().into()),
        ("patternFile", file),
        ("patternLine", line),
        ("patternColumn", column),
    ]);
    if let Some(near) = near {
        item.insert("near".into(), nearest(near, graph));
    }
    item.into()
}

fn nearest(nearest: &NearMisses, graph: &Graph) -> Value {
    let one = |near: &NearMiss| -> Value {
        let (miss, labels) = match &near.miss {
            MissReason::Labels(differences) => ("labels", differences.as_slice()),
            MissReason::LeftOut => ("filter", &[][..]),
            MissReason::Elsewhere => ("namespace", &[][..]),
            MissReason::Absent => ("absent", &[][..]),
            MissReason::Edge => ("edge", &[][..]),
            MissReason::Criteria => ("criteria", &[][..]),
        };
        let label = |difference: &LabelDifference| -> Value {
            Map::from([
                ("label", Value::from(difference.label.clone())),
                ("wanted", difference.wanted.as_str().into()),
                ("found", difference.found.clone().into()),
            ])
            .into()
        };
        let labels: Vec<Value> = labels.iter().map(label).collect();
        Map::from([
            ("object", object(Some(near.id), graph)),
            ("miss", miss.into()),
            ("labels", labels.into()),
        ])
        .into()
    };
    Map::from([
        ("hint", Value::from(nearest.hint(graph))),
        ("lookedAt", nearest.looked_at.into()),
        ("nearest", nearest.near.iter().map(one).collect::<Vec<_>>().into()),
    ])
    .into()
}

fn finding(finding: &PatternFinding, graph: &Graph) -> Value {
    Map::from([
        ("roles", roles(&finding.roles, graph)),
        ("points", number(&finding.points.to_string())),
        ("confidence", finding.confidence_level().name().into()),
        ("message", finding.message.as_str().into()),
    ])
    .into()
}

fn condition(checked: &ConditionCheck) -> Value {
    let (file, line, column) = json_place(Some(&checked.location));
    Map::from([
        ("list", Value::from(checked.list)),
        ("condition", checked.condition.as_str().into()),
        ("found", checked.found.iter().map(|value| Value::from(value.as_str())).collect::<Vec<_>>().into()),
        ("held", checked.held.into()),
        ("discards", checked.discards.into()),
        ("patternFile", file),
        ("patternLine", line),
        ("patternColumn", column),
    ])
    .into()
}

fn roles(roles: &[(Text, Id)], graph: &Graph) -> Value {
    let all: Map = roles.iter().map(|(role, id)| (role.clone(), object(Some(*id), graph))).collect();
    all.into()
}

/// `Kind/namespace/name`, as `--object` takes it.
fn object(id: Option<Id>, graph: &Graph) -> Value {
    id.and_then(|id| graph.node(id)).map(super::called).into()
}

/// Returns a decimal as a number.
fn number(text: &str) -> Value {
    json::parse(text).unwrap_or_else(|_| text.into())
}
