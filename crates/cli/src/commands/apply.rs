//! `apply`: runs rules on manifests and shows outcomes and changes.

mod hint;
mod kept;
mod namespaces;
mod rule_change;

use std::time::Instant;

use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_files as files;
use kubewright_report::text::plural;
use kubewright_report::{ObjectRow, OutcomeCounts, OutcomeRow, Report, Results, Severity, Totals};
use kubewright_value::Document;

use crate::arguments::ApplyArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{
    ColorChoice, Columns, DiffRenderer, FolderRenderer, Output, Renderer, TableDetail, TableOptions,
    chosen_or_table, keep_apart, keep_inputs, print_stderr, standard_output,
};
use crate::progress::ProgressBar;
use crate::review::Reviewer;
use crate::rule_inputs::{RuleInputs, no_objects, print_diagnostics};
use crate::suppressions::Suppressions;
use crate::suppressions::baseline::NewBaseline;
use hint::WhyHint;
use kept::KeptReviews;
use namespaces::UnknownNamespaces;

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_apply(
    arguments: &ApplyArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    if arguments.watch {
        return run_watched(arguments, color);
    }
    let started = Instant::now();
    let outputs = apply_outputs(arguments)?;
    let mut inputs = RuleInputs::open(&arguments.rules, &arguments.objects)?;
    keep_inputs(&outputs)?;
    let suppressions = Suppressions::open(&arguments.suppressions, &mut inputs.diagnostics)?;
    let (mut failures, mut baseline) = (0, NewBaseline::default());
    let mut renderers = open_renderers(arguments, &outputs, color)?;
    let reviewer = inputs.reviewer(columns(arguments, &outputs));
    let reviewer = Reviewer { is_lenient: arguments.audit_warn, ..reviewer };
    let mut bar = ProgressBar::new();
    let (mut objects, mut counts, mut hint) = (0, OutcomeCounts::default(), WhyHint::default());
    let mut namespaces = UnknownNamespaces::default();
    let problems = files::stream_objects(
        &inputs.manifests,
        inputs.wanted(),
        |document| review((&reviewer, &suppressions), document, (&outputs, arguments.verbatim)),
        |(row, prepared), progress| {
            objects += 1;
            counts += row.counts;
            failures += row.outcomes.iter().filter(|outcome| is_failure(arguments, outcome)).count();
            baseline.add(&row);
            hint.see(&row);
            namespaces.see(&row);
            bar.show(progress);
            // Renderers that `-o` does not open have no prepared rows.
            let prepared = prepared.iter().map(String::as_str).chain(std::iter::repeat(""));
            let mut each = renderers.iter_mut().zip(prepared);
            each.try_for_each(|(renderer, prepared)| renderer.object(&row, prepared))
        },
    )?;
    bar.clear();
    inputs.diagnostics.extend(problems);
    let selection = &arguments.objects.selection;
    inputs.diagnostics.extend(suppressions.diagnostics(selection.is_partial(&arguments.objects.only)));
    if objects == 0 && selection.since.is_none() && !inputs.diagnostics.iter().any(Diagnostic::is_error) {
        inputs.diagnostics.push(no_objects(&arguments.objects.resources));
    }
    inputs.diagnostics.extend(namespaces.warning(&arguments.objects.resources));
    let results = Results::Objects(Totals { rules: inputs.engine.rules(), objects, counts, findings: None });
    let report = Report { results, diagnostics: &inputs.diagnostics, elapsed: started.elapsed() };
    renderers.iter_mut().try_for_each(|renderer| renderer.finish(&report))?;
    let is_incomplete = print_diagnostics(&inputs.diagnostics, color.paint_errors());
    if let Some(file) = &arguments.suppressions.write_baseline {
        let count = baseline.write(file)?;
        print_stderr(format_args!("{} written to `{file}`", plural(count, "known failure")));
        return Ok(if is_incomplete { ExitStatus::BadInput } else { ExitStatus::Clean });
    }
    hint.print(arguments, &outputs, is_incomplete);
    Ok(match (is_incomplete, failures > 0) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Violations,
        (false, false) if is_warned(arguments, counts) => ExitStatus::Warned(arguments.warn_exit_code),
        (false, false) => ExitStatus::Clean,
    })
}

/// Runs the command again on what changed since the last run, and shows everything.
fn run_watched(arguments: &ApplyArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    let started = Instant::now();
    let outputs = apply_outputs(arguments)?;
    let mut kept = KeptReviews::open(arguments)?;
    keep_inputs(&outputs)?;
    let mut diagnostics = kept.review_changed(
        |inputs| {
            let reviewer = inputs.reviewer(columns(arguments, &outputs));
            Reviewer { is_lenient: arguments.audit_warn, ..reviewer }
        },
        (&outputs, arguments.verbatim),
    )?;
    let mut renderers = open_renderers(arguments, &outputs, color)?;
    let (mut objects, mut counts) = (0, OutcomeCounts::default());
    let mut namespaces = UnknownNamespaces::default();
    for (row, prepared) in kept.rows() {
        objects += 1;
        namespaces.see(row);
        counts += row.counts;
        let prepared = prepared.iter().map(String::as_str).chain(std::iter::repeat(""));
        renderers.iter_mut().zip(prepared).try_for_each(|(renderer, text)| renderer.object(row, text))?;
    }
    let is_partial = arguments.objects.selection.is_partial(&arguments.objects.only);
    diagnostics.extend(kept.suppressions.diagnostics(is_partial));
    diagnostics.extend(namespaces.warning(&arguments.objects.resources));
    let rules = kept.inputs.engine.rules();
    let results = Results::Objects(Totals { rules, objects, counts, findings: None });
    let report = Report { results, diagnostics: &diagnostics, elapsed: started.elapsed() };
    renderers.iter_mut().try_for_each(|renderer| renderer.finish(&report))?;
    print_diagnostics(&diagnostics, color.paint_errors());
    kept.keep();
    Ok(ExitStatus::Clean)
}

/// Returns whether the command fails because of the outcome.
fn is_failure(arguments: &ApplyArguments, outcome: &OutcomeRow) -> bool {
    match (outcome.status, arguments.fail_on) {
        (RuleStatus::Error, _) | (RuleStatus::Fail, None) => true,
        (RuleStatus::Fail, Some(threshold)) => threshold
            .least()
            .is_some_and(|least| Severity::of_rule(&outcome.metadata.severity) >= Severity::from(least)),
        _ => false,
    }
}

/// Returns whether the command ends with the exit code for warnings.
fn is_warned(arguments: &ApplyArguments, counts: OutcomeCounts) -> bool {
    let has_warnings = counts.warn > 0 || (arguments.warn_no_pass && counts.pass == 0);
    has_warnings && arguments.warn_exit_code > 0
}

/// Returns the requested outputs, at most one of which is standard output.
fn apply_outputs(arguments: &ApplyArguments) -> Result<Vec<Output>, CommandFailure> {
    let mut outputs = arguments.outputs.clone();
    if arguments.policy_report {
        outputs.extend(Output::named("policyreport"));
    }
    let outputs = chosen_or_table(&outputs);
    keep_apart(&outputs)?;
    if arguments.diff && outputs.iter().any(|output| output.file.is_none() && !output.is_table()) {
        return Err(CommandFailure::usage("--diff and another output would both go to standard output")
            .help("write the other to a file, as in `-o json=report.json`"));
    }
    Ok(outputs)
}

/// Reviews one object, and prepares its row for each output.
fn review(
    (reviewer, suppressions): (&Reviewer<'_>, &Suppressions),
    document: &Document,
    (outputs, is_verbatim): (&[Output], bool),
) -> (ObjectRow, Vec<String>) {
    let mut row = reviewer.review(document);
    suppressions.apply(document, &mut row);
    let prepared = outputs.iter().map(|output| (output.format.prepare)(&row)).collect();
    row.drop_patches();
    if is_verbatim {
        row.outcomes.iter_mut().for_each(|outcome| outcome.reason = None);
    }
    (row, prepared)
}

/// Opens a renderer for each of `outputs`, in order, and those for `--diff` and `--output-objects`.
fn open_renderers(
    arguments: &ApplyArguments,
    outputs: &[Output],
    color: ColorChoice,
) -> Result<Vec<Box<dyn Renderer>>, CommandFailure> {
    let mut renderers = Vec::new();
    for output in outputs {
        let has_differences = arguments.diff && output.file.is_none();
        let (paint, is_quiet) = (color.paint_output(), arguments.quiet);
        renderers.push(output.open(TableOptions {
            paint,
            is_quiet,
            has_differences,
            detail: detail(arguments),
            ..TableOptions::default()
        })?);
    }
    if arguments.diff && outputs.iter().all(|output| output.file.is_some()) {
        renderers.push(Box::new(DiffRenderer::new(standard_output(), color.paint_output())));
    }
    if let Some(folder) = &arguments.output_objects {
        renderers.push(Box::new(FolderRenderer::create(folder)?));
    }
    Ok(renderers)
}

fn columns(arguments: &ApplyArguments, outputs: &[Output]) -> Columns {
    let has_objects = arguments.diff || arguments.output_objects.is_some();
    let all_outcomes = detail(arguments) != TableDetail::Remarkable;
    let columns = Columns { objects: has_objects, all_outcomes, ..Columns::default() };
    outputs.iter().fold(columns, |columns, output| columns.and(output.format.columns))
}

/// Returns which objects and outcomes the table lists.
fn detail(arguments: &ApplyArguments) -> TableDetail {
    match (arguments.summary, arguments.verbose) {
        (true, _) => TableDetail::ByRule,
        (false, true) => TableDetail::Everything,
        (false, false) => TableDetail::Remarkable,
    }
}
