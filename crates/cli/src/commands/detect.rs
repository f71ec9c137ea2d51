//! `detect`: finds patterns and smells in a set of objects.

mod list;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_files::workers;
use kubewright_patterns::DetectionSettings;
use kubewright_report::text::plural;
use kubewright_report::{FindingOptions, Report, ReportedFindings, Results, shown_diagnostics};
use kubewright_value::Text;
use kubewright_value::suggest::did_you_mean;

use crate::arguments::{CompatMode, DetectArguments};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, Output, Paint, TableOptions, chosen_or_table, keep_apart, keep_inputs};
use crate::pattern_inputs::{PatternInputs, PatternSources};
use crate::progress::show_phase;
use crate::rule_inputs::{print_diagnostics, require_manifests};
use crate::since::ChangedFiles;
use kubewright_value::CompactSort as _;

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_detect(
    arguments: &DetectArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    if !arguments.list {
        require_manifests(&arguments.resources)?;
    }
    let started = Instant::now();
    let outputs = chosen_or_table(&arguments.outputs);
    keep_apart(&outputs)?;
    let mut inputs = PatternInputs::read(PatternSources {
        patterns: &arguments.patterns,
        references: &arguments.references,
        resources: if arguments.list { &[] } else { &arguments.resources },
        inputs: Some(&arguments.inputs),
        is_strict: arguments.strict,
        is_without_patterns: false,
        is_only_searched: true,
    })?;
    choose_patterns(&mut inputs, arguments).inspect_err(|_| {
        // The missing pattern may be among those that did not compile.
        print_diagnostics(&inputs.diagnostics, Paint::OFF);
    })?;
    if arguments.list {
        list::write_pattern_list(&inputs.patterns, &outputs, color)?;
        let is_broken = print_diagnostics(&inputs.diagnostics, color.paint_errors());
        return Ok(if is_broken { ExitStatus::BadInput } else { ExitStatus::Clean });
    }
    keep_inputs(&outputs)?;
    let changed = arguments.since.as_deref().map(ChangedFiles::since).transpose()?;
    let mut findings = detect_patterns(&inputs, arguments);
    if let Some(changed) = changed {
        findings.retain_files(|file| file == "-" || changed.contains(Path::new(file)));
    }
    let diagnostics = in_file_order([inputs.diagnostics.as_slice(), &findings.diagnostics].concat());
    write_detected(&findings, &diagnostics, started, (&outputs, color))?;
    let is_incomplete = print_diagnostics(&shown_diagnostics(&diagnostics), color.paint_errors());
    Ok(match (is_incomplete, findings.has_failures()) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Violations,
        (false, false) => ExitStatus::Clean,
    })
}

/// Shows the findings in `inputs` as a table, like the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(super) fn show_findings(
    mut inputs: PatternInputs,
    arguments: &DetectArguments,
    color: ColorChoice,
) -> Result<(), CommandFailure> {
    let started = Instant::now();
    choose_patterns(&mut inputs, arguments)?;
    write_detected(&detect_patterns(&inputs, arguments), &[], started, (&[Output::table()], color))
}

/// Detects the patterns of `inputs`.
fn detect_patterns<'s>(inputs: &'s PatternInputs, arguments: &'s DetectArguments) -> ReportedFindings<'s> {
    let options = FindingOptions {
        fail_on: arguments.fail_on.least(),
        is_quiet: arguments.quiet,
        shows_suppressed: arguments.show_suppressed,
        shows_all: arguments.all,
        resource_namespace: &arguments.target_namespace,
        is_beside_object: arguments.save_in_namespace,
    };
    let finished = Arc::new(AtomicUsize::new(0));
    let settings =
        DetectionSettings { finished: Some(Arc::clone(&finished)), ..detection_settings(arguments) };
    let count = inputs.patterns.len();
    show_phase(
        || pattern_phase(finished.load(Ordering::Relaxed), count),
        || {
            let limits = (&settings, workers::worker_count());
            ReportedFindings::detect(&inputs.patterns, inputs.context(), options, limits)
        },
    )
}

/// Writes the findings to each output.
fn write_detected(
    findings: &ReportedFindings<'_>,
    diagnostics: &[Diagnostic],
    started: Instant,
    (outputs, color): (&[Output], ColorChoice),
) -> Result<(), CommandFailure> {
    let report = Report { results: Results::Findings(findings), diagnostics, elapsed: started.elapsed() };
    let options = TableOptions {
        paint: color.paint_output(),
        is_quiet: findings.options.is_quiet,
        ..TableOptions::default()
    };
    for output in outputs {
        output.open(options)?.finish(&report)?;
    }
    Ok(())
}

fn detection_settings(arguments: &DetectArguments) -> DetectionSettings {
    let namespaces: Vec<Text> = arguments.namespaces.iter().map(|name| name.as_str().into()).collect();
    DetectionSettings {
        per_leader: arguments.max_per_leader,
        per_pattern: arguments.max_per_pattern,
        witnesses: arguments.witnesses,
        namespaces: (!namespaces.is_empty()).then_some(namespaces),
        passes_unreachable: arguments.compat == Some(CompatMode::Registry),
        ..DetectionSettings::default()
    }
}

/// Keeps the patterns that were requested by name, severity or category.
fn choose_patterns(inputs: &mut PatternInputs, arguments: &DetectArguments) -> Result<(), CommandFailure> {
    inputs.only(&arguments.only)?;
    inputs.without(&arguments.excluded)?;
    let known: Vec<&str> = inputs.patterns.iter().map(|pattern| pattern.category.as_str()).collect();
    for wanted in &arguments.categories {
        if !known.iter().any(|category| category.eq_ignore_ascii_case(wanted)) {
            let failure = CommandFailure::usage(format!("no pattern has the category `{wanted}`"));
            return Err(failure.help(match nearest_word(wanted, known.iter().copied()) {
                Some(near) => did_you_mean(near),
                None => "`kubewright detect --list` shows all".to_owned(),
            }));
        }
    }
    let is_wanted =
        |category: &str| arguments.categories.iter().any(|own| own.eq_ignore_ascii_case(category));
    inputs.patterns.retain(|pattern| arguments.categories.is_empty() || is_wanted(&pattern.category));
    inputs.patterns.retain(|pattern| arguments.severity.is_none_or(|least| pattern.severity >= least));
    inputs.patterns.compact_sort_by(|one, other| one.name.cmp(&other.name));
    Ok(())
}

/// Returns `diagnostics` by line within each file, whichever step found them; files keep their order.
fn in_file_order(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut places: HashMap<String, usize> = HashMap::new();
    for diagnostic in &diagnostics {
        let next = places.len();
        places.entry(diagnostic.location.source.name.clone()).or_insert(next);
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        (places.get(&diagnostic.location.source.name).copied(), diagnostic.location.position)
    });
    diagnostics
}

/// Returns how many patterns were looked for.
#[expect(clippy::cast_precision_loss, reason = "a share is shown to a person")]
fn pattern_phase(finished: usize, count: usize) -> (String, Option<f64>) {
    let share = (finished > 0).then(|| finished as f64 / count.max(1) as f64);
    (format!("{finished} of {}", plural(count, "pattern")), share)
}
