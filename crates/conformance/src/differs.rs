//! The cases that are answered differently on purpose, each with its reason.

use std::path::Path;

use kubewright_value::{Value, yaml};

/// The cases and their reasons.
#[derive(Debug, Default)]
pub(crate) struct Differs {
    entries: Vec<DifferenceEntry>,
}

#[derive(Debug)]
struct DifferenceEntry {
    suite: String,
    case: String,
}

impl Differs {
    /// Reads a list of `{suite, case, reason}`; a missing file is an empty list.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(Self::default()) };
        let list = yaml::parse(&text).map_err(|error| format!("{}: {}", path.display(), error.message))?;
        let mut entries = Vec::new();
        for entry in list.as_array().unwrap_or_default() {
            let field = |key: &str| {
                let text = entry.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
                text.map(str::to_owned).ok_or_else(|| format!("{}: an entry has no `{key}`", path.display()))
            };
            field("reason")?;
            entries.push(DifferenceEntry { suite: field("suite")?, case: field("case")? });
        }
        Ok(Self { entries })
    }

    /// Returns whether there is a reason to differ. An entry is for one case, so that it cannot excuse another.
    pub(crate) fn has(&self, suite: &str, case: &str) -> bool {
        self.entries.iter().any(|entry| entry.suite == suite && entry.case == case)
    }
}
