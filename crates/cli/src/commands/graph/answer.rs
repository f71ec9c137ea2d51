//! The graph and its findings as JSON, for the page: a picture, what each box and line stands for, and what was found.

mod request;
#[cfg(test)]
mod tests;
mod why_not;

use std::collections::HashMap;

use kubewright_draw::{
    PICTURE_CSS, Picture, PlacedBox, PlacedLine, PlacedPicture, Tone, picture_node, place_picture, render_svg,
};
use kubewright_engine::Diagnostic;
use kubewright_files::workers;
use kubewright_graph::{Graph, Id};
use kubewright_patterns::DetectionSettings;
use kubewright_report::render::{diagnostic_value, finding_row_value, findings_document};
use kubewright_report::text::plural;
use kubewright_report::{FindingOptions, ReportedFindings};
use kubewright_value::{Map, Text, Value};

use super::overlay::{self, Overlay};
use super::{DrawnGraph, draw_graph};
use crate::failure::CommandFailure;
use crate::pattern_inputs::PatternInputs;
pub(crate) use request::GraphRequest;

/// How many findings are listed.
const MAX_LISTED_FINDINGS: usize = 500;

/// All findings in a graph, kept beside it so that each picture of it needs no search.
#[derive(Debug, Default)]
pub(crate) struct GraphFindings {
    overlay: Overlay,
    rows: Vec<FoundRow>,
    diagnostics: Vec<Diagnostic>,
}

/// One finding.
#[derive(Debug)]
struct FoundRow {
    pattern: Text,
    /// Its number among the findings of its pattern, from 1.
    number: usize,
    /// As `detect` shows it.
    value: Value,
    /// The ids of its objects in pictures; that of the leader first.
    objects: Vec<Text>,
}

impl GraphFindings {
    /// Looks for all patterns of `inputs`.
    pub(crate) fn find(inputs: &PatternInputs) -> Self {
        let found = overlay::find_badges(inputs, &[]);
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let row = |row| finding_row_value(&found, row);
        let mut rows = Vec::with_capacity(found.rows.len());
        for one in found.rows.iter() {
            let number = numbers.entry(one.pattern.name.as_str()).or_default();
            *number += 1;
            if one.suppression.is_some() {
                continue;
            }
            let objects = one.finding.roles.iter().filter_map(|(_, id)| object_id(&inputs.graph, *id));
            let (pattern, objects) = (one.pattern.name.clone(), objects.collect());
            rows.push(FoundRow { pattern, number: *number, value: row(one), objects });
        }
        Self { overlay: Overlay::of(&found), rows, diagnostics: found.diagnostics }
    }
}

/// Returns the answer to a request for a picture.
///
/// # Errors
/// When there is no such focus, kind, namespace, edge type, pattern or finding.
pub(crate) fn graph_answer(
    inputs: &PatternInputs,
    found: Option<&GraphFindings>,
    request: &GraphRequest,
) -> Result<Value, CommandFailure> {
    let selection = &request.selection;
    let none = GraphFindings::default();
    let found = found.unwrap_or(&none);
    let drawn = draw_graph(selection, inputs, &found.overlay)?;
    let why_not = why_not::why_not(selection, inputs, drawn.discarded);
    let DrawnGraph { picture, mut notes, mut diagnostics, .. } = drawn;
    let picture = picture.unwrap_or_default();
    let options = selection.draw_options();
    let placed = place_picture(&picture, &options);
    notes.extend(picture.legend.iter().cloned());
    notes.extend(placed.notes.iter().cloned());
    diagnostics.extend(inputs.diagnostics.iter().chain(&found.diagnostics).cloned());
    let svg = if request.is_standalone { render_svg(&picture, &options) } else { placed.svg.clone() };
    let findings = found_values(found, selection.pattern.as_deref(), &picture, &placed);
    let more = findings.len().saturating_sub(MAX_LISTED_FINDINGS);
    if more > 0 {
        notes.push(format!("{} more than the list shows", plural(more, "finding")));
    }
    Ok(Map::from([
        ("title", Value::from(picture.title.as_str())),
        ("svg", svg.into()),
        ("css", PICTURE_CSS.into()),
        ("nodes", box_values(&placed)),
        ("edges", placed.lines.iter().map(|line| line_value(line, &placed)).collect::<Vec<_>>().into()),
        ("applications", application_values(&picture, &placed)),
        ("findings", findings.into_iter().take(MAX_LISTED_FINDINGS).collect::<Vec<_>>().into()),
        ("legend", legend_values(&placed)),
        ("counts", count_values(inputs, &placed)),
        ("notes", notes.into()),
        ("whyNot", why_not.into()),
        ("diagnostics", diagnostics.iter().map(diagnostic_value).collect::<Vec<_>>().into()),
    ])
    .into())
}

/// Returns what patterns find, as `detect` does; of `names` if there are any.
///
/// # Errors
/// When there is no pattern of a name.
pub(crate) fn detect_answer(inputs: &mut PatternInputs, names: &[String]) -> Result<Value, CommandFailure> {
    inputs.only(names)?;
    let limits = (&DetectionSettings::default(), workers::worker_count());
    let options = FindingOptions::default();
    let found = ReportedFindings::detect(&inputs.patterns, inputs.context(), options, limits);
    let diagnostics = [inputs.diagnostics.as_slice(), &found.diagnostics].concat();
    Ok(findings_document(&found, &diagnostics))
}

/// Returns the id of an object in pictures.
fn object_id(graph: &Graph, id: Id) -> Option<Text> {
    graph.node(id).map(|node| picture_node(node, false).id)
}

/// Returns the findings about what is drawn, each with the boxes that it touches.
fn found_values(
    found: &GraphFindings,
    pattern: Option<&str>,
    picture: &Picture,
    placed: &PlacedPicture,
) -> Vec<Value> {
    let homes: HashMap<&str, &PlacedBox> = picture
        .nodes
        .iter()
        .zip(&placed.homes)
        .filter_map(|(node, home)| Some((node.id.as_str(), placed.boxes.get(*home)?)))
        .collect();
    let value = |row: &FoundRow| {
        let mut nodes: Vec<Text> = Vec::new();
        for object in &row.objects {
            let Some(home) = homes.get(object.as_str()) else { continue };
            if !nodes.contains(&home.id) {
                nodes.push(home.id.clone());
            }
        }
        // One whose leader is not drawn is about something else.
        row.objects.first().filter(|leader| homes.contains_key(leader.as_str()))?;
        let mut value = row.value.clone();
        let map = value.as_object_mut()?;
        map.insert("number".into(), row.number.into());
        map.insert("nodes".into(), nodes.into());
        map.insert("objects".into(), row.objects.clone().into());
        Some(value)
    };
    let is_of = |row: &&FoundRow| pattern.is_none_or(|pattern| row.pattern == pattern);
    found.rows.iter().filter(is_of).filter_map(value).collect()
}

fn box_values(placed: &PlacedPicture) -> Value {
    let badge = |badge: &kubewright_draw::Badge| -> Value {
        Map::from([("text", Value::from(badge.text.clone())), ("tone", badge.tone.name().into())]).into()
    };
    let value = |one: &PlacedBox| -> Value {
        Map::from([
            ("id", Value::from(one.id.clone())),
            ("kind", one.kind.clone().into()),
            ("namespace", one.namespace.clone().into()),
            ("label", one.label.clone().into()),
            ("class", one.class.name().into()),
            ("badges", one.badges.iter().map(badge).collect::<Vec<_>>().into()),
            ("notes", one.notes.clone().into()),
            ("x", one.corner.0.into()),
            ("y", one.corner.1.into()),
            ("width", one.size.0.into()),
            ("height", one.size.1.into()),
            ("application", one.application.clone().into()),
            ("opens", one.opens.clone().into()),
            ("objects", one.objects.into()),
            ("members", one.members.clone().into()),
        ])
        .into()
    };
    placed.boxes.iter().map(value).collect::<Vec<_>>().into()
}

fn line_value(line: &PlacedLine, placed: &PlacedPicture) -> Value {
    let id = |place: usize| placed.boxes.get(place).map(|one| one.id.clone()).unwrap_or_default();
    Map::from([
        ("from", Value::from(id(line.from))),
        ("to", id(line.to).into()),
        ("fromIndex", line.from.into()),
        ("toIndex", line.to.into()),
        ("type", line.types.first().cloned().unwrap_or_default().into()),
        ("types", line.types.clone().into()),
        ("label", line.types.join(", ").into()),
        ("via", line.fields.join(", ").into()),
        ("style", line.style.name().into()),
        ("missing", (line.style == kubewright_draw::LineStyle::Missing).into()),
        ("count", line.count.into()),
        ("points", line.points.into()),
    ])
    .into()
}

fn application_values(picture: &Picture, placed: &PlacedPicture) -> Value {
    let value = |one: &kubewright_draw::PictureApplication| -> Value {
        Map::from([
            ("key", Value::from(one.key.clone())),
            ("label", one.label.clone().into()),
            ("objects", one.objects.into()),
            ("findings", one.findings.into()),
            ("drawn", one.is_one_box.into()),
            ("open", picture.open.contains(&one.key).into()),
        ])
        .into()
    };
    placed.applications.iter().map(value).collect::<Vec<_>>().into()
}

fn legend_values(placed: &PlacedPicture) -> Value {
    let value = |(name, colour, count): &(Text, usize, usize)| -> Value {
        Map::from([
            ("type", Value::from(name.clone())),
            ("class", format!("e{colour}").into()),
            ("color", format!("var(--e{colour})").into()),
            ("count", (*count).into()),
        ])
        .into()
    };
    placed.types.iter().map(value).collect::<Vec<_>>().into()
}

fn count_values(inputs: &PatternInputs, placed: &PlacedPicture) -> Value {
    let badges = placed.boxes.iter().flat_map(|one| &one.badges);
    Map::from([
        ("objects", Value::from(inputs.objects)),
        ("drawn", placed.homes.len().into()),
        ("boxes", placed.boxes.len().into()),
        ("edges", placed.lines.len().into()),
        ("badges", badges.filter(|badge| badge.tone != Tone::Role).count().into()),
    ])
    .into()
}
