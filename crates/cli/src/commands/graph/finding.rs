//! Pictures of the findings of a pattern, or of why it finds nothing.
//!
//! One finding is drawn in the frames of its namespaces, several in a frame each. Absent relationships are drawn as
//! missing: those that must be absent (often the point of the pattern) and those that would have scored.
use kubewright_draw::{Class, LineStyle, Picture, Tone};
use kubewright_graph::Id;
use kubewright_patterns::{
    self as patterns, DetectionPhase, DetectionSettings, Evidence, LeaderTrace, Pattern, PatternFinding,
    PatternFindings, RelationshipList, RelationshipSummary, TraceStep,
};
use kubewright_report::object_label;
use kubewright_report::text::plural;
use kubewright_value::Text;

use super::overlay::tone;
use super::sheet::{Sheet, SheetLine};
use super::{DrawnGraph, GraphSelection, focus, shared_neighbour, words_as_texts};
use crate::failure::CommandFailure;
use crate::pattern_inputs::PatternInputs;

/// How many findings are drawn unless they are chosen.
const MAX_DRAWN_FINDINGS: usize = 12;

/// Returns the picture of the findings, or of the nearest miss where that is wanted.
///
/// # Errors
/// When a selected finding does not exist.
pub(super) fn findings_picture(
    selection: &GraphSelection,
    inputs: &PatternInputs,
    leader: Option<Id>,
) -> Result<DrawnGraph, CommandFailure> {
    let mut found: Vec<(&Pattern, PatternFindings)> = Vec::new();
    let settings = finding_settings(selection, inputs, leader);
    for pattern in inputs.patterns.iter().filter(|pattern| selection.is_about(pattern)) {
        let mut budget = patterns::detection_budget(pattern, &inputs.graph);
        let findings = patterns::detect(pattern, &inputs.graph, &settings, &mut budget);
        let mut findings = findings.map_err(|_| {
            CommandFailure::usage(format!("looking for `{}` takes too long", pattern.name))
                .help("restrict it with --namespace or --focus")
        })?;
        if let Some(leader) = leader {
            findings.findings.retain(|finding| finding.roles.first().is_some_and(|role| role.1 == leader));
            findings.trace.retain(|trace| trace.leader == leader);
        }
        found.push((pattern, findings));
    }
    let all: Vec<(&Pattern, &PatternFinding)> = found
        .iter()
        .flat_map(|(pattern, findings)| findings.findings.iter().map(|finding| (*pattern, finding)))
        .collect();
    if all.is_empty() {
        return Ok(no_findings(selection, inputs, leader, &found));
    }
    let chosen = chosen_findings(selection, all.len())?;
    let is_more = found.iter().any(|(_, findings)| findings.truncated);
    let mut sheet = Sheet::new(&inputs.graph);
    let several = chosen.len() > 1;
    for number in &chosen {
        let Some((pattern, finding)) = all.get(number - 1) else { continue };
        if several {
            sheet.frame(*number, finding.roles.first().map(|role| role.1));
        }
        let say =
            format!("{}{}", if several { format!("{number}. ") } else { String::new() }, score(finding));
        sheet.picture.legend.push(say);
        draw_finding(&mut sheet, pattern, finding);
    }
    let more = if is_more { " at least" } else { "" };
    let drawn = match chosen.len() == all.len() {
        true => String::new(),
        false => format!(", {} drawn; --finding N draws another", chosen.len()),
    };
    let count = format!("{}{more}{drawn}", plural(all.len(), "finding"));
    let notes = if chosen.len() < all.len() { vec![count.clone()] } else { Vec::new() };
    sheet.picture.legend.insert(0, count);
    sheet.picture.title = findings_title(&found);
    Ok(DrawnGraph { picture: Some(sheet.picture), notes, ..DrawnGraph::default() })
}

fn finding_settings(
    selection: &GraphSelection,
    inputs: &PatternInputs,
    leader: Option<Id>,
) -> DetectionSettings {
    let namespaces = match leader.and_then(|leader| inputs.graph.node(leader)) {
        Some(node) => Some(vec![node.namespace.clone()]),
        None if selection.namespaces.is_empty() => None,
        None => Some(words_as_texts(&selection.namespaces)),
    };
    DetectionSettings {
        namespaces,
        traces: leader.is_some() || selection.near,
        ..DetectionSettings::default()
    }
}

/// Returns the numbers of the findings that are drawn.
fn chosen_findings(selection: &GraphSelection, count: usize) -> Result<Vec<usize>, CommandFailure> {
    if let Some(strange) = selection.chosen.iter().find(|number| **number == 0 || **number > count) {
        return Err(CommandFailure::usage(format!("there is no finding {strange}")).help(if count == 1 {
            "there is only 1".to_owned()
        } else {
            format!("there are 1 to {count}")
        }));
    }
    Ok(match selection.chosen.is_empty() {
        true => (1..=count.min(MAX_DRAWN_FINDINGS)).collect(),
        false => selection.chosen.clone(),
    })
}

fn findings_title(found: &[(&Pattern, PatternFindings)]) -> String {
    let names = found.iter().filter(|(_, findings)| !findings.findings.is_empty());
    let names: Vec<&str> = names.map(|(pattern, _)| pattern_display_name(pattern)).collect();
    names.join(", ")
}

fn pattern_display_name(pattern: &Pattern) -> &str {
    if pattern.display_name.is_empty() { &pattern.name } else { &pattern.display_name }
}

/// Returns the label of a line: the edge type, or the id of a custom relationship.
fn called_by<'a>(relationship: &'a str, id: &'a str) -> &'a str {
    if relationship.eq_ignore_ascii_case("custom") { id } else { relationship }
}

/// The message, and how sure it is.
fn score(finding: &PatternFinding) -> String {
    let mut sentence = format!("{}: {}", finding.severity.name(), finding.message);
    if !finding.maximum.is_zero() {
        sentence.push_str(&format!(
            " ({} of {} points, confidence {})",
            finding.points,
            finding.maximum,
            finding.confidence_level().name()
        ));
    }
    sentence
}

fn draw_finding(sheet: &mut Sheet<'_>, pattern: &Pattern, finding: &PatternFinding) {
    for (at, (role, id)) in finding.roles.iter().enumerate() {
        let place = sheet.object(*id);
        if at == 0 {
            sheet.class(place, Class::Focus);
            sheet.badge(place, tone(finding.severity), finding.severity.name());
            sheet.note(place, finding.message.as_str());
        }
        sheet.badge(place, Tone::Role, role);
    }
    for evidence in &finding.evidence {
        draw_evidence(sheet, pattern, finding, evidence);
    }
    for (role, ids) in &finding.witnesses {
        draw_witnesses(sheet, finding, role, ids);
    }
}

fn draw_evidence(sheet: &mut Sheet<'_>, pattern: &Pattern, finding: &PatternFinding, evidence: &Evidence) {
    let points = (!evidence.points.is_zero()).then(|| evidence.points.as_f64());
    let label = called_by(&evidence.relationship, &evidence.entry);
    let mut tie = SheetLine { label, via: evidence.via.clone(), style: LineStyle::Solid, points };
    let against = format!("{label}, speaks against");
    if evidence.held && !evidence.wanted {
        tie.label = &against;
    }
    match (evidence.held, evidence.from, evidence.to, evidence.through) {
        (true, Some(from), Some(to), Some(through)) if evidence.list == RelationshipList::Common => {
            sheet.related_through(from, to, through, &tie);
        }
        (true, Some(from), Some(to), _) => sheet.related(from, to, &tie),
        (true, ..) => {}
        // Another one of its group is there.
        (false, ..) if evidence.rule == "one-of" => {}
        (false, ..) => draw_missing(sheet, pattern, finding, evidence, &tie),
    }
}

/// Draws an absent relationship between two roles.
fn draw_missing(
    sheet: &mut Sheet<'_>,
    pattern: &Pattern,
    finding: &PatternFinding,
    evidence: &Evidence,
    tie: &SheetLine<'_>,
) {
    let Some((_, leader)) = finding.roles.first() else { return };
    let actor = |role: &Text| finding.roles.iter().find(|(id, _)| id == role).map(|(_, id)| *id);
    let (one, other) = &evidence.between;
    if one == other {
        return;
    }
    let asked = pattern.described().find(|asked| asked.id == evidence.entry);
    let lost = asked.filter(|asked| asked.wanted && !asked.points.is_zero());
    let lost = lost.map_or_else(String::new, |asked| format!(" ({} missed)", asked.points));
    let common = if evidence.list == RelationshipList::Common { "common " } else { "" };
    let label = format!("{common}{}{lost}", tie.label);
    let tie = SheetLine { label: &label, ..tie.clone() };
    if (actor(one).is_none() || actor(other).is_none())
        && let Some(why) = sheet.nearly(pattern, &evidence.entry, *leader, &tie)
    {
        sheet.picture.legend.push(why);
        return;
    }
    let mut end = |role: &Text| match actor(role) {
        Some(id) => sheet.object(id),
        None => sheet.missing_box(pattern, role, *leader),
    };
    let (from, to) = (end(one), end(other));
    sheet.missing(from, to, &tie);
}

/// Draws the witnesses of a finding that the evidence does not name.
fn draw_witnesses(sheet: &mut Sheet<'_>, finding: &PatternFinding, role: &Text, ids: &[Id]) {
    for id in ids {
        for evidence in finding.evidence.iter().filter(|evidence| evidence.held && evidence.wanted) {
            let (one, other) = &evidence.between;
            let partner = if one == role { other } else { one };
            let is_between = one == role || other == role;
            let partner = finding.roles.iter().find(|(id, _)| is_between && id == partner);
            let kind = sheet.graph.edge_type(&evidence.relationship);
            let (Some((_, partner)), Some(kind)) = (partner, kind) else { continue };
            if evidence.list == RelationshipList::Relationships
                && sheet.graph.between(*partner, *id, kind).is_some()
            {
                // The one that the evidence names is drawn with its points.
                if [evidence.from, evidence.to].contains(&Some(*id)) {
                    continue;
                }
                let label = &evidence.relationship;
                sheet.related(
                    *partner,
                    *id,
                    &SheetLine { label, via: Text::default(), style: LineStyle::Solid, points: None },
                );
            }
        }
        // One that nothing links with the others says nothing, and one is enough to say that there are any.
        if sheet.has(*id) || Some(id) == ids.first() {
            let place = sheet.object(*id);
            sheet.badge(place, Tone::Role, role);
        }
    }
}

/// Reports that nothing is found, and draws the nearest miss if requested.
fn no_findings(
    selection: &GraphSelection,
    inputs: &PatternInputs,
    leader: Option<Id>,
    found: &[(&Pattern, PatternFindings)],
) -> DrawnGraph {
    let mut best: Option<(&Pattern, &LeaderTrace)> = None;
    for (pattern, findings) in found {
        for trace in &findings.trace {
            if best.is_none_or(|(_, other)| nearness(trace) > nearness(other)) {
                best = Some((pattern, trace));
            }
        }
    }
    let names: Vec<String> = found.iter().map(|(pattern, _)| format!("`{}`", pattern.name)).collect();
    let names = names.join(", ");
    let leaders: usize = found.iter().map(|(_, findings)| findings.leaders).sum();
    let mut drawn = DrawnGraph::default();
    match (leader.and_then(|leader| inputs.graph.node(leader)), best) {
        (_, Some((pattern, trace))) => {
            drawn.picture = Some(discarded_picture(inputs, pattern, trace));
            drawn.discarded = Some(trace.leader);
        }
        (Some(node), None) => {
            drawn.notes.push(format!("{} is not a candidate for {names}", focus::node_argument(node)));
            for (pattern, _) in found {
                if let Some(resource) = pattern.resource(pattern.leader()) {
                    let kinds: Vec<&str> = resource.kinds.iter().map(Text::as_str).collect();
                    drawn.notes.push(format!("  candidates are {}", kinds.join(", ")));
                    drawn.notes.extend(resource.conditions.iter().map(|one| format!("  with {one}")));
                }
            }
        }
        (None, None) => {
            let help = if selection.near || leaders == 0 {
                ""
            } else {
                "; --near draws the nearest miss, --focus KIND/NAMESPACE/NAME why an object did not match"
            };
            drawn.notes.push(format!("{names} finds nothing among {}{help}", plural(leaders, "object")));
        }
    }
    drawn
}

/// Ranks how near a leader came: by phase, then present relationships, then points.
fn nearness(trace: &LeaderTrace) -> (DetectionPhase, usize, i64) {
    let held = trace.steps.iter().filter(|step| step.held && step.rule != "veto").count();
    let points: f64 = trace.steps.iter().map(|step| step.points.as_f64()).sum();
    (trace.phase, held, (points * 1_000.0) as i64)
}

/// Draws a discarded leader, and the reason.
fn discarded_picture(inputs: &PatternInputs, pattern: &Pattern, trace: &LeaderTrace) -> Picture {
    let mut sheet = Sheet::new(&inputs.graph);
    let leader = trace.leader;
    let place = sheet.object(leader);
    sheet.class(place, Class::Focus);
    sheet.badge(place, Tone::Role, pattern.leader());
    for step in &trace.steps {
        let Some(asked) = pattern.described().find(|asked| asked.id == step.entry) else { continue };
        let points = (!step.points.is_zero()).then(|| step.points.as_f64());
        let label = called_by(&asked.relationship, &asked.id);
        let forbids = format!("{label}, forbids it");
        let label = if step.held && !asked.wanted { forbids.as_str() } else { label };
        let tie = SheetLine { label, via: Text::default(), style: LineStyle::Solid, points };
        let role = if asked.between.0 == *pattern.leader() { &asked.between.1 } else { &asked.between.0 };
        match (step.from, step.with) {
            (Some(from), Some(with)) if step.held => {
                draw_held_step(&mut sheet, trace, step, &asked, &SheetLine { via: step.via.clone(), ..tie });
                for (end, other) in [(from, with), (with, from)] {
                    let role = end_role(pattern, trace, &asked, (end, other));
                    let place = sheet.object(end);
                    sheet.badge(place, Tone::Role, role);
                }
            }
            _ if asked.wanted && asked.rule != "one-of" || step.rule == "one-of" && !step.held => {
                let is_common = asked.list == RelationshipList::Common;
                let near = match is_common {
                    true => shared_neighbour::draw_missing_common(&mut sheet, pattern, (role, leader), &tie),
                    false => sheet.nearly(pattern, &asked.id, leader, &tie),
                };
                match near {
                    Some(why) => sheet.picture.legend.push(why),
                    None => {
                        let absent = sheet.missing_box(pattern, role, leader);
                        sheet.missing(place, absent, &tie);
                    }
                }
            }
            _ => {}
        }
    }
    let name = inputs.graph.node(leader).map(focus::node_argument).unwrap_or_default();
    let label = inputs.graph.node(leader).map(object_label).unwrap_or_default();
    let reason = match trace.reason.split_once(" points of ") {
        Some((points, least)) => format!("{points} of {least} points"),
        None => trace.reason.clone(),
    };
    sheet.picture.title = format!("Why {label} is not *{}*: {reason}", pattern_display_name(pattern));
    sheet.picture.legend.push(format!(
        "{name} does not match `{}`: {} ({} phase)",
        pattern.name,
        trace.reason,
        trace.phase.name()
    ));
    sheet.picture
}

/// Draws a relationship that a discarded leader has, between its real ends.
fn draw_held_step(
    sheet: &mut Sheet<'_>,
    trace: &LeaderTrace,
    step: &TraceStep,
    asked: &RelationshipSummary,
    tie: &SheetLine<'_>,
) {
    let (Some(from), Some(with)) = (step.from, step.with) else { return };
    match step.through {
        Some(through) if asked.list == RelationshipList::Common => {
            sheet.related_through(from, with, through, tie);
        }
        _ if from == with && from == trace.leader => {}
        _ => sheet.related(from, with, tie),
    }
}

/// Returns the role of the object at one end of a relationship.
fn end_role<'p>(
    pattern: &'p Pattern,
    trace: &'p LeaderTrace,
    asked: &'p RelationshipSummary,
    (end, other): (Id, Id),
) -> &'p str {
    let (one, two) = &asked.between;
    if end == trace.leader {
        return pattern.leader();
    }
    if let Some((role, _)) = trace.roles.iter().find(|(role, id)| *id == end && (role == one || role == two))
    {
        return role;
    }
    // The other end says which of the two is left.
    let is_other = |role: &Text| {
        (other == trace.leader && role.as_str() == pattern.leader())
            || trace.roles.iter().any(|(known, id)| known == role && *id == other)
    };
    if is_other(one) { two } else { one }
}
