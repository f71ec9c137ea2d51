//! `diff`: the objects on which two sets of rules differ, with the traces of both.

use std::collections::HashSet;
use std::io::Write as _;

use kubewright_engine::{Diagnostic, Engine};
use kubewright_files as files;
use kubewright_report::FilePosition;
use kubewright_report::render::DOCUMENT_VERSION;
use kubewright_report::text::plural;
use kubewright_value::{Document, Map, Value, json};

use super::effect::RuleSetEffect;
use super::outcome_traces::OutcomeTraces;
use crate::arguments::{DiffArguments, TableFormat};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, Columns, Paint, standard_output, visible};
use crate::progress::ProgressBar;
use crate::review::Reviewer;
use crate::rule_inputs::{RuleInputs, no_objects, print_diagnostics};

/// How many differences are shown with their traces unless all are asked for.
const MAX_TRACED: usize = 5;

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_diff(arguments: &DiffArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    let objects = &arguments.objects;
    let mut inputs = RuleInputs::open(&arguments.rules(&arguments.before), objects)?;
    let after = inputs.load_other(&arguments.rules(&arguments.after), objects)?;
    let are_related = are_related(&inputs.engine, &after);
    let reviewers =
        RuleSetPair { before: traced(&inputs, &inputs.engine), after: traced(&inputs, &after), are_related };
    let mut bar = ProgressBar::new();
    let (mut count, mut found) = (0, Vec::new());
    let problems = files::stream_objects(
        &inputs.manifests,
        inputs.wanted(),
        |document| reviewers.compare(document),
        |difference, progress| {
            count += 1;
            bar.show(progress);
            found.extend(difference);
            Ok(())
        },
    )?;
    bar.clear();
    inputs.diagnostics.extend(problems);
    if count == 0 && !inputs.diagnostics.iter().any(Diagnostic::is_error) {
        inputs.diagnostics.push(no_objects(&objects.resources));
    }
    match arguments.output {
        TableFormat::Json => write_json(&found, count)?,
        TableFormat::Table => write_table(arguments, &found, count, color.paint_output())?,
    }
    let is_incomplete = print_diagnostics(&inputs.diagnostics, color.paint_errors());
    Ok(match (is_incomplete, found.is_empty()) {
        (true, _) => ExitStatus::BadInput,
        (false, false) => ExitStatus::Violations,
        (false, true) => ExitStatus::Clean,
    })
}

/// Returns a reviewer with other rules that keeps traces.
fn traced<'a>(inputs: &'a RuleInputs, engine: &'a Engine) -> Reviewer<'a> {
    let columns = Columns { all_outcomes: true, trace: true, ..Columns::default() };
    Reviewer { engine, ..inputs.reviewer(columns) }
}

/// Returns whether the sets have rules of the same names, so that it matters which of them fail.
fn are_related(before: &Engine, after: &Engine) -> bool {
    let names: HashSet<String> = before.rules().iter().map(|rule| rule.id.to_string()).collect();
    after.rules().iter().any(|rule| names.contains(&rule.id.to_string()))
}

/// Two sets of rules that are asked about the same objects.
struct RuleSetPair<'a> {
    before: Reviewer<'a>,
    after: Reviewer<'a>,
    are_related: bool,
}

/// An object on which both differ.
struct RuleSetDifference {
    subject: String,
    place: String,
    effects: [RuleSetEffect; 2],
    traces: [OutcomeTraces; 2],
}

impl RuleSetPair<'_> {
    fn compare(&self, document: &Document) -> Option<RuleSetDifference> {
        let request = self.before.request(document);
        let before = self.before.decide(&request);
        let after = self.after.decide(&request);
        let effects = [RuleSetEffect::of(&before), RuleSetEffect::of(&after)];
        let [one, other] = &effects;
        let is_same = one.level == other.level
            && one.writes_alike(other)
            && (!self.are_related || one.fails_alike(other));
        (!is_same).then(|| RuleSetDifference {
            subject: request.subject(),
            place: FilePosition::of(document).to_string(),
            effects,
            traces: [before, after].map(|decision| OutcomeTraces::new(document, &request, decision)),
        })
    }
}

fn write_table(
    arguments: &DiffArguments,
    found: &[RuleSetDifference],
    objects: usize,
    paint: Paint,
) -> Result<(), CommandFailure> {
    let mut out = standard_output();
    let names = [&arguments.before, &arguments.after];
    let traced = if arguments.all { found.len() } else { MAX_TRACED };
    for (at, difference) in found.iter().enumerate() {
        writeln!(out, "{}  {}", visible(&difference.subject), paint.cyan(&visible(&difference.place)))?;
        for ((name, effect), traces) in names.iter().zip(&difference.effects).zip(&difference.traces) {
            writeln!(out, "  {}: {}", visible(name), visible(&effect.text()))?;
            for line in traces.text.lines().filter(|_| at < traced) {
                writeln!(out, "    {line}")?;
            }
        }
        writeln!(out)?;
    }
    if found.len() > traced {
        writeln!(
            out,
            "traces are shown for the first {}; --all shows all of them\n",
            plural(traced, "object")
        )?;
    }
    let verb = if found.len() == 1 { "differs" } else { "differ" };
    writeln!(out, "{} compared: {} {verb}", plural(objects, "object"), found.len())?;
    out.flush()?;
    Ok(())
}

fn write_json(found: &[RuleSetDifference], objects: usize) -> Result<(), CommandFailure> {
    let side = |difference: &RuleSetDifference, at: usize| {
        let effect = difference.effects.get(at)?;
        let traces = difference.traces.get(at)?;
        let failing = effect.failing.iter();
        let failing = failing.map(|(rule, message)| (rule.as_str().into(), message.clone().into()));
        Some(Value::from(Map::from([
            ("effect", Value::from(effect.level.name())),
            ("failing", failing.collect::<Map>().into()),
            ("patching", effect.patching.clone().into()),
            ("traces", traces.values.clone().into()),
        ])))
    };
    let objects_found = found.iter().map(|difference| {
        Value::from(Map::from([
            ("object", Value::from(difference.subject.as_str())),
            ("place", difference.place.as_str().into()),
            ("before", side(difference, 0).unwrap_or_default()),
            ("after", side(difference, 1).unwrap_or_default()),
        ]))
    });
    let summary =
        Map::from([("objects", Value::from(objects as u64)), ("differing", Value::from(found.len() as u64))]);
    let report = Map::from([
        ("version", Value::from(DOCUMENT_VERSION)),
        ("differences", Value::array(objects_found.collect())),
        ("summary", summary.into()),
    ]);
    let mut out = standard_output();
    writeln!(out, "{}", json::to_shown_string(&report.into()))?;
    out.flush()?;
    Ok(())
}
