//! `apply`: runs rules on manifests and shows what they say and change.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kubewright_engine::Diagnostic;

use crate::arguments::Apply;
use crate::failure::{Exit, Failure};
use crate::load::{self, Input};
use crate::output::{ColorChoice, Diff, Ending, Folder, Manner, Needs, Output, Show, standard_output};
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
    keep_inputs(&outputs, &session.inputs)?;
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
        (false, false) if counts.warn > 0 && arguments.warn_exit_code > 0 => {
            Exit::Warned(arguments.warn_exit_code)
        }
        (false, false) => Exit::Clean,
    })
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
    if outputs.iter().filter(|output| output.file.is_none()).count() > 1 {
        return Err(Failure::usage("two outputs would go to standard output")
            .help("name a file for one, as in `-o json=report.json`"));
    }
    // A device may be written twice.
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|data| !data.is_file());
    let named = outputs.iter().filter_map(|output| output.file.as_deref());
    let mut files: Vec<PathBuf> = named.filter(|path| !is_device(path)).map(real).collect();
    files.sort();
    if let Some((file, _)) = files.iter().zip(files.iter().skip(1)).find(|(file, next)| file == next) {
        return Err(Failure::usage(format!("two outputs would go to `{}`", file.display())));
    }
    if arguments.diff && outputs.iter().any(|output| output.file.is_none() && !output.is_table()) {
        return Err(Failure::usage("--diff goes to standard output, which another output takes")
            .help("name a file for the other, as in `-o json=report.json`"));
    }
    Ok(outputs)
}

/// Returns `path` without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
}

/// Refuses an output that would write over a manifest before it is read.
fn keep_inputs(outputs: &[Output], inputs: &[Input]) -> Result<(), Failure> {
    let has_files = outputs.iter().any(|output| output.file.is_some());
    let inputs: HashSet<PathBuf> = inputs
        .iter()
        .filter_map(|input| match input {
            Input::File(path) if has_files => fs::canonicalize(path).ok(),
            _ => None,
        })
        .collect();
    let lost = outputs.iter().filter_map(|output| output.file.as_deref());
    match lost.into_iter().find(|file| inputs.contains(&real(file))) {
        Some(file) => Err(Failure::usage(format!("`{}` is a manifest and would be lost", file.display()))
            .help("name another file for the output")),
        None => Ok(()),
    }
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
