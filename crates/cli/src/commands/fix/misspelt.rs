//! Misspelt words of rules, of which the diagnostic knows the right one.

use std::collections::BTreeSet;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, Dialect};
use kubewright_value::{Source, yaml};

use super::{FixReport, FixedTexts};
use crate::arguments::FixArguments;
use crate::rules::dialect_options;

/// The maximum number of words that are corrected in one run.
const MAX_CORRECTIONS: usize = 1000;

/// Corrects the words that `diagnostics` know the right ones of. In place of the diagnostics of a file that was corrected come
/// those of its new text.
pub(super) fn correct_words(
    diagnostics: &mut Vec<Diagnostic>,
    texts: &mut FixedTexts,
    arguments: &FixArguments,
) -> Vec<FixReport> {
    let options = dialect_options(&arguments.rules.options, arguments.objects.namespace.as_deref());
    let dialects = kubewright_dialects::all_dialects(&options);
    let names: BTreeSet<String> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.correction().is_some())
        .map(|diagnostic| diagnostic.location.source.name.clone())
        .collect();
    let mut reports = Vec::new();
    for name in names {
        let Some(first) = diagnostics.iter().find(|diagnostic| diagnostic.location.source.name == name)
        else {
            continue;
        };
        let mut source = texts.current(&first.location.source);
        let mut left = mistakes(&source, &dialects);
        while let Some((report, corrected)) = corrected_once(&source, &left, &dialects) {
            reports.push(report);
            left = mistakes(&corrected, &dialects);
            source = corrected;
            if reports.len() >= MAX_CORRECTIONS {
                break;
            }
        }
        let is_corrected = texts.current(&source).text != source.text;
        if is_corrected {
            texts.replace(&source);
            diagnostics.retain(|diagnostic| diagnostic.location.source.name != name);
            diagnostics.extend(left);
        }
    }
    reports
}

/// Corrects the first word whose mistake is gone afterwards.
fn corrected_once(
    source: &Arc<Source>,
    mistakes_before: &[Diagnostic],
    dialects: &[Box<dyn Dialect>],
) -> Option<(FixReport, Arc<Source>)> {
    let count = |mistakes: &[Diagnostic], message: &str| {
        mistakes.iter().filter(|mistake| mistake.message == message).count()
    };
    mistakes_before.iter().find_map(|diagnostic| {
        let (word, right) = diagnostic.correction()?;
        let corrected = corrected_text(source, diagnostic, (&word, &right))?;
        let after = mistakes(&corrected, dialects);
        let message = &diagnostic.message;
        let is_better = count(&after, message) < count(mistakes_before, message);
        let report = FixReport {
            file: source.name.clone(),
            rules: vec![diagnostic.code.id.to_owned()],
            failure: format!("{}: {message} at {}", diagnostic.code.id, diagnostic.location),
            changes: Some(format!("replace `{word}` by `{right}`")),
            others: Vec::new(),
            message: String::new(),
        };
        is_better.then_some((report, corrected))
    })
}

/// Returns what is wrong with the rules of a text.
fn mistakes(source: &Arc<Source>, dialects: &[Box<dyn Dialect>]) -> Vec<Diagnostic> {
    let read = yaml::read(source);
    let mut mistakes: Vec<Diagnostic> = read.problems.into_iter().map(Into::into).collect();
    mistakes.extend(kubewright_dialects::load_documents(dialects, &read.documents).diagnostics);
    mistakes.sort_by_key(|mistake| mistake.location.position);
    mistakes
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
