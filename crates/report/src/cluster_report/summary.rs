//! The report with the totals, which stay true when reports of objects are left out.

use std::cmp::Reverse;

use kubewright_engine::RuleStatus;
use kubewright_value::Text;

use super::objects::ReportHead;
use super::rows::{ReportRow, RowMaker};
use super::{MAX_REPORT_BYTES, ReportApi, ReportObject, ReportResult, ReportSource, SUMMARY_REPORT_NAME};
use crate::OutcomeCounts;
use kubewright_value::CompactSort as _;

/// The source of the report with the totals. It is not that of the other reports, so that a dashboard that adds up a
/// source counts no result twice.
pub const SUMMARY_SOURCE: &str = "kubewright-summary";
/// The annotation that counts the objects with results and without reports, because of the caps.
pub const LEFT_OUT_OBJECTS_ANNOTATION: &str = "kubewright.dev/left-out-objects";
/// How many policies have a row of their own.
const MAX_SUMMARY_POLICIES: usize = 500;
/// The room for the row of all other policies.
const OTHER_POLICIES_BYTES: usize = 1 << 10;
/// The row of all other policies. No policy has this name, because `*` is not allowed in names.
const OTHER_POLICIES: &str = "*";

/// The totals of one policy or pattern over all objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyTotals {
    /// The policy or pattern.
    pub policy: Text,
    /// Who says it.
    pub source: ReportSource,
    /// All results.
    pub counts: OutcomeCounts,
}

/// The totals of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryTotals {
    /// For each policy.
    pub policies: Vec<PolicyTotals>,
    /// How many objects have reports.
    pub reported_objects: usize,
    /// How many objects have results and no reports, because of the caps.
    pub left_out_objects: usize,
    /// Since when it is so, in seconds since 1970.
    pub since: i64,
}

/// Returns the report with the totals of each policy. It is always one object: policies that do not fit are added up
/// in one row, those with the fewest failures first.
#[must_use]
pub fn summary_report(api: ReportApi, totals: &SummaryTotals) -> ReportObject {
    let annotations = [
        ("kubewright.dev/reported-objects", totals.reported_objects.to_string()),
        (LEFT_OUT_OBJECTS_ANNOTATION, totals.left_out_objects.to_string()),
    ];
    let head =
        ReportHead { api, scope: None, source: SUMMARY_SOURCE, statuses: None, annotations: &annotations };
    let mut counts = OutcomeCounts::default();
    totals.policies.iter().for_each(|policy| counts += policy.counts);
    let room = MAX_REPORT_BYTES.saturating_sub(head.bytes(SUMMARY_REPORT_NAME) + OTHER_POLICIES_BYTES);
    head.report(SUMMARY_REPORT_NAME, counts, summary_rows(totals, room))
}

/// Returns the rows that fit into `room` bytes, by policy, and behind them that of all other policies.
fn summary_rows(totals: &SummaryTotals, mut room: usize) -> Vec<ReportRow> {
    let mut policies: Vec<&PolicyTotals> = totals.policies.iter().collect();
    policies.compact_sort_by_cached_key(|policy| {
        let OutcomeCounts { fail, error, warn, .. } = policy.counts;
        (Reverse((fail, error, warn)), policy.policy.clone(), policy.source)
    });
    let mut maker = RowMaker::new(SUMMARY_SOURCE, String::new());
    let mut rows = Vec::new();
    let mut others = OutcomeCounts::default();
    for policy in policies {
        let row =
            maker.row(&totals_result(&policy.policy, policy.source.name(), policy.counts, totals.since));
        match room.checked_sub(row.bytes + ",".len()) {
            Some(rest) if rows.len() < MAX_SUMMARY_POLICIES => {
                room = rest;
                rows.push(((&policy.policy, policy.source), row));
            }
            _ => others += policy.counts,
        }
    }
    rows.compact_sort_by_key(|(key, _)| *key);
    let mut rows: Vec<ReportRow> = rows.into_iter().map(|(_, row)| row).collect();
    if others.all() > 0 {
        rows.push(maker.row(&totals_result(&OTHER_POLICIES.into(), "", others, totals.since)));
    }
    rows
}

fn totals_result(policy: &Text, source: &str, counts: OutcomeCounts, since: i64) -> ReportResult {
    let statuses = [
        (RuleStatus::Fail, counts.fail),
        (RuleStatus::Error, counts.error),
        (RuleStatus::Warn, counts.warn),
        (RuleStatus::Skip, counts.skip),
        (RuleStatus::Pass, counts.pass),
    ];
    let worst = statuses.into_iter().find(|(_, count)| *count > 0);
    let texts = statuses.map(|(status, count)| (Text::from(status.name()), Text::from(count.to_string())));
    let message: Vec<String> = texts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let mut properties = Vec::from(texts);
    if !source.is_empty() {
        properties.push(("source".into(), source.into()));
    }
    ReportResult {
        policy: policy.clone(),
        rule: Text::default(),
        message: message.join(", ").into(),
        category: Text::default(),
        severity: Text::default(),
        result: worst.map_or(RuleStatus::Pass, |(status, _)| status),
        is_scored: false,
        properties,
        since,
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Value, json};

    use super::*;

    fn totals(policies: usize, name_bytes: usize) -> SummaryTotals {
        let policy = |number: usize| PolicyTotals {
            policy: format!("{number:0name_bytes$}").into(),
            source: ReportSource::Rules,
            counts: OutcomeCounts { fail: number, pass: 1, ..OutcomeCounts::default() },
        };
        SummaryTotals { policies: (0..policies).map(policy).collect(), since: 1, ..SummaryTotals::default() }
    }

    #[test]
    fn summary_is_one_report_whose_totals_are_true() {
        for (policies, name_bytes) in [(0, 1), (3, 1), (5_000, 10), (2_000, 500)] {
            let totals = totals(policies, name_bytes);
            let report = summary_report(ReportApi::OpenReports, &totals);
            assert_eq!(report.bytes, json::to_string(&report.value).len());
            assert!(report.bytes <= MAX_REPORT_BYTES, "{}", report.bytes);
            let rows = report.value.get("results").and_then(Value::as_array).expect("rows");
            let count = |row: &Value| row.str_at(&["properties", "fail"]).parse::<usize>().unwrap_or(0);
            let failures: usize = totals.policies.iter().map(|policy| policy.counts.fail).sum();
            assert_eq!(rows.iter().map(count).sum::<usize>(), failures);
            let summary = report.value.at(&["summary", "fail"]).and_then(Value::as_i64);
            assert_eq!(summary.and_then(|fail| usize::try_from(fail).ok()), Some(failures));
        }
    }

    #[test]
    fn summary_keeps_the_policies_with_most_failures() {
        let report = summary_report(ReportApi::WgPolicy, &totals(5_000, 4));
        let rows = report.value.get("results").and_then(Value::as_array).expect("rows");
        let names: Vec<&str> = rows.iter().map(|row| row.str_at(&["policy"])).collect();
        assert_eq!(names.len(), MAX_SUMMARY_POLICIES + 1);
        assert_eq!((names.first(), names.last()), (Some(&"4500"), Some(&"*")));
    }
}
