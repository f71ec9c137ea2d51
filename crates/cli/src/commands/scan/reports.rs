//! Writes the results of a pass to the cluster as reports: only what is different from the reports that are there.
//!
//! A report says what the last complete scan found. So nothing is written where rules could not be read or the scan was
//! stopped, and no report is deleted about objects that this scan did not read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kubewright_cluster::ApiResource;
use kubewright_engine::Diagnostic;
use kubewright_report::cluster_report::{ObjectResults, ReportApi, ReportScope, ReportSource};
use kubewright_report::text::plural;
use kubewright_scan::{ReportOn, ScanSettings, Scanner};
use kubewright_scan_controller::lease::LeaseFence;
use kubewright_scan_controller::{ClusterReportWriter, ReportGroup, ScanMetrics};

use super::extent::scope_group;
use super::pass::{PassResult, PassStore, ScanPass};
use crate::arguments::{ReportArguments, ReportKind, ReportSubjects};
use crate::codes::{self, REPORT_NOT_WRITTEN};
use crate::output::print_stderr;

/// How long writes may fail one after the other before the command gives up.
const FAILING_WRITES_TIMEOUT: Duration = Duration::from_secs(30);

impl ReportArguments {
    /// Returns whether reports are written.
    pub(super) fn writes(&self) -> bool {
        self.write_reports && self.reports != Some(ReportKind::Off)
    }

    /// Returns which results have rows, and where.
    pub(super) fn scan_settings(&self) -> ScanSettings {
        let report_on = match self.report_on {
            ReportSubjects::Roots => ReportOn::Roots,
            ReportSubjects::All => ReportOn::All,
        };
        ScanSettings { report_on, report_results: self.report_results, ..ScanSettings::default() }
    }

    /// Returns which API group reports are written to.
    pub(super) fn group(&self) -> ReportGroup {
        match self.reports {
            None => ReportGroup::Served,
            Some(ReportKind::Openreports) => ReportGroup::Only(ReportApi::OpenReports),
            Some(ReportKind::Wgpolicy) => ReportGroup::Only(ReportApi::WgPolicy),
            Some(ReportKind::Off) => ReportGroup::Off,
        }
    }
}

/// Writes the results of a pass, if that is asked for. Returns why some were not written.
pub(super) fn write_results(pass: &ScanPass<'_>, result: &PassResult) -> Option<Diagnostic> {
    let PassStore::Results(scanner) = &result.store else { return None };
    if pass.cluster.stop.load(Ordering::Relaxed) {
        return Some(not_written("the scan was stopped, so no reports were written"));
    }
    if !pass.rules.is_complete {
        return Some(not_written("not all rules could be read, so no reports were written"));
    }
    let wanted = wanted_results(pass, scanner, &result.unread);
    let is_sure = result.unread.is_empty() || pass.rules.patterns.is_empty();
    pass.cluster.handle().block_on(write_wanted(pass, &wanted, &result.unread, is_sure))
}

/// The results that should be in the cluster, by object and source.
type WantedResults = HashMap<(ReportScope, ReportSource), ObjectResults>;

/// Returns the results about objects that this scan is about. Findings are left out where objects could not be read.
fn wanted_results(pass: &ScanPass<'_>, scanner: &Scanner, unread: &[ApiResource]) -> WantedResults {
    let is_wanted = |results: &ObjectResults| {
        let ReportScope { namespace, api_version, kind, .. } = &results.scope;
        pass.extent.has_object(namespace, api_version, kind)
            && (unread.is_empty() || results.source == ReportSource::Rules)
    };
    scanner
        .results()
        .filter(is_wanted)
        .map(|results| ((results.scope.clone(), results.source), results))
        .collect()
}

async fn write_wanted(
    pass: &ScanPass<'_>,
    wanted: &WantedResults,
    unread: &[ApiResource],
    is_sure: bool,
) -> Option<Diagnostic> {
    let settings = pass.arguments.reports.writer_settings();
    let metrics = Arc::new(ScanMetrics::default());
    let fence = Arc::new(LeaseFence::open());
    let writer = ClusterReportWriter::new(&pass.cluster.client, settings, fence, Arc::clone(&metrics));
    match writer.load().await {
        Err(error) => return Some(not_written(&format!("the reports could not be read: {error}"))),
        Ok(None) => {
            return Some(
                not_written("the cluster serves no reports of the wanted kind, so none were written").help(
                    "install the CustomResourceDefinitions of OpenReports (openreports.io) or of PolicyReports \
                     (wgpolicyk8s.io)",
                ),
            );
        }
        Ok(Some(_)) => {}
    }
    wanted.values().for_each(|results| writer.set_results(results));
    if is_sure {
        writer.prune_within(|namespace, api_version, kind| {
            let is_read =
                |resource: &ApiResource| resource.group != scope_group(api_version) || resource.kind != kind;
            pass.extent.has_object(namespace, api_version, kind) && unread.iter().all(is_read)
        });
    }
    let is_over = writer.apply_limits();
    let results_of =
        |scope: &ReportScope, source: ReportSource| wanted.get(&(scope.clone(), source)).cloned();
    let written = writer.write_all(FAILING_WRITES_TIMEOUT, results_of).await;
    if !pass.arguments.quiet {
        let writes = usize::try_from(metrics.report_writes()).unwrap_or(usize::MAX);
        print_stderr(format_args!("{} in the cluster written or deleted", plural(writes, "report")));
    }
    match written {
        Err(why) => Some(not_written(&format!("not all reports could be written: {why}"))),
        Ok(()) if is_over => {
            Some(not_written("there are too many reports, so the less severe ones are left out"))
        }
        Ok(()) => None,
    }
}

fn not_written(message: &str) -> Diagnostic {
    codes::about_path(&REPORT_NOT_WRITTEN, "cluster", message)
}
