//! The results of suites, as a table, and the floor below which they must not fall.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use kubewright_value::{Value, json};

/// What became of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// The result of a suite.
pub(crate) struct SuiteResult {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// How long it took.
    pub(crate) took: Duration,
    /// The first error, or why it was skipped.
    pub(crate) note: String,
}

impl SuiteResult {
    /// A suite that was not run.
    pub(crate) fn skipped(name: String, reason: String) -> Self {
        Self { name, verdict: Verdict::Skipped, took: Duration::ZERO, note: reason }
    }
}

/// The results of all suites.
#[derive(Default)]
pub(crate) struct SuiteTable {
    results: Vec<SuiteResult>,
}

#[derive(Default, Clone, Copy)]
struct FolderCounts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl SuiteTable {
    /// Adds a result, and shows it.
    pub(crate) fn add(&mut self, result: SuiteResult) {
        if result.verdict != Verdict::Skipped {
            eprintln!("{:<7} {:6.1} s  {}", word(result.verdict), result.took.as_secs_f64(), result.name);
        }
        self.results.push(result);
    }

    pub(crate) fn has_failures(&self) -> bool {
        self.results.iter().any(|result| result.verdict == Verdict::Failed)
    }

    /// Prints every suite, the totals of each folder, and `N passed, M failed, K skipped`.
    pub(crate) fn print(&self) {
        let mut sorted: Vec<&SuiteResult> = self.results.iter().collect();
        sorted.sort_by(|one, other| one.name.cmp(&other.name));
        let mut text = String::new();
        for result in sorted {
            let _ = writeln!(
                text,
                "{:<7} {:6.1} s  {}",
                word(result.verdict),
                result.took.as_secs_f64(),
                result.name
            );
            if !result.note.is_empty() {
                let _ = writeln!(text, "                    {}", result.note);
            }
        }
        let _ = writeln!(text, "\n{:<45} passed failed skipped", "folder");
        let mut all = FolderCounts::default();
        for (folder, counts) in self.folders() {
            let FolderCounts { passed, failed, skipped } = counts;
            let _ = writeln!(text, "{folder:<45} {passed:>6} {failed:>6} {skipped:>7}");
            all.passed += passed;
            all.failed += failed;
            all.skipped += skipped;
        }
        println!("{text}\n{} passed, {} failed, {} skipped", all.passed, all.failed, all.skipped);
    }

    fn folders(&self) -> BTreeMap<&str, FolderCounts> {
        let mut folders: BTreeMap<&str, FolderCounts> = BTreeMap::new();
        for result in &self.results {
            let folder = result.name.split('/').next().unwrap_or_default();
            let counts = folders.entry(folder).or_default();
            match result.verdict {
                Verdict::Passed => counts.passed += 1,
                Verdict::Failed => counts.failed += 1,
                Verdict::Skipped => counts.skipped += 1,
            }
        }
        folders
    }

    /// Writes how many suites of each folder pass.
    pub(crate) fn write_floor(&self, path: &Path) -> Result<(), String> {
        let lines: Vec<String> = self
            .folders()
            .iter()
            .map(|(folder, counts)| format!("  {}: {}", json::quote(folder), counts.passed))
            .collect();
        let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns whether every folder that ran has as many passes as the floor says, and prints those that have not.
    pub(crate) fn meets_floor(&self, path: &Path) -> Result<bool, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let floor = json::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut is_met = true;
        for (folder, counts) in self.folders() {
            let least =
                floor.get(folder).and_then(Value::as_i64).and_then(|least| usize::try_from(least).ok());
            if counts.passed < least.unwrap_or_default() {
                eprintln!("{folder}: {} passed, the floor is {}", counts.passed, least.unwrap_or_default());
                is_met = false;
            }
        }
        Ok(is_met)
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "PASS",
        Verdict::Failed => "FAIL",
        Verdict::Skipped => "SKIP",
    }
}
