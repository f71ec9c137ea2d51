//! `/try`: what rules do to objects, and why. The parts of `apply`, `trace` and `lint` on texts in memory.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use kubewright_engine::{Diagnostic, Rule, RuleId, TraceNode};
use kubewright_report::ObjectRow;
use kubewright_report::render::{object_difference, object_row_value};
use kubewright_ui::{PageBody, PageContent};
use kubewright_value::{Location, Map, Value};

use super::commands::{CommandRun, parse_command};
use super::compiled::CompiledCache;
use super::deadline::check_time;
use super::judged::judge_objects;
use super::sets;
use super::traced::{diagnostic_values, is_looked_at, trace_values};
use super::workspace::PageWorkspace;
use crate::arguments::{ApplyArguments, CliCommand};
use crate::commands::trace::OutOfScopeRule;
use crate::fixtures::LiveWorld;
use crate::output::{Paint, yaml_text};
use crate::rule_inputs::RuleInputs;

/// Answers the request.
///
/// # Errors
/// When the body is not what the API describes.
pub(super) fn answer_try(
    compiled: &CompiledCache,
    body: &PageBody,
    live: Option<Arc<dyn LiveWorld>>,
) -> Result<Value, PageContent> {
    let started = Instant::now();
    let space = PageWorkspace::new(&body.files);
    let arguments = apply_arguments(&space, body)?;
    let open = || {
        let loaded = compiled.load(&space, &arguments)?;
        Ok(RuleInputs::open_with(loaded, &arguments.objects)?.with_live(live))
    };
    let (run, judged) = CommandRun::of(&space, || judge_objects(&arguments, open));
    check_time()?;
    let mut judged = judged.unwrap_or_default();
    let rendered = sets::render_traits(&space, body)?;
    let found = sets::find_patterns(&space)?;
    let mut diagnostics = std::mem::take(&mut judged.diagnostics);
    diagnostics.extend(run.diagnostics);
    diagnostics.extend(sets::lint_sets(&space)?);
    diagnostics.extend(rendered.diagnostics);
    diagnostics.extend(found.diagnostics);
    diagnostics.iter_mut().for_each(|one| space.restore_names(one));
    let (mut traces, is_truncated) = trace_values(&judged.rows);
    traces.extend(rendered.traces);
    traces.extend(found.traces);
    let failure = run.failure.map(|failure| failure.to_string()).or(rendered.failure).or(found.failure);
    let languages: Vec<Value> = space.languages.iter().map(|name| Value::from(*name)).collect();
    Ok(Map::from([
        ("languages", Value::array(languages)),
        ("summary", judged.summary),
        ("objects", Value::array(judged.objects)),
        ("traces", Value::array(traces)),
        ("diagnostics", Value::array(diagnostic_values(&once_each(diagnostics)))),
        ("coverage", Value::array(judged.coverage)),
        ("rendered", rendered.value),
        ("findings", found.findings),
        ("pictures", Value::array(found.pictures)),
        ("failure", failure.into()),
        ("elapsedMicros", u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX).into()),
        ("truncated", (is_truncated || judged.is_large).into()),
    ])
    .into())
}

/// Returns `diagnostics` without those that are there already, because two commands told them.
fn once_each(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut told = HashSet::new();
    diagnostics.retain(|one| told.insert((one.code.id, one.location.to_string(), one.message.clone())));
    diagnostics
}

/// Returns the fields of an answer about objects that `rules` judged elsewhere.
pub(super) fn judged_fields(rules: &[Arc<Rule>], rows: &[(ObjectRow, Vec<OutOfScopeRule>)]) -> Map {
    let (traces, is_truncated) = trace_values(rows);
    Map::from([
        ("objects", rows.iter().map(|(row, _)| object_value(row)).collect::<Vec<_>>().into()),
        ("traces", Value::array(traces)),
        ("coverage", Value::array(coverage_values(rules.iter().map(|rule| &**rule), rows))),
        ("truncated", is_truncated.into()),
    ])
}

/// Returns the arguments of `apply` for the files of a request.
pub(super) fn apply_arguments(space: &PageWorkspace, body: &PageBody) -> Result<ApplyArguments, PageContent> {
    let mut words = vec!["apply".to_owned()];
    words.extend(object_words(space, body));
    words.extend(space.rules.iter().cloned());
    match parse_command(&words)? {
        CliCommand::Apply(arguments) => Ok(*arguments),
        _ => Err(PageContent::error(500, "not the arguments of `apply`", None)),
    }
}

/// Returns the arguments that name everything but the rules.
pub(super) fn object_words(space: &PageWorkspace, body: &PageBody) -> Vec<String> {
    let mut words = Vec::new();
    let lists = [
        ("--resources", &space.objects),
        ("--exceptions", &space.exceptions),
        ("--world", &space.world),
        ("--old", &space.old),
    ];
    for (flag, paths) in lists {
        words.extend(paths.iter().map(|path| format!("{flag}={path}")));
    }
    let values = space.values.first().or(space.parameters.first());
    for (flag, path) in [("--values", values), ("--userinfo", space.user.first())] {
        words.extend(path.map(|path| format!("{flag}={path}")));
    }
    for (flag, field) in [("--operation", "operation"), ("--namespace", "namespace"), ("--user", "user")] {
        let text = body.text_at(&["request", field]);
        if !text.is_empty() {
            words.push(format!("{flag}={text}"));
        }
    }
    words
}

/// Returns the row of an object as `apply -o json` does, with what changed as text.
pub(super) fn object_value(row: &ObjectRow) -> Value {
    let mut value = object_row_value(row);
    let changed = row.objects.as_ref().filter(|(before, after)| before != after);
    let after = changed.map(|(_, after)| yaml_text(after)).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.insert("diff".into(), object_difference(row, Paint::OFF).unwrap_or_default().into());
        map.insert("after".into(), after.into());
    }
    value
}

/// Returns the first line of each rule and the lines that have a condition, and whether an object reached each. A rule is
/// reached when an object is in its scope.
pub(super) fn coverage_values<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    rows: &[(ObjectRow, Vec<OutOfScopeRule>)],
) -> Vec<Value> {
    let mut lines: BTreeMap<(String, u32), bool> = BTreeMap::new();
    let judged: HashSet<&RuleId> =
        rows.iter().flat_map(|(row, _)| &row.outcomes).map(|outcome| &*outcome.rule).collect();
    for rule in rules {
        *lines.entry(line_of(&rule.location)).or_insert(false) |= judged.contains(&*rule.id);
        for branch in rule.program.branches() {
            lines.entry(line_of(&branch.location)).or_insert(false);
        }
    }
    let traces =
        rows.iter().flat_map(|(row, _)| &row.outcomes).filter_map(|outcome| outcome.trace.as_deref());
    traces.for_each(|trace| mark_reached(trace, &mut lines));
    let value = |((file, line), is_reached): ((String, u32), bool)| {
        let line = u64::from(line);
        Map::from([("file", Value::from(file)), ("line", line.into()), ("reached", is_reached.into())]).into()
    };
    lines.into_iter().map(value).collect()
}

fn line_of(place: &Location) -> (String, u32) {
    (place.source.name.clone(), place.position.line)
}

fn mark_reached(node: &TraceNode, lines: &mut BTreeMap<(String, u32), bool>) {
    if let Some(place) = node.location.as_ref().filter(|_| is_looked_at(node)) {
        lines.insert(line_of(place), true);
    }
    node.children.iter().for_each(|child| mark_reached(child, lines));
}
