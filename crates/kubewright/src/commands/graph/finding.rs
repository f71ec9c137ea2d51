//! The pictures of what a pattern finds, or of why it finds nothing.
//!
//! One finding is drawn in the frames of its namespaces, several in a frame each. What the pattern looked for and did
//! not see is drawn as missing: a relationship that must not be there (which is often the very point) and one that
//! would have scored.

use kubewright_dialects::patterns::{
    self, Evidence, Finding, Findings, List, Pattern, Phase, Settings, Trace,
};
use kubewright_graph::Id;
use kubewright_graph::draw::{Class, Group, Picture, Style, Tone};
use kubewright_value::{Budget, Text};

use super::overlay::tone;
use super::sheet::{Sheet, Tie, edge_type};
use super::{focus, texts};
use crate::arguments::Graph;
use crate::failure::Failure;
use crate::output::tell;
use crate::survey::Survey;
use crate::words::plural;

/// How many findings are drawn unless they are chosen.
const DRAWN: usize = 12;

/// Returns the picture of what the patterns of the survey find; nothing where that is nothing.
///
/// # Errors
/// When a finding is chosen that is not there.
pub(super) fn picture(
    arguments: &Graph,
    survey: &mut Survey,
    leader: Option<Id>,
) -> Result<Option<Picture>, Failure> {
    let mut found: Vec<(&Pattern, Findings)> = Vec::new();
    let settings = settings(arguments, survey, leader);
    for pattern in &survey.patterns {
        let findings = patterns::detect(pattern, &survey.graph, &settings, &mut Budget::default());
        let mut findings = findings.map_err(|_| {
            Failure::usage(format!("looking for `{}` takes too long", pattern.name))
                .help("restrict it with --namespace or --focus")
        })?;
        if let Some(leader) = leader {
            findings.findings.retain(|finding| finding.roles.first().is_some_and(|role| role.1 == leader));
            findings.trace.retain(|trace| trace.leader == leader);
        }
        found.push((pattern, findings));
    }
    let all: Vec<(&Pattern, &Finding)> = found
        .iter()
        .flat_map(|(pattern, findings)| findings.findings.iter().map(|finding| (*pattern, finding)))
        .collect();
    if all.is_empty() {
        return Ok(nothing(arguments, survey, leader, &found));
    }
    let chosen = chosen(arguments, all.len())?;
    let is_more = found.iter().any(|(_, findings)| findings.truncated);
    let mut sheet = Sheet::new(&survey.graph);
    let several = chosen.len() > 1;
    for number in &chosen {
        let Some((pattern, finding)) = all.get(number - 1) else { continue };
        if several {
            let frame = format!("finding {number:05}");
            sheet.frame(&frame);
            let label = format!("{number}. {}", finding.message).into();
            sheet.picture.groups.push(Group { frame: frame.into(), label });
        }
        draw(&mut sheet, pattern, finding);
        let say =
            format!("{}{}", if several { format!("{number}. ") } else { String::new() }, score(finding));
        sheet.picture.legend.push(say);
    }
    let more = if is_more { " at least" } else { "" };
    let drawn = match chosen.len() == all.len() {
        true => String::new(),
        false => format!(", {} drawn; --finding N draws another", chosen.len()),
    };
    let count = format!("{}{more}{drawn}", plural(all.len(), "finding"));
    if chosen.len() < all.len() {
        tell(format_args!("{count}"));
    }
    sheet.picture.legend.insert(0, count);
    sheet.picture.title = title(&found);
    Ok(Some(sheet.picture))
}

fn settings(arguments: &Graph, survey: &Survey, leader: Option<Id>) -> Settings {
    let namespaces = match leader.and_then(|leader| survey.graph.node(leader)) {
        Some(node) => Some(vec![node.namespace.clone()]),
        None if arguments.namespaces.is_empty() => None,
        None => Some(texts(&arguments.namespaces)),
    };
    Settings { namespaces, traces: leader.is_some() || arguments.near, ..Settings::default() }
}

/// Returns the numbers of the findings that are drawn.
fn chosen(arguments: &Graph, count: usize) -> Result<Vec<usize>, Failure> {
    if let Some(strange) = arguments.chosen.iter().find(|number| **number == 0 || **number > count) {
        return Err(Failure::usage(format!("there is no finding {strange}"))
            .help(format!("there are {}, numbered from 1", plural(count, "finding"))));
    }
    Ok(match arguments.chosen.is_empty() {
        true => (1..=count.min(DRAWN)).collect(),
        false => arguments.chosen.clone(),
    })
}

fn title(found: &[(&Pattern, Findings)]) -> String {
    let names = found.iter().filter(|(_, findings)| !findings.findings.is_empty());
    let names: Vec<&str> = names.map(|(pattern, _)| called(pattern)).collect();
    names.join(", ")
}

fn called(pattern: &Pattern) -> &str {
    if pattern.display_name.is_empty() { &pattern.name } else { &pattern.display_name }
}

/// The message, and how sure it is.
fn score(finding: &Finding) -> String {
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

fn draw(sheet: &mut Sheet<'_>, pattern: &Pattern, finding: &Finding) {
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

fn draw_evidence(sheet: &mut Sheet<'_>, pattern: &Pattern, finding: &Finding, evidence: &Evidence) {
    let points = (!evidence.points.is_zero()).then(|| evidence.points.as_f64());
    let mut tie =
        Tie { label: &evidence.relationship, via: evidence.via.clone(), style: Style::Solid, points };
    let against = format!("{}, speaks against", evidence.relationship);
    if evidence.held && !evidence.wanted {
        tie.label = &against;
    }
    match (evidence.held, evidence.from, evidence.to, evidence.through) {
        (true, Some(from), Some(to), Some(through)) if evidence.list == List::Common => {
            sheet.related_through(from, to, through, tie);
        }
        (true, Some(from), Some(to), _) => sheet.related(from, to, tie),
        (true, ..) => {}
        // Another one of its group is there.
        (false, ..) if evidence.rule == "one-of" => {}
        (false, ..) => draw_missing(sheet, pattern, finding, evidence, tie),
    }
}

/// Draws what was looked for between two roles and is not there.
fn draw_missing(
    sheet: &mut Sheet<'_>,
    pattern: &Pattern,
    finding: &Finding,
    evidence: &Evidence,
    tie: Tie<'_>,
) {
    let Some((_, leader)) = finding.roles.first() else { return };
    let actor = |role: &Text| finding.roles.iter().find(|(id, _)| id == role).map(|(_, id)| *id);
    let (one, other) = &evidence.between;
    if one == other {
        return;
    }
    let mut end = |role: &Text| match actor(role) {
        Some(id) => sheet.object(id),
        None => sheet.nobody(pattern, role, *leader),
    };
    let (from, to) = (end(one), end(other));
    sheet.missing(from, to, tie);
    if actor(one).is_none() || actor(other).is_none() {
        sheet.nearly(pattern, &evidence.entry, *leader, "nearly");
    }
}

/// Draws objects that speak for a finding besides those that the evidence names.
fn draw_witnesses(sheet: &mut Sheet<'_>, finding: &Finding, role: &Text, ids: &[Id]) {
    for id in ids {
        for evidence in finding.evidence.iter().filter(|evidence| evidence.held && evidence.wanted) {
            let (one, other) = &evidence.between;
            let partner = if one == role { other } else { one };
            let is_between = one == role || other == role;
            let partner = finding.roles.iter().find(|(id, _)| is_between && id == partner);
            let kind = edge_type(sheet.graph, &evidence.relationship);
            let (Some((_, partner)), Some(kind)) = (partner, kind) else { continue };
            if evidence.list == List::Relationships && sheet.graph.between(*partner, *id, kind).is_some() {
                // The one that the evidence names is drawn with its points.
                if [evidence.from, evidence.to].contains(&Some(*id)) {
                    continue;
                }
                let label = &evidence.relationship;
                sheet.related(
                    *partner,
                    *id,
                    Tie { label, via: Text::default(), style: Style::Solid, points: None },
                );
            }
        }
        let place = sheet.object(*id);
        sheet.badge(place, Tone::Role, role);
    }
}

/// Says that nothing is found, and draws what came nearest where that was asked for.
fn nothing(
    arguments: &Graph,
    survey: &Survey,
    leader: Option<Id>,
    found: &[(&Pattern, Findings)],
) -> Option<Picture> {
    let mut best: Option<(&Pattern, &Trace)> = None;
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
    match (leader.and_then(|leader| survey.graph.node(leader)), best) {
        (_, Some((pattern, trace))) => Some(discarded(survey, pattern, trace)),
        (Some(node), None) => {
            tell(format_args!("{} is none of the objects that {names} is about", focus::named(node)));
            for (pattern, _) in found {
                if let Some(resource) = pattern.resource(pattern.leader()) {
                    let kinds: Vec<&str> = resource.kinds.iter().map(Text::as_str).collect();
                    tell(format_args!("  it is about {}", kinds.join(", ")));
                    resource.conditions.iter().for_each(|one| tell(format_args!("  with {one}")));
                }
            }
            None
        }
        (None, None) => {
            let help = if arguments.near || leaders == 0 {
                ""
            } else {
                "; --near draws what came nearest, --focus KIND/NAMESPACE/NAME why one did not match"
            };
            tell(format_args!("{names} finds nothing among {}{help}", plural(leaders, "object")));
            None
        }
    }
}

/// How near a leader came: the phase, then what was there, then the points.
fn nearness(trace: &Trace) -> (Phase, usize, i64) {
    let held = trace.steps.iter().filter(|step| step.held && step.rule != "veto").count();
    let points: f64 = trace.steps.iter().map(|step| step.points.as_f64()).sum();
    (trace.phase, held, (points * 1_000.0) as i64)
}

/// Draws a leader that was discarded, and by what.
fn discarded(survey: &Survey, pattern: &Pattern, trace: &Trace) -> Picture {
    let mut sheet = Sheet::new(&survey.graph);
    let leader = trace.leader;
    let place = sheet.object(leader);
    sheet.class(place, Class::Focus);
    sheet.badge(place, Tone::Role, pattern.leader());
    for step in &trace.steps {
        let Some(asked) = pattern.described().find(|asked| asked.id == step.entry) else { continue };
        let points = (!step.points.is_zero()).then(|| step.points.as_f64());
        let forbids = format!("{}, forbids it", asked.relationship);
        let label = if step.held && !asked.wanted { forbids.as_str() } else { asked.relationship.as_str() };
        let tie = Tie { label, via: Text::default(), style: Style::Solid, points };
        let role = if asked.between.0 == *pattern.leader() { &asked.between.1 } else { &asked.between.0 };
        match step.with {
            Some(with) if step.held => {
                // The words on the line are not the name of the type.
                let via = edge_type(sheet.graph, &asked.relationship)
                    .and_then(|kind| sheet.graph.between(leader, with, kind))
                    .map(|edge| Text::from(edge.via));
                sheet.related(leader, with, Tie { via: via.unwrap_or_default(), ..tie });
                let with = sheet.object(with);
                sheet.badge(with, Tone::Role, role);
                if !asked.wanted {
                    sheet.badge(with, Tone::Critical, "veto");
                }
            }
            _ if asked.wanted && asked.rule != "one-of" || step.rule == "one-of" && !step.held => {
                let nobody = sheet.nobody(pattern, role, leader);
                sheet.missing(place, nobody, tie);
                sheet.nearly(pattern, &asked.id, leader, "nearly");
            }
            _ => {}
        }
    }
    let name = survey.graph.node(leader).map(focus::named).unwrap_or_default();
    sheet.picture.title = format!("{name} and {}", called(pattern));
    sheet.picture.legend.push(format!(
        "{name} does not match `{}`: {} ({} phase)",
        pattern.name,
        trace.reason,
        trace.phase.name()
    ));
    sheet.picture
}
