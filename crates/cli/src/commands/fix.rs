//! `fix`: changes manifests so that rules pass, and corrects misspelt words of rules.
//!
//! Nothing is offered that was not judged: the changed object is decided again by all rules, and a fix counts only if its
//! rule passes and no other rule begins to fail.

mod misspelt;
mod object;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_report::render::hunks;
use kubewright_report::text::plural;
use kubewright_value::{Document, Source};

use crate::arguments::{FixArguments, SuppressionArguments};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{
    ColorChoice, Columns, Paint, ReportWriter, print_stderr, replace_files, standard_output, visible,
};
use crate::review::is_late;
use crate::rule_inputs::{RuleInputs, print_diagnostics};
use crate::suppressions::Suppressions;
pub(super) use object::ObjectFixer;

/// The texts of files as they would be written.
#[derive(Default)]
pub(super) struct FixedTexts {
    // By file name: the text that was read, and the one after all fixes.
    files: BTreeMap<String, (Arc<Source>, Arc<Source>)>,
}

/// What was found for one failure.
pub(super) struct FixReport {
    /// The file that is fixed.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only the page tells it"))]
    pub(super) file: String,
    /// The rules that fail, or the code of a mistake in a rule.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only the page tells it"))]
    pub(super) rules: Vec<String>,
    /// The failure: `RULE on OBJECT`.
    pub(super) failure: String,
    /// What the fix changes; nothing where there is none.
    pub(super) changes: Option<String>,
    /// What other fixes would change, each with its number.
    pub(super) others: Vec<(usize, String)>,
    /// The message of the rule.
    pub(super) message: String,
}

impl FixedTexts {
    /// Returns the text of a file with the fixes so far.
    pub(super) fn current(&mut self, source: &Arc<Source>) -> Arc<Source> {
        let entry = self.files.entry(source.name.clone());
        Arc::clone(&entry.or_insert_with(|| (Arc::clone(source), Arc::clone(source))).1)
    }

    /// Replaces the text of a file.
    pub(super) fn replace(&mut self, source: &Arc<Source>) {
        if let Some((_, current)) = self.files.get_mut(&source.name) {
            *current = Arc::clone(source);
        }
    }

    fn changed(&self) -> impl Iterator<Item = (&String, &Source, &Source)> {
        let all = self.files.iter().map(|(name, (before, after))| (name, &**before, &**after));
        all.filter(|(_, before, after)| before.text != after.text)
    }
}

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or a file cannot be written.
pub(crate) fn run_fix(arguments: &FixArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if arguments.write
        && arguments.objects.resources.iter().chain(&arguments.rules.rules).any(|path| path == "-")
    {
        return Err(CommandFailure::usage("standard input cannot be fixed").help("leave out `--write`"));
    }
    let found = find_fixes(arguments)?;
    if arguments.write {
        write_texts(&found.texts)?;
    }
    show(&found.reports, &found.texts, arguments, color)?;
    let is_incomplete = print_diagnostics(&found.diagnostics, color.paint_errors());
    Ok(exit_status(&found.reports, arguments, is_incomplete))
}

/// What was found for all failures.
pub(super) struct FoundFixes {
    /// One for each failure.
    pub(super) reports: Vec<FixReport>,
    texts: FixedTexts,
    /// What is wrong with the inputs.
    pub(super) diagnostics: Vec<Diagnostic>,
}

#[cfg(feature = "serve")]
impl FoundFixes {
    /// Returns the files that change: their names, and their texts before and after.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&String, &Source, &Source)> {
        self.texts.changed()
    }
}

/// Looks for fixes of what fails, and writes nothing.
///
/// # Errors
/// When the arguments are invalid.
pub(super) fn find_fixes(arguments: &FixArguments) -> Result<FoundFixes, CommandFailure> {
    let mut inputs = RuleInputs::open(&arguments.rules, &arguments.objects)?;
    let mut texts = FixedTexts::default();
    let mut reports = misspelt::correct_words(&mut inputs.diagnostics, &mut texts, arguments);
    let mut problems = Vec::new();
    let documents = files::read_documents(&inputs.manifests, &mut problems);
    let objects = files::wanted_objects(documents, inputs.wanted(), &mut problems);
    inputs.diagnostics.extend(problems);
    let suppressions = Suppressions::open(&SuppressionArguments::default(), &mut inputs.diagnostics)?;
    let columns = Columns { all_outcomes: true, objects: true, ..Columns::default() };
    let fixer = ObjectFixer {
        reviewer: inputs.reviewer(columns),
        suppressions: &suppressions,
        choice: arguments.choice.saturating_sub(1),
        has_mutations: !arguments.no_mutations,
    };
    for object in objects.iter().take_while(|_| !is_late()) {
        reports.extend(fixer.fix(object, &mut texts));
    }
    Ok(FoundFixes { reports, texts, diagnostics: inputs.diagnostics })
}

fn exit_status(reports: &[FixReport], arguments: &FixArguments, is_incomplete: bool) -> ExitStatus {
    let is_left = reports.iter().any(|report| report.changes.is_none() || !arguments.write);
    match (is_incomplete, is_left) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Violations,
        (false, false) => ExitStatus::Clean,
    }
}

/// Shows the changes, and what has none.
fn show(
    reports: &[FixReport],
    texts: &FixedTexts,
    arguments: &FixArguments,
    color: ColorChoice,
) -> Result<(), CommandFailure> {
    let paint = color.paint_output();
    let mut out = standard_output();
    if !arguments.quiet {
        if !arguments.write {
            for (name, before, after) in texts.changed() {
                let head = format!("--- {name}\n+++ {name}", name = visible(name));
                writeln!(out, "{}\n{}", paint.bold(&head), hunks(&before.text, &after.text, paint))?;
            }
        }
        for report in reports {
            write_report(&mut out, report, paint)?;
        }
    }
    let fixed = reports.iter().filter(|report| report.changes.is_some()).count();
    let files = plural(texts.changed().count(), "file");
    let done = if arguments.write { "fixed" } else { "can be fixed" };
    match reports.len() {
        0 => writeln!(out, "nothing to fix")?,
        all => writeln!(out, "{fixed} of {} {done} in {files}", plural(all, "failure"))?,
    }
    if fixed > 0 && !arguments.write {
        print_stderr("try: the same command with `--write`");
    }
    out.flush()?;
    Ok(())
}

fn write_report(out: &mut ReportWriter, report: &FixReport, paint: Paint) -> Result<(), CommandFailure> {
    match &report.changes {
        Some(changes) => {
            writeln!(out, "{} {}\n    {}", paint.green("✓"), visible(&report.failure), visible(changes))?;
            for (number, other) in &report.others {
                writeln!(out, "    or, with --choice {number}: {}", visible(other))?;
            }
        }
        None => {
            let message = report.message.lines().next().unwrap_or_default();
            writeln!(
                out,
                "{} {}\n    no fix is known: {}",
                paint.red("✗"),
                visible(&report.failure),
                visible(message)
            )?;
        }
    }
    Ok(())
}

/// Writes the texts of all files that changed. If someone changed one meanwhile, all are left alone.
fn write_texts(texts: &FixedTexts) -> Result<(), CommandFailure> {
    for (name, before, _) in texts.changed() {
        let path = Path::new(name);
        let found = fs::read_to_string(path).map_err(CommandFailure::writing(path))?;
        if found != before.text {
            let message = format!("`{name}` changed while it was fixed, and is left as it is");
            return Err(CommandFailure::usage(message).help("run the command again"));
        }
    }
    replace_files(texts.changed().map(|(name, _, after)| (Path::new(name), &after.text)))
}

/// Returns a document of `value`, which is judged in place of `document`.
pub(super) fn judged_document(document: &Document, value: kubewright_value::Value) -> Document {
    Document::made(value, Arc::clone(&document.source))
}
