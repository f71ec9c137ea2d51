//! The rows of a report: sorted, with ids, and each small enough that a report can hold it.

use std::cmp::Ordering;
use std::collections::HashMap;

use kubewright_engine::RuleStatus;
use kubewright_golib::naming::sha256_hex;
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Map, Text, Value, json};

use super::name::object_identity;
use super::{ObjectResults, ReportResult, ReportScope, ReportSource};
use crate::{Severity, shell_word};
use kubewright_value::CompactSort as _;

/// The property with the identity of a row, by which policy-reporter tells rows apart.
pub(super) const RESULT_ID_PROPERTY: &str = "resultID";
/// The property that says that others were left out.
const TRUNCATED_PROPERTY: &str = "truncated";
/// The longest message. A character may take six bytes of JSON for one, so all limits of a row together stay below a
/// sixth of a report.
const MAX_MESSAGE_BYTES: usize = 16 << 10;
/// The longest policy, rule or category.
const MAX_NAME_BYTES: usize = 512;
/// The longest text of a property.
const MAX_PROPERTY_BYTES: usize = 4 << 10;
/// How many bytes all properties of a row have.
const MAX_PROPERTIES_BYTES: usize = 16 << 10;
/// The longest names for which a row has the command that shows its reason.
const MAX_WHY_BYTES: usize = 1 << 10;
/// The number of digits of an id.
const ID_DIGITS: usize = 16;
/// The properties that tell apart results of one rule about one object.
const IDENTIFYING_PROPERTIES: [&str; 3] = ["dialect", "path", "objects"];

/// One row, with its size.
pub(super) struct ReportRow {
    /// The verdict.
    pub(super) result: RuleStatus,
    /// The row without its timestamp, as JSON.
    pub(super) json: String,
    /// The row with its timestamp.
    pub(super) value: Value,
    /// The bytes of `value` as JSON.
    pub(super) bytes: usize,
}

/// Returns the rows of `results`, sorted by policy, rule, part of the object, and whatever else tells them apart.
pub(super) fn report_rows(results: &ObjectResults) -> Vec<ReportRow> {
    let mut sorted: Vec<&ReportResult> = results.results.iter().collect();
    sorted.compact_sort_by(|one, other| compare_results(one, other));
    let mut rows = RowMaker::new(results.source.name(), object_identity(&results.scope));
    rows.address = live_address(results);
    sorted.into_iter().map(|result| rows.row(result)).collect()
}

/// Returns `Kind/namespace/name` of an object in a cluster that rules judged; empty for others.
fn live_address(results: &ObjectResults) -> String {
    let ReportScope { kind, namespace, name, uid, .. } = &results.scope;
    if uid.is_empty() || results.source != ReportSource::Rules {
        return String::new();
    }
    let parts = [kind, namespace, name].into_iter().filter(|part| !part.is_empty());
    parts.map(Text::as_str).collect::<Vec<_>>().join("/")
}

fn compare_results(one: &ReportResult, other: &ReportResult) -> Ordering {
    (one.policy.cmp(&other.policy))
        .then_with(|| one.rule.cmp(&other.rule))
        .then_with(|| property_of(one, "path").cmp(property_of(other, "path")))
        .then_with(|| one.result.cmp(&other.result))
        .then_with(|| one.message.cmp(&other.message))
        .then_with(|| one.properties.cmp(&other.properties))
        .then_with(|| one.since.cmp(&other.since))
}

fn property_of<'r>(result: &'r ReportResult, name: &str) -> &'r str {
    result.properties.iter().find(|(own, _)| own == name).map_or("", |(_, text)| text.as_str())
}

/// Makes the rows of one report.
pub(super) struct RowMaker<'r> {
    source: &'r str,
    /// What the report is about.
    identity: String,
    /// The object as commands take it, if it is in a cluster and rules judge it; otherwise empty.
    address: String,
    /// How many rows have the same id, but for their number.
    seen: HashMap<String, usize>,
}

impl<'r> RowMaker<'r> {
    /// Returns the rows of `source` about the object with this identity.
    pub(super) fn new(source: &'r str, identity: String) -> Self {
        Self { source, identity, address: String::new(), seen: HashMap::new() }
    }

    /// Returns the row of `result`.
    pub(super) fn row(&mut self, result: &ReportResult) -> ReportRow {
        let mut row = self.fields(result);
        let json = json::to_string(&row.clone().into());
        let mut bytes = json.len();
        if result.since != 0 {
            let timestamp = timestamp_value(result.since);
            bytes += r#","timestamp":"#.len() + json::to_string(&timestamp).len();
            row.insert("timestamp".into(), timestamp);
        }
        ReportRow { result: result.result, json, value: row.into(), bytes }
    }

    /// Returns the row without its timestamp.
    fn fields(&mut self, result: &ReportResult) -> Map {
        let mut row = Map::from([
            ("source", Value::from(self.source)),
            ("policy", shortened(&result.policy, MAX_NAME_BYTES)),
        ]);
        let mut add = |key: &str, text: &str, max_bytes: usize| {
            if !text.is_empty() {
                row.insert(key.into(), shortened(text, max_bytes));
            }
        };
        add("rule", &result.rule, MAX_NAME_BYTES);
        add("result", result.result.name(), MAX_NAME_BYTES);
        add("message", &result.message, MAX_MESSAGE_BYTES);
        add("category", &result.category, MAX_NAME_BYTES);
        let severity = Severity::named(&result.severity.to_ascii_lowercase());
        add("severity", severity.map_or("", Severity::name), MAX_NAME_BYTES);
        row.insert("scored".into(), result.is_scored.into());
        let mut properties = properties_value(result, self.id(result));
        if let (Some(why), Some(properties)) = (self.why(result), properties.as_object_mut()) {
            properties.insert("why".into(), why.into());
        }
        row.insert("properties".into(), properties);
        row
    }

    /// Returns the command that shows the reason of a failure, where the row does not have it.
    fn why(&self, result: &ReportResult) -> Option<String> {
        let is_problem = matches!(result.result, RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn);
        if !is_problem || self.address.is_empty() || !property_of(result, "why").is_empty() {
            return None;
        }
        if self.address.len() + result.policy.len() + result.rule.len() > MAX_WHY_BYTES {
            return None;
        }
        let rule = format!("{}/{}", result.policy, result.rule);
        let (object, rule) = (shell_word(&self.address), shell_word(rule.trim_end_matches('/')));
        Some(format!("kubewright why {object} --rule {rule} -r cluster:"))
    }

    /// Returns the id of a row: the same as long as the rule gives the same verdict about the same part of the
    /// object, whatever its message says. Of several such rows the later ones are numbered.
    fn id(&mut self, result: &ReportResult) -> String {
        let (source, identity) = (self.source, self.identity.as_str());
        let rule = (result.policy.as_str(), result.rule.as_str(), result.result.name());
        let parts = IDENTIFYING_PROPERTIES.map(|name| property_of(result, name));
        let whole = format!("{identity}{source:?}{rule:?}{parts:?}");
        let digits = |text: &str| sha256_hex(text).chars().take(ID_DIGITS).collect::<String>();
        let id = digits(&whole);
        let number = self.seen.entry(id.clone()).or_default();
        *number += 1;
        if *number == 1 { id } else { digits(&format!("{whole}#{number}")) }
    }
}

fn timestamp_value(seconds: i64) -> Value {
    Map::from([("seconds", Value::from(seconds)), ("nanos", 0_i64.into())]).into()
}

/// Returns the properties in the order of their names, as many as have room.
fn properties_value(result: &ReportResult, id: String) -> Value {
    let mut sorted: Vec<&(Text, Text)> = result.properties.iter().collect();
    // Stable: of two properties with one name the later one wins.
    sorted.compact_sort_by(|one, other| one.0.cmp(&other.0));
    let mut properties = Map::new();
    let mut room = MAX_PROPERTIES_BYTES;
    for (name, text) in sorted {
        let text = shorten_text(text, TextLimit::BytesWithLength(MAX_PROPERTY_BYTES));
        match room.checked_sub(name.len() + text.len()) {
            Some(rest) if name.len() <= MAX_NAME_BYTES => {
                room = rest;
                properties.insert(name.clone(), text.as_ref().into());
            }
            _ => {
                properties.insert(TRUNCATED_PROPERTY.into(), "true".into());
            }
        }
    }
    properties.insert(RESULT_ID_PROPERTY.into(), id.into());
    properties.into()
}

fn shortened(text: &str, max_bytes: usize) -> Value {
    shorten_text(text, TextLimit::BytesWithLength(max_bytes)).as_ref().into()
}
