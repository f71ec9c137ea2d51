//! Findings in PolicyReports.

use kubewright_graph::GraphNode;
use kubewright_value::{Map, Text, Value};

use super::{PolicyReportSet, report_object_reference};
use crate::{FindingRow, OutcomeCounts, ReportedFindings, Severity};

/// Adds each finding to the report of its leader's namespace.
pub(super) fn add_findings(findings: &ReportedFindings<'_>, reports: &mut PolicyReportSet) {
    for row in &findings.rows {
        let namespace = findings.leader(row).map(|node| node.namespace.clone()).unwrap_or_default();
        let (word, counts) = match &row.suppression {
            Some(_) => ("skip", OutcomeCounts { skip: 1, ..OutcomeCounts::default() }),
            None if findings.is_failure(row) => {
                ("fail", OutcomeCounts { fail: 1, ..OutcomeCounts::default() })
            }
            None => ("warn", OutcomeCounts { warn: 1, ..OutcomeCounts::default() }),
        };
        reports.count(&namespace, counts);
        reports.add(&namespace, report_finding_result(findings, row, word));
    }
}

fn report_finding_result(findings: &ReportedFindings<'_>, row: &FindingRow<'_>, word: &str) -> Value {
    let found = &row.finding;
    let reference = |node: &GraphNode| {
        report_object_reference(&node.api_version, &node.kind, &node.namespace, &node.name)
    };
    let resources: Vec<Map> =
        found.roles.iter().filter_map(|(_, id)| findings.node(*id).map(reference)).collect();
    let mut properties = Map::from([
        ("points", Value::from(found.points.to_string())),
        ("maximum", found.maximum.to_string().into()),
        ("confidence", found.confidence_level().name().into()),
    ]);
    if let Some(reason) = row.suppression.as_ref().filter(|reason| !reason.is_empty()) {
        properties.insert("suppressed".into(), reason.clone().into());
    }
    let mut result = Map::from([
        ("source", Value::from("kubewright")),
        ("policy", row.pattern.name.clone().into()),
        ("result", word.into()),
        ("message", found.message.as_str().into()),
        ("severity", Severity::from(found.severity).name().into()),
        ("scored", true.into()),
        ("resources", resources.into()),
        ("properties", properties.into()),
    ]);
    if !row.pattern.category.is_empty() {
        result.insert(Text::new("category"), row.pattern.category.clone().into());
    }
    result.into()
}
