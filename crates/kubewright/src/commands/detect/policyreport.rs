//! `wgpolicyk8s.io/v1alpha2` reports: one for each namespace, one for findings about objects without any.

use std::io;

use kubewright_dialects::patterns::Level;
use kubewright_graph::GraphNode;
use kubewright_value::{Map, Text, Value};

use super::report::{Report, Row};
use crate::output::{Reports, Target, policy_resource};
use crate::review::Counts;

/// Writes the reports.
pub(super) fn write(report: &Report<'_>, mut out: Target) -> io::Result<()> {
    let mut reports = Reports::default();
    for row in &report.rows {
        let namespace = report.leader(row).map(|node| node.namespace.clone()).unwrap_or_default();
        let (word, counts) = match &row.suppression {
            Some(_) => ("skip", Counts { skip: 1, ..Counts::default() }),
            None if report.is_failure(row) => ("fail", Counts { fail: 1, ..Counts::default() }),
            None => ("warn", Counts { warn: 1, ..Counts::default() }),
        };
        reports.count(&namespace, counts);
        reports.add(&namespace, result(report, row, word));
    }
    reports.write(&mut out)
}

fn result(report: &Report<'_>, row: &Row<'_>, word: &str) -> Value {
    let found = &row.finding;
    let resource =
        |node: &GraphNode| policy_resource(&node.api_version, &node.kind, &node.namespace, &node.name);
    let resources: Vec<Map> =
        found.roles.iter().filter_map(|(_, id)| report.node(*id).map(resource)).collect();
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
        ("severity", severity(found.severity).into()),
        ("scored", true.into()),
        ("resources", resources.into()),
        ("properties", properties.into()),
    ]);
    if !row.pattern.category.is_empty() {
        result.insert(Text::new("category"), row.pattern.category.clone().into());
    }
    result.into()
}

fn severity(level: Level) -> &'static str {
    match level {
        Level::Critical => "critical",
        Level::High => "high",
        Level::Warning | Level::Medium => "medium",
        Level::Low => "low",
        Level::Info => "info",
    }
}
