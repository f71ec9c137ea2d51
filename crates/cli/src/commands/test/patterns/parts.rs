//! Coverage of patterns: found and not found, and each relationship present and
//! absent.

use std::collections::BTreeMap;

use kubewright_patterns::{Pattern, PatternFindings};
use kubewright_value::{Document, Location};

use super::super::coverage::{BranchSide, Coverage};

/// The patterns of a test file by name.
#[derive(Default)]
pub(super) struct ExercisedPatterns {
    patterns: BTreeMap<String, ExercisedParts>,
}

struct ExercisedParts {
    document: Document,
    is_exercised: bool,
    /// The parts, their positions, and whether a case exercised them.
    parts: BTreeMap<(String, BranchSide), (Location, bool)>,
}

impl ExercisedPatterns {
    /// Counts the parts of a pattern.
    pub(super) fn count(&mut self, pattern: Option<&Pattern>, document: &Document) {
        let Some(pattern) = pattern else { return };
        let mut parts = BTreeMap::new();
        for (side, what) in [(BranchSide::Is, "a finding"), (BranchSide::IsNot, "no finding")] {
            parts.insert((what.to_owned(), side), (pattern.location.clone(), false));
        }
        for (id, location) in pattern.relationships() {
            parts.insert((role_present(id), BranchSide::Is), (location.clone(), false));
            parts.insert((role_absent(id), BranchSide::IsNot), (location.clone(), false));
        }
        let known = ExercisedParts { document: document.clone(), is_exercised: false, parts };
        self.patterns.entry(pattern.name.to_string()).or_insert(known);
    }

    /// Takes note of what one case came to.
    pub(super) fn case(&mut self, pattern: &Pattern, document: &Document, found: &PatternFindings) {
        self.count(Some(pattern), document);
        let Some(known) = self.patterns.get_mut(pattern.name.as_str()) else { return };
        known.is_exercised = true;
        known.mark(if found.findings.is_empty() { "no finding" } else { "a finding" });
        let steps = found.trace.iter().flat_map(|trace| &trace.steps);
        let evidence = found.findings.iter().flat_map(|finding| &finding.evidence);
        let looked = steps.map(|step| (&step.entry, step.held));
        for (id, held) in looked.chain(evidence.map(|evidence| (&evidence.entry, evidence.held))) {
            known.mark(&if held { role_present(id) } else { role_absent(id) });
        }
    }

    /// Returns what the cases were about.
    pub(super) fn coverage(self) -> Coverage {
        let mut coverage = Coverage::default();
        for (name, known) in self.patterns {
            let parts = known.parts.into_iter();
            let parts = parts.map(|((what, side), (location, is_done))| (what, location, side, is_done));
            coverage.add_sides(&format!("pattern/{name}"), &known.document, known.is_exercised, parts);
        }
        coverage
    }
}

impl ExercisedParts {
    fn mark(&mut self, what: &str) {
        for side in [BranchSide::Is, BranchSide::IsNot] {
            if let Some((_, is_exercised)) = self.parts.get_mut(&(what.to_owned(), side)) {
                *is_exercised = true;
            }
        }
    }
}

fn role_present(id: &str) -> String {
    format!("`{id}` is there")
}

fn role_absent(id: &str) -> String {
    format!("`{id}` is not there")
}
