//! Rows of reports as CSV (RFC 4180) that a spreadsheet does not take for formulas.

use super::report_rows::{PageRow, RowField};

/// The columns.
const COLUMNS: [RowField; 13] = [
    ("namespace", |row| &row.namespace),
    ("kind", |row| &row.kind),
    ("name", |row| &row.name),
    ("policy", |row| &row.policy),
    ("rule", |row| &row.rule),
    ("result", |row| &row.result),
    ("severity", |row| &row.severity),
    ("category", |row| &row.category),
    ("message", |row| &row.message),
    ("owner", |row| &row.owner),
    ("dialect", PageRow::dialect),
    ("source", |row| &row.source),
    ("timestamp", |row| &row.timestamp),
];

/// Returns `rows` with a line of headings.
pub(super) fn csv_text<'r>(rows: impl Iterator<Item = &'r PageRow>) -> String {
    let mut out = COLUMNS.map(|(name, _)| name).join(",") + "\r\n";
    for row in rows {
        let fields = COLUMNS.map(|(_, field)| csv_field(field(row)));
        out.push_str(&fields.join(","));
        out.push_str("\r\n");
    }
    out
}

/// Returns one field. What a spreadsheet would calculate gets an apostrophe, which it does not show.
fn csv_field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let mark = if is_formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}
