//! Findings as SARIF: a result for each, at the line of its leader.

use kubewright_graph::Id;
use kubewright_patterns::Pattern;
use kubewright_value::{Map, Value};

use super::{DescriptorTexts, SarifFiles, descriptor, sarif_message};
use crate::findings::finding_reasons;
use crate::{AnnotationLevel, FindingRow, ReportedFindings, Severity, shipped_page, visible};

impl SarifFiles {
    /// Returns a finding as a result. Suppressed ones are included, because SARIF has a word for them.
    pub(super) fn finding_result(self, findings: &ReportedFindings<'_>, row: &FindingRow<'_>) -> Map {
        let found = &row.finding;
        let mut text = visible(&found.message).into_owned();
        for reason in finding_reasons(findings, row) {
            text.push_str(&format!("\n{}", visible(&reason)));
        }
        let mut result = Map::from([
            ("ruleId", Value::from(row.pattern.name.clone())),
            ("level", AnnotationLevel::from(Severity::from(found.severity)).name().into()),
            ("message", sarif_message(&text)),
        ]);
        let leader = found.roles.first().map(|(_, id)| *id);
        result.insert(
            "locations".into(),
            Value::array(
                leader.and_then(|id| self.object_location(findings, id, None)).into_iter().collect(),
            ),
        );
        let others = found.roles.iter().skip(1).map(|(role, id)| (role, *id));
        let witnesses = found.witnesses.iter().flat_map(|(role, ids)| ids.iter().map(move |id| (role, *id)));
        let related: Vec<Value> = others
            .chain(witnesses)
            .filter_map(|(role, id)| self.object_location(findings, id, Some(role)))
            .collect();
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
        result
    }

    /// Returns where an object was read, and its role in the finding.
    fn object_location(self, findings: &ReportedFindings<'_>, id: Id, role: Option<&str>) -> Option<Value> {
        let place = findings.context.positions.get(id)?;
        let called = visible(&findings.label(id)).into_owned();
        let mut location =
            Map::from([("physicalLocation", self.physical_location(&place.file, place.position))]);
        let logical = Map::from([("fullyQualifiedName", Value::from(called.as_str()))]);
        location.insert("logicalLocations".into(), vec![logical].into());
        if let Some(role) = role {
            location.insert("message".into(), sarif_message(&format!("{}: {called}", visible(role))));
        }
        Some(location.into())
    }
}

/// Returns what a pattern says about itself.
pub(super) fn pattern_descriptor(pattern: &Pattern) -> Value {
    let title = if pattern.display_name.is_empty() { &pattern.name } else { &pattern.display_name };
    let text = if pattern.description.is_empty() { title } else { &pattern.description };
    let (title, text) = (visible(title), visible(text));
    let help = shipped_page(pattern).unwrap_or(&text);
    let severity = Severity::from(pattern.severity);
    let texts = DescriptorTexts { id: &pattern.name, name: &pattern.name, title: &title, text: &text, help };
    let mut rule = descriptor(texts);
    if ["http://", "https://"].iter().any(|start| pattern.doc_url.starts_with(start))
        && !pattern.doc_url.contains(' ')
    {
        rule.0.insert("helpUri".into(), pattern.doc_url.clone().into());
    }
    rule.with(severity, severity.into(), &pattern.category)
}
