//! The cases that are answered differently on purpose, each with its reason.

use std::path::Path;

use kubewright_value::{Value, yaml};

/// The cases and their reasons.
#[derive(Debug, Default)]
pub(crate) struct Differs {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
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
            entries.push(Entry { suite: field("suite")?, case: field("case")? });
        }
        Ok(Self { entries })
    }

    /// Returns whether there is a reason to differ; `*` in an entry stands for any text.
    pub(crate) fn has(&self, suite: &str, case: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| is_match(&entry.suite, suite) && (entry.case == case || is_match(&entry.case, case)))
    }
}

fn is_match(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|tail| {
            let mut starts = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
            starts.any(|at| tail.get(at..).is_some_and(|tail| is_match(rest, tail)))
        }),
    }
}
