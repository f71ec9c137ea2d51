//! The cases that are answered differently on purpose, each with its reason.

use std::collections::HashMap;
use std::path::Path;

use kubewright_value::{Value, yaml};

/// Reasons by suite and case.
#[derive(Debug, Default)]
pub(crate) struct Differs {
    reasons: HashMap<(String, String), String>,
}

impl Differs {
    /// Reads a list of `{suite, case, reason}`; a missing file is an empty list.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(Self::default()) };
        let list = yaml::parse(&text).map_err(|error| format!("{}: {}", path.display(), error.message))?;
        let mut reasons = HashMap::new();
        for entry in list.as_array().unwrap_or_default() {
            let field = |key: &str| {
                let text = entry.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
                text.map(str::to_owned).ok_or_else(|| format!("{}: an entry has no `{key}`", path.display()))
            };
            reasons.insert((field("suite")?, field("case")?), field("reason")?);
        }
        Ok(Self { reasons })
    }

    pub(crate) fn has(&self, suite: &str, case: &str) -> bool {
        self.reasons.contains_key(&(suite.to_owned(), case.to_owned()))
    }
}
