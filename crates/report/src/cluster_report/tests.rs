//! Reports of one object: names, ids, digests, sizes.

mod policy_reporter;

use kubewright_engine::RuleStatus;
use kubewright_value::{Text, Value, json};

use super::*;
use crate::OutcomeCounts;

pub(super) const UID: &str = "0b1ff0a2-6a6b-4a0e-9f0e-0123456789ab";

pub(super) fn scope() -> ReportScope {
    ReportScope {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        namespace: "shop".into(),
        name: "web".into(),
        uid: UID.into(),
    }
}

pub(super) fn failed(policy: &str, rule: &str) -> ReportResult {
    ReportResult {
        policy: policy.into(),
        rule: rule.into(),
        message: "not allowed".into(),
        category: Text::default(),
        severity: "high".into(),
        result: RuleStatus::Fail,
        is_scored: true,
        properties: vec![("dialect".into(), "kyverno".into())],
        since: 1_700_000_000,
    }
}

pub(super) fn results_of(results: Vec<ReportResult>) -> ObjectResults {
    let counts = OutcomeCounts { fail: results.len(), pass: 7, ..OutcomeCounts::default() };
    ObjectResults {
        scope: scope(),
        source: ReportSource::Rules,
        counts,
        statuses: StatusFilter::default(),
        results,
    }
}

fn rows_of(report: &ReportObject) -> &[Value] {
    report.value.get("results").and_then(Value::as_array).expect("rows")
}

#[test]
fn report_objects_have_the_size_they_say() {
    let long = ReportResult { message: "\u{1}".repeat(1 << 20).as_str().into(), ..failed("long", "r") };
    let many: Vec<ReportResult> = (0..2_500).map(|rule| failed("many", &format!("r{rule}"))).collect();
    let texts = (0..200).map(|name| (format!("{name}").into(), "\u{1}".repeat(1 << 12).as_str().into()));
    let wide = ReportResult { properties: texts.collect(), ..failed("wide", "r") };
    for rows in [vec![], vec![failed("p", "r")], vec![long, wide], many] {
        for api in ReportApi::ALL {
            let results = results_of(rows.clone());
            let reports = report_objects(api, &results);
            assert!(!reports.is_empty());
            for report in &reports {
                assert_eq!(report.bytes, json::to_string(&report.value).len());
                assert!(report.bytes <= MAX_REPORT_BYTES, "{}", report.bytes);
                assert!(rows_of(report).len() <= MAX_REPORT_ROWS);
            }
            assert_eq!(reports.iter().map(|report| rows_of(report).len()).sum::<usize>(), rows.len());
            let failures =
                reports.iter().filter_map(|report| report.value.at(&["summary", "fail"])?.as_i64());
            assert_eq!(failures.sum::<i64>() as usize, rows.len());
        }
    }
}

#[test]
fn report_of_enormous_texts_fits() {
    // Each byte takes six in JSON.
    let enormous = Text::from("\u{1}".repeat(1 << 16));
    let properties = (0..100).map(|number| (format!("{number}").into(), enormous.clone()));
    let row = ReportResult {
        policy: enormous.clone(),
        rule: enormous.clone(),
        message: enormous.clone(),
        category: enormous.clone(),
        properties: properties.collect(),
        ..failed("", "")
    };
    let mut results = results_of(vec![row.clone(), row]);
    let texts = ReportScope {
        api_version: enormous.clone(),
        kind: enormous.clone(),
        namespace: enormous.clone(),
        ..scope()
    };
    results.scope = ReportScope { name: enormous, ..texts };
    let reports = report_objects(ReportApi::OpenReports, &results);
    assert_eq!(reports.len(), 2);
    for report in &reports {
        assert!(report.bytes <= MAX_REPORT_BYTES, "{}", report.bytes);
        assert_eq!(report.bytes, json::to_string(&report.value).len());
        let message = rows_of(report).first().map(|row| row.str_at(&["message"])).unwrap_or_default();
        assert!(message.ends_with("…[65536 bytes]"));
        assert_eq!(rows_of(report).first().map(|row| row.str_at(&["properties", "truncated"])), Some("true"));
    }
}

#[test]
fn report_parts_are_numbered_from_two() {
    let many = (0..2_001).map(|rule| failed("many", &format!("r{rule}"))).collect();
    let reports = report_objects(ReportApi::OpenReports, &results_of(many));
    let names: Vec<&str> = reports.iter().map(|report| report.name.as_str()).collect();
    assert_eq!(
        names,
        [format!("kubewright-{UID}"), format!("kubewright-{UID}-2"), format!("kubewright-{UID}-3")]
    );
}

#[test]
fn digest_is_the_same_whatever_the_order_and_the_timestamps() {
    let digest =
        |rows: Vec<ReportResult>| report_objects(ReportApi::OpenReports, &results_of(rows)).remove(0).digest;
    let (one, other) = (failed("a", "r"), failed("b", "r"));
    let later = ReportResult { since: 1_800_000_000, ..other.clone() };
    let whole = digest(vec![one.clone(), other.clone()]);
    assert_eq!(whole, digest(vec![later, one.clone()]));
    let said_otherwise = ReportResult { message: "no".into(), ..other };
    assert_ne!(whole, digest(vec![one, said_otherwise]));
}

#[test]
fn result_ids_are_unique_and_do_not_depend_on_the_message() {
    let ids = |rows: Vec<ReportResult>| -> Vec<String> {
        let reports = report_objects(ReportApi::OpenReports, &results_of(rows));
        let rows = reports.iter().flat_map(rows_of);
        rows.map(|row| row.str_at(&["properties", "resultID"]).to_owned()).collect()
    };
    let two = ids(vec![failed("a", "r"), failed("a", "r")]);
    assert_ne!(two.first(), two.last());
    let said_otherwise = ReportResult { message: "no".into(), ..failed("a", "r") };
    assert_eq!(ids(vec![said_otherwise]).first(), two.first());
}

#[test]
fn report_of_an_object_without_uid_has_a_stable_name_and_no_owner() {
    let mut results = results_of(vec![failed("a", "r")]);
    for uid in ["", "patterns-x", "../x"] {
        results.scope.uid = uid.into();
        let report = report_objects(ReportApi::WgPolicy, &results).remove(0);
        assert!(report.name.len() == "kubewright-".len() + 32, "{}", report.name);
        assert_eq!(report.value.at(&["metadata", "ownerReferences"]), None);
        assert_eq!(report.name, report_objects(ReportApi::OpenReports, &results).remove(0).name);
    }
}
