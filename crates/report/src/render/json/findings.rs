//! Findings as JSON. Nothing depends on the time, so that two runs on the same input are the same.

use kubewright_engine::Diagnostic;
use kubewright_graph::{Id, Sort};
use kubewright_patterns::{Evidence, Pattern, RelationshipList};
use kubewright_value::{Map, Value};

use super::{DOCUMENT_VERSION, diagnostic_value, location_values};
use crate::findings::{edge_of, finding_reasons, is_shipped, near_miss};
use crate::{FindingRow, PatternRun, ReportedFindings};

/// Returns each finding.
pub(in crate::render) fn finding_values<'f>(
    findings: &'f ReportedFindings<'f>,
) -> impl Iterator<Item = Value> + 'f {
    findings.rows.iter().map(|row| finding_row_value(findings, row))
}

/// Returns what came of each pattern.
pub(in crate::render) fn run_values<'f>(
    findings: &'f ReportedFindings<'f>,
) -> impl Iterator<Item = Value> + 'f {
    findings.runs.iter().map(run_value)
}

/// Returns the document of `detect`.
#[must_use]
pub fn findings_document(findings: &ReportedFindings<'_>, diagnostics: &[Diagnostic]) -> Value {
    Map::from([
        ("version", Value::from(DOCUMENT_VERSION)),
        ("findings", finding_values(findings).collect::<Vec<_>>().into()),
        ("patterns", run_values(findings).collect::<Vec<_>>().into()),
        ("diagnostics", diagnostics.iter().map(diagnostic_value).collect::<Vec<_>>().into()),
        ("summary", findings_summary(findings)),
    ])
    .into()
}

/// Returns one finding.
#[must_use]
pub fn finding_row_value(findings: &ReportedFindings<'_>, row: &FindingRow<'_>) -> Value {
    let found = &row.finding;
    let resources = found.roles.iter().map(|(role, id)| {
        let mut resource = finding_object_value(findings, *id);
        resource.insert_at(0, "role".into(), role.clone().into());
        Value::from(resource)
    });
    let witnesses = found.witnesses.iter().map(|(role, ids)| {
        let objects: Vec<Value> = ids.iter().map(|id| finding_object_value(findings, *id).into()).collect();
        (role.clone(), objects.into())
    });
    let scores = found.scores.iter().map(|(list, points, maximum)| {
        Map::from([
            ("list", Value::from(list_name(*list))),
            ("points", points.as_f64().into()),
            ("maximum", maximum.as_f64().into()),
        ])
    });
    let evidence: Vec<Value> =
        found.evidence.iter().map(|each| evidence_value(findings, row, each)).collect();
    let reasons: Vec<Value> = finding_reasons(findings, row).into_iter().map(Value::from).collect();
    let mut finding = Map::from([
        ("pattern", Value::from(row.pattern.name.clone())),
        ("severity", found.severity.name().into()),
        ("category", row.pattern.category.clone().into()),
        ("message", found.message.as_str().into()),
        ("points", found.points.as_f64().into()),
        ("maximum", found.maximum.as_f64().into()),
        ("confidence", found.confidence_level().name().into()),
        ("confidencePercent", found.confidence.into()),
        ("scores", scores.collect::<Vec<_>>().into()),
        ("resources", Value::array(resources.collect())),
        ("witnesses", witnesses.collect::<Map>().into()),
        ("evidence", evidence.into()),
        ("reasons", reasons.into()),
        ("suppressed", row.suppression.is_some().into()),
    ]);
    if let Some(reason) = row.suppression.as_ref().filter(|reason| !reason.is_empty()) {
        finding.insert("suppressionReason".into(), reason.clone().into());
    }
    finding.into()
}

fn evidence_value(findings: &ReportedFindings<'_>, row: &FindingRow<'_>, evidence: &Evidence) -> Value {
    let place =
        |id: Option<Id>| id.map(|id| Value::from(finding_object_value(findings, id))).unwrap_or(Value::Null);
    let edge = edge_of(findings, evidence);
    let (one, other) = evidence.between.clone();
    Map::from([
        ("entry", Value::from(evidence.entry.clone())),
        ("relationship", evidence.relationship.clone().into()),
        ("list", list_name(evidence.list).into()),
        ("rule", evidence.rule.into()),
        ("held", evidence.held.into()),
        ("wanted", evidence.wanted.into()),
        ("points", evidence.points.as_f64().into()),
        ("between", vec![one, other].into()),
        ("from", place(evidence.from)),
        ("to", place(evidence.to)),
        ("through", place(evidence.through)),
        ("via", evidence.via.clone().into()),
        ("strength", edge.map(|edge| edge.strength.name()).map_or(Value::Null, Value::from)),
        ("dangling", edge.is_some_and(|edge| findings.context.graph.is_dangling(&edge)).into()),
        ("near", near_miss(row, evidence).map_or(Value::Null, Value::from)),
        ("description", evidence.description.as_str().into()),
    ])
    .into()
}

/// Returns the name of an object, and where it was read; an object that others name and no file contains has no file.
fn finding_object_value(findings: &ReportedFindings<'_>, id: Id) -> Map {
    let Some(node) = findings.node(id) else { return Map::new() };
    let mut object = Map::from([
        ("apiVersion", Value::from(node.api_version.clone())),
        ("kind", node.kind.clone().into()),
        ("namespace", node.namespace.clone().into()),
        ("name", node.name.clone().into()),
    ]);
    if !node.uid.is_empty() {
        object.insert("uid".into(), node.uid.clone().into());
    }
    if node.sort != Sort::Object {
        object.insert("sort".into(), node.sort.name().into());
        return object;
    }
    if let Some(place) = findings.context.positions.get(id) {
        object.insert("file".into(), place.file.into());
        object.insert("line".into(), u64::from(place.position.line).into());
    }
    object
}

fn run_value(run: &PatternRun<'_>) -> Value {
    let mut about = pattern_value(run.pattern);
    for (key, value) in [
        ("leaders", Value::from(run.leaders)),
        ("findings", run.findings.into()),
        ("suppressed", run.suppressed.into()),
        ("truncated", run.truncated.into()),
    ] {
        about.insert(key.into(), value);
    }
    about.into()
}

/// Returns what a pattern says about itself.
#[must_use]
pub fn pattern_value(pattern: &Pattern) -> Map {
    let shipped = is_shipped(pattern);
    let (file, line, _) = location_values((!shipped).then_some(&pattern.location));
    Map::from([
        ("name", Value::from(pattern.name.clone())),
        ("displayName", pattern.display_name.clone().into()),
        ("severity", pattern.severity.name().into()),
        ("category", pattern.category.clone().into()),
        ("type", pattern.pattern_type.clone().into()),
        ("version", pattern.version.clone().into()),
        ("description", pattern.description.clone().into()),
        ("docUrl", pattern.doc_url.clone().into()),
        ("shipped", shipped.into()),
        ("file", file),
        ("line", line),
    ])
}

fn list_name(list: RelationshipList) -> &'static str {
    match list {
        RelationshipList::Relationships => "relationships",
        RelationshipList::Common => "commonRelationships",
    }
}

/// Returns how many findings there are of each severity.
pub(in crate::render) fn findings_summary(findings: &ReportedFindings<'_>) -> Value {
    let mut summary = Map::from([
        ("objects", Value::from(findings.context.objects)),
        ("patterns", findings.runs.len().into()),
        ("findings", findings.runs.iter().map(|run| run.findings).sum::<usize>().into()),
        ("suppressed", findings.suppressed().into()),
        ("truncated", findings.is_truncated().into()),
    ]);
    for (level, count) in findings.counts() {
        summary.insert(level.name().to_lowercase().into(), count.into());
    }
    summary.into()
}
