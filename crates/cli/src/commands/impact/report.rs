//! What `impact` writes: a table, Markdown or JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use kubewright_report::render::DOCUMENT_VERSION;
use kubewright_report::text::plural;
use kubewright_value::{Map, Text, Value, json};

use super::{ImpactChange, ObjectImpact};
use crate::arguments::{ImpactArguments, ImpactFormat};
use crate::failure::CommandFailure;
use crate::output::{Paint, ReportWriter, standard_output, visible};

/// How many owners Markdown lists, so that it stays below the limits of code hosts.
const MAX_MARKDOWN_ROWS: usize = 150;

/// The objects of one owner, in words.
struct OwnerRow<'a> {
    namespace: &'a str,
    owner: &'a str,
    counts: [usize; 4],
    rules: BTreeSet<&'a str>,
    /// The first message.
    message: &'a str,
    /// Where the first object is.
    place: &'a str,
}

/// Writes the report of `impacts`, which were found on `objects` objects.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_impacts(
    impacts: &[ObjectImpact],
    objects: usize,
    arguments: &ImpactArguments,
    paint: Paint,
) -> Result<(), CommandFailure> {
    let mut out = standard_output();
    let counts = count_changes(impacts.iter());
    match arguments.output {
        ImpactFormat::Table => write_table(&mut out, &owner_rows(impacts), paint)?,
        ImpactFormat::Markdown => write_markdown(&mut out, &owner_rows(impacts), (objects, counts))?,
        ImpactFormat::Json => {
            writeln!(out, "{}", json::to_shown_string(&report_value(impacts, objects, counts)))?;
        }
    }
    if arguments.output == ImpactFormat::Table {
        writeln!(out, "{}", summary_text(objects, counts))?;
    }
    out.flush()?;
    Ok(())
}

fn count_changes<'i>(impacts: impl Iterator<Item = &'i ObjectImpact>) -> [usize; 4] {
    let mut counts = [0; 4];
    for impact in impacts {
        let place = ImpactChange::ALL.iter().position(|change| *change == impact.change);
        if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
            *count += 1;
        }
    }
    counts
}

/// Returns `3 of 20 objects: 1 newly refused, …`.
fn summary_text(objects: usize, counts: [usize; 4]) -> String {
    let [refused, warned, patched, released] = counts;
    let mut text = format!(
        "{}: {refused} newly refused, {warned} newly warned of, {patched} newly changed",
        plural(objects, "object")
    );
    if released > 0 {
        text.push_str(&format!(", {released} no longer refused or warned of"));
    }
    text
}

/// Returns the owners by namespace, those with most refusals first.
fn owner_rows(impacts: &[ObjectImpact]) -> Vec<OwnerRow<'_>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&ObjectImpact>> = BTreeMap::new();
    for impact in impacts {
        groups.entry((impact.key.namespace.as_str(), impact.owner.as_str())).or_default().push(impact);
    }
    let mut rows: Vec<OwnerRow<'_>> = groups
        .into_iter()
        .map(|((namespace, owner), mut members)| {
            members.sort_by_key(|impact| impact.change);
            let rules = members.iter().flat_map(|impact| &impact.rules);
            let first = members.first();
            OwnerRow {
                namespace,
                owner,
                counts: count_changes(members.iter().copied()),
                rules: rules.map(|(rule, _)| rule.as_str()).collect(),
                message: first
                    .and_then(|impact| impact.rules.first())
                    .map(|(_, message)| message.as_str())
                    .unwrap_or_default(),
                place: first.map(|impact| impact.place.as_str()).unwrap_or_default(),
            }
        })
        .collect();
    rows.sort_by(|one, other| one.namespace.cmp(other.namespace).then(other.counts.cmp(&one.counts)));
    rows
}

fn write_table(out: &mut ReportWriter, rows: &[OwnerRow<'_>], paint: Paint) -> Result<(), CommandFailure> {
    let width = rows.iter().map(|row| visible(row.owner).chars().count()).max().unwrap_or(0);
    let mut last = None;
    for row in rows {
        if last != Some(row.namespace) {
            if last.is_some() {
                writeln!(out)?;
            }
            let name = if row.namespace.is_empty() { "(no namespace)" } else { row.namespace };
            writeln!(out, "{}", visible(name))?;
            last = Some(row.namespace);
        }
        let [refused, ..] = row.counts;
        let counts = counts_text(row.counts);
        let counts = if refused > 0 { paint.red(&counts) } else { paint.yellow(&counts) };
        writeln!(out, "  {:width$}  {counts}", visible(row.owner))?;
        for rule in &row.rules {
            writeln!(out, "      {}", visible(rule))?;
        }
        if !row.message.is_empty() {
            writeln!(out, "      {}", visible(row.message))?;
        }
        writeln!(out, "      {}", paint.cyan(&visible(row.place)))?;
    }
    if !rows.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// Returns `2 refused, 1 patched`.
fn counts_text(counts: [usize; 4]) -> String {
    let parts = ImpactChange::ALL.iter().zip(counts).filter(|(_, count)| *count > 0);
    parts.map(|(change, count)| format!("{count} {}", change.name())).collect::<Vec<_>>().join(", ")
}

fn write_markdown(
    out: &mut ReportWriter,
    rows: &[OwnerRow<'_>],
    (objects, counts): (usize, [usize; 4]),
) -> Result<(), CommandFailure> {
    writeln!(out, "**{}**", summary_text(objects, counts))?;
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| namespace | owner | refused | warned | patched | released | rules |")?;
    writeln!(out, "|---|---|---:|---:|---:|---:|---|")?;
    for row in rows.iter().take(MAX_MARKDOWN_ROWS) {
        let [refused, warned, patched, released] = row.counts;
        let rules: Vec<String> = row.rules.iter().map(|rule| format!("`{}`", cell(rule))).collect();
        let rules = rules.join("<br>");
        let (namespace, owner) = (cell(row.namespace), cell(row.owner));
        writeln!(out, "| {namespace} | {owner} | {refused} | {warned} | {patched} | {released} | {rules} |")?;
    }
    if rows.len() > MAX_MARKDOWN_ROWS {
        writeln!(out, "\n… and {} more owners", rows.len() - MAX_MARKDOWN_ROWS)?;
    }
    Ok(())
}

/// Returns `text` for a cell of a table.
fn cell(text: &str) -> String {
    visible(text).replace(['|', '`', '<', '>'], "\u{2009}")
}

fn report_value(impacts: &[ObjectImpact], objects: usize, counts: [usize; 4]) -> Value {
    let rule_value = |(rule, message): &(String, Text)| {
        Value::from(Map::from([("rule", Value::from(rule.as_str())), ("message", message.clone().into())]))
    };
    let rows = impacts.iter().map(|impact| {
        Value::from(Map::from([
            ("kind", Value::from(impact.key.kind.clone())),
            ("namespace", impact.key.namespace.clone().into()),
            ("name", impact.key.name.clone().into()),
            ("place", impact.place.as_str().into()),
            ("owner", impact.owner.as_str().into()),
            ("change", impact.change.name().into()),
            ("rules", Value::array(impact.rules.iter().map(rule_value).collect())),
        ]))
    });
    let mut summary = Map::from([("objects", Value::from(objects))]);
    for (change, count) in ImpactChange::ALL.iter().zip(counts) {
        summary.insert(change.name().into(), count.into());
    }
    Map::from([
        ("version", Value::from(DOCUMENT_VERSION)),
        ("impacts", Value::array(rows.collect())),
        ("summary", summary.into()),
    ])
    .into()
}
