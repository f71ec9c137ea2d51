//! `trace`: why each rule did what it did.

mod patterns;
mod traits;

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::sync::Arc;

use kubewright_engine::{Diagnostic, Rule, RuleStatus, TraceNode, TraceVerdict};
use kubewright_files as files;
use kubewright_report::trace::{out_of_scope_trace, outcome_trace};
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Document, Location, Value, json};

use super::render;
use crate::arguments::{TraceArguments, TraceFormat};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{
    ColorChoice, Columns, Paint, ReportWriter, shorten_visible, standard_output, trace_tree, visible,
};
use crate::review::Reviewer;
use crate::rule_inputs::{RuleInputs, no_objects, print_diagnostics};
use crate::rules;

/// The maximum number of characters shown of a line of a rule.
const MAX_LINE_CHARACTERS: usize = 100;

/// The maximum number of characters shown of the reason why a rule did not apply.
const MAX_REASON_CHARACTERS: usize = 160;

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_trace(
    arguments: &TraceArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    if traits::are_traits(&arguments.rules.rules) {
        return render::run_render(&traits::rendering(arguments)?, color);
    }
    if patterns::are_patterns(&arguments.rules.rules) {
        return patterns::trace_patterns(arguments, color);
    }
    if !arguments.named.is_empty() {
        return Err(CommandFailure::usage("`--object` applies to patterns, and there are none")
            .help("for rules, pass only that object with `-r`"));
    }
    let mut inputs = RuleInputs::open(&arguments.rules, &arguments.objects)?;
    let reviewer = inputs.reviewer(Columns { all_outcomes: true, trace: true, ..Columns::default() });
    let mut writer = RuleTraceWriter::new(color.paint_output(), arguments.output);
    let (mut objects, mut has_violations) = (0, false);
    let problems = files::stream_objects(
        &inputs.manifests,
        inputs.wanted(),
        |document| (reviewer.review(document), out_of_scope_rules(&reviewer, document)),
        |(report, outside), _| {
            objects += 1;
            has_violations |= report.counts.has_violations();
            writer.object(&report, &outside)
        },
    )?;
    writer.finish()?;
    inputs.diagnostics.extend(problems);
    if objects == 0 && !inputs.diagnostics.iter().any(Diagnostic::is_error) {
        inputs.diagnostics.push(no_objects(&arguments.objects.resources));
    }
    Ok(match (print_diagnostics(&inputs.diagnostics, color.paint_errors()), has_violations) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Violations,
        (false, false) => ExitStatus::Clean,
    })
}

/// A rule whose scope excludes an object, and why.
pub(super) struct OutOfScopeRule {
    rule: String,
    reason: String,
    // Autogen rules of the same source are reported once.
    is_told: bool,
}

/// Returns the rules whose scope excludes the object.
pub(super) fn out_of_scope_rules(reviewer: &Reviewer<'_>, document: &Document) -> Vec<OutOfScopeRule> {
    let request = reviewer.request(document);
    let (inside, outside): (Vec<&Arc<Rule>>, Vec<&Arc<Rule>>) =
        reviewer.engine.rules().iter().partition(|rule| rule.scope.admits(&request));
    let spot = |rule: &Arc<Rule>| (rule.location.source.name.clone(), rule.location.position);
    let mut told: HashSet<_> = inside.into_iter().map(spot).collect();
    let tell = |rule: &Arc<Rule>| OutOfScopeRule {
        rule: rule.id.to_string(),
        reason: rules::out_of_scope_reason(rule, &request),
        is_told: !told.insert(spot(rule)),
    };
    outside.into_iter().map(tell).collect()
}

/// Writes traces in the chosen format.
pub(super) struct RuleTraceWriter {
    out: ReportWriter,
    paint: Paint,
    format: TraceFormat,
    is_first: bool,
}

impl RuleTraceWriter {
    /// Returns a writer to standard output.
    pub(super) fn new(paint: Paint, format: TraceFormat) -> Self {
        Self { out: standard_output(), paint, format, is_first: true }
    }

    /// Writes what the rules did to one object.
    pub(super) fn object(&mut self, report: &ObjectRow, outside: &[OutOfScopeRule]) -> io::Result<()> {
        for row in &report.outcomes {
            match self.format {
                TraceFormat::Tree => self.tree(row, report)?,
                TraceFormat::Json => self.item(&outcome_trace(row, report))?,
            }
        }
        for outside in outside {
            match self.format {
                TraceFormat::Tree if outside.is_told => {}
                TraceFormat::Tree => {
                    self.is_first = false;
                    let head = format!("{}  on {}", visible(&outside.rule), visible(&report.subject));
                    writeln!(
                        self.out,
                        "{head}     {}",
                        self.paint.dim(&format!("out of scope: {}", outside.reason))
                    )?;
                }
                TraceFormat::Json => {
                    self.item(&out_of_scope_trace(&outside.rule, &outside.reason, report))?;
                }
            }
        }
        Ok(())
    }

    fn tree(&mut self, row: &OutcomeRow, report: &ObjectRow) -> io::Result<()> {
        let paint = self.paint;
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        let rule = paint.bold(&visible(&row.rule.to_string()));
        let end = match row.status {
            RuleStatus::Skip => paint.dim(&skip_reason(row)),
            RuleStatus::Pass if row.is_patched() => paint.yellow(&row.text()),
            RuleStatus::Pass if row.is_writing() => paint.yellow(&visible(&row.written.join(", "))),
            RuleStatus::Pass => paint.green("pass"),
            RuleStatus::Warn => paint.yellow("warn"),
            RuleStatus::Fail if !row.is_refusal => paint.red("fail, audited only: the object is not refused"),
            RuleStatus::Fail | RuleStatus::Error => paint.red(row.status.name()),
        };
        writeln!(self.out, "{rule}  on {}     {end}", visible(&report.subject))?;
        let children = row.trace.as_ref().map(|trace| trace.children.as_slice()).unwrap_or_default();
        self.out.write_all(trace_tree(children, 1, paint).as_bytes())?;
        let is_told = matches!(row.status, RuleStatus::Pass) || row.message.is_empty();
        if !is_told && (children.is_empty() || row.status != RuleStatus::Skip) {
            writeln!(self.out, "  → {}", visible(&row.message))?;
        }
        self.places(row, report)
    }

    /// Writes the position of the failed field, and of the check in the rule.
    fn places(&mut self, row: &OutcomeRow, report: &ObjectRow) -> io::Result<()> {
        let paint = self.paint;
        if !matches!(row.status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error) {
            return Ok(());
        }
        if !row.path.is_empty() {
            let place = paint.cyan(&visible(&format!("{}:{}", report.location.file, row.position)));
            writeln!(self.out, "      {place}  {}", visible(&row.part()))?;
        }
        let children = row.trace.as_ref().map(|trace| trace.children.as_slice()).unwrap_or_default();
        if let Some(location) = row.rule_location.as_ref().filter(|place| !is_shown(place, children)) {
            let rule = row.trace.as_ref().and_then(|trace| trace.location.as_ref());
            let is_whole = rule.is_some_and(|rule| rule.position == location.position);
            let line = location.source.line(location.position.line).filter(|_| !is_whole).unwrap_or_default();
            let place = paint.cyan(&visible(&location.to_string()));
            writeln!(
                self.out,
                "{}",
                format!("      {place}  {}", shorten_visible(line.trim(), MAX_LINE_CHARACTERS)).trim_end()
            )?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Value) -> io::Result<()> {
        let start = if std::mem::take(&mut self.is_first) { "{\"traces\": [\n" } else { ",\n" };
        write!(self.out, "{start}{}", json::to_shown_pretty(item))
    }

    /// Writes what comes after the last object.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.format == TraceFormat::Json {
            writeln!(self.out, "{}]}}", if self.is_first { "{\"traces\": [" } else { "\n" })?;
        }
        self.out.flush()
    }
}

/// Returns why a rule did not apply, as far as its message says so.
fn skip_reason(row: &OutcomeRow) -> String {
    match row.message.as_str() {
        // The words of the original for any reason; the tree says which.
        "" | "skip" => "did not apply".to_owned(),
        message => format!("did not apply: {}", shorten_visible(message, MAX_REASON_CHARACTERS)),
    }
}

/// Returns whether a failed node is at `place`, so that the tree has shown it.
fn is_shown(place: &Location, nodes: &[TraceNode]) -> bool {
    nodes.iter().any(|node| {
        let is_at_place = node.location.as_ref().is_some_and(|location| location.position == place.position);
        let is_wrong = matches!(node.verdict, TraceVerdict::No | TraceVerdict::Error);
        (is_at_place && is_wrong && node.children.is_empty()) || is_shown(place, &node.children)
    })
}
