//! Reports and their definitions on a real API server: nothing of a report is pruned.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use kubewright_controlplane::TestCluster;
use kubewright_engine::RuleStatus;
use kubewright_report::OutcomeCounts;
use kubewright_report::cluster_report::{
    MAX_REPORT_BYTES, ObjectResults, PolicyTotals, ReportApi, ReportChange, ReportObject, ReportResult,
    ReportScope, ReportSource, StatusFilter, StoredReport, SummaryTotals, report_changes, report_objects,
    summary_report,
};
use kubewright_value::{Text, Value, json};

/// The cluster that all tests share, with the definitions established.
fn cluster() -> Option<&'static TestCluster> {
    static READY: std::sync::OnceLock<()> = std::sync::OnceLock::new();
    let cluster = TestCluster::shared()?;
    READY.get_or_init(|| {
        for api in ReportApi::ALL {
            cluster.kubectl(&["apply", "-f", "-"], api.definitions()).expect_success();
            cluster.await_definitions().expect("established definitions");
            for is_namespaced in [true, false] {
                let list = format!("{}.{}", api.resource(is_namespaced), api.group());
                cluster.wait_until("reports can be listed", || {
                    cluster.kubectl(&["get", &list, "-A"], "").is_success()
                });
            }
        }
    });
    Some(cluster)
}

fn result(policy: &str, result: RuleStatus) -> ReportResult {
    ReportResult {
        policy: policy.into(),
        rule: "r".into(),
        message: "no\u{1} \"quotes\" — and a line\nbreak".into(),
        category: "Pod Security".into(),
        severity: "critical".into(),
        result,
        is_scored: result != RuleStatus::Warn,
        properties: vec![("dialect".into(), "kyverno".into()), ("path".into(), "spec.a[0]".into())],
        since: 1_700_000_000,
    }
}

/// Returns results about a Namespace or ConfigMap of the cluster, of every status.
fn results(scope: ReportScope, source: ReportSource) -> ObjectResults {
    let statuses =
        [RuleStatus::Pass, RuleStatus::Fail, RuleStatus::Warn, RuleStatus::Error, RuleStatus::Skip];
    ObjectResults {
        scope,
        source,
        counts: OutcomeCounts {
            pass: 9,
            fail: 1,
            warn: 1,
            error: 1,
            skip: 1,
            patched: 0,
            written: 0,
            ..OutcomeCounts::default()
        },
        statuses: StatusFilter::ALL,
        results: statuses.iter().map(|status| result(status.name(), *status)).collect(),
    }
}

/// Returns the scope of an object that is in the cluster.
fn scope_of(cluster: &TestCluster, kind: &str, namespace: &str, name: &str) -> ReportScope {
    let namespaced = if namespace.is_empty() { "default" } else { namespace };
    let found = cluster.kubectl(&["get", kind, name, "-n", namespaced, "-o", "json"], "").success();
    let found = json::parse(&found).expect("json");
    ReportScope {
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: found.str_at(&["metadata", "uid"]).into(),
    }
}

/// Creates `report`, reads it back and returns what is stored.
#[track_caller]
fn create(cluster: &TestCluster, report: &ReportObject) -> Value {
    let manifest = json::to_string(&report.value);
    let stored =
        cluster.kubectl(&["create", "--validate=strict", "-o", "json", "-f", "-"], &manifest).success();
    let stored = json::parse(&stored).expect("json");
    let sent = report.value.as_object().expect("an object");
    for (key, value) in sent.iter().filter(|(key, _)| *key != "metadata") {
        assert_eq!(stored.get(key), Some(value), "{key} of {}", report.name);
    }
    for key in ["labels", "annotations", "ownerReferences"] {
        let path = ["metadata", key];
        assert_eq!(stored.at(&path), report.value.at(&path), "{key} of {}", report.name);
    }
    stored
}

#[test]
fn nothing_of_a_report_is_pruned() {
    let Some(cluster) = cluster() else { return };
    let namespaced = scope_of(cluster, "ConfigMap", "default", "kube-root-ca.crt");
    let cluster_wide = scope_of(cluster, "Namespace", "", "default");
    for api in ReportApi::ALL {
        for scope in [&namespaced, &cluster_wide] {
            for source in [ReportSource::Rules, ReportSource::Patterns] {
                let reports = report_objects(api, &results(scope.clone(), source));
                let stored: Vec<StoredReport> =
                    reports.iter().map(|report| StoredReport::read(api, &create(cluster, report))).collect();
                // A second start with no change writes nothing.
                assert_eq!(report_changes(&reports, &stored), []);
                let all: Vec<ReportChange<'_>> = stored.iter().map(ReportChange::Delete).collect();
                assert_eq!(report_changes(&[], &stored), all);
            }
        }
    }
}

#[test]
fn the_largest_report_is_stored_by_apply() {
    let Some(cluster) = cluster() else { return };
    let scope =
        ReportScope { uid: Text::default(), ..scope_of(cluster, "ConfigMap", "default", "kube-root-ca.crt") };
    let rows = (0..3_000).map(|number| ReportResult {
        message: "long ".repeat(60).as_str().into(),
        ..result(&format!("policy-{number}"), RuleStatus::Fail)
    });
    let results = ObjectResults { results: rows.collect(), ..results(scope, ReportSource::Rules) };
    let reports = report_objects(ReportApi::OpenReports, &results);
    assert!(reports.len() > 3 && reports.iter().all(|report| report.bytes <= MAX_REPORT_BYTES));
    assert!(reports.iter().any(|report| report.bytes > MAX_REPORT_BYTES - 1_000));
    for report in &reports {
        cluster.kubectl(&["apply", "-f", "-"], &json::to_string(&report.value)).expect_success();
    }
}

#[test]
fn the_summary_is_stored_and_shown_in_columns() {
    let Some(cluster) = cluster() else { return };
    let totals = SummaryTotals {
        policies: vec![PolicyTotals {
            policy: "labels".into(),
            source: ReportSource::Rules,
            counts: OutcomeCounts { fail: 123, ..OutcomeCounts::default() },
        }],
        reported_objects: 10,
        left_out_objects: 113,
        since: 1_700_000_000,
    };
    for api in ReportApi::ALL {
        create(cluster, &summary_report(api, &totals));
        let list = format!("{}.{}", api.resource(false), api.group());
        let shown = cluster.kubectl(&["get", &list, "kubewright-summary"], "").success();
        assert!(shown.contains("FAIL") && shown.contains("123"), "{shown}");
    }
    for short_name in ["reps", "creps", "polr", "cpolr"] {
        cluster.kubectl(&["get", short_name, "-A"], "").expect_success();
    }
}
