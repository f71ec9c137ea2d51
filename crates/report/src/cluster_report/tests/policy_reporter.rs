//! The rules by which policy-reporter reads reports, over ours: it watches all reports of a cluster, files each under
//! one source, takes the scope for the object of a row, and tells rows apart by the property `resultID`.

use std::collections::HashSet;

use super::*;

/// Reads a report as policy-reporter does and returns the ids of its rows.
#[track_caller]
fn check_report(report: &ReportObject) -> Vec<String> {
    let value = &report.value;
    let rows = rows_of(report);
    let source = rows.first().map(|row| row.str_at(&["source"])).expect("a row has the source");
    if report.api == ReportApi::OpenReports {
        assert_eq!(value.str_at(&["source"]), source);
    } else {
        assert_eq!((value.get("source"), value.get("configuration")), (None, None));
    }
    for key in ["apiVersion", "kind", "name"] {
        assert_ne!(value.str_at(&["scope", key]), "", "{key} of the scope");
    }
    assert_eq!(value.str_at(&["scope", "namespace"]), value.str_at(&["metadata", "namespace"]));
    rows.iter().map(|row| check_row(row, source)).collect()
}

/// Checks one row and returns its id.
#[track_caller]
fn check_row(row: &Value, source: &str) -> String {
    assert_eq!(row.str_at(&["source"]), source, "one source in a report");
    assert_ne!(row.str_at(&["policy"]), "");
    assert!(["pass", "fail", "warn", "error", "skip"].contains(&row.str_at(&["result"])));
    if let Some(severity) = row.get("severity") {
        let names = ["critical", "high", "medium", "low", "info"];
        assert!(severity.as_str().is_some_and(|name| names.contains(&name)), "{severity}");
    }
    let timestamp = |key: &str| row.at(&["timestamp", key]).and_then(Value::as_i64);
    assert_eq!((timestamp("seconds"), timestamp("nanos")), (Some(1_700_000_000), Some(0)));
    let properties = row.get("properties").and_then(Value::as_object).expect("properties");
    assert!(properties.values().all(|value| value.as_str().is_some()), "{row}");
    properties.str_at(&["resultID"]).to_owned()
}

/// Returns results of both sources with everything that rules may say.
fn all_results() -> Vec<ObjectResults> {
    let odd = ReportResult {
        severity: "MEDIUM".into(),
        properties: vec![("resultID".into(), "mine".into()), ("path".into(), "spec".into())],
        ..failed("odd", "r")
    };
    let unknown = ReportResult { severity: "terrible".into(), rule: "".into(), ..failed("unknown", "") };
    let twice = vec![failed("twice", "r"), failed("twice", "r"), failed("twice", "r")];
    let many = (0..3_000).map(|rule| failed("many", &format!("r{rule}"))).collect();
    let rows = [vec![odd, unknown], twice, many];
    let rules = rows.into_iter().enumerate().map(|(number, rows)| {
        let mut results = results_of(rows);
        results.scope.name = format!("web-{number}").into();
        results.scope.uid = format!("0b1ff0a2-6a6b-4a0e-9f0e-{number:012}").into();
        results
    });
    let patterns = ObjectResults { source: ReportSource::Patterns, ..results_of(vec![failed("twice", "r")]) };
    let mut cluster_wide = results_of(vec![failed("twice", "r")]);
    cluster_wide.scope.namespace = Text::default();
    rules.chain([patterns, cluster_wide]).collect()
}

#[test]
fn policy_reporter_can_read_all_reports() {
    for api in ReportApi::ALL {
        let mut ids = HashSet::new();
        let mut names = HashSet::new();
        for results in all_results() {
            let reports = report_objects(api, &results);
            let mut rows = 0;
            for report in &reports {
                assert!(names.insert((report.namespace.clone(), report.name.clone())), "{}", report.name);
                for id in check_report(report) {
                    assert!(!id.is_empty() && ids.insert(id.clone()), "{id} twice");
                    rows += 1;
                }
            }
            check_summary(&reports, &results, rows);
        }
    }
}

/// Checks that the summaries of all parts are the rows and what is left out.
#[track_caller]
fn check_summary(reports: &[ReportObject], results: &ObjectResults, rows: usize) {
    let counted = |status: &str| -> usize {
        let of = |report: &ReportObject| report.value.at(&["summary", status]).and_then(Value::as_i64);
        reports.iter().filter_map(of).filter_map(|count| usize::try_from(count).ok()).sum()
    };
    assert_eq!(counted("fail"), rows);
    assert_eq!(counted("pass"), results.counts.pass);
}
