//! Reports as whole manifests, split where one would be too large.

use kubewright_golib::naming::sha256_hex;
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Map, Text, Value, json};

use super::name::{is_cluster_uid, part_name};
use super::rows::{ReportRow, report_rows};
use super::{MANAGED_BY, MANAGED_BY_LABEL, ObjectResults, ReportApi, ReportScope, StatusFilter, report_name};
use crate::OutcomeCounts;

/// The annotation with the digest of a report.
pub const DIGEST_ANNOTATION: &str = "kubewright.dev/digest";
/// How many rows a report has.
pub const MAX_REPORT_ROWS: usize = 1_000;
/// How many bytes a report has as JSON. `kubectl apply` copies a manifest into an annotation, and all annotations
/// together have at most 256 KiB.
pub const MAX_REPORT_BYTES: usize = 240 << 10;
/// The number of digits of a digest.
const DIGEST_DIGITS: usize = 32;
/// The longest text of a reference to an object; names of objects in files may have any length.
const MAX_REFERENCE_BYTES: usize = 512;
/// By how many bytes the beginnings of two parts of a report may differ: digits of the summary and of the name.
const HEAD_RESERVE_BYTES: usize = 128;

/// A report that is ready to be sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReportObject {
    /// The API group that it belongs to.
    pub api: ReportApi,
    /// The name.
    pub name: String,
    /// Empty for a report about an object without one.
    pub namespace: Text,
    /// What its rows say, timestamps aside.
    pub digest: String,
    /// The whole manifest.
    pub value: Value,
    /// The bytes of `value` as JSON.
    pub bytes: usize,
}

/// Returns the reports about one object. Rows that do not fit into one report are in further ones, whose names end in
/// `-2`, `-3`. Their summaries add up to the counts of `results`.
#[must_use]
pub fn report_objects(api: ReportApi, results: &ObjectResults) -> Vec<ReportObject> {
    let name = report_name(&results.scope, results.source);
    named_report_objects(api, results, &name)
}

/// Returns the reports about one object, with `name` for the first.
pub(crate) fn named_report_objects(api: ReportApi, results: &ObjectResults, name: &str) -> Vec<ReportObject> {
    let head = ReportHead {
        api,
        scope: Some(&results.scope),
        source: results.source.name(),
        statuses: Some(results.statuses),
        annotations: &[],
    };
    let parts = split_rows(report_rows(results), head.bytes(name));
    let mut left = results.counts;
    parts.iter().skip(1).for_each(|part| left = counts_without(left, part));
    let parts = parts.into_iter().enumerate();
    parts
        .map(|(place, rows)| {
            let counts = if place == 0 { left } else { counts_of(&rows) };
            head.report(&part_name(name, place), counts, rows)
        })
        .collect()
}

/// What the parts of a report have in common.
#[derive(Clone, Copy)]
pub(super) struct ReportHead<'r> {
    pub(super) api: ReportApi,
    /// The object that it is about; nothing for a report about all.
    pub(super) scope: Option<&'r ReportScope>,
    pub(super) source: &'r str,
    /// The statuses that have rows.
    pub(super) statuses: Option<StatusFilter>,
    /// Annotations beside the digest.
    pub(super) annotations: &'r [(&'r str, String)],
}

impl ReportHead<'_> {
    /// Returns the report with these rows.
    pub(super) fn report(&self, name: &str, counts: OutcomeCounts, rows: Vec<ReportRow>) -> ReportObject {
        let placeholder = "0".repeat(DIGEST_DIGITS);
        let mut text = json::to_string(&self.value(name, counts, &placeholder).into());
        let row_bytes: usize = rows.iter().map(|row| row.bytes + ",".len()).sum();
        let bytes = text.len() + r#","results":[]"#.len() + row_bytes.saturating_sub(",".len());
        for row in &rows {
            text.push('\n');
            text.push_str(&row.json);
        }
        let digest: String = sha256_hex(&text).chars().take(DIGEST_DIGITS).collect();
        let mut value = self.value(name, counts, &digest);
        value.insert("results".into(), Value::array(rows.into_iter().map(|row| row.value).collect()));
        let namespace = self.scope.map(|scope| scope.namespace.clone()).unwrap_or_default();
        ReportObject { api: self.api, name: name.to_owned(), namespace, digest, value: value.into(), bytes }
    }

    /// Returns how many bytes a report without rows has at most.
    pub(super) fn bytes(&self, name: &str) -> usize {
        let empty = self.value(name, OutcomeCounts::default(), &"0".repeat(DIGEST_DIGITS));
        json::to_string(&empty.into()).len() + HEAD_RESERVE_BYTES
    }

    /// Returns the manifest without its rows.
    fn value(&self, name: &str, counts: OutcomeCounts, digest: &str) -> Map {
        let namespace = self.scope.map_or("", |scope| scope.namespace.as_str());
        let mut report = Map::from([
            ("apiVersion", Value::from(self.api.api_version())),
            ("kind", self.api.kind(!namespace.is_empty()).into()),
            ("metadata", self.metadata(name, namespace, digest).into()),
        ]);
        // The older group has neither field, and an API server would drop both.
        if self.api == ReportApi::OpenReports {
            report.insert("source".into(), self.source.into());
            if let Some(statuses) = self.statuses {
                let names: Vec<Value> = statuses.statuses().map(|status| status.name().into()).collect();
                let limits = Map::from([
                    ("maxResults", Value::from(MAX_REPORT_ROWS)),
                    ("statusFilter", Value::array(names)),
                ]);
                report.insert("configuration".into(), Map::from([("limits", Value::from(limits))]).into());
            }
        }
        let reference = self.scope.map(object_reference).filter(|reference| !reference.is_empty());
        if let Some(reference) = reference {
            report.insert("scope".into(), reference.into());
        }
        report.insert("summary".into(), summary_value(counts));
        report
    }

    fn metadata(&self, name: &str, namespace: &str, digest: &str) -> Map {
        let mut metadata = Map::from([("name", Value::from(name))]);
        if !namespace.is_empty() {
            metadata.insert("namespace".into(), reference_text(namespace));
        }
        metadata.insert("labels".into(), Map::from([(MANAGED_BY_LABEL, Value::from(MANAGED_BY))]).into());
        let mut annotations = Map::from([(DIGEST_ANNOTATION, Value::from(digest))]);
        for (key, text) in self.annotations {
            annotations.insert((*key).into(), text.as_str().into());
        }
        metadata.insert("annotations".into(), annotations.into());
        if let Some(scope) = self.scope.filter(|scope| can_own(scope)) {
            metadata.insert("ownerReferences".into(), Value::array(vec![owner_reference(scope).into()]));
        }
        metadata
    }
}

/// Returns the reference of a report to its object.
fn object_reference(scope: &ReportScope) -> Map {
    let mut reference = Map::new();
    for (key, text) in [
        ("apiVersion", &scope.api_version),
        ("kind", &scope.kind),
        ("namespace", &scope.namespace),
        ("name", &scope.name),
        ("uid", &scope.uid),
    ] {
        if !text.is_empty() {
            reference.insert(key.into(), reference_text(text));
        }
    }
    reference
}

/// Returns the reference by which the garbage collector deletes a report together with its object.
fn owner_reference(scope: &ReportScope) -> Map {
    Map::from([
        ("apiVersion", reference_text(&scope.api_version)),
        ("kind", reference_text(&scope.kind)),
        ("name", reference_text(&scope.name)),
        ("uid", reference_text(&scope.uid)),
    ])
}

/// Returns whether an API server takes `scope` as an owner.
fn can_own(scope: &ReportScope) -> bool {
    is_cluster_uid(&scope.uid)
        && [&scope.api_version, &scope.kind, &scope.name].iter().all(|text| !text.is_empty())
}

fn reference_text(text: &str) -> Value {
    shorten_text(text, TextLimit::BytesInAll(MAX_REFERENCE_BYTES)).as_ref().into()
}

fn summary_value(counts: OutcomeCounts) -> Value {
    Map::from([
        ("pass", Value::from(counts.pass)),
        ("fail", counts.fail.into()),
        ("warn", counts.warn.into()),
        ("error", counts.error.into()),
        ("skip", counts.skip.into()),
    ])
    .into()
}

/// Splits rows into parts that fit into a report beside `head_bytes`. There is always a first part.
fn split_rows(rows: Vec<ReportRow>, head_bytes: usize) -> Vec<Vec<ReportRow>> {
    let room = MAX_REPORT_BYTES.saturating_sub(head_bytes);
    let (mut parts, mut part, mut part_bytes) = (Vec::new(), Vec::new(), 0);
    for row in rows {
        let row_bytes = row.bytes + ",".len();
        let is_full = part.len() >= MAX_REPORT_ROWS || part_bytes + row_bytes > room;
        if is_full && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            part_bytes = 0;
        }
        part_bytes += row_bytes;
        part.push(row);
    }
    if !part.is_empty() || parts.is_empty() {
        parts.push(part);
    }
    parts
}

/// Returns how many rows there are of each status.
fn counts_of(rows: &[ReportRow]) -> OutcomeCounts {
    let mut counts = OutcomeCounts::default();
    rows.iter().for_each(|row| *counts.of_mut(row.result) += 1);
    counts
}

/// Returns `counts` less those of `rows`.
fn counts_without(mut counts: OutcomeCounts, rows: &[ReportRow]) -> OutcomeCounts {
    for row in rows {
        let count = counts.of_mut(row.result);
        *count = count.saturating_sub(1);
    }
    counts
}
