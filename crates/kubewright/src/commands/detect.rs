//! `detect`: finds patterns and smells in a set of objects.

mod list;

use std::time::Instant;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_files::workers;
use kubewright_patterns::DetectionSettings;
use kubewright_report::{FindingOptions, Report, ReportedFindings, Results, shown_diagnostics};
use kubewright_value::Text;

use crate::arguments::{Compat, Detect};
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, Output, Paint, TableOptions, chosen_or_table, keep_apart, keep_inputs};
use crate::pattern_inputs::{PatternInputs, PatternSources};
use crate::rule_inputs::complain;

/// Runs the command.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(crate) fn run(arguments: &Detect, color: ColorChoice) -> Result<Exit, Failure> {
    let started = Instant::now();
    let outputs = chosen_or_table(&arguments.outputs);
    keep_apart(&outputs)?;
    let mut inputs = PatternInputs::read(PatternSources {
        patterns: &arguments.patterns,
        references: &arguments.references,
        resources: if arguments.list { &[] } else { &arguments.resources },
        is_strict: arguments.strict,
        is_without_patterns: false,
    })?;
    choose(&mut inputs, arguments).inspect_err(|_| {
        // The pattern that is missed may be among those that did not compile.
        complain(&inputs.diagnostics, Paint::OFF);
    })?;
    if arguments.list {
        list::write(&inputs.patterns, &outputs, color)?;
        let is_broken = complain(&inputs.diagnostics, color.paint_errors());
        return Ok(if is_broken { Exit::BadInput } else { Exit::Clean });
    }
    keep_inputs(&outputs)?;
    let findings = find(&inputs, arguments);
    let diagnostics = [inputs.diagnostics.as_slice(), &findings.diagnostics].concat();
    write(&findings, &diagnostics, started, (&outputs, color))?;
    let is_incomplete = complain(&shown_diagnostics(&diagnostics), color.paint_errors());
    Ok(match (is_incomplete, findings.has_failures()) {
        (true, _) => Exit::BadInput,
        (false, true) => Exit::Violations,
        (false, false) => Exit::Clean,
    })
}

/// Shows what is found in `survey` as a table, as the command does.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(super) fn show(mut inputs: PatternInputs, arguments: &Detect, color: ColorChoice) -> Result<(), Failure> {
    let started = Instant::now();
    choose(&mut inputs, arguments)?;
    write(&find(&inputs, arguments), &[], started, (&[Output::table()], color))
}

/// Looks for the patterns of `survey`.
fn find<'s>(inputs: &'s PatternInputs, arguments: &'s Detect) -> ReportedFindings<'s> {
    let options = FindingOptions {
        fail_on: arguments.fail_on.least(),
        is_quiet: arguments.quiet,
        shows_suppressed: arguments.show_suppressed,
        shows_all: arguments.all,
        resource_namespace: &arguments.target_namespace,
        is_beside_object: arguments.save_in_namespace,
    };
    let limits = (&settings(arguments), workers::count());
    ReportedFindings::detect(&inputs.patterns, inputs.context(), options, limits)
}

/// Writes the findings to each output.
fn write(
    findings: &ReportedFindings<'_>,
    diagnostics: &[Diagnostic],
    started: Instant,
    (outputs, color): (&[Output], ColorChoice),
) -> Result<(), Failure> {
    let report = Report { results: Results::Findings(findings), diagnostics, elapsed: started.elapsed() };
    let options = TableOptions {
        paint: color.paint_output(),
        is_quiet: findings.options.is_quiet,
        has_differences: false,
    };
    for output in outputs {
        output.open(options)?.finish(&report)?;
    }
    Ok(())
}

fn settings(arguments: &Detect) -> DetectionSettings {
    let namespaces: Vec<Text> = arguments.namespaces.iter().map(|name| name.as_str().into()).collect();
    DetectionSettings {
        per_leader: arguments.max_per_leader,
        per_pattern: arguments.max_per_pattern,
        witnesses: arguments.witnesses,
        namespaces: (!namespaces.is_empty()).then_some(namespaces),
        passes_unreachable: arguments.compat == Some(Compat::Registry),
        ..DetectionSettings::default()
    }
}

/// Leaves the patterns that were asked for, by name.
fn choose(inputs: &mut PatternInputs, arguments: &Detect) -> Result<(), Failure> {
    inputs.only(&arguments.only)?;
    inputs.without(&arguments.excluded)?;
    let known: Vec<&str> = inputs.patterns.iter().map(|pattern| pattern.category.as_str()).collect();
    for wanted in &arguments.categories {
        if !known.iter().any(|category| category.eq_ignore_ascii_case(wanted)) {
            let failure = Failure::usage(format!("no pattern is of the category `{wanted}`"));
            return Err(failure.help(match nearest_word(wanted, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`kubewright detect --list` shows all".to_owned(),
            }));
        }
    }
    let is_wanted =
        |category: &str| arguments.categories.iter().any(|own| own.eq_ignore_ascii_case(category));
    inputs.patterns.retain(|pattern| arguments.categories.is_empty() || is_wanted(&pattern.category));
    inputs.patterns.retain(|pattern| arguments.severity.is_none_or(|least| pattern.severity >= least));
    inputs.patterns.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(())
}
