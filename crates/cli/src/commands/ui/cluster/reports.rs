//! `/reports`: what reports in the cluster say, with filters, and the downloads of it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::ControlFlow;
use std::sync::Arc;

use kubewright_cluster::GroupVersionResource;
use kubewright_report::cluster_report::ReportApi;
use kubewright_scan_controller::{BlockedAdmission, BlockedAdmissions};
use kubewright_ui::{PageContent, PageRequest};
use kubewright_value::{Map, Text, Value, json};

use super::super::answers::PageAnswers;
use super::report_csv::csv_text;
use super::report_filter::ReportFilter;
use super::report_rows::{PageRow, ReportCounts, namespace_owner, report_counts, report_rows};
use super::{ClusterPage, unreachable};
use crate::commands::scan::ScanCluster;

/// How many rows of reports are kept.
const MAX_ROWS: usize = 100_000;
/// How many reports one page of a list has.
const PAGE_REPORTS: u32 = 250;
/// How many rows an answer has, unless it says otherwise, and at most.
const USUAL_LIMIT: usize = 200;
const MAX_LIMIT: usize = 2_000;

/// The rows of all reports of a cluster.
#[derive(Default)]
pub(super) struct ClusterReports {
    /// The worst first.
    pub(super) rows: Vec<PageRow>,
    counts: Vec<ReportCounts>,
    version: String,
    /// What was left out.
    notes: Vec<String>,
}

impl ClusterPage {
    /// Answers a request for rows.
    pub(super) fn answer_reports(&self, request: &PageRequest) -> Result<Value, PageContent> {
        let reports = self.all_reports()?;
        let filter = ReportFilter::read(request);
        let number = |name: &str, usual: usize| request.query_value(name).parse().unwrap_or(usual);
        let (limit, offset) = (number("limit", USUAL_LIMIT).min(MAX_LIMIT), number("offset", 0));
        let shown = || reports.rows.iter().filter(|row| filter.has(row));
        let rows: Vec<Value> = shown().skip(offset).take(limit).map(PageRow::value).collect();
        let notes: Vec<Value> = reports.notes.iter().map(|note| note.as_str().into()).collect();
        Ok(Map::from([
            ("summary", filter.summary(&reports.rows, &reports.counts)),
            ("rows", Value::array(rows)),
            ("facets", filter.facets(&reports.rows)),
            ("total", shown().count().into()),
            ("version", reports.version.as_str().into()),
            ("notes", Value::array(notes)),
        ])
        .into())
    }

    /// Adds the downloads to `answers`.
    pub(super) fn add_downloads(self: &Arc<Self>, answers: &mut PageAnswers) {
        let page = Arc::clone(self);
        answers.download("/reports.csv", move |request| {
            let (reports, filter) = (page.all_reports()?, ReportFilter::read(request));
            let text = csv_text(reports.rows.iter().filter(|row| filter.has(row)));
            Ok(PageContent::text("text/csv; charset=utf-8", text).saved_as("reports.csv"))
        });
        let page = Arc::clone(self);
        answers.download("/reports.json", move |request| {
            let (reports, filter) = (page.all_reports()?, ReportFilter::read(request));
            let rows = reports.rows.iter().filter(|row| filter.has(row)).map(PageRow::value);
            let text = json::to_shown_pretty(&Value::array(rows.collect())) + "\n";
            Ok(PageContent::json(text).saved_as("reports.json"))
        });
    }

    /// Returns a text that changes whenever a report does.
    pub(super) fn reports_version(&self) -> Result<String, PageContent> {
        Ok(self.all_reports()?.version.clone())
    }

    /// Returns all reports. A client that was told that they changed gets those that did.
    pub(super) fn all_reports(&self) -> Result<Arc<ClusterReports>, PageContent> {
        let cluster = self.cluster()?;
        let version = || self.view.as_ref().map_or(0, |view| *view.report_version.borrow());
        self.reports.get_version(version, || Ok(ClusterReports::read(&cluster, &self.settings.namespace)))
    }

    /// Reads the Events about refused admissions, where no scan of this process follows them.
    pub(super) fn blocked_events(&self) -> Result<Vec<BlockedAdmission>, PageContent> {
        let cluster = self.cluster()?;
        let events = cluster.list(&BlockedAdmissions::events_path()).map_err(|error| unreachable(&error))?;
        Ok(BlockedAdmissions::of_events(&events).newest_first())
    }
}

impl ClusterReports {
    /// Reads the reports of both groups that the cluster serves, of one namespace if it is not empty.
    fn read(cluster: &ScanCluster, namespace: &str) -> Self {
        let mut reports = Self::default();
        let mut versions: Vec<(Text, Text)> = Vec::new();
        for (api, is_namespaced) in ReportApi::ALL.into_iter().flat_map(|api| [(api, true), (api, false)]) {
            let resource = api.resource(is_namespaced);
            if cluster.resources.of_resource(api.group(), resource).is_none()
                || !is_namespaced && !namespace.is_empty()
            {
                continue;
            }
            let address = GroupVersionResource::new(api.group(), api.version(), resource);
            let path = if namespace.is_empty() { address.all() } else { address.within(namespace) };
            let visit = |report: Value| {
                reports.add(&report, &mut versions);
                match reports.rows.len() < MAX_ROWS {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            if let Err(error) = cluster.block_on(cluster.client.visit_list(&path, PAGE_REPORTS, false, visit))
            {
                reports.notes.push(format!("`{resource}.{}` cannot be listed: {error}", api.group()));
            }
        }
        if reports.rows.len() >= MAX_ROWS {
            reports.notes.push(format!("there are more rows than the {MAX_ROWS} that are shown"));
        }
        reports.rows.truncate(MAX_ROWS);
        reports.add_owners(cluster);
        reports.rows.sort_by_cached_key(PageRow::order);
        versions.sort();
        let mut hasher = DefaultHasher::new();
        versions.hash(&mut hasher);
        reports.version = format!("{:016x}", hasher.finish());
        reports
    }

    fn add(&mut self, report: &Value, versions: &mut Vec<(Text, Text)>) {
        let text = |key: &str| Text::new(report.str_at(&["metadata", key]));
        versions.push((text("uid"), text("resourceVersion")));
        self.rows.extend(report_rows(report));
        self.counts.push(report_counts(report));
    }

    /// Adds the owner of the namespace to rows that have none of their own.
    fn add_owners(&mut self, cluster: &ScanCluster) {
        let listed =
            cluster.list(&GroupVersionResource::new("", "v1", "namespaces").all()).unwrap_or_default();
        let name = |namespace: &Value| Text::new(namespace.str_at(&["metadata", "name"]));
        let owners: HashMap<Text, Text> =
            listed.iter().map(|one| (name(one), namespace_owner(one))).collect();
        for row in self.rows.iter_mut().filter(|row| row.owner.is_empty()) {
            row.owner = owners.get(&row.namespace).cloned().unwrap_or_default();
        }
    }
}
