//! The baseline: failures that are known, one entry for each rule, object and path.
//!
//! It is YAML with one sorted entry after the other, so that a difference shows which failures came and went.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_engine::{Diagnostic, RuleStatus};
use kubewright_files::{self as files, Input};
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Location, Map, Value, yaml};

use super::today;
use crate::codes::{BASELINE_UNUSED, PROJECT_FIELD, PROJECT_VALUE};
use crate::failure::CommandFailure;
use crate::fields::{InputFieldCodes, InputFieldReader};
use crate::output::replace_files;

const API_VERSION: &str = "kubewright.dev/v1alpha1";
const KIND: &str = "Baseline";
const CODES: InputFieldCodes =
    InputFieldCodes { unknown: &PROJECT_FIELD, missing: &PROJECT_VALUE, value: &PROJECT_VALUE };
const HEAD: &str = "# Failures that are known and do not count: `kubewright apply --baseline FILE`.\n\
                    # `kubewright apply --write-baseline FILE` writes this file again and keeps dates and reasons.\n";

/// What makes two failures the same, whatever their messages say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Fingerprint {
    /// `Kind namespace/name`.
    object: String,
    rule: String,
    path: String,
}

/// The failures that a file knows.
pub(crate) struct Baseline {
    entries: BTreeMap<Fingerprint, BaselineEntry>,
}

struct BaselineEntry {
    since: String,
    reason: String,
    location: Location,
    is_used: AtomicBool,
}

/// The failures of a run.
#[derive(Default)]
pub(crate) struct NewBaseline {
    found: Vec<Fingerprint>,
}

impl Baseline {
    /// Reads a baseline; nothing where it is not one, and then the diagnostics say why.
    pub(crate) fn read(file: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let before = diagnostics.len();
        let documents = files::read_documents(&[Input::File(file.into())], diagnostics);
        let Some(document) = documents.first() else {
            if diagnostics.len() == before {
                let message = format!("`{file}` is empty, and not a baseline");
                diagnostics.push(crate::codes::about_path(&PROJECT_VALUE, file, message));
            }
            return None;
        };
        let mut reader = InputFieldReader::of(CODES, document);
        reader.check_fields(&["apiVersion", "kind", "entries"]);
        reader.word("apiVersion", "version", &[API_VERSION]);
        reader.word("kind", "kind", &[KIND]);
        let entries = reader.each("entries", |reader| {
            reader.check_fields(&["object", "rule", "path", "since", "reason"]);
            let fingerprint = Fingerprint {
                object: reader.required_text("object", "an entry"),
                rule: reader.required_text("rule", "an entry"),
                path: reader.text("path").unwrap_or_default(),
            };
            let entry = BaselineEntry {
                since: reader.text("since").unwrap_or_default(),
                reason: reader.text("reason").unwrap_or_default(),
                location: reader.location(),
                is_used: AtomicBool::new(false),
            };
            (fingerprint, entry)
        });
        match reader.finish(entries) {
            Ok(entries) => Some(Self { entries: entries.into_iter().collect() }),
            Err(problems) => {
                diagnostics.extend(problems);
                None
            }
        }
    }

    /// Returns why the failure is known, if it is.
    pub(super) fn reason(&self, subject: &str, outcome: &OutcomeRow) -> Option<String> {
        let entry = self.entries.get(&fingerprint(subject, outcome))?;
        entry.is_used.store(true, Ordering::Relaxed);
        Some(entry.reason.clone())
    }

    /// Returns a warning for each entry that no failure used.
    pub(super) fn unused(&self) -> impl Iterator<Item = Diagnostic> {
        let unused = self.entries.iter().filter(|(_, entry)| !entry.is_used.load(Ordering::Relaxed));
        unused.map(|(fingerprint, entry)| {
            let message = format!("`{}` no longer fails on {}", fingerprint.rule, fingerprint.object);
            Diagnostic::new(&BASELINE_UNUSED, message, entry.location.clone())
                .help("write the baseline again with `--write-baseline`")
        })
    }
}

impl NewBaseline {
    /// Adds the failures and warnings of an object.
    pub(crate) fn add(&mut self, row: &ObjectRow) {
        let is_known = |row: &&OutcomeRow| matches!(row.status, RuleStatus::Fail | RuleStatus::Warn);
        self.found
            .extend(row.outcomes.iter().filter(is_known).map(|outcome| fingerprint(&row.subject, outcome)));
    }

    /// Returns the text of the baseline; what `file` says of entries that are still there is kept.
    ///
    /// # Errors
    /// When the file is there and not a baseline.
    pub(crate) fn text(mut self, file: &str) -> Result<(usize, String), CommandFailure> {
        let mut problems = Vec::new();
        let old = if Path::new(file).exists() { Baseline::read(file, &mut problems) } else { None };
        if let Some(problem) = problems.first() {
            let failure = CommandFailure::usage(format!("`{file}` is not a baseline: {problem}"));
            return Err(failure.help("name another file; nothing was written"));
        }
        self.found.sort();
        self.found.dedup();
        let today = today();
        let entries = self.found.iter().map(|found| {
            let old = old.as_ref().and_then(|old| old.entries.get(found));
            let since = old.map_or(today.as_str(), |old| &old.since);
            entry_value(found, since, old.map_or("", |old| &old.reason))
        });
        let value = Map::from([
            ("apiVersion", Value::from(API_VERSION)),
            ("kind", KIND.into()),
            ("entries", Value::array(entries.collect())),
        ]);
        Ok((self.found.len(), format!("{HEAD}{}", yaml::write(&value.into()))))
    }

    /// Writes the baseline.
    ///
    /// # Errors
    /// When the file is something else, or cannot be written.
    pub(crate) fn write(self, file: &str) -> Result<usize, CommandFailure> {
        let (count, text) = self.text(file)?;
        replace_files([(Path::new(file), text)])?;
        Ok(count)
    }
}

fn entry_value(found: &Fingerprint, since: &str, reason: &str) -> Value {
    let mut entry =
        Map::from([("object", Value::from(found.object.as_str())), ("rule", found.rule.as_str().into())]);
    if !found.path.is_empty() {
        entry.insert("path".into(), found.path.as_str().into());
    }
    entry.insert("since".into(), since.into());
    entry.insert("reason".into(), reason.into());
    entry.into()
}

fn fingerprint(subject: &str, outcome: &OutcomeRow) -> Fingerprint {
    Fingerprint { object: subject.to_owned(), rule: outcome.rule.to_string(), path: outcome.path.clone() }
}
