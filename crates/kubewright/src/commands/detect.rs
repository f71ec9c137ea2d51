//! `detect`: finds patterns and smells in a set of objects.

mod formats;
mod github;
mod json;
mod junit;
mod list;
mod markdown;
mod policyreport;
mod reason;
mod report;
mod resources;
mod sarif;
mod table;

use std::time::Instant;

use kubewright_engine::nearest_word;

use crate::arguments::Detect;
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, Format as _, Paint, keep_apart, keep_inputs, standard_output};
use crate::session::complain;
use crate::survey::{Sources, Survey};
use formats::FindingFormat;
pub(crate) use formats::FindingOutput;
use report::Report;

/// Runs the command.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(crate) fn run(arguments: &Detect, color: ColorChoice) -> Result<Exit, Failure> {
    let started = Instant::now();
    let outputs = outputs(arguments);
    keep_apart(&outputs)?;
    let mut survey = Survey::read(Sources {
        patterns: &arguments.patterns,
        references: &arguments.references,
        resources: if arguments.list { &[] } else { &arguments.resources },
        is_strict: arguments.strict,
        is_without_patterns: false,
    })?;
    choose(&mut survey, arguments).inspect_err(|_| {
        // The pattern that is missed may be among those that did not compile.
        complain(&survey.diagnostics, Paint::OFF);
    })?;
    if arguments.list {
        list::write(&survey.patterns, &outputs, color)?;
        let is_broken = complain(&survey.diagnostics, color.paint_errors());
        return Ok(if is_broken { Exit::BadInput } else { Exit::Clean });
    }
    keep_inputs(&outputs)?;
    let report = Report::of(&survey, arguments, started);
    for output in &outputs {
        let paint = if output.file.is_none() { color.paint_output() } else { Paint::OFF };
        (output.format.write)(&report, output.target()?, paint)?;
    }
    let is_incomplete = complain(&report.told(), color.paint_errors());
    Ok(match (is_incomplete, report.has_failures()) {
        (true, _) => Exit::BadInput,
        (false, true) => Exit::Violations,
        (false, false) => Exit::Clean,
    })
}

/// Shows what is found in `survey` as a table, as the command does.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(super) fn show(mut survey: Survey, arguments: &Detect, color: ColorChoice) -> Result<(), Failure> {
    let started = Instant::now();
    choose(&mut survey, arguments)?;
    let report = Report::of(&survey, arguments, started);
    Ok(table::write(&report, standard_output(), color.paint_output())?)
}

/// Returns the outputs that were asked for, or the usual one.
fn outputs(arguments: &Detect) -> Vec<FindingOutput> {
    match arguments.outputs.as_slice() {
        [] => {
            FindingFormat::all().iter().take(1).map(|format| FindingOutput { format, file: None }).collect()
        }
        chosen => chosen.to_vec(),
    }
}

/// Leaves the patterns that were asked for, by name.
fn choose(survey: &mut Survey, arguments: &Detect) -> Result<(), Failure> {
    survey.only(&arguments.only)?;
    survey.without(&arguments.excluded)?;
    let known: Vec<&str> = survey.patterns.iter().map(|pattern| pattern.category.as_str()).collect();
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
    survey.patterns.retain(|pattern| arguments.categories.is_empty() || is_wanted(&pattern.category));
    survey.patterns.retain(|pattern| arguments.severity.is_none_or(|least| pattern.severity >= least));
    survey.patterns.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(())
}
