//! Reports as objects of a cluster: `openreports.io/v1alpha1` and `wgpolicyk8s.io/v1alpha2`.
//!
//! They are those that a scan of the cluster writes: one for each object and source, with the same names, labels and
//! ids. Objects of files have no uid, so their reports are named by a hash and have no owner. Each report is written
//! as soon as its object is judged.
//!
//! A skip that says no more than that the rule is not about the object is neither counted nor has a row.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use kubewright_engine::RuleStatus;
use kubewright_value::Text;

use super::{Renderer, ReportWriter, yaml_text};
use crate::cluster_report::{
    JudgedFinding, ObjectResults, ReportApi, ReportResult, ReportScope, ReportSource, StatusFilter,
    named_report_objects, report_name, result_of_finding, scope_of_finding,
};
use crate::{ObjectRow, OutcomeCounts, OutcomeRow, Report, ReportedFindings, Results, Totals, why_command};

/// Renders reports as objects that dashboards of a cluster read.
pub(super) struct ClusterReportRenderer {
    out: ReportWriter,
    api: ReportApi,
    is_first: bool,
    /// How often each name was needed, by its hash: files may have an object twice.
    names: HashMap<u64, usize>,
}

impl ClusterReportRenderer {
    /// Returns a renderer of reports in the group `api`, which are written to `out`.
    pub(super) fn new(out: ReportWriter, api: ReportApi) -> Self {
        Self { out, api, is_first: true, names: HashMap::new() }
    }

    /// Writes reports, with documents apart.
    fn write(&mut self, reports: &str) -> io::Result<()> {
        if reports.is_empty() {
            return Ok(());
        }
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out, "---")?;
        }
        self.out.write_all(reports.as_bytes())
    }

    /// Returns a name for the reports about `scope`, and whether it is the usual one.
    fn unused_name(&mut self, scope: &ReportScope, source: ReportSource) -> (String, bool) {
        let name = report_name(scope, source);
        let earlier = self.names.entry(hash_of(&(scope.namespace.as_str(), name.as_str()))).or_default();
        *earlier += 1;
        match *earlier {
            1 => (name, true),
            number => (format!("{name}-again-{number}"), false),
        }
    }
}

impl Renderer for ClusterReportRenderer {
    fn object(&mut self, row: &ObjectRow, prepared: &str) -> io::Result<()> {
        if prepared.is_empty() {
            return Ok(());
        }
        match self.unused_name(&scope_of_row(row), ReportSource::Rules) {
            (_, true) => self.write(prepared),
            (name, false) => self.write(&reports_text(self.api, &results_of_row(row), &name)),
        }
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        if let Results::Findings(found) | Results::Objects(Totals { findings: Some(found), .. }) =
            &report.results
        {
            for results in results_of_findings(found) {
                let (name, _) = self.unused_name(&results.scope, results.source);
                self.write(&reports_text(self.api, &results, &name))?;
            }
        }
        self.out.flush()
    }
}

/// Returns the reports about the object of `row`. It needs all outcomes.
pub(super) fn prepare_reports(api: ReportApi, row: &ObjectRow) -> String {
    let results = results_of_row(row);
    if results.counts.all() == 0 {
        return String::new();
    }
    reports_text(api, &results, &report_name(&results.scope, results.source))
}

/// Returns the reports of `results` as YAML, with `name` for the first.
fn reports_text(api: ReportApi, results: &ObjectResults, name: &str) -> String {
    let reports = named_report_objects(api, results, name);
    let documents: Vec<String> = reports.iter().map(|report| yaml_text(&report.value)).collect();
    documents.join("---\n")
}

fn results_of_row(row: &ObjectRow) -> ObjectResults {
    let is_reported = |outcome: &&OutcomeRow| outcome.status != RuleStatus::Skip || outcome.is_judged;
    let results: Vec<ReportResult> =
        row.outcomes.iter().filter(is_reported).map(|outcome| result_of_row(outcome, row)).collect();
    let skip = results.iter().filter(|result| result.result == RuleStatus::Skip).count();
    ObjectResults {
        scope: scope_of_row(row),
        source: ReportSource::Rules,
        counts: OutcomeCounts { skip, ..row.counts },
        statuses: StatusFilter::ALL,
        results,
    }
}

fn scope_of_row(row: &ObjectRow) -> ReportScope {
    ReportScope {
        api_version: row.api_version.clone(),
        kind: row.kind.clone(),
        namespace: row.namespace.clone(),
        name: row.name.clone(),
        uid: row.uid.clone(),
    }
}

fn result_of_row(row: &OutcomeRow, object: &ObjectRow) -> ReportResult {
    let mut result = ReportResult::of_rule(&row.rule, &row.metadata, &row.exceptions);
    if !row.path.is_empty() {
        result.properties.push(("path".into(), row.path.as_str().into()));
    }
    let is_problem = matches!(row.status, RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn);
    let why = if is_problem { why_command(row, object) } else { None };
    result.properties.extend(why.map(|why| ("why".into(), why.into())));
    ReportResult { message: row.text().into(), result: row.status, is_scored: row.is_scored, ..result }
}

/// Returns the results of patterns, by leader.
fn results_of_findings(findings: &ReportedFindings<'_>) -> Vec<ObjectResults> {
    let graph = findings.context.graph;
    let mut by_leader: BTreeMap<(Text, ReportScope), ObjectResults> = BTreeMap::new();
    for row in &findings.rows {
        let scope = scope_of_finding(&row.finding, graph);
        let entry = by_leader.entry((scope.namespace.clone(), scope.clone()));
        let results = entry.or_insert_with(|| ObjectResults {
            scope,
            source: ReportSource::Patterns,
            counts: OutcomeCounts::default(),
            statuses: StatusFilter::ALL,
            results: Vec::new(),
        });
        let result = result_of_finding(&JudgedFinding {
            pattern: row.pattern,
            finding: &row.finding,
            graph,
            suppression: row.suppression.as_deref(),
            is_failure: findings.is_failure(row),
            since: 0,
        });
        *results.counts.of_mut(result.result) += 1;
        results.results.push(result);
    }
    by_leader.into_values().collect()
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
