//! `lint`: checks rules without running them.

use std::time::Instant;

use kubewright_engine::{Diagnostic, Rule, reading_codes};
use kubewright_report::text::plural;
use kubewright_report::{LintTotals, Report, Results, Severity};
use kubewright_value::Location;

use crate::arguments::LintArguments;
use crate::codes::{NOTHING_FOUND, UNREADABLE};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, DiagnosticCounts, TableOptions, chosen_or_table, keep_apart, keep_inputs};
use crate::rules::{self, LoadedRuleFiles};

/// Runs the command.
///
/// # Errors
/// When two outputs have the same target, or output cannot be written.
pub(crate) fn run_lint(arguments: &LintArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    rules::require_rules(&arguments.rules)?;
    let started = Instant::now();
    let outputs = chosen_or_table(&arguments.outputs);
    keep_apart(&outputs)?;
    let LintedRules { loaded, diagnostics, unreadable } = check_rules(arguments);
    keep_inputs(&outputs)?;
    let totals = LintTotals {
        checked: &checked_counts(&loaded),
        files: loaded.files,
        unreadable: unreadable.as_slice(),
    };
    let report = Report {
        results: Results::Diagnostics(totals),
        diagnostics: &diagnostics,
        elapsed: started.elapsed(),
    };
    let options =
        TableOptions { paint: color.paint_output(), is_quiet: arguments.quiet, ..TableOptions::default() };
    for output in &outputs {
        output.open(options)?.finish(&report)?;
    }
    let counts = DiagnosticCounts::of(&diagnostics);
    crate::rule_inputs::print_diagnostics(&unreadable, color.paint_errors());
    let is_broken = diagnostics.iter().any(is_not_text);
    Ok(if is_broken || !unreadable.is_empty() {
        ExitStatus::BadInput
    } else if counts.errors > 0 || (arguments.deny_warnings && counts.warnings > 0) {
        ExitStatus::Violations
    } else {
        ExitStatus::Clean
    })
}

/// Rules that were checked.
pub(super) struct LintedRules {
    loaded: LoadedRuleFiles,
    /// What is wrong with them.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The files that could not be read at all.
    pub(super) unreadable: Vec<Diagnostic>,
}

/// Checks the rules that `arguments` name.
pub(super) fn check_rules(arguments: &LintArguments) -> LintedRules {
    let mut chosen = arguments.rules.clone();
    chosen.options.checks_idempotence = arguments.check_idempotent;
    let mut loaded = rules::load_rule_files(&chosen, arguments.namespace.as_deref());
    if loaded.traits + loaded.patterns + loaded.references > 0 {
        loaded.diagnostics.retain(|diagnostic| diagnostic.code != &NOTHING_FOUND);
    }
    let mut all = std::mem::take(&mut loaded.diagnostics);
    if let Some(least) = arguments.severity {
        all.retain(|diagnostic| is_severe(diagnostic, &loaded.rules, least));
        loaded.rules.retain(|rule| Severity::of_rule(&rule.metadata.severity) >= least);
    }
    let (unreadable, diagnostics): (Vec<_>, Vec<_>) = all.into_iter().partition(is_unreadable);
    LintedRules { loaded, diagnostics, unreadable }
}

/// Returns whether a diagnostic is about a document with a rule of at least this severity, or about no rule.
fn is_severe(diagnostic: &Diagnostic, rules: &[Rule], least: Severity) -> bool {
    let of_document = |location: &Location| {
        let is_start = |line: &u32| location.source.line(*line).is_some_and(|text| text.starts_with("---"));
        let start = (1..=location.position.line).rev().find(is_start).unwrap_or(0);
        (location.source.name.clone(), start)
    };
    let place = of_document(&diagnostic.location);
    let mut severities = rules
        .iter()
        .filter(|rule| of_document(&rule.location) == place)
        .map(|rule| Severity::of_rule(&rule.metadata.severity))
        .peekable();
    severities.peek().is_none() || severities.any(|severity| severity >= least)
}

/// Returns the numbers of checked documents: `3 rules, 1 pattern`; zeros are left out.
fn checked_counts(loaded: &LoadedRuleFiles) -> String {
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

/// Returns whether this is about a file that could not be read at all.
fn is_unreadable(diagnostic: &Diagnostic) -> bool {
    [&UNREADABLE, &NOTHING_FOUND].contains(&diagnostic.code)
}

/// Returns whether this is about a text that could not be read, so that its rules are not known.
fn is_not_text(diagnostic: &Diagnostic) -> bool {
    diagnostic.is_error() && reading_codes().contains(&diagnostic.code)
}
