//! The suites that cannot apply to another program than Kyverno, with the reason of each.

use std::fs;
use std::path::Path;

use kubewright_value::{Value, yaml};

use super::suites::{ChainsawSuite, is_below};

/// A committed list: each entry has a `reason`, and either a `suite` (a folder, with all suites below it) or `mentions`
/// (a text in a file of the suite), so that it also holds for suites that the list does not know.
pub(crate) struct SkipList {
    entries: Vec<SkipEntry>,
}

struct SkipEntry {
    suite: String,
    mentions: String,
    reason: String,
}

impl SkipList {
    /// Reads the list.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let list = yaml::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let entry = |item: &Value| SkipEntry {
            suite: item.str_at(&["suite"]).to_owned(),
            mentions: item.str_at(&["mentions"]).to_owned(),
            reason: item.str_at(&["reason"]).to_owned(),
        };
        let entries: Vec<SkipEntry> = list.as_array().unwrap_or_default().iter().map(entry).collect();
        match entries
            .iter()
            .find(|one| one.reason.is_empty() || one.suite.is_empty() == one.mentions.is_empty())
        {
            None => Ok(Self { entries }),
            Some(wrong) => Err(format!(
                "{}: an entry needs `reason` and either `suite` or `mentions`: `{}{}`",
                path.display(),
                wrong.suite,
                wrong.mentions
            )),
        }
    }

    /// Why `suite` is skipped.
    pub(crate) fn reason_for(&self, suite: &ChainsawSuite) -> Option<String> {
        let texts = suite.texts();
        let applies = |entry: &&SkipEntry| match entry.suite.as_str() {
            "" => texts.iter().any(|text| text.contains(&entry.mentions)),
            folder => is_below(&suite.name, folder),
        };
        self.entries.iter().find(applies).map(|entry| entry.reason.clone())
    }
}
