//! `lint`: what is wrong with rules, without running them.

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, reading_codes};
use kubewright_value::{Map, Value, json};

use crate::arguments::{Lint, LintFormat};
use crate::codes::{NOTHING_FOUND, UNREADABLE};
use crate::failure::{Exit, Failure};
use crate::output::{self, ColorChoice, Tally, snippet, standard_output};
use crate::rules::{self, Rules};
use crate::words::plural;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run(arguments: &Lint, color: ColorChoice) -> Result<Exit, Failure> {
    let mut chosen = arguments.rules.clone();
    chosen.options.checks_idempotence = arguments.check_idempotent;
    let mut loaded = rules::load(&chosen, arguments.namespace.as_deref());
    if loaded.traits + loaded.patterns + loaded.references > 0 {
        loaded.diagnostics.retain(|diagnostic| diagnostic.code.id != NOTHING_FOUND.id);
    }
    let all = std::mem::take(&mut loaded.diagnostics);
    let (unreadable, diagnostics): (Vec<_>, Vec<_>) = all.into_iter().partition(is_unreadable);
    let tally = Tally::of(&diagnostics);
    match arguments.output {
        LintFormat::Table => {
            let files = plural(loaded.files, "file");
            let rules = counted(&loaded);
            let closing = match tally {
                Tally { errors: 0, warnings: 0, hints: 0 } if loaded.files == 0 => String::new(),
                Tally { errors: 0, warnings: 0, hints: 0 } => format!("{rules} in {files}: nothing wrong"),
                tally => format!("{tally} in {files}"),
            };
            table(&diagnostics, &closing, arguments.quiet, color)?;
        }
        LintFormat::Json => json_document(&diagnostics, &unreadable, tally)?,
        LintFormat::Sarif => output::sarif_diagnostics(standard_output(), &diagnostics)?,
        LintFormat::Github => output::github_diagnostics(standard_output(), &diagnostics)?,
    }
    crate::session::complain(&unreadable, color.paint_errors());
    let is_broken = diagnostics.iter().any(is_not_text);
    Ok(if is_broken || !unreadable.is_empty() {
        Exit::BadInput
    } else if tally.errors > 0 || (arguments.deny_warnings && tally.warnings > 0) {
        Exit::Violations
    } else {
        Exit::Clean
    })
}

/// Returns what was checked: `3 rules, 1 pattern`; what there is none of is left out.
fn counted(loaded: &Rules) -> String {
    let (patterns, references) = (loaded.patterns, loaded.references);
    let rules = loaded.rules.len() + loaded.traits;
    let others = [(patterns, "pattern"), (references, "References document")];
    let mut parts: Vec<String> = Vec::new();
    if rules > 0 || patterns + references == 0 {
        parts.push(plural(rules, "rule"));
    }
    for (count, word) in others.into_iter().filter(|(count, _)| *count > 0) {
        parts.push(plural(count, word));
    }
    parts.join(", ")
}

/// Returns whether this is about a file that could not be looked at at all.
fn is_unreadable(diagnostic: &Diagnostic) -> bool {
    [UNREADABLE.id, NOTHING_FOUND.id].contains(&diagnostic.code.id)
}

/// Returns whether this is about a text that could not be read, so that nobody knows what rules are in it.
fn is_not_text(diagnostic: &Diagnostic) -> bool {
    diagnostic.is_error() && reading_codes().contains(&diagnostic.code)
}

fn table(diagnostics: &[Diagnostic], closing: &str, is_quiet: bool, color: ColorChoice) -> io::Result<()> {
    let mut out = standard_output();
    for diagnostic in diagnostics {
        writeln!(out, "{}", snippet(diagnostic, color.paint_output()))?;
    }
    if !closing.is_empty() && (!is_quiet || !diagnostics.is_empty()) {
        writeln!(out, "{closing}")?;
    }
    out.flush()
}

fn json_document(diagnostics: &[Diagnostic], unreadable: &[Diagnostic], tally: Tally) -> io::Result<()> {
    let summary = Map::from([
        ("errors", Value::from(tally.errors)),
        ("warnings", tally.warnings.into()),
        ("hints", tally.hints.into()),
        ("unreadable", unreadable.len().into()),
    ]);
    let all: Vec<Value> = diagnostics.iter().chain(unreadable).map(output::json_diagnostic).collect();
    let document = Map::from([("diagnostics", Value::array(all)), ("summary", summary.into())]);
    let mut out = standard_output();
    writeln!(out, "{}", json::to_shown_pretty(&document.into()))?;
    out.flush()
}
