//! `apply`: runs rules on manifests and shows what they say and change.

use std::time::Instant;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_report::{ObjectRow, OutcomeCounts, Report, Results, Totals};
use kubewright_value::Document;

use crate::arguments::Apply;
use crate::failure::{Exit, Failure};
use crate::output::{
    ColorChoice, Columns, DiffRenderer, FolderRenderer, Output, Renderer, TableOptions, chosen_or_table,
    keep_apart, keep_inputs, standard_output,
};
use crate::progress::Bar;
use crate::review::Reviewer;
use crate::rule_inputs::{RuleInputs, complain, no_objects};

/// Runs the command.
///
/// # Errors
/// When the arguments make no sense or output cannot be written.
pub(crate) fn run(arguments: &Apply, color: ColorChoice) -> Result<Exit, Failure> {
    let started = Instant::now();
    let outputs = outputs(arguments)?;
    let mut inputs = RuleInputs::open(&arguments.rules, &arguments.objects)?;
    keep_inputs(&outputs)?;
    let mut renderers = open(arguments, &outputs, color)?;
    let reviewer = inputs.reviewer(columns(arguments, &outputs));
    let reviewer = Reviewer { is_lenient: arguments.audit_warn, ..reviewer };
    let mut bar = Bar::new();
    let (mut objects, mut counts) = (0, OutcomeCounts::default());
    let problems = files::stream(
        &inputs.manifests,
        inputs.wanted(),
        |document| review(&reviewer, document, &outputs),
        |(row, prepared), progress| {
            objects += 1;
            counts += row.counts;
            bar.show(progress);
            // The renderers that `-o` does not open have nothing prepared.
            let prepared = prepared.iter().map(String::as_str).chain(std::iter::repeat(""));
            let mut each = renderers.iter_mut().zip(prepared);
            each.try_for_each(|(renderer, prepared)| renderer.object(&row, prepared))
        },
    )?;
    bar.clear();
    inputs.diagnostics.extend(problems);
    if objects == 0 && !inputs.diagnostics.iter().any(Diagnostic::is_error) {
        inputs.diagnostics.push(no_objects(&arguments.objects.resources));
    }
    let report = Report {
        results: Results::Objects(Totals { rules: inputs.engine.rules(), objects, counts }),
        diagnostics: &inputs.diagnostics,
        elapsed: started.elapsed(),
    };
    renderers.iter_mut().try_for_each(|renderer| renderer.finish(&report))?;
    let is_incomplete = complain(&inputs.diagnostics, color.paint_errors());
    Ok(match (is_incomplete, counts.has_violations()) {
        (true, _) => Exit::BadInput,
        (false, true) => Exit::Violations,
        (false, false) if is_warned(arguments, counts) => Exit::Warned(arguments.warn_exit_code),
        (false, false) => Exit::Clean,
    })
}

/// Returns whether the exit code for warnings is due.
fn is_warned(arguments: &Apply, counts: OutcomeCounts) -> bool {
    let has_warnings = counts.warn > 0 || (arguments.warn_no_pass && counts.pass == 0);
    has_warnings && arguments.warn_exit_code > 0
}

/// Returns the outputs that were asked for, of which one at most goes to standard output.
fn outputs(arguments: &Apply) -> Result<Vec<Output>, Failure> {
    let mut outputs = arguments.outputs.clone();
    if arguments.policy_report {
        outputs.extend(Output::named("policyreport"));
    }
    let outputs = chosen_or_table(&outputs);
    keep_apart(&outputs)?;
    if arguments.diff && outputs.iter().any(|output| output.file.is_none() && !output.is_table()) {
        return Err(Failure::usage("--diff goes to standard output, which another output takes")
            .help("name a file for the other, as in `-o json=report.json`"));
    }
    Ok(outputs)
}

/// Reviews one object, and prepares its row for each output.
fn review(reviewer: &Reviewer<'_>, document: &Document, outputs: &[Output]) -> (ObjectRow, Vec<String>) {
    let mut row = reviewer.review(document);
    let prepared = outputs.iter().map(|output| (output.format.prepare)(&row)).collect();
    row.drop_patches();
    (row, prepared)
}

/// Opens a renderer for each of `outputs`, in their order, and those for what else was asked for.
fn open(
    arguments: &Apply,
    outputs: &[Output],
    color: ColorChoice,
) -> Result<Vec<Box<dyn Renderer>>, Failure> {
    let mut renderers = Vec::new();
    for output in outputs {
        let has_differences = arguments.diff && output.file.is_none();
        let (paint, is_quiet) = (color.paint_output(), arguments.quiet);
        renderers.push(output.open(TableOptions { paint, is_quiet, has_differences })?);
    }
    if arguments.diff && outputs.iter().all(|output| output.file.is_some()) {
        renderers.push(Box::new(DiffRenderer::new(standard_output(), color.paint_output())));
    }
    if let Some(folder) = &arguments.output_objects {
        renderers.push(Box::new(FolderRenderer::create(folder)?));
    }
    Ok(renderers)
}

fn columns(arguments: &Apply, outputs: &[Output]) -> Columns {
    let has_objects = arguments.diff || arguments.output_objects.is_some();
    let columns = Columns { objects: has_objects, ..Columns::default() };
    outputs.iter().fold(columns, |columns, output| columns.and(output.format.columns))
}
