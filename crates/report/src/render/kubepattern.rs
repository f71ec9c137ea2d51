//! Findings as the resources in which pattern engines store them: K8sPattern and Smell.

use std::io::{self, Write as _};

use kubewright_graph::Graph;
use kubewright_patterns::resources::{ResourcePlacement, k8s_pattern, smell};
use kubewright_patterns::{Pattern, PatternFinding};
use kubewright_value::Value;

use super::{Renderer, ReportWriter, yaml_text};
use crate::{ObjectRow, Report, ReportedFindings, Results, Totals};

/// Makes the resource of a finding.
type MakeResource = fn(&Pattern, &PatternFinding, &Graph, ResourcePlacement<'_>) -> Value;

/// Renders a resource for each finding.
pub(super) struct ResourceRenderer {
    out: ReportWriter,
    make: MakeResource,
}

impl ResourceRenderer {
    /// Returns a renderer of K8sPatterns.
    pub(super) fn k8s_patterns(out: ReportWriter) -> Self {
        Self { out, make: k8s_pattern }
    }

    /// Returns a renderer of Smells.
    pub(super) fn smells(out: ReportWriter) -> Self {
        Self { out, make: smell }
    }

    fn write_resources(&mut self, findings: &ReportedFindings<'_>) -> io::Result<()> {
        for (place, row) in findings.rows.iter().enumerate() {
            if place > 0 {
                writeln!(self.out, "---")?;
            }
            let keeping = ResourcePlacement {
                namespace: findings.options.resource_namespace,
                beside_object: findings.options.is_beside_object,
                suppressed: row.suppression.is_some(),
            };
            let resource = (self.make)(row.pattern, &row.finding, findings.context.graph, keeping);
            self.out.write_all(yaml_text(&resource).as_bytes())?;
        }
        Ok(())
    }
}

impl Renderer for ResourceRenderer {
    fn object(&mut self, _row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        if let Results::Findings(found) | Results::Objects(Totals { findings: Some(found), .. }) =
            &report.results
        {
            self.write_resources(found)?;
        }
        self.out.flush()
    }
}
