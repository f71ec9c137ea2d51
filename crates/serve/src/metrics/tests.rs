use super::*;
use kubewright_k8s::Operation;

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
    for number in 0..SERIES {
        requests.count(RequestKey {
            is_allowed: true,
            webhook: "validate".into(),
            kind: format!("Kind{number}").into(),
            operation: Operation::Create,
        });
    }
    let mut text = Exposition::default();
    requests.expose(&mut text);
    let text = text.finish();
    assert!(text.lines().count() < SERIES / 4, "{}", text.lines().count());
    let other = "kubewright_admission_requests_total{allowed=\"true\",webhook=\"other\",kind=\"other\",operation=\"CREATE\"} 8000";
    assert!(text.lines().any(|line| line == other), "{}", text.lines().last().unwrap_or_default());
}

#[test]
fn what_comes_from_outside_cannot_break_out_of_a_label() {
    assert_eq!(text::escaped("a\"} 1\nb\\"), "a\\\"} 1\\nb\\\\");
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
    requests.expose(&mut text);
    let text = text.finish();
    assert!(text.len() < 100 * 700, "{}", text.len());
    assert_eq!(text.matches("…[").count(), 200, "{text}");
}
