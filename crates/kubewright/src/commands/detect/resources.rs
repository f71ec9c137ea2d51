//! Findings as resources that a cluster keeps.

use std::io::{self, Write as _};

use kubewright_dialects::patterns::resources::{ResourcePlacement, k8s_pattern, smell};
use kubewright_dialects::patterns::{Pattern, PatternFinding};
use kubewright_graph::Graph;
use kubewright_value::Value;

use super::report::Report;
use crate::output::{Target, yaml_text};

/// Writes a K8sPattern for each finding.
pub(super) fn patterns(report: &Report<'_>, out: Target) -> io::Result<()> {
    write(report, out, k8s_pattern)
}

/// Writes a Smell for each finding.
pub(super) fn smells(report: &Report<'_>, out: Target) -> io::Result<()> {
    write(report, out, smell)
}

fn write(
    report: &Report<'_>,
    mut out: Target,
    resource: fn(&Pattern, &PatternFinding, &Graph, ResourcePlacement<'_>) -> Value,
) -> io::Result<()> {
    for (place, row) in report.rows.iter().enumerate() {
        if place > 0 {
            writeln!(out, "---")?;
        }
        let keeping = ResourcePlacement {
            namespace: &report.arguments.target_namespace,
            beside_object: report.arguments.save_in_namespace,
            suppressed: row.suppression.is_some(),
        };
        let resource = resource(row.pattern, &row.finding, &report.survey.graph, keeping);
        out.write_all(yaml_text(&resource).as_bytes())?;
    }
    out.flush()
}
