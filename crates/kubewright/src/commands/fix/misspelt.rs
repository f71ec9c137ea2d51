//! Misspelt words of rules, of which the diagnostic knows the right one.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::{Source, yaml};

use super::{FixReport, FixedTexts, diagnostic_source};
use crate::arguments::FixArguments;
use crate::rules::dialect_options;

/// Corrects the words that `diagnostics` know the right ones of, and takes these diagnostics out.
pub(super) fn correct_words(
    diagnostics: &mut Vec<Diagnostic>,
    texts: &mut FixedTexts,
    arguments: &FixArguments,
) -> Vec<FixReport> {
    let mut reports = Vec::new();
    // From the end of each file, so that the places before a correction stay.
    let mut order: Vec<usize> = (0..diagnostics.len()).collect();
    order.sort_by_key(|place| {
        std::cmp::Reverse(diagnostics.get(*place).map(|diagnostic| diagnostic.location.position))
    });
    let mut corrected = vec![false; diagnostics.len()];
    for place in order {
        let Some(diagnostic) = diagnostics.get(place) else { continue };
        let Some((word, right)) = correction(diagnostic) else { continue };
        let source = texts.current(diagnostic_source(diagnostic));
        let Some(fixed) = corrected_text(&source, diagnostic, (&word, &right)) else { continue };
        if !is_better(&source, &fixed, arguments) {
            continue;
        }
        texts.replace(&fixed);
        reports.push(FixReport {
            failure: format!("{}: {} at {}", diagnostic.code.id, diagnostic.message, diagnostic.location),
            changes: Some(format!("replace `{word}` by `{right}`")),
            others: Vec::new(),
            message: String::new(),
        });
        if let Some(is_corrected) = corrected.get_mut(place) {
            *is_corrected = true;
        }
    }
    let mut corrected = corrected.into_iter();
    diagnostics.retain(|_| !corrected.next().unwrap_or(false));
    reports.reverse();
    reports
}

/// Returns the word at the place of a diagnostic, and the right one.
fn correction(diagnostic: &Diagnostic) -> Option<(String, String)> {
    let right = diagnostic.help.strip_prefix("did you mean `")?.strip_suffix("`?")?;
    let word = diagnostic.location.text()?;
    // The place is that of the word which the message quotes.
    let is_plain = !word.contains(char::is_whitespace) && diagnostic.message.contains(&format!("`{word}`"));
    (is_plain && word != right).then(|| (word, right.to_owned()))
}

fn corrected_text(
    source: &Arc<Source>,
    diagnostic: &Diagnostic,
    (word, right): (&str, &str),
) -> Option<Arc<Source>> {
    let position = diagnostic.location.position;
    let mut lines: Vec<String> = source.text.split_inclusive('\n').map(str::to_owned).collect();
    let line = lines.get_mut(usize::try_from(position.line).ok()?.checked_sub(1)?)?;
    let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
    let start: usize = line.chars().take(column).map(char::len_utf8).sum();
    let rest = line.get(start..)?.strip_prefix(word)?.to_owned();
    let head = line.get(..start)?.to_owned();
    *line = format!("{head}{right}{rest}");
    Some(Source::new(source.name.clone(), lines.concat()))
}

/// Returns whether the rules of `after` have fewer mistakes than those of `before`.
fn is_better(before: &Arc<Source>, after: &Arc<Source>, arguments: &FixArguments) -> bool {
    let options = dialect_options(&arguments.rules.options, arguments.objects.namespace.as_deref());
    let dialects = kubewright_dialects::all_dialects(&options);
    let count = |source: &Arc<Source>| {
        let read = yaml::read(source);
        let loaded = kubewright_dialects::load_documents(&dialects, &read.documents);
        read.problems.len() + loaded.diagnostics.len()
    };
    count(after) < count(before)
}
