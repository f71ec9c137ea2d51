//! A Markdown table for a comment on a pull request: totals first, what is wrong before what changed.

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, Status};

use kubewright_value::display::is_hidden;

use super::table::totals;
use super::{Ending, Show, Target};
use crate::review::{ObjectReport, OutcomeRow};
use crate::words::plural;

/// How many rows of each sort are shown, so that the comment stays below the limits of its hosts.
pub(crate) const SHOWN: usize = 150;

/// Shows reports as Markdown.
pub(crate) struct Markdown {
    out: Target,
    wrong: Rows,
    changed: Rows,
}

/// The first rows, and how many there are.
#[derive(Default)]
struct Rows {
    text: String,
    count: usize,
}

impl Rows {
    fn add(&mut self, row: impl FnOnce() -> String) {
        self.count += 1;
        if self.count <= SHOWN {
            self.text.push_str(&row());
        }
    }
}

impl Markdown {
    /// Returns Markdown that is written to `out`.
    pub(crate) fn new(out: Target) -> Self {
        Self { out, wrong: Rows::default(), changed: Rows::default() }
    }
}

impl Show for Markdown {
    fn object(&mut self, report: &ObjectReport) -> io::Result<()> {
        for row in &report.outcomes {
            match row.status {
                Status::Fail => self.wrong.add(|| line("❌ fail", row, report)),
                Status::Error => self.wrong.add(|| line("❌ error", row, report)),
                Status::Warn => self.wrong.add(|| line("⚠️ warn", row, report)),
                Status::Pass if row.is_patched() => self.changed.add(|| line("✏️ patch", row, report)),
                Status::Pass | Status::Skip => {}
            }
        }
        Ok(())
    }

    fn finish(&mut self, ending: &Ending<'_>) -> io::Result<()> {
        let is_bad = ending.counts.has_violations() || ending.diagnostics.iter().any(Diagnostic::is_error);
        let mark = if is_bad { "❌" } else { "✅" };
        writeln!(self.out, "### {mark} kubewright: {}\n", totals(ending.objects, ending.counts))?;
        if self.wrong.count + self.changed.count > 0 {
            writeln!(self.out, "| | object | rule | message | place |\n|---|---|---|---|---|")?;
            write!(self.out, "{}{}", self.wrong.text, self.changed.text)?;
            let hidden = self.wrong.count.saturating_sub(SHOWN) + self.changed.count.saturating_sub(SHOWN);
            if hidden > 0 {
                writeln!(self.out, "\n… and {} not shown", plural(hidden, "more row"))?;
            }
            writeln!(self.out)?;
        }
        for diagnostic in ending.diagnostics {
            writeln!(self.out, "- {}", cell(&diagnostic.to_string()))?;
        }
        self.out.flush()
    }
}

fn line(mark: &str, row: &OutcomeRow, report: &ObjectReport) -> String {
    let place = format!("{}:{}", report.location.file, row.position.line);
    format!(
        "| {mark} | {} | {} | {} | {} |\n",
        cell(&report.subject),
        code(&row.rule.to_string()),
        cell(&row.text()),
        code(&place)
    )
}

/// Returns `text` for a cell: nothing in it is markup, links or mentions.
pub(crate) fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("<br>"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '@' => safe.push_str("&#64;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '!' | '#' => {
                safe.push('\\');
                safe.push(c);
            }
            c if is_hidden(c) => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// Returns `text` as code within a cell.
pub(crate) fn code(text: &str) -> String {
    let safe: String = text.chars().map(|c| if c == '`' || is_hidden(c) { '\'' } else { c }).collect();
    format!("`{}`", safe.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_leave_its_cell() {
        assert_eq!(cell("a|b\n<x> @me\u{202e}`c`"), "a\\|b<br>&lt;x&gt; &#64;me \\`c\\`");
        assert_eq!(code("a`|b"), "`a'\\|b`");
    }
}
