use kubewright_k8s::Operation;

use super::text::Exposition;
use super::*;

#[test]
fn times_fall_into_the_first_bucket_that_holds_them() {
    let histogram = Histogram::default();
    for microseconds in [10, 50, 51, 999_999, 5_000_000] {
        histogram.observe(Duration::from_micros(microseconds));
    }
    let mut text = Exposition::default();
    histogram.expose(&mut text, "x", "a=\"b\"");
    let text = text.finish();
    for line in [
        "x_bucket{a=\"b\",le=\"5e-05\"} 2",
        "x_bucket{a=\"b\",le=\"0.0001\"} 3",
        "x_bucket{a=\"b\",le=\"1\"} 4",
        "x_bucket{a=\"b\",le=\"+Inf\"} 5",
        "x_count{a=\"b\"} 5",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[test]
fn kinds_beyond_the_cap_are_counted_together() {
    let requests = Requests::default();
    for number in 0..MAX_SERIES {
        requests.count(RequestKey {
            is_allowed: true,
            webhook: "validate".into(),
            kind: format!("Kind{number}").into(),
            operation: Operation::Create,
        });
    }
    let mut text = Exposition::default();
    requests.expose(&mut text, "kubewright_admission_requests_total");
    let text = text.finish();
    assert!(text.lines().count() < MAX_SERIES / 4, "{}", text.lines().count());
    let other = "kubewright_admission_requests_total{allowed=\"true\",webhook=\"other\",kind=\"other\",operation=\"CREATE\"} 8000";
    assert!(text.lines().any(|line| line == other), "{}", text.lines().last().unwrap_or_default());
}

#[test]
fn what_comes_from_outside_cannot_break_out_of_a_label() {
    assert_eq!(text::escape_label("a\"} 1\nb\\"), "a\\\"} 1\\nb\\\\");
}

#[test]
fn a_series_keeps_no_more_than_the_beginning_of_a_long_name() {
    let requests = Requests::default();
    for number in 0..100 {
        requests.count(RequestKey {
            is_allowed: true,
            webhook: "w".repeat(1 << 20).into(),
            kind: format!("{number}{}", "k".repeat(1 << 20)).into(),
            operation: Operation::Create,
        });
    }
    let mut text = Exposition::default();
    requests.expose(&mut text, "kubewright_admission_requests_total");
    let text = text.finish();
    assert!(text.len() < 100 * 700, "{}", text.len());
    assert_eq!(text.matches("…[").count(), 200, "{text}");
}

#[test]
fn metric_rows_are_in_the_order_of_their_ids_and_help_is_one_line() {
    for (place, row) in METRICS.iter().enumerate() {
        assert_eq!(row.id as usize, place, "{}", row.name);
        assert!(row.name.starts_with("kubewright_") && row.help.ends_with('.') && !row.help.contains('\n'));
        assert_eq!(row.labels == ["reason"], !row.reasons.is_empty(), "{}", row.name);
    }
}

#[test]
fn metrics_table_in_the_docs_is_the_table_in_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let (begin, end) = ("<!-- metrics: begin -->\n", "<!-- metrics: end -->");
    let docs = std::fs::read_to_string(path).unwrap();
    let (before, rest) = docs.split_once(begin).unwrap();
    let (table, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{begin}{}{end}{after}", metrics_markdown())).unwrap();
        return;
    }
    assert_eq!(table, metrics_markdown(), "run this test with UPDATE_DOCS=1");
}
