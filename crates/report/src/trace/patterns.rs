//! The traces of patterns as one JSON document.

use std::collections::BTreeMap;

use kubewright_graph::{Graph, GraphNode, Id};
use kubewright_patterns::{
    Candidacy, ConditionCheck, LabelDifference, MissReason, NearMiss, NearMisses, Pattern, PatternFinding,
    PatternFindings, TraceStep,
};
use kubewright_value::{Map, Text, Value, json};

use super::LeaderReport;
use crate::FilePosition;
use crate::render::{DOCUMENT_VERSION, location_values};

/// Returns the whole document as text.
#[must_use]
pub fn document_text(traces: Vec<Value>, patterns: Vec<Value>) -> String {
    json::to_shown_pretty(
        &Map::from([
            ("version", DOCUMENT_VERSION.into()),
            ("traces", Value::array(traces)),
            ("patterns", Value::array(patterns)),
        ])
        .into(),
    )
}

/// Returns what became of a leader.
#[must_use]
pub fn leader_trace(leads: &LeaderReport<'_>, place: Option<&FilePosition>) -> Value {
    let (trace, graph) = (leads.trace, leads.graph);
    let steps = trace.steps.iter().zip(leads.near).map(|(step, near)| step_value(step, near.as_ref(), graph));
    let findings = leads.findings().map(|finding| traced_finding_value(finding, graph));
    let mut item = pattern_trace_head(leads.pattern, trace.leader, graph, place);
    let rest = [
        ("phase", Value::from(trace.phase.name())),
        ("reason", trace.reason.as_str().into()),
        ("points", trace.points.as_ref().map(|points| decimal_value(&points.to_string())).into()),
        ("minimum", decimal_value(&leads.pattern.minimum().to_string())),
        ("maximum", decimal_value(&leads.pattern.maximum().to_string())),
        ("roles", roles_value(&trace.roles, graph)),
        ("steps", steps.collect::<Vec<_>>().into()),
        ("findings", findings.collect::<Vec<_>>().into()),
    ];
    rest.into_iter().for_each(|(key, value)| drop(item.insert(key.into(), value)));
    item.into()
}

/// Returns why an object does not lead.
#[must_use]
pub fn left_out_trace(
    pattern: &Pattern,
    id: Id,
    all: &[Candidacy],
    graph: &Graph,
    place: Option<&FilePosition>,
) -> Value {
    let one = |candidacy: &Candidacy| -> Value {
        Map::from([
            ("role", Value::from(candidacy.role.clone())),
            ("leads", candidacy.is_leader.into()),
            ("passes", candidacy.passes.into()),
            ("conditions", candidacy.conditions.iter().map(condition_value).collect::<Vec<_>>().into()),
        ])
        .into()
    };
    let mut item = pattern_trace_head(pattern, id, graph, place);
    item.insert("phase".into(), "filter".into());
    item.insert("candidacies".into(), all.iter().map(one).collect::<Vec<_>>().into());
    item.into()
}

/// Returns how many there were of a pattern.
#[must_use]
pub fn pattern_summary(
    pattern: &Pattern,
    found: &PatternFindings,
    left_out: &BTreeMap<Text, usize>,
) -> Value {
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

fn pattern_trace_head(pattern: &Pattern, id: Id, graph: &Graph, place: Option<&FilePosition>) -> Map {
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

fn step_value(step: &TraceStep, near: Option<&NearMisses>, graph: &Graph) -> Value {
    let (file, line, column) = location_values(Some(&step.location));
    let mut item = Map::from([
        ("entry", Value::from(step.entry.clone())),
        ("relationship", step.relationship.clone().into()),
        ("rule", step.rule.into()),
        ("held", step.held.into()),
        ("wanted", step.wanted.into()),
        ("points", decimal_value(&step.points.to_string())),
        ("with", object_path_value(step.with, graph)),
        ("through", object_path_value(step.through, graph)),
        ("via", step.via.clone().into()),
        ("patternFile", file),
        ("patternLine", line),
        ("patternColumn", column),
    ]);
    if let Some(near) = near {
        item.insert("near".into(), nearest_value(near, graph));
    }
    item.into()
}

fn nearest_value(nearest: &NearMisses, graph: &Graph) -> Value {
    let one = |near: &NearMiss| -> Value {
        let (miss, labels) = match &near.miss {
            MissReason::Labels(differences) => ("labels", differences.as_slice()),
            MissReason::LeftOut => ("filter", &[][..]),
            MissReason::Elsewhere => ("namespace", &[][..]),
            MissReason::Absent => ("absent", &[][..]),
            MissReason::Edge => ("edge", &[][..]),
            MissReason::Criteria => ("criteria", &[][..]),
            MissReason::Apart { .. } => ("apart", &[][..]),
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
            ("object", object_path_value(Some(near.id), graph)),
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

fn traced_finding_value(finding: &PatternFinding, graph: &Graph) -> Value {
    Map::from([
        ("roles", roles_value(&finding.roles, graph)),
        ("points", decimal_value(&finding.points.to_string())),
        ("confidence", finding.confidence_level().name().into()),
        ("message", finding.message.as_str().into()),
    ])
    .into()
}

fn condition_value(checked: &ConditionCheck) -> Value {
    let (file, line, column) = location_values(Some(&checked.location));
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

fn roles_value(roles: &[(Text, Id)], graph: &Graph) -> Value {
    let all: Map =
        roles.iter().map(|(role, id)| (role.clone(), object_path_value(Some(*id), graph))).collect();
    all.into()
}

/// Returns the path of an object; null where there is none.
fn object_path_value(id: Option<Id>, graph: &Graph) -> Value {
    id.and_then(|id| graph.node(id)).map(graph_object_path).into()
}

/// Returns `Kind/namespace/name`, as `trace --object` takes it.
#[must_use]
pub fn graph_object_path(node: &GraphNode) -> String {
    match node.namespace.as_str() {
        "" => format!("{}/{}", node.kind, node.name),
        namespace => format!("{}/{namespace}/{}", node.kind, node.name),
    }
}

/// Returns a decimal as a number.
fn decimal_value(text: &str) -> Value {
    json::parse(text).unwrap_or_else(|_| text.into())
}
