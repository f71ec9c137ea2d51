//! What test cases exercised, for tools that show coverage: LCOV, Cobertura XML, and a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use kubewright_value::text::xml_entity;

use super::{Renderer, ReportWriter};
use crate::text::relative_file;
use crate::{CoverageSummary, CoveredRule, ObjectRow, Report, Results, visible};

/// Makes the text of a format; file names are relative to the folder.
type MakeText = fn(&CoverageSummary, &str) -> String;

/// Renders the coverage of test cases.
pub(super) struct CoverageRenderer {
    out: ReportWriter,
    make: MakeText,
    folder: &'static str,
}

impl CoverageRenderer {
    /// Returns a renderer that writes what `make` returns to `out`.
    pub(super) fn new(out: ReportWriter, make: MakeText, folder: &'static str) -> Self {
        Self { out, make, folder }
    }
}

impl Renderer for CoverageRenderer {
    fn object(&mut self, _row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        if let Results::Cases(tests) = &report.results
            && let Some(coverage) = tests.coverage
        {
            self.out.write_all((self.make)(coverage, self.folder).as_bytes())?;
        }
        self.out.flush()
    }
}

/// The rules of one file.
struct CoveredFile<'c> {
    name: &'c str,
    rules: Vec<&'c CoveredRule>,
    // How often each line was exercised: of the branches at it, how many there are and how many were.
    lines: BTreeMap<u32, CoveredLine>,
}

#[derive(Default)]
struct CoveredLine {
    hits: usize,
    branches: usize,
    exercised: usize,
}

impl CoveredFile<'_> {
    fn branches(&self) -> usize {
        self.rules.iter().map(|rule| rule.branches.len()).sum()
    }

    fn exercised_branches(&self) -> usize {
        self.rules.iter().map(|rule| rule.exercised_branches()).sum()
    }

    fn covered_lines(&self) -> usize {
        self.lines.values().filter(|line| line.hits > 0).count()
    }
}

fn covered_files<'c>(coverage: &'c CoverageSummary, folder: &str) -> Vec<CoveredFile<'c>> {
    let mut files: BTreeMap<&str, CoveredFile<'c>> = BTreeMap::new();
    for rule in &coverage.by_rule {
        let name = relative_file(&rule.file, folder);
        let file = files.entry(name).or_insert_with(|| CoveredFile {
            name,
            rules: Vec::new(),
            lines: BTreeMap::new(),
        });
        file.rules.push(rule);
        file.lines.entry(rule.line).or_default().hits += usize::from(rule.is_exercised);
        for branch in &rule.branches {
            let line = file.lines.entry(branch.line).or_default();
            line.hits += usize::from(branch.is_exercised);
            line.branches += 1;
            line.exercised += usize::from(branch.is_exercised);
        }
    }
    files.into_values().collect()
}

/// Returns a tracefile of LCOV: rules are functions, their parts are branches.
pub(super) fn lcov_text(coverage: &CoverageSummary, folder: &str) -> String {
    let mut text = String::new();
    for file in covered_files(coverage, folder) {
        let _ = writeln!(text, "TN:\nSF:{}", one_line(file.name));
        for rule in &file.rules {
            let _ = writeln!(text, "FN:{},{}", rule.line, one_line(&rule.rule));
        }
        for rule in &file.rules {
            let _ = writeln!(text, "FNDA:{},{}", u8::from(rule.is_exercised), one_line(&rule.rule));
        }
        let hit = file.rules.iter().filter(|rule| rule.is_exercised).count();
        let _ = writeln!(text, "FNF:{}\nFNH:{hit}", file.rules.len());
        for (block, rule) in file.rules.iter().enumerate() {
            for (number, branch) in rule.branches.iter().enumerate() {
                let taken = match (rule.is_exercised, branch.is_exercised) {
                    (false, _) => "-",
                    (true, false) => "0",
                    (true, true) => "1",
                };
                let _ = writeln!(text, "BRDA:{},{block},{number},{taken}", branch.line);
            }
        }
        let _ = writeln!(text, "BRF:{}\nBRH:{}", file.branches(), file.exercised_branches());
        for (number, line) in &file.lines {
            let _ = writeln!(text, "DA:{number},{}", line.hits);
        }
        let _ = writeln!(text, "LF:{}\nLH:{}\nend_of_record", file.lines.len(), file.covered_lines());
    }
    text
}

/// Returns a report in the form of Cobertura.
pub(super) fn cobertura_text(coverage: &CoverageSummary, folder: &str) -> String {
    let files = covered_files(coverage, folder);
    let lines: usize = files.iter().map(|file| file.lines.len()).sum();
    let covered: usize = files.iter().map(CoveredFile::covered_lines).sum();
    let (branches, exercised) = (coverage.branches, coverage.exercised_branches);
    let rates = format!(
        "line-rate=\"{}\" branch-rate=\"{}\"",
        rate_text(covered, lines),
        rate_text(exercised, branches)
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<coverage {rates} lines-covered=\"{covered}\" lines-valid=\"{lines}\" \
         branches-covered=\"{exercised}\" branches-valid=\"{branches}\" complexity=\"0\" version=\"{}\" timestamp=\"0\">\n  \
         <sources>\n    <source>.</source>\n  </sources>\n  <packages>\n    <package name=\"rules\" {rates} complexity=\"0\">\n      <classes>\n",
        env!("CARGO_PKG_VERSION")
    );
    for file in &files {
        let name = escape_markup(file.name);
        let _ = writeln!(
            text,
            "        <class name=\"{name}\" filename=\"{name}\" line-rate=\"{}\" branch-rate=\"{}\" complexity=\"0\">\n          <methods/>\n          <lines>",
            rate_text(file.covered_lines(), file.lines.len()),
            rate_text(file.exercised_branches(), file.branches())
        );
        for (number, line) in &file.lines {
            let condition = match line.branches {
                0 => " branch=\"false\"".to_owned(),
                branches => format!(
                    " branch=\"true\" condition-coverage=\"{}% ({}/{branches})\"",
                    line.exercised * 100 / branches,
                    line.exercised
                ),
            };
            let _ =
                writeln!(text, "            <line number=\"{number}\" hits=\"{}\"{condition}/>", line.hits);
        }
        text.push_str("          </lines>\n        </class>\n");
    }
    text.push_str("      </classes>\n    </package>\n  </packages>\n</coverage>\n");
    text
}

/// Returns a page with a row for each rule and its branches.
pub(super) fn html_text(coverage: &CoverageSummary, folder: &str) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>kubewright: coverage</title>\n<style>{STYLE}</style></head>\n\
         <body>\n<h1>{:.1} % covered</h1>\n<p>{} of {} rules, {} of {} branches</p>\n",
        coverage.percent(),
        coverage.exercised_rules,
        coverage.rules,
        coverage.exercised_branches,
        coverage.branches
    );
    for file in covered_files(coverage, folder) {
        let _ = writeln!(text, "<h2>{}</h2>\n<table>", escape_markup(file.name));
        for rule in &file.rules {
            let class = if rule.is_exercised { "yes" } else { "no" };
            let _ = writeln!(
                text,
                "<tr class=\"rule {class}\"><td>{}</td><td>{}</td><td>{} of {}</td></tr>",
                rule.line,
                escape_markup(&rule.rule),
                rule.exercised_branches(),
                rule.branches.len()
            );
            for branch in &rule.branches {
                let (class, mark) = if branch.is_exercised { ("yes", "✓") } else { ("no", "✗") };
                let _ = writeln!(
                    text,
                    "<tr class=\"{class}\"><td>{}</td><td>{}</td><td>{mark}</td></tr>",
                    branch.line,
                    escape_markup(&branch.what)
                );
            }
        }
        text.push_str("</table>\n");
    }
    text.push_str("</body></html>\n");
    text
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;\
color:#1b1f24;background:#fff}table{border-collapse:collapse;width:100%}td{padding:.2rem .6rem;border-bottom:1px solid \
#d0d7de;vertical-align:top}td:first-child{text-align:right;color:#57606a}td:nth-child(2){font-family:ui-monospace,\
monospace;white-space:pre-wrap;padding-left:2rem}tr.rule td{font-weight:600;background:#f6f8fa}tr.rule td:nth-child(2)\
{padding-left:.6rem}tr.no td:last-child{color:#a40e26}tr.yes td:last-child{color:#116329}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}tr.rule td{background:#161b22}td{border-color:\
#30363d}tr.no td:last-child{color:#ff7b72}tr.yes td:last-child{color:#56d364}}";

/// Returns a share between 0 and 1; 1 where there is nothing.
#[expect(clippy::cast_precision_loss, reason = "a share is shown to a person")]
fn rate_text(covered: usize, all: usize) -> String {
    if all == 0 { "1".to_owned() } else { format!("{:.4}", covered as f64 / all as f64) }
}

fn one_line(text: &str) -> String {
    visible(text).into_owned()
}

fn escape_markup(text: &str) -> String {
    let text = visible(text);
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match xml_entity(c) {
            Some(entity) => safe.push_str(entity),
            None => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RuleBranchCoverage;

    fn sample() -> CoverageSummary {
        let branch = |line, is_exercised| RuleBranchCoverage { what: "a < b".to_owned(), line, is_exercised };
        let rule = |rule: &str, line, is_exercised, branches| CoveredRule {
            rule: rule.to_owned(),
            file: "/src/rules/a.yaml".to_owned(),
            line,
            is_exercised,
            branches,
        };
        CoverageSummary {
            rules: 2,
            exercised_rules: 1,
            branches: 3,
            exercised_branches: 1,
            uncovered: Vec::new(),
            by_rule: vec![
                rule("x/a", 4, true, vec![branch(6, true), branch(6, false)]),
                rule("x/b", 9, false, vec![branch(11, false)]),
            ],
        }
    }

    #[test]
    fn lcov_has_a_record_for_each_file() {
        let want = "TN:\nSF:rules/a.yaml\nFN:4,x/a\nFN:9,x/b\nFNDA:1,x/a\nFNDA:0,x/b\nFNF:2\nFNH:1\n\
                    BRDA:6,0,0,1\nBRDA:6,0,1,0\nBRDA:11,1,0,-\nBRF:3\nBRH:1\n\
                    DA:4,1\nDA:6,1\nDA:9,0\nDA:11,0\nLF:4\nLH:2\nend_of_record\n";
        assert_eq!(lcov_text(&sample(), "/src"), want);
    }

    #[test]
    fn cobertura_counts_the_branches_of_a_line() {
        let text = cobertura_text(&sample(), "/src");
        assert!(text.contains("line-rate=\"0.5000\" branch-rate=\"0.3333\""), "{text}");
        let line = "<line number=\"6\" hits=\"1\" branch=\"true\" condition-coverage=\"50% (1/2)\"/>";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn html_escapes_what_rules_say() {
        let text = html_text(&sample(), "/src");
        assert!(text.contains("40.0 % covered") && text.contains("a &lt; b") && !text.contains("a < b"));
    }
}
