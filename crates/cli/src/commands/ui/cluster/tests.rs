use std::time::Instant;

use kubewright_ui::{PageMethod, PageRequest, PageRoute};
use kubewright_value::{Source, Value, yaml};

use super::masking::masked;
use super::report_csv::csv_text;
use super::report_filter::ReportFilter;
use super::report_rows::{PageRow, ReportCounts, report_counts, report_rows};

fn read(text: &str) -> Value {
    yaml::read(&Source::new("text", text)).documents.remove(0).value
}

#[test]
fn secrets_are_shown_without_values() {
    let secret = read(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  annotations:\n    \
         kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"key\":\"aHVudGVyMg==\"}}'\n  \
         managedFields: [{manager: x}]\ndata: {key: aHVudGVyMg==}\nstringData: {other: hunter2}\ntype: Opaque\n",
    );
    let shown = masked(secret).to_string();
    assert!(
        !shown.contains("hunter2") && !shown.contains("aHVudGVyMg") && !shown.contains("managedFields"),
        "{shown}"
    );
    assert!(shown.contains("key") && shown.contains("other") && shown.contains("(secret)"), "{shown}");
}

#[test]
fn rows_of_both_report_groups_are_read() {
    let ours = read(
        "apiVersion: openreports.io/v1alpha1\nkind: Report\nmetadata: {name: r, namespace: shop, labels: {team: web}}\n\
         source: kubewright\nscope: {apiVersion: v1, kind: Service, namespace: shop, name: web}\n\
         summary: {pass: 3, fail: 1}\nresults:\n- {policy: p, rule: r, result: fail, message: m, severity: high, \
         timestamp: {seconds: 12}, properties: {dialect: words}}\n",
    );
    let rows = report_rows(&ours);
    let [row] = rows.as_slice() else { panic!("{} rows", rows.len()) };
    let said = [&row.source, &row.kind, &row.name, &row.owner, &row.timestamp, &row.report]
        .map(|text| text.as_str());
    assert_eq!(said, ["kubewright", "Service", "web", "web", "12", "Report/shop/r"]);
    assert_eq!(row.dialect(), "words");
    assert_eq!(report_counts(&ours).counts, [3, 1, 0, 0, 0]);
    let others = read(
        "apiVersion: wgpolicyk8s.io/v1alpha2\nkind: ClusterPolicyReport\nmetadata: {name: c}\nresults:\n\
         - {source: trivy, policy: p, result: warn, resources: [{kind: Node, name: a}, {kind: Node, name: b}]}\n",
    );
    let names: Vec<String> =
        report_rows(&others).iter().map(|row| format!("{} {}", row.source, row.name)).collect();
    assert_eq!(names, ["trivy a", "trivy b"]);
}

#[test]
fn no_field_of_a_download_is_a_formula() {
    let formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"];
    for formula in formulas {
        let row = PageRow { message: formula.into(), ..PageRow::default() };
        let text = csv_text([&row].into_iter());
        assert!(text.contains(&format!("\"'{formula}\"")), "{text:?}");
    }
    let row = PageRow { message: "say \"no\", twice".into(), ..PageRow::default() };
    assert!(csv_text([&row].into_iter()).contains("\"say \"\"no\"\", twice\""));
}

/// A request with a query, as the server reads it.
fn asking(query: &[(&str, &str)]) -> PageRequest {
    PageRequest {
        route: PageRoute { method: PageMethod::Get, path: "/reports" },
        parameters: Vec::new(),
        query: query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: Default::default(),
        deadline: Instant::now(),
    }
}

fn row(namespace: &str, policy: &str, result: &str) -> PageRow {
    PageRow {
        namespace: namespace.into(),
        policy: policy.into(),
        result: result.into(),
        ..PageRow::default()
    }
}

#[test]
fn a_filter_takes_any_of_its_values_and_counts_the_others() {
    let rows = [row("a", "p", "fail"), row("a", "q", "warn"), row("b", "p", "fail"), row("c", "r", "skip")];
    let filter = ReportFilter::read(&asking(&[("namespace", "a"), ("namespace", "b"), ("policy", "p")]));
    assert_eq!(rows.iter().filter(|row| filter.has(row)).count(), 2);
    let facets = filter.facets(&rows);
    let counted = |name: &str| facets.get(name).map(ToString::to_string).unwrap_or_default();
    assert_eq!(counted("namespace"), r#"[["a",1],["b",1]]"#, "of the policy, whatever namespace is chosen");
    assert_eq!(counted("policy"), r#"[["p",2],["q",1]]"#, "of the namespaces, whatever policy is chosen");
    let summary = filter.summary(&rows, &[]);
    assert_eq!(summary.str_at(&["countedBy"]), "rows");
    assert_eq!(summary.at(&["total", "fail"]).and_then(Value::as_i64), Some(2));
}

#[test]
fn without_a_closer_filter_the_reports_count() {
    let counts = |namespace: &str, pass| ReportCounts {
        namespace: namespace.into(),
        source: "kubewright".into(),
        counts: [pass, 1, 0, 0, 0],
    };
    let filter = ReportFilter::read(&asking(&[("result", "fail")]));
    let summary = filter.summary(&[row("a", "p", "fail")], &[counts("a", 5), counts("a", 2), counts("b", 1)]);
    let namespaces = summary.get("namespaces").map(ToString::to_string).unwrap_or_default();
    assert_eq!(
        namespaces,
        r#"[{"namespace":"a","pass":7,"fail":2,"warn":0,"error":0,"skip":0},{"namespace":"b","pass":1,"fail":1,"warn":0,"error":0,"skip":0}]"#
    );
}
