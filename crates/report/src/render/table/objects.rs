//! The objects of a table, kept until the end, because only then it is known which of them are worth a line.
//!
//! Of a rule with many outcomes of one sort only the first few are kept, and of objects without anything to say only as
//! many as are listed, so memory grows with the rules and not with the objects.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use kubewright_engine::{RuleId, RuleStatus};
use kubewright_value::Text;

use super::shown_counts;
use crate::render::{ReportWriter, TableOptions};
use crate::text::grouped_digits;
use crate::{ObjectRow, OutcomeRow, Paint, Totals, UnmatchedRules, visible};

/// How many objects without anything to say are listed before they are only counted.
const MAX_QUIET_OBJECTS: usize = 10;
/// How many outcomes of one sort of one rule are shown before most of them are only counted.
const MAX_ROWS_PER_RULE: usize = 10;
/// How many are shown then.
const SHOWN_OF_MANY_ROWS: usize = 5;

/// What a table says about one object.
pub(super) struct ObjectPage {
    file: Text,
    subject: String,
    unmatched: UnmatchedRules,
    has_rest: bool,
    /// The rows that have lines, and these.
    pub(super) rows: Vec<(Arc<RuleId>, RuleStatus, String)>,
    /// Whether rows are missing because their rules have many.
    pub(super) is_cut: bool,
    /// How many rules without a row passed.
    pub(super) passed: usize,
    /// How many of these applied and did nothing, because what they would change was not found.
    pub(super) idle: usize,
    /// How many rules without a row skipped the object.
    pub(super) skipped: usize,
}

impl ObjectPage {
    /// Returns the page of `object`, without rows; `has_rest` if rules without a row are counted on it.
    pub(super) fn of(object: &ObjectRow, has_rest: bool) -> Self {
        Self {
            file: object.location.file.clone(),
            subject: object.subject.clone(),
            unmatched: object.unmatched,
            has_rest,
            rows: Vec::new(),
            is_cut: false,
            passed: 0,
            idle: 0,
            skipped: 0,
        }
    }

    /// Returns its lines; `rules` is how many there are, where that is known.
    fn text(&self, rules: Option<usize>, paint: Paint) -> String {
        let mut text = format!("  {}\n", visible(&self.subject));
        self.rows.iter().for_each(|(_, _, row)| text.push_str(row));
        if self.has_rest
            && let Some(rest) = self.rest(rules, paint)
        {
            let _ = writeln!(text, "    {rest}");
        }
        text
    }

    /// Returns how many rules did not match beside those that did.
    fn others(&self) -> Option<String> {
        let has_others = self.unmatched.all() > 0 && self.has_outcomes();
        has_others.then(|| unmatched_text("the others did not match", self.unmatched))
    }

    fn has_outcomes(&self) -> bool {
        self.is_cut || !self.rows.is_empty() || self.passed + self.skipped > 0
    }

    /// Returns how many rules have no row of their own.
    fn rest(&self, rules: Option<usize>, paint: Paint) -> Option<String> {
        let idle = match self.idle {
            0 => String::new(),
            idle => paint.dim(&format!(" ({} found nothing to change, -v shows why)", grouped_digits(idle))),
        };
        let text = match (self.passed, self.skipped) {
            (0, 0) if self.is_cut || !self.rows.is_empty() => return None,
            (0, 0) if rules == Some(0) => paint.dim("· there are no rules to run"),
            (0, 0) => paint.dim(&unmatched_text("no rule matched", self.unmatched)),
            (0, skip) => paint.dim(&format!("· {} skipped", grouped_digits(skip))),
            (pass, 0) => paint.green(&format!("✓ {} passed", grouped_digits(pass))),
            (pass, skip) => {
                paint.green(&format!("✓ {} passed, {} skipped", grouped_digits(pass), grouped_digits(skip)))
            }
        };
        Some(text + &idle)
    }
}

/// Returns `· no rule matched (2 out of scope)`.
fn unmatched_text(what: &str, unmatched: UnmatchedRules) -> String {
    let sorts = [(unmatched.out_of_scope, "out of scope"), (unmatched.empty, "with nothing to check in it")];
    let sorts = shown_counts(&sorts);
    match sorts.is_empty() {
        true => format!("· {what}"),
        false => format!("· {what} ({})", sorts.join(", ")),
    }
}

/// The objects of a table.
pub(super) struct ObjectPages {
    is_everything: bool,
    pages: Vec<ObjectPage>,
    kept_quiet: usize,
    quiet: usize,
    file: Option<Text>,
    // How many outcomes of a sort each rule has.
    counts: HashMap<(Arc<RuleId>, RuleStatus), usize>,
}

impl ObjectPages {
    /// Returns a table without objects. With `is_everything` no row is left out.
    pub(super) fn new(is_everything: bool) -> Self {
        Self { is_everything, pages: Vec::new(), kept_quiet: 0, quiet: 0, file: None, counts: HashMap::new() }
    }

    /// Counts an object without anything wrong or changed.
    pub(super) fn count(&mut self, object: &ObjectRow) {
        let counts = object.counts;
        self.quiet +=
            usize::from(counts.fail + counts.error + counts.warn + counts.patched + counts.written == 0);
    }

    /// Returns how many objects there are without anything wrong or changed.
    pub(super) fn without_findings(&self) -> usize {
        if self.is_everything || self.quiet <= MAX_QUIET_OBJECTS { 0 } else { self.quiet }
    }

    /// Counts a row, and returns whether it may be shown.
    pub(super) fn takes(&mut self, row: &OutcomeRow) -> bool {
        if self.is_everything {
            return true;
        }
        let count = self.counts.entry((row.rule.clone(), row.status)).or_default();
        *count += 1;
        *count <= MAX_ROWS_PER_RULE
    }

    /// Writes a page at once, with how many rules are not on it.
    pub(super) fn stream(
        &mut self,
        page: &ObjectPage,
        out: &mut ReportWriter,
        paint: Paint,
    ) -> io::Result<()> {
        self.write_page(page, None, out, paint)?;
        match page.others() {
            Some(others) => writeln!(out, "    {}", paint.dim(&others)),
            None => Ok(()),
        }
    }

    /// Keeps a page until the end.
    pub(super) fn add(&mut self, page: ObjectPage) {
        if page.rows.is_empty() {
            // One more than are listed tells that there are too many.
            if page.is_cut || self.kept_quiet > MAX_QUIET_OBJECTS {
                return;
            }
            self.kept_quiet += 1;
        }
        self.pages.push(page);
    }

    /// Writes all pages; returns whether there are any.
    pub(super) fn write(
        &mut self,
        out: &mut ReportWriter,
        totals: &Totals<'_>,
        options: TableOptions,
    ) -> io::Result<bool> {
        let mut shown: HashMap<(Arc<RuleId>, RuleStatus), usize> = HashMap::new();
        let is_short = self.kept_quiet <= MAX_QUIET_OBJECTS;
        for mut page in std::mem::take(&mut self.pages) {
            let is_quiet = page.rows.is_empty();
            page.rows.retain(|(rule, status, _)| {
                let key = (rule.clone(), *status);
                let is_many = self.counts.get(&key).is_some_and(|count| *count > MAX_ROWS_PER_RULE);
                let number = shown.entry(key).or_default();
                *number += 1;
                !is_many || *number <= SHOWN_OF_MANY_ROWS
            });
            if (is_quiet && is_short) || !page.rows.is_empty() {
                self.write_page(&page, Some(totals.rules.len()), out, options.paint)?;
            }
        }
        self.write_more(out, options.paint)?;
        Ok(self.file.is_some())
    }

    fn write_page(
        &mut self,
        page: &ObjectPage,
        rules: Option<usize>,
        out: &mut ReportWriter,
        paint: Paint,
    ) -> io::Result<()> {
        if self.file.as_ref() != Some(&page.file) {
            writeln!(out, "{}", paint.bold(&visible(&page.file)))?;
            self.file = Some(page.file.clone());
        }
        out.write_all(page.text(rules, paint).as_bytes())
    }

    /// Says how many outcomes of each rule are not shown.
    fn write_more(&self, out: &mut ReportWriter, paint: Paint) -> io::Result<()> {
        let many = self.counts.iter().filter(|(_, count)| **count > MAX_ROWS_PER_RULE);
        let mut many: Vec<_> = many.collect();
        many.sort_by_key(|((rule, status), _)| {
            (*status != RuleStatus::Fail, rule.to_string(), status.name())
        });
        if !many.is_empty() {
            writeln!(out)?;
        }
        for ((rule, status), count) in many {
            let mark = match status {
                RuleStatus::Fail => paint.red("✗"),
                RuleStatus::Error => paint.red("!"),
                RuleStatus::Warn => paint.yellow("⚠"),
                RuleStatus::Pass => paint.yellow("~"),
                RuleStatus::Skip => paint.dim("·"),
            };
            let more = grouped_digits(count - SHOWN_OF_MANY_ROWS);
            let help = paint.dim("(-v shows them)");
            writeln!(out, "{mark} {}  … and {more} more {help}", visible(&rule.to_string()))?;
        }
        Ok(())
    }
}
