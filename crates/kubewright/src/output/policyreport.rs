//! `wgpolicyk8s.io/v1alpha2` reports: one for each namespace, one for objects without any.
//!
//! A skip that says no more than that the rule is not about the object is counted and has no row.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use kubewright_engine::Status;
use kubewright_value::{Map, Text, Value};

use super::{Ending, Show, Target, yaml};
use crate::review::{Counts, ObjectReport, OutcomeRow};

/// Shows reports as objects that a cluster's dashboards read.
pub(crate) struct PolicyReport {
    out: Target,
    reports: Reports,
}

impl PolicyReport {
    /// Returns reports that are written to `out`.
    pub(crate) fn new(out: Target) -> Self {
        Self { out, reports: Reports::default() }
    }
}

impl Show for PolicyReport {
    fn object(&mut self, report: &ObjectReport) -> io::Result<()> {
        self.reports.count(&report.namespace, report.counts);
        let is_told = |row: &&OutcomeRow| row.status != Status::Skip || row.is_judged;
        for row in report.outcomes.iter().filter(is_told) {
            self.reports.add(&report.namespace, result(row, report));
        }
        Ok(())
    }

    fn finish(&mut self, _ending: &Ending<'_>) -> io::Result<()> {
        std::mem::take(&mut self.reports).write(&mut self.out)
    }
}

/// One report for each namespace; the empty name stands for objects without any.
#[derive(Default)]
pub(crate) struct Reports(BTreeMap<Text, (Counts, String)>);

impl Reports {
    /// Adds `counts` to the summary of a namespace.
    pub(crate) fn count(&mut self, namespace: &Text, counts: Counts) {
        self.0.entry(namespace.clone()).or_default().0 += counts;
    }

    /// Adds a row to the report of a namespace.
    pub(crate) fn add(&mut self, namespace: &Text, result: Value) {
        // As text at once, because that is a fraction of the value's size.
        let text = yaml::text(&Value::array(vec![result]));
        self.0.entry(namespace.clone()).or_default().1.push_str(&text);
    }

    /// Writes all reports.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn write(self, out: &mut Target) -> io::Result<()> {
        for (place, (namespace, (counts, results))) in self.0.into_iter().enumerate() {
            if place > 0 {
                writeln!(out, "---")?;
            }
            out.write_all(yaml::text(&head(&namespace, counts)).as_bytes())?;
            match results.as_str() {
                "" => writeln!(out, "results: []")?,
                results => write!(out, "results:\n{results}")?,
            }
        }
        out.flush()
    }
}

/// Returns what a row says about whose object it is.
pub(crate) fn resource(api_version: &Text, kind: &Text, namespace: &Text, name: &Text) -> Map {
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
fn head(namespace: &Text, counts: Counts) -> Value {
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

fn result(row: &OutcomeRow, report: &ObjectReport) -> Value {
    let resource = resource(&report.api_version, &report.kind, &report.namespace, &report.name);
    let policy = if row.rule.policy.is_empty() { &row.rule.rule } else { &row.rule.policy };
    let mut properties = Map::from([("dialect", Value::from(row.rule.dialect))]);
    for (name, value) in &row.about.properties {
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
    for (key, text) in [("category", &row.about.category), ("severity", &row.about.severity)] {
        if !text.is_empty() {
            result.insert(key.into(), text.clone().into());
        }
    }
    result.insert("scored".into(), row.is_scored.into());
    result.insert("resources".into(), vec![resource].into());
    result.insert("properties".into(), properties.into());
    result.into()
}
