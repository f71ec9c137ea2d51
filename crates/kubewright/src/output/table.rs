//! What a person reads: grouped by file and object, what is wrong first.

use std::io::{self, Write as _};

use kubewright_engine::Status;
use kubewright_value::Text;

use super::diff::difference;
use super::{Ending, Manner, Paint, Show, Target, visible};
use crate::review::{Counts, ObjectReport, OutcomeRow};
use crate::words::{grouped, plural, time};

/// The widest column of rule names.
const WIDEST: usize = 60;

/// Shows reports as a table.
pub(crate) struct Table {
    out: Target,
    paint: Paint,
    is_quiet: bool,
    file: Option<Text>,
    // Shown below all objects.
    differences: Option<String>,
}

impl Table {
    /// Returns a table that is written to `out`.
    pub(crate) fn new(out: Target, manner: Manner) -> Self {
        let differences = manner.has_differences.then(String::new);
        Self { out, paint: manner.paint, is_quiet: manner.is_quiet, file: None, differences }
    }

    fn row(&mut self, row: &OutcomeRow, report: &ObjectReport, width: usize) -> io::Result<()> {
        let paint = self.paint;
        let text = row.text();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let (mark, first) = match row.status {
            Status::Fail => (paint.red("✗"), visible(first).into_owned()),
            Status::Error => (paint.red("✗"), format!("{} {}", paint.red("error:"), visible(first))),
            Status::Warn => (paint.yellow("!"), visible(first).into_owned()),
            Status::Pass => (paint.yellow("~"), visible(first).into_owned()),
            Status::Skip => (paint.dim("·"), visible(first).into_owned()),
        };
        writeln!(self.out, "    {mark} {:width$}  {first}", visible(&row.rule.to_string()))?;
        for line in lines {
            writeln!(self.out, "      {:width$}  {}", "", visible(line))?;
        }
        if !row.exceptions.is_empty() {
            writeln!(self.out, "        exception {}", visible(&row.exceptions.join(", ")))?;
        }
        if matches!(row.status, Status::Pass | Status::Skip) {
            return Ok(());
        }
        let place = format!("{}:{}", report.location.file, row.position.line);
        let rule_place = row.rule_location.as_ref().map(|l| format!("{}:{}", l.source.name, l.position.line));
        match row.part().as_str() {
            "" => writeln!(self.out, "        {}", paint.cyan(&visible(&place)))?,
            part => writeln!(self.out, "        {}  {}", paint.cyan(&visible(&place)), visible(part))?,
        }
        match rule_place {
            Some(place) => writeln!(self.out, "        {}", paint.cyan(&visible(&place))),
            None => Ok(()),
        }
    }

    /// Says how many rules have no row of their own.
    fn rest(&mut self, counts: Counts, has_rows: bool) -> io::Result<()> {
        let passed = counts.pass - counts.patched;
        let other = if has_rows { "other " } else { "" };
        let text = match (passed, counts.skip) {
            (0, 0) if has_rows => return Ok(()),
            (0, 0) => return writeln!(self.out, "    {}", self.paint.dim("· no rule is about this object")),
            (0, 1) => format!("· 1 {other}rule skips"),
            (0, skip) => format!("· {skip} {other}rules skip"),
            (1, 0) => format!("✓ 1 {other}rule passes"),
            (1, skip) => format!("✓ 1 {other}rule passes, {skip} skip"),
            (passed, 0) => format!("✓ {passed} {other}rules pass"),
            (passed, skip) => format!("✓ {passed} {other}rules pass, {skip} skip"),
        };
        let text = if passed > 0 { self.paint.green(&text) } else { self.paint.dim(&text) };
        writeln!(self.out, "    {text}")
    }
}

impl Show for Table {
    fn object(&mut self, report: &ObjectReport) -> io::Result<()> {
        let is_wrong = |row: &&OutcomeRow| matches!(row.status, Status::Fail | Status::Error | Status::Warn);
        let is_news = |row: &OutcomeRow| row.is_patched() || !row.exceptions.is_empty();
        if let Some(differences) = &mut self.differences
            && let Some(difference) = difference(report, self.paint)
        {
            differences.push('\n');
            differences.push_str(&difference);
        }
        if self.is_quiet && !report.outcomes.iter().any(|row| is_wrong(&row)) {
            return Ok(());
        }
        if self.file.as_ref() != Some(&report.location.file) {
            writeln!(self.out, "{}", self.paint.bold(&visible(&report.location.file)))?;
            self.file = Some(report.location.file.clone());
        }
        writeln!(self.out, "  {}", visible(&report.subject))?;
        let mut rows: Vec<&OutcomeRow> =
            report.outcomes.iter().filter(|row| is_wrong(row) || (is_news(row) && !self.is_quiet)).collect();
        rows.sort_by_key(|row| match row.status {
            Status::Fail => 0,
            Status::Error => 1,
            Status::Warn => 2,
            Status::Pass | Status::Skip => 3,
        });
        let width =
            rows.iter().map(|row| row.rule.to_string().chars().count()).max().unwrap_or(0).min(WIDEST);
        for row in &rows {
            self.row(row, report, width)?;
        }
        let shown = rows.iter().filter(|row| row.status == Status::Skip).count();
        let rest = Counts { skip: report.counts.skip - shown, ..report.counts };
        if self.is_quiet { Ok(()) } else { self.rest(rest, !rows.is_empty()) }
    }

    fn finish(&mut self, ending: &Ending<'_>) -> io::Result<()> {
        self.out.write_all(self.differences.take().unwrap_or_default().as_bytes())?;
        if !self.is_quiet || ending.counts.has_violations() {
            if self.file.is_some() {
                writeln!(self.out)?;
            }
            writeln!(
                self.out,
                "{}     {}",
                totals(ending.objects, ending.counts),
                self.paint.dim(&time(ending.elapsed))
            )?;
        }
        self.out.flush()
    }
}

/// Returns `3 objects, 9 outcomes: 2 fail, 6 pass, 1 patch`; what there is none of is left out.
pub(super) fn totals(objects: usize, counts: Counts) -> String {
    let sorts = [
        (counts.fail, "fail"),
        (counts.error, "error"),
        (counts.warn, "warn"),
        (counts.pass - counts.patched, "pass"),
        (counts.skip, "skip"),
        (counts.patched, "patch"),
    ];
    let sorts: Vec<_> = sorts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", grouped(*count)))
        .collect();
    let outcomes = plural(counts.all(), "outcome");
    let objects = plural(objects, "object");
    if sorts.is_empty() {
        format!("{objects}, {outcomes}")
    } else {
        format!("{objects}, {outcomes}: {}", sorts.join(", "))
    }
}
