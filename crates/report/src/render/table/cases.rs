//! Test results for people.

use std::io::{self, Write as _};

use kubewright_k8s::Operation;

use crate::render::ReportWriter;
use crate::text::{grouped_digits, plural};
use crate::{
    CoverageSummary, Paint, TestCaseResult, TestFileResult, TestResults, UncoveredBranch, shorten_visible,
    visible,
};

/// Above this many files, those without failures are only counted.
const MAX_LISTED_FILES: usize = 20;
/// The widest column of rules and branches.
const MAX_COLUMN_WIDTH: usize = 70;
/// How much of a branch is shown.
const MAX_BRANCH_CHARACTERS: usize = 60;
/// The widest column of files.
const MAX_FILE_WIDTH: usize = 60;

/// How the table is written.
pub(super) struct CaseTable {
    /// Whether only what is wrong is shown.
    pub(super) is_quiet: bool,
    /// Colours.
    pub(super) paint: Paint,
}

impl CaseTable {
    /// Writes the results.
    pub(super) fn write(
        &self,
        tests: &TestResults<'_>,
        elapsed: &str,
        out: &mut ReportWriter,
    ) -> io::Result<()> {
        let widths = tests.files.iter().map(|file| file.title.chars().count());
        let width = widths.max().unwrap_or(0).min(MAX_FILE_WIDTH);
        let is_short = tests.files.len() <= MAX_LISTED_FILES && !self.is_quiet;
        let mut unlisted = 0;
        for file in tests.files {
            let is_listed = is_short || file.failed().next().is_some();
            unlisted += usize::from(!is_listed);
            if is_listed {
                self.write_file(file, width, out)?;
            }
        }
        if unlisted > 0 && !self.is_quiet {
            let more = if unlisted < tests.files.len() { "more file" } else { "file" };
            writeln!(out, "{} {}", self.paint.green("✓"), plural(unlisted, more))?;
        }
        if let Some(coverage) = tests.coverage {
            write_coverage(out, coverage, self.paint)?;
        }
        self.write_totals(tests, elapsed, out)
    }

    fn write_file(&self, file: &TestFileResult, width: usize, out: &mut ReportWriter) -> io::Result<()> {
        let (paint, title) = (self.paint, visible(&file.title));
        let (failed, all) = (file.failed().count(), file.results.len());
        if failed == 0 {
            return writeln!(out, "{} {title:width$}  {all:>4}", paint.green("✓"));
        }
        writeln!(out, "{} {title:width$}  {:>4} of {all}", paint.red("✗"), all - failed)?;
        for result in file.failed().filter(|result| !result.is_unsupported) {
            write_case_row(out, result, file, paint)?;
        }
        write_unsupported(out, file, paint)
    }

    fn write_totals(&self, tests: &TestResults<'_>, elapsed: &str, out: &mut ReportWriter) -> io::Result<()> {
        let (passed, failed) = tests.counts();
        if self.is_quiet && failed == 0 {
            return Ok(());
        }
        let passed = format!("{} passed", grouped_digits(passed));
        let failed = if failed == 0 {
            "0 failed".to_owned()
        } else {
            self.paint.red(&format!("{} failed", grouped_digits(failed)))
        };
        let all = tests.files.iter().flat_map(TestFileResult::failed);
        let failed = match all.filter(|result| result.is_unsupported).count() {
            0 => failed,
            count => format!("{failed}, {} of them for what is not supported yet", grouped_digits(count)),
        };
        if !tests.files.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "{passed}, {failed}     {elapsed}")
    }
}

/// Says what is not supported yet, once for all cases that need it.
fn write_unsupported(out: &mut impl io::Write, file: &TestFileResult, paint: Paint) -> io::Result<()> {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    for result in file.failed().filter(|result| result.is_unsupported) {
        let (rule, message) = (result.rule_text.as_str(), result.message.as_str());
        match counts.iter_mut().find(|known| (known.0, known.1) == (rule, message)) {
            Some((.., count)) => *count += 1,
            None => counts.push((rule, message, 1)),
        }
    }
    for (rule, message, count) in counts {
        let rule = paint.bold(&visible(rule));
        writeln!(out, "    {rule}   {}   {}", visible(message), plural(count, "case"))?;
    }
    Ok(())
}

/// Lists what no case was about.
fn write_coverage(out: &mut impl io::Write, coverage: &CoverageSummary, paint: Paint) -> io::Result<()> {
    let mut summary = format!("{} of {} exercised", coverage.exercised_rules, plural(coverage.rules, "rule"));
    if coverage.branches > 0 {
        summary.push_str(&format!(", {} of {} branches", coverage.exercised_branches, coverage.branches));
    }
    writeln!(out, "\n{summary}: {:.1} %", coverage.percent())?;
    let uncovered = &coverage.uncovered;
    // A branch is listed below its rule.
    let text = |missing: &UncoveredBranch| match &missing.branch {
        Some(branch) => format!("    {}", shorten_visible(branch, MAX_BRANCH_CHARACTERS)),
        None => visible(&missing.rule).into_owned(),
    };
    let width = uncovered
        .iter()
        .map(|missing| text(missing).chars().count())
        .max()
        .unwrap_or(0)
        .min(MAX_COLUMN_WIDTH);
    let mut rule = "";
    for missing in uncovered {
        if missing.branch.is_some() && missing.rule != rule {
            let covered = coverage.by_rule.iter().find(|covered| covered.rule == missing.rule);
            let count = covered.map_or_else(String::new, |covered| {
                format!("   {} of {} branches", covered.exercised_branches(), covered.branches.len())
            });
            writeln!(out, "  {} {}{count}", paint.yellow("~"), visible(&missing.rule))?;
        }
        rule = missing.rule.as_str();
        let mark = if missing.branch.is_some() { " ".to_owned() } else { paint.yellow("·") };
        let place = paint.cyan(&visible(&missing.place));
        writeln!(out, "  {mark} {:width$}  {place}", text(missing))?;
    }
    Ok(())
}

fn write_case_row(
    out: &mut impl io::Write,
    result: &TestCaseResult,
    file: &TestFileResult,
    paint: Paint,
) -> io::Result<()> {
    let subject = result.subject();
    let head = match subject.as_str() {
        "" => visible(&result.rule_text).into_owned(),
        subject => format!("{} on {}", visible(&result.rule_text), visible(subject)),
    };
    let place = paint.cyan(&visible(&result.place));
    if result.is_named {
        writeln!(out, "    {}\n      {head}   {place}", paint.bold(&visible(&result.case)))?;
    } else {
        writeln!(out, "    {}   {place}", paint.bold(&head))?;
    }
    for line in result.message.lines() {
        writeln!(out, "      {}", visible(line))?;
    }
    if let Some(hint) = result.hint.clone().or_else(|| trace_hint(result, file)) {
        writeln!(out, "      {}", paint.dim(&visible(&format!("try: {hint}"))))?;
    }
    Ok(())
}

/// Returns the command that traces the rule of a case.
fn trace_hint(result: &TestCaseResult, file: &TestFileResult) -> Option<String> {
    let rule = result.rule.as_ref().filter(|rule| !result.actual.is_empty() && !rule.traced.is_empty())?;
    let mut hint = format!("kubewright trace {} --rule {}", file.trace_arguments, rule.traced);
    if let Some(operation) = result.operation.filter(|operation| *operation != Operation::Create) {
        hint.push_str(&format!(" --operation {operation}"));
    }
    Some(hint)
}
