//! What does not count although a rule fails: ignores in manifests, and a baseline of known failures.

pub(crate) mod baseline;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_engine::{Code, Diagnostic, RuleStatus, nearest_word};
use kubewright_report::ignores::{
    IgnoreComment, IgnoreMistake, ObjectLines, annotated_ignore, ignore_comments,
};
use kubewright_report::{ObjectRow, OutcomeRow, OutcomeSuppression, SuppressionOrigin};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Location, Position, Source};

use crate::arguments::SuppressionArguments;
use crate::codes::{IGNORE_EXPIRED, IGNORE_MISTAKE, IGNORE_UNUSED};
use crate::failure::CommandFailure;
use baseline::Baseline;

/// Decides which outcomes do not count.
pub(crate) struct Suppressions {
    today: String,
    honours_ignores: bool,
    baseline: Option<Baseline>,
    // The comments of each file that was read, by its name; most files have none.
    files: Mutex<BTreeMap<String, Arc<FileIgnores>>>,
    /// Annotations that are no longer honoured, as diagnostics.
    expired: Mutex<Vec<Diagnostic>>,
}

/// The ignores in the comments of one file.
struct FileIgnores {
    source: Arc<Source>,
    comments: Vec<(IgnoreComment, AtomicBool)>,
    mistakes: Vec<IgnoreMistake>,
}

impl Suppressions {
    /// Reads the baseline that `arguments` name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(
        arguments: &SuppressionArguments,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self, CommandFailure> {
        let is_written = |file: &&String| arguments.write_baseline.as_ref() != Some(*file);
        let baseline = arguments.baseline.as_ref().filter(is_written);
        Ok(Self {
            today: today(),
            honours_ignores: !arguments.no_ignores,
            baseline: baseline.and_then(|file| Baseline::read(file, diagnostics)),
            files: Mutex::default(),
            expired: Mutex::default(),
        })
    }

    /// Takes out of the count of `row` what the manifest ignores and what the baseline knows.
    pub(crate) fn apply(&self, document: &Document, row: &mut ObjectRow) {
        let has_problems = row.counts.fail + row.counts.warn + row.counts.error > 0;
        let ignores = self.honours_ignores.then(|| self.ignores_of(document));
        if !has_problems {
            return;
        }
        let annotated = annotated_ignore(&document.value).filter(|_| self.honours_ignores);
        let annotated = annotated.filter(|ignore| self.is_current(ignore, document));
        let subject = row.subject.clone();
        let comments = ignores.filter(|ignores| !ignores.comments.is_empty());
        let comments = comments.map(|ignores| (ignores, ObjectLines::of(document)));
        row.suppress(|outcome| {
            let commented =
                comments.as_ref().and_then(|(ignores, lines)| self.comment(ignores, *lines, outcome));
            if let Some(comment) = commented {
                return Some(suppression(SuppressionOrigin::Comment, outcome, &comment));
            }
            if let Some(ignore) = annotated.as_ref().filter(|ignore| ignore.names(&outcome.rule)) {
                return Some(suppression(SuppressionOrigin::Annotation, outcome, ignore));
            }
            let reason = self.baseline.as_ref()?.reason(&subject, outcome)?;
            let (origin, status) = (SuppressionOrigin::Baseline, outcome.status);
            (status != RuleStatus::Error).then(|| OutcomeSuppression {
                origin,
                status,
                reason: reason.into(),
                until: None,
            })
        });
    }

    /// Returns the comment that ignores the outcome.
    fn comment(
        &self,
        ignores: &FileIgnores,
        lines: ObjectLines,
        outcome: &OutcomeRow,
    ) -> Option<IgnoreComment> {
        let line = outcome.position.line;
        let about = |comment: &IgnoreComment| {
            comment.names(&outcome.rule) && comment.covers(line, lines, &ignores.source)
        };
        for (comment, is_used) in ignores.comments.iter().filter(|(comment, _)| about(comment)) {
            is_used.store(true, Ordering::Relaxed);
            if comment.until.as_ref().is_none_or(|until| *until >= self.today) {
                return Some(comment.clone());
            }
        }
        None
    }

    /// Returns whether the annotations of an object still count, and tells where they do not.
    fn is_current(&self, ignore: &IgnoreComment, document: &Document) -> bool {
        let Some(until) = ignore.until.as_ref().filter(|until| **until < self.today) else { return true };
        let name = kubewright_report::ignores::IGNORE_UNTIL_ANNOTATION;
        let location = document.locate(&["metadata".into(), "annotations".into(), name.into()]);
        let problem = Diagnostic::new(&IGNORE_EXPIRED, expired_message(until), location);
        self.expired.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
        false
    }

    /// Returns the comments of the file that `document` was read from.
    fn ignores_of(&self, document: &Document) -> Arc<FileIgnores> {
        let source = &document.source;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files.get(&source.name) {
            return Arc::clone(known);
        }
        let (comments, mistakes) = ignore_comments(source);
        let comments: Vec<_> =
            comments.into_iter().map(|comment| (comment, AtomicBool::new(false))).collect();
        // A file without comments need not stay in memory.
        let is_empty = comments.is_empty() && mistakes.is_empty();
        let kept = if is_empty { Source::new("", "") } else { Arc::clone(source) };
        let ignores = Arc::new(FileIgnores { source: kept, comments, mistakes });
        files.insert(source.name.clone(), Arc::clone(&ignores));
        ignores
    }

    /// Returns whether there is a baseline, or an ignore in a manifest.
    pub(crate) fn is_used(&self) -> bool {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ignores = files.values().any(|file| !file.comments.is_empty() || !file.mistakes.is_empty());
        let expired = self.expired.lock().unwrap_or_else(PoisonError::into_inner);
        self.baseline.is_some() || has_ignores || !expired.is_empty()
    }

    /// Forgets the comments of a file, which is read again.
    pub(crate) fn forget_file(&self, name: &str) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Returns what is wrong with ignores. Those without an effect are told unless `is_partial`.
    pub(crate) fn diagnostics(&self, is_partial: bool) -> Vec<Diagnostic> {
        let mut found = self.expired.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ignores in self.files.lock().unwrap_or_else(PoisonError::into_inner).values() {
            for mistake in &ignores.mistakes {
                let problem = at_line(&IGNORE_MISTAKE, &mistake.message, &ignores.source, mistake.line);
                found.push(problem.help("write `# kubewright: ignore RULE until 2027-01-31: why`"));
            }
            for (comment, is_used) in &ignores.comments {
                let expired = comment.until.as_ref().filter(|until| **until < self.today);
                if let Some(until) = expired {
                    found.push(at_line(
                        &IGNORE_EXPIRED,
                        &expired_message(until),
                        &ignores.source,
                        comment.line,
                    ));
                } else if !is_partial && !is_used.load(Ordering::Relaxed) {
                    let message = format!("this ignore of `{}` has no effect", comment.rules.join(", "));
                    let problem = at_line(&IGNORE_UNUSED, &message, &ignores.source, comment.line);
                    found.push(problem.help("no such rule fails here: remove the comment"));
                }
            }
        }
        if let Some(baseline) = self.baseline.as_ref().filter(|_| !is_partial) {
            found.extend(baseline.unused());
        }
        found.sort_by(|one, other| {
            let place = |diagnostic: &Diagnostic| {
                (diagnostic.location.source.name.clone(), diagnostic.location.position)
            };
            place(one).cmp(&place(other))
        });
        found
    }
}

fn suppression(
    origin: SuppressionOrigin,
    outcome: &OutcomeRow,
    ignore: &IgnoreComment,
) -> OutcomeSuppression {
    OutcomeSuppression {
        origin,
        status: outcome.status,
        reason: ignore.reason.as_str().into(),
        until: ignore.until.as_deref().map(Into::into),
    }
}

fn expired_message(until: &str) -> String {
    format!("this ignore counted until {until}")
}

fn at_line(code: &'static Code, message: &str, source: &Arc<Source>, line: u32) -> Diagnostic {
    let text = source.line(line).unwrap_or_default();
    let column = text.find('#').and_then(|at| text.get(..at)).map_or(0, |before| before.chars().count());
    let column = u32::try_from(column).unwrap_or(0).saturating_add(1);
    let position = Position { line, column };
    Diagnostic::new(code, message, Location { source: Arc::clone(source), position, length: 1 })
}

/// Returns help about the name nearest to `word`; empty where none is near.
pub(crate) fn nearest_help<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    nearest_word(word, words).map_or_else(String::new, did_you_mean)
}

/// Returns the date of today in UTC, as `2026-11-17`.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = i64::try_from(seconds / 86_400).unwrap_or(0);
    // The calendar repeats every 400 years of 146,097 days; years start in March, so that leap days are last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
