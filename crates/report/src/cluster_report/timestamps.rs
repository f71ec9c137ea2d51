//! Timestamps of rows that a scanner which was started again no longer knows.

use std::collections::HashMap;

use kubewright_value::{Value, json};

use super::ReportObject;
use super::rows::RESULT_ID_PROPERTY;

impl ReportObject {
    /// Gives rows the timestamps that they have in `stored`, the report that is to be replaced, where the two say the
    /// same: a row is so since it was first so, and not since the scanner was started.
    pub fn keep_timestamps(&mut self, stored: &Value) {
        let earlier: HashMap<&str, &Value> =
            rows_of_report(stored).iter().map(|row| (row_id(row), row)).collect();
        let rows = self.value.as_object_mut().and_then(|report| report.get_mut("results")?.as_array_mut());
        for row in rows.into_iter().flatten() {
            let Some(timestamp) = earlier.get(row_id(row)).and_then(|old| same_row_timestamp(row, old))
            else {
                continue;
            };
            if let Some(row) = row.as_object_mut() {
                row.insert("timestamp".into(), timestamp);
            }
        }
        self.bytes = json::to_string(&self.value).len();
    }
}

/// Returns the timestamp of `old` if it says what `row` says and is older.
fn same_row_timestamp(row: &Value, old: &Value) -> Option<Value> {
    let timestamp = old.get("timestamp")?;
    let seconds = |row: &Value| row.at(&["timestamp", "seconds"]).and_then(Value::as_i64);
    let is_older = seconds(old)? > 0 && seconds(row).is_none_or(|own| seconds(old) < Some(own));
    (is_older && without_timestamp(row) == without_timestamp(old)).then(|| timestamp.clone())
}

fn without_timestamp(row: &Value) -> Value {
    let mut row = row.clone();
    if let Some(fields) = row.as_object_mut() {
        fields.remove("timestamp");
    }
    row
}

fn rows_of_report(report: &Value) -> &[Value] {
    report.get("results").and_then(Value::as_array).unwrap_or_default()
}

fn row_id(row: &Value) -> &str {
    row.str_at(&["properties", RESULT_ID_PROPERTY])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{failed, results_of};
    use super::super::{ReportApi, ReportResult, report_objects};
    use super::*;

    fn report(rows: Vec<ReportResult>) -> ReportObject {
        report_objects(ReportApi::OpenReports, &results_of(rows)).remove(0)
    }

    #[test]
    fn timestamps_of_unchanged_rows_stay() {
        let stored = report(vec![failed("a", "r"), failed("b", "r")]);
        let now = |policy: &str| ReportResult { since: 1_800_000_000, ..failed(policy, "r") };
        let changed = ReportResult { message: "otherwise".into(), ..now("b") };
        let mut wanted = report(vec![now("a"), changed, now("c")]);
        let digest = wanted.digest.clone();
        wanted.keep_timestamps(&stored.value);
        let seconds = |row: &Value| row.at(&["timestamp", "seconds"]).and_then(Value::as_i64);
        let seconds: Vec<Option<i64>> = rows_of_report(&wanted.value).iter().map(seconds).collect();
        assert_eq!(seconds, [Some(1_700_000_000), Some(1_800_000_000), Some(1_800_000_000)]);
        assert_eq!(
            (wanted.digest.as_str(), wanted.bytes),
            (digest.as_str(), json::to_string(&wanted.value).len())
        );
    }
}
