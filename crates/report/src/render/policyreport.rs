//! `wgpolicyk8s.io/v1alpha2` reports: one for each namespace, one for objects without any.
//!
//! A skip that says no more than that the rule is not about the object is counted and has no row.

mod findings;

use std::collections::BTreeMap;
use std::io;

use kubewright_engine::RuleStatus;
use kubewright_value::{Map, Text, Value};

use super::{Renderer, ReportWriter, yaml_text};
use crate::{ObjectRow, OutcomeCounts, OutcomeRow, Report, Results, Totals};

/// Renders reports as objects that dashboards of a cluster read.
pub(super) struct PolicyReportRenderer {
    out: ReportWriter,
    reports: PolicyReportSet,
}

impl PolicyReportRenderer {
    /// Returns reports that are written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out, reports: PolicyReportSet::default() }
    }
}

impl Renderer for PolicyReportRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        self.reports.add_object(row);
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        if let Results::Findings(found) | Results::Objects(Totals { findings: Some(found), .. }) = &report.results {
            findings::add_findings(found, &mut self.reports);
        }
        std::mem::take(&mut self.reports).write(&mut self.out)
    }
}

/// One report for each namespace; the empty name is for objects without any.
#[derive(Debug, Default)]
pub struct PolicyReportSet(BTreeMap<Text, (OutcomeCounts, String)>);

impl PolicyReportSet {
    /// Adds the outcomes of an object. Its row needs all outcomes.
    pub fn add_object(&mut self, row: &ObjectRow) {
        self.count(&row.namespace, row.counts);
        let is_reported = |outcome: &&OutcomeRow| outcome.status != RuleStatus::Skip || outcome.is_judged;
        for outcome in row.outcomes.iter().filter(is_reported) {
            self.add(&row.namespace, report_outcome_result(outcome, row));
        }
    }

    /// Adds `counts` to the summary of a namespace.
    fn count(&mut self, namespace: &Text, counts: OutcomeCounts) {
        self.0.entry(namespace.clone()).or_default().0 += counts;
    }

    /// Adds a row to the report of a namespace.
    fn add(&mut self, namespace: &Text, result: Value) {
        // As text at once, because that is a fraction of the value's size.
        let text = yaml_text(&Value::array(vec![result]));
        self.0.entry(namespace.clone()).or_default().1.push_str(&text);
    }

    /// Writes all reports.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(self, out: &mut impl io::Write) -> io::Result<()> {
        for (place, (namespace, (counts, results))) in self.0.into_iter().enumerate() {
            if place > 0 {
                writeln!(out, "---")?;
            }
            out.write_all(yaml_text(&report_head(&namespace, counts)).as_bytes())?;
            match results.as_str() {
                "" => writeln!(out, "results: []")?,
                results => write!(out, "results:\n{results}")?,
            }
        }
        out.flush()
    }
}

/// Returns the reference of a result to an object.
fn report_object_reference(api_version: &Text, kind: &Text, namespace: &Text, name: &Text) -> Map {
    let mut resource = Map::new();
    for (key, text) in [("apiVersion", api_version), ("kind", kind), ("namespace", namespace), ("name", name)]
    {
        if !text.is_empty() {
            resource.insert(key.into(), text.clone().into());
        }
    }
    resource
}

/// Returns a report without its results.
fn report_head(namespace: &Text, counts: OutcomeCounts) -> Value {
    let mut metadata = Map::from([("name", Value::from("kubewright"))]);
    let kind = if namespace.is_empty() {
        "ClusterPolicyReport"
    } else {
        metadata.insert("namespace".into(), namespace.clone().into());
        "PolicyReport"
    };
    let summary = Map::from([
        ("pass", Value::from(counts.pass)),
        ("fail", counts.fail.into()),
        ("warn", counts.warn.into()),
        ("error", counts.error.into()),
        ("skip", counts.skip.into()),
    ]);
    Map::from([
        ("apiVersion", Value::from("wgpolicyk8s.io/v1alpha2")),
        ("kind", kind.into()),
        ("metadata", metadata.into()),
        ("summary", summary.into()),
    ])
    .into()
}

fn report_outcome_result(row: &OutcomeRow, object: &ObjectRow) -> Value {
    let resource =
        report_object_reference(&object.api_version, &object.kind, &object.namespace, &object.name);
    let policy = if row.rule.policy.is_empty() { &row.rule.rule } else { &row.rule.policy };
    let mut properties = Map::from([("dialect", Value::from(row.rule.dialect))]);
    for (name, value) in &row.metadata.properties {
        properties.insert(name.clone(), value.clone().into());
    }
    if !row.exceptions.is_empty() {
        properties.insert("exceptions".into(), row.exceptions.join(",").into());
    }
    if !row.path.is_empty() {
        properties.insert("path".into(), row.path.as_str().into());
    }
    let mut result = Map::from([("source", Value::from("kubewright")), ("policy", policy.clone().into())]);
    if !row.rule.rule.is_empty() {
        result.insert("rule".into(), row.rule.rule.clone().into());
    }
    result.insert("result".into(), row.status.name().into());
    let text = row.text();
    if !text.is_empty() {
        result.insert("message".into(), text.into());
    }
    for (key, text) in [("category", &row.metadata.category), ("severity", &row.metadata.severity)] {
        if !text.is_empty() {
            result.insert(key.into(), text.clone().into());
        }
    }
    result.insert("scored".into(), row.is_scored.into());
    result.insert("resources".into(), vec![resource].into());
    result.insert("properties".into(), properties.into());
    result.into()
}

#[cfg(test)]
mod tests;
