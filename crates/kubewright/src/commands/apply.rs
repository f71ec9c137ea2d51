//! `apply`: runs rules on manifests and shows what they say and change.

use std::time::Instant;

use kubewright_engine::Diagnostic;

use crate::arguments::Apply;
use crate::failure::{Exit, Failure};
use crate::load;
use crate::output::{
    ColorChoice, Diff, Ending, Folder, Manner, Needs, Output, Show, keep_apart, keep_inputs, standard_output,
};
use crate::progress::Bar;
use crate::review::{Counts, Question};
use crate::session::{Session, complain, no_objects};

/// Runs the command.
///
/// # Errors
/// When the arguments make no sense or output cannot be written.
pub(crate) fn run(arguments: &Apply, color: ColorChoice) -> Result<Exit, Failure> {
    let started = Instant::now();
    let outputs = outputs(arguments)?;
    let mut session = Session::open(&arguments.rules, &arguments.objects)?;
    keep_inputs(&outputs)?;
    let mut shows = open(arguments, &outputs, color)?;
    let question = session.question(needs(arguments, &outputs));
    let question = Question { is_lenient: arguments.audit_warn, ..question };
    let mut bar = Bar::new();
    let (mut objects, mut counts) = (0, Counts::default());
    let problems = load::stream(
        &session.inputs,
        session.wanted(),
        |document| question.review(document),
        |report, progress| {
            objects += 1;
            counts += report.counts;
            bar.show(progress);
            Ok(shows.iter_mut().try_for_each(|show| show.object(&report))?)
        },
    )?;
    bar.clear();
    session.diagnostics.extend(problems);
    if objects == 0 && !session.diagnostics.iter().any(Diagnostic::is_error) {
        session.diagnostics.push(no_objects(&arguments.objects.resources));
    }
    let ending = Ending {
        rules: session.engine.rules(),
        diagnostics: &session.diagnostics,
        objects,
        counts,
        elapsed: started.elapsed(),
    };
    shows.iter_mut().try_for_each(|show| show.finish(&ending))?;
    let is_incomplete = complain(&session.diagnostics, color.paint_errors());
    Ok(match (is_incomplete, counts.has_violations()) {
        (true, _) => Exit::BadInput,
        (false, true) => Exit::Violations,
        (false, false) if is_warned(arguments, counts) => Exit::Warned(arguments.warn_exit_code),
        (false, false) => Exit::Clean,
    })
}

/// Returns whether the exit code for warnings is due.
fn is_warned(arguments: &Apply, counts: Counts) -> bool {
    let has_warnings = counts.warn > 0 || (arguments.warn_no_pass && counts.pass == 0);
    has_warnings && arguments.warn_exit_code > 0
}

/// Returns the outputs that were asked for, of which one at most goes to standard output.
fn outputs(arguments: &Apply) -> Result<Vec<Output>, Failure> {
    let mut outputs = arguments.outputs.clone();
    if arguments.policy_report {
        outputs.push(Output::policy_report());
    }
    if outputs.is_empty() {
        outputs.push(Output::table());
    }
    keep_apart(&outputs)?;
    if arguments.diff && outputs.iter().any(|output| output.file.is_none() && !output.is_table()) {
        return Err(Failure::usage("--diff goes to standard output, which another output takes")
            .help("name a file for the other, as in `-o json=report.json`"));
    }
    Ok(outputs)
}

fn open(arguments: &Apply, outputs: &[Output], color: ColorChoice) -> Result<Vec<Box<dyn Show>>, Failure> {
    let mut shows = Vec::new();
    for output in outputs {
        let manner = Manner::new(color, arguments.quiet, arguments.diff && output.file.is_none());
        shows.push(output.open(manner)?);
    }
    if arguments.diff && outputs.iter().all(|output| output.file.is_some()) {
        shows.push(Box::new(Diff::new(standard_output(), color.paint_output())));
    }
    if let Some(folder) = &arguments.output_objects {
        shows.push(Box::new(Folder::create(folder)?));
    }
    Ok(shows)
}

fn needs(arguments: &Apply, outputs: &[Output]) -> Needs {
    let has_objects = arguments.diff || arguments.output_objects.is_some();
    let needs = Needs { objects: has_objects, ..Needs::default() };
    outputs.iter().fold(needs, |needs, output| needs.and(output.needs()))
}
