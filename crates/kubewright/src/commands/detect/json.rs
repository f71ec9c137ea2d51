//! One document with stable keys, as JSON or YAML: see `docs/detect.md`. Nothing in it depends on the time, so that two
//! runs on the same input are the same. Each finding is written as soon as it is made, because there may be many.

use std::io::{self, Write as _};

use kubewright_dialects::patterns::{Evidence, Pattern, RelationshipList};
use kubewright_graph::{Id, Sort};
use kubewright_value::{Map, Value, json};

use super::reason::{edge, near, reasons};
use super::report::{Report, Row, Run};
use crate::output::{Target, json_diagnostic, json_place, yaml_text};
use crate::survey::is_shipped;

/// Writes JSON, with each finding and each pattern on a line of its own.
pub(super) fn write(report: &Report<'_>, mut out: Target) -> io::Result<()> {
    write!(out, "{{")?;
    let rows = report.rows.iter().map(|row| finding(report, row));
    list(&mut out, "findings", rows)?;
    list(&mut out, "patterns", report.runs.iter().map(run))?;
    list(&mut out, "diagnostics", report.diagnostics.iter().map(json_diagnostic))?;
    writeln!(out, "\n\"summary\": {}\n}}", json::to_shown_string(&summary(report)))?;
    out.flush()
}

fn list(out: &mut Target, key: &str, items: impl Iterator<Item = Value>) -> io::Result<()> {
    write!(out, "\n\"{key}\": [")?;
    let mut is_first = true;
    for item in items {
        let start = if std::mem::take(&mut is_first) { "\n" } else { ",\n" };
        write!(out, "{start}{}", json::to_shown_string(&item))?;
    }
    write!(out, "{}],", if is_first { "" } else { "\n" })
}

/// Writes the same as YAML.
pub(super) fn write_yaml(report: &Report<'_>, mut out: Target) -> io::Result<()> {
    let rows = report.rows.iter().map(|row| finding(report, row));
    yaml_list(&mut out, "findings", rows)?;
    yaml_list(&mut out, "patterns", report.runs.iter().map(run))?;
    yaml_list(&mut out, "diagnostics", report.diagnostics.iter().map(json_diagnostic))?;
    let summary = Map::from([("summary", summary(report))]);
    out.write_all(yaml_text(&summary.into()).as_bytes())?;
    out.flush()
}

fn yaml_list(out: &mut Target, key: &str, items: impl Iterator<Item = Value>) -> io::Result<()> {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return writeln!(out, "{key}: []");
    }
    writeln!(out, "{key}:")?;
    for item in items {
        out.write_all(yaml_text(&Value::array(vec![item])).as_bytes())?;
    }
    Ok(())
}

fn finding(report: &Report<'_>, row: &Row<'_>) -> Value {
    let found = &row.finding;
    let resources = found.roles.iter().map(|(role, id)| {
        let mut resource = object(report, *id);
        resource.insert_at(0, "role".into(), role.clone().into());
        Value::from(resource)
    });
    let witnesses = found.witnesses.iter().map(|(role, ids)| {
        let objects: Vec<Value> = ids.iter().map(|id| object(report, *id).into()).collect();
        (role.clone(), objects.into())
    });
    let scores = found.scores.iter().map(|(list, points, maximum)| {
        Map::from([
            ("list", Value::from(list_name(*list))),
            ("points", points.as_f64().into()),
            ("maximum", maximum.as_f64().into()),
        ])
    });
    let evidence: Vec<Value> = found.evidence.iter().map(|each| self::evidence(report, row, each)).collect();
    let reasons: Vec<Value> = reasons(report, row).into_iter().map(Value::from).collect();
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

fn evidence(report: &Report<'_>, row: &Row<'_>, evidence: &Evidence) -> Value {
    let place = |id: Option<Id>| id.map(|id| Value::from(object(report, id))).unwrap_or(Value::Null);
    let edge = edge(report, evidence);
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
        ("dangling", edge.is_some_and(|edge| report.survey.graph.is_dangling(&edge)).into()),
        ("near", near(row, evidence).map_or(Value::Null, Value::from)),
        ("description", evidence.description.as_str().into()),
    ])
    .into()
}

/// Returns what an object is called, and where it stands; a place is null for what others name and nobody wrote.
fn object(report: &Report<'_>, id: Id) -> Map {
    let Some(node) = report.node(id) else { return Map::new() };
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
    if let Some(place) = report.survey.place(id) {
        object.insert("file".into(), place.file.clone().into());
        object.insert("line".into(), u64::from(place.position.line).into());
    }
    object
}

fn run(run: &Run<'_>) -> Value {
    let mut about = about(run.pattern);
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
pub(super) fn about(pattern: &Pattern) -> Map {
    let shipped = is_shipped(pattern);
    let (file, line, _) = json_place((!shipped).then_some(&pattern.location));
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

fn summary(report: &Report<'_>) -> Value {
    let mut summary = Map::from([
        ("objects", Value::from(report.survey.objects)),
        ("patterns", report.runs.len().into()),
        ("findings", report.runs.iter().map(|run| run.findings).sum::<usize>().into()),
        ("suppressed", report.suppressed().into()),
        ("truncated", report.is_truncated().into()),
    ]);
    for (level, count) in report.counts() {
        summary.insert(level.name().to_lowercase().into(), count.into());
    }
    summary.into()
}
