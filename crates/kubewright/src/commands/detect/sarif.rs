//! SARIF 2.1.0, for code scanning: a result for each finding, at the line of the object that leads it.

use std::io;

use kubewright_graph::Id;
use kubewright_patterns::{Level, Pattern};
use kubewright_value::{Map, Value};

use super::reason::reasons;
use super::report::{Report, Row, page};
use crate::output::{Sarif, Target, sarif_message, sarif_page, sarif_place, visible};

/// Writes the findings, suppressed ones too, which SARIF has a word for.
pub(super) fn write(report: &Report<'_>, out: Target) -> io::Result<()> {
    let mut sarif = Sarif::new(out);
    for row in &report.rows {
        sarif.result(&result(report, row))?;
    }
    let rules = report.runs.iter().map(|run| rule(run.pattern)).collect();
    sarif.end(rules, &report.diagnostics)
}

fn result(report: &Report<'_>, row: &Row<'_>) -> Value {
    let found = &row.finding;
    let mut text = visible(&found.message).into_owned();
    for reason in reasons(report, row) {
        text.push_str(&format!("\n{}", visible(&reason)));
    }
    let mut result = Map::from([
        ("ruleId", Value::from(row.pattern.name.clone())),
        ("level", level(found.severity).into()),
        ("message", sarif_message(&text)),
    ]);
    let leader = found.roles.first().map(|(_, id)| *id);
    result.insert(
        "locations".into(),
        Value::array(leader.and_then(|id| place(report, id, None)).into_iter().collect()),
    );
    let others = found.roles.iter().skip(1).map(|(role, id)| (role, *id));
    let witnesses = found.witnesses.iter().flat_map(|(role, ids)| ids.iter().map(move |id| (role, *id)));
    let related: Vec<Value> =
        others.chain(witnesses).filter_map(|(role, id)| place(report, id, Some(role))).collect();
    if !related.is_empty() {
        result.insert("relatedLocations".into(), Value::array(related));
    }
    if let Some(reason) = &row.suppression {
        let mut suppression = Map::from([("kind", Value::from("inSource"))]);
        if !reason.is_empty() {
            suppression.insert("justification".into(), visible(reason).into_owned().into());
        }
        result.insert("suppressions".into(), vec![suppression].into());
    }
    let properties = Map::from([
        ("points", Value::from(found.points.as_f64())),
        ("maximum", found.maximum.as_f64().into()),
        ("confidence", found.confidence_level().name().into()),
    ]);
    result.insert("properties".into(), properties.into());
    result.into()
}

/// Returns where an object stands, and what part it has in the finding.
fn place(report: &Report<'_>, id: Id, role: Option<&str>) -> Option<Value> {
    let place = report.survey.place(id)?;
    let called = visible(&report.called(id)).into_owned();
    let mut location = Map::from([("physicalLocation", sarif_place(&place.file, place.position))]);
    let logical = Map::from([("fullyQualifiedName", Value::from(called.as_str()))]);
    location.insert("logicalLocations".into(), vec![logical].into());
    if let Some(role) = role {
        location.insert("message".into(), sarif_message(&format!("{}: {called}", visible(role))));
    }
    Some(location.into())
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Critical | Level::High => "error",
        Level::Warning | Level::Medium => "warning",
        Level::Low | Level::Info => "note",
    }
}

fn rule(pattern: &Pattern) -> Value {
    let title = if pattern.display_name.is_empty() { &pattern.name } else { &pattern.display_name };
    let text = if pattern.description.is_empty() { title } else { &pattern.description };
    let mut rule = Map::from([
        ("id", Value::from(pattern.name.clone())),
        ("name", visible(title).into_owned().into()),
        ("shortDescription", sarif_message(&visible(title))),
        ("fullDescription", sarif_message(&visible(text))),
        ("help", page(pattern).map_or_else(|| sarif_message(&visible(text)), sarif_page)),
        ("defaultConfiguration", Map::from([("level", Value::from(level(pattern.severity)))]).into()),
    ]);
    if ["http://", "https://"].iter().any(|start| pattern.doc_url.starts_with(start))
        && !pattern.doc_url.contains(' ')
    {
        rule.insert("helpUri".into(), pattern.doc_url.clone().into());
    }
    let mut properties =
        Map::from([("problem.severity", Value::from(pattern.severity.name().to_lowercase()))]);
    if !pattern.category.is_empty() {
        properties.insert("tags".into(), vec![pattern.category.clone()].into());
    }
    rule.insert("properties".into(), properties.into());
    rule.into()
}
