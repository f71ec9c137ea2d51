//! Which rows of reports are shown, and how many there are of each kind.

use std::collections::BTreeMap;

use kubewright_ui::PageRequest;
use kubewright_value::{Map, Text, Value};

use super::report_rows::{PageRow, REPORT_RESULTS, ReportCounts, RowField};

/// How many values of a facet are listed.
const MAX_FACET_VALUES: usize = 100;

/// What rows can be filtered by, in the order of the facets.
const FIELDS: [RowField; 9] = [
    ("namespace", |row| &row.namespace),
    ("policy", |row| &row.policy),
    ("rule", |row| &row.rule),
    ("severity", |row| &row.severity),
    ("result", |row| &row.result),
    ("kind", |row| &row.kind),
    ("owner", |row| &row.owner),
    ("source", |row| &row.source),
    ("dialect", PageRow::dialect),
];

/// Which rows are shown.
#[derive(Debug, Default)]
pub(super) struct ReportFilter {
    /// By the place of the field: the values of which one must fit; none if all do.
    wanted: Vec<Vec<String>>,
    /// A text that must occur, in lower case.
    text: String,
}

impl ReportFilter {
    /// Reads a query; a name that is given several times takes any of its values.
    pub(super) fn read(request: &PageRequest) -> Self {
        let values = |name: &str| -> Vec<String> {
            request.query_values(name).filter(|value| !value.is_empty()).map(str::to_owned).collect()
        };
        let wanted = FIELDS.iter().map(|(name, _)| values(name)).collect();
        Self { wanted, text: request.query_value("text").to_lowercase() }
    }

    /// Returns whether a row is shown.
    pub(super) fn has(&self, row: &PageRow) -> bool {
        self.has_without(row, &[])
    }

    /// Returns whether a row is shown if the fields of `ignored` do not count.
    fn has_without(&self, row: &PageRow, ignored: &[&str]) -> bool {
        let fits = |((name, field), wanted): (&RowField, &Vec<String>)| {
            wanted.is_empty() || ignored.contains(name) || wanted.iter().any(|one| one == field(row))
        };
        FIELDS.iter().zip(&self.wanted).all(fits) && self.has_text(row)
    }

    fn has_text(&self, row: &PageRow) -> bool {
        let texts = [&row.message, &row.name, &row.policy, &row.rule, &row.namespace, &row.kind];
        self.text.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&self.text))
    }

    /// Whether nothing but namespaces, verdicts and sources is chosen, which reports count themselves.
    fn is_counted_by_reports(&self) -> bool {
        let counted = ["namespace", "result", "source"];
        let is_free =
            |((name, _), wanted): (&RowField, &Vec<String>)| wanted.is_empty() || counted.contains(name);
        self.text.is_empty() && FIELDS.iter().zip(&self.wanted).all(is_free)
    }

    fn wants_source(&self, source: &str) -> bool {
        let place = FIELDS.iter().position(|(name, _)| *name == "source");
        let wanted = place.and_then(|place| self.wanted.get(place)).map(Vec::as_slice).unwrap_or_default();
        wanted.is_empty() || wanted.iter().any(|one| one == source)
    }

    /// Returns how many results of each verdict each namespace has, whatever namespace and verdict are chosen. Reports
    /// count results without a row as well, such as passes; of a closer choice only rows can be counted.
    pub(super) fn summary(&self, rows: &[PageRow], counted: &[ReportCounts]) -> Value {
        let mut namespaces: BTreeMap<Text, [u64; 5]> = BTreeMap::new();
        let is_counted = self.is_counted_by_reports();
        for report in counted.iter().filter(|report| is_counted && self.wants_source(&report.source)) {
            let sums = namespaces.entry(report.namespace.clone()).or_default();
            sums.iter_mut().zip(report.counts).for_each(|(sum, count)| *sum += count);
        }
        for row in rows.iter().filter(|row| !is_counted && self.has_without(row, &["namespace", "result"])) {
            let sums = namespaces.entry(row.namespace.clone()).or_default();
            let place = REPORT_RESULTS.iter().position(|one| row.result == *one);
            if let Some(sum) = place.and_then(|place| sums.get_mut(place)) {
                *sum += 1;
            }
        }
        let mut total = [0; 5];
        for sums in namespaces.values() {
            total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        let listed: Vec<Value> = namespaces
            .iter()
            .map(|(namespace, sums)| {
                let mut value = sums_value(sums);
                value.insert_at(0, "namespace".into(), namespace.clone().into());
                value.into()
            })
            .collect();
        let counted_by = if is_counted { "reports" } else { "rows" };
        let fields = [
            ("namespaces", Value::array(listed)),
            ("total", sums_value(&total).into()),
            ("countedBy", counted_by.into()),
        ];
        Map::from(fields).into()
    }

    /// Returns for each field its values and how many rows have each, if the field itself were not chosen.
    pub(super) fn facets(&self, rows: &[PageRow]) -> Value {
        let facet = |(name, field): &RowField| {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for row in rows.iter().filter(|row| self.has_without(row, &[name])) {
                *counts.entry(field(row)).or_default() += 1;
            }
            let mut counts: Vec<(&str, usize)> =
                counts.into_iter().filter(|(value, _)| !value.is_empty()).collect();
            counts.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
            let pair = |(value, count): (&str, usize)| Value::array(vec![value.into(), count.into()]);
            let values: Vec<Value> = counts.into_iter().take(MAX_FACET_VALUES).map(pair).collect();
            (Text::from(*name), Value::array(values))
        };
        FIELDS.iter().map(facet).collect::<Map>().into()
    }
}

fn sums_value(sums: &[u64; 5]) -> Map {
    REPORT_RESULTS.iter().zip(sums).map(|(name, sum)| (Text::from(*name), Value::from(*sum))).collect()
}
